//! What a host's facts say of its drives and their load.

use super::args::Days;
use super::load::{self, Mix, TrimWhen};
use crate::arguments::SourceArgs;
use crate::commands::source;
use crate::config::Config;
use crate::error::{CommandError, Kind};
use facts::host::{BlockDevice, DeviceKind, DriveWrites, Mount, StoreEngine, StoreState};
use facts::{Evidence, Host, Skipped, Stack};
use flash::scenario::{Schedule, Trims};
use rules::Trimming;

const DAY_S: f64 = 86_400.0;
/// The name of what a drive counts for itself.
const MEDIA_WRITES: &str = "media writes";
/// What to do where it does not tell.
const MEDIA_FLAGS: &str = "--host-written and --media-written";

/// What a host may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fact {
    /// The size of the drives.
    Capacity,
    /// What is written a day.
    Writes,
    /// Live data.
    Fill,
    /// The trim schedule.
    Trims,
    /// What the store does.
    Workload,
    /// What the drives wrote to their flash.
    Media,
}

/// What was found; what was not is `None`, and its reason stands in `skipped`.
#[derive(Debug, Clone)]
pub struct Found {
    /// `live`, `bundle FILE` ...
    pub source: String,
    /// Of one drive.
    pub capacity_bytes: Option<u64>,
    /// Of a RAID-0.
    pub drives: Option<u32>,
    /// Of a RAID-0.
    pub chunk_bytes: Option<u64>,
    /// Live data.
    pub fill: Option<f64>,
    /// Written on a day since boot.
    pub writes_per_day: Option<u64>,
    /// When it is trimmed.
    pub when: Option<TrimWhen>,
    /// What its store does.
    pub workload: Option<Mix>,
    /// Bytes that hosts wrote to the drives and bytes that these wrote to their flash, since they
    /// were new, by their own account.
    pub measured: Option<(u64, u64)>,
    /// Where that stands.
    evidence: Vec<(Fact, Evidence)>,
    /// What could not be told.
    skipped: Vec<(Fact, Skipped)>,
}

/// Reads the host that was named.
///
/// # Errors
/// When it cannot be read, or there is no such mount.
pub fn read(
    days: &Days,
    mount_point: &str,
    config: &Config,
    wants_measured: bool,
) -> Result<Found, CommandError> {
    let opened = match (&days.bundle, &days.root) {
        (Some(bundle), _) => source::stored(bundle, "bundle")?,
        (None, Some(root)) => source::stored(root, "directory")?,
        (None, None) => source::live(),
    };
    let arguments = SourceArgs {
        root: None,
        data_path: Vec::new(),
    };
    // Flags outrank facts: where they say it, the drives need not be asked.
    let ask_drives = wants_measured && days.host_written.is_none();
    let read = if ask_drives {
        source::read_with_drive_writes
    } else {
        source::read
    };
    let (host, _) = read(&opened, &arguments, &config.check.data_paths)?;
    let mount = choose(&host, mount_point)?;
    Ok(of_mount(&host, mount, opened.label, ask_drives))
}

/// The mount that was named, or that of the host's store.
fn choose<'a>(host: &'a Host, mount_point: &str) -> Result<&'a Mount, CommandError> {
    let known = || {
        let points = host
            .mounts
            .iter()
            .filter(|mount| host.device_of(mount).is_some());
        let mut points: Vec<String> = points
            .map(|mount| report::escape(&mount.mount_point).into_owned())
            .collect();
        points.dedup();
        points.truncate(12);
        if points.is_empty() {
            "no mount on a block device is known".to_owned()
        } else {
            format!("mounts on block devices: {}", points.join(", "))
        }
    };
    if mount_point.is_empty() {
        let running = host
            .stores
            .iter()
            .filter(|store| store.state == StoreState::Running);
        let stores = running.chain(&host.stores);
        return stores
            .flat_map(|store| &store.data_paths)
            .filter_map(|path| host.mount_of_path(path))
            .find(|mount| host.device_of(mount).is_some())
            .ok_or_else(|| {
                CommandError::new(
                    Kind::Usage,
                    "--from-host: no store was found whose data lies on a block device",
                )
                .hint("name the mount: --from-host /data")
                .hint(known())
            });
    }
    let wanted = match mount_point.trim_end_matches('/') {
        "" => "/",
        point => point,
    };
    let here = host
        .mounts
        .iter()
        .rev()
        .find(|mount| mount.mount_point == wanted);
    here.ok_or_else(|| {
        CommandError::new(
            Kind::Usage,
            format!(
                "--from-host {}: nothing is mounted there",
                report::escape(mount_point)
            ),
        )
        .hint(known())
    })
}

fn of_others<T: Clone>(all: &[(Fact, T)], outranked: &[Fact]) -> Vec<T> {
    let others = all.iter().filter(|(fact, _)| !outranked.contains(fact));
    others.map(|(_, one)| one.clone()).collect()
}

