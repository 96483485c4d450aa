//! The ioctls of this crate. Nearly all of its unsafe code is here (see also
//! `child/signal_mask.rs`), because an ioctl passes memory to the kernel.
#![allow(unsafe_code)]

use crate::step::ByteRange;
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, Updater, ioctl, opcode};
use std::io;

/// `struct fstrim_range` (`linux/fs.h`), in bytes.
#[repr(C)]
struct FstrimRange {
    start: u64,
    len: u64,
    minlen: u64,
}

/// `FITRIM`: `_IOWR('X', 121, struct fstrim_range)`.
const FITRIM: Opcode = opcode::read_write::<FstrimRange>(b'X', 121);

/// Trims a range and returns `len` as the kernel set it, which is not the amount discarded.
///
/// # Errors
/// As returned by the filesystem: `EOPNOTSUPP` if the device does not support discards, `EPERM`
/// without `CAP_SYS_ADMIN`, `EINVAL` if the range begins beyond the filesystem or is too short.
pub(crate) fn fitrim(
    mount: BorrowedFd<'_>,
    range: ByteRange,
    minlen_bytes: u64,
) -> io::Result<u64> {
    let mut request = FstrimRange {
        start: range.start_bytes,
        len: range.len_bytes,
        minlen: minlen_bytes,
    };
    // SAFETY: the opcode matches the layout of the struct that it reads and writes.
    unsafe { ioctl(mount, Updater::<FITRIM, _>::new(&mut request)) }?;
    Ok(request.len)
}

/// `struct fsuuid2` (`linux/fs.h`).
#[repr(C)]
struct FsUuid {
    len: u8,
    uuid: [u8; 16],
}

/// `FS_IOC_GETFSUUID`: `_IOR(0x15, 0, struct fsuuid2)`, since kernel 6.9.
const FS_IOC_GETFSUUID: Opcode = opcode::read::<FsUuid>(0x15, 0);

/// `struct fsuuid` of ext4, followed by room for the UUID.
#[repr(C)]
struct Ext4FsUuid {
    len: u32,
    flags: u32,
    uuid: [u8; 16],
}

/// `EXT4_IOC_GETFSUUID`: `_IOR('f', 44, struct fsuuid)`, since kernel 5.19. The size encoded in the
/// opcode is that of the header alone.
const EXT4_IOC_GETFSUUID: Opcode = opcode::read::<[u32; 2]>(b'f', 44);

