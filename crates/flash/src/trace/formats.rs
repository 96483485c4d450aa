//! Line parsers, one per format.

use super::error::ParseError;
use super::fields::Cursor;
use super::{Action, Format, Kind, SECTOR_BYTES};

/// The content of a line.
pub(crate) enum Parsed<'a> {
    /// A request.
    Request(Request<'a>),
    /// A pause (fio version 2).
    Wait { ns: u64 },
    /// Valid but not a wanted request: another event of a request, a file being opened, a command
    /// without data.
    Other,
}

/// A record with its original timestamp, and a device that is not numbered yet.
pub(crate) struct Request<'a> {
    pub time_ns: u64,
    pub kind: Kind,
    pub offset_bytes: u64,
    pub len_bytes: u64,
    pub device: &'a [u8],
}

/// Parses a line; `unit_ns` is the unit of its timestamp.
#[inline]
pub(crate) fn parse(format: Format, unit_ns: u64, line: &[u8]) -> Result<Parsed<'_>, ParseError> {
    match format {
        Format::Msr => msr(line, unit_ns),
        Format::Alibaba => alibaba(line, unit_ns),
        Format::Tencent => tencent(line, unit_ns),
        Format::CloudPhysics => cloud_physics(line, unit_ns),
        Format::Blkparse(action) => blkparse(line, action),
        Format::FioV2 => fio(line, None, unit_ns),
        Format::FioV3 => fio(line, Some(unit_ns), unit_ns),
        Format::SsdSim => ssd_sim(line, unit_ns),
    }
}

/// Whether the line is empty or a comment.
pub(crate) fn is_blank_or_comment(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start(), [] | [b'#', ..])
}

/// The first line of a fio trace.
pub(crate) fn fio_header(format: Format) -> Option<&'static [u8]> {
    match format {
        Format::FioV2 => Some(b"fio version 2 iolog"),
        Format::FioV3 => Some(b"fio version 3 iolog"),
        _ => None,
    }
}

/// Whether the line holds column names: it begins with a letter, in a format whose first column is
/// a number.
pub(crate) fn is_header(format: Format, line: &[u8]) -> bool {
    let numbers_first = matches!(
        format,
        Format::Msr | Format::Alibaba | Format::Tencent | Format::CloudPhysics | Format::SsdSim
    );
    numbers_first
        && line
            .trim_ascii_start()
            .first()
            .is_some_and(u8::is_ascii_alphabetic)
}

const OFFSET: &str = "the offset in bytes";
const LENGTH: &str = "the length in bytes";
const SECTOR: &str = "the first sector";
const SECTORS: &str = "the number of sectors";

/// Builds a request; the range of a flush is dropped.
#[inline]
fn request(
    time_ns: u64,
    kind: Kind,
    offset_bytes: u64,
    len_bytes: u64,
    device: &[u8],
) -> Parsed<'_> {
    let (offset_bytes, len_bytes) = match kind {
        Kind::Flush => (0, 0),
        _ => (offset_bytes, len_bytes),
    };
    Parsed::Request(Request {
        time_ns,
        kind,
        offset_bytes,
        len_bytes,
        device,
    })
}

/// Parses the letter or digit for the request type; the first byte means read, the second write.
#[inline]
fn read_or_write(
    cursor: &mut Cursor,
    [read, write]: [u8; 2],
    expected: &'static str,
) -> Result<Kind, ParseError> {
    if cursor.take(read) {
        Ok(Kind::Read)
    } else if cursor.take(write) {
        Ok(Kind::Write)
    } else {
        Err(cursor.expected(expected))
    }
}

#[inline]
fn msr(line: &[u8], unit_ns: u64) -> Result<Parsed<'_>, ParseError> {
    let mut cursor = Cursor::new(line);
    cursor.blanks();
    let time_ns = cursor.number_of("the timestamp", unit_ns)?;
    cursor.comma()?;
    let start = cursor.at();
    cursor.text("the host")?;
    cursor.comma()?;
    cursor.number("the disk number")?;
    let device = &line[start..cursor.at()];
    cursor.comma()?;
    let at = cursor.at();
    let kind = match cursor.text("Read or Write")? {
        b"Read" => Kind::Read,
        b"Write" => Kind::Write,
        other if other.eq_ignore_ascii_case(b"read") => Kind::Read,
        other if other.eq_ignore_ascii_case(b"write") => Kind::Write,
        _ => {
            cursor.back_to(at);
            return Err(cursor.expected("Read or Write"));
        }
    };
    cursor.comma()?;
    let offset_bytes = cursor.number(OFFSET)?;
    cursor.comma()?;
    let len_bytes = cursor.length(LENGTH, 1, offset_bytes)?;
    cursor.comma()?;
    cursor.number("the response time")?;
    cursor.end()?;
    Ok(request(time_ns, kind, offset_bytes, len_bytes, device))
}

