//! Derives the drives below a mount and their load from a host's facts, as input for simulations.
//!
//! This lives in the rules crate because it needs to know how a filesystem is trimmed and whether
//! its discards reach the drives.

use crate::trimming::{Trimming, trimming};
use facts::host::{BlockDevice, DeviceKind, DriveWrites, Mount, StoreEngine, StoreState};
use facts::{Evidence, Host, Skipped, Stack};

const DAY_S: f64 = 86_400.0;
/// Name of the drives' own write counters in skipped entries.
const MEDIA_WRITES: &str = "media writes";
/// Flags to pass if the drives do not report them.
const MEDIA_FLAGS: &str = "--host-written and --media-written";
/// Maximum number of known mounts named in an error.
const MOUNTS_MAX: usize = 12;
/// Bounds on the fill, since an empty or full filesystem still has to be simulated.
const FILL: (f64, f64) = (0.01, 0.97);

/// Facts about a drive's load that a host can provide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadFact {
    /// The size of the drives.
    Capacity,
    /// Bytes written per day.
    Writes,
    /// The share of live data.
    Fill,
    /// The trim schedule.
    Trims,
    /// The kind of workload.
    Workload,
    /// The bytes that the drives wrote to their flash.
    Media,
}

/// When a mount is trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrimTimes {
    /// With each delete.
    Online,
    /// Never.
    Never,
    /// By a job.
    Periodic {
        /// Days between two runs.
        every_days: u32,
        /// Days from Monday to the first run; 0 if it runs every day.
        first_day: u32,
        /// The hour at which it runs.
        hour: u32,
    },
}

/// The drives below a mount and their load. Unknown values are `None`, with the reason in
/// [`DriveLoad::skipped`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DriveLoad {
    /// Capacity of one drive in bytes.
    pub capacity_bytes: Option<u64>,
    /// Number of drives in a RAID 0; 1 if there is none.
    pub drives: Option<u32>,
    /// Chunk size of the RAID 0.
    pub chunk_bytes: Option<u64>,
    /// Live data as a share of the filesystem's size.
    pub fill: Option<f64>,
    /// Average bytes written per day since boot, to all drives together.
    pub writes_per_day_bytes: Option<u64>,
    /// When it is trimmed.
    pub trims: Option<TrimTimes>,
    /// Whether a layer below is known to lose the discards.
    pub loses_discards: bool,
    /// The workload that represents the store on the mount: `elasticsearch`, `opensearch`,
    /// `mongodb`, `files`.
    pub workload: Option<&'static str>,
    /// Lifetime bytes that hosts wrote to the drives, and that the drives wrote to their flash,
    /// according to their own counters.
    pub media: Option<(u64, u64)>,
    evidence: Vec<(LoadFact, Evidence)>,
    skipped: Vec<(LoadFact, Skipped)>,
}

/// The error if there is no mount to examine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoMount {
    /// The first dozen mount points on block devices.
    pub known: Vec<String>,
}

/// Returns the mount at a mount point or, without one, the mount that holds the data of the host's
/// store, preferring a running one.
///
/// # Errors
/// If nothing is mounted there, or no store has its data on a block device.
pub fn loaded_mount<'a>(host: &'a Host, mount_point: Option<&str>) -> Result<&'a Mount, NoMount> {
    let none = || {
        let mounts = host.mounts.iter();
        let on_devices = mounts.filter(|mount| host.device_of(mount).is_some());
        let mut known: Vec<String> = on_devices.map(|mount| mount.mount_point.clone()).collect();
        known.dedup();
        known.truncate(MOUNTS_MAX);
        NoMount { known }
    };
    let Some(mount_point) = mount_point else {
        let stores = host.stores.iter();
        let running = stores.filter(|store| store.state == StoreState::Running);
        return running
            .chain(&host.stores)
            .flat_map(|store| &store.data_paths)
            .filter_map(|path| host.mount_of_path(path))
            .find(|mount| host.device_of(mount).is_some())
            .ok_or_else(none);
    };
    let wanted = match mount_point.trim_end_matches('/') {
        "" => "/",
        point => point,
    };
    let mut mounts = host.mounts.iter().rev();
    mounts
        .find(|mount| mount.mount_point == wanted)
        .ok_or_else(none)
}

