//! Mount options, and problems with them.

use crate::model::input::JobRuns;
use facts::host::Mount;
use schemars::JsonSchema;
use serde::Serialize;

/// A mounted filesystem with its options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MountedWith {
    /// The mount point.
    pub mount_point: String,
    /// `/dev/md0`; unknown if findmnt was not asked for it.
    pub source: Option<String>,
    /// `xfs`.
    pub fs_type: Option<String>,
    /// The mount options, in order.
    pub options: Vec<String>,
}

impl MountedWith {
    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|one| one == option)
    }
}

impl From<&Mount> for MountedWith {
    fn from(mount: &Mount) -> Self {
        Self {
            mount_point: mount.mount_point.clone(),
            source: Some(mount.source.clone()),
            fs_type: Some(mount.fs_type.clone()),
            options: mount.options.clone(),
        }
    }
}

/// Warns of filesystems that are trimmed twice or mounted without barriers.
pub(super) fn remarks(mounts: &[MountedWith], jobs: &[JobRuns]) -> Vec<String> {
    let trims: Vec<&str> = jobs
        .iter()
        .map(|job| job.name.as_str())
        .filter(|name| name.contains("fstrim"))
        .collect();
    let mut remarks = Vec::new();
    for mount in mounts {
        let place = match &mount.source {
            Some(source) => format!("{} ({source})", mount.mount_point),
            None => mount.mount_point.clone(),
        };
        if mount.has("discard") {
            remarks.push(if trims.is_empty() {
                format!(
                    "{place} is mounted with `discard`: deletions send discards immediately. Where fstrim runs \
                     too, it is trimmed twice."
                )
            } else {
                format!(
                    "{place} is mounted with `discard`, and {} trims it too: it is trimmed twice. Mount it \
                     without `discard`.",
                    trims.join(", ")
                )
            });
        }
        let without_barriers = mount.has("nobarrier") || mount.has("barrier=0");
        if without_barriers {
            remarks.push(format!(
                "{place} is mounted with `nobarrier`: a power failure may lose or tear the last \
                 writes, unless the drives' caches survive it. XFS dropped this option in Linux \
                 4.19."
            ));
        }
    }
    remarks
}
