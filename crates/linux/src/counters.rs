//! Counters of block devices and of pressure stall information (PSI).
//!
//! /proc/diskstats has one line per device: major, minor, name, and 11 counters; since kernel 4.18
//! four more for discards, since 5.5 two for flushes (Documentation/admin-guide/iostats.rst). A
//! sector is 512 bytes there, whatever the device's own block size. Times are printed as unsigned
//! 32-bit milliseconds (block/genhd.c), so they wrap after 49 days of busy time: take differences
//! with [`ms_between`].

use std::collections::BTreeMap;

/// Counters of one device since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeviceCounters {
    /// Reads completed.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Milliseconds spent on reads, summed over requests.
    pub read_ms: u64,
    /// Bytes written. Before kernel 4.18 this includes discards.
    pub written_bytes: u64,
    /// Writes completed.
    pub writes: u64,
    /// Milliseconds spent on writes.
    pub write_ms: u64,
    /// Requests currently in flight.
    pub in_flight: u64,
    /// Milliseconds in which requests were in flight.
    pub busy_ms: u64,
    /// Milliseconds spent on requests of all kinds, summed over requests. Before kernel 5.7 an estimate.
    pub weighted_ms: u64,
    /// Discards completed; `None` before kernel 4.18.
    pub discards: Option<u64>,
    /// Bytes discarded; `None` before kernel 4.18.
    pub discarded_bytes: Option<u64>,
    /// Milliseconds spent on discards.
    pub discard_ms: Option<u64>,
    /// Flushes completed; `None` before kernel 5.5.
    pub flushes: Option<u64>,
    /// Milliseconds spent on flushes.
    pub flush_ms: Option<u64>,
}

/// Why no sample could be taken.
#[derive(Debug, thiserror::Error)]
pub enum CounterError {
    /// A device no longer exists.
    #[error("{device} is gone: it is no longer in /proc/diskstats")]
    Gone {
        /// Kernel name of the device.
        device: String,
    },
    /// A file could not be read or parsed.
    #[error("{path}: {message}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// What went wrong.
        message: String,
    },
}

/// Returns the milliseconds between two values of a time counter, which wraps at 32 bits.
pub fn ms_between(before: u64, after: u64) -> u64 {
    if after >= before {
        after - before
    } else if u32::try_from(before).is_ok() {
        after + (1 << 32) - before
    } else {
        0
    }
}

/// Columns without discard counters: kernel 2.6.25 and later, including partitions.
const COLUMNS_MIN: usize = 14;
/// Columns with discard counters.
const COLUMNS_DISCARD: usize = 18;
/// Columns with flush counters as well.
const COLUMNS_FLUSH: usize = 20;
const SECTOR_BYTES: u64 = 512;

/// Parses the lines of /proc/diskstats that belong to `devices`; a device that is not listed is
/// absent from the result. Lines of other devices are ignored, whatever they contain.
///
/// Kernel names are compared as sysfs writes them: `cciss!c0d0` is `cciss/c0d0` in this file. If a
/// name appears twice the later line wins (the list may change while it is read).
///
/// # Errors
/// [`CounterError::Unreadable`] if a requested line has too few columns (partitions before kernel
/// 2.6.25) or a column is not a number.
pub fn parse_diskstats(
    text: &str,
    devices: &[String],
) -> Result<BTreeMap<String, DeviceCounters>, CounterError> {
    let mut found = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let Some(listed) = columns.get(2) else {
            continue;
        };
        let Some(device) = devices.iter().find(|device| same_name(device, listed)) else {
            continue;
        };
        let counters = parse_columns(&columns).map_err(|message| CounterError::Unreadable {
            path: "diskstats".to_owned(),
            message: format!("line {}, {device}: {message}", index + 1),
        })?;
        found.insert(device.clone(), counters);
    }
    Ok(found)
}

fn same_name(kernel_name: &str, listed: &str) -> bool {
    kernel_name.len() == listed.len()
        && kernel_name
            .bytes()
            .zip(listed.bytes())
            .all(|(a, b)| a == b || (a == b'!' && b == b'/'))
}

/// Parses the columns of a line of /proc/diskstats.
///
/// # Errors
/// Why these are none: there are too few, or one is not a number.
pub fn parse_columns(columns: &[&str]) -> Result<DeviceCounters, String> {
    if columns.len() < COLUMNS_MIN {
        return Err(format!(
            "{} columns, expected {COLUMNS_MIN} or more",
            columns.len()
        ));
    }
    let number = |column: usize| {
        let text = columns[column];
        text.parse::<u64>().map_err(|_| {
            // Untrusted text: show only the beginning.
            let shown: String = text.chars().take(32).collect();
            format!("column {}: {shown:?} is no count", column + 1)
        })
    };
    let bytes = |column: usize| number(column).map(|sectors| sectors.saturating_mul(SECTOR_BYTES));
    let from = |columns_min: usize, value: &dyn Fn(usize) -> Result<u64, String>, column: usize| {
        (columns.len() >= columns_min)
            .then(|| value(column))
            .transpose()
    };
    Ok(DeviceCounters {
        reads: number(3)?,
        read_bytes: bytes(5)?,
        read_ms: number(6)?,
        writes: number(7)?,
        written_bytes: bytes(9)?,
        write_ms: number(10)?,
        // Some kernels let it drop below zero and print it as unsigned.
        in_flight: number(11).map(|count| if count > 1 << 30 { 0 } else { count })?,
        busy_ms: number(12)?,
        weighted_ms: number(13)?,
        discards: from(COLUMNS_DISCARD, &number, 14)?,
        discarded_bytes: from(COLUMNS_DISCARD, &bytes, 16)?,
        discard_ms: from(COLUMNS_DISCARD, &number, 17)?,
        flushes: from(COLUMNS_FLUSH, &number, 18)?,
        flush_ms: from(COLUMNS_FLUSH, &number, 19)?,
    })
}

/// Parses the `some` total of a pressure file, in microseconds.
///
/// # Errors
/// [`CounterError::Unreadable`] if there is none.
pub fn parse_pressure(text: &str) -> Result<u64, CounterError> {
    text.lines()
        .find_map(|line| line.strip_prefix("some "))
        .and_then(|some| {
            some.split_ascii_whitespace()
                .find_map(|pair| pair.strip_prefix("total="))
        })
        .and_then(|total| total.parse().ok())
        .ok_or_else(|| CounterError::Unreadable {
            path: "pressure/io".to_owned(),
            message: "expected a line \"some ... total=MICROSECONDS\"".to_owned(),
        })
}

#[cfg(test)]
mod tests;
