//! Free extents and their allocation.

use std::collections::BTreeMap;
use std::ops::Range;

#[cfg(test)]
use super::bits::Bits;

/// Number of extents examined before the longest of them is taken.
const CANDIDATES: usize = 32;

/// A run of consecutive pages of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// First page.
    pub first_page: u32,
    /// Number of pages.
    pub pages: u32,
}

/// Free space as disjoint, non-adjacent extents, keyed by their first page.
#[derive(Debug, Clone)]
pub(super) struct FreeExtents {
    extents: BTreeMap<u32, u32>,
    pages: u32,
    group_pages: u32,
    groups: Vec<Group>,
}

#[derive(Debug, Clone)]
struct Group {
    range: Range<u32>,
    free: u32,
    /// The page after the last allocation.
    cursor: u32,
}

impl FreeExtents {
    /// Creates the extents of a device with all pages free.
    pub(super) fn new(pages: u32, groups: u32) -> Self {
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
        }
    }

    /// Number of free pages.
    pub(super) fn pages(&self) -> u32 {
        self.pages
    }

    /// Whether a page is free.
    pub(super) fn contains(&self, page: u32) -> bool {
        self.at(page).is_some()
    }

    /// Allocates at most `wanted` pages (above 0): at page `behind` if it is free, otherwise in
    /// `group` or one of the groups after it. Returns `None` if nothing is free.
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
            let ahead = self.fitting(group.cursor..group.range.end, wanted);
            ahead.or_else(|| self.fitting(group.range.start..group.cursor, wanted))
        })?;
        Some(self.take(found.first_page, found.pages.min(wanted)))
    }

    /// The first extent in `range` that holds `wanted` pages, otherwise the longest of the first
    /// few.
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

    /// The rest of the free extent that contains `page`, from `page` on.
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
        // Excludes an extent that starts at `end`; a range may not start beyond its end.
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

    /// Takes pages out of a free extent.
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

    /// Returns an extent to the free space.
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

    /// Calls `each` with every group that a range touches, and the number of pages in that group.
    fn each_group(&mut self, first: u32, pages: u32, mut each: impl FnMut(&mut Group, u32)) {
        let end = first + pages;
        let touched = self.group_of(first)..=self.group_of(end - 1);
        for group in &mut self.groups[touched] {
            let part = end.min(group.range.end) - first.max(group.range.start);
            each(group, part);
        }
    }

    /// Verifies that exactly the pages not in `used` are free.
    #[cfg(test)]
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
