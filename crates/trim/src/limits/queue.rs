//! The discard limits of a drive's request queue.

use super::lowered::{LimitError, Lowered, Restored, io_error};
use facts::host::DiscardLimits;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The largest value that the kernel accepts here (`queue_var_store`, `block/blk-sysfs.c`).
const WRITABLE_BYTES_MAX: u64 = u32::MAX as u64;

/// The kernel counts in sectors.
const SECTOR_BYTES: u64 = 512;

/// A drive's queue in sysfs.
#[derive(Debug)]
pub(super) struct Queue {
    device: String,
    /// `/sys/block/DEVICE`
    directory: PathBuf,
}

/// The values involved in lowering a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_field_names)] // the unit belongs to each name
pub(super) struct Change {
    pub(super) old_bytes: u64,
    pub(super) new_bytes: u64,
    pub(super) restorable_bytes: u64,
}

/// Returns whether `name` can be the kernel name of a block device; in sysfs, `!` replaces the `/`
/// that a few of them contain.
pub(super) fn is_device_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() < 64
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'/')
}

impl Queue {
    /// Finds a drive, or the drive of a partition; `None` if there is none of that name.
    pub(super) fn find(sysfs: &Path, device: &str) -> io::Result<Option<Self>> {
        if !is_device_name(device) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("{device:?} is no name of a block device"),
            ));
        }
        let directory = sysfs.join("block").join(device);
        if directory.join("queue").is_dir() {
            return Ok(Some(Self {
                device: device.to_owned(),
                directory,
            }));
        }
        // /sys/class/block/sda1 is a link to .../block/sda/sda1.
        let partition = sysfs.join("class/block").join(device);
        if !partition.join("partition").exists() {
            return Ok(None);
        }
        let partition = fs::canonicalize(partition)?;
        let disk = partition
            .parent()
            .and_then(Path::file_name)
            .and_then(|name| name.to_str());
        match disk {
            Some(disk) if disk != device => Self::find(sysfs, disk),
            _ => Ok(None),
        }
    }

    pub(super) fn device(&self) -> &str {
        &self.device
    }

    pub(super) fn max_path(&self) -> PathBuf {
        self.directory.join("queue/discard_max_bytes")
    }

    pub(super) fn max_bytes(&self) -> Result<u64, LimitError> {
        read_number(&self.max_path())
    }

    /// Returns the limit of the hardware; `None` before kernel 4.3.
    fn hw_bytes(&self) -> Option<u64> {
        read_number(&self.directory.join("queue/discard_max_hw_bytes")).ok()
    }

    /// Returns `None` before kernel 5.15.
    pub(super) fn diskseq(&self) -> Option<u64> {
        read_number(&self.directory.join("diskseq")).ok()
    }

    /// See [`Lowered::queue_inode`].
    pub(super) fn inode(&self) -> Option<u64> {
        let found = fs::metadata(&self.directory).ok()?;
        Some(found.ino())
    }

    /// Returns whether another drive was attached to the very queue whose limit was lowered, and
    /// inherited the lowered limit.
    pub(super) fn still_holds(&self, limit: &Lowered) -> bool {
        limit.queue_inode.is_some()
            && self.inode() == limit.queue_inode
            && self.max_bytes().is_ok_and(|found| found == limit.new_bytes)
    }

    fn granularity_bytes(&self) -> Result<u64, LimitError> {
        read_number(&self.directory.join("queue/discard_granularity"))
    }

    /// Returns what to write; `None` if the limit would not become lower.
    pub(super) fn plan(&self, max_bytes: u64) -> Result<Option<Change>, LimitError> {
        let old_bytes = self.max_bytes()?;
        let hw_bytes = self.hw_bytes();
        if old_bytes != 0 && hw_bytes.is_none() {
            return Err(LimitError::Invalid {
                path: self.max_path(),
                message: "this kernel (before 4.3) cannot change it; leave --max-request away"
                    .to_owned(),
            });
        }
        Ok(plan(
            old_bytes,
            hw_bytes.unwrap_or(old_bytes),
            self.granularity_bytes()?,
            max_bytes,
        ))
    }

    pub(super) fn write(&self, bytes: u64) -> Result<(), LimitError> {
        let path = self.max_path();
        OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&path)
            .and_then(|mut file| file.write_all(bytes.to_string().as_bytes()))
            .map_err(|error| {
                io_error(&path)(io::Error::new(
                    error.kind(),
                    format!("{bytes} cannot be written: {error}"),
                ))
            })
    }

    /// Restores one limit if it still has the value that was written.
    pub(super) fn restore(&self, limit: &Lowered) -> Result<Restored, LimitError> {
        let found_bytes = self.max_bytes()?;
        if found_bytes == limit.new_bytes {
            let hw_bytes = self.hw_bytes().unwrap_or(limit.old_bytes);
            let granularity = self.granularity_bytes()?;
            self.write(writable(limit.old_bytes, hw_bytes, granularity))?;
        }
        let found_bytes = self.max_bytes()?;
        Ok(if found_bytes == limit.old_bytes {
            Restored::Restored
        } else if found_bytes == limit.restorable_bytes {
            Restored::Nearest { found_bytes }
        } else {
            Restored::ChangedByOthers { found_bytes }
        })
    }
}

