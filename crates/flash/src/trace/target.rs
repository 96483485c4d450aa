//! The drive or RAID-0 array on which a trace is replayed.

use super::{Devices, Summary};
use crate::drive::{Device, DiscardSplit, Drive, DriveError, Raid0, Raid0Error};
use crate::ftl::{Collection, PowerOn, Settings};
use crate::geometry::{Geometry, GeometryError};
use crate::time::{Recorder, Timing};
use thiserror::Error;

/// Minimum capacity for traces that need less.
const CAPACITY_MIN: u64 = 64 << 20;
/// The drive below a recorded volume is at least this large.
const DRIVE_BYTES_MIN: u64 = 1_000_000_000_000;
/// Number of points in the series by default.
const POINTS: u64 = 90;
/// Minimum interval, in nanoseconds.
const INTERVAL_NS_MIN: u64 = 1_000_000;
/// Interval for traces of unknown duration.
const INTERVAL_NS_UNKNOWN: u64 = 60_000_000_000;

/// The drives on which a trace is replayed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetSpec {
    /// Capacity of one drive in bytes; `None` for what the trace needs.
    pub capacity_bytes: Option<u64>,
    /// Number of drives in the RAID-0; 1 for a single drive.
    pub drives: u32,
    /// Chunk size of the RAID-0, a whole number of pages.
    pub chunk_bytes: u64,
    /// Over-provisioning.
    pub over_provisioning: f64,
    /// Bytes per page.
    pub page_bytes: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Victim selection policy.
    pub collection: Collection,
    /// Whether moved pages are kept in separate blocks.
    pub separate_moved: bool,
    /// State of the drives before the first request.
    pub power_on: PowerOn,
    /// Seed for all random numbers; each drive derives its own.
    pub seed: u64,
}

/// Drives with a known size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// The specification.
    pub spec: TargetSpec,
    /// Capacity of one drive in bytes.
    pub capacity_bytes: u64,
    /// Geometry of one drive.
    pub geometry: Geometry,
}

/// Why the drives cannot be built.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum TargetError {
    /// Invalid geometry or timing of a drive.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// Invalid array.
    #[error(transparent)]
    Raid0(#[from] Raid0Error),
}

/// A single drive or an array.
#[derive(Debug)]
pub enum Drives {
    /// A single drive.
    One(Box<Drive>),
    /// A RAID-0 array.
    Many(Box<Raid0<Drive>>),
}

impl Drives {
    /// The device that requests are sent to.
    pub fn device(&mut self) -> &mut dyn Device {
        match self {
            Self::One(drive) => drive.as_mut(),
            Self::Many(array) => array.as_mut(),
        }
    }
}

impl Target {
    /// Sizes the drives for a trace that extends to `span_bytes`, unless their capacity is given.
    ///
    /// # Errors
    /// If the geometry is invalid.
    pub fn new(spec: TargetSpec, span_bytes: u64) -> Result<Self, GeometryError> {
        let page = u64::from(spec.page_bytes).max(1);
        let capacity_bytes = spec.capacity_bytes.unwrap_or_else(|| {
            // Whole chunks on each drive, and not too small for the model.
            let each = span_bytes
                .div_ceil(spec.drives.max(1).into())
                .max(CAPACITY_MIN);
            let chunk = spec.chunk_bytes.max(page);
            each.div_ceil(chunk).saturating_mul(chunk)
        });
        let geometry = Geometry::new(
            capacity_bytes / page,
            spec.over_provisioning,
            spec.pages_per_block,
            spec.page_bytes,
        )?;
        Ok(Self {
            spec,
            capacity_bytes,
            geometry,
        })
    }

    /// Size of the physical drive whose dies do the work: a recorded volume is part of a drive, and
    /// uses at least that drive's number of dies.
    pub fn drive_bytes(&self) -> u64 {
        self.capacity_bytes.max(DRIVE_BYTES_MIN)
    }

    /// Approximate memory of all drives' tables, in bytes.
    pub fn table_bytes(&self) -> u64 {
        self.geometry
            .table_bytes()
            .saturating_mul(self.spec.drives.into())
    }

    /// Builds the drives; host-visible latencies and throughput are recorded in intervals.
    ///
    /// # Errors
    /// If the timing or the chunk size is invalid.
    pub fn build(&self, timing: &Timing, interval_ns: u64) -> Result<Drives, TargetError> {
        let spec = &self.spec;
        let drive = |index: u32, interval_ns: Option<u64>| {
            let settings = Settings {
                collection: spec.collection,
                separate_moved: spec.separate_moved,
                seed: spec.seed.wrapping_add(index.into()),
                ..Settings::new(self.geometry)
            };
            Drive::new(settings, spec.power_on, timing, Recorder::new(interval_ns))
        };
        if spec.drives == 1 {
            return Ok(Drives::One(Box::new(drive(0, Some(interval_ns))?)));
        }
        // The array's own recorder covers what the host sees.
        let members = (0..spec.drives)
            .map(|index| drive(index, None))
            .collect::<Result<Vec<_>, _>>()?;
        let chunk_pages = spec.chunk_bytes / u64::from(self.geometry.page_bytes);
        let array = Raid0::new(
            members,
            u32::try_from(chunk_pages).unwrap_or(u32::MAX),
            DiscardSplit::Member,
            Recorder::new(Some(interval_ns)),
        )?;
        Ok(Drives::Many(Box::new(array)))
    }
}