fn excluding<T: Clone>(all: &[(LoadFact, T)], given: &[LoadFact]) -> Vec<T> {
    let others = all.iter().filter(|(fact, _)| !given.contains(fact));
    others.map(|(_, one)| one.clone()).collect()
}

impl DriveLoad {
    /// Derives the load of a mount from the facts. `drives_were_asked` is whether the drives were
    /// queried for their flash writes.
    pub fn of(host: &Host, mount: &Mount, drives_were_asked: bool) -> Self {
        let mut load = Self::default();
        let drives = if let Some(stack) = host.stack_of(mount) {
            load.add_drives(host, &stack)
        } else {
            load.skip(
                LoadFact::Capacity,
                "the drives",
                "no block device is known below the mount",
                "sys/block",
            );
            Vec::new()
        };
        load.add_fill(mount);
        load.add_trims(host, mount);
        load.add_workload(host, mount);
        if drives_were_asked {
            load.add_media_writes(host, &drives);
        }
        load
    }

    /// Returns the evidence, except for values that the user supplied.
    pub fn evidence(&self, given: &[LoadFact]) -> Vec<Evidence> {
        excluding(&self.evidence, given)
    }

    /// Returns what is unknown and was not supplied by the user.
    pub fn skipped(&self, given: &[LoadFact]) -> Vec<Skipped> {
        excluding(&self.skipped, given)
    }

    fn add_evidence(
        &mut self,
        fact: LoadFact,
        source: impl Into<String>,
        value: impl std::fmt::Display,
    ) {
        self.evidence.push((fact, Evidence::new(source, value)));
    }

    fn skip(&mut self, fact: LoadFact, what: &str, why: impl Into<String>, needs: &str) {
        let skipped = Skipped::new(what, why, Some(needs));
        self.skipped.push((fact, skipped));
    }

