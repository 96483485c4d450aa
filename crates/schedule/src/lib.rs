//! When jobs run: crontab lines, anacron, and systemd's calendar events, to [runs](Run).
//!
//! A run is an interval, because schedules leave things open: systemd delays timers at random,
//! anacron starts when the host has been up for a while. Nothing here reads a file, a clock or the
//! environment; time zones come from the database that is compiled in.
//!
//! - [`CronSpec`]: the five fields of a crontab line, as Debian's cron and cronie read them.
//! - [`Calendar`]: `OnCalendar=`, as systemd.time(7) has it.
//! - [`runs`]: a [job](facts::host::Job)'s runs between two moments; [`period_s`]: how often.
//! - [`Conditions`]: what runs depend on beside: how cron takes changes of the clock, when the host
//!   was up.
//! - [`Log`]: runs that a journal or a file of syslog tells of; [`known_runs`]: these, and computed
//!   ones where no log looked.
//! - [`parse_events`]: lists of moments that somebody hands in.
//! - [`collisions`]: jobs that start at the same moment.

mod anacron;
mod calendar;
mod civil;
mod collision;
mod conditions;
mod cron;
mod events;
mod forecast;
mod known;
mod observed;
mod run;
mod timer;
mod window;
mod zone;

pub use calendar::Calendar;
pub use collision::{Collision, Collisions, GROUPS_MAX, collisions, overlaps};
pub use conditions::{
    Conditions, CronSense, RUNS_MAX, RUNS_OF_MINUTES_MAX, RhythmChange, Uptime, Uptimes,
    rhythm_changes,
};
pub use cron::CronSpec;
pub use events::{EVENTS_MAX, Events, parse_events};
pub use forecast::{period_s, runs};
pub use known::known_runs;
pub use observed::{Commands, Log, OBSERVED_MAX, RUNS_OF_ALL_MAX, Whose, observed_runs};
pub use run::{Forecast, Run, Seen};
pub use zone::parse_zone;
