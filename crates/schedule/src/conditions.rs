//! What runs depend on besides the schedule: the host's time zone, its cron, and when it was up.

use crate::Run;
use facts::host::{EnabledState, Host, Job};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Default maximum number of runs in a forecast: an hourly job has 8,760 a year.
pub const RUNS_MAX: usize = 10_000;

/// Every minute of two leap years. A run takes about 200 bytes.
pub const RUNS_OF_MINUTES_MAX: usize = 2 * 366 * 1_440;

/// What is known about the host that the jobs run on.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// Its time zone.
    pub zone: TimeZone,
    /// How its cron handles clock changes.
    pub cron: CronFlavor,
    /// When it was up.
    pub uptimes: Uptimes,
    /// Shortest and longest duration of the job's runs in seconds, if known. Needed for timers that
    /// count from the end of a run.
    pub run_len_s: Option<(f64, f64)>,
    /// Maximum number of runs listed.
    pub runs_max: usize,
}

impl Conditions {
    /// Creates the conditions for a host of which only the time zone is known: Debian's cron,
    /// always up, [`RUNS_MAX`].
    pub fn in_zone(zone: &TimeZone) -> Self {
        Self {
            zone: zone.clone(),
            cron: CronFlavor::Vixie,
            uptimes: Uptimes::default(),
            run_len_s: None,
            runs_max: RUNS_MAX,
        }
    }
}

/// How a cron handles changes of the wall clock: daylight saving time, and changes of a zone's
/// offset.
///
/// Fixed-time jobs are those whose minute and hour fields do not start with `*`; all others follow the
/// wall clock in every flavor but systemd's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CronFlavor {
    /// Vixie cron 3.0pl1 as shipped by Debian (`Better-timeskip-handling.patch`, after OpenBSD;
    /// cron(8), NOTES): a fixed-time job whose time is skipped runs right after the gap; one whose
    /// time is repeated runs the first time only. A change of more than three hours forward, or of
    /// three hours or more backward, is treated as a clock correction: every job follows the new
    /// time. Since 3.0pl1-152, every change of the offset is noticed.
    Vixie,
    /// cronie (`cron.c`), and Debian's cron before 3.0pl1-152: as [`Self::Vixie`], except that
    /// three hours backward is not yet a correction, and the offset is only looked up again when
    /// daylight saving time begins or ends. If a zone changes its offset otherwise, crond keeps the
    /// old time until it is restarted; here it is assumed to restart at that moment, after which
    /// every job follows the new time. Jobs with their own `CRON_TZ` follow that zone's wall clock
    /// in every respect.
    Cronie,
    /// Timers generated from crontabs (systemd-cron): they behave like the equivalent
    /// `OnCalendar=`. A skipped time does not occur; a repeated time occurs once.
    Systemd,
    /// Wall time only: skipped times do not run, repeated times run twice. Vixie cron without
    /// Debian's change, and busybox crond.
    WallClock,
}

impl CronFlavor {
    /// Returns the flavor of a host's cron and a plain-language reason for the choice.
    pub fn of_host(host: &Host) -> (Self, String) {
        let by_timers = host
            .jobs
            .iter()
            .flatten()
            .find(|job| is_made_of_crontab(job));
        if let Some(job) = by_timers {
            return (
                Self::Systemd,
                format!("{} was made of a crontab: systemd runs it", job.name),
            );
        }
        let Some(id) = host.platform.distribution.as_deref() else {
            return (
                Self::Vixie,
                "the distribution is not known: taken for Debian's cron".to_owned(),
            );
        };
        let version = host.platform.distribution_version.as_deref();
        let major = version.and_then(|text| text.split('.').next()?.parse::<u32>().ok());
        let release = match version {
            Some(version) => format!("{id} {version}"),
            None => id.to_owned(),
        };
        match id {
            "debian" | "raspbian" if major.is_some_and(|major| major < 12) => (
                Self::Cronie,
                format!(
                    "{release}: Debian's cron before 3.0pl1-152, which takes changes of the clock as cronie does"
                ),
            ),
            "ubuntu" if major.is_some_and(|major| major < 23) => (
                Self::Cronie,
                format!(
                    "{release}: Debian's cron before 3.0pl1-152, which takes changes of the clock as cronie does"
                ),
            ),
            "debian" | "devuan" | "kali" | "linuxmint" | "neon" | "pop" | "raspbian" | "ubuntu" => {
                (Self::Vixie, format!("{release} has Debian's cron"))
            }
            "alpine" => (
                Self::WallClock,
                format!("{release} has busybox's crond, which follows the wall clock"),
            ),
            "almalinux" | "amzn" | "arch" | "centos" | "fedora" | "manjaro" | "ol" | "rhel"
            | "rocky" | "sled" | "sles" => (Self::Cronie, format!("{release} has cronie")),
            id if id.starts_with("opensuse") || id.starts_with("sle") => {
                (Self::Cronie, format!("{release} has cronie"))
            }
            _ => (
                Self::Vixie,
                format!("the cron of {release} is not known: taken for Debian's"),
            ),
        }
    }
}

/// systemd-cron names its timers `cron-NAME-USER-N.timer` and creates them with a generator.
fn is_made_of_crontab(job: &Job) -> bool {
    job.timer.as_ref().is_some_and(|timer| {
        timer.unit.starts_with("cron-") && timer.enabled == Some(EnabledState::Generated)
    })
}

/// A period during which the host was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uptime {
    /// When the host booted; [`Timestamp::MIN`] if unknown.
    pub from: Timestamp,
    /// When the host went down; `None` if it did not or if that is unknown, in which case it counts
    /// as up until the next boot.
    pub until: Option<Timestamp>,
}

