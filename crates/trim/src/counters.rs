//! Samples the counters of the drives below a filesystem, and the host's I/O pressure.

use crate::clock::Clock;
use linux::counters::{CounterError, DeviceCounters, parse_diskstats, parse_pressure};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One reading of all counters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sample {
    /// When the sample was taken, on the monotonic clock.
    pub at: Duration,
    /// Counters by kernel name, for the requested devices.
    pub devices: BTreeMap<String, DeviceCounters>,
    /// Total of the `some` line of /proc/pressure/io in microseconds; `None` before kernel 4.20.
    pub io_pressure_us: Option<u64>,
}

/// A source of counter samples.
pub trait CounterSource {
    /// Reads all counters.
    ///
    /// # Errors
    /// See [`CounterError`].
    fn sample(&mut self) -> Result<Sample, CounterError>;
}

/// Counters of this host.
#[derive(Debug)]
pub struct HostCounters<C> {
    proc_dir: PathBuf,
    devices: Vec<String>,
    clock: C,
}

/// Attempts before a device is reported gone: the kernel produces the list page by page, and a
/// device that appears or disappears between two pages shifts the rest.
const READ_ATTEMPTS: usize = 3;

impl<C: Clock> HostCounters<C> {
    /// Watches the given devices (kernel names, as in /sys/class/block) through `proc_dir`, usually
    /// `/proc`.
    pub fn new(proc_dir: PathBuf, devices: Vec<String>, clock: C) -> Self {
        Self {
            proc_dir,
            devices,
            clock,
        }
    }

    fn devices(&self) -> Result<BTreeMap<String, DeviceCounters>, CounterError> {
        let path = self.proc_dir.join("diskstats");
        let mut missing = None;
        for _ in 0..READ_ATTEMPTS {
            let text = read(&path).map_err(|error| unreadable(&path, &error))?;
            let devices = parse_diskstats(&text, &self.devices).map_err(|e| at(&path, e))?;
            missing = self
                .devices
                .iter()
                .find(|device| !devices.contains_key(*device));
            if missing.is_none() {
                return Ok(devices);
            }
        }
        Err(CounterError::Gone {
            device: missing.cloned().unwrap_or_default(),
        })
    }

    fn io_pressure_us(&self) -> Result<Option<u64>, CounterError> {
        let path = self.proc_dir.join("pressure/io");
        match read(&path) {
            Ok(text) => parse_pressure(&text).map(Some).map_err(|e| at(&path, e)),
            // The file does not exist before 4.20 and is unsupported when booted with psi=0.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::Unsupported
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(unreadable(&path, &error)),
        }
    }
}

impl<C: Clock> CounterSource for HostCounters<C> {
    fn sample(&mut self) -> Result<Sample, CounterError> {
        let devices = self.devices()?;
        Ok(Sample {
            at: self.clock.elapsed(),
            devices,
            io_pressure_us: self.io_pressure_us()?,
        })
    }
}

fn read(path: &Path) -> io::Result<String> {
    std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn unreadable(path: &Path, error: &io::Error) -> CounterError {
    CounterError::Unreadable {
        path: path.display().to_string(),
        message: error.to_string(),
    }
}

/// Adds the path, which the parsers do not know.
fn at(path: &Path, error: CounterError) -> CounterError {
    match error {
        CounterError::Unreadable { message, .. } => CounterError::Unreadable {
            path: path.display().to_string(),
            message,
        },
        gone @ CounterError::Gone { .. } => gone,
    }
}

#[cfg(test)]
mod tests;
