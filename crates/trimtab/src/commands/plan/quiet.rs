//! The quiet hours of a measured history.

use super::args::Plan;
use super::slots::Hours;
use crate::error::CommandError;
use facts::series::{Dating, Series};
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use plan::{LoadCurve, QuietWindow, WeekLoad, Window};
use report::views::plan::Measured;
use sources::{FileOptions, Times};
use std::path::Path;

/// Lengths of windows in hours, the longest that is quiet first.
const HOURS: [u32; 3] = [4, 2, 1];

/// Returns the quiet hours of a history, or the least busy ones with a caution.
///
/// # Errors
/// When it cannot be read, or does not cover a day.
pub fn hours(
    arguments: &Plan,
    path: &Path,
    zone: &TimeZone,
    cautions: &mut Vec<String>,
) -> Result<(Hours, Measured), CommandError> {
    let times = Times {
        zone: zone.clone(),
        ..Times::default()
    };
    let options = FileOptions {
        times,
        ..FileOptions::default()
    };
    let reading = sources::read_path(path, &options)?;
    let is_dated = |series: &&Series| series.dating == Dating::Absolute;
    let dated: Vec<&Series> = reading.series.iter().filter(is_dated).collect();
    let curves: Vec<LoadCurve<'_>> = dated
        .iter()
        .map(|series| LoadCurve {
            times_us: &series.times_us,
            values: &series.values,
        })
        .collect();
    let shown = path.display();
    let week = WeekLoad::of(&curves, zone).ok_or_else(|| {
        let message = format!("--load {shown}: expected a day of load with its times, or more, at least every two hours");
        CommandError::input(message)
            .hint("a week tells the days apart; log with `iostat -xt 60`")
    })?;
    let days: Vec<Weekday> = arguments.days.iter().map(|&day| day.into()).collect();
    let windows: Vec<(u32, QuietWindow)> = HOURS
        .iter()
        .filter_map(|&hours| Some((hours * 3600, week.quietest(hours * 3600, &days)?)))
        .collect();
    let quiet = windows.iter().find(|(_, window)| window.is_quiet());
    let (len_s, window) = quiet.or(windows.first()).ok_or_else(|| {
        let message = format!("--load {shown}: no hours of a day are known as a whole");
        CommandError::input(message).hint("give it samples of at least a day, without long gaps")
    })?;
    if !window.is_quiet() {
        cautions.push(format!(
            "no time is quiet in {shown}: the least busy hours have {} of the mean load. What is left, the best first: this \
             plan, whose passes wait while the drives are busy; online discard alone, after a test (`trimtab rule \
             TRIM005`); no trim at all, with the decay that `trimtab ssd run --from-host` predicts",
            units::share::score(window.share)
        ));
    }
    let measured = Measured {
        source: shown.to_string(),
        series: dated.len() as u64,
        span_s: week.span_s,
        share: window.share,
        is_quiet: window.is_quiet(),
        is_one_day: week.is_one_day,
    };
    let hours = Hours {
        window: Window {
            from: window.from,
            len_s: *len_s,
        },
        days: window.days.clone(),
    };
    Ok((hours, measured))
}
