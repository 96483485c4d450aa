//! Determines which jobs trim, which mounts each of them reaches, and when.
//!
//! How fstrim interprets its arguments follows util-linux's `sys-utils/fstrim.c`: `--all` reads
//! `/proc/self/mountinfo`, `--fstab` reads `/etc/fstab`, `--listed-in` uses the first file that is
//! not empty, and anything else is a single mount point. Filesystems that are read-only, that have
//! `X-fstrim.notrim` in fstab (since 2.38) or the type `none` there, or that are not mounted are skipped.
//! What is left is trimmed once for each source as written, so that a filesystem may have its turn several
//! times ([`passes`]).

mod arguments;
pub(crate) mod passes;
pub(crate) mod turns;

use crate::budget::Budget;
use crate::volume::Volume;
use crate::{shell, wording};
pub use arguments::TRIM_OPTIONS_WITH_VALUE;
use arguments::{Targets, TrimCommand};
use facts::host::{DeviceIndex, FstabEntry, Job, JobCommand, MountIndex, Platform};
use facts::{Evidence, Host, Skipped};
use std::collections::{HashMap, HashSet};
use turns::FstabTurn;
use units::count::grouped_usize;

/// Reason given by rules that need jobs if none are known.
pub(crate) const JOBS_UNKNOWN: &str = "the jobs of this host are not known";
/// What is needed to know the jobs.
pub(crate) const JOBS_NEED: &str =
    "/etc/crontab, /etc/cron.*, /etc/anacrontab, and systemd's units or `systemctl show`";

/// All trim jobs, active or not.
pub(crate) struct TrimJobs<'a> {
    host: &'a Host,
    /// In the order of the facts.
    pub jobs: Vec<TrimJob<'a>>,
    /// Number of further trim jobs, which are not examined.
    more: usize,
    /// What jobs for all filesystems find, by the kernel name of the mounted device.
    filesystems: HashMap<&'a str, Filesystem<'a>>,
}

/// Maximum number of times that a job is compared with a filesystem. A host with 1,000 filesystems may
/// have 2,000 trim jobs, a hostile bundle has tens of thousands of both.
const COMPARISONS_MAX: usize = 2_000_000;
/// The path of fstab in `--listed-in`.
const FSTAB: &str = "/etc/fstab";
/// Number of trim jobs that are always examined.
const JOBS_MIN: usize = 16;
/// Maximum number of trim commands of a job.
const COMMANDS_MAX: usize = 64;

/// A trim job.
pub(crate) struct TrimJob<'a> {
    /// The job.
    pub job: &'a Job,
    commands: Vec<PlacedCommand<'a>>,
}

/// A trim command on this host.
struct PlacedCommand<'a> {
    trim: TrimCommand<'a>,
    /// Kernel names of the devices below the paths it names.
    devices: HashSet<&'a str>,
}

/// A filesystem as fstrim finds it when it trims everything: through those of its mounts that no later
/// mount hides.
#[derive(Default)]
struct Filesystem<'a> {
    by_mountinfo: Ways<'a>,
    by_fstab: Ways<'a>,
    /// The turns that it may have when fstrim goes by fstab.
    fstab_turns: Vec<FstabTurn<'a>>,
}

/// The ways to reach a filesystem: through each of its mounts, or each line of fstab.
#[derive(Default)]
struct Ways<'a> {
    /// Without repetitions, in the order of the mounts.
    found: Vec<Way<'a>>,
    seen: HashSet<&'a str>,
}

enum Way<'a> {
    /// Taken if `--types` accepts this type.
    Type(&'a str),
    /// Taken whatever its type.
    Always,
    /// Never taken, with the reason.
    Never(Miss),
}

impl<'a> Ways<'a> {
    fn add(&mut self, way: Way<'a>) {
        let is_new = match &way {
            Way::Type(fs_type) => self.seen.insert(fs_type),
            Way::Always => true,
            // Only the first reason is ever used.
            Way::Never(_) => !self.found.iter().any(|way| matches!(way, Way::Never(_))),
        };
        if is_new {
            self.found.push(way);
        }
    }

    fn reach(&self, command: &TrimCommand<'_>) -> Reach {
        best(self.found.iter().map(|way| match way {
            Way::Always => Reach::Reached,
            Way::Type(fs_type) if command.takes_type(fs_type) => Reach::Reached,
            Way::Type(_) => Reach::Missed(Miss::TypeLeftOut),
            Way::Never(miss) => Reach::Missed(miss.clone()),
        }))
    }
}

