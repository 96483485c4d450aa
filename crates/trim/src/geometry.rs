//! How a filesystem is cut into steps.

pub mod btrfs;
pub mod ext4;
mod live;
mod release;
mod whole;
pub mod xfs;

pub use release::KernelRelease;

use crate::ioctl::XfsGeometry;
use crate::range::{Cursor, Step, StepBudget};
use crate::stop::Stop;
use crate::target::Target;
use btrfs::Btrfs;
use ext4::Ext4;
use facts::host::DeviceNumber;
use live::Live;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use whole::Whole;
use xfs::{Shape, Xfs};

/// What a filesystem is made of, as far as a trim is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// In words: `ext4: 80 block groups of 128 MiB`, `XFS: 4 allocation groups of 1 GiB, free
    /// extents listed by the kernel`.
    pub description: String,
    /// Free bytes, from the filesystem's own structures (or statfs).
    pub free_bytes: u64,
    /// Free extents; `None` where the filesystem does not tell.
    pub free_extents: Option<u64>,
    /// The largest of them.
    pub largest_extent_bytes: Option<u64>,
    /// Steps at a given budget, roughly.
    pub steps: u64,
    /// What cannot be split, with its bytes: Btrfs' unallocated space, an allocation group of a
    /// kernel that does not list extents, the whole filesystem of an unknown type.
    pub unsplittable: Vec<Unsplittable>,
    /// Size of the filesystem.
    pub size_bytes: u64,
}

/// A step that cannot be paced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsplittable {
    /// What it is.
    pub what: String,
    /// Free bytes that one call discards.
    pub bytes: u64,
    /// It is Btrfs' unallocated space, which is locked until its last discard is done.
    pub is_unallocated: bool,
}

/// Why the geometry could not be read.
#[derive(Debug, thiserror::Error)]
pub enum GeometryError {
    /// The mount is not what it was.
    #[error(transparent)]
    Target(#[from] crate::target::TargetError),
    /// A stop was asked for in the middle of it.
    #[error("the geometry was not read to its end: a stop was asked for")]
    Stopped,
    /// The filesystem's structures could not be read.
    #[error("{what}: {source}")]
    Unreadable {
        /// What was asked for.
        what: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// They make no sense.
    #[error("{what}: {message}")]
    Invalid {
        /// What was asked for.
        what: String,
        /// What was wrong.
        message: String,
    },
}

/// Walks a filesystem in steps, in ascending order. Either question may take thousands of calls of
/// the kernel: it ends with [`GeometryError::Stopped`] soon after a stop was asked for, and can be
/// asked again.
pub trait Walk {
    /// What there is to do in the whole filesystem, wherever the cursor is. May take a while on a
    /// filesystem with millions of extents.
    ///
    /// # Errors
    /// Where the structures cannot be read.
    fn survey(&mut self, budget: StepBudget) -> Result<Survey, GeometryError>;

    /// The next step, at most as large as the budget where the geometry allows it; `None` at the
    /// end. The step counts as done at the next call.
    ///
    /// # Errors
    /// Where the structures cannot be read.
    fn next_step(&mut self, budget: StepBudget) -> Result<Option<Step>, GeometryError>;

    /// What the step handed out last discarded on the mounted device, where that can be measured:
    /// a kernel that takes overlapping extents whole shows itself here.
    fn observed(&mut self, discarded_bytes: Option<u64>);

    /// How far the steps handed out have come, the last one included.
    fn cursor(&self) -> Cursor;

    /// `minlen` for every call of this pass; constant, because ext4 trims everything again when it
    /// is lowered.
    fn minlen_bytes(&self) -> u64;

    /// Whether the step handed out last locks one free extent at a time, so that others can allocate
    /// beside it, whatever its size (block groups of ext4 and Btrfs). XFS locks all extents of a
    /// call.
    fn locks_one_extent_at_a_time(&self) -> bool {
        false
    }
}

/// Opens the walk that suits the target's filesystem, from a cursor on. A stop ends its surveys and
/// its search for the next step.
///
/// # Errors
/// Where the structures cannot be read. A filesystem of unknown type is no error: it is trimmed
/// whole, and the survey says so.
pub fn open(target: &Target, from: Cursor, stop: &Stop) -> Result<Box<dyn Walk>, GeometryError> {
    let live = Live::new(target, stop);
    let identity = &target.identity;
    // Without a release nothing is taken for granted.
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
            let asked = asked.map_err(|source| GeometryError::Unreadable {
                what: "the geometry of XFS (XFS_IOC_FSGEOMETRY)".to_owned(),
                source,
            })?;
            let shape = xfs_shape(&asked, live::discard_granularity_bytes(identity.device));
            let device = fsmap_device(identity.device);
            Ok(Box::new(Xfs::open(live, shape, release, device, from)?))
        }
        "btrfs" if release.btrfs_remembers_unallocated() => {
            // The kernel forgets at umount which unallocated space it has trimmed: in a later
            // session any step might trim all of it again, unannounced. Asking once more costs
            // nothing where it has not forgotten.
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

/// The uuid in the superblock of ext2, ext3 or ext4 on a device, for kernels that have no question
/// for it (before 5.19). `None` where it has none.
///
/// # Errors
/// Where the device cannot be read or holds no such filesystem.
pub fn ext4_uuid(device_path: &Path) -> Result<Option<[u8; 16]>, GeometryError> {
    let unreadable = |source: io::Error| GeometryError::Unreadable {
        what: device_path.display().to_string(),
        source,
    };
    let device = std::fs::File::open(device_path).map_err(unreadable)?;
    let superblock = ext4::superblock(&mut |offset_bytes, len_bytes| {
        let mut bytes = vec![0; len_bytes];
        device.read_exact_at(&mut bytes, offset_bytes)?;
        Ok(bytes)
    })?;
    Ok((superblock.uuid != [0; 16]).then_some(superblock.uuid))
}

/// The device at hand must hold what is mounted: its path may have been given to another since.
fn verify_uuid(walk: &Ext4<Live>, expected: Option<&str>) -> Result<(), GeometryError> {
    let digits = |text: &str| -> String { text.chars().filter(|c| *c != '-').collect() };
    let found = format!("{:032x}", u128::from_be_bytes(walk.uuid()));
    match expected {
        Some(expected) if !digits(expected).eq_ignore_ascii_case(&found) => {
            Err(GeometryError::Invalid {
                what: "the superblock of ext4".to_owned(),
                message: format!("it is of filesystem {found}, mounted is {expected}"),
            })
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

/// A device number as GETFSMAP has it (`new_encode_dev`, `linux/kdev_t.h`).
fn fsmap_device(device: DeviceNumber) -> u32 {
    (device.minor & 0xff) | (device.major << 8) | ((device.minor & !0xff) << 12)
}
