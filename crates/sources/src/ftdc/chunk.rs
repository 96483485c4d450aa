//! A chunk of metrics: a reference document, and the deltas of each number from sample to sample (MongoDB's
//! src/mongo/db/ftdc/README.md and decompressor.cpp).
//!
//! In order: the unpacked length of what follows (u32), and then, in zlib format, the reference document,
//! the number of metrics (u32), the number of further samples (u32), and for each metric its deltas as
//! varints of seven bits per byte, lowest first. A zero is followed by the number of further zeros, a run
//! that may continue into the next metric.

use super::bson::{self, Fault, Metric};
use flate2::read::ZlibDecoder;
use std::io::Read;

/// Maximum unpacked size of a chunk: MongoDB's own limit (`kMaxDeltaFileSize`).
const UNPACKED_BYTES_MAX: usize = 10 << 20;
/// Maximum number of values in a chunk: MongoDB's own limit (`kMaxTotalSamples`).
const NUMBERS_MAX: u64 = 1 << 25;
/// Maximum length of a 64-bit varint in bytes.
const VARINT_BYTES_MAX: u32 = 10;

/// An unpacked chunk; its samples are still deltas.
#[derive(Debug)]
pub(super) struct Chunk {
    unpacked: Vec<u8>,
    /// Offset of the deltas.
    differences: usize,
    /// Its metrics, with their values in the first sample.
    pub(super) metrics: Vec<Metric>,
    /// Number of samples, including the reference.
    pub(super) samples: usize,
}

impl Chunk {
    /// Unpacks a chunk. Error offsets up to 4 refer to `bytes`, later ones to the unpacked data.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Fault> {
        let length = bson::u32_at(bytes, 0)
            .and_then(|length| usize::try_from(length).ok())
            .filter(|length| *length <= UNPACKED_BYTES_MAX)
            .ok_or((0, "a chunk of at most 10485760 bytes when unpacked"))?;
        let mut unpacked = Vec::new();
        // One extra byte detects data longer than declared.
        ZlibDecoder::new(&bytes[4..])
            .take(length as u64 + 1)
            .read_to_end(&mut unpacked)
            .map_err(|_| (4, "a whole chunk in zlib's format"))?;
        if unpacked.len() != length {
            return Err((4, "a chunk as long as it says when unpacked"));
        }
        let reference = bson::document(&unpacked)?;
        let counts = reference.len();
        let metrics = bson::metrics(reference)?;
        let count = |at| bson::u32_at(&unpacked, at).ok_or((at, "the counts of a chunk"));
        let (declared, further) = (count(counts)?, count(counts + 4)?);
        // A chunk that consists of its reference only has zeros here.
        let empty = declared == 0 || further == 0;
        if !empty && usize::try_from(declared) != Ok(metrics.len()) {
            return Err((counts, "as many metrics as the reference document has"));
        }
        if u64::from(declared) * u64::from(further) > NUMBERS_MAX {
            return Err((counts, "at most 33554432 numbers in a chunk"));
        }
        Ok(Self {
            differences: counts + 8,
            samples: if empty { 1 } else { 1 + further as usize },
            metrics,
            unpacked,
        })
    }

    /// Returns the columns of the metrics for which `wanted` is true, in order, each with one value per
    /// sample.
    pub(super) fn columns(&self, wanted: impl Fn(usize) -> bool) -> Result<Vec<Vec<i64>>, Fault> {
        let mut input = Varints {
            bytes: &self.unpacked,
            at: self.differences,
        };
        let mut zeros = 0_u64;
        let mut columns = Vec::new();
        for (index, metric) in self.metrics.iter().enumerate() {
            let mut value = metric.value;
            let mut column = wanted(index).then(|| {
                let mut column = Vec::with_capacity(self.samples);
                column.push(value);
                column
            });
            let mut left = (self.samples - 1) as u64;
            while left > 0 {
                if zeros > 0 {
                    let run = zeros.min(left);
                    zeros -= run;
                    left -= run;
                    if let Some(column) = &mut column {
                        column.extend((0..run).map(|_| value));
                    }
                    continue;
                }
                let difference = input.read()?;
                if difference == 0 {
                    // This zero, and as many more.
                    zeros = input
                        .read()?
                        .checked_add(1)
                        .ok_or((input.at, "a count of zeros"))?;
                    continue;
                }
                value = value.wrapping_add_unsigned(difference);
                left -= 1;
                if let Some(column) = &mut column {
                    column.push(value);
                }
            }
            columns.extend(column);
        }
        if zeros > 0 || input.at != self.unpacked.len() {
            return Err((input.at, "the chunk's end behind its last difference"));
        }
        Ok(columns)
    }
}

struct Varints<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Varints<'_> {
    fn read(&mut self) -> Result<u64, Fault> {
        let mut value = 0_u64;
        for position in 0..VARINT_BYTES_MAX {
            let byte = *self
                .bytes
                .get(self.at)
                .ok_or((self.at, "a further difference"))?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << (7 * position);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err((self.at, "a number of at most 64 bits"))
    }
}
