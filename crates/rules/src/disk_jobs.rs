//! Jobs that touch every disk, or much of it.

use crate::context::Context;
use crate::trim_jobs::{Reach, TrimJobs};
use crate::trim_state;
use facts::Host;
use facts::host::{BlockDevice, DeviceKind, Job, JobCommand, Trigger};

/// What a job does to the disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DiskWork {
    /// Discards free space.
    Trim,
    /// Reads every copy and parity of a software RAID.
    RaidCheck,
    /// Reads all of a filesystem's data or metadata.
    Scrub,
    /// Copies data away.
    Backup,
    /// Lets a drive read itself.
    SelfTest,
    /// Walks all directories (updatedb, mandb).
    Index,
}

impl DiskWork {
    /// The word for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Trim => "trim",
            Self::RaidCheck => "RAID check",
            Self::Scrub => "scrub",
            Self::Backup => "backup",
            Self::SelfTest => "drive self-test",
            Self::Index => "file index",
        }
    }

    /// Whether one such job alone keeps drives busy for long.
    pub fn is_heavy(self) -> bool {
        self != Self::Index
    }
}

/// A job that touches every disk.
#[derive(Clone, Copy)]
pub(crate) struct DiskJob<'a> {
    /// The job.
    pub job: &'a Job,
    /// The heaviest thing that it does.
    pub work: DiskWork,
    /// The program that does it.
    pub program: &'a str,
}

/// Active jobs that touch disks of this host; `None` where its jobs are not known. A trim of nothing
/// that takes discards, a check without a RAID and the like are left out.
pub(crate) fn active<'a>(cx: &Context<'a>) -> Option<Vec<DiskJob<'a>>> {
    let trims = TrimJobs::of(cx)?;
    let mut found = Vec::new();
    for job in cx.host.jobs.as_deref()? {
        if !job.is_active() {
            continue;
        }
        let trims_something = trims
            .jobs
            .iter()
            .filter(|trim| std::ptr::eq(trim.job, job))
            .any(|trim| {
                cx.volumes.iter().any(|volume| {
                    trim_state::fstrim_works_here(volume)
                        && trims.reach(trim, volume) == Reach::Reached
                })
            });
        let work = job
            .commands
            .iter()
            .filter_map(|command| Some((work_of(command)?, command.program.as_str())))
            .filter(|(work, program)| has_use_for(cx.host, *work, program))
            .min();
        let trim = trims_something.then_some((DiskWork::Trim, "fstrim"));
        if let Some((work, program)) = trim.into_iter().chain(work).min() {
            found.push(DiskJob { job, work, program });
        }
    }
    Some(found)
}

/// Whether the host has something that this work could be done on.
fn has_use_for(host: &Host, work: DiskWork, program: &str) -> bool {
    let mounted = |fs_type: &str| host.mounts.iter().any(|mount| mount.fs_type == fs_type);
    match (work, program) {
        // Judged by what it reaches instead.
        (DiskWork::Trim, _) => false,
        (DiskWork::RaidCheck, _) => host.devices.iter().any(is_redundant_md),
        // e2scrub works on LVM snapshots only.
        (DiskWork::Scrub, "e2scrub_all" | "e2scrub_all_cron") => {
            host.devices.iter().any(|device| {
                device
                    .dm_uuid()
                    .is_some_and(|uuid| uuid.starts_with("LVM-"))
            })
        }
        (DiskWork::Scrub, "xfs_scrub" | "xfs_scrub_all") => mounted("xfs"),
        (DiskWork::Scrub, program) if program.starts_with("btrfs") => mounted("btrfs"),
        _ => true,
    }
}

fn is_redundant_md(device: &BlockDevice) -> bool {
    matches!(
        &device.kind,
        DeviceKind::Md { level: Some(level), .. }
            if !matches!(level.as_str(), "raid0" | "linear" | "container")
    )
}

