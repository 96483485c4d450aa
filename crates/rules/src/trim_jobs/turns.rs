//! The lines of fstab that name a filesystem, as fstrim takes them one after the other.

use facts::host::{BlockDevice, FstabEntry};

/// One trim of a filesystem, among those of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pass<'a> {
    /// The mount point at which it is trimmed.
    pub mount_point: &'a str,
    /// The line of fstab; `None` if the job names the mount point, and for a root that fstab leaves out.
    pub entry: Option<&'a FstabEntry>,
}

/// The turn of a filesystem in a list of sources.
pub(super) struct FstabTurn<'a> {
    pub(super) pass: Pass<'a>,
    pub(super) fs_type: &'a str,
    pub(super) source: String,
}

impl<'a> FstabTurn<'a> {
    pub(super) fn of(entry: &'a FstabEntry, device: &BlockDevice) -> Self {
        let is_path = entry.spec.starts_with('/');
        Self {
            pass: Pass {
                mount_point: &entry.mount_point,
                entry: Some(entry),
            },
            fs_type: &entry.fs_type,
            source: if is_path {
                entry.spec.trim_end_matches('/').to_owned()
            } else {
                device.dev_path()
            },
        }
    }

    /// The root filesystem, which fstab leaves out.
    pub(super) fn of_root(device: &BlockDevice) -> Self {
        Self {
            pass: Pass {
                mount_point: "/",
                entry: None,
            },
            fs_type: "auto",
            source: device.dev_path(),
        }
    }
}

impl Pass<'_> {
    /// Whether its source is a directory or a file rather than a device.
    pub(crate) fn is_bind(&self) -> bool {
        self.entry
            .is_some_and(|entry| entry.spec.starts_with('/') && !entry.spec.starts_with("/dev/"))
    }
}
