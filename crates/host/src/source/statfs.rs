//! Sizes and geometry of filesystems.

use crate::parse::statfs::Answer;
use facts::host::{FsGeometry, FsUsage};
use rustix::fd::AsFd;
use std::io;

/// `XFS_SUPER_MAGIC` (`linux/magic.h`).
const XFS_MAGIC: u64 = 0x5846_5342;
/// `EXT4_SUPER_MAGIC`, which ext2 and ext3 share.
const EXT4_MAGIC: u64 = 0xef53;

/// Asks one filesystem. One that hangs (a dead NFS server, a stuck FUSE daemon) makes the process unkillable.
pub(super) fn ask(mount_point: &str) -> Answer {
    let mut answer = Answer {
        mount_point: mount_point.to_owned(),
        ..Answer::default()
    };
    let stat = match rustix::fs::statfs(mount_point) {
        Ok(stat) => stat,
        Err(error) => {
            answer.error = Some(io::Error::from(error).to_string());
            return answer;
        }
    };
    // The fields have other types on other architectures; an i128 can hold all of them.
    let number = |value: i128| u64::try_from(value).unwrap_or(0);
    let fs_type = number(i128::from(stat.f_type) & 0xffff_ffff);
    let block = number(i128::from(stat.f_bsize));
    let fragment = number(i128::from(stat.f_frsize));
    // Counted in fragments if the filesystem reports their size: statvfs(3).
    let block_bytes = if fragment > 0 { fragment } else { block };
    answer.usage = Some(FsUsage {
        block_bytes,
        size_bytes: stat.f_blocks.saturating_mul(block_bytes),
        free_bytes: stat.f_bfree.saturating_mul(block_bytes),
        available_bytes: stat.f_bavail.saturating_mul(block_bytes),
    });
    match fs_type {
        XFS_MAGIC => match ask_xfs(mount_point) {
            Ok(geometry) => answer.geometry = Some(geometry),
            Err(error) => answer.error = Some(error.to_string()),
        },
        EXT4_MAGIC => {
            answer.geometry = Some(FsGeometry::Ext4 {
                block_bytes,
                // One block of bitmap, eight blocks per byte.
                group_bytes: block_bytes.saturating_mul(block_bytes).saturating_mul(8),
            });
        }
        _ => {}
    }
    answer
}

fn ask_xfs(mount_point: &str) -> io::Result<FsGeometry> {
    let directory = std::fs::File::open(mount_point)?;
    let geometry = linux::xfs::geometry(directory.as_fd())?;
    let block_bytes = u64::from(geometry.block_bytes);
    Ok(FsGeometry::Xfs {
        block_bytes,
        group_blocks: u64::from(geometry.ag_blocks),
        groups: u64::from(geometry.ag_count),
        stripe_unit_bytes: u64::from(geometry.stripe_unit).saturating_mul(block_bytes),
        stripe_width_bytes: u64::from(geometry.stripe_width).saturating_mul(block_bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_statvfs() {
        let answer = ask("/");
        let usage = answer.usage.unwrap();
        assert!(usage.size_bytes > 0 && usage.free_bytes <= usage.size_bytes);
        assert!(usage.available_bytes <= usage.free_bytes && usage.block_bytes >= 512);
        let missing = ask("/proc/no-such-mount");
        assert!(missing.usage.is_none() && missing.error.is_some());
        let statvfs = rustix::fs::statvfs("/").unwrap();
        assert_eq!(usage.size_bytes, statvfs.f_blocks * statvfs.f_frsize);
        if let Some(FsGeometry::Ext4 {
            group_bytes,
            block_bytes: 4096,
        }) = answer.geometry
        {
            assert_eq!(group_bytes, 128 << 20);
        }
    }
}
