//! Times, spans and numbers in words.

use super::recurrence::Rhythm;
use super::result::Cycle;
use crate::calendar::weekdays::weekday_name;
use jiff::Timestamp;
use jiff::tz::TimeZone;

const MINUTE_US: i64 = 60_000_000;

/// A local time as a place within a cycle: `Sunday 06:47`, `06:47`, `minute 47`; a date and a time without a
/// calendar. Includes seconds if samples are less than a minute apart.
pub(crate) fn place(cycle: Cycle, wall_us: i64, gap_us: i64) -> String {
    // Local times are formatted as if they were UTC.
    let Ok(at) = Timestamp::from_microsecond(wall_us) else {
        return "?".to_owned();
    };
    let seconds = if gap_us < MINUTE_US { ":%S" } else { "" };
    let format = match cycle {
        Cycle::Hour => "minute %-M",
        Cycle::Day => "%H:%M",
        Cycle::Week => "%A %H:%M",
        Cycle::Runs | Cycle::Fixed => "%Y-%m-%d %H:%M",
    };
    at.to_zoned(TimeZone::UTC)
        .strftime(&format!("{format}{seconds}"))
        .to_string()
}

/// `every week`, `every 37 min`.
pub(crate) fn every(cycle: Option<Cycle>, period_s: f64) -> String {
    match cycle {
        Some(Cycle::Hour) => "every hour".to_owned(),
        Some(Cycle::Day) => "every day".to_owned(),
        Some(Cycle::Week) => "every week".to_owned(),
        Some(Cycle::Runs) => "after each run".to_owned(),
        _ if (period_s / 86_400.0 - 1.0).abs() < 1e-3 => "every day".to_owned(),
        _ => format!("every {}", span(period_s)),
    }
}

/// How often a pattern comes: `every week`, `from Monday to Friday`.
pub(crate) fn how_often(rhythm: &Rhythm) -> String {
    match &rhythm.weekdays {
        Some(names) => on_days(names),
        None => every(Some(rhythm.cycle), rhythm.period_s),
    }
}

/// Days of the week: `from Monday to Friday`, `on Tuesday and Thursday`, `every day but Wednesday`.
fn on_days(names: &[String]) -> String {
    let has = |day: i64| names.contains(&weekday_name(day));
    if let (6, Some(missing)) = (names.len(), (0..6).find(|&day| !has(day))) {
        return format!("every day but {}", weekday_name(missing));
    }
    let firsts: Vec<i64> = (0..7).filter(|&day| has(day) && !has(day + 6)).collect();
    match (&firsts[..], names) {
        ([first], [_, _, _, ..]) => {
            let last = (*first..).take(names.len()).last().unwrap_or(*first);
            format!("from {} to {}", weekday_name(*first), weekday_name(last))
        }
        (_, [before @ .., last]) if !before.is_empty() => {
            format!("on {} and {last}", before.join(", "))
        }
        _ => format!("on {}", names.concat()),
    }
}

/// The unit of cycles: `weeks`, `periods`.
pub(crate) fn periods(cycle: Cycle) -> &'static str {
    match cycle {
        Cycle::Hour => "hours",
        Cycle::Day => "days",
        Cycle::Week => "weeks",
        Cycle::Runs => "runs",
        Cycle::Fixed => "periods",
    }
}

/// A span to two or three significant figures: `37 min`, `6.5 h`, `2.3 days`.
pub(crate) fn span(span_s: f64) -> String {
    let (value, unit) = match span_s {
        s if s < 1.0 => (s * 1e3, "ms"),
        s if s < 120.0 => (s, "s"),
        s if s < 7_200.0 => (s / 60.0, "min"),
        s if s < 172_800.0 => (s / 3_600.0, "h"),
        s => (s / 86_400.0, "days"),
    };
    format!("{} {unit}", number(value))
}

/// A number to three significant figures, without trailing zeros.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e15 || (size > 0.0 && size < 1e-4) {
        return format!("{value:.2e}");
    }
    let decimals = match size {
        s if s >= 100.0 => 0,
        s if s >= 10.0 => 1,
        s if s >= 1.0 => 2,
        s if s >= 0.1 => 3,
        _ => 5,
    };
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// `12 %`, without a sign.
pub(crate) fn percent(fraction: f64) -> String {
    format!("{} %", number(fraction.abs() * 100.0))
}

