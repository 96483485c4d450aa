//! Computes when jobs run: turns crontab lines, anacron jobs and systemd calendar events into
//! [runs](Run).
//!
//! A run is an interval because schedules are imprecise: systemd adds a random delay to timers, and
//! anacron starts some time after boot. Nothing in this crate reads a file, the clock or the
//! environment; time zones come from the compiled-in database.
//!
//! - [`CronSpec`]: the five fields of a crontab line, as Debian's cron and cronie read them.
//! - [`Calendar`]: an `OnCalendar=` expression, as defined in systemd.time(7).
//! - [`runs`]: the runs of a [job](facts::host::Job) between two times, without those that its guards
//!   end at once; [`job_period_s`]: how far apart they are.
//! - [`Conditions`]: what else runs depend on: how cron handles clock changes, and when the host
//!   was up.
//! - [`Log`]: runs recorded in the systemd journal or a syslog file; [`known_runs`]: these, plus
//!   computed runs where no log covers the time.
//! - [`parse_events`]: user-supplied lists of events.
//! - [`collisions`]: jobs that start at the same time.

/// Maximum length of the text of a schedule in bytes. A crontab line that names each value of each
/// field once has about 400.
pub const SCHEDULE_BYTES_MAX: usize = 1024;

mod anacron;
mod calendar;
mod civil;
mod collision;
mod conditions;
mod cron;
mod cron_times;
mod delay;
mod events;
mod forecast;
mod guard;
mod known;
mod observed;
mod run;
mod timer;
mod window;
mod zone;

pub use calendar::Calendar;
pub use collision::{Collision, Collisions, GROUPS_MAX, collisions};
pub use conditions::{
    Conditions, CronFlavor, RUNS_MAX, RUNS_OF_MINUTES_MAX, RhythmChange, Uptime, Uptimes,
    rhythm_changes,
};
pub use cron::CronSpec;
pub use events::{EVENTS_MAX, Events, parse_events};
pub use forecast::{job_period_s, period_s, runs};
pub use known::known_runs;
pub use observed::{Commands, HostIdentity, Log, OBSERVED_MAX, RUNS_OF_ALL_MAX, observed_runs};
pub use run::{Delays, Forecast, Run, Seen};
pub use zone::parse_zone;
