//! The two ioctls of this crate. The only unsafe code in it: an ioctl hands memory to the kernel,
//! and no safe interface exists for these two.
#![allow(unsafe_code)]

use rustix::fd::BorrowedFd;
use rustix::io;
use rustix::ioctl::{Getter, Ioctl, IoctlOutput, Opcode, opcode};
use std::ffi::c_void;

/// Size of `struct dm_ioctl` (`linux/dm-ioctl.h`), the header of each call.
pub(super) const DM_HEADER_BYTES: usize = 312;

/// `DM_TABLE_STATUS`: `_IOWR(0xfd, 12, struct dm_ioctl)`.
const DM_TABLE_STATUS: Opcode = opcode::read_write::<[u8; DM_HEADER_BYTES]>(0xfd, 12);

/// Offset of `data_size` in the header: the kernel writes no further than it says.
const DATA_SIZE_AT: usize = 12;

struct DmTableStatus<'b> {
    buffer: &'b mut [u64],
}

// SAFETY: `dm_table_status` sees to it that the header's `data_size` is the length of the buffer.
// The kernel reads and writes no more than that, and any bytes are valid `u64`s.
unsafe impl Ioctl for DmTableStatus<'_> {
    type Output = ();
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> Opcode {
        DM_TABLE_STATUS
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.buffer.as_mut_ptr().cast()
    }

    unsafe fn output_from_ptr(_: IoctlOutput, _: *mut c_void) -> io::Result<()> {
        Ok(())
    }
}

/// Asks for a table. The buffer starts with a `dm_ioctl` header (`u64`s, because the header has to
/// be aligned); `data_size` is set here, and the answer replaces the content.
pub(super) fn dm_table_status(control: BorrowedFd<'_>, buffer: &mut [u64]) -> io::Result<()> {
    let len_bytes = size_of_val(buffer);
    let data_size = u32::try_from(len_bytes).map_err(|_| io::Errno::INVAL)?;
    if len_bytes < DM_HEADER_BYTES {
        return Err(io::Errno::INVAL);
    }
    // `data_size` is the upper half, in memory order, of the second u64.
    let mut pair = buffer[1].to_ne_bytes();
    pair[DATA_SIZE_AT - 8..].copy_from_slice(&data_size.to_ne_bytes());
    buffer[1] = u64::from_ne_bytes(pair);
    // SAFETY: see `DmTableStatus`.
    unsafe { rustix::ioctl::ioctl(control, DmTableStatus { buffer }) }
}

/// `struct xfs_fsop_geom_v1` (`xfs_fs.h`); lengths in filesystem blocks unless said otherwise.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(dead_code)] // the kernel's layout; a few fields are all that is needed
pub(super) struct XfsGeometryV1 {
    pub(super) block_bytes: u32,
    rt_extent: u32,
    pub(super) ag_blocks: u32,
    pub(super) ag_count: u32,
    log_blocks: u32,
    sector_bytes: u32,
    inode_bytes: u32,
    inode_percent_max: u32,
    data_blocks: u64,
    rt_blocks: u64,
    rt_extents: u64,
    log_start: u64,
    uuid: [u8; 16],
    pub(super) stripe_unit: u32,
    pub(super) stripe_width: u32,
    version: i32,
    flags: u32,
    log_sector_bytes: u32,
    rt_sector_bytes: u32,
    dir_block_bytes: u32,
}

/// `XFS_IOC_FSGEOMETRY_V1`: `_IOR('X', 100, struct xfs_fsop_geom_v1)`.
const XFS_IOC_FSGEOMETRY_V1: Opcode = opcode::read::<XfsGeometryV1>(b'X', 100);

/// Asks a file or directory on XFS for the filesystem's geometry.
pub(super) fn xfs_geometry(file: BorrowedFd<'_>) -> io::Result<XfsGeometryV1> {
    // SAFETY: the opcode and the layout of what it writes belong together.
    unsafe {
        let getter = Getter::<XFS_IOC_FSGEOMETRY_V1, XfsGeometryV1>::new();
        rustix::ioctl::ioctl(file, getter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn request_numbers_are_those_of_the_headers() {
        // asm-generic/ioctl.h: direction << 30 | size << 16 | type << 8 | number, with read = 2 and
        // write = 1; the sizes are 112 and 312.
        assert_eq!(XFS_IOC_FSGEOMETRY_V1, 0x8070_5864);
        assert_eq!(DM_TABLE_STATUS, 0xc138_fd0c);
    }

    #[test]
    fn other_files_refuse() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(xfs_geometry(file.as_fd()).is_err());
        assert!(dm_table_status(file.as_fd(), &mut [0; 64]).is_err());
        assert_eq!(
            dm_table_status(file.as_fd(), &mut [0; 38]),
            Err(io::Errno::INVAL)
        );
    }
}
