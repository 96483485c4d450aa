//! Splits a reader into lines of bounded length, copying only lines cut by the end of the buffer.

use std::io::{self, Read};

/// Read size: few system calls, and it stays in the core's cache.
const BUFFER_BYTES: usize = 64 << 10;

/// The next item of the stream.
pub(crate) enum Line<'a> {
    /// A line without its LF or CR LF.
    Text(&'a [u8]),
    /// A line longer than the limit; the next call skips the rest of it.
    TooLong,
    /// The reader failed; the rest of the stream is lost.
    Failed(io::Error),
    /// End of the stream.
    End,
}

/// A reader that returns lines.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Start of the data not returned yet.
    start: usize,
    end: usize,
    at_end: bool,
    /// Skipping the rest of a line that was too long.
    skipping: bool,
    /// The last line had no line end: the file may be truncated.
    pub unterminated: bool,
    line_bytes_max: usize,
}

impl<R: Read> Lines<R> {
    /// Creates a line reader; `line_bytes_max` is at least 1.
    pub(crate) fn new(reader: R, line_bytes_max: usize) -> Self {
        let line_bytes_max = line_bytes_max.max(1);
        Self {
            reader,
            // Always has room for a line and its end.
            buffer: vec![0; BUFFER_BYTES.max(line_bytes_max.saturating_add(2))],
            start: 0,
            end: 0,
            at_end: false,
            skipping: false,
            unterminated: false,
            line_bytes_max,
        }
    }

    pub(crate) fn line_bytes_max(&self) -> usize {
        self.line_bytes_max
    }

    /// The data ahead, as much as fits into the buffer, and whether it is all there is.
    pub(crate) fn peek(&mut self) -> Result<(&[u8], bool), io::Error> {
        while !self.at_end && self.end < self.buffer.len() {
            self.fill()?;
        }
        Ok((&self.buffer[self.start..self.end], self.at_end))
    }

    /// Reads once more into the end of the buffer.
    fn fill(&mut self) -> Result<(), io::Error> {
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                // A faulty reader may report more bytes than the buffer has room for.
                Ok(bytes) => self.end = (self.end + bytes).min(self.buffer.len()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Line<'_> {
        match memchr::memchr(b'\n', &self.buffer[self.start..self.end]) {
            Some(len) => {
                let start = self.start;
                self.start += len + 1;
                self.text(start, start + len)
            }
            None => self.next_slowly(),
        }
    }

    #[inline]
    fn text(&self, start: usize, end: usize) -> Line<'_> {
        let line = &self.buffer[start..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > self.line_bytes_max {
            return Line::TooLong;
        }
        Line::Text(line)
    }

    /// No line end in the buffer: moves its content to the front, and reads more.
    #[cold]
    fn next_slowly(&mut self) -> Line<'_> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let mut searched = 0;
        loop {
            if let Some(len) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                self.start = searched + len + 1;
                if !std::mem::take(&mut self.skipping) {
                    return self.text(0, searched + len);
                }
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
                searched = 0;
                continue;
            }
            if self.skipping {
                self.end = 0;
            } else if self.end > self.line_bytes_max.saturating_add(1) {
                // One byte over the limit may be the CR.
                self.skipping = true;
                self.end = 0;
                return Line::TooLong;
            }
            searched = self.end;
            if self.at_end {
                if self.end == 0 {
                    return Line::End;
                }
                self.unterminated = true;
                self.start = self.end;
                return self.text(0, self.end);
            }
            if let Err(error) = self.fill() {
                self.at_end = true;
                self.start = 0;
                self.end = 0;
                return Line::Failed(error);
            }
        }
    }
}
