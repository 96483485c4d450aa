//! How much may be written to the drives below a filesystem between two trims: what is free, and their spare area.

use crate::context::Context;
use crate::volume::Volume;
use crate::{shell, wording};
use facts::Host;
use facts::host::{BlockDevice, DeviceKind};
use std::collections::HashSet;

pub(crate) const DAY_S: f64 = 86_400.0;
/// Spare area of client drives, as a share of their capacity; drives for servers have up to 28 %.
const SPARE: f64 = 0.07;

/// The write load of a volume's drives, and the space available for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    /// Bytes written a day, on average since boot.
    pub written_bytes_per_day: f64,
    /// Free space on the filesystems, counting each copy.
    pub free_bytes: f64,
    /// Assumed spare area.
    pub spare_bytes: f64,
    /// Capacity of the drives.
    pub capacity_bytes: f64,
}

impl Room {
    /// How much may be written after a trim until the drives run out of erased blocks.
    pub fn bytes(&self) -> f64 {
        self.free_bytes + self.spare_bytes
    }

    /// Returns what the drives keep as data so many days after a trim, in the worst case, as a share of their capacity: all
    /// that is not free, and what was written since and is deleted already.
    pub fn kept_share(&self, days: f64) -> f64 {
        let written = (self.written_bytes_per_day * days).min(self.free_bytes);
        ((self.capacity_bytes - self.free_bytes + written) / self.capacity_bytes).clamp(0.0, 1.0)
    }

    /// Whether what is written in this many days fits.
    pub fn lasts(&self, days: f64) -> bool {
        self.days().is_none_or(|room_days| room_days >= days)
    }

    /// After how many days that is; `None` if nothing is written.
    pub fn days(&self) -> Option<f64> {
        (self.written_bytes_per_day > 0.0).then(|| self.bytes() / self.written_bytes_per_day)
    }
}

/// Returns the room of the filesystem at a mount point.
///
/// # Errors
/// Why it is not known.
pub fn trim_room(host: &Host, mount_point: &str) -> Result<Room, String> {
    let cx = Context::new(host);
    let mount = host.mount_index().of(mount_point);
    let device = mount.and_then(|mount| host.device_of(mount));
    let volume = device.and_then(|device| cx.volume_on(device));
    let volume = volume.ok_or_else(|| "nothing is mounted there".to_owned())?;
    of(&cx, volume).map_err(|(why, _)| why)
}

/// Adds up the drives of a volume and the free space of all filesystems on them.
#[allow(clippy::cast_precision_loss)] // Estimates; 53 bits are plenty.
pub(crate) fn of(cx: &Context<'_>, volume: &Volume<'_>) -> Result<Room, (String, &'static str)> {
    let uptime_s = cx.host.platform.uptime_s.ok_or_else(|| {
        (
            "the uptime is unknown, so there is no write rate".to_owned(),
            "/proc/uptime",
        )
    })?;
    if uptime_s < DAY_S {
        return Err((
            "the host was booted less than a day ago: its counters say nothing of a day's writes"
                .to_owned(),
            "a day of uptime",
        ));
    }
    let drives: Vec<&BlockDevice> = volume.stack.data_drives().collect();
    let names: HashSet<&str> = drives.iter().map(|drive| drive.name.as_str()).collect();
    let mut written_bytes = 0.0;
    let mut capacity_bytes = 0.0;
    for drive in &drives {
        let name = shell::printable(&drive.name);
        let (Some(counters), Some(size_bytes)) = (drive.counters, drive.size_bytes) else {
            return Err((
                format!("the counters or the size of {name} are unknown"),
                "/sys/block/*/stat and size",
            ));
        };
        if counters.discards.is_none() {
            return Err((
                "this kernel counts discards as writes".to_owned(),
                "Linux 4.18 or later",
            ));
        }
        written_bytes += counters.written_bytes as f64;
        capacity_bytes += size_bytes as f64;
    }
    let mut free_bytes = 0.0;
    for other in cx.volumes_in_time() {
        let shares_a_drive = other
            .stack
            .data_drives()
            .any(|leaf| names.contains(leaf.name.as_str()));
        if !shares_a_drive {
            continue;
        }
        match other.mount.usage {
            Some(usage) => free_bytes += usage.free_bytes as f64 * copies(other),
            None => {
                return Err((
                    format!(
                        "the free space of {} is unknown",
                        wording::mount_point(other)
                    ),
                    "statfs on it",
                ));
            }
        }
    }
    Ok(Room {
        written_bytes_per_day: written_bytes / uptime_s * DAY_S,
        free_bytes,
        spare_bytes: capacity_bytes * SPARE,
        capacity_bytes,
    })
}

/// Returns how often a block of the filesystem is stored on the drives.
fn copies(volume: &Volume<'_>) -> f64 {
    volume
        .stack
        .layers
        .iter()
        .find_map(|layer| match &layer.device.kind {
            DeviceKind::Md {
                level, raid_disks, ..
            } => match level.as_deref() {
                Some("raid1") => Some(f64::from(raid_disks.unwrap_or(2).max(1))),
                Some("raid10") => Some(2.0),
                _ => None,
            },
            _ => None,
        })
        .unwrap_or(1.0)
}
