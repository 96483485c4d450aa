//! When a host's disks were and will be busy with jobs, and when its filesystems were trimmed, as gauges for a
//! monitoring system.

use crate::budget::Budget;
use crate::context::Context;
use crate::disk_jobs;
use crate::times::{AHEAD, HostClock};
use crate::volumes::trimmable;
use facts::Host;
use facts::host::{Job, Trigger};
use jiff::{SignedDuration, Timestamp};
use std::collections::HashMap;

/// How far back the last start of a job of cron is computed: enough for a yearly one.
const BACK_MAX_S: f64 = 400.0 * 86_400.0;

/// What [`disk_calendar`] tells of a host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DiskCalendar {
    /// Active jobs that access every disk, or much of it; `None` if the host's jobs are not known.
    pub jobs: Option<Vec<HeavyJob>>,
    /// Writable filesystems that can be trimmed.
    pub filesystems: Vec<TrimmedFilesystem>,
    /// Whether there was time for all of them.
    pub is_complete: bool,
}

/// A job that accesses every disk, or much of it.
#[derive(Debug, Clone, PartialEq)]
pub struct HeavyJob {
    /// `fstrim.timer`, `cron.weekly/fstrim`, `/etc/crontab:18`.
    pub name: String,
    /// `trim`, `RAID check`, `scrub`, `backup`, `drive self-test`.
    pub work: &'static str,
    /// Its last start: as systemd or anacron recorded it, or by the schedule if cron starts it and the host was up.
    pub last_start: Option<Timestamp>,
    /// Its next start: as systemd plans it, else the earliest by the schedule.
    pub next_start: Option<Timestamp>,
}

/// A filesystem that can be trimmed.
#[derive(Debug, Clone, PartialEq)]
pub struct TrimmedFilesystem {
    /// Where it is mounted: at a store's data, else at its first mount.
    pub mount_point: String,
    /// `/dev/md0`, `/dev/mapper/vg-data`.
    pub device: String,
    /// `ext4`, `xfs`, `btrfs`.
    pub fs_type: String,
    /// Whether a store's data is on it.
    pub has_store: bool,
    /// Whether discards reach the drives; `None` if that is not known.
    pub discards_reach_drives: Option<bool>,
    /// When it was last trimmed: the end of the last complete pass of `trimtab trim`, or the last start of a job that
    /// trims it.
    pub last_trim: Option<Timestamp>,
}

/// Returns the heavy jobs and the filesystems of a host, as far as there is time.
pub fn disk_calendar(host: &Host, budget: Budget<'_>) -> DiskCalendar {
    let cx = Context::within(budget.restarted(), host);
    let clock = HostClock::of(host);
    let active = disk_jobs::active(&cx);
    let jobs = active.map(|active| {
        let heavy = active.iter().filter(|found| found.work.is_heavy());
        heavy
            .take_while(|_| !cx.budget.is_used_up())
            .map(|found| HeavyJob {
                name: found.job.name.clone(),
                work: found.work.label(),
                last_start: last_start(&clock, host, found.job),
                next_start: next_start(&clock, found.job, cx.now),
            })
            .collect()
    });
    let passes: HashMap<&str, Timestamp> = host
        .trim_passes
        .iter()
        .filter_map(|passes| Some((passes.mount_point.as_str(), passes.completed_at?)))
        .collect();
    let filesystems = trimmable(&cx).map(|volume| {
        let mount = volume.mount;
        let own = passes.get(mount.mount_point.as_str()).copied();
        let trims = cx.trim_jobs().map(|trims| trims.reaching(volume));
        let by_jobs = trims.into_iter().flatten();
        let by_jobs = by_jobs.filter_map(|trim| last_start(&clock, host, trim.job));
        TrimmedFilesystem {
            mount_point: mount.mount_point.clone(),
            device: volume.stack.top().dev_path(),
            fs_type: mount.fs_type.clone(),
            has_store: !volume.stores.is_empty(),
            discards_reach_drives: volume.discards.reaches_drives(),
            last_trim: own.into_iter().chain(by_jobs).max(),
        }
    });
    DiskCalendar {
        filesystems: filesystems.collect(),
        jobs,
        is_complete: !cx.budget.is_used_up(),
    }
}

