//! Run times of jobs in the host's time zone, and their descriptions.

use crate::{disk_jobs, shell, wording};
use facts::host::{Calendars, Job, Trigger};
use facts::{Evidence, Host, InputError};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use schedule::{Calendar, Conditions, CronFlavor, Forecast, Run};

/// The wall clock of a host.
pub(crate) struct HostClock {
    zone: TimeZone,
    label: String,
    /// How its cron handles clock changes.
    cron: CronFlavor,
}

/// A start known to within this duration is shown as a single time.
const EXACT: SignedDuration = SignedDuration::from_mins(2);

/// How far ahead to look for runs that meet: every weekday meets every first of a month or first Sunday once.
pub(crate) const MEETINGS_AHEAD: SignedDuration = SignedDuration::from_hours(35 * 24);
/// Starts closer than this count as simultaneous, in seconds.
pub(crate) const TOGETHER_S: f64 = 15.0 * 60.0;
/// Jobs that run more often than this are background load rather than events.
pub(crate) const EVENT_PERIOD_MIN_S: f64 = 12.0 * 3600.0;

/// How far ahead to search for the next runs: enough for a yearly job.
pub(crate) const AHEAD: SignedDuration = SignedDuration::from_hours(400 * 24);

/// More triggers than a job has that may start it at the same time: a list that is cut between such runs
/// loses all of them.
const TRIGGERS_AT_ONCE: usize = 100;

impl HostClock {
    /// Creates the clock of a host; UTC if its zone is unknown, in which case the label says so.
    pub fn of(host: &Host) -> Self {
        let named = host.time_zone.as_deref();
        let (cron, _) = CronFlavor::of_host(host);
        match named.and_then(|name| schedule::parse_zone(name).ok()) {
            Some(zone) => Self {
                zone,
                label: shell::printable(named.unwrap_or("UTC")),
                cron,
            },
            None => Self {
                zone: TimeZone::UTC,
                label: "UTC; the host's time zone is not known".to_owned(),
                cron,
            },
        }
    }

