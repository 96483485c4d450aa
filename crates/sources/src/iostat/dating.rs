//! Determines when the reports were made.

use super::log::{Header, Log, Report};
use crate::SourceError;
use crate::options::FileOptions;
use crate::times::{self, DayOrder, Slashes, TimeReader};
use facts::InputError;
use facts::series::Dating;
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use jiff::tz::Offset;
use std::borrow::Cow;
use std::collections::BTreeMap;
use units::count;

/// A step this close to whole seconds, as a fraction, is rounded to them: `iostat` takes its interval in
/// whole seconds.
const WHOLE_WITHIN: f64 = 0.02;

/// Steps that differ by at most this fraction are considered equal.
const SAME_WITHIN: f64 = 0.1;

/// A step is considered known if its error is at most this fraction.
const KNOWN_WITHIN: f64 = 0.05;

/// The day of times without one.
const EPOCH: Date = Date::constant(1970, 1, 1);

/// The times of all reports.
pub(super) struct Dated {
    pub dating: Dating,
    /// One per report; `None` for those left out.
    pub times_us: Vec<Option<i64>>,
    /// Notes that apply to every series.
    pub notes: Vec<String>,
    pub warnings: Vec<String>,
    /// Whether the times were counted from the interval rather than read.
    pub is_counted: bool,
}

pub(super) fn date(log: &Log, options: &FileOptions) -> Result<Dated, SourceError> {
    let reports = &log.reports;
    let stamped = reports.iter().any(|report| report.stamp.is_some());
    let mut reader = options.time_reader();
    let mut is_dated = true;
    let (mut times_us, mut warnings) = if stamped {
        let (times, all_dated) = read_stamps(log, options, &mut reader)?;
        is_dated = all_dated;
        (times.into_iter().map(Some).collect(), reader.notes())
    } else {
        (vec![None; reports.len()], Vec::new())
    };
    let order = day_order(log);
    let tells_date = |header: &Header| header_date(header, order).is_some();
    if options.date.is_some() && log.headers.iter().any(tells_date) {
        warnings.push("the date that was named is not used: the log has its own".to_owned());
    }
    let mut notes = Vec::new();
    if !is_dated {
        notes.push(
            "times of day without a date that can be read one way: only distances are known"
                .to_owned(),
        );
    }
    let kept = covers_interval(reports, stamped.then_some(&times_us[..]), &mut notes);
    if stamped {
        for (time, keep) in times_us.iter_mut().zip(&kept) {
            *time = time.filter(|_| *keep);
        }
        return Ok(Dated {
            dating: if is_dated {
                Dating::Absolute
            } else {
                Dating::Undated
            },
            times_us,
            notes,
            warnings,
            is_counted: false,
        });
    }
    let mut dating = Dating::Undated;
    // Hosts are dated each by itself; the day is that of the first one.
    for (number, section) in longest_sections(log, &kept, &mut warnings)
        .into_iter()
        .enumerate()
    {
        let in_section = |index: usize| kept[index] && reports[index].header == section;
        let (mut more, is_first) = (Vec::new(), number == 0);
        let step_us = step_us(log, options, &in_section, &mut more)?;
        let (day_of, start_us) = day(log, section, options, &mut more);
        if is_first {
            dating = day_of;
            notes.append(&mut more);
        }
        let mut next_us = Some(start_us);
        for (index, time) in times_us.iter_mut().enumerate() {
            if in_section(index) {
                *time = next_us;
                next_us = next_us.and_then(|at| at.checked_add(step_us));
            }
        }
    }
    Ok(Dated {
        dating,
        times_us,
        notes,
        warnings,
        is_counted: true,
    })
}

