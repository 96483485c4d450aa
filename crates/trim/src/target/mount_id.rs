//! Which mount a directory lies on, and whether it is the mount's root.

use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::fs::{AtFlags, Mode, OFlags, StatxAttributes, StatxFlags};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A mount, seen through an open directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MountId {
    /// `mnt_id` of mountinfo.
    pub(super) id: u64,
    /// The directory is the mount's root: a mount point, seen from outside.
    pub(super) is_root: bool,
}

impl MountId {
    /// Asks statx (5.8+), else /proc/self/fdinfo (3.15+), else mountinfo.
    pub(super) fn of(directory: BorrowedFd<'_>, path: &Path) -> io::Result<Self> {
        if let Some(found) = by_statx(directory) {
            return Ok(found);
        }
        if let Some(found) = by_fdinfo(directory)? {
            return Ok(found);
        }
        by_mountinfo(path)
    }
}

/// `None` where the kernel is too old to tell.
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

/// A mount's root is where `..` leads to another mount, or, at the top of all, to itself.
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

/// The mount that was made last at this path covers those below it.
fn by_mountinfo(path: &Path) -> io::Result<MountId> {
    let path = std::fs::canonicalize(path)?;
    let text = std::fs::read("/proc/self/mountinfo")?;
    match find_in_mountinfo(&text, path.as_os_str().as_bytes()) {
        Some(id) => Ok(MountId { id, is_root: true }),
        None => Ok(MountId {
            id: 0,
            is_root: false,
        }),
    }
}

fn find_in_mountinfo(text: &[u8], path: &[u8]) -> Option<u64> {
    text.split(|&byte| byte == b'\n')
        .filter_map(|line| {
            let mut fields = line.split(|&byte| byte == b' ');
            let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
            (unescape(fields.nth(3)?) == path).then_some(id)
        })
        .next_back()
}

/// Undoes the kernel's `\ooo` for blank, tab, newline, backslash and `#` (`seq_path`,
/// `fs/seq_file.c`).
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        let octal = match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        if let Some(byte) = octal {
            plain.push(byte);
            rest = &rest[4..];
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rustix::fd::AsFd;

    /// The three ways must agree wherever all of them work.
    #[test]
    fn the_ways_to_ask_agree() {
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
    fn the_last_of_several_mounts_counts_and_blanks_are_escaped() {
        let text = b"28 1 7:0 / /mnt/a\\040b rw - ext4 /dev/loop0 rw\n\
                     29 1 7:1 / /mnt rw - ext4 /dev/loop1 rw\n\
                     30 1 7:2 / /mnt/a\\040b rw - xfs /dev/loop2 rw\n\
                     nonsense\n\n";
        assert_eq!(find_in_mountinfo(text, b"/mnt/a b"), Some(30));
        assert_eq!(find_in_mountinfo(text, b"/mnt"), Some(29));
        assert_eq!(find_in_mountinfo(text, b"/mnt/a"), None);
        assert_eq!(unescape(b"\\134\\04\\999\\"), b"\\\\04\\999\\");
    }

    #[test]
    fn fdinfo_of_old_kernels_has_no_mount_id() {
        assert_eq!(parse_fdinfo("pos:\t0\nflags:\t0100000\n"), None);
        assert_eq!(parse_fdinfo("pos:\t0\nmnt_id:\t31\nino:\t5\n"), Some(31));
    }

    proptest! {
        /// What the kernel writes for any path is found, and nonsense around it does no harm.
        #[test]
        fn any_path_is_found_as_the_kernel_escapes_it(
            path in prop::collection::vec(1u8.., 0..60),
            noise in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            let mut line = b"41 1 7:0 / ".to_vec();
            for &byte in &path {
                // `mangle_path`, fs/proc_namespace.c
                if b" \t\n\\#".contains(&byte) {
                    line.extend(format!("\\{byte:03o}").bytes());
                } else {
                    line.push(byte);
                }
            }
            line.extend(b" rw - ext4 /dev/loop0 rw\n");
            let text = [noise.as_slice(), b"\n", &line].concat();
            prop_assert_eq!(find_in_mountinfo(&text, &path), Some(41));
        }

        #[test]
        fn hostile_fdinfo(text in "(mnt_id|pos|flags)?:?[\t ]{0,2}[0-9-]{0,22}\n\\PC{0,20}") {
            let _ = parse_fdinfo(&text);
        }
    }
}
