use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something scheduled. What the schedule means is the `schedule` crate's business; here it stands
/// as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Stable name for people: `cron.weekly/fstrim`, `fstrim.timer`, `/etc/crontab:18`,
    /// `crontab of root:3`.
    pub name: String,
    /// The file that defines it, without leading slash, with `:line` where it is one line of many.
    pub defined_in: String,
    /// User it runs as, where that is written.
    pub user: Option<String>,
    /// When it runs. Several triggers may start one job: Debian's cron.weekly scripts are started
    /// by anacron where it is installed and by cron where it is not; only those in force stand
    /// here.
    pub triggers: Vec<Trigger>,
    /// What it runs, as far as it could be told.
    pub commands: Vec<JobCommand>,
    /// Conditions that keep it from running here although it is scheduled, in plain words: a
    /// guard in the crontab line (`test -x /usr/sbin/anacron`), a systemd condition, a script that
    /// is not executable, a name that run-parts ignores. Empty: it runs.
    pub held_back_by: Vec<String>,
    /// Last run known, from a stamp or from systemd.
    pub last_run: Option<Timestamp>,
    /// Next run known to systemd.
    pub next_run: Option<Timestamp>,
    /// State of the timer, for systemd timers.
    pub timer: Option<TimerState>,
}

impl Job {
    /// Whether it runs by itself on this host, as far as is known.
    pub fn is_active(&self) -> bool {
        !self.triggers.is_empty()
            && self.held_back_by.is_empty()
            && self.timer.as_ref().is_none_or(TimerState::is_running)
    }
}

/// When a job is started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Trigger {
    /// A crontab line: five fields or `@weekly`.
    Cron {
        /// The schedule as written, fields separated by one blank.
        spec: String,
        /// `CRON_TZ` in force at that line.
        time_zone: Option<String>,
        /// Where: `etc/crontab:18`.
        source: String,
    },
    /// A line of anacrontab.
    Anacron {
        /// Period in days, or `@daily`, `@weekly`, `@monthly`, as written.
        period: String,
        /// Delay in minutes after anacron starts.
        delay_min: u32,
        /// `RANDOM_DELAY` in minutes, where set.
        random_delay_min: Option<u32>,
        /// `START_HOURS_RANGE`, where set, first and last hour.
        start_hours: Option<(u8, u8)>,
        /// Job identifier, which names the stamp.
        identifier: String,
        /// Where: `etc/anacrontab:12`.
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
        /// Where.
        source: String,
    },
}

/// The calendar part of a timer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Calendars {
    /// `OnCalendar=` expressions in force, as written or as systemd normalises them.
    pub expressions: Vec<String>,
    /// `AccuracySec=` in seconds; systemd's default is 60.
    pub accuracy_s: Option<f64>,
    /// `RandomizedDelaySec=` in seconds; 0 by default.
    pub randomized_delay_s: Option<f64>,
    /// `FixedRandomDelay=`: the random delay is drawn once for this host and timer, not each time.
    #[serde(default)]
    pub fixed_random_delay: bool,
    /// `Persistent=`: a run missed while the host was off is made up for.
    pub persistent: bool,
    /// The timer unit.
    pub source: String,
}

/// One program that a job runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobCommand {
    /// Base name of the program: `fstrim`, `e2scrub_all`, `mdadm`, `updatedb`.
    pub program: String,
    /// Its arguments, for the programs whose arguments matter and hold no secrets; else empty.
    pub arguments: Vec<String>,
    /// Started through `ionice -c3`, `nice`, or `IOSchedulingClass=idle`.
    pub idle_io: bool,
    /// Where it was seen: `etc/cron.weekly/fstrim:3`.
    pub source: String,
}

/// What systemd knows of a timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerState {
    /// The timer unit: `fstrim.timer`.
    pub unit: String,
    /// The unit that it starts: `fstrim.service`.
    pub activates: String,
    /// Enablement.
    pub enabled: Option<EnabledState>,
    /// Whether it is active (waiting or running); `None` where systemd was not asked.
    pub active: Option<bool>,
    /// Drop-ins and overrides in force, paths without leading slash.
    pub drop_ins: Vec<String>,
}

impl TimerState {
    /// Whether it will fire: active, or, where systemd could not be asked, enabled.
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
    /// Will be started at boot.
    Enabled,
    /// Enabled until the next boot.
    EnabledRuntime,
    /// Will not be started by itself.
    Disabled,
    /// Linked to /dev/null.
    Masked,
    /// Has no [Install] section.
    Static,
    /// Made by a generator.
    Generated,
    /// Anything else (`linked`, `indirect`, `alias`, `transient`, `bad`).
    Other,
}
