//! Chart scales: positions on an axis, round values for the y axis, and ticks for the x axis whose labels
//! do not collide.

use crate::calendar;
use crate::chart::{Axis, Format, Scale};
use units::escape::{display_width, escape};

/// Maximum number of ticks; more would clutter the chart.
const TICKS_MAX: usize = 12;
/// Minimum distance between two labels, in columns.
const LABEL_GAP: f64 = 1.0;

/// Returns the position of a value in a range, from 0 to 1. Halving the operands keeps the differences of
/// huge values finite.
pub(crate) fn share(value: f64, (low, high): (f64, f64)) -> f64 {
    let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
    // An infinite value is placed at the end, so that positions stay monotonic.
    if share.is_nan() {
        0.5
    } else {
        share.clamp(0.0, 1.0)
    }
}

/// Returns the range, widened if it is too narrow to draw.
pub(crate) fn widened((low, high): (f64, f64)) -> (f64, f64) {
    // The values can be told apart in floating point.
    if low < high && share(low + (high / 2.0 - low / 2.0), (low, high)) > 0.0 {
        return (low, high);
    }
    let by = if low == 0.0 {
        1.0
    } else {
        (low.abs() * 0.05).max(f64::MIN_POSITIVE)
    };
    ((low - by).max(f64::MIN), (high + by).min(f64::MAX))
}

/// The y axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct YAxis {
    /// Its ends: round numbers around the values.
    pub range: (f64, f64),
    /// Evenly spaced values with their labels, from the lower end to the upper.
    pub ticks: Vec<(f64, String)>,
}

/// Returns the y axis for a range of values.
pub(crate) fn y_axis(values: (f64, f64), format: Format) -> YAxis {
    let range = widened(values);
    let unit = Unit::of(format, range.0.abs().max(range.1.abs()));
    let scaled = (range.0 / unit.size, range.1 / unit.size);
    let Some((first, step, count)) = round_steps(scaled) else {
        let label = |value: f64| (value, format.write(value));
        return YAxis {
            range,
            ticks: vec![label(range.0), label(range.1)],
        };
    };
    let ticks: Vec<(f64, String)> = (0..=count)
        .map(|index| {
            let value = (first + f64::from(index)) * step;
            (value * unit.size, unit.label(value, step))
        })
        .collect();
    YAxis {
        range: (
            first * step * unit.size,
            (first + f64::from(count)) * step * unit.size,
        ),
        ticks,
    }
}

/// Returns the first multiple of a round step, the step, and the number of steps that cover the range;
/// `None` if the numbers are too large, or too close together, for round steps.
fn round_steps((low, high): (f64, f64)) -> Option<(f64, f64, u16)> {
    const COUNT: f64 = 4.0;
    let rough = high / COUNT - low / COUNT;
    if !rough.is_normal() || rough < low.abs().max(high.abs()) * 1e-12 {
        return None;
    }
    let power = rough.log10().floor();
    let candidates = [-1.0, 0.0, 1.0].into_iter().flat_map(|by| {
        let power = 10_f64.powf(power + by);
        [1.0, 2.0, 2.5, 5.0].map(|factor| factor * power)
    });
    candidates
        .filter_map(|step| {
            let first = (low / step + 1e-9).floor();
            let count = (high / step - 1e-9).ceil() - first;
            let is_sound = step.is_normal() && ((first + count) * step).is_finite();
            (is_sound && (2.0..=7.0).contains(&count)).then_some((first, step, count))
        })
        // Prefer the least empty space, then a number of steps that is easy to read.
        .min_by(|a, b| {
            let room = |(_, step, count): (f64, f64, f64)| step * count;
            let equal = (room(*a) - room(*b)).abs() < rough * 1e-6;
            let by_count = (a.2 - COUNT).abs().total_cmp(&(b.2 - COUNT).abs());
            if equal {
                by_count
            } else {
                room(*a).total_cmp(&room(*b))
            }
        })
        .map(|(first, step, count)| {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 2 to 7
            (first, step, count as u16)
        })
}

/// The unit of the numbers on an axis.
#[derive(Debug, Clone, PartialEq)]
struct Unit {
    size: f64,
    /// The text after the number.
    name: String,
    /// Whether it also follows a 0.
    at_zero: bool,
}

