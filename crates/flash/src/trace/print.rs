//! Writing traces: to create them, and to convert between formats.

use super::{Format, Kind, Record, SECTOR_BYTES, formats};
use std::collections::HashSet;
use std::io::{self, Write};
use thiserror::Error;

/// Why a record cannot be written.
#[derive(Debug, Error)]
pub enum PrintError {
    /// The format cannot represent this type of request.
    #[error("{format} traces know no {kind}")]
    Kind {
        /// The format.
        format: Format,
        /// The request's type.
        kind: Kind,
    },
    /// The format counts in sectors, and this is not a whole number of them.
    #[error("{format} traces count in sectors of 512 bytes, {bytes} is no multiple")]
    NotSectors {
        /// The format.
        format: Format,
        /// The offset or length.
        bytes: u64,
    },
    /// The device's name would not be read back as a name.
    #[error("{format} traces cannot have a device named {name:?}")]
    Name {
        /// The format.
        format: Format,
        /// The name.
        name: String,
    },
    /// The writer failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes records as a trace. [`super::Reader`] reads back the same records, except for times finer
/// than the format's unit.
#[derive(Debug)]
pub struct Printer<W> {
    writer: W,
    format: Format,
    first_ns: u64,
    lines: u64,
    /// Sum of the waits written so far (fio version 2).
    waited_ns: u64,
    /// Files that have been added and opened (fio).
    opened: HashSet<Box<str>>,
}

impl<W: Write> Printer<W> {
    /// Creates a printer; `first_ns` is the time, on the format's own clock, of a record with
    /// `at_ns` 0. fio's first line is written immediately; the CSV formats get no column names,
    /// like the published files.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn new(mut writer: W, format: Format, first_ns: u64) -> io::Result<Self> {
        if let Some(header) = formats::fio_header(format) {
            writer.write_all(header)?;
            writer.write_all(b"\n")?;
        }
        Ok(Self {
            writer,
            format,
            first_ns,
            lines: 0,
            waited_ns: 0,
            opened: HashSet::new(),
        })
    }

    /// Writes a record of the named device; times are rounded down to the format's unit.
    /// `CloudPhysics` traces have no devices, so the name is ignored.
    ///
    /// # Errors
    /// If the format cannot represent the record, or the writer fails.
    pub fn write(&mut self, record: &Record, device: &str) -> Result<(), PrintError> {
        let format = self.format;
        if !format.supports(record.kind) {
            return Err(PrintError::Kind {
                format,
                kind: record.kind,
            });
        }
        self.check_name(device)?;
        let time_ns = self.first_ns.saturating_add(record.at_ns);
        let time = time_ns / format.time_unit_ns();
        let (offset, len) = (record.offset_bytes, record.len_bytes);
        let letter = |read, write| match record.kind {
            Kind::Read => read,
            _ => write,
        };
        self.lines += 1;
        let writer = &mut self.writer;
        match format {
            Format::Msr => {
                let (host, disk) = device.rsplit_once('_').unwrap_or((device, "0"));
                let kind = letter("Read", "Write");
                writeln!(writer, "{time},{host},{disk},{kind},{offset},{len},0")?;
            }
            Format::Alibaba => {
                let kind = letter("R", "W");
                writeln!(writer, "{device},{kind},{offset},{len},{time}")?;
            }
            Format::Tencent => {
                let (offset, len) = sectors(format, record)?;
                let kind = letter("0", "1");
                writeln!(writer, "{time},{offset},{len},{kind},{device}")?;
            }
            Format::CloudPhysics => {
                let code = match record.kind {
                    Kind::Read => "28",
                    Kind::Write => "2a",
                    Kind::Discard => "42",
                    Kind::Flush => "35",
                };
                let (offset, _) = sectors(format, record)?;
                writeln!(writer, "1,{time},{code},{len},{offset}")?;
            }
            Format::Blkparse(action) => {
                let action = char::from(action.letter());
                let (s, ns) = (time / 1_000_000_000, time % 1_000_000_000);
                let line = self.lines;
                write!(
                    writer,
                    "{device:>7}  0 {line:8} {s:5}.{ns:09}     1  {action} "
                )?;
                let (offset, len) = sectors(format, record)?;
                match record.kind {
                    Kind::Read => writeln!(writer, "  R {offset} + {len} [trace]")?,
                    Kind::Write => writeln!(writer, "  W {offset} + {len} [trace]")?,
                    Kind::Discard => writeln!(writer, "  D {offset} + {len} [trace]")?,
                    Kind::Flush => writeln!(writer, " FN [trace]")?,
                }
            }
            Format::FioV2 | Format::FioV3 => {
                let action = match record.kind {
                    Kind::Read => "read",
                    Kind::Write => "write",
                    Kind::Discard => "trim",
                    Kind::Flush => "datasync",
                };
                let stamp = match format {
                    Format::FioV3 => format!("{time} "),
                    _ => String::new(),
                };
                if !self.opened.contains(device) {
                    self.opened.insert(device.into());
                    writeln!(writer, "{stamp}{device} add\n{stamp}{device} open")?;
                }
                let wait_us = record.at_ns.saturating_sub(self.waited_ns) / 1_000;
                if format == Format::FioV2 && wait_us > 0 {
                    self.waited_ns += wait_us * 1_000;
                    writeln!(writer, "{device} wait {wait_us} 0")?;
                }
                writeln!(writer, "{stamp}{device} {action} {offset} {len}")?;
            }
            Format::SsdSim => {
                let (offset, len) = sectors(format, record)?;
                let kind = letter("1", "0");
                writeln!(writer, "{time} {device} {offset} {len} {kind}")?;
            }
        }
        Ok(())
    }

    fn check_name(&self, name: &str) -> Result<(), PrintError> {
        let number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let fits = match self.format {
            Format::CloudPhysics => true,
            Format::Alibaba | Format::Tencent | Format::SsdSim => number(name),
            Format::Blkparse(_) => name
                .split_once(',')
                .is_some_and(|(major, minor)| number(major) && number(minor)),
            Format::Msr => {
                let (host, disk) = name.rsplit_once('_').unwrap_or((name, "0"));
                number(disk)
                    && !host.is_empty()
                    && host.trim() == host
                    && !host.contains([',', '\r', '\n'])
            }
            Format::FioV2 | Format::FioV3 => {
                !name.is_empty()
                    && !name.starts_with('#')
                    && !name.contains([' ', '\t', '\r', '\n'])
            }
        };
        if fits {
            return Ok(());
        }
        Err(PrintError::Name {
            format: self.format,
            name: name.to_owned(),
        })
    }

    /// Returns the writer.
    pub fn into_inner(self) -> W {
        self.writer
    }
}

fn sectors(format: Format, record: &Record) -> Result<(u64, u64), PrintError> {
    // CloudPhysics gives lengths in bytes.
    let len = match format {
        Format::CloudPhysics => 0,
        _ => record.len_bytes,
    };
    for bytes in [record.offset_bytes, len] {
        if bytes % SECTOR_BYTES != 0 {
            return Err(PrintError::NotSectors { format, bytes });
        }
    }
    Ok((record.offset_bytes / SECTOR_BYTES, len / SECTOR_BYTES))
}
