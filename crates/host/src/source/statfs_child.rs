//! The helper process that queries filesystems for their size and geometry, so that a hung mount
//! cannot hang its parent.

use crate::parse::statfs::Answer;
use facts::host::{FsGeometry, FsUsage};
use rustix::fd::AsFd;
use std::io::{self, Read, Write};

/// `XFS_SUPER_MAGIC` (`linux/magic.h`).
const XFS_MAGIC: u64 = 0x5846_5342;
/// `EXT4_SUPER_MAGIC`, which ext2 and ext3 share.
const EXT4_MAGIC: u64 = 0xef53;

/// More mount points than any host has; limits what the child reads.
const INPUT_BYTES_MAX: u64 = 16 << 20;

/// The main function of the helper process: reads mount points, each terminated by a NUL, queries
/// each, and writes one line for each as soon as it has answered. The parent kills the process when
/// a mount takes too long.
///
/// # Errors
/// If the input cannot be read or the output cannot be written.
pub fn answer_mount_points(input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut bytes = Vec::new();
    input.take(INPUT_BYTES_MAX).read_to_end(&mut bytes)?;
    for mount_point in bytes.split(|&b| b == 0).filter(|name| !name.is_empty()) {
        let answer = ask(&String::from_utf8_lossy(mount_point));
        serde_json::to_writer(&mut output, &answer)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

fn ask(mount_point: &str) -> Answer {
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
    use crate::parse::statfs::parse;

    #[test]
    fn the_helper_answers_one_line_each() {
        let mut output = Vec::new();
        answer_mount_points(&b"/\0/proc/no-such-mount\0"[..], &mut output).unwrap();
        let (answers, malformed) = parse(&output);
        assert_eq!((answers.len(), malformed), (2, 0));
        let usage = answers["/"].usage.unwrap();
        assert!(usage.size_bytes > 0 && usage.free_bytes <= usage.size_bytes);
        assert!(usage.available_bytes <= usage.free_bytes && usage.block_bytes >= 512);
        let missing = &answers["/proc/no-such-mount"];
        assert!(missing.usage.is_none() && missing.error.is_some());
        // The same figures as statvfs(3).
        let statvfs = rustix::fs::statvfs("/").unwrap();
        assert_eq!(usage.size_bytes, statvfs.f_blocks * statvfs.f_frsize);
        if let Some(FsGeometry::Ext4 {
            group_bytes,
            block_bytes: 4096,
        }) = answers["/"].geometry
        {
            assert_eq!(group_bytes, 128 << 20);
        }
    }
}