impl Unit {
    fn of(format: Format, largest: f64) -> Self {
        const BYTES: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        const SECONDS: [(f64, &str); 6] = [
            (86_400.0, "days"),
            (3_600.0, "h"),
            (60.0, "min"),
            (1.0, "s"),
            (1e-3, "ms"),
            (1e-6, "us"),
        ];
        let (size, name) = match format {
            Format::Number => (1.0, String::new()),
            Format::Percent => (0.01, " %".to_owned()),
            Format::Bytes | Format::BytesPerSecond => {
                let mut size = 1.0;
                let mut unit = 0;
                while unit + 1 < BYTES.len() && largest >= size * 1024.0 {
                    size *= 1024.0;
                    unit += 1;
                }
                let per_s = if format == Format::Bytes { "" } else { "/s" };
                (size, format!(" {}{per_s}", BYTES[unit]))
            }
            Format::Seconds => {
                // At least two of a unit that is not divided by tens, so that there are steps in between.
                let fits = |(size, _): &&(f64, &str)| {
                    let least = if *size > 1.0 { 2.0 } else { 1.0 };
                    largest >= size * least || *size <= 1e-6
                };
                let (size, name) = SECONDS.iter().find(fits).unwrap_or(&SECONDS[3]);
                (*size, format!(" {name}"))
            }
        };
        Self {
            size,
            name,
            at_zero: format == Format::Percent,
        }
    }

    /// Formats a multiple of a step with as many decimals as the step has.
    fn label(&self, value: f64, step: f64) -> String {
        if value.abs() < step / 1e6 {
            return if self.at_zero {
                format!("0{}", self.name)
            } else {
                "0".to_owned()
            };
        }
        let plain = format!("{value:.*}", decimals(step));
        if value.abs() >= 1e7 || step < 1e-6 || plain.len() > 9 {
            return format!("{}{}", units::number(value), self.name);
        }
        format!("{plain}{}", self.name)
    }
}

/// Returns the number of decimals of a step that is 1, 2, 2.5 or 5 times a power of ten.
fn decimals(step: f64) -> usize {
    (0..9_u8)
        .find(|&count| {
            let scaled = step * 10_f64.powi(i32::from(count));
            scaled >= 0.5 && (scaled - scaled.round()).abs() < 1e-6 * scaled
        })
        .map_or(9, usize::from)
}

/// A tick of the x axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    /// Its position, from 0 at the lower end of the axis to 1 at the upper; `None` if only its label is on
    /// the axis.
    pub share: Option<f64>,
    /// The label below it.
    pub label: String,
    /// The position of the label's left edge, on the same scale.
    pub label_share: f64,
}

/// Returns as many ticks at round values as their labels have room for. `columns` is the width of the axis
/// in letters.
pub(crate) fn x_ticks(scale: &Scale, range: (f64, f64), columns: f64) -> Vec<Tick> {
    let span = range.1 - range.0;
    if !span.is_finite() || span <= 0.0 || columns < 1.0 {
        return Vec::new();
    }
    let mut steps: Box<dyn Iterator<Item = Vec<Mark>>> = match scale {
        Scale::Number => Box::new(numbers(range)),
        Scale::Count => Box::new(counts(range)),
        Scale::Time(zone) => {
            let steps = calendar::steps(zone.clone(), range, columns);
            let marked = |(at, label)| Mark::at(at, label);
            Box::new(steps.map(move |found| found.into_iter().map(marked).collect()))
        }
        Scale::Elapsed => Box::new(lengths(range)),
        Scale::Week => Box::new(std::iter::once(weekdays(range)).chain(times_of_day(range))),
        Scale::Day => Box::new(times_of_day(range)),
    };
    steps
        .by_ref()
        .take(200)
        .filter(|marks| !marks.is_empty() && marks.len() <= TICKS_MAX)
        .find_map(|marks| placed(&marks, range, columns))
        .unwrap_or_default()
}

/// A candidate for a tick.
#[derive(Debug, Clone, PartialEq)]
struct Mark {
    at: f64,
    label: String,
    /// The value that the label is centred on.
    label_at: f64,
}

impl Mark {
    fn at(at: f64, label: String) -> Self {
        Self {
            at,
            label,
            label_at: at,
        }
    }
}

/// Places ticks with their labels centred below them, shifted where they would leave the axis; `None` if
/// labels collide.
fn placed(marks: &[Mark], range: (f64, f64), columns: f64) -> Option<Vec<Tick>> {
    let mut used = f64::NEG_INFINITY;
    let mut ticks = Vec::new();
    for mark in marks {
        #[allow(clippy::cast_precision_loss)] // a label
        let wide = display_width(&mark.label) as f64;
        let middle = share(mark.label_at, range) * columns;
        let start = (middle - wide / 2.0).min(columns - wide).max(0.0);
        let has_label = wide > 0.0 && (range.0..=range.1).contains(&mark.label_at);
        if has_label && (start < used + LABEL_GAP || wide > columns) {
            return None;
        }
        if has_label {
            used = start + wide;
        }
        ticks.push(Tick {
            share: (range.0..=range.1)
                .contains(&mark.at)
                .then(|| share(mark.at, range)),
            label: if has_label {
                mark.label.clone()
            } else {
                String::new()
            },
            label_share: start / columns,
        });
    }
    Some(ticks)
}

