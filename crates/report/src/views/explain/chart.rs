//! Charts of a series: the curve with events beside it, and one folded period.

use super::causes::{CLASSES_DRAWN, likely};
use super::clock::Clock;
use super::listing::ListedSeries;
use super::names;
use crate::explain::ExplainReport;
use explain::verdict::{Folded, Interval, JobClass, SeriesVerdict};
use facts::series::{Dating, Series};
use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;
use page::chart::{Axis, Curve, LineChart, Point, Scale, Spans};

/// Maximum points of a curve: more than any chart can resolve.
const POINTS: usize = 720;
/// Maximum points of one period.
const FOLD_POINTS: usize = 336;
/// A gap longer than this many typical ones breaks the line.
const GAP_FACTOR: f64 = 3.5;

const HOUR_S: f64 = 3_600.0;
const DAY_S: f64 = 24.0 * HOUR_S;
const WEEK_S: f64 = 7.0 * DAY_S;
/// Relative distance within which a period counts as a calendar period.
const PERIOD_TOLERANCE: f64 = 0.005;

/// Builds the chart of all samples, with events, changes and the runs of the most likely jobs;
/// `None` if there is nothing to draw, such as a single sample, which is described in words.
pub(super) fn series_chart(
    report: &ExplainReport<'_>,
    listed: &ListedSeries<'_>,
) -> Option<LineChart> {
    let series = listed.series.filter(|series| series.values.len() > 1)?;
    let verdict = &listed.verdict.verdict;
    let clock = Clock::of(report, listed.verdict);
    let x = |at: Timestamp| place(&clock, listed.verdict.dating, at);
    let named = |name: &str, found: &[Interval]| {
        Spans::new(name, found.iter().map(|span| (x(span.from), x(span.to))))
    };
    let changes: Vec<Interval> = verdict
        .changes
        .iter()
        .map(|change| Interval {
            from: change.from,
            to: change.to,
        })
        .collect();
    let marks = [
        (names::events(verdict.shape), &verdict.events),
        ("changes", &changes),
    ];
    let runs = likely(verdict)
        .take(CLASSES_DRAWN)
        .map(|class| named(&class.jobs.join(", "), &runs_of(report, class)));
    Some(LineChart {
        title: title(listed.verdict),
        y_label: title(listed.verdict),
        x: Axis {
            scale: match listed.verdict.dating {
                Dating::Absolute => Scale::Time(report.zone.clone()),
                Dating::Day(_) | Dating::Undated => Scale::Elapsed,
            },
            ..Axis::default()
        },
        curves: vec![curve(listed.verdict, series, x)],
        marks: marks
            .into_iter()
            .filter(|(_, found)| !found.is_empty())
            .map(|(name, found)| named(name, found))
            .collect(),
        runs: runs.collect(),
        ..LineChart::default()
    })
}

/// Returns name and unit, such as `throughput (ops/s)`.
fn title(series: &SeriesVerdict) -> String {
    match &series.unit {
        Some(unit) => format!("{} ({unit})", series.name),
        None => series.name.clone(),
    }
}

/// Returns the horizontal position of a moment: seconds since 1970, or since the first sample if
/// only time differences are known.
fn place(clock: &Clock<'_>, dating: Dating, at: Timestamp) -> f64 {
    if dating == Dating::Absolute {
        at.as_duration().as_secs_f64()
    } else {
        clock.since_first_s(at)
    }
}

fn curve(verdict: &SeriesVerdict, series: &Series, x: impl Fn(Timestamp) -> f64) -> Curve {
    let at = |us: &i64| Timestamp::from_microsecond(*us).map_or(f64::NAN, &x);
    let gap_s = verdict
        .gap_s
        .map_or(f64::INFINITY, |gap_s| gap_s * GAP_FACTOR);
    let samples = series.times_us.iter().map(at);
    let samples = samples.zip(series.values.iter().copied());
    let mut curve = Curve::reduced("", samples, POINTS, gap_s);
    let points = curve.stretches.iter().flatten().count();
    if curve.range_name.is_empty() || points == 0 {
        curve.name = title(verdict);
    } else {
        #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
        let each = series.values.len() as f64 / points as f64;
        let each = units::number(each);
        curve.name = format!("mean of {each} samples on average");
    }
    curve
}