/// Returns the unit of writable values. The kernel refuses a value unless
/// `value & (granularity - 1)` is 0, which for a granularity that is not a power of two demands
/// more than a multiple of it.
fn granule(granularity_bytes: u64) -> u64 {
    granularity_bytes
        .max(SECTOR_BYTES)
        .checked_next_power_of_two()
        .unwrap_or(1 << 63)
}

fn round_down(bytes: u64, granule: u64) -> u64 {
    bytes - bytes % granule
}

/// Returns the value to write to restore `old_bytes` as closely as possible. The kernel clamps what
/// is written to the hardware's limit: if that was in force, the maximum value is written, which
/// then does not count as an administrator's limit (`max_user_discard_sectors`, 6.9+).
fn writable(old_bytes: u64, hw_bytes: u64, granularity_bytes: u64) -> u64 {
    let bytes = if old_bytes == hw_bytes {
        WRITABLE_BYTES_MAX
    } else {
        old_bytes.min(WRITABLE_BYTES_MAX)
    };
    round_down(bytes, granule(granularity_bytes))
}

/// Returns what [`super::Guard::lower`] writes for a drive with these limits when asked for
/// `max_bytes`: that value rounded down to the drive's granularity, but at least one granule.
/// `None` if it writes nothing because the limit is already as low, the drive does not support
/// discards, or its limit is unknown.
pub fn lowered_to(limits: DiscardLimits, max_bytes: u64) -> Option<u64> {
    let old_bytes = limits.max_bytes?;
    let hw_bytes = limits.max_hw_bytes.unwrap_or(old_bytes);
    let granularity_bytes = limits.granularity_bytes.unwrap_or(0);
    plan(old_bytes, hw_bytes, granularity_bytes, max_bytes).map(|change| change.new_bytes)
}

fn plan(old_bytes: u64, hw_bytes: u64, granularity_bytes: u64, max_bytes: u64) -> Option<Change> {
    let granule = granule(granularity_bytes);
    let new_bytes = round_down(max_bytes.min(WRITABLE_BYTES_MAX), granule).max(granule);
    let restorable_bytes = writable(old_bytes, hw_bytes, granularity_bytes).min(hw_bytes);
    // Do not lower the limit if it could not be raised again.
    (new_bytes < old_bytes && new_bytes < restorable_bytes && new_bytes <= WRITABLE_BYTES_MAX)
        .then_some(Change {
            old_bytes,
            new_bytes,
            restorable_bytes,
        })
}

