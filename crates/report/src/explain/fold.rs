//! A series folded by its period: the axis, and bins to columns.

use super::chart::Span;
use super::words::{duration, micros};
use explain::verdict::Folded;
use facts::series::Dating;
use jiff::ToSpan;
use jiff::tz::TimeZone;

const HOUR_S: f64 = 3_600.0;
const DAY_S: f64 = 24.0 * HOUR_S;
const WEEK_S: f64 = 7.0 * DAY_S;
/// A period this near to a calendar's is one.
const NEAR: f64 = 0.005;
/// Round times that one fold is looked through for.
const WORDS_MAX: usize = 64;
/// Microseconds of a second.
const SECOND_US: f64 = 1e6;

/// What stands above and below a folded chart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FoldAxis {
    /// `A week`, `A day`, `One period of 36 h`.
    pub title: String,
    /// Words, each at its share of the width, ascending.
    pub words: Vec<(f64, String)>,
}

impl FoldAxis {
    /// The axis of a fold.
    pub fn of(folded: &Folded, zone: &TimeZone, dating: Dating) -> Self {
        let period_s = folded.period_s;
        let is = |calendar_s: f64| (period_s / calendar_s - 1.0).abs() < NEAR;
        let title = if is(WEEK_S) {
            "A week".to_owned()
        } else if is(DAY_S) {
            "A day".to_owned()
        } else if is(HOUR_S) {
            "An hour".to_owned()
        } else {
            format!("One period of {}", duration(period_s))
        };
        let calendar = dating == Dating::Absolute && (is(WEEK_S) || is(DAY_S) || is(HOUR_S));
        let words = if calendar {
            let step_s = if is(WEEK_S) {
                DAY_S
            } else if is(DAY_S) {
                3.0 * HOUR_S
            } else {
                HOUR_S / 6.0
            };
            let format = if is(WEEK_S) { "%a" } else { "%H:%M" };
            wall_times(folded, zone, step_s, format)
        } else {
            // Quarters of a period that is no calendar's.
            (0..4_u8)
                .map(|quarter| {
                    let share = f64::from(quarter) / 4.0;
                    (share, format!("+{}", duration(share * period_s)))
                })
                .collect()
        };
        Self { title, words }
    }
}

/// Round times of the wall clock within one fold.
fn wall_times(folded: &Folded, zone: &TimeZone, step_s: f64, format: &str) -> Vec<(f64, String)> {
    let start = folded.anchor.to_zoned(zone.clone());
    #[allow(clippy::cast_possible_truncation)] // a day at most
    let step = (step_s as i64).seconds();
    // From a round time before the fold on, in civil time: days of 23 hours have their midnight too.
    let before = if step_s < HOUR_S {
        let wall = start.datetime();
        wall.date().at(wall.hour(), 0, 0, 0)
    } else {
        start.datetime().start_of_day()
    };
    let mut words = Vec::new();
    for wall in before.series(step).take(WORDS_MAX) {
        let Ok(at) = wall.to_zoned(zone.clone()) else {
            break;
        };
        #[allow(clippy::cast_precision_loss)] // a week at most
        let since_s = (micros(at.timestamp()) - micros(folded.anchor)) as f64 / SECOND_US;
        let share = since_s / folded.period_s;
        if share >= 1.0 {
            break;
        }
        if share >= 0.0 {
            words.push((share, at.strftime(format).to_string()));
        }
    }
    words
}

/// Bins in at most so many columns: each bin is as wide as the others, or several share a column.
pub(super) fn spans(folded: &Folded, columns: usize) -> Vec<Option<Span>> {
    let bins = folded.median.len();
    if bins == 0 || columns == 0 {
        return Vec::new();
    }
    let columns = if bins <= columns {
        bins * (columns / bins)
    } else {
        columns
    };
    (0..columns)
        .map(|column| {
            let first = column * bins / columns;
            let end = ((column + 1) * bins / columns).max(first + 1);
            let shown: Vec<Span> = (first..end).filter_map(|bin| span(folded, bin)).collect();
            let number = shown.len();
            let start = *shown.first()?;
            #[allow(clippy::cast_precision_loss)] // bins
            let part = 1.0 / number as f64;
            Some(Span {
                low: shown.iter().fold(start.low, |low, span| low.min(span.low)),
                middle: shown.iter().map(|span| span.middle * part).sum(),
                high: shown
                    .iter()
                    .fold(start.high, |high, span| high.max(span.high)),
            })
        })
        .collect()
}

