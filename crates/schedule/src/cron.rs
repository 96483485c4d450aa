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
    pub(crate) minutes: u64,
    /// Bit n is hour n.
    pub(crate) hours: u64,
    /// Bit n is day n of the month; bit 0 is unused.
    pub(crate) days: u64,
    /// Bit n is month n; bit 0 is unused.
    pub(crate) months: u64,
    /// Bit n is day n of the week, 0 for Sunday.
    pub(crate) weekdays: u64,
    /// A day matches when its day of the month *or* its weekday does: neither of the two fields
    /// starts with `*`.
    pub(crate) either_day: bool,
    /// The minute or hour field starts with `*`: the job follows the wall clock through clock
    /// changes, and skipped runs are not made up.
    wildcard: bool,
}

/// Formats the schedule as written, with fields separated by a single space.
impl fmt::Display for CronSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