fn read_number(path: &Path) -> Result<u64, LimitError> {
    let text = fs::read_to_string(path).map_err(io_error(path))?;
    text.trim().parse().map_err(|_| LimitError::Invalid {
        path: path.to_owned(),
        message: format!("{:?} is no number of bytes", text.trim()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    /// Model of `queue_discard_max_store` and `queue_var_store`: the value that reads back, or
    /// `None` for EINVAL.
    fn kernel_stores(bytes: u64, hw_bytes: u64, granularity_bytes: u64) -> Option<u64> {
        let refused = bytes > u64::from(u32::MAX) || bytes & granularity_bytes.wrapping_sub(1) != 0;
        (!refused).then(|| (bytes / 512 * 512).min(hw_bytes))
    }

    #[test]
    fn typical_drives() {
        let change = |new_bytes, restorable_bytes, old_bytes| {
            Some(Change {
                old_bytes,
                new_bytes,
                restorable_bytes,
            })
        };
        // NVMe: UINT_MAX sectors.
        let nvme = 2_199_023_255_040;
        assert_eq!(
            plan(nvme, nvme, 512, 16 * MIB),
            change(16 * MIB, 4_294_966_784, nvme)
        );
        // A loop device: UINT_MAX bytes in whole sectors, which is not a multiple of 4096.
        let on_loop = 4_294_966_784;
        assert_eq!(
            plan(on_loop, on_loop, 4096, 16 * MIB + 1),
            change(16 * MIB, 4_294_963_200, on_loop)
        );
        // ATA: 65535 sectors of 512 bytes, with a granularity of 4096.
        let ata = 2_147_450_880;
        assert_eq!(plan(ata, ata, 512, MIB), change(MIB, ata, ata));
        let odd = 65535 * 512;
        assert_eq!(plan(odd, odd, 4096, MIB), change(MIB, odd, odd));
        // At least one granule; already as low; no discard support.
        assert_eq!(plan(ata, ata, 262_144, 4096), change(262_144, ata, ata));
        assert_eq!(plan(16 * MIB, ata, 512, 16 * MIB), None);
        assert_eq!(plan(16 * MIB, ata, 512, u64::MAX), None);
        assert_eq!(plan(0, 0, 0, 16 * MIB), None);
        let limits = DiscardLimits {
            granularity_bytes: Some(4096),
            max_bytes: Some(on_loop),
            max_hw_bytes: Some(on_loop),
        };
        assert_eq!(lowered_to(limits, 1), Some(4096));
        assert_eq!(lowered_to(DiscardLimits::default(), 1), None);
        // An administrator's own limit is restored exactly.
        assert_eq!(
            plan(64 * MIB, nvme, 512, 16 * MIB),
            change(16 * MIB, 64 * MIB, 64 * MIB)
        );
    }

    proptest! {
        /// Every planned value is accepted by the kernel and reads back as written, and the value
        /// written at the end gives what was promised.
        #[test]
        fn planned_values_can_be_written(
            hw_sectors in 0u64..=u64::from(u32::MAX),
            user in prop::option::of(any::<u32>()),
            granularity_bytes in prop_oneof![
                (9u32..24).prop_map(|bits| 1u64 << bits),
                Just(0u64),
                1u64..10_000_000,
            ],
            max_bytes in any::<u64>(),
        ) {
            let hw_bytes = hw_sectors * 512;
            let old_bytes = match user {
                Some(user) => {
                    let user = round_down(u64::from(user), granule(granularity_bytes));
                    kernel_stores(user, hw_bytes, granularity_bytes).unwrap_or(hw_bytes)
                }
                None => hw_bytes,
            };
            if let Some(change) = plan(old_bytes, hw_bytes, granularity_bytes, max_bytes) {
                prop_assert!(change.new_bytes > 0);
                prop_assert!(change.new_bytes < old_bytes);
                prop_assert!(change.new_bytes <= max_bytes.max(granule(granularity_bytes)));
                prop_assert_eq!(
                    kernel_stores(change.new_bytes, hw_bytes, granularity_bytes),
                    Some(change.new_bytes)
                );
                let back = writable(old_bytes, hw_bytes, granularity_bytes);
                prop_assert_eq!(
                    kernel_stores(back, hw_bytes, granularity_bytes),
                    Some(change.restorable_bytes)
                );
                prop_assert!(change.restorable_bytes <= old_bytes);
                prop_assert!(change.restorable_bytes > change.new_bytes);
            }
        }
    }
}
