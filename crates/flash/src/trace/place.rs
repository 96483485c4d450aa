//! Placement of a trace's addresses on a drive.

use super::Kind;
use crate::drive::PartialEnds;

/// Unit of scaling: neighbors within a chunk stay neighbors.
const CHUNK_BYTES: u64 = 1 << 20;

/// What happens to addresses if the trace's device and the drive differ in size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Addresses {
    /// Addresses are kept; requests beyond the end of the drive are skipped and counted.
    #[default]
    Refuse,
    /// Addresses are taken modulo the drive's size; a request beyond the end continues at the
    /// start. Distinct addresses may share pages.
    Wrap,
    /// A device of `span_bytes` is mapped to the whole drive: chunks of 1 MiB are moved
    /// proportionally. On a larger drive they are spread apart, on a smaller one several of them
    /// share a place. Requests beyond the span are skipped and counted. [`super::Summary`] finds
    /// the span.
    Scale {
        /// Size of the trace's device, in bytes.
        span_bytes: u64,
    },
}

/// A request in whole pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pages {
    pub first: u64,
    pub count: u64,
    /// Which end pages the request covers only in part.
    pub ends: PartialEnds,
    /// Bytes of a discard that do not cover a whole page and are dropped.
    pub dropped_bytes: u64,
}

/// The pages a request touches. A discard includes only pages that it covers completely, because
/// the drive has to keep the rest of the others.
pub(crate) fn pages(kind: Kind, offset_bytes: u64, len_bytes: u64, page_bytes: u64) -> Pages {
    let end_bytes = offset_bytes.saturating_add(len_bytes);
    if kind == Kind::Discard {
        let first = offset_bytes.div_ceil(page_bytes);
        let count = (end_bytes / page_bytes).saturating_sub(first);
        return Pages {
            first,
            count,
            ends: PartialEnds::default(),
            dropped_bytes: len_bytes - count * page_bytes,
        };
    }
    if len_bytes == 0 {
        return Pages {
            first: offset_bytes / page_bytes,
            count: 0,
            ends: PartialEnds::default(),
            dropped_bytes: 0,
        };
    }
    let first = offset_bytes / page_bytes;
    let end = end_bytes.div_ceil(page_bytes);
    let head = !offset_bytes.is_multiple_of(page_bytes);
    let tail = !end_bytes.is_multiple_of(page_bytes);
    Pages {
        first,
        count: end - first,
        ends: PartialEnds {
            first: head,
            last: tail,
        },
        dropped_bytes: 0,
    }
}

impl Pages {
    /// Number of pages the request covers only in part.
    pub(crate) fn partial(&self) -> u64 {
        let PartialEnds { first, last } = self.ends;
        match self.count {
            1 => u64::from(first || last),
            _ => u64::from(first) + u64::from(last),
        }
    }
}

/// Maps addresses to pages of a drive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placement {
    addresses: Addresses,
    /// Pages of the drive.
    drive_pages: u64,
    chunk_pages: u64,
    /// Chunks of the drive, and of the trace's device.
    drive_chunks: u64,
    trace_chunks: u64,
    span_pages: u64,
}

impl Placement {
    pub(crate) fn new(addresses: Addresses, drive_pages: u32, page_bytes: u32) -> Self {
        let drive_pages = u64::from(drive_pages);
        let page_bytes = u64::from(page_bytes.max(1));
        let span_bytes = match addresses {
            Addresses::Scale { span_bytes } => span_bytes,
            _ => 0,
        };
        let span_pages = span_bytes.div_ceil(page_bytes);
        let chunk_pages = (CHUNK_BYTES / page_bytes).clamp(1, drive_pages.max(1));
        Self {
            addresses,
            drive_pages,
            chunk_pages,
            drive_chunks: drive_pages / chunk_pages,
            trace_chunks: span_pages.div_ceil(chunk_pages).max(1),
            span_pages,
        }
    }