/// Length of an interval of the series in nanoseconds: a ninetieth of the traces' duration, if
/// known.
pub fn interval_ns(duration_ns: Option<u64>) -> u64 {
    match duration_ns {
        // One more, so that the last request arrives within the last interval.
        Some(duration_ns) => (duration_ns / POINTS + 1).max(INTERVAL_NS_MIN),
        None => INTERVAL_NS_UNKNOWN,
    }
}

impl Devices {
    /// The devices with these names: the first one if there are no names, all if the only name is
    /// `all`.
    pub fn of(names: &[String]) -> Self {
        match names {
            [] => Self::First,
            [all] if all == "all" => Self::All,
            names => Self::Named(names.to_vec()),
        }
    }

    /// Whether the `index`-th device (from 0) is included.
    fn includes(&self, index: usize, name: &str) -> bool {
        match self {
            Self::First => index == 0,
            Self::All => true,
            Self::Named(names) => names.iter().any(|wanted| wanted == name),
        }
    }

    /// The names that no trace contains; empty if no trace has any device.
    pub fn missing(&self, traces: &[Summary]) -> Vec<String> {
        let Self::Named(wanted) = self else {
            return Vec::new();
        };
        let known: Vec<&str> = traces
            .iter()
            .flat_map(|trace| trace.devices.iter().map(|device| device.name.as_str()))
            .collect();
        if known.is_empty() {
            return Vec::new();
        }
        let missing = wanted.iter().filter(|name| !known.contains(&name.as_str()));
        missing.cloned().collect()
    }
}

impl Summary {
    /// The largest end offset of a request on the wanted devices.
    pub fn end_bytes_of(&self, wanted: &Devices) -> u64 {
        let devices = self.devices.iter().enumerate();
        devices
            .filter(|(index, device)| wanted.includes(*index, &device.name))
            .map(|(_, device)| device.end_bytes)
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Options, Reader};

    const MIB: u64 = 1 << 20;

    fn spec(drives: u32) -> TargetSpec {
        TargetSpec {
            capacity_bytes: None,
            drives,
            chunk_bytes: 512 << 10,
            over_provisioning: 0.07,
            page_bytes: 4096,
            pages_per_block: 256,
            collection: Collection::Greedy,
            separate_moved: true,
            power_on: PowerOn::Filled,
            seed: 1,
        }
    }

    #[test]
    fn capacity_follows_from_the_trace() {
        let capacity = |drives, span| Target::new(spec(drives), span).unwrap().capacity_bytes;
        assert_eq!(capacity(1, 0), 64 * MIB);
        assert_eq!(capacity(1, 100 * MIB), 100 * MIB);
        // Whole chunks on each drive.
        assert_eq!(capacity(3, 300 * MIB + 1), 100 * MIB + MIB / 2);
        let given = TargetSpec {
            capacity_bytes: Some(80 * MIB),
            ..spec(1)
        };
        assert_eq!(
            Target::new(given, 300 * MIB).unwrap().capacity_bytes,
            80 * MIB
        );
        // Too many pages for the model.
        assert!(Target::new(spec(1), u64::MAX).is_err());
    }

    #[test]
    fn array_capacity_is_the_sum_of_its_drives() {
        for drives in [1, 2] {
            let target = Target::new(spec(drives), 0).unwrap();
            let mut built = target.build(&Timing::TLC, interval_ns(None)).unwrap();
            let pages = 64 * MIB / 4096 * u64::from(drives);
            assert_eq!(u64::from(built.device().pages()), pages);
        }
        let odd = TargetSpec {
            chunk_bytes: 100,
            ..spec(2)
        };
        assert!(Target::new(odd, 0).unwrap().build(&Timing::TLC, 1).is_err());
    }

    #[test]
    fn an_interval_is_a_ninetieth_of_the_trace() {
        assert_eq!(interval_ns(Some(90_000_000_000)), 1_000_000_001);
        assert_eq!(interval_ns(Some(0)), 1_000_000);
        assert_eq!(interval_ns(None), 60_000_000_000);
    }

    #[test]
    fn wanted_devices_are_found_by_name() {
        let text = "1,usr,1,Write,0,4096,1\n2,usr,0,Write,4096,4096,1\n";
        let reader = Reader::detect(text.as_bytes(), Options::default()).unwrap();
        let traces = [Summary::of(reader).unwrap()];
        let names = |list: &[&str]| {
            let names: Vec<String> = list.iter().map(|&name| name.to_owned()).collect();
            Devices::of(&names)
        };
        for (wanted, end_bytes, missing) in [
            (names(&[]), 4096, 0),
            (names(&["all"]), 8192, 0),
            (names(&["usr_0"]), 8192, 0),
            (names(&["usr_1"]), 4096, 0),
            (names(&["usr_1", "web"]), 4096, 1),
        ] {
            assert_eq!(traces[0].end_bytes_of(&wanted), end_bytes, "{wanted:?}");
            assert_eq!(wanted.missing(&traces).len(), missing, "{wanted:?}");
        }
        assert!(names(&["web"]).missing(&[]).is_empty());
    }
}
