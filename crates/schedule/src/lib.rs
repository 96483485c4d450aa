//! When jobs run: crontab lines, anacron, and systemd's calendar events, to [runs](Run).
//!
//! A run is an interval, because schedules leave things open: systemd delays timers at random,
//! anacron starts when the host has been up for a while. Nothing here reads a file, a clock or the
//! environment; time zones come from the database that is compiled in.
//!
//! - [`CronSpec`]: the five fields of a crontab line, as Debian's cron and cronie read them.
//! - [`Calendar`]: `OnCalendar=`, as systemd 252 reads it.
//! - [`runs`]: a [job](facts::host::Job)'s runs between two moments; [`period_s`]: how often.
//! - [`collisions`]: jobs that start at the same moment.

mod anacron;
mod calendar;
mod civil;
mod collision;
mod cron;
mod run;
mod zone;

pub use calendar::Calendar;
pub use collision::{Collision, Collisions, GROUPS_MAX, collisions, overlaps};
pub use cron::CronSpec;
pub use run::{Forecast, RUNS_MAX, Run, period_s, runs};
pub use zone::parse_zone;
