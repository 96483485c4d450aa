//! Determines which jobs trim, which mounts each of them reaches, and when.
//!
//! How fstrim interprets its arguments follows util-linux's `sys-utils/fstrim.c`: `--all` reads
//! `/proc/self/mountinfo`, `--fstab` reads `/etc/fstab`, `--listed-in` uses the first file that is
//! not empty, and anything else is a single mount point. Filesystems that are read-only, that have
//! `X-fstrim.notrim` in fstab (since 2.38), or that are not mounted are skipped.

mod arguments;

use crate::context::{Context, Outcome, Volume};
use crate::wording;
use arguments::{Targets, TrimCommand};
use facts::host::{FstabEntry, Job, JobCommand, Mount, MountIndex, Platform};
use facts::{Evidence, Host, Skipped};
use std::collections::HashMap;

/// Reason given by rules that need jobs if none are known.
pub(crate) const JOBS_UNKNOWN: &str = "the jobs of this host are not known";
/// What is needed to know the jobs.
pub(crate) const JOBS_NEED: &str =
    "/etc/crontab, /etc/cron.*, /etc/anacrontab, and systemd's units or `systemctl show`";

/// All trim jobs, active or not.
pub(crate) struct TrimJobs<'a> {
    host: &'a Host,
    mount_index: MountIndex<'a>,
    /// In the order of the facts.
    pub jobs: Vec<TrimJob<'a>>,
    /// All mounts of each filesystem, by the kernel name of the mounted device.
    mounts: HashMap<&'a str, Vec<&'a Mount>>,
}

/// A trim job.
pub(crate) struct TrimJob<'a> {
    /// The job.
    pub job: &'a Job,
    commands: Vec<TrimCommand<'a>>,
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
#[derive(Debug, Clone, PartialEq, Eq)]
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
            Self::ReadOnly => "it is mounted read-only".to_owned(),
            Self::TypeLeftOut => "its --types leave this filesystem type out".to_owned(),
            Self::NotNamed => "it names other mount points".to_owned(),
            Self::Refused(why) => (*why).to_owned(),
        }
    }
}

impl<'a> TrimJobs<'a> {
    /// Returns the trim jobs of a host, or records that the rule was skipped if the jobs are not
    /// known.
    pub fn or_skip(cx: &Context<'a>, rule: &str, out: &mut Outcome) -> Option<Self> {
        let trims = Self::of(cx);
        if trims.is_none() {
            out.skipped
                .push(Skipped::new(rule, JOBS_UNKNOWN, Some(JOBS_NEED)));
        }
        trims
    }

    /// Returns the trim jobs of a host; `None` if its jobs are not known.
    pub fn of(cx: &Context<'a>) -> Option<Self> {
        let host = cx.host;
        let all = host.jobs.as_deref()?;
        let mut jobs = Vec::new();
        for job in all {
            let mut commands: Vec<TrimCommand<'a>> = Vec::new();
            for command in &job.commands {
                commands.extend(TrimCommand::parse(command));
                if let Some(service) = started_service(command) {
                    // A cron line may start fstrim.service instead of running fstrim.
                    let started = all.iter().filter(|other| {
                        other
                            .timer
                            .as_ref()
                            .is_some_and(|timer| timer.activates == service)
                    });
                    commands.extend(
                        started
                            .flat_map(|other| &other.commands)
                            .filter_map(TrimCommand::parse),
                    );
                }
            }
            if !commands.is_empty() {
                jobs.push(TrimJob { job, commands });
            }
        }
        let mut mounts: HashMap<&str, Vec<&Mount>> = HashMap::new();
        for mount in &host.mounts {
            if let Some(device) = host.device_of(mount) {
                mounts.entry(&device.name).or_default().push(mount);
            }
        }
        Some(Self {
            host,
            mount_index: host.mount_index(),
            jobs,
            mounts,
        })
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
        self.active()
            .any(|trim| !matches!(self.reach(trim, volume), Reach::Missed(_)))
    }

    /// Returns what a rule reports as skipped if the text of an active job does not show whether it
    /// trims a volume.
    pub fn undecided(&self, rule: &str, volume: &Volume<'_>) -> Option<Skipped> {
        self.active()
            .find_map(|trim| match self.reach(trim, volume) {
                Reach::Unknown(why) => Some(Skipped::new(
                    format!("{rule} on {}", wording::mount_point(volume)),
                    format!("{} may trim it: {why}", wording::job_name(trim.job)),
                    None,
                )),
                _ => None,
            })
    }

    /// Determines whether a job's trim reaches a volume through any mount of its filesystem.
    pub fn reach(&self, trim: &TrimJob<'_>, volume: &Volume<'_>) -> Reach {
        let own = [volume.mount];
        let mounts = self
            .mounts
            .get(volume.stack.top().name.as_str())
            .map_or(&own[..], Vec::as_slice);
        best(
            trim.commands
                .iter()
                .map(|command| self.reach_of(command, mounts)),
        )
    }

