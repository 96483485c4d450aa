//! Detection of trace formats.

use super::error::{Problem, TraceError, excerpt};
use super::formats::{self, Parsed};
use super::reader::strip_byte_order_mark;
use super::{Action, Format};

/// Number of lines examined.
const LINES: usize = 64;

/// Detects the format from the beginning of a trace; `whole` means that there is no more data.
///
/// fio's first line and column names determine the format directly. Otherwise up to 64 lines are
/// parsed in every format: the one that parses most of them, and more than half, wins. For
/// blkparse, issued events are used if there are any, otherwise queued ones.
///
/// # Errors
/// If no format parses them, or several do equally well.
pub fn detect(head: &[u8], whole: bool) -> Result<Format, TraceError> {
    let head = strip_byte_order_mark(head);
    // Drop the last line unless it is complete.
    let complete = match head.iter().rposition(|&byte| byte == b'\n') {
        _ if whole => head,
        Some(end) => &head[..end],
        None => head,
    };
    let mut first = None;
    let mut lines = Vec::new();
    for (index, line) in complete.split(|&byte| byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if formats::is_blank_or_comment(line) {
            continue;
        }
        if first.is_none() {
            first = Some((index as u64 + 1, line));
            if let Some(format) = header(line) {
                return Ok(format);
            }
        }
        lines.push(line);
        if lines.len() == LINES {
            break;
        }
    }
    let Some((number, first)) = first else {
        return Err(TraceError {
            line: 1,
            column: None,
            problem: Problem::Empty,
        });
    };
    let mut best = 0;
    let mut formats = Vec::new();
    for format in Format::ALL {
        // These formats are recognized by their first line.
        if formats::fio_header(format).is_some() {
            continue;
        }
        let (read, requests) = count(format, &lines);
        if format == Format::Blkparse(Action::Queued)
            && formats.last() == Some(&Format::Blkparse(Action::Issued))
        {
            // Both parse the same lines.
            if requests > 0 && count(Format::Blkparse(Action::Issued), &lines).1 == 0 {
                formats = vec![format];
            }
        } else if read > best {
            best = read;
            formats = vec![format];
        } else if read == best && read > 0 {
            formats.push(format);
        }
    }
    // One line may hold unknown column names.
    let enough = best * 2 > lines.len() || best > 0 && best + 1 == lines.len();
    let problem = match formats[..] {
        [format] if enough => return Ok(format),
        [_, _, ..] if enough => Problem::AmbiguousFormat { formats },
        _ => Problem::UnknownFormat {
            found: excerpt(first),
        },
    };
    Err(TraceError {
        line: number,
        column: None,
        problem,
    })
}

/// The format identified by a first line alone.
fn header(line: &[u8]) -> Option<Format> {
    let line = line.trim_ascii();
    for format in [Format::FioV2, Format::FioV3] {
        if formats::fio_header(format) == Some(line) {
            return Some(format);
        }
    }
    let columns: Vec<Vec<u8>> = line
        .split(|&byte| byte == b',')
        .map(|column| column.trim_ascii().to_ascii_lowercase())
        .collect();
    let names: Vec<&[u8]> = columns.iter().map(AsRef::as_ref).collect();
    match names[..] {
        [b"timestamp", b"hostname", ..] => Some(Format::Msr),
        [b"device_id", b"opcode", ..] => Some(Format::Alibaba),
        [b"timestamp", b"offset", b"size", b"iotype", b"volumeid"] => Some(Format::Tencent),
        [b"version", b"time", b"op", ..] => Some(Format::CloudPhysics),
        _ => None,
    }
}

/// Number of lines that parse, and number of requests among them.
fn count(format: Format, lines: &[&[u8]]) -> (usize, usize) {
    let mut read = 0;
    let mut requests = 0;
    for line in lines {
        match formats::parse(format, format.time_unit_ns(), line) {
            Ok(Parsed::Request(_)) => {
                read += 1;
                requests += 1;
            }
            Ok(_) => read += 1,
            Err(_) => {}
        }
    }
    (read, requests)
}