#[inline]
fn alibaba(line: &[u8], unit_ns: u64) -> Result<Parsed<'_>, ParseError> {
    let mut cursor = Cursor::new(line);
    cursor.blanks();
    let device = cursor.id("the device number")?;
    cursor.comma()?;
    let kind = read_or_write(&mut cursor, *b"RW", "R or W")?;
    cursor.comma()?;
    let offset_bytes = cursor.number(OFFSET)?;
    cursor.comma()?;
    let len_bytes = cursor.length(LENGTH, 1, offset_bytes)?;
    cursor.comma()?;
    let time_ns = cursor.number_of("the timestamp", unit_ns)?;
    cursor.end()?;
    Ok(request(time_ns, kind, offset_bytes, len_bytes, device))
}

#[inline]
fn tencent(line: &[u8], unit_ns: u64) -> Result<Parsed<'_>, ParseError> {
    let mut cursor = Cursor::new(line);
    cursor.blanks();
    let time_ns = cursor.number_of("the timestamp", unit_ns)?;
    cursor.comma()?;
    let offset_bytes = cursor.number_of(SECTOR, SECTOR_BYTES)?;
    cursor.comma()?;
    let len_bytes = cursor.length(SECTORS, SECTOR_BYTES, offset_bytes)?;
    cursor.comma()?;
    let kind = read_or_write(&mut cursor, *b"01", "0 (read) or 1 (write)")?;
    cursor.comma()?;
    let device = cursor.id("the volume number")?;
    cursor.end()?;
    Ok(request(time_ns, kind, offset_bytes, len_bytes, device))
}

/// Operation codes are those of SBC-4. `UNMAP` keeps its ranges outside of the command block, so
/// the CSV's columns are used.
#[inline]
fn cloud_physics(line: &[u8], unit_ns: u64) -> Result<Parsed<'_>, ParseError> {
    let mut cursor = Cursor::new(line);
    cursor.blanks();
    if !cursor.take(b'1') && !cursor.take(b'2') {
        return Err(cursor.expected("the version, 1 or 2"));
    }
    cursor.comma()?;
    let time_ns = cursor.number_of("the time", unit_ns)?;
    cursor.comma()?;
    let at = cursor.at();
    let code = match cursor.text("the operation code")? {
        [low] => hex(*low),
        [high, low] => hex(*high).zip(hex(*low)).map(|(high, low)| high << 4 | low),
        _ => None,
    };
    let Some(code) = code else {
        cursor.back_to(at);
        return Err(cursor.expected("the operation code, two hexadecimal digits"));
    };
    cursor.comma()?;
    let bytes_at = cursor.at();
    cursor.number(LENGTH)?;
    cursor.comma()?;
    let offset_bytes = cursor.number_of(SECTOR, SECTOR_BYTES)?;
    cursor.end()?;
    cursor.back_to(bytes_at);
    let len_bytes = cursor.length(LENGTH, 1, offset_bytes)?;
    let kind = match code {
        // READ (6), (10), (16), (12).
        0x08 | 0x28 | 0x88 | 0xa8 => Kind::Read,
        // WRITE (6), (10), (16), (12), WRITE AND VERIFY, WRITE SAME.
        0x0a | 0x2a | 0x8a | 0xaa | 0x2e | 0x8e | 0xae | 0x41 | 0x93 => Kind::Write,
        0x42 => Kind::Discard,
        // SYNCHRONIZE CACHE (10), (16).
        0x35 | 0x91 => Kind::Flush,
        _ => return Ok(Parsed::Other),
    };
    Ok(request(time_ns, kind, offset_bytes, len_bytes, b"disk"))
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Starts of lines that blkparse prints after the last event, and of the file names before the
/// first.
const SUMMARY: [&[u8]; 12] = [
    b"CPU",
    b"Total (",
    b"Reads ",
    b"Read ",
    b"PC Reads ",
    b"PC Read ",
    b"IO unplugs:",
    b"Throughput (",
    b"Events (",
    b"Skips: ",
    b"Input file ",
    b"Trace started at ",
];

