//! Summary of a trace.

use super::replay::Tally;
use super::{Format, Kind, Reader, Stats, TraceError};
use std::io::Read;

/// Summary of one device of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceSummary {
    /// Name, see [`Reader::device_name`].
    pub name: String,
    /// Reads.
    pub reads: Tally,
    /// Writes.
    pub writes: Tally,
    /// Discards.
    pub discards: Tally,
    /// Flushes.
    pub flushes: u64,
    /// The largest end offset of a request, a lower bound for the size of the device.
    pub end_bytes: u64,
}

/// Summary of a trace, in one pass; memory grows only with the number of devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The format.
    pub format: Format,
    /// The devices in order of appearance.
    pub devices: Vec<DeviceSummary>,
    /// Time from the first record to the last.
    pub duration_ns: u64,
    /// Statistics of the lines read.
    pub stats: Stats,
}

impl Summary {
    /// Reads a trace to its end.
    ///
    /// # Errors
    /// If the reader fails.
    pub fn of<R: Read>(mut trace: Reader<R>) -> Result<Self, TraceError> {
        let mut devices: Vec<DeviceSummary> = Vec::new();
        let mut duration_ns = 0;
        while let Some(record) = trace.next() {
            let record = record?;
            let index = record.device as usize;
            if index >= devices.len() {
                devices.resize_with(index + 1, DeviceSummary::default);
                devices[index].name = trace.device_name(record.device).unwrap_or_default();
            }
            let device = &mut devices[index];
            match record.kind {
                Kind::Read => device.reads.add(&record),
                Kind::Write => device.writes.add(&record),
                Kind::Discard => device.discards.add(&record),
                Kind::Flush => device.flushes += 1,
            }
            let end_bytes = record.offset_bytes.saturating_add(record.len_bytes);
            device.end_bytes = device.end_bytes.max(end_bytes);
            duration_ns = record.at_ns;
        }
        Ok(Self {
            format: trace.format(),
            devices,
            duration_ns,
            stats: trace.stats().clone(),
        })
    }

    /// The largest end offset of a request on any device, as needed by [`super::Addresses::Scale`].
    pub fn end_bytes(&self) -> u64 {
        let ends = self.devices.iter().map(|device| device.end_bytes);
        ends.max().unwrap_or(0)
    }
}