/// One bin; a quartile that is not known is the median.
fn span(folded: &Folded, bin: usize) -> Option<Span> {
    let at = |values: &[Option<f64>]| {
        let value = values.get(bin).copied().flatten();
        value.filter(|value| value.is_finite())
    };
    let middle = at(&folded.median)?;
    Some(Span {
        low: at(&folded.low).unwrap_or(middle),
        middle,
        high: at(&folded.high).unwrap_or(middle),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedule::parse_zone;

    fn folded(period_s: f64, anchor: &str, median: Vec<Option<f64>>) -> Folded {
        Folded {
            period_s,
            anchor: anchor.parse().unwrap(),
            low: median.clone(),
            high: median.clone(),
            median,
        }
    }

    fn words(axis: &FoldAxis) -> String {
        let words: Vec<&str> = axis.words.iter().map(|(_, word)| word.as_str()).collect();
        words.join(" ")
    }

    #[test]
    fn a_week_begins_where_it_is_anchored() {
        let berlin = parse_zone("Europe/Berlin").unwrap();
        // Sunday 06:47 in Berlin: the first midnight is Monday's.
        let fold = folded(WEEK_S, "2016-01-03T05:47:00Z", vec![None; 7]);
        let axis = FoldAxis::of(&fold, &berlin, Dating::Absolute);
        assert_eq!(axis.title, "A week");
        assert_eq!(words(&axis), "Mon Tue Wed Thu Fri Sat Sun");
        let first = axis.words[0].0 * WEEK_S;
        assert!((first - (17.0 * HOUR_S + 13.0 * 60.0)).abs() < 1.0);
    }

    #[test]
    fn other_periods() {
        let day = folded(DAY_S, "2024-07-01T22:00:00Z", vec![None; 24]);
        let berlin = parse_zone("Europe/Berlin").unwrap();
        assert_eq!(
            words(&FoldAxis::of(&day, &berlin, Dating::Absolute)),
            "00:00 03:00 06:00 09:00 12:00 15:00 18:00 21:00"
        );
        let hour = folded(HOUR_S, "2024-07-01T22:05:00Z", vec![None; 24]);
        assert_eq!(
            words(&FoldAxis::of(&hour, &TimeZone::UTC, Dating::Absolute)),
            "22:10 22:20 22:30 22:40 22:50 23:00"
        );
        // Nobody knows what time it was.
        let undated = FoldAxis::of(&day, &berlin, Dating::Undated);
        assert_eq!(words(&undated), "+0 s +6 h +12 h +18 h");
        let odd = folded(36.0 * HOUR_S, "2024-07-01T22:00:00Z", vec![]);
        let axis = FoldAxis::of(&odd, &TimeZone::UTC, Dating::Absolute);
        assert_eq!(axis.title, "One period of 1 day 12 h");
        assert_eq!(words(&axis), "+0 s +9 h +18 h +1 day 3 h");
    }

    #[test]
    fn bins_and_columns() {
        let few = folded(
            DAY_S,
            "2024-07-01T22:00:00Z",
            vec![Some(1.0), None, Some(3.0)],
        );
        let columns = spans(&few, 10);
        assert_eq!(columns.len(), 9);
        assert!(columns[3..6].iter().all(Option::is_none));
        assert!((columns[8].unwrap().middle - 3.0).abs() < 1e-9);
        let mut many = folded(
            DAY_S,
            "2024-07-01T22:00:00Z",
            (0..100).map(|value| Some(f64::from(value))).collect(),
        );
        many.high[55] = Some(1e6);
        let columns = spans(&many, 10);
        assert_eq!(columns.len(), 10);
        let column = columns[5].unwrap();
        assert!((column.low - 50.0).abs() < 1e-9 && (column.high - 1e6).abs() < 1e-9);
        assert!((column.middle - 54.5).abs() < 1e-9);
        assert!(spans(&folded(DAY_S, "2024-07-01T22:00:00Z", vec![]), 10).is_empty());
    }
}