fn known_step_s(report: &Report) -> Option<f64> {
    let (step_s, wrong_s) = report.step_s?;
    (wrong_s <= step_s * KNOWN_WITHIN).then_some(step_s)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Determines which reports cover an interval. The first one below a header covers the time since boot,
/// unless `-y` was used or the text is an excerpt: then its totals and rates imply that it is as long as
/// the others.
fn covers_interval(
    reports: &[Report],
    times_us: Option<&[Option<i64>]>,
    notes: &mut Vec<String>,
) -> Vec<bool> {
    let mut left_out = 0;
    let mut unsure = 0;
    let mut kept = vec![true; reports.len()];
    let mut start = 0;
    // Reports below the same header are consecutive.
    for group in reports.chunk_by(|one, other| one.header == other.header) {
        let end = start + group.len();
        let others = || (start..end).filter(|&index| !reports[index].is_first);
        let told = || {
            median(
                others()
                    .filter_map(|index| known_step_s(&reports[index]))
                    .collect(),
            )
        };
        let between = || {
            let at: Vec<i64> = others().filter_map(|index| times_us?[index]).collect();
            #[expect(clippy::cast_precision_loss, reason = "distances, for comparison")]
            let steps = at
                .windows(2)
                .map(|pair| pair[1].saturating_sub(pair[0]) as f64 / 1e6);
            median(steps.collect())
        };
        if group[0].is_first {
            let own = group[0].step_s.filter(|(step_s, wrong_s)| wrong_s < step_s);
            kept[start] = if let (Some((own, wrong)), Some(step)) = (own, told().or_else(between)) {
                (own - step).abs() <= step.abs() * SAME_WITHIN + wrong
            } else {
                unsure += 1;
                false
            };
            left_out += usize::from(!kept[start]);
        }
        start = end;
    }
    if left_out > 0 {
        let perhaps = if unsure > 0 { ", or may do so" } else { "" };
        notes.push(format!(
            "{} left out: since boot, not since the one before{perhaps}",
            count(left_out, "first report")
        ));
    }
    kept
}

// --- Times that are in the log.

fn read_stamps(
    log: &Log,
    options: &FileOptions,
    reader: &mut TimeReader,
) -> Result<(Vec<i64>, bool), SourceError> {
    let mut is_dated = true;
    let order = options
        .time_format
        .is_none()
        .then(|| day_order(log))
        .flatten();
    let mut clock_day: Option<(Option<usize>, Date, Time)> = None;
    let mut times = Vec::with_capacity(log.reports.len());
    for report in &log.reports {
        let Some((line, text)) = &report.stamp else {
            let expected = "a time above the report, as others have";
            return Err(InputError::new(log.source, expected, "none")
                .at_line(report.line)
                .into());
        };
        let wrong = |expected: String| -> SourceError {
            InputError::new(log.source, expected, text)
                .at_line(*line)
                .into()
        };
        if options.time_format.is_some() {
            times.push(reader.read_us(text).map_err(wrong)?);
            continue;
        }
        let text = &*times::plain(text);
        if let Some(slashes) = Slashes::parse(text) {
            let order = order.ok_or_else(|| {
                wrong(
                    "a time whose day and month can be told apart; name its format, like \
                     %m/%d/%y %H:%M:%S"
                        .to_owned(),
                )
            })?;
            let at = slashes
                .datetime(order)
                .and_then(|at| reader.read_local_us(at));
            times.push(at.ok_or_else(|| wrong("a time".to_owned()))?);
            continue;
        }
        let Some((time, _)) = times::clock(text) else {
            times.push(reader.read_us(text).map_err(wrong)?);
            continue;
        };
        // Only a time of day: the header has the date, and midnight comes after 23:59.
        let date = match clock_day {
            Some((header, date, before)) if header == report.header => {
                if time < before {
                    date.tomorrow().ok()
                } else {
                    Some(date)
                }
            }
            _ => first_day(log, report.header, order, options),
        };
        // Without a date that can be read one way, only the distances are known.
        is_dated &= date.is_some();
        let date = date.unwrap_or(EPOCH);
        clock_day = Some((report.header, date, time));
        let at = if is_dated {
            reader.read_local_us(date.to_datetime(time))
        } else {
            let at = Offset::UTC.to_timestamp(date.to_datetime(time));
            at.ok().map(Timestamp::as_microsecond)
        };
        times.push(at.ok_or_else(|| wrong("a time".to_owned()))?);
    }
    Ok((times, is_dated))
}

/// Determines from all dates of the log whether the day or the month comes first; `None` if they are all
/// ambiguous.
fn day_order(log: &Log) -> Option<DayOrder> {
    let stamps = log
        .reports
        .iter()
        .filter_map(|report| report.stamp.as_ref())
        .map(|(_, text)| times::plain(text));
    let dates = (log.headers.iter()).map(|header| Cow::Borrowed(header.date.as_str()));
    let mut order = None;
    for slashes in stamps.chain(dates).filter_map(|text| Slashes::parse(&text)) {
        order = order.or(slashes.order());
    }
    order
}

/// Returns the day of the first report below a header: the header's own, or the one that the user named.
fn first_day(
    log: &Log,
    header: Option<usize>,
    order: Option<DayOrder>,
    options: &FileOptions,
) -> Option<Date> {
    header
        .and_then(|header| header_date(&log.headers[header], order))
        .or(options.date)
}

fn header_date(header: &Header, order: Option<DayOrder>) -> Option<Date> {
    if let Ok(date) = header.date.parse::<Date>() {
        return Some(date);
    }
    Some(Slashes::parse(&header.date)?.datetime(order?)?.date())
}

// --- Times that are counted.

/// Returns of each host the header with the most reports below it. Without times, the distance between sections is
/// unknown.
fn longest_sections(log: &Log, kept: &[bool], warnings: &mut Vec<String>) -> Vec<Option<usize>> {
    let mut sizes: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    for (report, keep) in log.reports.iter().zip(kept) {
        *sizes.entry(report.header).or_default() += usize::from(*keep);
    }
    let host = |section: Option<usize>| section.map(|header| log.headers[header].host.as_str());
    let mut best: Vec<(Option<usize>, usize)> = Vec::new();
    for (section, size) in sizes.into_iter().filter(|(_, size)| *size > 0) {
        match best
            .iter_mut()
            .find(|(known, _)| host(*known) == host(section))
        {
            Some(known) if size > known.1 => *known = (section, size),
            Some(_) => {}
            None => best.push((section, size)),
        }
    }
    let in_best: usize = best.iter().map(|(_, size)| size).sum();
    let others = kept.iter().filter(|keep| **keep).count() - in_best;
    if others > 0 {
        warnings.push(format!(
            "{} left out: without times, nothing tells how long before or after the others of the same host",
            count(others, "report")
        ));
    }
    best.into_iter().map(|(section, _)| section).collect()
}

fn step_us(
    log: &Log,
    options: &FileOptions,
    in_section: &impl Fn(usize) -> bool,
    notes: &mut Vec<String>,
) -> Result<i64, SourceError> {
    let reports = log.reports.iter().enumerate();
    let steps = reports.filter(|(index, _)| in_section(*index));
    let told = median(
        steps
            .filter_map(|(_, report)| known_step_s(report))
            .collect(),
    );
    let whole = |step_s: f64| {
        let near = step_s.round();
        let is_near = near >= 1.0 && (step_s - near).abs() <= near * WHOLE_WITHIN;
        if is_near { near } else { step_s }
    };
    let (step, how) = if let Some(step_s) = options.step_s {
        (step_s, "as named")
    } else if let Some(step_s) = told {
        (whole(step_s), "from what was moved in all and in a second")
    } else if let Some(step_s) = log.command_step_s {
        (step_s, "from the command line above them")
    } else {
        (1.0, "")
    };
    notes.push(if how.is_empty() {
        "no times, and nothing tells how far apart the samples are: each counts as a second, unless --step says more"
            .to_owned()
    } else {
        format!("no times: counted in steps of {step} s, {how}")
    });
    let step_us = (step * 1e6).round();
    if !(1.0..=1e15).contains(&step_us) {
        let expected = "a step between reports from a microsecond to thirty years";
        return Err(InputError::new(log.source, expected, &step.to_string()).into());
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number up to 1e15")]
    let step_us = step_us as i64;
    Ok(step_us)
}

/// Returns the day of the first report, as far as the header tells.
fn day(
    log: &Log,
    section: Option<usize>,
    options: &FileOptions,
    notes: &mut Vec<String>,
) -> (Dating, i64) {
    let order = match &options.time_format {
        // Only the date part of the user's format matters here.
        Some(format) if format.trim_start().starts_with("%d") => Some(DayOrder::DayFirst),
        Some(format) if format.trim_start().starts_with("%m") => Some(DayOrder::MonthFirst),
        _ => day_order(log),
    };
    let Some(date) = first_day(log, section, order, options) else {
        if let Some(header) = section {
            notes.push(format!(
                "day and month of the date {} cannot be told apart: not dated",
                log.headers[header].date
            ));
        }
        return (Dating::Undated, 0);
    };
    match Offset::UTC.to_timestamp(date.to_datetime(Time::midnight())) {
        Ok(midnight) => (Dating::Day(date), midnight.as_microsecond()),
        Err(_) => (Dating::Undated, 0),
    }
}