/// Whether a job's trim reaches a filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The filesystem is trimmed.
    Reached,
    /// The filesystem is not trimmed, with the reason.
    Missed(Miss),
    /// Unknown, with the reason.
    Unknown(String),
}

/// Why a trim job does not reach a filesystem.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Miss {
    /// The job uses fstab, which does not list the filesystem.
    NotInFstab,
    /// The fstab line has `X-fstrim.notrim`.
    NoTrim {
        /// 1-based line of fstab.
        line: u64,
    },
    /// The fstab line has `ro`, so fstrim skips it however it is mounted.
    FstabReadOnly {
        /// 1-based line of fstab.
        line: u64,
    },
    /// The fstab line has the type `none`, as bind mounts do.
    FstabTypeNone {
        /// 1-based line of fstab.
        line: u64,
    },
    /// It is mounted read-only.
    ReadOnly,
    /// `--types` excludes its type.
    TypeLeftOut,
    /// The job only names other mount points.
    NotNamed,
    /// fstrim does nothing at all with these arguments, with the reason.
    Refused(&'static str),
}

impl Miss {
    /// Describes the reason, to follow "the job does not trim it: ...".
    pub fn reason(&self) -> String {
        match self {
            Self::NotInFstab => "it goes by fstab, which has no line for this mount".to_owned(),
            Self::NoTrim { line } => format!("fstab's line {line} has {NOTRIM}"),
            Self::FstabReadOnly { line } => format!("fstab's line {line} says `ro`"),
            Self::FstabTypeNone { line } => {
                format!("fstab's line {line} has the type `none`, which fstrim skips")
            }
            Self::ReadOnly => "it is mounted read-only".to_owned(),
            Self::TypeLeftOut => "its --types leave this filesystem type out".to_owned(),
            Self::NotNamed => "it names other mount points".to_owned(),
            Self::Refused(why) => (*why).to_owned(),
        }
    }
}

/// Why a filesystem that no known job trims is not said to go without.
pub(crate) const TIMERS_UNKNOWN: &str = "systemd's timers are not known, and one may trim it";
/// What would tell them.
pub(crate) const TIMERS_NEED: &str = "systemd's units or `systemctl show`";

