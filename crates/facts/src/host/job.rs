use super::Guard;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A scheduled job. The schedule is kept as written; the `schedule` crate interprets it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Stable display name: `cron.weekly/fstrim`, `fstrim.timer`, `/etc/crontab:18`, `crontab of
    /// root:3`.
    pub name: String,
    /// The file that defines it, without the leading slash, with `:line` if it is one line of many.
    pub defined_in: String,
    /// User it runs as, if specified.
    pub user: Option<String>,
    /// When it runs. One job may have several triggers: Debian's cron.weekly scripts are started by
    /// anacron if that is installed, otherwise by cron. Only the triggers in effect are listed.
    pub triggers: Vec<Trigger>,
    /// What it runs, as far as that could be determined.
    pub commands: Vec<JobCommand>,
    /// Conditions that keep it from running here although it is scheduled, in plain language: a
    /// guard in the crontab line (`test -x /usr/sbin/anacron`), a systemd condition, a script that
    /// is not executable, a name that run-parts ignores. Empty if it runs.
    pub held_back_by: Vec<String>,
    /// What it asks the clock before it does anything, so that it works on only some of its
    /// firings: `[ $(date +%d) -le 7 ] && ...`. Each of them must hold.
    #[serde(default)]
    pub guards: Vec<Guard>,
    /// Last known run, from a timestamp file or from systemd.
    pub last_run: Option<Timestamp>,
    /// Next run according to systemd.
    pub next_run: Option<Timestamp>,
    /// State of the timer, for systemd timers.
    pub timer: Option<TimerState>,
}

impl Job {
    /// Returns a job of which only the name and the location are known.
    pub fn new(name: String, defined_in: String) -> Self {
        Self {
            name,
            defined_in,
            user: None,
            triggers: Vec::new(),
            commands: Vec::new(),
            held_back_by: Vec::new(),
            guards: Vec::new(),
            last_run: None,
            next_run: None,
            timer: None,
        }
    }

    /// Whether it runs automatically on this host, as far as is known.
    pub fn is_active(&self) -> bool {
        !self.triggers.is_empty()
            && self.held_back_by.is_empty()
            && self.timer.as_ref().is_none_or(TimerState::is_running)
    }
}

/// What starts a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Trigger {
    /// A crontab line: five fields or `@weekly`.
    Cron {
        /// The schedule as written, fields separated by one space.
        spec: String,
        /// `CRON_TZ` in effect for that line.
        time_zone: Option<String>,
        /// Its location: `etc/crontab:18`.
        source: String,
    },
    /// A line of anacrontab.
    Anacron {
        /// Period in days, or `@daily`, `@weekly`, `@monthly`, as written.
        period: String,
        /// Delay in minutes after anacron starts.
        delay_min: u32,
        /// `RANDOM_DELAY` in minutes, if set.
        random_delay_min: Option<u32>,
        /// `START_HOURS_RANGE`, if set: first and last hour.
        start_hours: Option<(u8, u8)>,
        /// What starts anacron on this host, if it is a calendar: its timer, or lines of a crontab.
        #[serde(default)]
        started_by: Vec<Trigger>,
        /// Job identifier, which names the timestamp file.
        identifier: String,
        /// Its location: `etc/anacrontab:12`.
        source: String,
    },
    /// Calendar events of a systemd timer.
    Calendar(Calendars),
    /// `OnBootSec=`, `OnStartupSec=`, `OnUnitActiveSec=`, `OnUnitInactiveSec=`, `OnActiveSec=`.
    Monotonic {
        /// The directive.
        base: String,
        /// Span in seconds.
        span_s: f64,
        /// `AccuracySec=` in seconds; systemd's default is 60.
        #[serde(default)]
        accuracy_s: Option<f64>,
        /// `RandomizedDelaySec=` in seconds; 0 by default.
        #[serde(default)]
        randomized_delay_s: Option<f64>,
        /// The timer unit.
        source: String,
    },
    /// `@reboot`.
    Boot {
        /// Its location.
        source: String,
    },
}

impl Trigger {
    /// Returns where it is written: a line of a crontab, a timer unit.
    pub fn source(&self) -> &str {
        match self {
            Self::Cron { source, .. }
            | Self::Anacron { source, .. }
            | Self::Monotonic { source, .. }
            | Self::Boot { source } => source,
            Self::Calendar(calendars) => &calendars.source,
        }
    }
}

/// The calendar settings of a systemd timer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Calendars {
    /// `OnCalendar=` expressions in effect, as written or as normalized by systemd.
    pub expressions: Vec<String>,
    /// `AccuracySec=` in seconds; systemd's default is 60.
    pub accuracy_s: Option<f64>,
    /// `RandomizedDelaySec=` in seconds; 0 by default.
    pub randomized_delay_s: Option<f64>,
    /// `FixedRandomDelay=`: the random delay is chosen once for this host and timer, not for each
    /// run.
    #[serde(default)]
    pub fixed_random_delay: bool,
    /// `RandomizedOffsetSec=` in seconds (since systemd 258): the longest offset, which is chosen
    /// once for this host and timer and added to every event; 0 by default.
    #[serde(default)]
    pub randomized_offset_s: Option<f64>,
    /// `Persistent=`: a run missed while the host was off is caught up.
    pub persistent: bool,
    /// The timer unit.
    pub source: String,
}

/// One program that a job runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobCommand {
    /// Base name of the program: `fstrim`, `e2scrub_all`, `mdadm`, `updatedb`.
    pub program: String,
    /// Its arguments, for programs whose arguments matter and hold no secrets; otherwise empty.
    pub arguments: Vec<String>,
    /// Whether it runs at idle priority: through `ionice -c3`, `nice`, or `IOSchedulingClass=idle`.
    pub idle_io: bool,
    /// Its location: `etc/cron.weekly/fstrim:3`.
    pub source: String,
}

/// State of a systemd timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerState {
    /// The timer unit: `fstrim.timer`.
    pub unit: String,
    /// The unit that it starts: `fstrim.service`.
    pub activates: String,
    /// Enablement.
    pub enabled: Option<EnabledState>,
    /// Whether it is active (waiting or running); `None` if systemd was not queried.
    pub active: Option<bool>,
    /// Drop-ins and overrides in effect; paths without the leading slash.
    pub drop_ins: Vec<String>,
}

impl TimerState {
    /// Whether it will fire: it is active, or enabled if systemd could not be queried.
    pub fn is_running(&self) -> bool {
        self.active.unwrap_or(matches!(
            self.enabled,
            Some(EnabledState::Enabled | EnabledState::Static | EnabledState::Generated)
        ))
    }
}

/// `UnitFileState`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnabledState {
    /// Started at boot.
    Enabled,
    /// Enabled until the next reboot.
    EnabledRuntime,
    /// Not started automatically.
    Disabled,
    /// Linked to /dev/null.
    Masked,
    /// Has no `[Install]` section.
    Static,
    /// Created by a generator.
    Generated,
    /// Anything else (`linked`, `indirect`, `alias`, `transient`, `bad`).
    Other,
}
