//! Recorded requests, streamed.
//!
//! A trace is text, a request a line. [`Reader`] turns it into [`Record`]s, one by one and without a
//! `String`, so that its size does not matter; [`Replay`] sends them to a drive; [`Summary`] says what
//! is in it; [`Printer`] writes one.
//!
//! | format | columns | source |
//! |---|---|---|
//! | [`Format::Msr`] | ticks of 100 ns, host, disk, `Read` or `Write`, offset, length, response time | MSR Cambridge, SNIA IOTTA 388; Narayanan, Donnelly, Rowstron 2008 |
//! | [`Format::Alibaba`] | device, `R` or `W`, offset, length, microseconds | README of alibaba/block-traces |
//! | [`Format::Tencent`] | seconds, offset and length in sectors, 0 (read) or 1 (write), volume | README of Tencent CBS, SNIA IOTTA 27917; Zhang et al. 2020 |
//! | [`Format::CloudPhysics`] | version, seconds, SCSI operation code in hexadecimal, length, first sector | libCacheSim's csv of a vscsiStats trace |
//! | [`Format::Blkparse`] | device, CPU, sequence, seconds, process, action, RWBS, sector `+` sectors | blkparse(1), default format |
//! | [`Format::FioV2`], [`Format::FioV3`] | (v3: microseconds,) file, action, offset, length | fio, HOWTO, "Trace file format" |
//! | [`Format::SsdSim`] | nanoseconds, device, first sector, sectors, 0 (write) or 1 (read) | `SSDSim`, `MQSim` |
//!
//! A sector is 512 bytes. Only blkparse and fio know discards and flushes, `CloudPhysics` where the
//! recorder kept `UNMAP` and `SYNCHRONIZE CACHE`.
//!
//! Lines that end in CR LF, empty lines, lines that begin with `#`, a byte order mark, and one line of
//! column names at the top of a CSV are what they are, in every format. Anything else that is not of the format is
//! an error with its line and column; [`BadLines`] says whether it ends the trace.

mod compressed;
mod detect;
mod devices;
mod error;
mod fields;
mod formats;
mod lines;
mod place;
mod print;
mod reader;
mod replay;
mod summary;
mod target;

pub use compressed::decompressor;
pub use detect::detect;
pub use devices::DEVICES_MAX;
pub use error::{Problem, TraceError};
pub use place::Addresses;
pub use print::{Printer, Unprintable};
pub use reader::{BadLines, ERRORS_KEPT, LINE_BYTES_MAX, Options, Reader, Stats, records};
pub use replay::{Devices, Pace, Replay, ReplaySettings, Replayed, Tally, replay};
pub use summary::{DeviceSummary, Summary};
pub use target::{Drives, Target, TargetError, TargetSpec, interval_ns};

use std::fmt;
use std::str::FromStr;

/// Bytes of the sectors in which traces count.
pub const SECTOR_BYTES: u64 = 512;

/// What was asked of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Data was read.
    Read,
    /// Data was written.
    Write,
    /// A range was declared unused: TRIM, UNMAP, Dataset Management.
    Discard,
    /// The cache was to be written to the medium; without data.
    Flush,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::Flush => "flush",
        })
    }
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds since the first request of the trace; never below that of the record before.
    pub at_ns: u64,
    /// What was asked.
    pub kind: Kind,
    /// First byte, from the start of the device.
    pub offset_bytes: u64,
    /// Bytes; `offset_bytes + len_bytes` fits into 64 bits. 0 for a flush.
    pub len_bytes: u64,
    /// Which device: numbered as they appear, [`Reader::device_name`] tells its name.
    pub device: u32,
}

/// Which of the events of a request's life is taken from blkparse's output.
///
/// Each request appears several times; to count every event would be to count it several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// `Q`: as the filesystem asked. The only one that devices without a queue of their own (device
    /// mapper, md) have.
    Queued,
    /// `D`: as it was sent to the drive, after merging.
    Issued,
}

impl Action {
    /// As blkparse prints it.
    pub(crate) fn letter(self) -> u8 {
        match self {
            Self::Queued => b'Q',
            Self::Issued => b'D',
        }
    }
}

/// A text format; the module's table has their columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// MSR Cambridge CSV. A device is host and disk: `usr_0`.
    Msr,
    /// Alibaba block traces CSV.
    Alibaba,
    /// Tencent CBS CSV.
    Tencent,
    /// `CloudPhysics` as libCacheSim's CSV. It has one device.
    CloudPhysics,
    /// blkparse's text, one event of each request.
    Blkparse(Action),
    /// fio iolog version 2: no times, but waits. A device is a file.
    FioV2,
    /// fio iolog version 3. A device is a file.
    FioV3,
    /// `SSDSim` and `MQSim`.
    SsdSim,
}

impl Format {
    /// Every one.
    pub const ALL: [Self; 9] = [
        Self::Msr,
        Self::Alibaba,
        Self::Tencent,
        Self::CloudPhysics,
        Self::Blkparse(Action::Issued),
        Self::Blkparse(Action::Queued),
        Self::FioV2,
        Self::FioV3,
        Self::SsdSim,
    ];

    /// Its name on a command line; [`Format::from_str`] reads it back, and knows `blkparse` (issued)
    /// and `mqsim` besides.
    pub fn name(self) -> &'static str {
        match self {
            Self::Msr => "msr",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::CloudPhysics => "cloudphysics",
            Self::Blkparse(Action::Issued) => "blkparse-d",
            Self::Blkparse(Action::Queued) => "blkparse-q",
            Self::FioV2 => "fio-v2",
            Self::FioV3 => "fio-v3",
            Self::SsdSim => "ssdsim",
        }
    }

    /// Nanoseconds of the unit in which the format gives its time.
    pub fn time_unit_ns(self) -> u64 {
        match self {
            Self::Msr => 100,
            Self::Alibaba | Self::FioV2 | Self::FioV3 => 1_000,
            Self::Tencent | Self::CloudPhysics => 1_000_000_000,
            Self::Blkparse(_) | Self::SsdSim => 1,
        }
    }

    /// Whether the format can say it.
    pub fn has(self, kind: Kind) -> bool {
        match self {
            Self::Blkparse(_) | Self::FioV2 | Self::FioV3 | Self::CloudPhysics => true,
            Self::Msr | Self::Alibaba | Self::Tencent | Self::SsdSim => {
                matches!(kind, Kind::Read | Kind::Write)
            }
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no format of this name; the message lists those that there are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no trace format {0:?}: expected msr, alibaba, tencent, cloudphysics, blkparse-d, blkparse-q, fio-v2, fio-v3 or ssdsim"
)]
pub struct UnknownFormat(String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        match name {
            "blkparse" => Ok(Self::Blkparse(Action::Issued)),
            "mqsim" => Ok(Self::SsdSim),
            _ => Self::ALL
                .into_iter()
                .find(|format| format.name() == name)
                .ok_or_else(|| UnknownFormat(name.to_owned())),
        }
    }
}