/// What the facts say of a mount.
fn of_mount(host: &Host, mount: &Mount, source: String, ask_drives: bool) -> Found {
    let mut found = Found {
        source,
        capacity_bytes: None,
        drives: None,
        chunk_bytes: None,
        fill: None,
        writes_per_day: None,
        when: None,
        workload: None,
        measured: None,
        evidence: Vec::new(),
        skipped: Vec::new(),
    };
    let drives = if let Some(stack) = host.stack_of(mount) {
        found.drives_below(host, &stack)
    } else {
        found.skip(
            Fact::Capacity,
            "the drives",
            "no block device is known below the mount",
            "sys/block",
        );
        Vec::new()
    };
    found.filled(mount);
    found.trimmed(host, mount);
    found.loaded(host, mount);
    if ask_drives {
        found.measured(host, &drives);
    }
    found
}

impl Found {
    /// Where that stands which nothing outranks.
    pub fn evidence(&self, outranked: &[Fact]) -> Vec<Evidence> {
        of_others(&self.evidence, outranked)
    }

    /// What could not be told, and nothing else says.
    pub fn skipped(&self, outranked: &[Fact]) -> Vec<Skipped> {
        of_others(&self.skipped, outranked)
    }

    fn skip(&mut self, fact: Fact, what: &str, why: impl Into<String>, needs: &str) {
        let skipped = Skipped::new(what, why, Some(needs));
        self.skipped.push((fact, skipped));
    }