    fn reach_of(&self, command: &TrimCommand<'_>, mounts: &[&Mount]) -> Reach {
        match &command.targets {
            Targets::Refused(why) => Reach::Missed(Miss::Refused(why)),
            Targets::Unknown(why) => Reach::Unknown(why.clone()),
            Targets::Mountinfo => self.reach_by_mountinfo(command, mounts),
            Targets::Fstab => self.reach_by_fstab(command, mounts),
            Targets::Listed(files) => self.reach_by_list(command, files, mounts),
            Targets::Paths(paths) => {
                // An explicit mount point may be any directory of the filesystem, and is trimmed
                // even if mounted read-only.
                let named = paths.iter().any(|path| {
                    self.mount_index
                        .of(path)
                        .is_some_and(|found| mounts.iter().any(|mount| mount.id == found.id))
                });
                if named {
                    Reach::Reached
                } else {
                    Reach::Missed(Miss::NotNamed)
                }
            }
        }
    }

    fn reach_by_mountinfo(&self, command: &TrimCommand<'_>, mounts: &[&Mount]) -> Reach {
        best(
            mounts
                .iter()
                .filter(|mount| self.is_on_top(mount))
                .map(|mount| {
                    if mount.is_read_only() {
                        Reach::Missed(Miss::ReadOnly)
                    } else if command.takes_type(&mount.fs_type) {
                        Reach::Reached
                    } else {
                        Reach::Missed(Miss::TypeLeftOut)
                    }
                }),
        )
    }

    fn reach_by_fstab(&self, command: &TrimCommand<'_>, mounts: &[&Mount]) -> Reach {
        let fstab = self.host.fstab.as_deref().unwrap_or_default();
        let mut outcomes = Vec::new();
        for mount in mounts.iter().filter(|mount| self.is_on_top(mount)) {
            let mut entries = fstab
                .iter()
                .filter(|entry| same_path(&entry.mount_point, &mount.mount_point))
                .peekable();
            if entries.peek().is_none() {
                // fstrim then uses the kernel's command line for the root filesystem (2.34).
                outcomes.push(match (mount.mount_point.as_str(), mount.is_read_only()) {
                    ("/", false) => Reach::Reached,
                    ("/", true) => Reach::Missed(Miss::ReadOnly),
                    _ => Reach::Missed(Miss::NotInFstab),
                });
            }
            outcomes.extend(entries.map(|entry| self.reach_of_entry(command, entry, mount)));
        }
        best(outcomes)
    }

    fn reach_of_entry(
        &self,
        command: &TrimCommand<'_>,
        entry: &FstabEntry,
        mount: &Mount,
    ) -> Reach {
        let line = entry.line;
        if has_option(entry, "ro") {
            Reach::Missed(Miss::FstabReadOnly { line })
        } else if has_option(entry, NOTRIM) && supports_notrim(&self.host.platform) {
            Reach::Missed(Miss::NoTrim { line })
        } else if mount.is_read_only() {
            Reach::Missed(Miss::ReadOnly)
        } else if command.takes_type(&mount.fs_type) {
            Reach::Reached
        } else {
            Reach::Missed(Miss::TypeLeftOut)
        }
    }

    fn reach_by_list(
        &self,
        command: &TrimCommand<'_>,
        files: &[String],
        mounts: &[&Mount],
    ) -> Reach {
        for file in files {
            match file.as_str() {
                "/etc/fstab" => match self.host.fstab.as_deref() {
                    Some([]) => {}
                    Some(_) => return self.reach_by_fstab(command, mounts),
                    None if self.fstab_was_unreadable() => {
                        return Reach::Unknown("/etc/fstab could not be read".to_owned());
                    }
                    None => {}
                },
                "/proc/self/mountinfo" | "/proc/self/mounts" | "/proc/mounts" | "/etc/mtab" => {
                    return self.reach_by_mountinfo(command, mounts);
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

    /// Whether a mount is reachable by its mount point: fstrim skips mounts hidden by a later one.
    fn is_on_top(&self, mount: &Mount) -> bool {
        self.mount_index
            .of(&mount.mount_point)
            .is_none_or(|top| top.id == mount.id)
    }
}

impl TrimJob<'_> {
    /// Whether it is meant for every filesystem, rather than for the mount points it names.
    pub fn is_for_all(&self) -> bool {
        self.commands.iter().any(|command| {
            matches!(
                command.targets,
                Targets::Mountinfo | Targets::Fstab | Targets::Listed(_)
            )
        })
    }

    /// Whether it uses fstab before anything else.
    pub fn goes_by_fstab(&self) -> bool {
        self.commands.iter().any(|command| match &command.targets {
            Targets::Fstab => true,
            Targets::Listed(files) => files.first().is_some_and(|file| file == "/etc/fstab"),
            _ => false,
        })
    }

    /// Whether it trims only this mount point.
    pub fn names_only(&self, mount_point: &str) -> bool {
        self.commands.iter().all(|command| {
            matches!(&command.targets, Targets::Paths(paths) if paths.as_slice() == [mount_point])
        })
    }

    /// Whether it trims a whole filesystem in a single call, at the drive's own speed.
    pub fn is_unpaced(&self) -> bool {
        self.commands.iter().any(|command| !command.in_pieces)
    }

    /// Returns the commands as found.
    pub fn evidence(&self) -> impl Iterator<Item = Evidence> {
        self.commands
            .iter()
            .map(|trim| Evidence::new(&trim.command.source, command_line(trim.command)))
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

fn same_path(a: &str, b: &str) -> bool {
    let bare = |path: &str| path.trim_end_matches('/').to_owned();
    bare(a) == bare(b)
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