impl<'a> TrimJobs<'a> {
    /// Finds the trim jobs of a host with this number of volumes; `None` if its jobs are not known.
    pub fn of(host: &'a Host, volumes: usize, budget: &Budget<'_>) -> Option<Self> {
        let all = host.jobs.as_deref()?;
        let mount_index = host.mount_index();
        let devices = host.device_index();
        // A cron line may start fstrim.service instead of running fstrim.
        let mut by_service: HashMap<&str, Vec<&Job>> = HashMap::new();
        for job in all {
            if let Some(timer) = &job.timer {
                by_service.entry(&timer.activates).or_default().push(job);
            }
        }
        let jobs_max = (COMPARISONS_MAX / volumes.max(1)).max(JOBS_MIN);
        let mut jobs = Vec::new();
        let mut more = 0;
        for job in all {
            let started = |command| by_service.get(started_service(command)?.as_str());
            let commands = job.commands.iter().flat_map(|command| {
                let started = started(command).into_iter().flatten();
                std::iter::once(command).chain(started.flat_map(|other| &other.commands))
            });
            let mut commands = commands.filter_map(TrimCommand::parse).peekable();
            if commands.peek().is_none() {
                continue;
            }
            if jobs.len() >= jobs_max || budget.is_used_up() {
                more += 1;
                continue;
            }
            let place = |trim: TrimCommand<'a>| {
                // An explicit mount point may be any directory of the filesystem, and is trimmed even
                // if mounted read-only.
                let paths = match &trim.targets {
                    Targets::Paths(paths) => paths.as_slice(),
                    _ => &[],
                };
                let mounts = paths.iter().filter_map(|path| mount_index.of(path));
                let devices = mounts.filter_map(|mount| devices.of(mount));
                PlacedCommand {
                    devices: devices.map(|device| device.name.as_str()).collect(),
                    trim,
                }
            };
            jobs.push(TrimJob {
                job,
                commands: commands.take(COMMANDS_MAX).map(place).collect(),
            });
        }
        Some(Self {
            host,
            jobs,
            more,
            filesystems: filesystems(host, &mount_index, &devices),
        })
    }

    /// Returns what a rule reports as skipped if not all trim jobs were examined.
    pub fn left_out(&self, rule: &str) -> Option<Skipped> {
        (self.more > 0).then(|| {
            Skipped::new(
                rule,
                format!(
                    "only {} of {} trim jobs were examined",
                    grouped_usize(self.jobs.len()),
                    grouped_usize(self.jobs.len() + self.more)
                ),
                None,
            )
        })
    }

    /// Returns what a job trims; `None` if it trims nothing.
    pub fn find(&self, job: &Job) -> Option<&TrimJob<'a>> {
        // Both are in the order of the facts, and so in memory.
        let place = |trim: &TrimJob<'_>| std::ptr::from_ref(trim.job).cmp(&std::ptr::from_ref(job));
        let found = self.jobs.binary_search_by(place).ok()?;
        Some(&self.jobs[found])
    }

    /// Returns the jobs that are active.
    pub fn active(&self) -> impl Iterator<Item = &TrimJob<'a>> {
        self.jobs.iter().filter(|trim| trim.job.is_active())
    }

    /// Whether a job, active or not, certainly trims a volume.
    pub fn reaches(&self, trim: &TrimJob<'_>, volume: &Volume<'_>) -> bool {
        self.reach(trim, volume) == Reach::Reached
    }

    /// Returns the active jobs that trim a volume.
    pub fn reaching(&self, volume: &Volume<'_>) -> Vec<&TrimJob<'a>> {
        self.active()
            .filter(|trim| self.reaches(trim, volume))
            .collect()
    }

    /// Whether an active job trims a volume or may do so: unknown counts as "may".
    pub fn may_be_trimmed(&self, volume: &Volume<'_>) -> bool {
        self.host.timers_unknown || self.active().any(|trim| self.may_reach(trim, volume))
    }

    /// Returns what a rule reports as skipped if the text of an active job does not show whether it
    /// trims a volume, or if timers are not known.
    pub fn undecided(&self, rule: &str, volume: &Volume<'_>) -> Option<Skipped> {
        let skipped = |why: &str, needs| {
            let what = format!("{rule} on {}", wording::mount_point(volume));
            Skipped::new(what, why, needs)
        };
        let by_text = self
            .active()
            .find_map(|trim| match self.reach(trim, volume) {
                Reach::Unknown(why) => {
                    let why = format!("{} may trim it: {why}", wording::job_name(trim.job));
                    Some(skipped(&why, None))
                }
                _ => None,
            });
        by_text.or_else(|| {
            let unknown = self.host.timers_unknown;
            unknown.then(|| skipped(TIMERS_UNKNOWN, Some(TIMERS_NEED)))
        })
    }

    /// Whether a job, active or not, trims a volume, or may do so as far as its text tells.
    pub fn may_reach(&self, trim: &TrimJob<'_>, volume: &Volume<'_>) -> bool {
        !matches!(self.reach(trim, volume), Reach::Missed(_))
    }

    /// Determines whether a job's trim reaches a volume through any mount of its filesystem.
    pub fn reach(&self, trim: &TrimJob<'_>, volume: &Volume<'_>) -> Reach {
        let device = volume.stack.top().name.as_str();
        best(
            trim.commands
                .iter()
                .map(|command| self.reach_of(command, device)),
        )
    }

    fn reach_of(&self, command: &PlacedCommand<'_>, device: &str) -> Reach {
        let trim = &command.trim;
        match &trim.targets {
            Targets::Refused(why) => Reach::Missed(Miss::Refused(why)),
            Targets::Unknown(why) => Reach::Unknown(why.clone()),
            Targets::Mountinfo => self.reach_of_all(trim, device, |ways| &ways.by_mountinfo),
            Targets::Fstab => self.reach_of_all(trim, device, |ways| &ways.by_fstab),
            Targets::Listed(files) => self.reach_by_list(trim, files, device),
            Targets::Paths(_) if command.devices.contains(device) => Reach::Reached,
            Targets::Paths(_) => Reach::Missed(Miss::NotNamed),
        }
    }

    fn reach_of_all(
        &self,
        command: &TrimCommand<'_>,
        device: &str,
        ways: impl for<'f> Fn(&'f Filesystem<'a>) -> &'f Ways<'a>,
    ) -> Reach {
        self.filesystems
            .get(device)
            .map_or(Reach::Missed(Miss::NotNamed), |filesystem| {
                ways(filesystem).reach(command)
            })
    }

    fn reach_by_list(&self, command: &TrimCommand<'_>, files: &[String], device: &str) -> Reach {
        for file in files {
            match file.as_str() {
                FSTAB => match self.host.fstab.as_deref() {
                    Some([]) => {}
                    Some(_) => return self.reach_of_all(command, device, |ways| &ways.by_fstab),
                    None if self.fstab_was_unreadable() => {
                        return Reach::Unknown("/etc/fstab could not be read".to_owned());
                    }
                    None => {}
                },
                "/proc/self/mountinfo" | "/proc/self/mounts" | "/proc/mounts" | "/etc/mtab" => {
                    return self.reach_of_all(command, device, |ways| &ways.by_mountinfo);
                }
                other => {
                    return Reach::Unknown(format!("it goes by {other}, which was not read"));
                }
            }
        }
        Reach::Missed(Miss::Refused("no file of its --listed-in has an entry"))
    }

    fn fstab_was_unreadable(&self) -> bool {
        self.host
            .skipped
            .iter()
            .any(|skipped| skipped.what.trim_start_matches('/') == "etc/fstab")
    }
}