fn next_start(clock: &HostClock, job: &Job, now: Timestamp) -> Option<Timestamp> {
    let until = now.checked_add(AHEAD).unwrap_or(now);
    let planned = job.next_run.filter(|at| *at > now);
    planned.or_else(|| Some(clock.first_runs(job, (now, until), 1).first()?.earliest))
}

/// Cron records nothing, but starts its jobs at the minute, if the host is up.
fn last_start(clock: &HostClock, host: &Host, job: &Job) -> Option<Timestamp> {
    let is_crons = |trigger: &Trigger| matches!(trigger, Trigger::Cron { .. });
    if job.last_run.is_some() || job.timer.is_some() || !job.triggers.iter().all(is_crons) {
        return job.last_run;
    }
    let now = host.read_at;
    let up_s = host.platform.uptime_s?.clamp(0.0, BACK_MAX_S);
    let period_s = clock.period_s(job, now)?;
    // Calendars are uneven: a job of working days has a period of one, and three days without a start.
    let back_s = up_s.min(4.0 * period_s);
    let from = now
        .checked_sub(SignedDuration::try_from_secs_f64(back_s).ok()?)
        .ok()?;
    let runs = clock.runs(job, from, now).ok()?.runs;
    runs.iter()
        .rev()
        .map(|run| run.earliest)
        .find(|at| *at <= now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, md, nvme};
    use crate::test_jobs::{cron_job, cron_weekly, fstrim_timer, jobs};
    use facts::host::TrimPasses;

    const WEEK_S: f64 = 7.0 * 86_400.0;

    fn host(all: Vec<Job>, uptime_s: f64) -> Host {
        TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1")])
            .device(md("md0", "raid1", &["nvme0n1", "nvme1n1"]))
            .mount("/data", "md0", "xfs", "rw")
            .with(jobs(all))
            .with(|host| host.platform.uptime_s = Some(uptime_s))
            .build()
    }

    fn work(host: &Host) -> DiskCalendar {
        disk_calendar(host, Budget::unlimited())
    }

    #[test]
    fn a_job_of_cron_started_last_when_its_schedule_says() {
        let check = cron_job("/etc/cron.d/mdadm:1", "57 0 * * 0", "checkarray --all");
        let now = host(Vec::new(), 0.0).read_at;
        let found = work(&host(vec![check.clone()], 3.0 * WEEK_S));
        let found = found.jobs.unwrap().remove(0);
        assert_eq!(found.work, "RAID check");
        let (last, next) = (found.last_start.unwrap(), found.next_start.unwrap());
        assert!(last <= now && now < next);
        assert!((next.duration_since(last).as_secs_f64() - WEEK_S).abs() < 1.0);
        assert_eq!(last.strftime("%a %H:%M").to_string(), "Sun 00:57");
        // Nothing is known of before the host was up.
        let found = work(&host(vec![check], 60.0)).jobs.unwrap().remove(0);
        assert_eq!(found.last_start, None);
    }

    #[test]
    fn the_last_trim_is_the_latest_of_the_passes_and_jobs() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let mut timer = fstrim_timer();
        timer.last_run = Some(at("2026-01-05T00:13:00Z"));
        let mut found = host(vec![timer, cron_weekly("fstrim", "fstrim /other")], 60.0);
        let by_timer = work(&found).filesystems.remove(0);
        assert_eq!(by_timer.device, "/dev/md0");
        assert_eq!(by_timer.last_trim, Some(at("2026-01-05T00:13:00Z")));
        let passes = |mount: &str, day: u8| TrimPasses {
            mount_point: mount.to_owned(),
            ended_at: at("2026-02-01T00:00:00Z"),
            active_s: 1.0,
            discarded_bytes: None,
            completed_at: Some(at(&format!("2026-01-0{day}T02:00:00Z"))),
        };
        found.trim_passes = vec![passes("/data", 6), passes("/other", 7)];
        let ours = work(&found).filesystems.remove(0).last_trim;
        assert_eq!(ours, Some(at("2026-01-06T02:00:00Z")));
    }

    #[test]
    fn unknown_jobs_are_not_no_jobs() {
        let mut none = host(Vec::new(), 60.0);
        assert_eq!(work(&none).jobs, Some(Vec::new()));
        none.jobs = None;
        let found = work(&none);
        assert_eq!(found.jobs, None);
        assert_eq!(found.filesystems.len(), 1);
    }
}
