//! XFS: split by free extents within allocation groups.
//!
//! How FITRIM treats a range (`xfs_ioc_trim`, `fs/xfs/xfs_discard.c`):
//! - before 6.10 it walks all free extents of each group that the range touches, longest first, and
//!   discards every one that overlaps the range, whole; one that ends exactly where the range
//!   begins counts as overlapping. Before 6.6 the group's header is locked until all discards are
//!   done.
//! - from 6.10 on a range that is not a whole group is walked by address and clipped.
//! - whole groups and the whole filesystem are walked longest first on every kernel, and from 6.6
//!   on that walk skips extents.
//!
//! So each range begins and ends at edges of free extents inside one group: every extent is visited
//! once on either kind of kernel.

pub mod agf;
mod stream;

use super::ext4::is_unsupported;
use super::release::KernelRelease;
use super::source::MapSource;
use super::walk::{GeometryError, Survey, Unsplittable, Walk};
use crate::ioctl::FsMap;
use crate::step::{ByteRange, Cursor, Step, StepBudget};
use agf::{AGF_BYTES, Agf};
use std::io;
use std::time::Duration;
use stream::{Batch, Extent, Group, Short, Stream};

/// Geometry of an XFS, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) block: u64,
    pub(super) sector: u64,
    pub(super) group: u64,
    pub(super) groups: u64,
    /// Size of the data device.
    pub(super) data: u64,
    /// Size of the real-time device; 0 if there is none.
    pub(super) real_time: u64,
    /// Whether the real-time device is zoned, so that FITRIM skips it.
    pub(super) zoned: bool,
    /// Whether the log is on a separate device, which has nothing to trim.
    pub(super) external_log: bool,
    /// `discard_granularity` of the data device.
    pub(super) granularity: u64,
}

/// How long listed extents stay valid: free space changes while a pass pauses.
const LISTED_VALID: Duration = Duration::from_secs(20);

/// Whether this kernel clips a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clipping {
    /// Assumed from the kernel's release.
    Expected(bool),
    /// Observed in this pass.
    Seen(bool),
}

impl Clipping {
    fn clips(self) -> bool {
        matches!(self, Self::Expected(true) | Self::Seen(true))
    }
}

/// Evidence about clipping from the last part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClippingEvidence {
    /// Nothing unusual.
    Normal,
    /// Its extent seems to have been discarded whole, by a kernel that should clip.
    Contradicting,
    /// None: discarded bytes cannot be measured.
    Unmeasurable,
}

/// A part of an extent that is being split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    /// The extent as it was listed.
    extent: Extent,
    /// End of the range handed out so far.
    done: u64,
    /// Length of the last step.
    len: u64,
}

/// The walk over an XFS.
pub(super) struct Xfs<S> {
    source: S,
    shape: Shape,
    release: KernelRelease,
    device: u32,
    lists_extents: bool,
    clipping: Clipping,
    stream: Option<Stream>,
    /// The remainder of an extent that is larger than the budget.
    rest: Option<Part>,
    /// Whether the last step was a part whose discarded bytes have yet to be reported.
    unobserved: bool,
    evidence: ClippingEvidence,
    cursor: Cursor,
}

impl<S: MapSource> Xfs<S> {
    /// `device` is the data device's `dev_t` in GETFSMAP's encoding.
    pub(super) fn open(
        mut source: S,
        shape: Shape,
        release: KernelRelease,
        device: u32,
        from: Cursor,
    ) -> Result<Self, GeometryError> {
        validate(&shape)?;
        source.open()?;
        let probed = probe(&mut source, &shape, device);
        source.close();
        let (device, lists_extents) = probed?;
        Ok(Self {
            source,
            shape,
            release,
            device,
            lists_extents,
            clipping: Clipping::Expected(release.xfs_clips()),
            stream: None,
            rest: None,
            unobserved: false,
            evidence: ClippingEvidence::Normal,
            cursor: from,
        })
    }

    fn session<T>(
        &mut self,
        ask: impl FnOnce(&mut Self) -> Result<T, GeometryError>,
    ) -> Result<T, GeometryError> {
        self.source.open()?;
        let answer = ask(self);
        self.source.close();
        answer
    }

