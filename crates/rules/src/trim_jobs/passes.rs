//! Filesystems that one run of a job trims more than once.
//!
//! `fstrim --all` does not: the lines of mountinfo name the filesystem's device, bind mounts and Btrfs
//! subvolumes included, and of equal sources only the first is taken (bind mounts since util-linux 2.27,
//! subvolumes since 2.30). By fstab the sources are compared as written, after tags such as `UUID=` were
//! resolved (2.34): a bind mount's is a directory, and an LVM volume has several names. From 2.43 on,
//! fstrim asks the kernel (Linux 6.13) which device is behind a directory.

use super::turns::Pass;
use super::{FSTAB, Targets, TrimCommand, TrimJob, TrimJobs};
use crate::volume::Volume;
use facts::host::Platform;

/// Whether this host's kernel can tell fstrim 2.43 and later which device is behind a bind mount.
pub(crate) fn kernel_tells_device(platform: &Platform) -> bool {
    platform
        .kernel_version()
        .is_none_or(|version| version >= (6, 13))
}

impl<'a> TrimJobs<'a> {
    /// Returns the trims of a volume in one run of a job that trims it at several mount points or by
    /// several lines of fstab; nothing if it is trimmed once at most. Commands that trim range by range
    /// do not count.
    pub(crate) fn repeated_passes<'t>(
        &'t self,
        trim: &'t TrimJob<'a>,
        volume: &Volume<'_>,
    ) -> Vec<Pass<'t>> {
        let device = volume.stack.top().name.as_str();
        // Commands in the branches of a script may stand for each other: what each of them does counts, and
        // of the mount points that they name each one once.
        let mut most: Vec<Pass<'t>> = Vec::new();
        let mut named: Vec<Pass<'t>> = Vec::new();
        for command in trim.commands.iter().filter(|c| !c.trim.in_pieces) {
            match &command.trim.targets {
                Targets::Paths(paths) if command.devices.contains(device) => {
                    for mount_point in paths {
                        let entry = None;
                        let pass = Pass { mount_point, entry };
                        if !named.contains(&pass) {
                            named.push(pass);
                        }
                    }
                }
                Targets::Fstab => most = longer(most, self.by_fstab(&command.trim, device)),
                Targets::Listed(files) if self.fstab_comes_first(files) => {
                    most = longer(most, self.by_fstab(&command.trim, device));
                }
                _ => {}
            }
        }
        let most = longer(most, named);
        if most.len() > 1 { most } else { Vec::new() }
    }

    fn by_fstab<'t>(&'t self, command: &TrimCommand<'_>, device: &str) -> Vec<Pass<'t>> {
        let turns = self.filesystems.get(device).map(|fs| &fs.fstab_turns);
        let mut sources: Vec<&str> = Vec::new();
        let mut passes = Vec::new();
        for turn in turns.into_iter().flatten().take(TURNS_MAX) {
            if command.takes_type(turn.fs_type) && !sources.contains(&turn.source.as_str()) {
                sources.push(&turn.source);
                passes.push(turn.pass);
            }
        }
        passes
    }

    /// Whether fstab is the first of these files that has an entry.
    fn fstab_comes_first(&self, files: &[String]) -> bool {
        let has_entries = self
            .host
            .fstab
            .as_ref()
            .is_some_and(|fstab| !fstab.is_empty());
        has_entries && files.first().is_some_and(|file| file == FSTAB)
    }
}

/// Maximum number of lines of fstab for one filesystem: a hostile bundle may have many.
const TURNS_MAX: usize = 256;

fn longer<'t>(first: Vec<Pass<'t>>, second: Vec<Pass<'t>>) -> Vec<Pass<'t>> {
    if second.len() > first.len() {
        second
    } else {
        first
    }
}
