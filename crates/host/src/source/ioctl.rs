//! The ioctl for device-mapper tables. It passes memory to the kernel and has no safe interface, so
//! this module contains all of the crate's unsafe code.
#![allow(unsafe_code)]

use rustix::fd::BorrowedFd;
use rustix::io;
use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, opcode};
use std::ffi::c_void;

/// Size of `struct dm_ioctl` (`linux/dm-ioctl.h`), the header of each call.
pub(super) const DM_HEADER_BYTES: usize = 312;

/// `DM_TABLE_STATUS`: `_IOWR(0xfd, 12, struct dm_ioctl)`.
const DM_TABLE_STATUS: Opcode = opcode::read_write::<[u8; DM_HEADER_BYTES]>(0xfd, 12);

/// Offset of `data_size` in the header, which limits how much the kernel writes.
const DATA_SIZE_AT: usize = 12;

struct DmTableStatus<'b> {
    buffer: &'b mut [u64],
}

// SAFETY: `dm_table_status` ensures that the header's `data_size` is the length of the buffer. The
// kernel reads and writes no more than that, and any bytes are valid `u64`s.
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

/// Requests a table. The buffer starts with a `dm_ioctl` header (`u64`s, because the header has to
/// be aligned); `data_size` is set here, and the answer replaces the contents.
pub(super) fn dm_table_status(control: BorrowedFd<'_>, buffer: &mut [u64]) -> io::Result<()> {
    let len_bytes = size_of_val(buffer);
    let data_size = u32::try_from(len_bytes).map_err(|_| io::Errno::INVAL)?;
    if len_bytes < DM_HEADER_BYTES {
        return Err(io::Errno::INVAL);
    }
    // `data_size` is the second half, in memory order, of the second u64.
    let mut pair = buffer[1].to_ne_bytes();
    pair[DATA_SIZE_AT - 8..].copy_from_slice(&data_size.to_ne_bytes());
    buffer[1] = u64::from_ne_bytes(pair);
    // SAFETY: see `DmTableStatus`.
    unsafe { rustix::ioctl::ioctl(control, DmTableStatus { buffer }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_request_number_matches_the_header() {
        // asm-generic/ioctl.h: direction << 30 | size << 16 | type << 8 | number, with read = 2 and
        // write = 1; the size is 312.
        assert_eq!(DM_TABLE_STATUS, 0xc138_fd0c);
    }

    #[test]
    fn other_files_are_rejected() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(dm_table_status(file.as_fd(), &mut [0; 64]).is_err());
        assert_eq!(
            dm_table_status(file.as_fd(), &mut [0; 38]),
            Err(io::Errno::INVAL)
        );
    }
}