/// Returns when jobs of a class ran; overlapping runs are merged.
fn runs_of(report: &ExplainReport<'_>, class: &JobClass) -> Vec<Interval> {
    let mut runs: Vec<Interval> = report
        .jobs
        .iter()
        .filter(|job| class.jobs.contains(&job.name))
        .flat_map(|job| &job.runs)
        .map(|run| Interval {
            from: run.earliest,
            to: run.latest,
        })
        .collect();
    runs.sort_by_key(|run| (run.from, run.to));
    runs.dedup();
    runs
}

/// Builds the chart of all periods overlaid; `None` if there is no data.
pub(super) fn folded_chart(
    report: &ExplainReport<'_>,
    series: &SeriesVerdict,
) -> Option<LineChart> {
    let folded = series.verdict.folded.as_ref()?;
    let (name, axis) = axis(report.zone, folded, series.dating);
    let start = axis.range.map_or(0.0, |range| range.0);
    let stretches = points(folded, start);
    if stretches.is_empty() {
        return None;
    }
    Some(LineChart {
        title: format!("Folded by {name}: all periods on top of each other"),
        x: axis,
        y_label: title(series),
        curves: vec![Curve {
            name: "median".to_owned(),
            range_name: "middle half".to_owned(),
            stretches,
            ..Curve::default()
        }],
        ..LineChart::default()
    })
}

/// Returns the title of the fold and its axis: in local time for a calendar period, since its
/// beginning for any other.
fn axis(zone: &TimeZone, folded: &Folded, dating: Dating) -> (String, Axis) {
    let is = |calendar_s: f64| {
        dating == Dating::Absolute && (folded.period_s / calendar_s - 1.0).abs() < PERIOD_TOLERANCE
    };
    let anchor = folded.anchor.to_zoned(zone.clone());
    let time = anchor.time();
    let since_hour_s = f64::from(time.minute()) * 60.0 + f64::from(time.second());
    let since_midnight_s = f64::from(time.hour()) * HOUR_S + since_hour_s;
    let weekday = anchor.weekday().since(Weekday::Monday);
    let (name, scale, label, start) = if is(WEEK_S) {
        let start = f64::from(weekday) * DAY_S + since_midnight_s;
        ("week".to_owned(), Scale::Week, "", start)
    } else if is(DAY_S) {
        (
            "day".to_owned(),
            Scale::Day,
            "time of day",
            since_midnight_s,
        )
    } else if is(HOUR_S) {
        let label = "time since the full hour";
        ("hour".to_owned(), Scale::Elapsed, label, since_hour_s)
    } else {
        let name = units::seconds(folded.period_s);
        (
            name,
            Scale::Elapsed,
            "time since the start of a period",
            0.0,
        )
    };
    let axis = Axis {
        label: label.to_owned(),
        scale,
        range: Some((start, start + folded.period_s)),
    };
    (name, axis)
}

/// Returns the bins of a fold in stretches without a gap; several bins share a point if there are
/// many.
fn points(folded: &Folded, start: f64) -> Vec<Vec<Point>> {
    let bins = folded.median.len();
    let points = bins.min(FOLD_POINTS);
    #[expect(clippy::cast_precision_loss, reason = "bins of a week at most")]
    let x = |bin: f64| start + bin / bins as f64 * folded.period_s;
    let all: Vec<Option<Point>> = (0..points)
        .map(|point| {
            let (first, end) = (point * bins / points, (point + 1) * bins / points);
            let known: Vec<(f64, f64, f64)> = (first..end)
                .filter_map(|bin| quartiles(folded, bin))
                .collect();
            let lowest = known.iter().map(|(low, ..)| *low).reduce(f64::min)?;
            let highest = known.iter().map(|(.., high)| *high).reduce(f64::max)?;
            #[expect(clippy::cast_precision_loss, reason = "bins")]
            let (part, middle) = (1.0 / known.len() as f64, (first + end) as f64 / 2.0);
            Some(Point {
                x: x(middle),
                y: known.iter().map(|(_, median, _)| median * part).sum(),
                range: Some((lowest, highest)),
            })
        })
        .collect();
    all.split(Option::is_none)
        .filter(|stretch| !stretch.is_empty())
        .map(|stretch| stretch.iter().copied().flatten().collect())
        .collect()
}

