//! What is in a trace.

use super::replay::Tally;
use super::{Format, Kind, Reader, Stats, TraceError};
use std::io::Read;

/// A device of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceSummary {
    /// As [`Reader::device_name`] has it.
    pub name: String,
    /// Reads.
    pub reads: Tally,
    /// Writes.
    pub writes: Tally,
    /// Discards.
    pub discards: Tally,
    /// Flushes.
    pub flushes: u64,
    /// The furthest end of a request: the device is at least as large.
    pub end_bytes: u64,
}

/// A trace's devices, read once from begin to end; memory grows with their number only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The format.
    pub format: Format,
    /// Devices in the order in which they appear.
    pub devices: Vec<DeviceSummary>,
    /// From the first record to the last.
    pub duration_ns: u64,
    /// What was read.
    pub stats: Stats,
}

impl Summary {
    /// Reads a trace to its end.
    ///
    /// # Errors
    /// The reader's.
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

    /// The furthest end of a request on any device: what [`super::Addresses::Scale`] asks for.
    pub fn end_bytes(&self) -> u64 {
        let ends = self.devices.iter().map(|device| device.end_bytes);
        ends.max().unwrap_or(0)
    }
}