    fn group(&self, number: u64) -> Group {
        let start = number * self.shape.group;
        Group {
            device: self.device,
            start,
            end: start.saturating_add(self.shape.group).min(self.shape.data),
            block_bytes: self.shape.block,
            is_last: number + 1 == self.shape.groups,
        }
    }

    /// Returns the minimum length of an extent to be discarded (`minlen` in `xfs_ioc_trim`, rounded
    /// up to blocks).
    fn shortest(&self) -> u64 {
        let granularity = self.shape.granularity.max(self.minlen_bytes());
        granularity.max(1).next_multiple_of(self.shape.block)
    }

    /// Returns the real-time space that this kernel trims, at the addresses FITRIM uses.
    fn real_time(&self) -> Option<Extent> {
        let start = self.shape.data;
        let trimmed =
            self.shape.real_time > 0 && !self.shape.zoned && self.release.xfs_trims_real_time();
        trimmed.then(|| Extent {
            start,
            end: start.saturating_add(self.shape.real_time),
        })
    }

    /// Returns the length of the next part of an extent: a multiple of blocks and discards, such
    /// that the last part is not too short to be discarded.
    fn part_len(&self, rest: Extent, budget: StepBudget) -> u64 {
        let unit = self.shortest();
        let len = (budget.free_bytes / unit).max(1) * unit;
        if rest.len() < len.saturating_add(unit) {
            rest.len()
        } else {
            len
        }
    }

    /// Returns a step for a part of an extent that is larger than the budget, or for all of it if
    /// the kernel discards it whole. `alone`: the step covers nothing else, so that its discarded
    /// bytes reveal whether the kernel clips.
    fn split(&mut self, extent: Extent, done: u64, alone: bool, budget: StepBudget) -> Step {
        let rest = Extent {
            start: done,
            end: extent.end,
        };
        let fits = extent.len() <= budget.free_bytes;
        // A kernel that is only assumed not to clip gets the first part: if it discards the whole
        // extent, that is what was announced; if it does not, the rest can be split after all. A
        // second try would discard the extent twice.
        let part_len = self.part_len(rest, budget);
        let tries = self.clipping == Clipping::Expected(false)
            && done == extent.start
            && alone
            && self.evidence != ClippingEvidence::Unmeasurable
            && reveals_clipping(extent.len() - part_len, part_len);
        let len = if self.clipping.clips() || tries {
            part_len
        } else {
            rest.len()
        };
        let end = rest.start + len;
        self.rest = Some(Part {
            extent,
            done: end,
            len,
        });
        self.unobserved = alone;
        // If the kernel may discard extents whole, and may not list one from its middle, an
        // interrupted extent has to start over.
        if self.clipping.clips() || end == extent.end {
            self.cursor.next_bytes = end;
        }
        let whole = !self.clipping.clips();
        Step {
            range: range(rest.start, end),
            free_extents: Some(1),
            free_bytes: Some(if whole { rest.len() } else { len }),
            unsplittable: (whole && !fits).then(|| self.why_whole()),
        }
    }

    fn why_whole(&self) -> String {
        match self.clipping {
            Clipping::Seen(_) => "this kernel discards a free extent whole".to_owned(),
            Clipping::Expected(_) => format!(
                "Linux {} is expected to discard a free extent whole",
                self.release
            ),
        }
    }