/// What a command does to the disks; `None` for all that does not touch every disk.
fn work_of(command: &JobCommand) -> Option<DiskWork> {
    let has = |word: &str| command.arguments.iter().any(|argument| argument == word);
    Some(match command.program.as_str() {
        "fstrim" | "fstrim-all" => DiskWork::Trim,
        "checkarray" | "raid-check" | "mdcheck" => DiskWork::RaidCheck,
        "mdadm" if has("--action=check") || has("check") => DiskWork::RaidCheck,
        // -r only removes what a broken scrub left behind.
        "e2scrub_all" if has("-r") => return None,
        // The last four are openSUSE's btrfsmaintenance.
        "e2scrub_all" | "e2scrub_all_cron" | "xfs_scrub" | "xfs_scrub_all" | "btrfs-scrub"
        | "btrfs-scrub.sh" | "btrfs-balance" | "btrfs-balance.sh" => DiskWork::Scrub,
        "btrfs" if has("scrub") || has("balance") => DiskWork::Scrub,
        "zpool" if has("scrub") => DiskWork::Scrub,
        "rsync" | "rsnapshot" | "rdiff-backup" | "borg" | "borgmatic" | "restic" | "kopia"
        | "duplicity" | "duply" | "backupninja" | "amdump" | "xfsdump" | "mongodump"
        | "elasticdump" | "mysqldump" | "mariadb-dump" | "mariabackup" | "xtrabackup"
        | "pg_dump" | "pg_dumpall" | "pg_basebackup" => DiskWork::Backup,
        "smartctl" if has("long") || has("--test=long") || has("-tlong") => DiskWork::SelfTest,
        "updatedb" | "updatedb.mlocate" | "updatedb.plocate" | "mandb" => DiskWork::Index,
        _ => return None,
    })
}

/// The run-parts directory that a job is a script of: `cron.weekly`. Its scripts run one after the
/// other, in one go.
pub(crate) fn run_parts_directory(job: &Job) -> Option<&str> {
    let (directory, _) = job.defined_in.rsplit_once('/')?;
    let name = directory.strip_prefix("etc/")?;
    matches!(
        name,
        "cron.hourly" | "cron.daily" | "cron.weekly" | "cron.monthly"
    )
    .then_some(name)
}

/// Whether cron or anacron starts a job.
pub(crate) fn is_started_by_cron(job: &Job) -> bool {
    job.timer.is_none()
        && job
            .triggers
            .iter()
            .any(|trigger| matches!(trigger, Trigger::Cron { .. } | Trigger::Anacron { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, md, nvme};
    use crate::test_jobs::{command, cron_job, cron_weekly, fstrim_timer, jobs, timer};

    fn work(line: &str) -> Option<DiskWork> {
        work_of(&command(line, "etc/cron.d/x:1"))
    }

    #[test]
    fn programs_and_the_arguments_that_matter() {
        assert_eq!(work("checkarray --cron --all"), Some(DiskWork::RaidCheck));
        assert_eq!(work("btrfs scrub start /data"), Some(DiskWork::Scrub));
        assert_eq!(work("btrfs filesystem show"), None);
        assert_eq!(work("zpool list"), None);
        assert_eq!(work("e2scrub_all -A -r"), None);
        assert_eq!(work("smartctl -t long /dev/sda"), Some(DiskWork::SelfTest));
        assert_eq!(work("smartctl -t short /dev/sda"), None);
        assert_eq!(work("logrotate /etc/logrotate.conf"), None);
        assert!(!DiskWork::Index.is_heavy() && DiskWork::Trim.is_heavy());
    }

    #[test]
    fn what_has_nothing_to_work_on_is_left_out() {
        let all = || {
            vec![
                cron_job("/etc/cron.d/mdadm:1", "57 0 * * 0", "checkarray --all"),
                timer("e2scrub_all.timer", "Sun *-*-* 03:10:00", "e2scrub_all"),
                fstrim_timer(),
            ]
        };
        let works = |host: TestHost| {
            let host = host.with(jobs(all())).build();
            let found = active(&Context::new(&host)).expect("jobs");
            found.iter().map(|job| job.work).collect::<Vec<_>>()
        };
        assert_eq!(works(TestHost::new()), []);
        let plain = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/", "nvme0n1", "ext4", "rw");
        assert_eq!(works(plain), [DiskWork::Trim]);
        let mirror = TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1")])
            .device(md("md0", "raid1", &["nvme0n1", "nvme1n1"]));
        assert_eq!(works(mirror), [DiskWork::RaidCheck]);
    }

    #[test]
    fn scripts_of_a_directory_are_told_from_other_jobs() {
        let script = cron_weekly("fstrim", "fstrim -a");
        assert_eq!(run_parts_directory(&script), Some("cron.weekly"));
        let line = cron_job("/etc/cron.d/x:1", "0 0 * * 0", "fstrim -a");
        assert_eq!(run_parts_directory(&line), None);
        assert!(is_started_by_cron(&script) && !is_started_by_cron(&fstrim_timer()));
    }
}