/// Queries the filesystem for its UUID. `None` if it has none, or if this kernel offers no such
/// query (ext4 before 5.19: read its superblock instead).
///
/// # Errors
/// If the filesystem supports the query but fails to answer.
pub(crate) fn fs_uuid(mount: BorrowedFd<'_>, fs_type: &str) -> io::Result<Option<[u8; 16]>> {
    // SAFETY: the opcode matches the layout of the struct that it writes.
    let general = unsafe { ioctl(mount, Getter::<FS_IOC_GETFSUUID, FsUuid>::new()) };
    match general {
        Ok(found) if found.len == 16 => return Ok(some_uuid(found.uuid)),
        Ok(_) => {}
        Err(error) if is_unknown(error) => {}
        Err(error) => return Err(error.into()),
    }
    let found = match fs_type {
        "xfs" => linux::xfs::geometry(mount)
            .map(|geometry| geometry.uuid)
            .map_err(io::Error::from),
        "btrfs" => btrfs_fs_info(mount).map(|info| info.fsid),
        "ext2" | "ext3" | "ext4" => ext4_uuid(mount),
        _ => return Ok(None),
    };
    match found {
        Ok(uuid) => Ok(some_uuid(uuid)),
        Err(error) if Errno::from_io_error(&error).is_some_and(is_unknown) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns `None` for a UUID of zeros.
fn some_uuid(uuid: [u8; 16]) -> Option<[u8; 16]> {
    (uuid != [0; 16]).then_some(uuid)
}

/// Returns whether the kernel or the filesystem does not support the ioctl.
fn is_unknown(error: Errno) -> bool {
    matches!(error, Errno::NOTTY | Errno::OPNOTSUPP | Errno::NOSYS)
}

fn ext4_uuid(mount: BorrowedFd<'_>) -> io::Result<[u8; 16]> {
    let mut request = Ext4FsUuid {
        len: 16,
        flags: 0,
        uuid: [0; 16],
    };
    // SAFETY: the kernel reads the header and writes at most `len` bytes after it.
    unsafe { ioctl(mount, Updater::<EXT4_IOC_GETFSUUID, _>::new(&mut request)) }?;
    Ok(request.uuid)
}

/// `struct fsmap` (`linux/fsmap.h`), in bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FsMap {
    /// `dev_t` in the kernel's 32-bit encoding, or a cookie.
    pub(crate) device: u32,
    pub(crate) flags: u32,
    pub(crate) physical: u64,
    pub(crate) owner: u64,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    reserved: [u64; 3],
}

/// `FMR_OWN_FREE`.
pub(crate) const FSMAP_OWNER_FREE: u64 = 1;
/// `FMR_OF_SPECIAL_OWNER`.
pub(crate) const FSMAP_FLAG_SPECIAL_OWNER: u32 = 0x10;
/// `FMR_OF_LAST`.
pub(crate) const FSMAP_FLAG_LAST: u32 = 0x20;

impl FsMap {
    /// Returns a key for the lower or upper bound of a query.
    pub(crate) fn key(device: u32, physical: u64) -> Self {
        Self {
            device,
            physical,
            ..Self::default()
        }
    }

    /// Returns the upper bound that covers everything on a device up to `physical`.
    pub(crate) fn upper(device: u32, physical: u64) -> Self {
        Self {
            device,
            flags: u32::MAX,
            physical,
            owner: u64::MAX,
            offset: u64::MAX,
            ..Self::default()
        }
    }

    /// Returns whether the space is free.
    pub(crate) fn is_free(&self) -> bool {
        self.flags & FSMAP_FLAG_SPECIAL_OWNER != 0 && self.owner == FSMAP_OWNER_FREE
    }
}

/// Records per call: 64 KiB.
pub(crate) const FSMAP_RECORDS: usize = 1024;

/// `struct fsmap_head` with room for the records.
#[repr(C)]
struct FsMapQuery {
    input_flags: u32,
    output_flags: u32,
    count: u32,
    entries: u32,
    reserved: [u64; 6],
    keys: [FsMap; 2],
    records: [FsMap; FSMAP_RECORDS],
}

/// `FS_IOC_GETFSMAP`: `_IOWR('X', 59, struct fsmap_head)`; the size is that of the head alone.
const FS_IOC_GETFSMAP: Opcode = opcode::read_write::<[u64; 24]>(b'X', 59);

/// Returns the filesystem's map between two keys in ascending order, at most [`FSMAP_RECORDS`]
/// records.
///
/// # Errors
/// `ENOTTY` or `EOPNOTSUPP` if the filesystem or the kernel does not support it.
#[allow(clippy::large_stack_arrays)] // 64 KiB; there is no safe way to begin on the heap
pub(crate) fn getfsmap(mount: BorrowedFd<'_>, low: FsMap, high: FsMap) -> io::Result<Vec<FsMap>> {
    let mut query = Box::new(FsMapQuery {
        input_flags: 0,
        output_flags: 0,
        count: u32::try_from(FSMAP_RECORDS).expect("a small number"),
        entries: 0,
        reserved: [0; 6],
        keys: [low, high],
        records: [FsMap::default(); FSMAP_RECORDS],
    });
    // SAFETY: the kernel writes at most `count` records after the head.
    unsafe { ioctl(mount, Updater::<FS_IOC_GETFSMAP, _>::new(&mut *query)) }?;
    let entries = usize::try_from(query.entries)
        .unwrap_or(FSMAP_RECORDS)
        .min(FSMAP_RECORDS);
    Ok(query.records[..entries].to_vec())
}

/// `BTRFS_IOCTL_MAGIC`.
const BTRFS: u8 = 0x94;

/// `struct btrfs_ioctl_fs_info_args` (`linux/btrfs.h`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(dead_code)] // the kernel's layout
pub(crate) struct BtrfsFsInfo {
    device_id_max: u64,
    devices: u64,
    pub(crate) fsid: [u8; 16],
    pub(crate) node_bytes: u32,
    pub(crate) sector_bytes: u32,
    clone_alignment: u32,
    checksum_type: u16,
    checksum_bytes: u16,
    flags: u64,
    generation: u64,
    metadata_uuid: [u8; 16],
    reserved: [u8; 944],
}

/// `BTRFS_IOC_FS_INFO`: `_IOR(0x94, 31, struct btrfs_ioctl_fs_info_args)`.
const BTRFS_IOC_FS_INFO: Opcode = opcode::read::<BtrfsFsInfo>(BTRFS, 31);

/// Queries general information about a Btrfs.
///
/// # Errors
/// `ENOTTY` on any other filesystem.
pub(crate) fn btrfs_fs_info(mount: BorrowedFd<'_>) -> io::Result<BtrfsFsInfo> {
    let mut info = BtrfsFsInfo {
        device_id_max: 0,
        devices: 0,
        fsid: [0; 16],
        node_bytes: 0,
        sector_bytes: 0,
        clone_alignment: 0,
        checksum_type: 0,
        checksum_bytes: 0,
        flags: 0,
        generation: 0,
        metadata_uuid: [0; 16],
        reserved: [0; 944],
    };
    // SAFETY: the opcode matches the layout of the struct that it reads and writes.
    unsafe { ioctl(mount, Updater::<BTRFS_IOC_FS_INFO, _>::new(&mut info)) }?;
    Ok(info)
}

/// `struct btrfs_ioctl_search_key`: bounds of a search in one of a Btrfs' trees.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BtrfsSearchKey {
    pub(crate) tree_id: u64,
    pub(crate) object_id_min: u64,
    pub(crate) object_id_max: u64,
    pub(crate) offset_min: u64,
    pub(crate) offset_max: u64,
    pub(crate) transaction_min: u64,
    pub(crate) transaction_max: u64,
    pub(crate) type_min: u32,
    pub(crate) type_max: u32,
    /// Maximum number of items to return; on return, the number found.
    pub(crate) items: u32,
    unused: u32,
    unused_more: [u64; 4],
}

