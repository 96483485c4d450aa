//! Crontab schedules, as read by Debian's cron (Vixie cron with changes from OpenBSD) and cronie.

mod next;
mod parse;

use std::fmt;

/// When a crontab line runs: the five fields, or a nickname such as `@weekly`.
///
/// Two crons are in use on Linux, Debian's and cronie. Where they differ from each other or from
/// their manuals, this follows their sources (`entry.c`, `cron.c`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CronSpec {
    /// As written, with fields separated by a single space.
    text: String,
    /// Bit n is minute n.
    minutes: u64,
    /// Bit n is hour n.
    hours: u64,
    /// Bit n is day n of the month; bit 0 is unused.
    days: u64,
    /// Bit n is month n; bit 0 is unused.
    months: u64,
    /// Bit n is day n of the week, 0 for Sunday.
    weekdays: u64,
    /// A day matches when its day of the month *or* its weekday does: neither of the two fields
    /// starts with `*`.
    either_day: bool,
    /// The minute or hour field starts with `*`: the job follows the wall clock through clock
    /// changes, and skipped runs are not made up.
    wildcard: bool,
}

impl CronSpec {
    /// Returns the bits of the five fields: minutes, hours, days, months, weekdays from Sunday.
    pub(crate) fn bits(&self) -> [u64; 5] {
        [
            self.minutes,
            self.hours,
            self.days,
            self.months,
            self.weekdays,
        ]
    }

    /// Whether a day matches when its day of the month or its weekday does.
    pub(crate) fn is_either_day(&self) -> bool {
        self.either_day
    }
}

/// Formats the schedule as written, with fields separated by a single space.
impl fmt::Display for CronSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
