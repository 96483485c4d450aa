//! Lucene's segments in Elasticsearch or OpenSearch: created, merged in tiers, deleted with their
//! index.
//!
//! A flush creates a small segment. Lucene's `TieredMergePolicy` decides which segments to merge:
//! if there are more than its per-tier budget allows, it merges the ten most similar in size,
//! smallest first, up to a maximum size. An index that has reached its size is rolled over; when
//! the space is used up, the oldest index is deleted as a whole (index lifecycle management).

use std::collections::VecDeque;

use super::plan::{Namespace, Plan};
use super::{Operation, Workload};

/// Segments per tier, and the number merged at once: Lucene's defaults.
const PER_TIER: usize = 10;

/// Settings of indices and their segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segments {
    /// Maximum size of all indices together, in pages; the output of a running merge comes on top.
    pub space_pages: u32,
    /// Pages of a newly flushed segment; at least 1.
    pub flush_pages: u32,
    /// Maximum size of a merged segment (Lucene: 5 GB); at least twice a flush.
    pub segment_pages_max: u32,
    /// Size at which an index is rolled over; at least a flush, at most half of the space.
    pub index_pages: u32,
}

#[derive(Debug, Clone, Copy)]
struct Segment {
    file: u32,
    pages: u32,
}

#[derive(Debug, Clone, Default)]
struct Index {
    segments: Vec<Segment>,
    pages: u64,
}

/// The workload of [`Segments`].
#[derive(Debug, Clone)]
pub struct SegmentsWorkload {
    settings: Segments,
    plan: Plan,
    /// Oldest first; the last one receives the writes.
    indices: VecDeque<Index>,
    pages: u64,
    loaded: bool,
}

impl SegmentsWorkload {
    /// Creates the workload.
    ///
    /// # Panics
    /// Unless the bounds in [`Segments`] are met.
    pub fn new(settings: Segments, namespace: Namespace) -> Self {
        let Segments {
            space_pages,
            flush_pages,
            segment_pages_max,
            index_pages,
        } = settings;
        assert!(flush_pages >= 1 && segment_pages_max / 2 >= flush_pages);
        assert!((flush_pages..=space_pages / 2).contains(&index_pages));
        Self {
            settings,
            plan: Plan::new(namespace),
            indices: VecDeque::from([Index::default()]),
            pages: 0,
            loaded: false,
        }
    }

    fn flush(&mut self) {
        let pages = self.settings.flush_pages;
        if (self.indices.back())
            .is_none_or(|index| index.pages >= u64::from(self.settings.index_pages))
        {
            self.indices.push_back(Index::default());
        }
        while self.pages + u64::from(pages) > u64::from(self.settings.space_pages) {
            let oldest = self.indices.pop_front().expect("they hold the pages");
            self.loaded = true;
            self.pages -= oldest.pages;
            for segment in oldest.segments {
                self.plan.delete(segment.file);
            }
        }
        let file = self.plan.create(pages);
        self.pages += u64::from(pages);
        let index = self.indices.back_mut().expect("pushed above");
        index.pages += u64::from(pages);
        index.segments.push(Segment { file, pages });
        // `find_merge` sorts by size, largest first, as Lucene's policy does.
        while let Some(merged) = find_merge(&mut index.segments, &self.settings) {
            for segment in &merged {
                self.plan.read(segment.file, segment.pages);
            }
            let pages = merged.iter().map(|segment| segment.pages).sum();
            let file = self.plan.create(pages);
            for segment in &merged {
                self.plan.delete(segment.file);
            }
            index.segments.push(Segment { file, pages });
        }
    }
}

/// Finds the best merge, if one is due, and removes its segments from the list.
#[allow(clippy::cast_precision_loss)] // pages below 2^32
fn find_merge(segments: &mut Vec<Segment>, settings: &Segments) -> Option<Vec<Segment>> {
    segments.sort_by_key(|segment| std::cmp::Reverse(segment.pages));
    let max = u64::from(settings.segment_pages_max);
    let floor = settings.flush_pages;
    // Segments above half of the maximum are left alone: merging them gains little.
    let done = segments.partition_point(|segment| u64::from(segment.pages) * 2 > max);
    let eligible = &segments[done..];
    if eligible.len() <= budget(eligible, floor, max) {
        return None;
    }
    let mut best: Option<(f64, Vec<usize>)> = None;
    for start in 0..eligible.len() {
        let (mut total, mut chosen, mut too_large) = (0, Vec::new(), false);
        for (index, segment) in eligible.iter().enumerate().skip(start) {
            if chosen.len() == PER_TIER {
                break;
            }
            if total + u64::from(segment.pages) > max {
                // A smaller one further on may still fit.
                too_large = true;
                continue;
            }
            total += u64::from(segment.pages);
            chosen.push(index);
        }
        if chosen.len() < 2 || (chosen.len() < PER_TIER && !too_large && start > 0) {
            continue;
        }
        // Lopsided merges cost most for their benefit; among even ones, smaller ones come first.
        let largest = f64::from(eligible[chosen[0]].pages.max(floor));
        let floored: f64 = chosen
            .iter()
            .map(|&index| f64::from(eligible[index].pages.max(floor)))
            .sum();
        let skew = if too_large {
            1.0 / PER_TIER as f64
        } else {
            largest / floored
        };
        let score = skew * (total as f64).powf(0.05);
        if best.as_ref().is_none_or(|(least, _)| score < *least) {
            best = Some((score, chosen));
        }
    }
    let (_, mut chosen) = best?;
    chosen.reverse();
    Some(
        (chosen.into_iter())
            .map(|index| segments.remove(done + index))
            .collect(),
    )
}

/// Allowed number of segments: ten of the smallest size, ten of ten times that size, and so on.
fn budget(segments: &[Segment], floor: u32, max: u64) -> usize {
    let smallest = segments
        .last()
        .map_or(floor, |segment| segment.pages.max(floor));
    let mut size = u64::from(smallest);
    let mut left: u64 = segments
        .iter()
        .map(|segment| u64::from(segment.pages))
        .sum();
    let mut allowed = 0;
    loop {
        let count = left.div_ceil(size);
        if count <= PER_TIER as u64 || size >= max {
            #[allow(clippy::cast_possible_truncation)] // at most the segments
            return (allowed + count as usize).max(PER_TIER);
        }
        allowed += PER_TIER;
        left -= PER_TIER as u64 * size;
        size = (size * PER_TIER as u64).min(max);
    }
}

impl Workload for SegmentsWorkload {
    fn next(&mut self) -> Operation {
        if self.plan.is_empty() {
            self.flush();
        }
        self.plan.pop().expect("planned above")
    }

    fn is_loaded(&self) -> bool {
        self.loaded
    }

    fn peak_pages(&self) -> u64 {
        u64::from(self.settings.space_pages) + u64::from(self.settings.segment_pages_max)
    }
}
