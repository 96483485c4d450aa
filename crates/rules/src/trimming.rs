//! Determines how a filesystem is trimmed, as far as the facts show, as input for simulations.

use crate::context::Context;
use crate::times::HostClock;
use crate::trim_state::{self, OnlineDiscard};
use facts::Host;
use facts::host::{Job, Mount};
use jiff::{SignedDuration, Timestamp};

/// How far ahead to search for the next run: enough for a monthly one.
const AHEAD: SignedDuration = SignedDuration::from_hours(40 * 24);

/// How a filesystem is trimmed.
#[derive(Debug, Clone, PartialEq)]
pub struct Trimming {
    /// Whether it discards deleted data online, immediately or in the background.
    pub online: bool,
    /// Active jobs that certainly trim it; `None` if the host's jobs are not known.
    pub jobs: Option<Vec<TrimSchedule>>,
    /// Whether discards reach the drives, as far as sysfs shows.
    pub reaches_drives: Option<bool>,
}

/// A trim job and its schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct TrimSchedule {
    /// The job's name.
    pub job: String,
    /// The file that defines it.
    pub defined_in: String,
    /// Typical time between two runs in seconds; `None` if it cannot be determined.
    pub period_s: Option<f64>,
    /// The next run on the host's wall clock: days since Monday, and the hour.
    pub next: Option<(u32, u32)>,
}

/// Returns how the filesystem below a mount is trimmed; `None` if no block device is known below
/// it.
pub fn trimming(host: &Host, mount: &Mount) -> Option<Trimming> {
    let device = host.device_of(mount)?;
    let context = Context::new(host);
    let volume = context.volume_on(device)?;
    let clock = HostClock::of(host);
    let jobs = context.trim_jobs().map(|trims| {
        let reaching = trims.reaching(volume);
        let schedule = |job: &Job| TrimSchedule {
            job: job.name.clone(),
            defined_in: job.defined_in.clone(),
            period_s: clock.period_s(job, context.now),
            next: next(&clock, job, context.now),
        };
        reaching.iter().map(|trim| schedule(trim.job)).collect()
    });
    Some(Trimming {
        online: trim_state::online_discard(mount) != OnlineDiscard::Off,
        jobs,
        reaches_drives: volume.discards.reaches_drives(),
    })
}

fn next(clock: &HostClock, job: &Job, now: Timestamp) -> Option<(u32, u32)> {
    let until = now.checked_add(AHEAD).ok()?;
    let runs = clock.first_runs(job, (now, until), 1);
    let start = clock.local(runs.first()?.earliest);
    let day = u32::try_from(start.weekday().to_monday_zero_offset()).ok()?;
    Some((day, u32::try_from(start.hour()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, nvme};
    use crate::test_jobs::{LISTED_IN, fstrim_timer, jobs, timer};

    fn found(host: TestHost) -> Trimming {
        let host = host.build();
        trimming(&host, &host.mounts[0]).expect("a block device is below")
    }

    fn host(options: &str) -> TestHost {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", options)
    }

    #[test]
    fn a_weekly_timer_has_a_period_and_a_next_run() {
        let found = found(host("rw").with(jobs(vec![fstrim_timer()])));
        assert!(!found.online);
        assert_eq!(found.reaches_drives, Some(true));
        let jobs = found.jobs.expect("jobs are known");
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        assert_eq!(jobs[0].job, "fstrim.timer");
        assert_eq!(jobs[0].period_s, Some(7.0 * 86_400.0));
        assert_eq!(jobs[0].next, Some((0, 0)));
    }

    #[test]
    fn online_and_daily() {
        let daily = jobs(vec![timer("fstrim.timer", "*-*-* 03:00", LISTED_IN)]);
        let found = found(host("rw,discard").with(daily));
        assert!(found.online);
        let jobs = found.jobs.expect("jobs are known");
        assert_eq!(jobs[0].period_s, Some(86_400.0));
        assert_eq!(jobs[0].next.map(|(_, hour)| hour), Some(3));
    }

    #[test]
    fn no_trim_jobs_or_unknown_jobs() {
        assert_eq!(
            found(host("rw").with(jobs(Vec::new()))).jobs,
            Some(Vec::new())
        );
        assert_eq!(found(host("rw").with(|host| host.jobs = None)).jobs, None);
    }

    #[test]
    fn a_mount_without_a_device_is_none() {
        let host = TestHost::new().build();
        let mount = TestHost::new()
            .device(nvme("nvme9n1"))
            .mount("/x", "nvme9n1", "xfs", "rw")
            .build();
        assert_eq!(trimming(&host, &mount.mounts[0]), None);
    }
}
