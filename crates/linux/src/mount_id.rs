//! Determines which mount a directory is on, and whether it is the mount's root.

use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::fs::{AtFlags, Mode, OFlags, StatxAttributes, StatxFlags};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The mount of an open directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MountId {
    /// `mnt_id` of mountinfo.
    pub id: u64,
    /// Whether the directory is the mount's root, that is, a mount point.
    pub is_root: bool,
}

impl MountId {
    /// Uses statx (5.8+), else /proc/self/fdinfo (3.15+), else mountinfo, where it is looked up by `path`.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn of(directory: BorrowedFd<'_>, path: &Path) -> io::Result<Self> {
        if let Some(found) = by_statx(directory) {
            return Ok(found);
        }
        if let Some(found) = by_fdinfo(directory)? {
            return Ok(found);
        }
        by_mountinfo(path)
    }
}

/// Returns `None` if the kernel is too old.
fn by_statx(directory: BorrowedFd<'_>) -> Option<MountId> {
    let found = rustix::fs::statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    let tells_id = found.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    let tells_root = found
        .stx_attributes_mask
        .contains(StatxAttributes::MOUNT_ROOT);
    (tells_id && tells_root).then(|| MountId {
        id: found.stx_mnt_id,
        is_root: found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT),
    })
}

/// Uses fdinfo. The root of a mount is a directory whose `..` is on another mount or, at the very
/// top, is itself.
fn by_fdinfo(directory: BorrowedFd<'_>) -> io::Result<Option<MountId>> {
    let Some(id) = fdinfo_mount_id(directory)? else {
        return Ok(None);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = rustix::fs::openat(directory, "..", flags, Mode::empty())?;
    let is_root = match fdinfo_mount_id(rustix::fd::AsFd::as_fd(&parent))? {
        Some(parent_id) if parent_id != id => true,
        Some(_) => {
            let (here, above) = (rustix::fs::fstat(directory)?, rustix::fs::fstat(&parent)?);
            (here.st_dev, here.st_ino) == (above.st_dev, above.st_ino)
        }
        None => return Ok(None),
    };
    Ok(Some(MountId { id, is_root }))
}

fn fdinfo_mount_id(file: BorrowedFd<'_>) -> io::Result<Option<u64>> {
    let path = format!("/proc/self/fdinfo/{}", file.as_raw_fd());
    Ok(parse_fdinfo(&std::fs::read_to_string(path)?))
}

fn parse_fdinfo(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix("mnt_id:"))
        .and_then(|id| id.trim().parse().ok())
}

/// Uses mountinfo. The last mount listed at this path covers those below it.
fn by_mountinfo(path: &Path) -> io::Result<MountId> {
    let path = std::fs::canonicalize(path)?;
    let text = std::fs::read("/proc/self/mountinfo")?;
    let mount = crate::mountinfo::mount_at(&text, path.as_os_str().as_bytes());
    Ok(MountId {
        id: mount.as_ref().map_or(0, |mount| mount.id),
        is_root: mount.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::fd::AsFd;

    /// The three methods must agree wherever all of them work.
    #[test]
    fn all_methods_agree() {
        let inside = tempfile::tempdir().unwrap();
        for path in [Path::new("/"), Path::new("/proc"), inside.path()] {
            let directory = std::fs::File::open(path).unwrap();
            let by_fdinfo = by_fdinfo(directory.as_fd()).unwrap().unwrap();
            assert_eq!(by_fdinfo.is_root, path != inside.path(), "{path:?}");
            if let Some(by_statx) = by_statx(directory.as_fd()) {
                assert_eq!(by_statx, by_fdinfo, "{path:?}");
            }
            let by_mountinfo = by_mountinfo(path).unwrap();
            assert_eq!(by_mountinfo.is_root, by_fdinfo.is_root, "{path:?}");
            if by_fdinfo.is_root {
                assert_eq!(by_mountinfo.id, by_fdinfo.id, "{path:?}");
            }
        }
    }

    #[test]
    fn fdinfo_of_old_kernels_has_no_mount_id() {
        assert_eq!(parse_fdinfo("pos:\t0\nflags:\t0100000\n"), None);
        assert_eq!(parse_fdinfo("pos:\t0\nmnt_id:\t31\nino:\t5\n"), Some(31));
    }

    proptest! {
        #[test]
        fn hostile_fdinfo(text in "(mnt_id|pos|flags)?:?[\t ]{0,2}[0-9-]{0,22}\n\\PC{0,20}") {
            let _ = parse_fdinfo(&text);
        }
    }
}