    /// Returns the next extents of the group at the cursor; `None` if it has no more.
    fn step_in_group(
        &mut self,
        group: Group,
        budget: StepBudget,
    ) -> Result<Option<Step>, GeometryError> {
        let now = self.source.elapsed();
        let from = self.cursor.next_bytes;
        let valid = self.stream.take().filter(|stream| {
            stream.group == group && now.saturating_sub(stream.listed_at) < LISTED_VALID
        });
        let relisted = valid.is_none();
        let mut stream = valid.unwrap_or_else(|| Stream::new(group, from, now));
        let shortest = self.shortest();
        let batch = stream.gather(&mut self.source, budget, shortest, &mut Short::default())?;
        self.stream = Some(stream);
        // Listing began in the middle of the group. Some kernels then omit an extent that begins
        // earlier, so the range begins where the last one ended. Kernels that discard extents whole
        // count an extent that ends there as overlapping, so for them it begins one block later;
        // that block was in use when the last extent ended.
        let seam = (relisted && from > group.start).then(|| {
            let gap = if self.clipping.clips() {
                0
            } else {
                self.shape.block
            };
            (from + gap).min(group.end)
        });
        match batch {
            Some(batch) if batch.bytes > budget.free_bytes && batch.extents == 1 => {
                let start = seam.map_or(batch.span.start, |seam| seam.min(batch.span.start));
                let alone = start == batch.span.start;
                let mut step = self.split(batch.span, batch.span.start, alone, budget);
                step.range = range(start, step.range.end_bytes());
                Ok(Some(step))
            }
            Some(batch) => {
                let start = seam.map_or(batch.span.start, |seam| seam.min(batch.span.start));
                self.cursor.next_bytes = batch.span.end;
                Ok(Some(step_of(start, batch)))
            }
            None => {
                self.cursor.next_bytes = group.end;
                self.stream = None;
                Ok(seam
                    .filter(|&seam| seam + self.shape.block <= group.end)
                    .map(|seam| Step {
                        range: range(seam, group.end),
                        free_extents: Some(0),
                        free_bytes: Some(0),
                        unsplittable: None,
                    }))
            }
        }
    }

    /// Returns a step for a whole group, for kernels that do not list extents.
    fn whole_group(&mut self, number: u64, group: Group) -> Step {
        let agf = self.agf(number, group);
        let free_bytes = agf.map(|agf| u64::from(agf.free_blocks) * self.shape.block);
        self.cursor.next_bytes = group.end;
        Step {
            range: range(group.start, group.end),
            free_extents: None,
            free_bytes,
            unsplittable: Some(WHY_GROUPS.to_owned()),
        }
    }

    /// Reads the free space of a group from its header on the device, as last written.
    fn agf(&mut self, number: u64, group: Group) -> Option<Agf> {
        let bytes = self
            .source
            .read_at(group.start + self.shape.sector, AGF_BYTES);
        let agf = Agf::parse(&bytes.ok()?)?;
        (u64::from(agf.number) == number).then_some(agf)
    }

    fn next(&mut self, budget: StepBudget) -> Result<Option<Step>, GeometryError> {
        if let Some(part) = self.rest.take()
            && part.done < part.extent.end
        {
            return Ok(Some(self.split(part.extent, part.done, true, budget)));
        }
        while self.cursor.next_bytes < self.shape.data {
            let number = self.cursor.next_bytes / self.shape.group;
            let group = self.group(number);
            if !self.lists_extents {
                // A cursor inside a group comes from a kernel that lists extents: trim the group
                // again.
                return Ok(Some(self.whole_group(number, group)));
            }
            if let Some(step) = self.step_in_group(group, budget)? {
                return Ok(Some(step));
            }
        }
        let Some(real_time) = self.real_time() else {
            return Ok(None);
        };
        // Its free space is in a bitmap; kernels clip ranges to it. How much is free is unknown, so
        // the budget bounds the space covered.
        let start = self.cursor.next_bytes.max(real_time.start);
        if start >= real_time.end {
            return Ok(None);
        }
        let rest = Extent {
            start,
            end: real_time.end,
        };
        let end = start + self.part_len(rest, budget);
        self.cursor.next_bytes = end;
        Ok(Some(Step {
            range: range(start, end),
            free_extents: None,
            free_bytes: None,
            unsplittable: None,
        }))
    }

    fn survey_extents(&mut self, budget: StepBudget) -> Result<Tally, GeometryError> {
        let mut tally = Tally::default();
        let shortest = self.shortest();
        for number in 0..self.shape.groups {
            let group = self.group(number);
            let mut stream = Stream::new(group, group.start, self.source.elapsed());
            while let Some(batch) =
                stream.gather(&mut self.source, budget, shortest, &mut tally.short)?
            {
                tally.bytes = tally.bytes.saturating_add(batch.bytes);
                tally.extents += batch.extents;
                tally.largest = tally.largest.max(batch.largest);
                if batch.bytes <= budget.free_bytes {
                    tally.steps += 1;
                } else if self.clipping.clips() {
                    let part = self.part_len(batch.span, budget).max(1);
                    tally.steps += batch.bytes.div_ceil(part);
                } else {
                    tally.steps += 1;
                    tally.whole += 1;
                }
            }
        }
        Ok(tally)
    }

