//! Untrusted text, read in pieces of bounded size.

use crate::SourceError;
use facts::InputError;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// Maximum length of a line, record or JSON value, in bytes.
pub(crate) const PIECE_BYTES_MAX: usize = 8 << 20;

/// The lines of a text, numbered from 1, without their line ends.
pub(crate) struct Lines<R> {
    source: String,
    input: R,
    number: usize,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub fn new(source: &str, input: R) -> Self {
        Self {
            source: source.to_owned(),
            input,
            number: 0,
            line: Vec::new(),
        }
    }

    /// Returns whether the line that was returned last has its line end: without one, the text may be cut.
    pub fn has_end(&self) -> bool {
        self.line.ends_with(b"\n")
    }

    /// Returns the next line. Invalid UTF-8 is replaced with replacement characters.
    pub fn next(&mut self) -> Result<Option<(usize, String)>, SourceError> {
        self.line.clear();
        let limit = PIECE_BYTES_MAX as u64 + 1;
        let len = (&mut self.input)
            .take(limit)
            .read_until(b'\n', &mut self.line)
            .map_err(|error| file_error(&self.source, error))?;
        if len == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.line.len() > PIECE_BYTES_MAX {
            return Err(too_long(&self.source).at_line(self.number).into());
        }
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        Ok(Some((
            self.number,
            String::from_utf8_lossy(line).into_owned(),
        )))
    }
}

pub(crate) fn too_long(source: &str) -> InputError {
    InputError::new(
        source,
        format!(
            "lines and records of {} at most",
            units::bytes(PIECE_BYTES_MAX as u64)
        ),
        "a longer one",
    )
}

pub(crate) fn file_error(source: &str, error: io::Error) -> SourceError {
    SourceError::File {
        path: source.to_owned(),
        error,
    }
}

/// Tracks what passed through a [`Bounded`], for its consumer.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputTracker(Rc<RefCell<InputState>>);

#[derive(Debug, Default)]
struct InputState {
    /// Bytes since the end of the last piece.
    piece_bytes: usize,
    /// Total number of bytes.
    bytes: u64,
    /// Offsets of line ends that have not been looked up yet.
    line_ends: VecDeque<u64>,
    /// Number of lines that have.
    lines: usize,
    /// Whether the input has ended.
    has_ended: bool,
}

impl InputTracker {
    /// Marks the end of a piece.
    pub fn end_piece(&self) {
        self.0.borrow_mut().piece_bytes = 0;
    }

    /// Returns whether the current piece is too long.
    pub fn is_too_long(&self) -> bool {
        self.0.borrow().piece_bytes > PIECE_BYTES_MAX
    }

    /// Returns the number of the line, from 1, that contains the byte at `offset`, which must not be
    /// smaller than in the last call.
    pub fn line_at(&self, offset: u64) -> usize {
        let mut passage = self.0.borrow_mut();
        while passage.line_ends.front().is_some_and(|&end| end < offset) {
            passage.line_ends.pop_front();
            passage.lines += 1;
        }
        passage.lines + 1
    }

    /// The same for a piece that begins at `offset`, or after line ends at that offset.
    pub fn line_from(&self, mut offset: u64) -> usize {
        let mut line = self.line_at(offset);
        while self.0.borrow().line_ends.front() == Some(&offset) {
            offset += 1;
            line = self.line_at(offset);
        }
        line
    }

    /// Returns whether the input has ended after exactly this many bytes.
    pub fn has_ended_at(&self, bytes: u64) -> bool {
        let passage = self.0.borrow();
        passage.has_ended && passage.bytes == bytes
    }
}

/// A reader that fails once a piece is too long, so that an unclosed quote does not fill the memory.
pub(crate) struct Bounded<R> {
    input: R,
    passed: InputTracker,
}

impl<R> Bounded<R> {
    pub fn new(input: R) -> (Self, InputTracker) {
        let passed = InputTracker::default();
        let bounded = Self {
            input,
            passed: passed.clone(),
        };
        (bounded, passed)
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.passed.is_too_long() {
            return Err(io::Error::other("a record is too long"));
        }
        let len = self.input.read(buffer)?;
        let mut passage = self.passed.0.borrow_mut();
        let ends = (passage.bytes..)
            .zip(&buffer[..len])
            .filter(|(_, byte)| **byte == b'\n')
            .map(|(offset, _)| offset);
        passage.line_ends.extend(ends);
        passage.has_ended |= len == 0 && !buffer.is_empty();
        passage.piece_bytes += len;
        passage.bytes += len as u64;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_bounded() {
        let mut lines = Lines::new("f", &b"a\r\nb\xff\n\nc"[..]);
        let mut read = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            read.push(line);
        }
        let text = |number, text: &str| (number, text.to_owned());
        assert_eq!(
            read,
            [
                text(1, "a"),
                text(2, "b\u{fffd}"),
                text(3, ""),
                text(4, "c")
            ]
        );
        let endless = std::io::BufReader::new(std::io::repeat(b'x'));
        let error = Lines::new("f", endless).next().unwrap_err().to_string();
        assert_eq!(
            error,
            "f:1: expected lines and records of 8 MiB at most, found \"a longer one\""
        );
    }
}
