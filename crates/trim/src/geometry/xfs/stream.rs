//! Free extents of one allocation group in ascending order, one buffer at a time.

use crate::geometry::source::MapSource;
use crate::geometry::walk::GeometryError;
use crate::ioctl::{FSMAP_FLAG_LAST, FSMAP_RECORDS, FsMap};
use crate::step::StepBudget;
use std::collections::VecDeque;
use std::time::Duration;

/// What is read, for errors.
pub(super) const WHAT: &str = "the free extents of XFS (FS_IOC_GETFSMAP)";

/// A free extent, in bytes of the data device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Extent {
    pub(super) fn len(self) -> u64 {
        self.end - self.start
    }
}

/// Location of an allocation group on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    /// `dev_t` in GETFSMAP's encoding.
    pub(super) device: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) block_bytes: u64,
    pub(super) is_last: bool,
}

/// A stream of the free extents of one group.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) group: Group,
    /// When the buffered extents were listed.
    pub(super) listed_at: Duration,
    low: Option<FsMap>,
    buffer: VecDeque<Extent>,
    /// Everything below has been listed; extents that begin below are clipped here.
    listed_end: u64,
}

impl Stream {
    pub(super) fn new(group: Group, from: u64, now: Duration) -> Self {
        let from = from.max(group.start);
        Self {
            group,
            listed_at: now,
            low: Some(FsMap::key(group.device, from)),
            buffer: VecDeque::new(),
            listed_end: from,
        }
    }

    /// Returns the next extent without consuming it.
    pub(super) fn peek(
        &mut self,
        source: &mut impl MapSource,
    ) -> Result<Option<Extent>, GeometryError> {
        while self.buffer.is_empty() {
            let Some(low) = self.low else {
                return Ok(None);
            };
            self.fill(source, low)?;
        }
        Ok(self.buffer.front().copied())
    }

    pub(super) fn take(&mut self) {
        self.buffer.pop_front();
    }

    fn fill(&mut self, source: &mut impl MapSource, low: FsMap) -> Result<(), GeometryError> {
        // Do not use the group's end as the upper bound: with the reverse-mapping btree, kernels
        // before 6.12 omit free space before it. Including the block after it, the header of the
        // next group, closes the gap.
        let high = if self.group.is_last {
            FsMap::upper(self.group.device, u64::MAX)
        } else {
            FsMap::upper(self.group.device, self.group.end)
        };
        source.check_stop()?;
        self.listed_at = source.elapsed();
        let records = source
            .fsmap(low, high)
            .map_err(|error| GeometryError::unreadable(WHAT, error))?;
        for record in &records {
            if !record.is_free() || record.device != self.group.device {
                continue;
            }
            let start = record.physical.max(self.listed_end);
            let mut end = record.physical.saturating_add(record.length);
            // For the same reason those kernels omit the last block of the last group.
            if self.group.is_last && end == self.group.end - self.group.block_bytes {
                end = self.group.end;
            }
            let end = end.min(self.group.end);
            if start >= end {
                continue;
            }
            self.listed_end = end;
            match self.buffer.back_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => self.buffer.push_back(Extent { start, end }),
            }
        }
        self.low = match records.last() {
            Some(&last)
                if records.len() >= FSMAP_RECORDS
                    && last.flags & FSMAP_FLAG_LAST == 0
                    && last.physical < self.group.end =>
            {
                if last.physical < low.physical || last == low {
                    let message = format!("the list does not go on behind {}", low.physical);
                    return Err(GeometryError::invalid(WHAT, message));
                }
                Some(last)
            }
            _ => None,
        };
        Ok(())
    }

    /// Takes neighbouring extents while the budget allows it; at least one. Extents shorter than
    /// `shortest` are counted and skipped: the kernel never discards them.
    pub(super) fn gather(
        &mut self,
        source: &mut impl MapSource,
        budget: StepBudget,
        shortest: u64,
        short: &mut Short,
    ) -> Result<Option<Batch>, GeometryError> {
        let mut batch: Option<Batch> = None;
        while let Some(extent) = self.peek(source)? {
            if extent.len() < shortest {
                short.extents += 1;
                short.bytes = short.bytes.saturating_add(extent.len());
                self.take();
                continue;
            }
            batch = match batch {
                None => Some(Batch::of(extent)),
                Some(batch) => {
                    let more = batch.with(extent);
                    if more.bytes > budget.free_bytes || more.extents > budget.free_extents {
                        return Ok(Some(batch));
                    }
                    Some(more)
                }
            };
            self.take();
        }
        Ok(batch)
    }
}

/// Extents that are too short to be discarded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Short {
    pub(super) extents: u64,
    pub(super) bytes: u64,
}

/// Extents of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) span: Extent,
    pub(super) bytes: u64,
    pub(super) extents: u64,
    pub(super) largest: u64,
}

impl Batch {
    pub(super) fn of(extent: Extent) -> Self {
        Self {
            span: extent,
            bytes: extent.len(),
            extents: 1,
            largest: extent.len(),
        }
    }

    fn with(self, extent: Extent) -> Self {
        Self {
            span: Extent {
                start: self.span.start,
                end: extent.end,
            },
            bytes: self.bytes.saturating_add(extent.len()),
            extents: self.extents + 1,
            largest: self.largest.max(extent.len()),
        }
    }
}