    /// Returns further remarks for the description.
    fn remarks(&self) -> String {
        let mut remarks = String::new();
        if self.shape.real_time > 0 {
            remarks += if self.real_time().is_some() {
                "; a real-time device, trimmed behind it"
            } else if self.shape.zoned {
                "; a zoned real-time device, which is not trimmed"
            } else {
                "; a real-time device, which this kernel does not trim"
            };
        }
        if self.shape.external_log {
            remarks += "; the log has a device of its own, where nothing is free";
        }
        remarks
    }
}

const WHY_GROUPS: &str = "this kernel does not list free extents (before Linux 4.12): whole \
                          allocation groups";

/// Totals of a survey.
#[derive(Debug, Default)]
struct Tally {
    bytes: u64,
    extents: u64,
    largest: u64,
    steps: u64,
    /// Number of extents larger than the budget that cannot be split.
    whole: u64,
    short: Short,
}

fn range(start: u64, end: u64) -> ByteRange {
    ByteRange {
        start_bytes: start,
        len_bytes: end - start,
    }
}

fn step_of(start: u64, batch: Batch) -> Step {
    Step {
        range: range(start, batch.span.end),
        free_extents: Some(batch.extents),
        free_bytes: Some(batch.bytes),
        unsplittable: None,
    }
}

/// Returns whether the discarded bytes of a part reveal that the rest of its extent was discarded
/// too.
fn reveals_clipping(besides: u64, part: u64) -> bool {
    besides >= part / 2 && besides > 0
}

/// Rejects a geometry that would break the arithmetic.
fn validate(shape: &Shape) -> Result<(), GeometryError> {
    let sane = shape.block.is_power_of_two()
        && shape.block >= 512
        && shape.group >= shape.block
        && shape.group.is_multiple_of(shape.block)
        && shape.data.is_multiple_of(shape.block)
        && shape.groups > 0
        && shape.groups == shape.data.div_ceil(shape.group)
        && shape.data.checked_add(shape.real_time).is_some();
    if sane {
        return Ok(());
    }
    let found = format!(
        "{} groups of {} bytes in blocks of {}, {} in all",
        shape.groups, shape.group, shape.block, shape.data
    );
    let what = "the geometry of XFS (XFS_IOC_FSGEOMETRY)";
    Err(GeometryError::invalid(what, found))
}

