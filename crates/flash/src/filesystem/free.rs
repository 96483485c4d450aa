//! Free extents, and who gets which.

use std::collections::BTreeMap;
use std::ops::Range;

use super::bits::Bits;

/// Extents looked at before the longest of them is taken.
const CANDIDATES: usize = 32;

/// Consecutive pages of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first.
    pub first_page: u32,
    /// How many.
    pub pages: u32,
}

/// Where a file goes on when the page behind it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Allocation {
    /// Behind what was allocated last in the group: all free space is used in turn.
    #[default]
    NextFit,
    /// The lowest free extent of the group that is long enough: space is used again soon.
    FirstFit,
}

/// Free space: disjoint, never adjacent extents, by their first page.
#[derive(Debug, Clone)]
pub(super) struct FreeExtents {
    extents: BTreeMap<u32, u32>,
    pages: u32,
    group_pages: u32,
    groups: Vec<Group>,
    allocation: Allocation,
}

#[derive(Debug, Clone)]
struct Group {
    range: Range<u32>,
    free: u32,
    /// Behind what was allocated last.
    cursor: u32,
}

impl FreeExtents {
    /// All is free.
    pub(super) fn new(pages: u32, groups: u32, allocation: Allocation) -> Self {
        let group_pages = pages.div_ceil(groups);
        let groups = (0..groups)
            .map(|group| {
                let first = pages.min(group.saturating_mul(group_pages));
                let range = first..pages.min(first.saturating_add(group_pages));
                Group {
                    free: range.end - range.start,
                    cursor: range.start,
                    range,
                }
            })
            .collect();
        Self {
            extents: BTreeMap::from([(0, pages)]),
            pages,
            group_pages,
            groups,
            allocation,
        }
    }

    /// Free pages.
    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    /// Free extents.
    pub(super) fn extents(&self) -> usize {
        self.extents.len()
    }

    /// Whether a page is free.
    pub(super) fn contains(&self, page: u32) -> bool {
        self.at(page).is_some()
    }

    /// Takes at most `wanted` pages (above 0): from page `behind` on if it is free, else from `group` or
    /// one after it. `None` if nothing is free.
    pub(super) fn allocate(
        &mut self,
        wanted: u32,
        group: u32,
        behind: Option<u32>,
    ) -> Option<Extent> {
        if let Some(extent) = behind.and_then(|page| self.at(page)) {
            return Some(self.take(extent.first_page, extent.pages.min(wanted)));
        }
        let count = self.groups.len();
        let found = (0..count).find_map(|turn| {
            let group = &self.groups[(group as usize + turn) % count];
            if group.free == 0 {
                return None;
            }
            let start = match self.allocation {
                Allocation::NextFit => group.cursor,
                Allocation::FirstFit => group.range.start,
            };
            let ahead = self.fitting(start..group.range.end, wanted);
            ahead.or_else(|| self.fitting(group.range.start..start, wanted))
        })?;
        Some(self.take(found.first_page, found.pages.min(wanted)))
    }

    /// The first extent in `range` that holds `wanted` pages, or else the longest of the first few.
    fn fitting(&self, range: Range<u32>, wanted: u32) -> Option<Extent> {
        let mut longest: Option<Extent> = None;
        for extent in self.within(range).take(CANDIDATES) {
            if extent.pages >= wanted {
                return Some(extent);
            }
            if longest.is_none_or(|longest| extent.pages > longest.pages) {
                longest = Some(extent);
            }
        }
        longest
    }

    /// The rest of the free extent that `page` lies in.
    fn at(&self, page: u32) -> Option<Extent> {
        let (&first, &pages) = self.extents.range(..=page).next_back()?;
        (page < first + pages).then(|| Extent {
            first_page: page,
            pages: first + pages - page,
        })
    }

    /// The free extents within a range, clipped to it.
    pub(super) fn within(&self, range: Range<u32>) -> impl Iterator<Item = Extent> {
        let end = range.end;
        let head = (range.start < end)
            .then(|| self.at(range.start))
            .flatten()
            .map(|extent| (extent.first_page, extent.pages));
        // Inclusive of `end` would be one extent too many; a start beyond the end is no range.
        let behind = range.start.saturating_add(1)..end.max(range.start.saturating_add(1));
        let tail = self
            .extents
            .range(behind)
            .map(|(&first, &pages)| (first, pages));
        head.into_iter()
            .chain(tail)
            .map(move |(first, pages)| Extent {
                first_page: first,
                pages: pages.min(end - first),
            })
    }

    /// Takes a part of a free extent.
    fn take(&mut self, first: u32, pages: u32) -> Extent {
        let (&start, &length) = (self.extents.range(..=first).next_back()).expect("it is free");
        let (end, taken_end) = (start + length, first + pages);
        if start < first {
            self.extents.insert(start, first - start);
        } else {
            self.extents.remove(&start);
        }
        if taken_end < end {
            self.extents.insert(taken_end, end - taken_end);
        }
        self.pages -= pages;
        self.each_group(first, pages, |group, part| {
            group.free -= part;
        });
        let last = self.group_of(taken_end - 1);
        self.groups[last].cursor = taken_end;
        Extent {
            first_page: first,
            pages,
        }
    }

    /// Gives pages back.
    pub(super) fn free(&mut self, extent: Extent) {
        let (mut first, mut end) = (extent.first_page, extent.first_page + extent.pages);
        if let Some((&start, &length)) = self.extents.range(..first).next_back() {
            debug_assert!(start + length <= first);
            if start + length == first {
                first = start;
            }
        }
        if let Some(length) = self.extents.remove(&end) {
            end += length;
        }
        self.extents.insert(first, end - first);
        self.pages += extent.pages;
        self.each_group(extent.first_page, extent.pages, |group, part| {
            group.free += part;
        });
    }

    fn group_of(&self, page: u32) -> usize {
        (page / self.group_pages) as usize
    }

    /// Calls with each group that a range touches, and how many pages of it lie there.
    fn each_group(&mut self, first: u32, pages: u32, mut each: impl FnMut(&mut Group, u32)) {
        let end = first + pages;
        let touched = self.group_of(first)..=self.group_of(end - 1);
        for group in &mut self.groups[touched] {
            let part = end.min(group.range.end) - first.max(group.range.start);
            each(group, part);
        }
    }

    /// Whether the free pages are exactly those that are not `used`.
    pub(super) fn check(&self, used: &Bits) -> Result<(), String> {
        let mut pages = 0;
        let mut previous = None;
        for (&first, &length) in &self.extents {
            if length == 0 || previous.is_some_and(|end| end >= first) {
                return Err(format!(
                    "free extent {first}+{length} touches the one before"
                ));
            }
            if used.count(first, length) > 0 {
                return Err(format!("free extent {first}+{length} is in a file, too"));
            }
            previous = Some(first + length);
            pages += length;
        }
        let by_group: u32 = self.groups.iter().map(|group| group.free).sum();
        if pages != self.pages || by_group != self.pages {
            return Err(format!(
                "{pages} free pages counted, {by_group} by group, {} kept",
                self.pages
            ));
        }
        Ok(())
    }
}
