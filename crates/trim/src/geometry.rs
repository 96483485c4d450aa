//! Splits a filesystem into steps.

pub mod btrfs;
pub mod ext4;
mod live;
mod release;
mod source;
mod walk;
mod whole;
pub mod xfs;

pub use release::KernelRelease;
pub use walk::{GeometryError, Survey, Unsplittable, Walk};

use crate::step::Cursor;
use crate::stop::Stop;
use crate::target::Target;
use btrfs::Btrfs;
use ext4::Ext4;
use facts::host::DeviceNumber;
use linux::xfs::XfsGeometry;
use live::Live;
use source::Source;
use std::os::unix::fs::FileExt;
use std::path::Path;
use whole::Whole;
use xfs::{Shape, Xfs};

/// Opens a walk for the target's filesystem type, starting at a cursor. A stop request ends its
/// surveys and its search for the next step.
///
/// # Errors
/// If the filesystem's structures cannot be read. An unknown filesystem type is not an error: it is
/// trimmed as a whole, and the survey says so.
pub fn open(target: &Target, from: Cursor, stop: &Stop) -> Result<Box<dyn Walk>, GeometryError> {
    let live = Live::new(target, stop);
    let identity = &target.identity;
    // If the release is unknown, assume the oldest kernel.
    let release = KernelRelease::running().unwrap_or(KernelRelease::new(0, 0));
    let whole = |live, reason: String| -> Result<Box<dyn Walk>, GeometryError> {
        Ok(Box::new(Whole::new(live, &identity.fs_type, reason, from)))
    };
    match identity.fs_type.as_str() {
        "ext2" | "ext3" | "ext4" => {
            let walk = Ext4::open(live, fsmap_device(identity.device), from)?;
            verify_uuid(&walk, identity.uuid.as_deref())?;
            Ok(Box::new(walk))
        }
        "xfs" => {
            let mut live = live;
            live.open()?;
            let asked = live.xfs_geometry();
            live.close();
            let what = "the geometry of XFS (XFS_IOC_FSGEOMETRY)";
            let asked = asked.map_err(|error| GeometryError::unreadable(what, error))?;
            let shape = xfs_shape(&asked, live::discard_granularity_bytes(identity.device));
            let device = fsmap_device(identity.device);
            Ok(Box::new(Xfs::open(live, shape, release, device, from)?))
        }
        "btrfs" if release.btrfs_remembers_unallocated() => {
            // At umount the kernel forgets which unallocated space it has trimmed: in a later
            // session any step might trim all of it again, unannounced. Trimming it again costs
            // nothing if the kernel still remembers.
            let from = Cursor {
                unallocated_done: false,
                ..from
            };
            Ok(Box::new(Btrfs::new(live, from)))
        }
        "btrfs" => whole(
            live,
            "Btrfs before Linux 5.2 trims all unallocated space again at each call".to_owned(),
        ),
        "f2fs" => whole(
            live,
            "F2FS is not split; mounted with `discard` it only queues what it finds, and discards \
             it later"
                .to_owned(),
        ),
        other => whole(live, format!("the geometry of {other} is not known")),
    }
}

/// Reads the UUID from the superblock of ext2, ext3 or ext4 on a device, for kernels without an
/// ioctl for it (before 5.19). `None` if it has none.
///
/// # Errors
/// If the device cannot be read or holds no such filesystem.
pub fn ext4_uuid(device_path: &Path) -> Result<Option<[u8; 16]>, GeometryError> {
    let device = std::fs::File::open(device_path)
        .map_err(|error| GeometryError::unreadable(device_path.display().to_string(), error))?;
    let superblock = ext4::superblock(&mut |offset_bytes, len_bytes| {
        let mut bytes = vec![0; len_bytes];
        device.read_exact_at(&mut bytes, offset_bytes)?;
        Ok(bytes)
    })?;
    Ok((superblock.uuid != [0; 16]).then_some(superblock.uuid))
}

/// Verifies that the opened device holds the mounted filesystem: its path may have been reassigned
/// since.
fn verify_uuid(walk: &Ext4<Live>, expected: Option<&str>) -> Result<(), GeometryError> {
    let digits = |text: &str| -> String { text.chars().filter(|c| *c != '-').collect() };
    let found = format!("{:032x}", u128::from_be_bytes(walk.uuid()));
    match expected {
        Some(expected) if !digits(expected).eq_ignore_ascii_case(&found) => {
            let message = format!("it is of filesystem {found}, mounted is {expected}");
            Err(GeometryError::invalid("the superblock of ext4", message))
        }
        _ => Ok(()),
    }
}

/// `XFS_FSOP_GEOM_FLAGS_ZONED`.
const XFS_FLAG_ZONED: u32 = 1 << 27;

fn xfs_shape(asked: &XfsGeometry, granularity_bytes: u64) -> Shape {
    let block = u64::from(asked.block_bytes);
    let bytes = |blocks: u64| blocks.saturating_mul(block);
    Shape {
        block,
        sector: asked.sector_bytes.into(),
        group: bytes(asked.ag_blocks.into()),
        groups: asked.ag_count.into(),
        data: bytes(asked.data_blocks),
        real_time: bytes(asked.rt_blocks),
        zoned: asked.flags & XFS_FLAG_ZONED != 0,
        external_log: asked.log_start == 0,
        granularity: granularity_bytes,
    }
}

/// Encodes a device number for GETFSMAP (`new_encode_dev`, `linux/kdev_t.h`).
fn fsmap_device(device: DeviceNumber) -> u32 {
    (device.minor & 0xff) | (device.major << 8) | ((device.minor & !0xff) << 12)
}
