//! Verdicts, numbers and times in words.

use crate::words::{digits, human_duration};
use explain::verdict::{ChangeKind, Cycle, Kind, Role, Shape};
use facts::series::Dating;
use jiff::Timestamp;
use jiff::tz::TimeZone;

const SECOND_US: i64 = 1_000_000;
const HOUR_US: i64 = 3_600 * SECOND_US;

/// A verdict in one word, as JSON has it.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Periodic => "periodic",
        Kind::Change => "change",
        Kind::None => "none",
        Kind::Undecided => "undecided",
        Kind::Unattributed => "unattributed",
    }
}

/// What a pattern looks like.
pub(super) fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Sawtooth => "sawtooth",
        Shape::Spike => "spikes",
        Shape::Dip => "dips",
        Shape::Step => "two levels by turns",
        Shape::Wave => "wave",
    }
}

/// What its events are, for the row below a chart.
pub(super) fn event(shape: Option<Shape>) -> &'static str {
    match shape {
        Some(Shape::Sawtooth) => "resets",
        Some(Shape::Spike) => "spikes",
        Some(Shape::Dip) => "dips",
        Some(Shape::Step) => "steps",
        Some(Shape::Wave) | None => "events",
    }
}

/// Which way a job acts.
pub(super) fn role(role: Role) -> &'static str {
    match role {
        Role::Heals => "heals",
        Role::Hurts => "hurts",
        Role::Unknown => "unknown",
    }
}

/// What changed.
pub(super) fn change(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Level => "level",
        ChangeKind::Slope => "slope",
        ChangeKind::PatternBegins => "the pattern begins",
        ChangeKind::PatternEnds => "the pattern ends",
    }
}

/// The calendar of a period.
pub(super) fn cycle(cycle: Cycle) -> &'static str {
    match cycle {
        Cycle::Hour => "by the hour",
        Cycle::Day => "by the day",
        Cycle::Week => "by the week",
        Cycle::Runs => "at the runs of a job",
        Cycle::Fixed => "no calendar's period",
    }
}

/// A number of any size in few characters: `12`, `51234`, `0.071`, `1.7e300`.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-4..1e7).contains(&size) || !value.is_finite() {
        digits(value)
    } else {
        let text = format!("{value:.2e}");
        match text.split_once('e') {
            Some((mantissa, power)) if mantissa.contains('.') => {
                let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
                format!("{mantissa}e{power}")
            }
            _ => text,
        }
    }
}

/// The same with its sign and its unit.
pub(super) fn signed(value: f64, unit: Option<&str>) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    with_unit(&format!("{sign}{}", number(value)), unit)
}

/// A number and its unit, if it has one.
pub(super) fn with_unit(number: &str, unit: Option<&str>) -> String {
    match unit {
        Some(unit) => format!("{number} {unit}"),
        None => number.to_owned(),
    }
}

/// A share with its sign, at most three digits that count: `-12 %`, `+0.4 %`.
pub(super) fn signed_percent(share: f64) -> String {
    signed(share * 100.0, Some("%"))
}

/// A probability: `0.001`, `below 0.0001`.
pub(super) fn probability(p: f64) -> String {
    if p > 0.0 && p < 1e-4 {
        "below 0.0001".to_owned()
    } else {
        digits(p)
    }
}

/// A score in percent that says neither certain nor impossible of what is only nearly so.
pub(super) fn score(score: f64) -> String {
    let percent = score * 100.0;
    if percent > 99.5 && score < 1.0 {
        ">99 %".to_owned()
    } else if percent < 0.5 && score > 0.0 {
        "<1 %".to_owned()
    } else {
        format!("{percent:.0} %")
    }
}

/// Seconds as people say them; fractions below ten seconds stay.
pub(super) fn duration(seconds: f64) -> String {
    if seconds > 0.0 && seconds < 10.0 {
        return format!("{} s", number(seconds));
    }
    // A number that is no duration counts as 0, one that is too long for one as the longest.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    human_duration(seconds.round() as u64)
}

/// How the times of a series are told.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    zone: TimeZone,
    dating: Dating,
    first_us: i64,
    /// Minutes alone would show the same time again and again.
    seconds: bool,
    /// Days alone tell the ends apart.
    days: bool,
}

impl Clock {
    /// The clock of a series whose samples lie between two moments.
    pub fn new(zone: &TimeZone, dating: Dating, first_us: i64, last_us: i64) -> Self {
        let span_us = last_us.saturating_sub(first_us);
        Self {
            zone: zone.clone(),
            dating,
            first_us,
            seconds: span_us < HOUR_US,
            days: span_us >= 14 * 24 * HOUR_US,
        }
    }

    /// A moment as exactly as it makes sense.
    pub fn moment(&self, at_us: i64) -> String {
        self.show(
            at_us,
            if self.seconds {
                "%Y-%m-%d %H:%M:%S"
            } else {
                "%Y-%m-%d %H:%M"
            },
        )
    }

    /// A moment at the end of an axis.
    pub fn end(&self, at_us: i64) -> String {
        if self.days {
            self.show(at_us, "%Y-%m-%d")
        } else {
            self.moment(at_us)
        }
    }

    fn show(&self, at_us: i64, format: &str) -> String {
        if self.dating == Dating::Absolute {
            return Timestamp::from_microsecond(at_us).map_or_else(
                |_| "out of range".to_owned(),
                |at| at.to_zoned(self.zone.clone()).strftime(format).to_string(),
            );
        }
        #[expect(clippy::cast_precision_loss, reason = "seconds, told in words")]
        let since_s = at_us.saturating_sub(self.first_us) as f64 / 1e6;
        format!("+{}", duration(since_s))
    }
}

/// What the times of a series are worth, where they are no moments.
pub(super) fn dating(dating: Dating) -> Option<String> {
    match dating {
        Dating::Absolute => None,
        Dating::Day(day) => Some(format!(
            "the first sample is of {day}; at what time of that day is not known"
        )),
        Dating::Undated => Some("the samples have no dates, only their distances".to_owned()),
    }
}

/// Microseconds of a moment.
pub(super) fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_any_size() {
        for (value, text) in [
            (0.0, "0"),
            (51_234.0, "51234"),
            (-0.071, "-0.071"),
            (1.7e300, "1.7e300"),
            (2e7, "2e7"),
            (-3.25e-9, "-3.25e-9"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(signed(3.0, Some("ms")), "+3 ms");
        assert_eq!(signed_percent(-0.123), "-12.3 %");
    }

    #[test]
    fn scores_are_never_rounded_to_certainty() {
        assert_eq!(score(0.9991), ">99 %");
        assert_eq!(score(1.0), "100 %");
        assert_eq!(score(0.002), "<1 %");
        assert_eq!(score(0.0), "0 %");
        assert_eq!(score(0.62), "62 %");
        assert_eq!(probability(0.000_01), "below 0.0001");
        assert_eq!(probability(0.01), "0.01");
    }

    #[test]
    fn durations() {
        assert_eq!(duration(604_800.0), "7 days");
        assert_eq!(duration(0.25), "0.25 s");
        assert_eq!(duration(-1.0), "0 s");
        assert_eq!(duration(f64::NAN), "0 s");
    }

    proptest! {
        #[test]
        fn numbers_are_short(value in any::<f64>().prop_filter("finite", |value| value.is_finite())) {
            let text = number(value);
            prop_assert!(text.len() <= 11, "{text}");
            let back: f64 = text.parse().unwrap();
            prop_assert!((back - value).abs() <= value.abs() * 0.0051, "{value} became {text}");
        }
    }
}