/// Determines the data device's number in GETFSMAP, and whether GETFSMAP is supported. Filesystems
/// with an internal real-time section number their devices; the data device is 1 (`XFS_DEV_DATA`,
/// Linux 6.15).
fn probe(
    source: &mut impl MapSource,
    shape: &Shape,
    device: u32,
) -> Result<(u32, bool), GeometryError> {
    for device in [device, 1] {
        let high = FsMap::upper(device, shape.block);
        match source.fsmap(FsMap::key(device, 0), high) {
            Ok(_) => return Ok((device, true)),
            Err(error) if is_unsupported(&error) => return Ok((device, false)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            Err(error) => return Err(GeometryError::unreadable(stream::WHAT, error)),
        }
    }
    Ok((device, false))
}

impl<S: MapSource> Walk for Xfs<S> {
    fn survey(&mut self, budget: StepBudget) -> Result<Survey, GeometryError> {
        let groups = self.shape.groups;
        let mut description = format!(
            "XFS: {groups} allocation groups of {}",
            units::bytes(self.shape.group)
        );
        let mut unsplittable = Vec::new();
        let size_bytes = self.shape.data.saturating_add(self.shape.real_time);
        if !self.lists_extents {
            let (mut free_bytes, mut largest) = (0u64, 0);
            self.session(|walk| {
                for number in 0..groups {
                    walk.source.check_stop()?;
                    let group = walk.group(number);
                    let agf = walk.agf(number, group);
                    let blocks = agf.map_or(0, |agf| agf.free_blocks);
                    let bytes = u64::from(blocks) * walk.shape.block;
                    largest = largest.max(agf.map_or(0, |agf| agf.longest_blocks));
                    free_bytes = free_bytes.saturating_add(bytes);
                    unsplittable.push(Unsplittable {
                        what: format!("allocation group {number}: {WHY_GROUPS}"),
                        bytes,
                        is_unallocated: false,
                    });
                }
                Ok(())
            })?;
            return Ok(Survey {
                description: format!("{description}{}", self.remarks()),
                free_bytes,
                free_extents: None,
                largest_extent_bytes: Some(u64::from(largest) * self.shape.block),
                steps: groups,
                unsplittable,
                size_bytes,
            });
        }
        let tally = self.session(|walk| walk.survey_extents(budget))?;
        description += ", free extents listed by the kernel";
        if tally.short.extents > 0 {
            description = format!(
                "{description}; {} more free extents, {}, are shorter than {} and never discarded",
                units::grouped(tally.short.extents),
                units::bytes(tally.short.bytes),
                units::bytes(self.shortest())
            );
        }
        if tally.whole > 0 {
            unsplittable.push(Unsplittable {
                what: format!(
                    "free extents larger than one step is to be ({}): {}",
                    tally.whole,
                    self.why_whole()
                ),
                bytes: tally.largest,
                is_unallocated: false,
            });
        }
        let real_time_steps = self.real_time().map_or(0, |space| {
            space.len().div_ceil(self.part_len(space, budget).max(1))
        });
        Ok(Survey {
            description: description + &self.remarks(),
            free_bytes: tally.bytes,
            free_extents: Some(tally.extents),
            largest_extent_bytes: Some(tally.largest),
            steps: tally.steps + real_time_steps,
            unsplittable,
            size_bytes,
        })
    }

    fn next_step(&mut self, budget: StepBudget) -> Result<Option<Step>, GeometryError> {
        self.unobserved = false;
        self.session(|walk| walk.next(budget))
    }

    fn observed(&mut self, discarded_bytes: Option<u64>) {
        let (Some(part), true) = (self.rest, self.unobserved) else {
            return;
        };
        self.unobserved = false;
        // What a kernel that discards extents whole would have discarded in addition.
        let extent = part.extent.len();
        let besides = extent - part.len;
        if !reveals_clipping(besides, part.len) || matches!(self.clipping, Clipping::Seen(_)) {
            return;
        }
        // Others discard too (a mount with `discard`): far more than the extent proves nothing.
        let looks_whole = |discarded: u64| {
            discarded >= part.len + besides / 4 * 3
                && discarded <= extent.saturating_add(extent / 4)
        };
        match (discarded_bytes, self.clipping) {
            // Nothing can be measured, so parts reveal nothing: trim extents whole from now on.
            (None, _) => self.evidence = ClippingEvidence::Unmeasurable,
            (Some(discarded), Clipping::Expected(false)) if looks_whole(discarded) => {
                self.clipping = Clipping::Seen(false);
                self.rest = None;
                self.cursor.next_bytes = part.extent.end;
            }
            // Contradicting the release takes two observations in a row, and the rest is still
            // trimmed: what looked like the extent may have been discards of another process.
            (Some(discarded), Clipping::Expected(true)) if looks_whole(discarded) => {
                if self.evidence == ClippingEvidence::Contradicting {
                    self.clipping = Clipping::Seen(false);
                }
                self.evidence = ClippingEvidence::Contradicting;
            }
            (Some(discarded), _)
                if discarded >= part.len / 2 && discarded <= part.len + besides / 4 =>
            {
                // Neither nothing (extent busy) nor the whole extent was discarded.
                self.clipping = Clipping::Seen(true);
                self.cursor.next_bytes = part.done;
            }
            _ => self.evidence = ClippingEvidence::Normal,
        }
    }

    fn cursor(&self) -> Cursor {
        self.cursor
    }
}

#[cfg(test)]
mod tests;
