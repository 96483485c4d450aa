//! Jobs that access every disk, or much of it.

use crate::context::Context;
use crate::trim_state;
use facts::Host;
use facts::host::{BlockDevice, DeviceKind, Job, JobCommand, Trigger};

/// What a job does to the disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DiskWork {
    /// Discards free space.
    Trim,
    /// Reads all copies and parity of a software RAID.
    RaidCheck,
    /// Reads all of a filesystem's data or metadata.
    Scrub,
    /// Copies data elsewhere.
    Backup,
    /// Runs a drive's self-test.
    SelfTest,
    /// Walks all directories (updatedb, mandb).
    Index,
}

impl DiskWork {
    /// Returns the label for messages.
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

    /// Whether a single job of this kind keeps drives busy for a long time.
    pub fn is_heavy(self) -> bool {
        self != Self::Index
    }
}

/// A job that accesses every disk.
#[derive(Clone, Copy)]
pub(crate) struct DiskJob<'a> {
    /// The job.
    pub job: &'a Job,
    /// The heaviest work it does.
    pub work: DiskWork,
    /// The program that does this work.
    pub program: &'a str,
}

/// Returns the active jobs that access disks of this host; `None` if its jobs are not known. Jobs
/// without anything to work on are left out, such as a trim where nothing takes discards, or a RAID
/// check without a RAID.
pub(crate) fn active<'a>(cx: &Context<'a>) -> Option<Vec<DiskJob<'a>>> {
    let trims = cx.trim_jobs()?;
    let mut found = Vec::new();
    for job in cx.host.jobs.as_deref()? {
        if cx.budget.is_used_up() {
            break;
        }
        if !job.is_active() {
            continue;
        }
        let trims_something = trims.find(job).is_some_and(|trim| {
            cx.volumes
                .iter()
                .any(|volume| trim_state::fstrim_works_here(volume) && trims.reaches(trim, volume))
        });
        let work = job
            .commands
            .iter()
            .filter_map(|command| Some((work_of(command)?, command.program.as_str())))
            .filter(|(work, program)| has_target_for(cx.host, *work, program))
            .min();
        let trim = trims_something.then_some((DiskWork::Trim, "fstrim"));
        if let Some((work, program)) = trim.into_iter().chain(work).min() {
            found.push(DiskJob { job, work, program });
        }
    }
    Some(found)
}

/// Whether the host has something for this work to act on.
fn has_target_for(host: &Host, work: DiskWork, program: &str) -> bool {
    let mounted = |fs_type: &str| host.mounts.iter().any(|mount| mount.fs_type == fs_type);
    match (work, program) {
        // Decided by which mounts it reaches instead.
        (DiskWork::Trim, _) => false,
        (DiskWork::RaidCheck, _) => host.devices.iter().any(is_redundant_md),
        // e2scrub only works on LVM snapshots.
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

/// Returns what a command does to the disks; `None` if it does not access every disk.
fn work_of(command: &JobCommand) -> Option<DiskWork> {
    let has = |word: &str| command.arguments.iter().any(|argument| argument == word);
    Some(match command.program.as_str() {
        "fstrim" | "fstrim-all" | "scylla_fstrim" => DiskWork::Trim,
        "checkarray" | "raid-check" | "mdcheck" => DiskWork::RaidCheck,
        "mdadm" if has("--action=check") || has("check") => DiskWork::RaidCheck,
        // -r only removes what an interrupted scrub left behind.
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

/// Returns the run-parts directory that contains the job's script: `cron.weekly`. Its scripts run
/// one after another in a single run.
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
    fn jobs_without_a_target_are_left_out() {
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
    fn scripts_of_a_directory_are_recognized() {
        let script = cron_weekly("fstrim", "fstrim -a");
        assert_eq!(run_parts_directory(&script), Some("cron.weekly"));
        let line = cron_job("/etc/cron.d/x:1", "0 0 * * 0", "fstrim -a");
        assert_eq!(run_parts_directory(&line), None);
        assert!(is_started_by_cron(&script) && !is_started_by_cron(&fstrim_timer()));
    }
}