    /// What is found out of the drives that are looked at, which are returned.
    fn drives_below<'a>(&mut self, host: &Host, stack: &Stack<'a>) -> Vec<&'a BlockDevice> {
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
        // Striped drives share the load; of others, mirrored or joined, the busiest is looked at.
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
                self.evidence.push((
                    Fact::Capacity,
                    Evidence::new(format!("{}/size", paths.join(", ")), bytes),
                ));
            }
            None => self.skip(
                Fact::Capacity,
                "the capacity",
                "the size of a drive is unknown",
                "sys/block/*/size",
            ),
        }
        self.written(host, &drives);
        drives
    }

    /// What the drives wrote to their flash: of striped ones, together.
    fn measured(&mut self, host: &Host, drives: &[&BlockDevice]) {
        let mut accounts = Vec::new();
        for drive in drives {
            let of_drive = |writes: &&DriveWrites| writes.drive == drive.name;
            let writes = host.drive_writes.iter().find(of_drive);
            match writes.map(|writes| (writes, writes.bytes())) {
                Some((writes, Some(bytes))) => accounts.push((writes, bytes)),
                Some((writes, None)) => self.unmeasured(writes),
                None => self.skip(
                    Fact::Media,
                    MEDIA_WRITES,
                    format!(
                        "{} was not asked: it is neither an NVMe drive nor a SATA drive of flash",
                        drive.name
                    ),
                    MEDIA_FLAGS,
                ),
            }
        }
        // A part of the drives says nothing of the whole.
        if accounts.is_empty() || accounts.len() < drives.len() {
            return;
        }
        let sum = |of: fn(&(u64, u64)) -> u64| {
            let bytes = accounts.iter().map(|(_, bytes)| of(bytes));
            bytes.fold(0_u64, u64::saturating_add)
        };
        self.measured = Some((sum(|bytes| bytes.0), sum(|bytes| bytes.1)));
        for (writes, _) in accounts {
            let evidence = writes.evidence.iter().cloned();
            self.evidence
                .extend(evidence.map(|evidence| (Fact::Media, evidence)));
        }
    }

    /// Why a drive's account cannot be used.
    fn unmeasured(&mut self, writes: &DriveWrites) {
        for skipped in &writes.skipped {
            let needs = match &skipped.needs {
                Some(needs) => format!("{needs}; or {MEDIA_FLAGS}"),
                None => MEDIA_FLAGS.to_owned(),
            };
            self.skip(Fact::Media, MEDIA_WRITES, skipped.why.clone(), &needs);
        }
        if writes.skipped.is_empty() {
            self.skip(
                Fact::Media,
                MEDIA_WRITES,
                format!("{} counted none, or more than it can have", writes.drive),
                MEDIA_FLAGS,
            );
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )] // an estimate
    fn written(&mut self, host: &Host, drives: &[&BlockDevice]) {
        let what = "writes per day";
        let Some(uptime_s) = host.platform.uptime_s else {
            self.skip(Fact::Writes, what, "the uptime is unknown", "proc/uptime");
            return;
        };
        if uptime_s < DAY_S {
            self.skip(Fact::Writes, what,
                "the host was booted less than a day ago: its counters say nothing of a day's writes",
                "a day of uptime, or --writes-per-day",
            );
            return;
        }
        let mut bytes = 0.0;
        for drive in drives {
            let Some(counters) = drive.counters else {
                self.skip(
                    Fact::Writes,
                    what,
                    "the counters of a drive are unknown",
                    "sys/block/*/stat",
                );
                return;
            };
            if counters.discards.is_none() {
                self.skip(
                    Fact::Writes,
                    what,
                    "this kernel counts discards as writes",
                    "Linux 4.18 or later, or --writes-per-day",
                );
                return;
            }
            bytes += counters.written_bytes as f64;
            self.evidence.push((
                Fact::Writes,
                Evidence::new(
                    format!("{}/stat: bytes written", drive.sysfs_path),
                    counters.written_bytes,
                ),
            ));
        }
        self.evidence.push((
            Fact::Writes,
            Evidence::new("proc/uptime", format!("{uptime_s:.0} s")),
        ));
        let per_day = bytes / uptime_s * DAY_S;
        if per_day >= 1.0 {
            self.writes_per_day = Some(per_day as u64);
        } else {
            self.skip(
                Fact::Writes,
                what,
                "nothing was written since boot",
                "--writes-per-day",
            );
        }
    }

    #[allow(clippy::cast_precision_loss)] // a share
    fn filled(&mut self, mount: &Mount) {
        match mount.usage {
            Some(usage) if usage.size_bytes > 0 => {
                let used = usage.size_bytes.saturating_sub(usage.free_bytes);
                let share = used as f64 / usage.size_bytes as f64;
                // An empty or a full filesystem still has to be simulated.
                self.fill = Some(share.clamp(0.01, 0.97));
                self.evidence.push((
                    Fact::Fill,
                    Evidence::new(
                        format!("statfs {}: used of size", mount.mount_point),
                        format!("{used} of {}", usage.size_bytes),
                    ),
                ));
            }
            _ => self.skip(
                Fact::Fill,
                "the fill",
                "the free space is unknown",
                "statfs on the mount, or --fill",
            ),
        }
    }

    fn trimmed(&mut self, host: &Host, mount: &Mount) {
        let Some(trimming) = rules::trimming(host, mount) else {
            return;
        };
        let when = self.when_of(&trimming);
        if trimming.reaches_drives == Some(false) {
            self.evidence.push((
                Fact::Trims,
                Evidence::new(
                    "sys/block/*/queue/discard_max_bytes",
                    "a layer below loses discards: see `trimtab check --select TRIM`",
                ),
            ));
        }
        self.when = when.map(|when| {
            if trimming.reaches_drives == Some(false) && when != TrimWhen::NEVER {
                when.swallowed()
            } else {
                when
            }
        });
    }

    fn when_of(&mut self, trimming: &Trimming) -> Option<TrimWhen> {
        if trimming.online {
            self.evidence.push((
                Fact::Trims,
                Evidence::new("proc/self/mountinfo", "mounted with discard"),
            ));
            return Some(TrimWhen::ONLINE);
        }
        let Some(jobs) = &trimming.jobs else {
            self.skip(
                Fact::Trims,
                "the trim schedule",
                "the jobs of this host are not known; weekly is assumed",
                "/etc/crontab, /etc/cron.*, systemd's units, or --trim",
            );
            return None;
        };
        let Some(first) = jobs.first() else {
            self.evidence
                .push((Fact::Trims, Evidence::new("jobs", "none trims this mount")));
            return Some(TrimWhen::NEVER);
        };
        // The most frequent counts.
        let known = jobs.iter().filter(|job| job.period_s.is_some());
        let Some(job) = known.min_by(|a, b| {
            let period = |job: &rules::TrimSchedule| job.period_s.unwrap_or(f64::INFINITY);
            period(a).total_cmp(&period(b))
        }) else {
            self.skip(
                Fact::Trims,
                "the trim schedule",
                format!(
                    "how often {} runs cannot be told; weekly is assumed",
                    first.job
                ),
                "--trim",
            );
            return None;
        };
        let period_s = job.period_s?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // clamped
        let every_days = (period_s / DAY_S).round().clamp(1.0, 3660.0) as u32;
        let (day, hour) = job.next.unwrap_or((6, 6));
        self.evidence.push((
            Fact::Trims,
            Evidence::new(
                job.defined_in.clone(),
                format!("{} trims every {every_days} d", job.job),
            ),
        ));
        Some(TrimWhen {
            trims: Trims::Periodic(Schedule {
                every_days,
                first_day: if every_days == 1 { 0 } else { day },
                ..Schedule::every(every_days, hour)
            }),
            ..TrimWhen::WEEKLY
        })
    }

    fn loaded(&mut self, host: &Host, mount: &Mount) {
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
        self.workload = load::mix(name).ok();
        self.evidence.push((
            Fact::Workload,
            Evidence::new(
                format!("store on the mount: {}", store.engine.label()),
                format!("workload {name}"),
            ),
        ));
    }
}