/// Returns the multiples of a step within a range in ascending order; none if there are too many.
fn multiples(step: f64, (low, high): (f64, f64)) -> Vec<f64> {
    let first = (low / step - 1e-9).ceil();
    let last = (high / step + 1e-9).floor();
    // A step smaller than the precision of its multiples would yield the same number repeatedly.
    #[allow(clippy::cast_precision_loss)] // a dozen
    if last - first > TICKS_MAX as f64 || first.abs() > 1e12 || last < first {
        return Vec::new();
    }
    std::iter::successors(Some(first), |index| Some(index + 1.0))
        .take_while(|index| *index <= last)
        .map(|index| index * step)
        .collect()
}

/// Returns 1, 2, 2.5 and 5 times powers of ten, starting below the step that will be chosen.
fn decimal_steps(span: f64) -> impl Iterator<Item = f64> {
    let power = (span / 100.0).log10().floor();
    (0..5_u8).flat_map(move |by| {
        let power = 10_f64.powf(power + f64::from(by));
        [1.0, 2.0, 2.5, 5.0].map(|factor| factor * power)
    })
}

/// Returns the multiples of a step with their labels.
fn labelled(step: f64, range: (f64, f64), mut label: impl FnMut(f64) -> String) -> Vec<Mark> {
    let all = multiples(step, range).into_iter();
    all.map(|at| Mark::at(at, label(at))).collect()
}

fn numbers(range: (f64, f64)) -> impl Iterator<Item = Vec<Mark>> {
    let unit = Unit::of(Format::Number, 1.0);
    decimal_steps(range.1 - range.0)
        .map(move |step| labelled(step, range, |at| unit.label(at, step)))
}

/// Returns the multiples of each whole-numbered step.
fn counts(range: (f64, f64)) -> impl Iterator<Item = Vec<Mark>> {
    let is_whole = |step: &f64| *step > 0.5 && (step - step.round()).abs() < step * 1e-9;
    decimal_steps(range.1 - range.0)
        .filter(is_whole)
        .map(move |step| labelled(step, range, count))
}

fn count(value: f64) -> String {
    if (0.0..1e15).contains(&value) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // in range
        return units::grouped(value.round() as u64);
    }
    units::number(value)
}

/// Round durations in seconds.
const LENGTHS_S: [f64; 24] = [
    1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1_800.0, 3_600.0, 7_200.0,
    10_800.0, 21_600.0, 43_200.0, 86_400.0, 172_800.0, 432_000.0, 864_000.0, 1.728e6, 4.32e6,
    8.64e6,
];

fn lengths(range: (f64, f64)) -> impl Iterator<Item = Vec<Mark>> {
    let span = range.1 - range.0;
    let fine = decimal_steps(span).filter(|step| *step < LENGTHS_S[0]);
    let last = LENGTHS_S[LENGTHS_S.len() - 1];
    let coarse = decimal_steps(span).filter(move |step| *step > last);
    fine.chain(LENGTHS_S).chain(coarse).map(move |step| {
        let mut before = String::new();
        labelled(step, range, |at| {
            let label = moment(&Scale::Elapsed, at);
            // Two units may be too coarse for a short span far from the origin.
            if label == before {
                return String::new();
            }
            before.clone_from(&label);
            label
        })
    })
}

const DAY_S: f64 = 86_400.0;

/// Returns the days of a week, each label centred on its day.
fn weekdays(range: (f64, f64)) -> Vec<Mark> {
    // The day in which the range begins has no tick, but a label if its middle is visible.
    let all = multiples(DAY_S, (range.0 - DAY_S, range.1));
    let days = all.into_iter().map(|at| Mark {
        at,
        label: weekday(at).to_owned(),
        label_at: at + DAY_S / 2.0,
    });
    let is_seen = |at: f64| (range.0..=range.1).contains(&at);
    days.filter(|mark| is_seen(mark.at) || is_seen(mark.label_at))
        .collect()
}

