//! Recorded block traces, streamed.
//!
//! A trace is text with one request per line. [`Reader`] parses it into [`Record`]s one by one,
//! without allocating, so traces may be arbitrarily large; [`Replay`] sends them to a drive;
//! [`Summary`] describes their content; [`Printer`] writes a trace.
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
//! A sector is 512 bytes. Only blkparse and fio record discards and flushes; `CloudPhysics` does if
//! the recorder kept `UNMAP` and `SYNCHRONIZE CACHE`.
//!
//! All formats accept CR LF line ends, empty lines, lines that begin with `#`, a byte order mark,
//! and one line of column names at the top of a CSV. Anything else that does not match the format
//! is an error with its line and column; [`BadLines`] says whether it ends the trace.

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
pub use print::{PrintError, Printer};
pub use reader::{BadLines, ERRORS_KEPT, LINE_BYTES_MAX, Options, Reader, Stats, records};
pub use replay::{Devices, Pace, Replay, ReplaySettings, Replayed, Tally, replay};
pub use summary::{DeviceSummary, Summary};
pub use target::{Drives, Target, TargetError, TargetSpec, interval_ns};

use std::fmt;
use std::str::FromStr;

/// Bytes per sector, the unit in which traces count.
pub const SECTOR_BYTES: u64 = 512;

/// Type of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Discard: TRIM, UNMAP, Dataset Management.
    Discard,
    /// Flush of the cache to the medium; carries no data.
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

/// One request of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds since the first request of the trace; never less than in the previous record.
    pub at_ns: u64,
    /// Type of the request.
    pub kind: Kind,
    /// First byte, from the start of the device.
    pub offset_bytes: u64,
    /// Length in bytes, 0 for a flush; `offset_bytes + len_bytes` fits into 64 bits.
    pub len_bytes: u64,
    /// Device number, in order of appearance; [`Reader::device_name`] returns its name.
    pub device: u32,
}

/// Which event of a request is read from blkparse's output.
///
/// Each request appears several times, so counting every event would count it several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// `Q`: as issued by the filesystem. The only event of devices without their own queue (device
    /// mapper, md).
    Queued,
    /// `D`: as sent to the drive, after merging.
    Issued,
}

impl Action {
    /// The letter blkparse prints.
    pub(crate) fn letter(self) -> u8 {
        match self {
            Self::Queued => b'Q',
            Self::Issued => b'D',
        }
    }
}

/// A text format; see the module's table for its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// MSR Cambridge CSV. A device is a host and a disk: `usr_0`.
    Msr,
    /// Alibaba block traces CSV.
    Alibaba,
    /// Tencent CBS CSV.
    Tencent,
    /// `CloudPhysics` in libCacheSim's CSV format. It has one device.
    CloudPhysics,
    /// blkparse's text output, one event per request.
    Blkparse(Action),
    /// fio iolog version 2, which has waits instead of timestamps. A device is a file.
    FioV2,
    /// fio iolog version 3. A device is a file.
    FioV3,
    /// `SSDSim` and `MQSim`.
    SsdSim,
}

impl Format {
    /// All formats.
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

    /// The name on the command line. [`Format::from_str`] parses it, and also accepts `blkparse`
    /// (issued) and `mqsim`.
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

    /// Unit of the format's timestamps, in nanoseconds.
    pub fn time_unit_ns(self) -> u64 {
        match self {
            Self::Msr => 100,
            Self::Alibaba | Self::FioV2 | Self::FioV3 => 1_000,
            Self::Tencent | Self::CloudPhysics => 1_000_000_000,
            Self::Blkparse(_) | Self::SsdSim => 1,
        }
    }

    /// Whether the format can represent this type of request.
    pub fn supports(self, kind: Kind) -> bool {
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

/// An unknown format name; the message lists the known ones.
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
