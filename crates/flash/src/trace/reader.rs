//! An iterator over the records of a trace.

use super::devices::{DEVICES_MAX, Devices};
use super::error::{Problem, TraceError, excerpt};
use super::formats::{self, Parsed};
use super::lines::{Line, Lines};
use super::{Format, Record, detect};
use std::borrow::Cow;
use std::io::Read;

/// Number of errors kept for bad lines; the rest are only counted.
pub const ERRORS_KEPT: usize = 8;

/// Default maximum line length: fio's limit, and longer than any line blkparse writes.
pub const LINE_BYTES_MAX: usize = 4096;

/// What to do with a line that cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BadLines {
    /// The first bad line ends the trace with an error.
    #[default]
    Stop,
    /// Bad lines are skipped and counted, and the first errors are kept in [`Stats`]; one bad line
    /// more than `max` ends the trace with an error.
    Skip {
        /// Maximum number of bad lines.
        max: u64,
    },
}

/// Options for reading a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What to do with bad lines.
    pub bad_lines: BadLines,
    /// Maximum line length in bytes, without the line end.
    pub line_bytes_max: usize,
    /// Unit of the timestamps in nanoseconds, if it is not the format's default: some
    /// `CloudPhysics` tables use microseconds, and `MQSim` can be configured. Ignored for blkparse,
    /// whose seconds have nine decimal places.
    pub time_unit_ns: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bad_lines: BadLines::default(),
            line_bytes_max: LINE_BYTES_MAX,
            time_unit_ns: None,
        }
    }
}

/// Statistics of the lines read so far. Every line counts as one of `records`, `bad_lines`,
/// `ignored` and `blank`, except for the header.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stats {
    /// Lines, including bad ones.
    pub lines: u64,
    /// Requests.
    pub records: u64,
    /// Valid lines that are not requests, or not of the selected event.
    pub ignored: u64,
    /// Empty lines and comments.
    pub blank: u64,
    /// Whether there was a line of column names, or fio's first line.
    pub header: bool,
    /// Lines that could not be parsed.
    pub bad_lines: u64,
    /// The first [`ERRORS_KEPT`] errors.
    pub errors: Vec<TraceError>,
    /// Records earlier than the previous one; they were given its time.
    pub backwards: u64,
    /// Line of the first such record.
    pub backwards_line: Option<u64>,
    /// Largest backwards step.
    pub backwards_max_ns: u64,
    /// Time of the first record in nanoseconds, on the format's own clock (counted from 1601-01-01
    /// for MSR, and from 1970-01-01 for Alibaba and Tencent).
    pub first_ns: Option<u64>,
    /// Whether the last line had no line end: the file may be truncated.
    pub unterminated: bool,
}

/// Reads the records of a trace.
///
/// An iterator over `Result<Record, TraceError>` that ends after the first error. It reads blocks
/// of 64 KiB, so no `BufReader` is needed.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    format: Format,
    unit_ns: u64,
    bad_lines: BadLines,
    devices: Devices,
    stats: Stats,
    /// The position of the line of column names, if any, has been passed.
    begun: bool,
    finished: bool,
    /// Original time of the record whose `at_ns` is 0.
    first_ns: u64,
    last_ns: u64,
    /// Sum of the waits so far (fio version 2).
    waited_ns: u64,
}

/// Reads a trace of a known format with the default [`Options`]: the first bad line ends it.
pub fn records<R: Read>(reader: R, format: Format) -> Reader<R> {
    Reader::new(reader, format, Options::default())
}

impl<R: Read> Reader<R> {
    /// Creates a reader for a known format.
    pub fn new(reader: R, format: Format, options: Options) -> Self {
        Self::with_lines(Lines::new(reader, options.line_bytes_max), format, options)
    }

    /// Creates a reader that detects the format from the first lines ([`detect()`]).
    ///
    /// # Errors
    /// If no format or several match, or the reader fails.
    pub fn detect(reader: R, options: Options) -> Result<Self, TraceError> {
        let mut lines = Lines::new(reader, options.line_bytes_max);
        let (head, whole) = lines.peek().map_err(|error| failed(1, &error))?;
        let format = detect(head, whole)?;
        Ok(Self::with_lines(lines, format, options))
    }

    fn with_lines(lines: Lines<R>, format: Format, options: Options) -> Self {
        Self {
            lines,
            format,
            unit_ns: options.time_unit_ns.unwrap_or(format.time_unit_ns()),
            bad_lines: options.bad_lines,
            devices: Devices::new(),
            stats: Stats::default(),
            begun: false,
            finished: false,
            first_ns: 0,
            last_ns: 0,
            waited_ns: 0,
        }
    }
}

impl<R> Reader<R> {
    /// The given or detected format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Statistics of the lines read so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Number of devices seen so far; device numbers are below it.
    pub fn devices(&self) -> usize {
        self.devices.len()
    }

    /// The name of a device in the trace: `usr_0` for MSR's `usr,0`, the number of a volume, `8,0`,
    /// a file, or `disk` if the format has only one device. `None` if no record had that number
    /// yet.
    pub fn device_name(&self, device: u32) -> Option<String> {
        let name = String::from_utf8_lossy(self.devices.name(device)?);
        if self.format != Format::Msr {
            return Some(name.into_owned());
        }
        // Like the names of MSR's files.
        let name = match name.rsplit_once(',') {
            Some((host, disk)) => Cow::Owned(format!("{}_{}", host.trim(), disk.trim())),
            None => name,
        };
        Some(name.into_owned())
    }