/// Returns how jobs for all filesystems reach each device.
fn filesystems<'a>(
    host: &'a Host,
    mount_index: &MountIndex<'a>,
    devices: &DeviceIndex<'a>,
) -> HashMap<&'a str, Filesystem<'a>> {
    let mut fstab: HashMap<&str, Vec<&FstabEntry>> = HashMap::new();
    for entry in host.fstab.iter().flatten() {
        let lines = fstab.entry(bare(&entry.mount_point)).or_default();
        lines.push(entry);
    }
    let mut filesystems: HashMap<&str, Filesystem<'_>> = HashMap::new();
    for mount in &host.mounts {
        let Some(device) = devices.of(mount) else {
            continue;
        };
        let filesystem = filesystems.entry(&device.name).or_default();
        // fstrim skips mounts hidden by a later one.
        let is_on_top = mount_index
            .of(&mount.mount_point)
            .is_none_or(|top| top.id == mount.id);
        if !is_on_top {
            continue;
        }
        let of_mount = || {
            if mount.is_read_only() {
                Way::Never(Miss::ReadOnly)
            } else {
                Way::Type(&mount.fs_type)
            }
        };
        filesystem.by_mountinfo.add(of_mount());
        match fstab.get(bare(&mount.mount_point)) {
            Some(lines) => {
                for entry in lines {
                    let way = refusal(host, entry).map_or_else(of_mount, Way::Never);
                    filesystem.by_fstab.add(way);
                }
                // Of several lines for one mount point fstrim takes the last.
                let taken = lines.last().filter(|entry| refusal(host, entry).is_none());
                if let Some(entry) = taken.filter(|_| !mount.is_read_only()) {
                    filesystem.fstab_turns.push(FstabTurn::of(entry, device));
                }
            }
            // fstrim then uses the kernel's command line for the root filesystem (2.34), whatever its
            // --types.
            None if mount.mount_point == "/" => filesystem.by_fstab.add(match of_mount() {
                Way::Type(_) => {
                    filesystem.fstab_turns.push(FstabTurn::of_root(device));
                    Way::Always
                }
                never @ (Way::Never(_) | Way::Always) => never,
            }),
            None => filesystem.by_fstab.add(Way::Never(Miss::NotInFstab)),
        }
    }
    filesystems
}

/// Returns why fstrim skips an fstab line however the filesystem is mounted.
pub(crate) fn refusal(host: &Host, entry: &FstabEntry) -> Option<Miss> {
    let line = entry.line;
    if has_option(entry, "ro") {
        Some(Miss::FstabReadOnly { line })
    } else if has_option(entry, NOTRIM) && supports_notrim(&host.platform) {
        Some(Miss::NoTrim { line })
    } else if entry.fs_type == "none" {
        // libmount counts it among the pseudo filesystems.
        Some(Miss::FstabTypeNone { line })
    } else {
        None
    }
}