fn times_of_day(range: (f64, f64)) -> impl Iterator<Item = Vec<Mark>> {
    LENGTHS_S
        .into_iter()
        .filter(|step| (60.0..DAY_S).contains(step))
        .map(move |step| labelled(step, range, |at| moment(&Scale::Day, at)))
}

/// Returns the name of the weekday that contains a second since Monday.
fn weekday(at: f64) -> &'static str {
    use jiff::civil::Weekday;
    #[allow(clippy::cast_possible_truncation)] // 0 to 6
    let index = ((at / DAY_S + 1e-9).floor().rem_euclid(7.0)) as i8;
    units::date::weekday_short(
        Weekday::from_monday_zero_offset(index.clamp(0, 6)).unwrap_or(Weekday::Monday),
    )
}

/// Formats a value of the x axis for tables.
pub(crate) fn moment(scale: &Scale, value: f64) -> String {
    let time = || {
        let minutes = (value / 60.0 + 1e-9).floor().rem_euclid(1_440.0);
        format!("{:02}:{:02}", (minutes / 60.0).floor(), minutes % 60.0)
    };
    match scale {
        _ if !value.is_finite() => "unknown".to_owned(),
        Scale::Number => units::number(value),
        Scale::Count => count(value),
        Scale::Time(zone) => calendar::moment(value, zone).unwrap_or_else(|| units::number(value)),
        Scale::Elapsed if value > 0.0 => format!("+{}", units::seconds(value)),
        Scale::Elapsed if value < 0.0 => format!("-{}", units::seconds(-value)),
        Scale::Elapsed => "0".to_owned(),
        Scale::Week => format!("{} {}", weekday(value), time()),
        Scale::Day => time(),
    }
}

