//! Lines of bounded length out of a reader, without a copy but for what a buffer's end cuts.

use std::io::{self, Read};

/// Read at once: few calls, and it stays in the cache of the core.
const BUFFER_BYTES: usize = 64 << 10;

/// The next thing in the stream.
pub(crate) enum Line<'a> {
    /// Without its end, be that LF or CR LF.
    Text(&'a [u8]),
    /// Longer than the limit; the next call passes over it up to its end.
    TooLong,
    /// The reader failed. What follows is lost.
    Failed(io::Error),
    /// No more.
    End,
}

/// A reader cut into lines.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// What was read and not yet handed out.
    start: usize,
    end: usize,
    at_end: bool,
    /// Within a line that was too long: the rest of it belongs to nobody.
    passing_over: bool,
    /// The last line had no end: the file may have been cut.
    pub unterminated: bool,
    line_bytes_max: usize,
}

impl<R: Read> Lines<R> {
    /// `line_bytes_max` is at least 1.
    pub(crate) fn new(reader: R, line_bytes_max: usize) -> Self {
        let line_bytes_max = line_bytes_max.max(1);
        Self {
            reader,
            // Always room for a line and its end.
            buffer: vec![0; BUFFER_BYTES.max(line_bytes_max.saturating_add(2))],
            start: 0,
            end: 0,
            at_end: false,
            passing_over: false,
            unterminated: false,
            line_bytes_max,
        }
    }

    pub(crate) fn line_bytes_max(&self) -> usize {
        self.line_bytes_max
    }

    /// What lies ahead, as much as the buffer holds, and whether that is all there is.
    pub(crate) fn peek(&mut self) -> Result<(&[u8], bool), io::Error> {
        while !self.at_end && self.end < self.buffer.len() {
            self.fill()?;
        }
        Ok((&self.buffer[self.start..self.end], self.at_end))
    }

    /// One read more, at the end of the buffer.
    fn fill(&mut self) -> Result<(), io::Error> {
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                // A reader that claims to have read more than it was given is not believed.
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

    /// There is no end of line in the buffer: move what there is to its front, and read on.
    #[cold]
    fn next_slowly(&mut self) -> Line<'_> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let mut searched = 0;
        loop {
            if let Some(len) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                self.start = searched + len + 1;
                if !std::mem::take(&mut self.passing_over) {
                    return self.text(0, searched + len);
                }
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
                searched = 0;
                continue;
            }
            if self.passing_over {
                self.end = 0;
            } else if self.end > self.line_bytes_max.saturating_add(1) {
                // One byte more than allowed may be the CR.
                self.passing_over = true;
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
