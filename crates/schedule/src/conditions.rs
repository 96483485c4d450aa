//! What runs depend on beside the schedule: the host's zone, its cron, and when it was up.

use crate::Run;
use facts::host::{EnabledState, Host, Job};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::cmp::Ordering;

/// The most runs that one forecast lists, unless more are asked for: a job that runs hourly for a
/// year has 8,760.
pub const RUNS_MAX: usize = 10_000;

/// Every minute of two leap years. A run takes some 200 bytes.
pub const RUNS_OF_MINUTES_MAX: usize = 2 * 366 * 1_440;

/// What is known of the host that jobs run on.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// Its time zone.
    pub zone: TimeZone,
    /// How its cron takes changes of the clock.
    pub cron: CronSense,
    /// When it was up.
    pub uptimes: Uptimes,
    /// How long runs of the job take, shortest and longest, in seconds, where that is known. Timers
    /// that count from the end of a run need it.
    pub run_len_s: Option<(f64, f64)>,
    /// The most runs that are listed.
    pub runs_max: usize,
}

impl Conditions {
    /// A host in a zone of which nothing else is known: Debian's cron, up throughout,
    /// [`RUNS_MAX`].
    pub fn in_zone(zone: &TimeZone) -> Self {
        Self {
            zone: zone.clone(),
            cron: CronSense::Vixie,
            uptimes: Uptimes::default(),
            run_len_s: None,
            runs_max: RUNS_MAX,
        }
    }
}

/// How a cron takes changes of the wall clock: daylight saving time, and zones that move.
///
/// Fixed-time jobs are those whose minute and hour do not start with `*`
/// ([`CronSpec::is_wildcard`](crate::CronSpec::is_wildcard)); all others follow the wall clock in
/// every sense but systemd's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CronSense {
    /// Vixie's cron 3.0pl1 as Debian has it (`Better-timeskip-handling.patch`, after OpenBSD;
    /// cron(8), NOTES): a fixed-time job whose time is skipped runs right after the gap; one whose
    /// time is repeated runs the first time only. A change of more than three hours forwards, or of
    /// three hours or more back, is a correction: every job follows the new time. Since 3.0pl1-152
    /// every change of the offset is noticed.
    Vixie,
    /// cronie (`cron.c`), and Debian's cron before 3.0pl1-152: as [`Self::Vixie`], but three hours
    /// back are still no correction, and the offset is looked up again only when daylight saving
    /// time begins or ends. Where a zone moves without that, crond goes on with the old time until
    /// it is started again; here it is taken as started again at that moment, after which every
    /// job follows the new time. Jobs with a `CRON_TZ` of their own follow the wall clock of that
    /// zone in every respect.
    Cronie,
    /// Timers made of crontabs (systemd-cron): what systemd makes of the same `OnCalendar=`. A time
    /// that is skipped does not come; one that is repeated comes once.
    Systemd,
    /// Wall time alone: what is skipped does not run, what is repeated runs twice. Vixie's cron
    /// without Debian's change, and busybox's crond.
    WallClock,
}

impl CronSense {
    /// The sense of a host's cron, and what speaks for it in plain words.
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

/// systemd-cron names its timers `cron-NAME-USER-N.timer`, and a generator makes them.
fn is_made_of_crontab(job: &Job) -> bool {
    job.timer.as_ref().is_some_and(|timer| {
        timer.unit.starts_with("cron-") && timer.enabled == Some(EnabledState::Generated)
    })
}

/// A stretch of time during which the host was up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uptime {
    /// When it was started; [`Timestamp::MIN`] where that is not known.
    pub from: Timestamp,
    /// When it went down; `None` where it did not, or where that is not known: then it is taken as
    /// up until it was started next.
    pub until: Option<Timestamp>,
}

/// When a host was up. Before the first known start nothing is known, and it is taken as up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Uptimes {
    /// In their order, apart from each other.
    spans: Vec<Up>,
}

/// A stretch in microseconds, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Up {
    /// The start; `i64::MIN` for the time before the first known one.
    pub from_us: i64,
    pub until_us: i64,
}

impl Up {
    /// Whether it begins with a start that is known.
    pub fn is_start(self) -> bool {
        self.from_us != i64::MIN
    }
}

impl Uptimes {
    /// From stretches in any order. Where two overlap, the earlier one ends when the later one
    /// begins.
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
            let until_us = up.until.map_or(next_us, |until| us(until).max(from_us));
            spans.push(Up {
                from_us,
                until_us: until_us.min(next_us),
            });
        }
        Self { spans }
    }

    /// From the moments at which the host was started.
    pub fn from_starts(starts: &[Timestamp]) -> Self {
        let up = |&from| Uptime { from, until: None };
        Self::new(starts.iter().map(up).collect())
    }

    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        !self.spans.is_empty()
    }

    /// The stretches that begin with a known start.
    pub(crate) fn starts(&self) -> impl Iterator<Item = Up> + '_ {
        self.spans.iter().copied().filter(|up| up.is_start())
    }

    /// The stretch that a moment lies in, or `None` where the host was down.
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

    /// The first start after a moment.
    pub(crate) fn start_after(&self, at_us: i64) -> Option<Up> {
        let index = self.spans.partition_point(|up| up.from_us <= at_us);
        self.spans.get(index).copied()
    }

    /// The beginning of the time for which the host had been down at a moment; the moment itself
    /// where it was up.
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

/// Where runs change their rhythm for good: from weekly to daily, for example.
#[derive(Debug, Clone, PartialEq)]
pub struct RhythmChange {
    /// The last run in the old rhythm.
    pub last_before: Timestamp,
    /// The first run in the new one.
    pub first_after: Timestamp,
    /// The typical distance of two runs before, in seconds.
    pub before_s: f64,
    /// The same after it.
    pub after_s: f64,
}

/// Distances that make a rhythm.
const RHYTHM_DISTANCES_MIN: usize = 3;
/// Distances within this part of each other are of one rhythm.
const RHYTHM_TOLERANCE: f64 = 0.25;

/// The changes of rhythm among runs, which are in the order of their earliest start.
///
/// A rhythm is three distances in a row, or more, that differ from their median by a quarter of it
/// at most; a run that was left out makes one distance longer and no new rhythm.
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
        let mut middle = distances[start];
        while end < distances.len() && (distances[end] - middle).abs() <= RHYTHM_TOLERANCE * middle
        {
            end += 1;
            middle = median(&distances[start..end.min(start + 64)]);
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

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
    sorted[sorted.len() / 2]
}

#[cfg(test)]
#[path = "conditions_tests.rs"]
mod tests;