/// Returns lower quartile, median and upper quartile of a bin; an unknown quartile is replaced by
/// the median.
fn quartiles(folded: &Folded, bin: usize) -> Option<(f64, f64, f64)> {
    let at = |values: &[Option<f64>]| {
        let value = values.get(bin).copied().flatten();
        value.filter(|value| value.is_finite())
    };
    let median = at(&folded.median)?;
    let low = at(&folded.low).unwrap_or(median);
    let high = at(&folded.high).unwrap_or(median);
    Some((low, median, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(period_s: f64, anchor: &str, median: Vec<Option<f64>>) -> Folded {
        Folded {
            period_s,
            anchor: anchor.parse().unwrap(),
            low: median.clone(),
            high: median.clone(),
            median,
        }
    }

    fn berlin() -> TimeZone {
        units::zone::parse("Europe/Berlin").unwrap()
    }

    /// Returns title, scale and start of the axis.
    fn axis_of(folded: &Folded, zone: &TimeZone, dating: Dating) -> (String, Scale, f64) {
        let (name, axis) = axis(zone, folded, dating);
        let (start, end) = axis.range.unwrap();
        assert!((end - start - folded.period_s).abs() < 1e-6);
        (name, axis.scale, start)
    }

    #[test]
    fn week_starts_at_its_anchor() {
        // Sunday 06:47 in Berlin.
        let fold = folded(WEEK_S, "2016-01-03T05:47:00Z", vec![None; 7]);
        let sunday = 6.0 * DAY_S + 6.0 * HOUR_S + 47.0 * 60.0;
        assert_eq!(
            axis_of(&fold, &berlin(), Dating::Absolute),
            ("week".to_owned(), Scale::Week, sunday)
        );
    }

    #[test]
    fn axes_of_other_periods() {
        let absolute = Dating::Absolute;
        let day = folded(DAY_S, "2024-07-01T22:00:00Z", vec![None; 24]);
        assert_eq!(
            axis_of(&day, &berlin(), absolute),
            ("day".to_owned(), Scale::Day, 0.0)
        );
        let hour = folded(HOUR_S, "2024-07-01T22:05:00Z", vec![None; 24]);
        assert_eq!(
            axis_of(&hour, &TimeZone::UTC, absolute),
            ("hour".to_owned(), Scale::Elapsed, 300.0)
        );
        // The time of day is unknown.
        assert_eq!(
            axis_of(&day, &berlin(), Dating::Undated),
            ("1 day".to_owned(), Scale::Elapsed, 0.0)
        );
        let odd = folded(36.0 * HOUR_S, "2024-07-01T22:00:00Z", vec![]);
        assert_eq!(
            axis_of(&odd, &TimeZone::UTC, absolute),
            ("1 day 12 h".to_owned(), Scale::Elapsed, 0.0)
        );
    }

    #[test]
    fn bins_are_merged_into_points() {
        let few = vec![Some(1.0), None, Some(3.0)];
        let few = points(&folded(DAY_S, "2024-07-01T22:00:00Z", few), 0.0);
        assert_eq!(few.len(), 2, "broken where nothing is known");
        assert!((few[1][0].y - 3.0).abs() < 1e-9);
        assert!(
            (few[1][0].x - 20.0 * HOUR_S).abs() < 1e-6,
            "the middle of its bin"
        );
        let mut many = folded(
            WEEK_S,
            "2024-07-01T22:00:00Z",
            (0..3360).map(|value| Some(f64::from(value))).collect(),
        );
        many.high[55] = Some(1e6);
        let many = points(&many, 0.0);
        assert_eq!((many.len(), many[0].len()), (1, 336));
        let point = many[0][5];
        assert!((point.y - 54.5).abs() < 1e-9);
        assert_eq!(point.range, Some((50.0, 1e6)));
        assert!(points(&folded(DAY_S, "2024-07-01T22:00:00Z", vec![]), 0.0).is_empty());
    }
}