    /// Returns the name of the zone, for a heading.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the runs of a job between two times.
    ///
    /// # Errors
    /// If its schedule cannot be parsed.
    pub fn runs(
        &self,
        job: &Job,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Forecast, InputError> {
        let conditions = Conditions {
            cron: self.cron,
            ..Conditions::in_zone(&self.zone)
        };
        schedule::runs(job, from, until, &conditions)
    }

    /// Returns the next runs, `count` at most; none if they cannot be computed. Unlike the first of
    /// [`Self::runs`] they cost nothing more for a job of every minute.
    pub fn first_runs(
        &self,
        job: &Job,
        (from, until): (Timestamp, Timestamp),
        count: usize,
    ) -> Vec<Run> {
        let conditions = Conditions {
            cron: self.cron,
            runs_max: count + TRIGGERS_AT_ONCE,
            ..Conditions::in_zone(&self.zone)
        };
        let mut runs = schedule::runs(job, from, until, &conditions)
            .unwrap_or_default()
            .runs;
        runs.truncate(count);
        runs
    }

    /// Describes the next runs; empty if they cannot be computed.
    pub fn next_runs(&self, job: &Job, now: Timestamp, count: usize) -> Vec<String> {
        let until = now.checked_add(AHEAD).unwrap_or(now);
        self.first_runs(job, (now, until), count)
            .iter()
            .map(|run| self.show_window(run.earliest, run.latest))
            .collect()
    }

    /// Returns the typical time between two runs in seconds.
    pub fn period_s(&self, job: &Job, near: Timestamp) -> Option<f64> {
        schedule::job_period_s(job, near, &self.zone)
    }

    /// Converts an instant to the host's wall clock.
    pub fn local(&self, at: Timestamp) -> Zoned {
        at.to_zoned(self.zone.clone())
    }

    /// Formats `Mon 2026-11-23 00:00`.
    pub fn show(&self, at: Timestamp) -> String {
        units::date::weekday_minute(at, &self.zone)
    }

    /// Formats `Mon 2026-11-23 00:00 to 01:40`.
    pub fn show_window(&self, earliest: Timestamp, latest: Timestamp) -> String {
        let from = self.show(earliest);
        if latest.duration_since(earliest) <= EXACT {
            return from;
        }
        let (first, last) = (self.local(earliest), self.local(latest));
        if first.date() == last.date() {
            format!("{from} to {}", last.strftime("%H:%M"))
        } else {
            format!("{from} to {}", self.show(latest))
        }
    }
}

/// Returns the random delay that staggers nodes with the same schedule, in seconds; `None` if no
/// calendar event or crontab line starts the job.
pub(crate) fn random_delay_s(job: &Job) -> Option<f64> {
    job.triggers
        .iter()
        .filter_map(|trigger| match trigger {
            Trigger::Calendar(calendars) => {
                let delays = [calendars.randomized_delay_s, calendars.randomized_offset_s];
                Some(delays.into_iter().flatten().sum())
            }
            Trigger::Cron { .. } => Some(0.0),
            Trigger::Anacron {
                random_delay_min, ..
            } => Some(f64::from(random_delay_min.unwrap_or(0)) * 60.0),
            Trigger::Monotonic { .. } | Trigger::Boot { .. } => None,
        })
        .reduce(f64::max)
}

/// Describes the schedule if it is the distribution's default that nobody chose: the weekly
/// fstrim.timer, and scripts in a cron directory.
pub(crate) fn default_schedule(job: &Job) -> Option<String> {
    if let Some(directory) = disk_jobs::run_parts_directory(job) {
        let starts: Vec<String> = job
            .triggers
            .iter()
            .map(|trigger| match trigger {
                Trigger::Cron { spec, .. } => format!("cron: {}", shell::printable(spec)),
                Trigger::Anacron { .. } => "anacron: some minutes after boot or after it becomes \
                                            due"
                .to_owned(),
                _ => "by a timer".to_owned(),
            })
            .collect();
        return Some(format!(
            "whenever {directory} runs ({})",
            wording::list(&starts)
        ));
    }
    let timer = job.timer.as_ref()?;
    let [Trigger::Calendar(calendars)] = job.triggers.as_slice() else {
        return None;
    };
    let [expression] = calendars.expressions.as_slice() else {
        return None;
    };
    let is_weekly = Calendar::parse(&calendars.source, expression)
        .is_ok_and(|calendar| calendar.to_string() == "Mon *-*-* 00:00:00");
    if timer.unit != "fstrim.timer" || !is_weekly {
        return None;
    }
    let delay_s = calendars.randomized_delay_s.unwrap_or(0.0);
    Some(if delay_s > 0.0 {
        format!(
            "weekly on Monday at 00:00 with up to {} of random delay",
            units::seconds(delay_s)
        )
    } else {
        "weekly on Monday at 00:00".to_owned()
    })
}

/// Returns each trigger and where it is defined.
pub(crate) fn trigger_evidence(job: &Job) -> Vec<Evidence> {
    job.triggers
        .iter()
        .take(wording::EVIDENCE_MAX)
        .map(|trigger| match trigger {
            Trigger::Cron {
                spec,
                time_zone,
                source,
            } => {
                let zone = time_zone.as_deref().unwrap_or_default();
                let zone = if zone.is_empty() {
                    String::new()
                } else {
                    format!(" (CRON_TZ={zone})")
                };
                Evidence::new(source, format!("{spec}{zone}"))
            }
            Trigger::Anacron {
                period,
                delay_min,
                identifier,
                source,
                ..
            } => Evidence::new(source, format!("{period} {delay_min} {identifier}")),
            Trigger::Calendar(calendars) => {
                Evidence::new(&calendars.source, describe_calendar(calendars))
            }
            Trigger::Monotonic {
                base,
                span_s,
                source,
                ..
            } => Evidence::new(source, format!("{base}={span_s}s")),
            Trigger::Boot { source } => Evidence::new(source, "@reboot"),
        })
        .collect()
}

fn describe_calendar(calendars: &Calendars) -> String {
    let mut words: Vec<String> = calendars
        .expressions
        .iter()
        .take(wording::EVIDENCE_MAX)
        .map(|expression| format!("OnCalendar={expression}"))
        .collect();
    for (key, delay_s) in [
        ("RandomizedDelaySec", calendars.randomized_delay_s),
        ("RandomizedOffsetSec", calendars.randomized_offset_s),
    ] {
        if let Some(delay_s) = delay_s.filter(|delay_s| *delay_s > 0.0) {
            words.push(format!("{key}={delay_s}"));
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_jobs::{LISTED_IN, anacron, cron_job, cron_weekly, fstrim_timer, timer};

    fn clock(zone: Option<&str>) -> HostClock {
        HostClock::of(&Host {
            time_zone: zone.map(str::to_owned),
            ..Host::default()
        })
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a timestamp")
    }

    #[test]
    fn times_are_in_the_hosts_zone() {
        // 23:00 UTC is midnight in Berlin in winter.
        let moment = at("2026-11-22T23:00:00Z");
        assert_eq!(
            clock(Some("Europe/Berlin")).show(moment),
            "Mon 2026-11-23 00:00"
        );
        let unknown = clock(None);
        assert_eq!(unknown.show(moment), "Sun 2026-11-22 23:00");
        assert!(unknown.label().contains("not known"));
        assert!(clock(Some("Mars/Olympus")).label().contains("not known"));
    }

    #[test]
    fn windows_are_formatted() {
        let clock = clock(Some("UTC"));
        let show = |from: &str, until: &str| clock.show_window(at(from), at(until));
        assert_eq!(
            show("2026-11-23T00:00:00Z", "2026-11-23T01:40:00Z"),
            "Mon 2026-11-23 00:00 to 01:40"
        );
        assert_eq!(
            show("2026-11-22T23:30:00Z", "2026-11-23T01:10:00Z"),
            "Sun 2026-11-22 23:30 to Mon 2026-11-23 01:10"
        );
        assert_eq!(
            show("2026-11-22T23:30:00Z", "2026-11-22T23:31:00Z"),
            "Sun 2026-11-22 23:30"
        );
    }

    #[test]
    fn the_next_run_from_systemd_comes_first_and_once() {
        let mut job = fstrim_timer();
        job.next_run = Some(at("2026-11-23T00:04:50Z"));
        let runs = clock(Some("UTC")).next_runs(&job, at("2026-11-21T03:00:00Z"), 2);
        // AccuracySec=1h applies on top of the time that systemd has drawn.
        assert_eq!(runs[0], "Mon 2026-11-23 00:04 to 01:04");
        assert!(runs[1].starts_with("Mon 2026-11-30 00:00"), "{runs:?}");
    }

    #[test]
    fn first_runs_are_the_first_of_all_runs() {
        let clock = clock(Some("Europe/Berlin"));
        let range = (at("2026-10-20T00:00:00Z"), at("2026-10-30T00:00:00Z"));
        let mut twice = cron_job("/etc/crontab:1", "0 3 * * *", "fstrim -a");
        twice.triggers.extend(twice.triggers.clone());
        for job in [
            twice,
            cron_job("/etc/crontab:1", "* * * * *", "fstrim -a"),
            fstrim_timer(),
        ] {
            let all = clock.runs(&job, range.0, range.1).expect("a schedule").runs;
            for count in [0, 1, 5] {
                let first = clock.first_runs(&job, range, count);
                assert_eq!(first, all[..count.min(all.len())], "{}", job.name);
            }
        }
    }

    #[test]
    fn default_schedules_are_recognized() {
        assert_eq!(
            default_schedule(&fstrim_timer()).as_deref(),
            Some("weekly on Monday at 00:00 with up to 1 h 40 min of random delay")
        );
        let normalised = timer("fstrim.timer", "Mon *-*-* 00:00:00", LISTED_IN);
        assert_eq!(
            default_schedule(&normalised).as_deref(),
            Some("weekly on Monday at 00:00")
        );
        assert_eq!(
            default_schedule(&cron_weekly("fstrim", "fstrim -a")).as_deref(),
            Some("whenever cron.weekly runs (cron: 47 6 * * 7)")
        );
        for chosen in [
            timer("fstrim.timer", "Sun *-*-* 03:00:00", LISTED_IN),
            timer("my-trim.timer", "weekly", LISTED_IN),
            cron_job("/etc/crontab:9", "47 6 * * 7", "fstrim -a"),
        ] {
            assert_eq!(default_schedule(&chosen), None, "{}", chosen.name);
        }
    }

    #[test]
    fn random_delay_by_trigger() {
        assert_eq!(random_delay_s(&fstrim_timer()), Some(6000.0));
        let mut offset = timer("x.timer", "weekly", "fstrim -a");
        if let Trigger::Calendar(calendars) = &mut offset.triggers[0] {
            calendars.randomized_offset_s = Some(3600.0);
        }
        assert_eq!(random_delay_s(&offset), Some(3600.0));
        assert_eq!(random_delay_s(&cron_weekly("x", "fstrim -a")), Some(0.0));
        let mut job = cron_weekly("x", "fstrim -a");
        job.triggers = vec![anacron("7", "cron.weekly")];
        if let Trigger::Anacron {
            random_delay_min, ..
        } = &mut job.triggers[0]
        {
            *random_delay_min = Some(45);
        }
        assert_eq!(random_delay_s(&job), Some(2700.0));
    }

    #[test]
    fn evidence_quotes_the_trigger() {
        assert_eq!(
            trigger_evidence(&fstrim_timer()),
            [Evidence::new(
                "lib/systemd/system/fstrim.timer",
                "OnCalendar=weekly RandomizedDelaySec=6000"
            )]
        );
    }
}