    /// Selects the drives to examine, records their properties and returns them.
    fn add_drives<'a>(&mut self, host: &Host, stack: &Stack<'a>) -> Vec<&'a BlockDevice> {
        let leaves: Vec<&BlockDevice> = stack.leaves().collect();
        let level = stack
            .layers
            .iter()
            .find_map(|layer| match &layer.device.kind {
                DeviceKind::Md {
                    level, chunk_bytes, ..
                } => Some((level.clone(), *chunk_bytes)),
                _ => None,
            });
        let written =
            |drive: &&BlockDevice| drive.counters.map_or(0, |counters| counters.written_bytes);
        // Striped drives share the load; of mirrored or concatenated ones, the busiest is used.
        let striped = matches!(&level, Some((Some(level), _)) if level == "raid0");
        let drives: Vec<&BlockDevice> = if striped {
            leaves
        } else {
            leaves.into_iter().max_by_key(written).into_iter().collect()
        };
        self.drives = u32::try_from(drives.len()).ok().filter(|&count| count > 0);
        if striped {
            self.chunk_bytes = level.and_then(|(_, chunk)| chunk);
        }
        let sizes: Option<Vec<u64>> = drives.iter().map(|drive| drive.size_bytes).collect();
        self.capacity_bytes = sizes.and_then(|sizes| sizes.into_iter().min());
        match self.capacity_bytes {
            Some(bytes) => {
                let paths: Vec<&str> = drives
                    .iter()
                    .map(|drive| drive.sysfs_path.as_str())
                    .collect();
                self.add_evidence(
                    LoadFact::Capacity,
                    format!("{}/size", paths.join(", ")),
                    bytes,
                );
            }
            None => self.skip(
                LoadFact::Capacity,
                "the capacity",
                "the size of a drive is unknown",
                "sys/block/*/size",
            ),
        }
        self.add_write_rate(host, &drives);
        drives
    }

    /// Records the bytes that the drives wrote to their flash, summed over striped drives.
    fn add_media_writes(&mut self, host: &Host, drives: &[&BlockDevice]) {
        let mut accounts = Vec::new();
        for drive in drives {
            let of_drive = |writes: &&DriveWrites| writes.drive == drive.name;
            let writes = host.drive_writes.iter().find(of_drive);
            match writes.map(|writes| (writes, writes.bytes())) {
                Some((writes, Some(bytes))) => accounts.push((writes, bytes)),
                Some((writes, None)) => self.skip_media_writes(writes),
                None => self.skip(
                    LoadFact::Media,
                    MEDIA_WRITES,
                    format!(
                        "{} was not asked: it is neither an NVMe drive nor a SATA drive of flash",
                        drive.name
                    ),
                    MEDIA_FLAGS,
                ),
            }
        }
        // Some of the drives are not representative of all.
        if accounts.is_empty() || accounts.len() < drives.len() {
            return;
        }
        let sum = |of: fn(&(u64, u64)) -> u64| {
            let bytes = accounts.iter().map(|(_, bytes)| of(bytes));
            bytes.fold(0_u64, u64::saturating_add)
        };
        self.media = Some((sum(|bytes| bytes.0), sum(|bytes| bytes.1)));
        for (writes, _) in accounts {
            let evidence = writes.evidence.iter().cloned();
            self.evidence
                .extend(evidence.map(|evidence| (LoadFact::Media, evidence)));
        }
    }

    /// Records why a drive's counters cannot be used.
    fn skip_media_writes(&mut self, writes: &DriveWrites) {
        for skipped in &writes.skipped {
            let needs = match &skipped.needs {
                Some(needs) => format!("{needs}; or {MEDIA_FLAGS}"),
                None => MEDIA_FLAGS.to_owned(),
            };
            self.skip(LoadFact::Media, MEDIA_WRITES, skipped.why.clone(), &needs);
        }
        if writes.skipped.is_empty() {
            self.skip(
                LoadFact::Media,
                MEDIA_WRITES,
                format!("{} counted none, or more than it can have", writes.drive),
                MEDIA_FLAGS,
            );
        }
    }

    fn add_write_rate(&mut self, host: &Host, drives: &[&BlockDevice]) {
        match self.bytes_per_day(host, drives) {
            Ok(bytes) => self.writes_per_day_bytes = Some(bytes),
            Err((why, needs)) => self.skip(LoadFact::Writes, "writes per day", why, needs),
        }
    }

    /// Computes the bytes written per day and records the evidence. The error says why they are unknown, and what is
    /// needed.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // an estimate
    fn bytes_per_day(
        &mut self,
        host: &Host,
        drives: &[&BlockDevice],
    ) -> Result<u64, (&'static str, &'static str)> {
        let uptime_s = host.platform.uptime_s;
        let uptime_s = uptime_s.ok_or(("the uptime is unknown", "proc/uptime"))?;
        if uptime_s < DAY_S {
            return Err((
                "the host was booted less than a day ago: its counters say nothing of a day's writes",
                "a day of uptime, or --writes-per-day",
            ));
        }
        let mut bytes = 0.0;
        for drive in drives {
            let counters = drive
                .counters
                .ok_or(("the counters of a drive are unknown", "sys/block/*/stat"))?;
            if counters.discards.is_none() {
                return Err((
                    "this kernel counts discards as writes",
                    "Linux 4.18 or later, or --writes-per-day",
                ));
            }
            bytes += counters.written_bytes as f64;
            self.add_evidence(
                LoadFact::Writes,
                format!("{}/stat: bytes written", drive.sysfs_path),
                counters.written_bytes,
            );
        }
        self.add_evidence(LoadFact::Writes, "proc/uptime", format!("{uptime_s:.0} s"));
        let per_day = bytes / uptime_s * DAY_S;
        if per_day >= 1.0 {
            Ok(per_day as u64)
        } else {
            Err(("nothing was written since boot", "--writes-per-day"))
        }
    }

    #[allow(clippy::cast_precision_loss)] // a share
    fn add_fill(&mut self, mount: &Mount) {
        match mount.usage {
            Some(usage) if usage.size_bytes > 0 => {
                let used = usage.size_bytes.saturating_sub(usage.free_bytes);
                let share = used as f64 / usage.size_bytes as f64;
                self.fill = Some(share.clamp(FILL.0, FILL.1));
                self.add_evidence(
                    LoadFact::Fill,
                    format!("statfs {}: used of size", mount.mount_point),
                    format!("{used} of {}", usage.size_bytes),
                );
            }
            _ => self.skip(
                LoadFact::Fill,
                "the fill",
                "the free space is unknown",
                "statfs on the mount, or --fill",
            ),
        }
    }

    fn add_trims(&mut self, host: &Host, mount: &Mount) {
        let Some(trimming) = trimming(host, mount) else {
            return;
        };
        self.trims = self.trim_times(&trimming);
        self.loses_discards = trimming.reaches_drives == Some(false);
        if self.loses_discards {
            self.add_evidence(
                LoadFact::Trims,
                "sys/block/*/queue/discard_max_bytes",
                "a layer below loses discards: see `trimtab check --select TRIM`",
            );
        }
    }

    fn trim_times(&mut self, trimming: &Trimming) -> Option<TrimTimes> {
        if trimming.online {
            self.add_evidence(
                LoadFact::Trims,
                "proc/self/mountinfo",
                "mounted with discard",
            );
            return Some(TrimTimes::Online);
        }
        let Some(jobs) = &trimming.jobs else {
            self.skip(
                LoadFact::Trims,
                "the trim schedule",
                "the jobs of this host are not known; weekly is assumed",
                "/etc/crontab, /etc/cron.*, systemd's units, or --trim",
            );
            return None;
        };
        let Some(first) = jobs.first() else {
            self.add_evidence(LoadFact::Trims, "jobs", "none trims this mount");
            return Some(TrimTimes::Never);
        };
        // The most frequent job counts.
        let known = jobs.iter().filter_map(|job| Some((job.period_s?, job)));
        let Some((period_s, job)) = known.min_by(|(a, _), (b, _)| a.total_cmp(b)) else {
            self.skip(
                LoadFact::Trims,
                "the trim schedule",
                format!(
                    "how often {} runs cannot be told; weekly is assumed",
                    first.job
                ),
                "--trim",
            );
            return None;
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // clamped
        let every_days = (period_s / DAY_S).round().clamp(1.0, 3660.0) as u32;
        let (day, hour) = job.next.unwrap_or((6, 6));
        self.add_evidence(
            LoadFact::Trims,
            job.defined_in.clone(),
            format!("{} trims every {every_days} d", job.job),
        );
        Some(TrimTimes::Periodic {
            every_days,
            first_day: if every_days == 1 { 0 } else { day },
            hour,
        })
    }

    fn add_workload(&mut self, host: &Host, mount: &Mount) {
        let stores = host.stores_on(mount);
        let Some(store) = stores.first() else {
            return;
        };
        let name = match store.engine {
            StoreEngine::Elasticsearch => "elasticsearch",
            StoreEngine::Opensearch => "opensearch",
            StoreEngine::Mongodb => "mongodb",
            StoreEngine::Other(_) | StoreEngine::DataPath => "files",
        };
        self.workload = Some(name);
        self.add_evidence(
            LoadFact::Workload,
            format!("store on the mount: {}", store.engine.label()),
            format!("workload {name}"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, md, nvme};
    use crate::test_jobs::{LISTED_IN, jobs, timer};
    use facts::host::{FsUsage, IoCounters};

    const GB: u64 = 1_000_000_000;

    /// A drive with this many bytes written since boot.
    fn written(name: &str, written_bytes: u64) -> BlockDevice {
        let mut drive = nvme(name);
        drive.counters = Some(IoCounters {
            read_bytes: 0,
            written_bytes,
            discards: Some(0),
            discarded_bytes: Some(0),
        });
        drive
    }

    fn load(host: TestHost) -> DriveLoad {
        let host = host.build();
        let mount = loaded_mount(&host, Some("/data")).expect("it is mounted");
        DriveLoad::of(&host, mount, false)
    }

    fn array(level: &str) -> DriveLoad {
        load(
            TestHost::new()
                .device(written("nvme0n1", 300 * GB))
                .device(written("nvme1n1", 600 * GB))
                .device(md("md0", level, &["nvme0n1", "nvme1n1"]))
                .mount("/data", "md0", "xfs", "rw"),
        )
    }

    #[test]
    fn striped_drives_share_the_load_and_of_mirrors_the_busiest_counts() {
        // 30 days of uptime.
        let striped = array("raid0");
        assert_eq!(
            (striped.drives, striped.chunk_bytes),
            (Some(2), Some(512 << 10))
        );
        assert_eq!(striped.writes_per_day_bytes, Some(30 * GB));
        let mirror = array("raid1");
        assert_eq!((mirror.drives, mirror.chunk_bytes), (Some(1), None));
        assert_eq!(mirror.writes_per_day_bytes, Some(20 * GB));
        assert_eq!(mirror.capacity_bytes, Some(1 << 40));
    }

    #[test]
    fn unusable_counters_are_skipped() {
        let host = |drive: BlockDevice| {
            TestHost::new()
                .device(drive)
                .mount("/data", "nvme0n1", "xfs", "rw")
        };
        let why = |load: &DriveLoad| {
            let skipped = load.skipped(&[LoadFact::Fill, LoadFact::Trims]);
            skipped
                .iter()
                .map(|row| row.why.clone())
                .collect::<Vec<_>>()
                .join("; ")
        };
        let young =
            load(host(written("nvme0n1", GB)).with(|host| host.platform.uptime_s = Some(3600.0)));
        assert!(
            why(&young).contains("less than a day ago"),
            "{}",
            why(&young)
        );
        let mut old = written("nvme0n1", GB);
        if let Some(counters) = &mut old.counters {
            counters.discards = None;
        }
        let old = load(host(old));
        assert!(
            why(&old).contains("counts discards as writes"),
            "{}",
            why(&old)
        );
        let idle = load(host(written("nvme0n1", 0)));
        assert_eq!(idle.writes_per_day_bytes, None);
        assert!(why(&idle).contains("nothing was written"), "{}", why(&idle));
        // User-supplied values are neither evidence nor missing.
        assert!(
            idle.skipped(&[LoadFact::Fill, LoadFact::Trims, LoadFact::Writes])
                .is_empty()
        );
    }

    #[test]
    fn a_full_filesystem_can_still_be_simulated() {
        let usage = FsUsage {
            size_bytes: 1000,
            free_bytes: 0,
            ..FsUsage::default()
        };
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .with(|host| host.mounts[0].usage = Some(usage));
        assert_eq!(load(host).fill, Some(0.97));
    }

    #[test]
    fn trim_times_are_those_of_the_job() {
        let host = |options: &str| {
            TestHost::new()
                .device(nvme("nvme0n1"))
                .mount("/data", "nvme0n1", "xfs", options)
        };
        let daily = jobs(vec![timer("fstrim.timer", "*-*-* 03:00", LISTED_IN)]);
        assert_eq!(
            load(host("rw").with(daily)).trims,
            Some(TrimTimes::Periodic {
                every_days: 1,
                first_day: 0,
                hour: 3
            })
        );
        assert_eq!(load(host("rw")).trims, Some(TrimTimes::Never));
        assert_eq!(load(host("rw,discard")).trims, Some(TrimTimes::Online));
        assert_eq!(load(host("rw").with(|host| host.jobs = None)).trims, None);
    }

    #[test]
    fn an_unknown_mount_lists_the_known_ones() {
        let host = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .build();
        let known = NoMount {
            known: vec!["/data".to_owned()],
        };
        assert_eq!(loaded_mount(&host, Some("/x")).err(), Some(known.clone()));
        assert_eq!(loaded_mount(&host, None).err(), Some(known));
        assert!(loaded_mount(&host, Some("/data/")).is_ok());
    }
}