    /// Counts a bad line, and returns the error if it ends the trace.
    #[cold]
    fn bad(&mut self, error: TraceError) -> Option<TraceError> {
        let skipped = self.stats.bad_lines;
        self.stats.bad_lines += 1;
        if self.stats.errors.len() < ERRORS_KEPT {
            self.stats.errors.push(error.clone());
        }
        match self.bad_lines {
            BadLines::Skip { max } if skipped < max => return None,
            BadLines::Stop | BadLines::Skip { max: 0 } => self.finished = true,
            BadLines::Skip { .. } => {
                self.finished = true;
                return Some(TraceError {
                    problem: Problem::TooManyBadLines {
                        skipped,
                        last: Box::new(error.problem),
                    },
                    ..error
                });
            }
        }
        Some(error)
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        'lines: loop {
            let error = 'bad: {
                let mut line = match self.lines.next() {
                    Line::Text(line) => line,
                    Line::End => {
                        self.finished = true;
                        self.stats.unterminated = self.lines.unterminated;
                        return None;
                    }
                    Line::Failed(error) => {
                        self.finished = true;
                        return Some(Err(failed(self.stats.lines + 1, &error)));
                    }
                    Line::TooLong => {
                        self.stats.lines += 1;
                        let max_bytes = self.lines.line_bytes_max();
                        break 'bad whole_line(&self.stats, Problem::LineTooLong { max_bytes });
                    }
                };
                self.stats.lines += 1;
                if !self.begun {
                    match begin(&mut self.stats, self.format, line) {
                        Begin::Blank => continue 'lines,
                        Begin::Header => {
                            self.begun = true;
                            continue 'lines;
                        }
                        Begin::Line(rest) => {
                            self.begun = true;
                            line = rest;
                        }
                        Begin::Invalid(error) => {
                            self.begun = true;
                            break 'bad error;
                        }
                    }
                }
                let request = match formats::parse(self.format, self.unit_ns, line) {
                    Ok(Parsed::Request(request)) => request,
                    Ok(Parsed::Other) => {
                        self.stats.ignored += 1;
                        continue 'lines;
                    }
                    Ok(Parsed::Wait { ns }) => {
                        if let Some(sum) = self.waited_ns.checked_add(ns) {
                            self.waited_ns = sum;
                            self.stats.ignored += 1;
                            continue 'lines;
                        }
                        let found = format!("{} ns and {ns} ns", self.waited_ns);
                        let what = "the sum of all waits";
                        break 'bad whole_line(&self.stats, Problem::TooLarge { what, found });
                    }
                    Err(_) if formats::is_blank_or_comment(line) => {
                        self.stats.blank += 1;
                        continue 'lines;
                    }
                    Err(wrong) => break 'bad wrong.explain(self.stats.lines, line),
                };
                let Some(device) = self.devices.number(request.device) else {
                    self.finished = true;
                    let problem = Problem::TooManyDevices { max: DEVICES_MAX };
                    return Some(Err(whole_line(&self.stats, problem)));
                };
                let (kind, offset_bytes, len_bytes) =
                    (request.kind, request.offset_bytes, request.len_bytes);
                let written_ns = match self.format {
                    Format::FioV2 => self.waited_ns,
                    _ => request.time_ns,
                };
                return Some(Ok(Record {
                    at_ns: self.at_ns(written_ns),
                    kind,
                    offset_bytes,
                    len_bytes,
                    device,
                }));
            };
            if let Some(error) = self.bad(error) {
                return Some(Err(error));
            }
        }
    }
}

impl<R> Reader<R> {
    /// Converts the original time to the time since the first record, and makes it monotonic.
    #[inline]
    fn at_ns(&mut self, written_ns: u64) -> u64 {
        if self.stats.records == 0 {
            self.stats.first_ns = Some(written_ns);
            self.first_ns = written_ns;
            self.last_ns = written_ns;
        }
        self.stats.records += 1;
        if written_ns < self.last_ns {
            self.backwards(written_ns);
        } else {
            self.last_ns = written_ns;
        }
        self.last_ns - self.first_ns
    }

    #[cold]
    fn backwards(&mut self, written_ns: u64) {
        let stats = &mut self.stats;
        stats.backwards += 1;
        stats.backwards_line.get_or_insert(stats.lines);
        stats.backwards_max_ns = stats.backwards_max_ns.max(self.last_ns - written_ns);
    }
}

enum Begin<'a> {
    Blank,
    Header,
    Line(&'a [u8]),
    Invalid(TraceError),
}

/// Handles the lines up to the first request or the line of column names.
#[cold]
fn begin<'a>(stats: &mut Stats, format: Format, line: &'a [u8]) -> Begin<'a> {
    let line = match stats.lines {
        1 => strip_byte_order_mark(line),
        _ => line,
    };
    if formats::is_blank_or_comment(line) {
        stats.blank += 1;
        return Begin::Blank;
    }
    let Some(header) = formats::fio_header(format) else {
        stats.header = formats::is_header(format, line);
        return if stats.header {
            Begin::Header
        } else {
            Begin::Line(line)
        };
    };
    stats.header = line.trim_ascii() == header;
    if stats.header {
        return Begin::Header;
    }
    Begin::Invalid(TraceError {
        line: stats.lines,
        column: Some(1),
        problem: Problem::Expected {
            expected: match format {
                Format::FioV2 => "the line \"fio version 2 iolog\"",
                _ => "the line \"fio version 3 iolog\"",
            },
            found: excerpt(line),
        },
    })
}

/// Removes a byte order mark.
pub(crate) fn strip_byte_order_mark(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text)
}

fn whole_line(stats: &Stats, problem: Problem) -> TraceError {
    TraceError {
        line: stats.lines,
        column: None,
        problem,
    }
}

fn failed(line: u64, error: &std::io::Error) -> TraceError {
    TraceError {
        line,
        column: None,
        problem: Problem::Io {
            kind: error.kind(),
            message: error.to_string(),
        },
    }
}