#[inline]
fn blkparse(line: &[u8], wanted: Action) -> Result<Parsed<'_>, ParseError> {
    let mut cursor = Cursor::new(line);
    cursor.blanks();
    if cursor.rest().first().is_some_and(u8::is_ascii_alphabetic)
        && SUMMARY.iter().any(|start| cursor.rest().starts_with(start))
    {
        return Ok(Parsed::Other);
    }
    let start = cursor.at();
    cursor.number("a device, major,minor")?;
    if !cursor.take(b',') {
        return Err(cursor.expected("a comma and the minor device number"));
    }
    cursor.number("the minor device number")?;
    let device = &line[start..cursor.at()];
    cursor.gap()?;
    cursor.number("the CPU")?;
    cursor.gap()?;
    cursor.number("the sequence number")?;
    cursor.gap()?;
    let time_ns = cursor.seconds_ns("the time in seconds")?;
    cursor.gap()?;
    cursor.number("the process number")?;
    cursor.gap()?;
    let at = cursor.at();
    let action = cursor.word("an action")?;
    if action != [wanted.letter()] {
        if !action.iter().all(u8::is_ascii_alphabetic) || action.len() > 2 {
            cursor.back_to(at);
            return Err(cursor.expected("an action, one or two letters"));
        }
        return Ok(Parsed::Other);
    }
    cursor.gap()?;
    let at = cursor.at();
    let rwbs = cursor.word("RWBS, such as W or DS")?;
    let (flushes, operation) = match rwbs {
        [b'F', operation, ..] => (true, *operation),
        [b'F'] => (true, b'N'),
        [operation, ..] => (false, *operation),
        [] => (false, 0),
    };
    let flush = request(time_ns, Kind::Flush, 0, 0, device);
    let kind = match operation {
        b'R' => Kind::Read,
        b'W' => Kind::Write,
        b'D' => Kind::Discard,
        // A separate flush: FN, or FF and flags.
        _ if flushes => return Ok(flush),
        b'N' => return Ok(Parsed::Other),
        _ => {
            cursor.back_to(at);
            return Err(cursor.expected("RWBS that begins with R, W, D, N or F"));
        }
    };
    cursor.blanks();
    if matches!(cursor.rest(), [] | [b'[', ..]) {
        // No data: a flush in the form of an empty write.
        return Ok(if flushes { flush } else { Parsed::Other });
    }
    let offset_at = cursor.at();
    cursor.number(SECTOR)?;
    cursor.blanks();
    if !cursor.take(b'+') {
        // A command that bypasses the block layer: its length, then its bytes.
        if matches!(cursor.rest(), [] | [b'(' | b'[', ..]) {
            return Ok(Parsed::Other);
        }
        return Err(cursor.expected("+ and the number of sectors"));
    }
    let plus_at = cursor.at();
    cursor.back_to(offset_at);
    let offset_bytes = cursor.number_of(SECTOR, SECTOR_BYTES)?;
    cursor.back_to(plus_at);
    cursor.blanks();
    let len_bytes = cursor.length(SECTORS, SECTOR_BYTES, offset_bytes)?;
    if !matches!(cursor.rest(), [] | [b' ' | b'\t', ..]) {
        return Err(cursor.expected("a space"));
    }
    Ok(request(time_ns, kind, offset_bytes, len_bytes, device))
}

/// Version 3 lines begin with a timestamp. `unit_ns` is the unit of version 2's waits.
#[inline]
fn fio(line: &[u8], time_unit_ns: Option<u64>, unit_ns: u64) -> Result<Parsed<'_>, ParseError> {
    let mut cursor = Cursor::new(line);
    cursor.blanks();
    let time_ns = match time_unit_ns {
        Some(unit_ns) => {
            let time_ns = cursor.number_of("the timestamp", unit_ns)?;
            cursor.gap()?;
            time_ns
        }
        None => 0,
    };
    if cursor.rest().first() == Some(&b'#') {
        return Err(cursor.expected("a file"));
    }
    let device = cursor.word("a file")?;
    cursor.gap()?;
    let at = cursor.at();
    let action = cursor.word("an action")?;
    cursor.blanks();
    if cursor.rest().is_empty() {
        if matches!(action, b"add" | b"open" | b"close") {
            return Ok(Parsed::Other);
        }
        if matches!(
            action,
            b"read" | b"write" | b"trim" | b"sync" | b"datasync" | b"wait"
        ) {
            return Err(cursor.expected("an offset and a length"));
        }
        cursor.back_to(at);
        return Err(cursor.expected("add, open or close, or an action with offset and length"));
    }
    let kind = match action {
        b"read" => Kind::Read,
        b"write" => Kind::Write,
        b"trim" => Kind::Discard,
        b"sync" | b"datasync" | b"syncfs" => Kind::Flush,
        b"sync_file_range" => return Ok(Parsed::Other),
        b"wait" if time_unit_ns.is_none() => {
            let ns = cursor.number_of("the microseconds to wait", unit_ns)?;
            cursor.gap()?;
            cursor.number(LENGTH)?;
            cursor.end()?;
            return Ok(Parsed::Wait { ns });
        }
        _ => {
            cursor.back_to(at);
            return Err(
                cursor.expected("read, write, trim, sync, datasync (or wait, in version 2)")
            );
        }
    };
    let offset_bytes = cursor.number(OFFSET)?;
    cursor.gap()?;
    let len_bytes = cursor.length(LENGTH, 1, offset_bytes)?;
    cursor.end()?;
    Ok(request(time_ns, kind, offset_bytes, len_bytes, device))
}

#[inline]
fn ssd_sim(line: &[u8], unit_ns: u64) -> Result<Parsed<'_>, ParseError> {
    let mut cursor = Cursor::new(line);
    cursor.blanks();
    let time_ns = cursor.number_of("the arrival time", unit_ns)?;
    cursor.gap()?;
    let device = cursor.id("the device number")?;
    cursor.gap()?;
    let offset_bytes = cursor.number_of(SECTOR, SECTOR_BYTES)?;
    cursor.gap()?;
    let len_bytes = cursor.length(SECTORS, SECTOR_BYTES, offset_bytes)?;
    cursor.gap()?;
    let kind = read_or_write(&mut cursor, *b"10", "0 (write) or 1 (read)")?;
    cursor.end()?;
    Ok(request(time_ns, kind, offset_bytes, len_bytes, device))
}
