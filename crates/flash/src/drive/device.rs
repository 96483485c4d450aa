//! Devices, and what a host asks of them.

use super::queue::Queue;
use crate::ftl::Counters;
use crate::time::{Kind, Recorder};

/// Writes that are staged together.
pub(super) const BATCH: usize = 512;

/// What a host asks of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Its arrival, in nanoseconds from power-on.
    pub at_ns: u64,
    /// Read, write or discard.
    pub kind: Kind,
    /// Its first page.
    pub first_page: u32,
    /// How many.
    pub pages: u32,
    /// The stream of a write, below the number of streams of the drive.
    pub stream: u8,
}

impl Request {
    /// Its pages.
    pub const fn range(&self) -> Range {
        Range {
            first_page: self.first_page,
            pages: self.pages,
        }
    }
}

/// Pages at the ends of a write that it covers in part only. Of one page, either says so.
///
/// A page-mapped drive programs whole pages: it reads such a page where it holds one, puts in what is new, and
/// programs the whole elsewhere (`MQSim`, Tavakkol et al. 2018: a program waits for its "related read").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartialEnds {
    /// The first page.
    pub first: bool,
    /// The last page.
    pub last: bool,
}

/// Consecutive pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Range {
    /// The first of them.
    pub first_page: u32,
    /// How many.
    pub pages: u32,
}

/// What takes requests: a drive, or an array of them.
///
/// Requests are served in the order in which they are submitted; arrivals should ascend, one that does not
/// finds the parts taken by those submitted before it.
///
/// All methods that name pages panic where a page is beyond [`Device::pages`] or a stream beyond the drive's:
/// whoever has addresses from outside brings them within first.
pub trait Device {
    /// Pages that the host can address.
    fn pages(&self) -> u32;

    /// Bytes of a page.
    fn page_bytes(&self) -> u32;

    /// Takes a request, and says when it is done, in nanoseconds. A request of no pages is done when
    /// it arrives, and counts nowhere.
    fn submit(&mut self, request: Request) -> u64 {
        if request.pages == 0 {
            return request.at_ns;
        }
        match request.kind {
            Kind::Read => self.read(request),
            Kind::Write => self.write_in_part(request, PartialEnds::default()),
            Kind::Discard => self.discard_ranges(request.at_ns, &[request.range()]),
        }
    }

    /// Takes a read of at least one page.
    fn read(&mut self, request: Request) -> u64;

    /// Takes a write that covers pages at its ends in part only, and says when it is done. The host waits for what
    /// is fetched, but for a drive with a write cache: that has acknowledged by then.
    fn write_in_part(&mut self, request: Request, partial: PartialEnds) -> u64;

    /// One discard of many ranges (an NVMe or ATA command takes up to 256 or 64 of them a block; what is
    /// too long for a command is for the caller to split). When it is done.
    fn discard_ranges(&mut self, at_ns: u64, ranges: &[Range]) -> u64;

    /// Takes writes of one page each, to be timed one after the other by [`Device::write_staged`] before
    /// anything else is asked. The translation goes through all of them at once, which is much faster
    /// than one by one; what comes of it is the same.
    fn stage(&mut self, pages: &[u32], stream: u8);

    /// The next staged write arrives; when it is done. Panics where none is left.
    fn write_staged(&mut self, at_ns: u64) -> u64;

    /// Writes of one page each, each when `queue` lets it; when the last of them is done.
    fn write_pages(&mut self, queue: &mut Queue, pages: &[u32], stream: u8) -> u64 {
        let mut last = 0;
        for batch in pages.chunks(BATCH) {
            self.stage(batch, stream);
            for _ in batch {
                let done = self.write_staged(queue.next_ns());
                queue.took(done);
                last = last.max(done);
            }
        }
        last
    }

    /// Takes discards of one page each, to be timed one after the other by [`Device::discard_staged`] before
    /// anything else is asked; as [`Device::stage`].
    fn stage_discards(&mut self, pages: &[u32]);

    /// The next staged discard arrives; when it is done. As many times as pages were staged.
    fn discard_staged(&mut self, at_ns: u64) -> u64;

    /// Discards of one page each, each when `queue` lets it; when the last of them is done.
    fn discard_pages(&mut self, queue: &mut Queue, pages: &[u32]) -> u64 {
        let mut last = 0;
        for batch in pages.chunks(BATCH) {
            self.stage_discards(batch);
            for _ in batch {
                let done = self.discard_staged(queue.next_ns());
                queue.took(done);
                last = last.max(done);
            }
        }
        last
    }

    /// What was written, moved, trimmed and erased: by all drives together.
    fn counters(&self) -> Counters;

    /// Counts from here on.
    fn reset_counters(&mut self);

    /// Pages of discards that no drive heard of.
    fn unheard_pages(&self) -> u64;

    /// Pages that were read for writes that covered them in part only.
    fn fetched_pages(&self) -> u64;

    /// Latencies and throughput as the host sees them.
    fn recorder(&self) -> &Recorder;

    /// To restart it, or to close its last interval.
    fn recorder_mut(&mut self) -> &mut Recorder;
}

impl Queue {
    /// Submits a request when its turn is; when it is done.
    pub fn submit<D: Device + ?Sized>(
        &mut self,
        device: &mut D,
        kind: Kind,
        first_page: u32,
        pages: u32,
        stream: u8,
    ) -> u64 {
        let done = device.submit(Request {
            at_ns: self.next_ns(),
            kind,
            first_page,
            pages,
            stream,
        });
        self.took(done);
        done
    }
}
