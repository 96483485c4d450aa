//! When a host will trim its stores' data as its jobs are now.

use crate::context::Context;
use crate::times::HostClock;
use crate::wording;
use facts::Host;
use facts::host::{Job, Trigger};
use jiff::{SignedDuration, Timestamp};
use schedule::Run;

/// Trims of a host's stores' data.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TrimsAhead {
    /// The jobs that make them, as they are named to users.
    pub jobs: Vec<String>,
    /// Their runs: each starts between two times, without systemd's `AccuracySec=`, by which it defers those of all hosts.
    pub runs: Vec<Run>,
    /// Whether a job has a delay that was drawn once: what meets once meets always.
    pub is_delay_fixed: bool,
}

/// Returns the trims of filesystems with a store's data between two times; without a store, those of all filesystems that
/// jobs reach.
///
/// # Errors
/// Why they are not known.
pub fn trims_ahead(host: &Host, from: Timestamp, until: Timestamp) -> Result<TrimsAhead, String> {
    let cx = Context::new(host);
    let jobs = cx
        .trim_jobs()
        .filter(|_| !host.timers_unknown)
        .ok_or_else(|| "its jobs are not known".to_owned())?;
    let clock = HostClock::of(host);
    let has_store = cx.volumes.iter().any(|volume| !volume.stores.is_empty());
    let volumes = cx.volumes.iter();
    let mut found = TrimsAhead::default();
    for volume in volumes.filter(|volume| !has_store || !volume.stores.is_empty()) {
        for trim in jobs.reaching(volume) {
            let name = wording::job_name(trim.job);
            if found.jobs.contains(&name) {
                continue;
            }
            let forecast = clock
                .runs(trim.job, from, until)
                .map_err(|error| format!("{name}: {error}"))?;
            if let Some(why) = forecast.unknown.first() {
                return Err(format!("when {name} runs cannot be told: {why}"));
            }
            let late = accuracy(trim.job);
            found.is_delay_fixed |= trim.job.triggers.iter().any(is_fixed);
            found.runs.extend(forecast.runs.into_iter().map(|run| {
                Run {
                    latest: run
                        .latest
                        .saturating_sub(late)
                        .unwrap_or(run.latest)
                        .max(run.earliest),
                    ..run
                }
            }));
            found.jobs.push(name);
        }
    }
    Ok(found)
}

fn is_fixed(trigger: &Trigger) -> bool {
    match trigger {
        Trigger::Calendar(calendars) => {
            let is_delayed = |delay_s: Option<f64>| delay_s.is_some_and(|delay_s| delay_s > 0.0);
            is_delayed(calendars.randomized_offset_s)
                || (calendars.fixed_random_delay && is_delayed(calendars.randomized_delay_s))
        }
        _ => false,
    }
}

/// systemd's default is a minute (systemd.timer(5)). It waits until about the end of it, unless something else wakes the
/// host up: `sleep_between()` in src/libsystemd/sd-event/sd-event.c.
const ACCURACY_S: f64 = 60.0;

fn accuracy(job: &Job) -> SignedDuration {
    let of = job.triggers.iter().filter_map(|trigger| match trigger {
        Trigger::Calendar(calendars) => Some(calendars.accuracy_s.unwrap_or(ACCURACY_S)),
        _ => None,
    });
    SignedDuration::try_from_secs_f64(of.fold(0.0, f64::max)).unwrap_or(SignedDuration::ZERO)
}
