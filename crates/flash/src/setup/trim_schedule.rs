//! Trim schedules as written on the command line: `weekly`, `Sun 06:47`, `every 3 days`.

use crate::filesystem::Reach;
use crate::scenario::{Schedule, Trims};
use std::fmt;
use std::str::FromStr;
use units::ValueError;

/// A trim schedule that can be parsed and displayed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrimSchedule {
    /// When the filesystem is trimmed.
    pub trims: Trims,
    /// What happens to the discards.
    pub reach: Reach,
}

impl TrimSchedule {
    /// Sundays at 6, like Debian's cron.weekly.
    pub const WEEKLY: Self = Self::of(Trims::Periodic(Schedule::WEEKLY));
    /// Every day at 6.
    pub const DAILY: Self = Self::of(Trims::Periodic(Schedule {
        every_days: 1,
        first_day: 0,
        ..Schedule::WEEKLY
    }));
    /// On each delete.
    pub const ONLINE: Self = Self::of(Trims::Online);
    /// Never.
    pub const NEVER: Self = Self::of(Trims::Never);

    const fn of(trims: Trims) -> Self {
        Self {
            trims,
            reach: Reach::Executed,
        }
    }

    /// Every `days` days.
    pub fn every(days: u32) -> Self {
        Self::of(Trims::Periodic(Schedule {
            every_days: days,
            ..Schedule::WEEKLY
        }))
    }

    /// The same schedule, with discards that never reach the drive.
    #[must_use]
    pub fn swallowed(self) -> Self {
        Self {
            reach: Reach::Swallowed,
            ..self
        }
    }
}

/// Days of the week, Monday first.
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// An adverb for "trimmed": `weekly`, `every 3 days`, `on each delete`.
impl fmt::Display for TrimSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.trims {
            Trims::Never => f.write_str("never")?,
            Trims::Online => f.write_str("on each delete")?,
            Trims::Periodic(schedule) => match schedule.every_days {
                1 => f.write_str("daily")?,
                7 => f.write_str("weekly")?,
                days => write!(f, "every {days} days")?,
            },
        }
        if self.reach == Reach::Executed {
            Ok(())
        } else {
            f.write_str(", without effect on the drives")
        }
    }
}

/// Parses `weekly`, `daily`, `online`, `never`, `swallowed`, `Sun 06:47`, `03:00` or
/// `every 3 days`. The model has hours only, so minutes are dropped.
impl FromStr for TrimSchedule {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let expected = || {
            ValueError::new(
                "weekly, daily, online, never, swallowed, \"Sun 06:47\", \"03:00\" or \"every 3 days\"",
                text,
            )
        };
        let lower = text.trim().to_ascii_lowercase();
        match lower.as_str() {
            "weekly" => return Ok(Self::WEEKLY),
            "daily" => return Ok(Self::DAILY),
            "online" | "discard" => return Ok(Self::ONLINE),
            "never" => return Ok(Self::NEVER),
            "swallowed" => return Ok(Self::WEEKLY.swallowed()),
            _ => {}
        }
        if let Some(rest) = lower.strip_prefix("every ") {
            let number = rest
                .trim_end_matches('s')
                .strip_suffix("day")
                .ok_or_else(expected)?
                .trim();
            return match number.parse() {
                Ok(days @ 1..=3660) => Ok(Self::every(days)),
                _ => Err(expected()),
            };
        }
        let (day, time) = match lower.split_once(' ') {
            Some((day, time)) => (Some(day), time.trim()),
            None if lower.contains(':') => (None, lower.as_str()),
            None => (Some(lower.as_str()), "06:00"),
        };
        let hour = hour(time).ok_or_else(expected)?;
        let mut schedule = Schedule::every(1, hour);
        if let Some(day) = day {
            let known = |name: &&str| {
                let name = name.to_ascii_lowercase();
                // `sun`, `sunday`: a prefix of at least three letters.
                day.len() >= 3 && full_day(&name).starts_with(day)
            };
            let index = DAYS.iter().position(known).ok_or_else(expected)?;
            schedule.every_days = 7;
            schedule.first_day = u32::try_from(index).map_err(|_| expected())?;
        }
        Ok(Self::of(Trims::Periodic(schedule)))
    }
}

/// Completes `sun` to `sunday`.
fn full_day(name: &str) -> String {
    let rest = match name {
        "tue" => "s",
        "wed" => "nes",
        "thu" => "rs",
        "sat" => "ur",
        _ => "",
    };
    format!("{name}{rest}day")
}

/// The hour of `06:47`.
fn hour(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, below: u32| {
        let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        let value: u32 = text.parse().ok()?;
        (digits && value < below).then_some(value)
    };
    number(minutes, 60)?;
    number(hours, 24)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn trim_schedule(text: &str) -> Result<TrimSchedule, String> {
        text.parse().map_err(|error: ValueError| error.to_string())
    }

    #[test]
    fn trim_schedules() {
        let schedule = |text: &str| match trim_schedule(text).unwrap().trims {
            Trims::Periodic(schedule) => (schedule.every_days, schedule.first_day, schedule.hour),
            other => panic!("{other:?}"),
        };
        assert_eq!(schedule("weekly"), (7, 6, 6));
        assert_eq!(schedule("Sun 06:47"), (7, 6, 6));
        assert_eq!(schedule("tuesday 3:05"), (7, 1, 3));
        assert_eq!(schedule("thurs 23:59"), (7, 3, 23));
        assert_eq!(schedule("Mon"), (7, 0, 6));
        assert_eq!(schedule("03:00"), (1, 0, 3));
        assert_eq!(schedule("every 3 days").0, 3);
        assert_eq!(schedule("every 1 day").0, 1);
        assert_eq!(trim_schedule("online").unwrap().trims, Trims::Online);
        assert_eq!(trim_schedule("swallowed").unwrap().reach, Reach::Swallowed);
        for text in [
            "",
            "monthly",
            "24:00",
            "Sun 6",
            "Sunnday 06:00",
            "su 06:00",
            "every 0 days",
            "every day or so",
            "06:60",
        ] {
            assert!(
                trim_schedule(text).unwrap_err().starts_with("expected"),
                "{text}"
            );
        }
        assert_eq!(
            trim_schedule("every 3 days").unwrap().to_string(),
            "every 3 days"
        );
        assert_eq!(
            trim_schedule("swallowed").unwrap().to_string(),
            "weekly, without effect on the drives"
        );
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC*|[a-z]{0,8}[:@ /,0-9.%]{0,12}") {
            let _ = trim_schedule(&text);
        }
    }
}