impl TrimJob<'_> {
    /// Whether it is meant for every filesystem, rather than for the mount points it names.
    pub fn is_for_all(&self) -> bool {
        self.commands.iter().any(|command| {
            matches!(
                command.trim.targets,
                Targets::Mountinfo | Targets::Fstab | Targets::Listed(_)
            )
        })
    }

    /// Whether it uses fstab before anything else.
    pub fn goes_by_fstab(&self) -> bool {
        self.commands
            .iter()
            .any(|command| match &command.trim.targets {
                Targets::Fstab => true,
                Targets::Listed(files) => files.first().is_some_and(|file| file == FSTAB),
                _ => false,
            })
    }

    /// Returns the only mount point that it names, escaped; `None` for other jobs.
    pub fn named(&self) -> Option<String> {
        let [command] = self.commands.as_slice() else {
            return None;
        };
        match &command.trim.targets {
            Targets::Paths(paths) if paths.len() == 1 => Some(shell::printable(&paths[0])),
            _ => None,
        }
    }

    /// Whether it trims only this mount point.
    pub fn names_only(&self, mount_point: &str) -> bool {
        self.commands.iter().all(|command| {
            matches!(&command.trim.targets, Targets::Paths(paths) if paths.as_slice() == [mount_point])
        })
    }

    /// Whether it does nothing but trim.
    pub fn does_nothing_else(&self) -> bool {
        let commands = self.job.commands.iter();
        commands.into_iter().all(|command| {
            TrimCommand::parse(command).is_some() || started_service(command).is_some()
        })
    }

    /// Whether it trims a whole filesystem in a single call, at the drive's own speed.
    pub fn is_unpaced(&self) -> bool {
        self.commands.iter().any(|command| !command.trim.in_pieces)
    }

    /// Returns the commands as found.
    pub fn evidence(&self) -> impl Iterator<Item = Evidence> {
        self.commands
            .iter()
            .map(|command| command.trim.command)
            .map(|command| Evidence::new(&command.source, command_line(command)))
    }
}

/// The fstab option that tells fstrim to skip a filesystem.
pub(crate) const NOTRIM: &str = "X-fstrim.notrim";

/// Whether this host's fstrim supports [`NOTRIM`], which was introduced in util-linux 2.38; SUSE's
/// 2.37.2 has it, too. Assumed to be supported if the release is not conclusive.
pub(crate) fn supports_notrim(platform: &Platform) -> bool {
    let version = platform.distribution_version.as_deref().unwrap_or_default();
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
    let release = (
        numbers.next().flatten(),
        numbers.next().flatten().unwrap_or(0),
    );
    let (Some(major), minor) = release else {
        return true;
    };
    match platform.distribution.as_deref() {
        // Debian 11 has 2.36.1, 12 has 2.38.1.
        Some("debian") => major >= 12,
        // Ubuntu 22.04 has 2.37.2, 22.10 has 2.38.
        Some("ubuntu") => (major, minor) >= (22, 10),
        // RHEL 8 has 2.32.1, 9 has 2.37.4.
        Some("rhel" | "centos" | "rocky" | "almalinux" | "ol") => major >= 10,
        _ => true,
    }
}

/// Whether an fstab line has an option, with or without a value.
pub(crate) fn has_option(entry: &FstabEntry, name: &str) -> bool {
    entry
        .options
        .iter()
        .any(|option| option.split('=').next() == Some(name))
}

/// Formats a command as one would type it.
pub(crate) fn command_line(command: &JobCommand) -> String {
    let mut line = command.program.clone();
    for argument in &command.arguments {
        line.push(' ');
        line.push_str(argument);
    }
    line
}

/// Returns the service that `systemctl start X` starts.
fn started_service(command: &JobCommand) -> Option<String> {
    if command.program != "systemctl" {
        return None;
    }
    let mut words = command
        .arguments
        .iter()
        .filter(|word| !word.starts_with('-'));
    if !matches!(words.next()?.as_str(), "start" | "restart") {
        return None;
    }
    let unit = words.next()?;
    Some(if unit.contains('.') {
        unit.clone()
    } else {
        format!("{unit}.service")
    })
}

pub(crate) fn bare(path: &str) -> &str {
    path.trim_end_matches('/')
}

/// Combines outcomes: a single way to reach a filesystem is enough; otherwise the first reason for
/// a miss counts.
fn best(outcomes: impl IntoIterator<Item = Reach>) -> Reach {
    let mut unknown = None;
    let mut missed = None;
    for outcome in outcomes {
        match outcome {
            Reach::Reached => return Reach::Reached,
            Reach::Unknown(_) => unknown = unknown.or(Some(outcome)),
            Reach::Missed(_) => missed = missed.or(Some(outcome)),
        }
    }
    unknown.or(missed).unwrap_or(Reach::Missed(Miss::NotNamed))
}

#[cfg(test)]
mod tests;