/// Returns the caption of the x axis: its label and, for times, its ends and zone.
pub(crate) fn caption(axis: &Axis, range: (f64, f64)) -> String {
    let label = escape(&axis.label);
    let Scale::Time(zone) = &axis.scale else {
        return label.into_owned();
    };
    let Some(ends) = calendar::ends(range, zone) else {
        return label.into_owned();
    };
    let gap = if label.is_empty() { "" } else { ": " };
    format!("{label}{gap}{ends}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn counts_are_whole_and_grouped() {
        let labels = |range| -> Vec<String> {
            let ticks = x_ticks(&Scale::Count, range, 60.0).into_iter();
            ticks.map(|tick| tick.label).collect()
        };
        let thousands = labels((0.0, 50_000.0));
        assert_eq!(thousands.first().map(String::as_str), Some("0"));
        assert_eq!(thousands.last().map(String::as_str), Some("50,000"));
        assert_eq!(labels((0.0, 2.0)), ["0", "1", "2"]);
        assert_eq!(moment(&Scale::Count, 25_000.2), "25,000");
        assert_eq!(moment(&Scale::Count, -1.5), "-1.5");
    }

    fn labels(range: (f64, f64), format: Format) -> String {
        let ticks = y_axis(range, format).ticks;
        let labels: Vec<String> = ticks.into_iter().map(|(_, label)| label).collect();
        labels.join(", ")
    }

    #[test]
    fn round_numbers_cover_the_values() {
        for (range, expected) in [
            ((1.0, 3.9), "1, 2, 3, 4"),
            ((0.0, 870.0), "0, 250, 500, 750, 1000"),
            (
                (0.0, 0.013),
                "0, 0.002, 0.004, 0.006, 0.008, 0.010, 0.012, 0.014",
            ),
            ((1.0, 3.01), "1.0, 1.5, 2.0, 2.5, 3.0, 3.5"),
            ((-3.0, 3.0), "-3, -2, -1, 0, 1, 2, 3"),
            (
                (45_490.0, 51_400.0),
                "45000, 46000, 47000, 48000, 49000, 50000, 51000, 52000",
            ),
        ] {
            assert_eq!(labels(range, Format::Number), expected, "{range:?}");
        }
        // A single value gets padding around it.
        assert_eq!(labels((5.0, 5.0), Format::Number), "4.75, 5.00, 5.25");
    }

    #[test]
    fn round_numbers_in_their_unit() {
        let mib = 1024.0 * 1024.0;
        for (high, format, expected) in [
            (0.9, Format::Percent, "0 %, 25 %, 50 %, 75 %, 100 %"),
            (3.9 * mib, Format::Bytes, "0, 1 MiB, 2 MiB, 3 MiB, 4 MiB"),
            (
                390.0 * mib,
                Format::BytesPerSecond,
                "0, 100 MiB/s, 200 MiB/s, 300 MiB/s, 400 MiB/s",
            ),
            (0.004, Format::Seconds, "0, 1 ms, 2 ms, 3 ms, 4 ms"),
            (14_400.0, Format::Seconds, "0, 1 h, 2 h, 3 h, 4 h"),
        ] {
            assert_eq!(labels((0.0, high), format), expected);
        }
    }

    fn words(scale: &Scale, range: (f64, f64), columns: f64) -> String {
        let ticks = x_ticks(scale, range, columns);
        let labels: Vec<String> = ticks.into_iter().map(|tick| tick.label).collect();
        labels.join(" ")
    }

    #[test]
    fn ticks_fit_their_labels() {
        assert_eq!(
            words(&Scale::Number, (0.0, 20.8), 60.0),
            "0 2 4 6 8 10 12 14 16 18 20"
        );
        assert_eq!(words(&Scale::Number, (0.0, 20.8), 20.0), "0 5 10 15 20");
        assert_eq!(words(&Scale::Number, (0.0, 20.8), 10.0), "0 10 20");
        assert_eq!(
            words(&Scale::Elapsed, (0.0, 129_600.0), 60.0),
            "0 +12 h +1 day +1 day 12 h"
        );
        assert_eq!(
            words(&Scale::Day, (0.0, 86_400.0), 70.0),
            "00:00 03:00 06:00 09:00 12:00 15:00 18:00 21:00 00:00"
        );
        // From five past, for an hour.
        assert_eq!(
            words(&Scale::Day, (79_500.0, 83_100.0), 70.0),
            "22:10 22:20 22:30 22:40 22:50 23:00"
        );
    }

    #[test]
    fn weeks_begin_at_their_anchor() {
        let week = |from: f64| words(&Scale::Week, (from, from + 7.0 * DAY_S), 70.0);
        assert_eq!(week(0.0), "Mon Tue Wed Thu Fri Sat Sun ");
        // Sunday 06:47: the first midnight is Monday's, and half of the last Sunday is out of range.
        assert_eq!(week(6.0 * DAY_S + 24_420.0), "Sun Mon Tue Wed Thu Fri Sat ");
        assert_eq!(moment(&Scale::Week, 6.0 * DAY_S + 24_420.0), "Sun 06:47");
        assert_eq!(moment(&Scale::Elapsed, -90.0), "-1 min 30 s");
    }

    proptest! {
        #[test]
        fn values_lie_within_their_axis(low in any::<f64>(), high in any::<f64>(), format in 0_usize..5) {
            let formats = [
                Format::Number,
                Format::Percent,
                Format::Bytes,
                Format::BytesPerSecond,
                Format::Seconds,
            ];
            prop_assume!(low.is_finite() && high.is_finite());
            let (low, high) = (low.min(high), low.max(high));
            let axis = y_axis((low, high), formats[format]);
            prop_assert!(axis.range.0 < axis.range.1);
            let slack = (high / 2.0 - low / 2.0) * 1e-6;
            prop_assert!(axis.range.0 <= low + slack && axis.range.1 >= high - slack, "{axis:?}");
            prop_assert!((2..=8).contains(&axis.ticks.len()));
        }

        #[test]
        fn labels_do_not_collide(low in any::<f64>(), high in any::<f64>(), scale in 0_usize..6, columns in 0_u8..200) {
            let scales = [
                Scale::Number,
                Scale::Count,
                Scale::Time(jiff::tz::TimeZone::UTC),
                Scale::Elapsed,
                Scale::Week,
                Scale::Day,
            ];
            let columns = f64::from(columns);
            let mut used = f64::NEG_INFINITY;
            for tick in x_ticks(&scales[scale], (low, high), columns) {
                prop_assert!(tick.share.is_none_or(|share| (0.0..=1.0).contains(&share)));
                if tick.label.is_empty() {
                    continue;
                }
                let start = tick.label_share * columns;
                prop_assert!(start >= used + LABEL_GAP - 1e-6);
                used = start + f64::from(u32::try_from(tick.label.len()).unwrap());
                prop_assert!(used <= columns + 1e-6);
            }
        }

        #[test]
        fn times_have_ticks(start in 0_u32..4_000_000_000, span in 2_u32..1_000_000_000) {
            let zone = units::zone::parse("Europe/Berlin").unwrap();
            let range = (f64::from(start), f64::from(start) + f64::from(span));
            let ticks = x_ticks(&Scale::Time(zone), range, 70.0);
            prop_assert!(!ticks.is_empty());
            prop_assert!(ticks.windows(2).all(|pair| pair[0].share < pair[1].share));
        }
    }
}