/// When a host was up. It counts as up before the first known boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Uptimes {
    /// Sorted and disjoint.
    spans: Vec<Up>,
}

/// An uptime in microseconds, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Up {
    /// The boot; `i64::MIN` for the time before the first known one.
    pub from_us: i64,
    pub until_us: i64,
}

impl Up {
    /// Whether it begins with a known boot.
    pub fn is_start(self) -> bool {
        self.from_us != i64::MIN
    }
}

impl Uptimes {
    /// Builds the uptimes from periods in any order. If two overlap, the earlier one ends when the
    /// later one begins.
    pub fn new(mut known: Vec<Uptime>) -> Self {
        known.sort_by_key(|up| up.from);
        known.dedup_by_key(|up| up.from);
        let mut spans: Vec<Up> = Vec::with_capacity(known.len() + 1);
        let us = |at: Timestamp| {
            if at == Timestamp::MIN {
                i64::MIN
            } else {
                at.as_microsecond()
            }
        };
        if let Some(first) = known.first().filter(|first| first.from > Timestamp::MIN) {
            spans.push(Up {
                from_us: i64::MIN,
                until_us: us(first.from),
            });
        }
        for (index, up) in known.iter().enumerate() {
            let from_us = us(up.from);
            let next_us = known.get(index + 1).map_or(i64::MAX, |next| us(next.from));
            let until_us = up.until.map_or(next_us, us).min(next_us);
            // A boot that ended at once: nothing ran in it.
            if from_us < until_us {
                spans.push(Up { from_us, until_us });
            }
        }
        Self { spans }
    }

    /// Whether any boot is known.
    pub fn is_known(&self) -> bool {
        !self.spans.is_empty()
    }

    /// Returns the uptimes that begin with a known boot.
    pub(crate) fn starts(&self) -> impl Iterator<Item = Up> + '_ {
        self.spans.iter().copied().filter(|up| up.is_start())
    }

    /// Returns the uptime that contains an instant, or `None` if the host was down.
    pub(crate) fn at(&self, at_us: i64) -> Option<Up> {
        if self.spans.is_empty() {
            return Some(Up {
                from_us: i64::MIN,
                until_us: i64::MAX,
            });
        }
        let index = self.spans.partition_point(|up| up.from_us <= at_us);
        let up = *self.spans.get(index.checked_sub(1)?)?;
        (at_us < up.until_us).then_some(up)
    }

    /// Returns the first boot after an instant.
    pub(crate) fn start_after(&self, at_us: i64) -> Option<Up> {
        let index = self.spans.partition_point(|up| up.from_us <= at_us);
        self.spans.get(index).copied()
    }

    /// Returns the time since which the host had been down at an instant; the instant itself if it
    /// was up.
    pub(crate) fn down_since(&self, at_us: i64) -> i64 {
        if self.at(at_us).is_some() {
            return at_us;
        }
        let index = self.spans.partition_point(|up| up.from_us <= at_us);
        index
            .checked_sub(1)
            .map_or(at_us, |index| self.spans[index].until_us)
    }
}

/// A lasting change of a job's interval: from weekly to daily, for example.
#[derive(Debug, Clone, PartialEq)]
pub struct RhythmChange {
    /// The last run at the old interval.
    pub last_before: Timestamp,
    /// The first run at the new interval.
    pub first_after: Timestamp,
    /// The typical interval before the change, in seconds.
    pub before_s: f64,
    /// The typical interval after the change, in seconds.
    pub after_s: f64,
}

/// Minimum number of consecutive intervals that make a rhythm.
const RHYTHM_DISTANCES_MIN: usize = 3;
/// Number of intervals, from the first on, whose median a rhythm has.
const RHYTHM_DISTANCES_MAX: usize = 64;
/// Intervals belong to the same rhythm if they differ by at most this fraction.
const RHYTHM_TOLERANCE: f64 = 0.25;

/// Finds the rhythm changes in runs that are sorted by earliest start.
///
/// A rhythm is three or more consecutive intervals that differ from their median by at most a
/// quarter of it. A skipped run lengthens one interval and does not start a new rhythm.
pub fn rhythm_changes(runs: &[Run]) -> Vec<RhythmChange> {
    let moments: Vec<Timestamp> = runs.iter().map(|run| run.earliest).collect();
    let distances: Vec<f64> = moments
        .windows(2)
        .map(|pair| pair[1].duration_since(pair[0]).as_secs_f64())
        .collect();
    let mut rhythms: Vec<(usize, usize, f64)> = Vec::new();
    let mut start = 0;
    while start < distances.len() {
        let mut end = start + 1;
        let mut sorted = vec![distances[start]];
        let mut middle = distances[start];
        while end < distances.len() && (distances[end] - middle).abs() <= RHYTHM_TOLERANCE * middle
        {
            if sorted.len() < RHYTHM_DISTANCES_MAX {
                let at = sorted.partition_point(|distance| *distance < distances[end]);
                sorted.insert(at, distances[end]);
                middle = sorted[sorted.len() / 2];
            }
            end += 1;
        }
        if end - start >= RHYTHM_DISTANCES_MIN {
            match rhythms.last_mut() {
                Some((_, last, known)) if (*known - middle).abs() <= RHYTHM_TOLERANCE * *known => {
                    *last = end;
                }
                _ => rhythms.push((start, end, middle)),
            }
        }
        start = end;
    }
    rhythms
        .windows(2)
        .map(|pair| RhythmChange {
            last_before: moments[pair[0].1],
            first_after: moments[pair[1].0 + 1],
            before_s: pair[0].2,
            after_s: pair[1].2,
        })
        .collect()
}

#[cfg(test)]
#[path = "conditions_tests.rs"]
mod tests;
