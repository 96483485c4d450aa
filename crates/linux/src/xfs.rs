//! The geometry of a mounted XFS. The ioctl passes memory to the kernel and has no safe interface,
//! so this module contains all of the crate's unsafe code.
#![allow(unsafe_code)]

use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, ioctl, opcode};

/// `struct xfs_fsop_geom_v1` (`xfs_fs.h`), which every kernel supports; lengths in filesystem
/// blocks unless stated otherwise.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // named as in the kernel, with units
pub struct XfsGeometry {
    pub block_bytes: u32,
    pub rt_extent: u32,
    pub ag_blocks: u32,
    pub ag_count: u32,
    pub log_blocks: u32,
    pub sector_bytes: u32,
    pub inode_bytes: u32,
    pub inode_percent_max: u32,
    pub data_blocks: u64,
    pub rt_blocks: u64,
    pub rt_extents: u64,
    pub log_start: u64,
    pub uuid: [u8; 16],
    pub stripe_unit: u32,
    pub stripe_width: u32,
    pub version: i32,
    pub flags: u32,
    pub log_sector_bytes: u32,
    pub rt_sector_bytes: u32,
    pub dir_block_bytes: u32,
}

/// `XFS_IOC_FSGEOMETRY_V1`: `_IOR('X', 100, struct xfs_fsop_geom_v1)`.
const XFS_IOC_FSGEOMETRY_V1: Opcode = opcode::read::<XfsGeometry>(b'X', 100);

/// Queries the geometry of the filesystem that contains a file or directory.
///
/// # Errors
/// `ENOTTY` if the filesystem is not XFS.
pub fn geometry(file: BorrowedFd<'_>) -> Result<XfsGeometry, Errno> {
    // SAFETY: the opcode matches the layout of the struct that the kernel writes.
    unsafe { ioctl(file, Getter::<XFS_IOC_FSGEOMETRY_V1, XfsGeometry>::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_request_number_matches_the_header() {
        // asm-generic/ioctl.h: direction << 30 | size << 16 | type << 8 | number, with read = 2; the
        // size is 112.
        assert_eq!(XFS_IOC_FSGEOMETRY_V1, 0x8070_5864);
    }

    #[test]
    fn the_layout_matches_the_header() {
        assert_eq!(size_of::<XfsGeometry>(), 112);
        assert_eq!(std::mem::offset_of!(XfsGeometry, data_blocks), 32);
        assert_eq!(std::mem::offset_of!(XfsGeometry, uuid), 64);
        assert_eq!(std::mem::offset_of!(XfsGeometry, stripe_unit), 80);
    }

    #[test]
    fn other_filesystems_are_rejected() {
        for path in ["/dev/null", "/proc/self/maps"] {
            let file = std::fs::File::open(path).unwrap();
            assert!(geometry(file.as_fd()).is_err(), "{path}");
        }
    }
}