/// A list of names; scripts of one directory are grouped: `cron.weekly (fstrim, man-db)`.
pub(crate) fn names(names: &[String]) -> String {
    let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
    for name in names {
        let (head, tail) = name.split_once('/').unwrap_or((name, ""));
        match parts.iter_mut().find(|(known, _)| *known == head) {
            Some((_, tails)) => tails.push(tail),
            None => parts.push((head, vec![tail])),
        }
    }
    let parts: Vec<String> = parts
        .into_iter()
        .map(|(head, tails)| {
            let tails: Vec<&str> = tails.into_iter().filter(|tail| !tail.is_empty()).collect();
            match tails[..] {
                [] => head.to_owned(),
                [tail] => format!("{head}/{tail}"),
                _ => format!("{head} ({})", tails.join(", ")),
            }
        })
        .collect();
    parts.join(", ")
}

/// What the samples are called: `daily samples`, `samples every 5 min`.
pub(crate) fn sampling(gap_s: f64) -> String {
    match gap_s {
        s if (s / 86_400.0 - 1.0).abs() < 0.1 => "daily samples".to_owned(),
        s if (s / 3_600.0 - 1.0).abs() < 0.1 => "hourly samples".to_owned(),
        s if (s / 60.0 - 1.0).abs() < 0.1 => "samples every minute".to_owned(),
        s => format!("samples every {}", span(s)),
    }
}

/// `2026-04-26`.
pub(crate) fn day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d").to_string()
}

/// `2026-04-26 06:47 UTC`.
pub(crate) fn minute(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC)
        .strftime("%Y-%m-%d %H:%M UTC")
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::periods::{DAY_US, HOUR_US};

    #[test]
    fn numbers_have_three_figures() {
        for (value, text) in [
            (1.8, "1.8"),
            (12.0, "12"),
            (1234.5, "1234"),
            (0.05, "0.05"),
            (100.0, "100"),
            (0.0, "0"),
            (2e20, "2.00e20"),
            (-2.719, "-2.72"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn days_of_the_week_stand_together() {
        let of =
            |days: &[i64]| on_days(&days.iter().copied().map(weekday_name).collect::<Vec<_>>());
        assert_eq!(of(&[0, 1, 2, 3, 4]), "from Monday to Friday");
        assert_eq!(of(&[0, 1, 2, 3, 6]), "from Sunday to Thursday");
        assert_eq!(of(&[1, 3]), "on Tuesday and Thursday");
        assert_eq!(of(&[0, 2, 4]), "on Monday, Wednesday and Friday");
        assert_eq!(of(&[5, 6]), "on Saturday and Sunday");
        assert_eq!(of(&[2]), "on Wednesday");
        assert_eq!(of(&[0, 1, 3, 4, 5, 6]), "every day but Wednesday");
        assert_eq!(of(&[0, 1, 2, 3, 4, 5]), "from Monday to Saturday");
    }

    #[test]
    fn scripts_of_one_directory_stand_together() {
        let of = |list: &[&str]| names(&list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            of(&["cron.weekly/fstrim", "cron.weekly/man-db"]),
            "cron.weekly (fstrim, man-db)"
        );
        assert_eq!(
            of(&["cron.weekly/fstrim", "fstrim.timer"]),
            "cron.weekly/fstrim, fstrim.timer"
        );
    }

    #[test]
    fn places_are_told_by_their_calendar() {
        let sunday = 3 * DAY_US + 6 * HOUR_US + 47 * MINUTE_US;
        assert_eq!(place(Cycle::Week, sunday, HOUR_US), "Sunday 06:47");
        assert_eq!(place(Cycle::Day, sunday, HOUR_US), "06:47");
        assert_eq!(place(Cycle::Hour, sunday, HOUR_US), "minute 47");
        assert_eq!(place(Cycle::Fixed, sunday, HOUR_US), "1970-01-04 06:47");
        assert_eq!(
            place(Cycle::Day, sunday + 31_000_000, 1_000_000),
            "06:47:31"
        );
    }
}