    /// Calls `run` with the runs of pages that a request maps to, all within the drive; returns
    /// `false` if the request is out of range. More pages than the drive has are always out of
    /// range.
    pub(crate) fn place(&self, pages: Pages, mut run: impl FnMut(u32, u32)) -> bool {
        let Pages { first, count, .. } = pages;
        if count > self.drive_pages {
            return false;
        }
        // All values passed on are below `drive_pages`, which was a u32.
        #[allow(clippy::cast_possible_truncation)]
        let mut run = |first: u64, count: u64| run(first as u32, count as u32);
        match self.addresses {
            Addresses::Refuse => {
                if first > self.drive_pages - count {
                    return false;
                }
                run(first, count);
            }
            Addresses::Wrap => {
                let first = first % self.drive_pages.max(1);
                let before_end = count.min(self.drive_pages - first);
                run(first, before_end);
                if before_end < count {
                    run(0, count - before_end);
                }
            }
            Addresses::Scale { .. } => {
                if count > self.span_pages || first > self.span_pages - count {
                    return false;
                }
                self.scale(first, count, &mut run);
            }
        }
        true
    }

    /// Maps chunk by chunk, and joins adjacent results into one run.
    fn scale(&self, mut first: u64, count: u64, run: &mut impl FnMut(u64, u64)) {
        let end = first + count;
        let mut pending = (0, 0);
        while first < end {
            let chunk = first / self.chunk_pages;
            let within = first % self.chunk_pages;
            let pages = (self.chunk_pages - within).min(end - first);
            let place =
                u128::from(chunk) * u128::from(self.drive_chunks) / u128::from(self.trace_chunks);
            // Below `drive_chunks`, since `chunk` is below `trace_chunks`.
            #[allow(clippy::cast_possible_truncation)]
            let start = place as u64 * self.chunk_pages + within;
            if pending.1 > 0 && pending.0 + pending.1 == start {
                pending.1 += pages;
            } else {
                if pending.1 > 0 {
                    run(pending.0, pending.1);
                }
                pending = (start, pages);
            }
            first += pages;
        }
        if pending.1 > 0 {
            run(pending.0, pending.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn placed(placement: &Placement, first: u64, count: u64) -> Option<Vec<(u32, u32)>> {
        let pages = Pages {
            first,
            count,
            ends: PartialEnds::default(),
            dropped_bytes: 0,
        };
        let mut runs = Vec::new();
        placement
            .place(pages, |first, count| runs.push((first, count)))
            .then_some(runs)
    }

    #[test]
    fn writes_touch_pages_and_discards_cover_them() {
        let of = |kind, offset, len| {
            let pages = pages(kind, offset, len, 4096);
            (
                pages.first,
                pages.count,
                pages.partial(),
                pages.dropped_bytes,
            )
        };
        assert_eq!(of(Kind::Write, 4096, 8192), (1, 2, 0, 0));
        assert_eq!(of(Kind::Write, 4096, 8193), (1, 3, 1, 0));
        assert_eq!(of(Kind::Write, 512, 512), (0, 1, 1, 0));
        assert_eq!(of(Kind::Write, 4095, 2), (0, 2, 2, 0));
        assert_eq!(of(Kind::Read, 4095, 4098), (0, 3, 2, 0));
        assert_eq!(of(Kind::Write, 5000, 0), (1, 0, 0, 0));
        assert_eq!(of(Kind::Discard, 4096, 8192), (1, 2, 0, 0));
        assert_eq!(of(Kind::Discard, 4095, 8193), (1, 2, 0, 1));
        assert_eq!(of(Kind::Discard, 1, 8190), (1, 0, 0, 8190));
        assert_eq!(of(Kind::Discard, 100, 200), (1, 0, 0, 200));
        assert_eq!(of(Kind::Discard, 0, 0), (0, 0, 0, 0));
        let last = pages(Kind::Write, u64::MAX - 1, 1, 4096);
        assert_eq!((last.count, last.partial()), (1, 1));
    }

    #[test]
    fn addresses_beyond_the_end() {
        let refuse = Placement::new(Addresses::Refuse, 100, 4096);
        assert_eq!(placed(&refuse, 90, 10), Some(vec![(90, 10)]));
        assert_eq!(placed(&refuse, 91, 10), None);
        assert_eq!(placed(&refuse, u64::MAX, 1), None);
        let wrap = Placement::new(Addresses::Wrap, 100, 4096);
        assert_eq!(placed(&wrap, 95, 10), Some(vec![(95, 5), (0, 5)]));
        assert_eq!(placed(&wrap, 1000, 100), Some(vec![(0, 100)]));
        assert_eq!(placed(&wrap, 0, 101), None);
    }

    #[test]
    fn scaling_preserves_chunk_order_and_content() {
        // 1024 pages of 4 KiB are four chunks of 256; the trace has eight, or two.
        let smaller = Placement::new(
            Addresses::Scale {
                span_bytes: 8 << 20,
            },
            1024,
            4096,
        );
        assert_eq!(placed(&smaller, 0, 256), Some(vec![(0, 256)]));
        assert_eq!(placed(&smaller, 256, 10), Some(vec![(0, 10)]));
        assert_eq!(placed(&smaller, 7 * 256 + 255, 1), Some(vec![(1023, 1)]));
        // From the end of chunk 1 into chunk 2: from place 0 into place 1.
        assert_eq!(placed(&smaller, 510, 4), Some(vec![(254, 4)]));
        // From chunk 0 into chunk 1, which share a place.
        assert_eq!(placed(&smaller, 255, 2), Some(vec![(255, 1), (0, 1)]));
        assert_eq!(placed(&smaller, 8 * 256 - 1, 2), None);
        let larger = Placement::new(
            Addresses::Scale {
                span_bytes: 2 << 20,
            },
            1024,
            4096,
        );
        assert_eq!(placed(&larger, 0, 512), Some(vec![(0, 256), (512, 256)]));
        let same = Placement::new(
            Addresses::Scale {
                span_bytes: 4 << 20,
            },
            1024,
            4096,
        );
        assert_eq!(placed(&same, 3, 1000), Some(vec![(3, 1000)]));
    }

    proptest! {
        #[test]
        fn placed_pages_are_complete_and_within_the_drive(
            first in prop_oneof![0_u64..20_000, any::<u64>()],
            count in prop_oneof![1_u64..3_000, any::<u64>()],
            drive in 1_u32..10_000,
            span in prop_oneof![0_u64..1 << 30, any::<u64>()],
            page in prop::sample::select(vec![512_u32, 4096, 16_384, 4 << 20]),
        ) {
            for addresses in [
                Addresses::Refuse,
                Addresses::Wrap,
                Addresses::Scale { span_bytes: span },
            ] {
                let placement = Placement::new(addresses, drive, page);
                let Some(runs) = placed(&placement, first, count) else { continue };
                let sum: u64 = runs.iter().map(|run| u64::from(run.1)).sum();
                prop_assert_eq!(sum, count);
                for (first, count) in runs {
                    prop_assert!(count > 0);
                    prop_assert!(u64::from(first) + u64::from(count) <= u64::from(drive));
                }
            }
        }

        #[test]
        fn pages_cover_the_requested_bytes(
            offset in any::<u64>(),
            len in 0_u64..1 << 40,
            page in prop::sample::select(vec![512_u64, 4096, 16_384]),
            discard in any::<bool>(),
        ) {
            let offset = offset.min(u64::MAX - len);
            let kind = if discard { Kind::Discard } else { Kind::Write };
            let pages = pages(kind, offset, len, page);
            let start = u128::from(pages.first) * u128::from(page);
            let end = start + u128::from(pages.count) * u128::from(page);
            let (asked, asked_end) = (u128::from(offset), u128::from(offset) + u128::from(len));
            if pages.count > 0 && discard {
                prop_assert!(asked <= start && end <= asked_end);
                prop_assert!(start - asked < u128::from(page) && asked_end - end < u128::from(page));
            } else if pages.count > 0 {
                prop_assert!(start <= asked && asked_end <= end);
                prop_assert!(asked - start < u128::from(page) && end - asked_end < u128::from(page));
            } else if !discard {
                prop_assert_eq!(len, 0);
            }
        }
    }
}