/// Maximum number of item bytes that one search returns.
const BTRFS_SEARCH_BYTES: usize = 64 << 10;

/// `struct btrfs_ioctl_search_args_v2` with its buffer.
#[repr(C)]
struct BtrfsSearch {
    key: BtrfsSearchKey,
    buffer_bytes: u64,
    buffer: [u8; BTRFS_SEARCH_BYTES],
}

/// `BTRFS_IOC_TREE_SEARCH_V2`: `_IOWR(0x94, 17, struct btrfs_ioctl_search_args_v2)`; the size is
/// that of the head alone. Since kernel 3.16.
const BTRFS_IOC_TREE_SEARCH_V2: Opcode = opcode::read_write::<[u64; 14]>(BTRFS, 17);

/// Searches a tree; returns the number of items found and their bytes, including headers.
///
/// # Errors
/// `EPERM` without root, `ENOENT` if there is no such tree, `EOVERFLOW` if not even one item fits.
#[allow(clippy::large_stack_arrays)] // as above
pub(crate) fn btrfs_tree_search(
    mount: BorrowedFd<'_>,
    key: BtrfsSearchKey,
) -> io::Result<(u32, Vec<u8>)> {
    let mut search = Box::new(BtrfsSearch {
        key,
        buffer_bytes: BTRFS_SEARCH_BYTES as u64,
        buffer: [0; BTRFS_SEARCH_BYTES],
    });
    // SAFETY: the kernel writes at most `buffer_bytes` bytes after the head.
    unsafe {
        ioctl(
            mount,
            Updater::<BTRFS_IOC_TREE_SEARCH_V2, _>::new(&mut *search),
        )
    }?;
    Ok((search.key.items, search.buffer.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn ioctl_numbers_match_the_headers() {
        // asm-generic/ioctl.h: direction << 30 | size << 16 | type << 8 | number, with read = 2 and
        // write = 1.
        assert_eq!(FITRIM, 0xc018_5879);
        assert_eq!(FS_IOC_GETFSUUID, 0x8011_1500);
        assert_eq!(EXT4_IOC_GETFSUUID, 0x8008_662c);
        assert_eq!(FS_IOC_GETFSMAP, 0xc0c0_583b);
        assert_eq!(BTRFS_IOC_FS_INFO, 0x8400_941f);
        assert_eq!(BTRFS_IOC_TREE_SEARCH_V2, 0xc070_9411);
    }

    #[test]
    fn struct_layouts_match_the_headers() {
        assert_eq!(size_of::<FsMap>(), 64);
        assert_eq!(std::mem::offset_of!(FsMapQuery, keys), 64);
        assert_eq!(std::mem::offset_of!(FsMapQuery, records), 192);
        assert_eq!(size_of::<BtrfsSearchKey>(), 104);
        assert_eq!(std::mem::offset_of!(BtrfsSearch, buffer), 112);
        assert_eq!(size_of::<BtrfsFsInfo>(), 1024);
        assert_eq!(std::mem::offset_of!(Ext4FsUuid, uuid), 8);
    }

    #[test]
    fn ioctls_fail_on_other_files() {
        // procfs supports none of these ioctls and has no UUID.
        let file = std::fs::File::open("/proc/self/maps").unwrap();
        let file = file.as_fd();
        assert!(fitrim(file, ByteRange::WHOLE, 0).is_err());
        assert!(btrfs_fs_info(file).is_err());
        assert!(btrfs_tree_search(file, BtrfsSearchKey::default()).is_err());
        assert!(getfsmap(file, FsMap::default(), FsMap::upper(u32::MAX, u64::MAX)).is_err());
        for fs_type in ["xfs", "btrfs", "ext4", "f2fs"] {
            assert!(matches!(fs_uuid(file, fs_type), Ok(None)), "{fs_type}");
        }
    }
}
