//! The device interface and its requests.

use super::queue::Queue;
use crate::ftl::Counters;
use crate::time::{Kind, Recorder};

/// Number of writes staged together.
pub(super) const BATCH: usize = 512;

/// A request from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Arrival, in nanoseconds since power-on.
    pub at_ns: u64,
    /// Read, write or discard.
    pub kind: Kind,
    /// First page.
    pub first_page: u32,
    /// Number of pages.
    pub pages: u32,
}

impl Request {
    /// The pages of the request.
    pub const fn range(&self) -> Range {
        Range {
            first_page: self.first_page,
            pages: self.pages,
        }
    }
}

/// A range of consecutive pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Range {
    /// First page.
    pub first_page: u32,
    /// Number of pages.
    pub pages: u32,
}

/// A drive, or an array of drives.
///
/// Requests are served in the order in which they are submitted. Arrivals should ascend; a request
/// that arrives earlier finds the parts occupied by those submitted before it.
///
/// All methods that take pages panic if a page is beyond [`Device::pages`], so callers must validate
/// outside input first.
pub trait Device {
    /// Pages the host can address.
    fn pages(&self) -> u32;

    /// Bytes per page.
    fn page_bytes(&self) -> u32;

    /// Submits a request, and returns when it is done, in nanoseconds. A request without pages is
    /// done when it arrives and is not counted.
    fn submit(&mut self, request: Request) -> u64 {
        if request.pages == 0 {
            return request.at_ns;
        }
        match request.kind {
            Kind::Read => self.read(request),
            Kind::Write => self.write(request),
            Kind::Discard => self.discard_ranges(request.at_ns, &[request.range()]),
        }
    }

    /// Submits a read of at least one page.
    fn read(&mut self, request: Request) -> u64;

    /// Submits a write of at least one page.
    fn write(&mut self, request: Request) -> u64;

    /// Submits one discard of several ranges, and returns when it is done. (An NVMe command takes
    /// up to 256 ranges, an ATA command up to 64 per block; the caller splits longer lists.)
    fn discard_ranges(&mut self, at_ns: u64, ranges: &[Range]) -> u64;

    /// Stages single-page writes, which must be timed one by one with [`Device::write_staged`]
    /// before any other request. The translation layer processes all of them at once, which is much
    /// faster and gives the same result.
    fn stage(&mut self, pages: &[u32]);

    /// Submits the next staged write, and returns when it is done. Panics if none is left.
    fn write_staged(&mut self, at_ns: u64) -> u64;

    /// Submits single-page writes as `queue` allows; returns when the last of them is done.
    fn write_pages(&mut self, queue: &mut Queue, pages: &[u32]) -> u64 {
        let mut last = 0;
        for batch in pages.chunks(BATCH) {
            self.stage(batch);
            for _ in batch {
                let done = self.write_staged(queue.next_ns());
                queue.complete(done);
                last = last.max(done);
            }
        }
        last
    }

    /// Stages single-page discards, which must be timed one by one with [`Device::discard_staged`]
    /// before any other request; like [`Device::stage`].
    fn stage_discards(&mut self, pages: &[u32]);

    /// Submits the next staged discard, and returns when it is done. Call once per staged page.
    fn discard_staged(&mut self, at_ns: u64) -> u64;

    /// Submits single-page discards as `queue` allows; returns when the last of them is done.
    fn discard_pages(&mut self, queue: &mut Queue, pages: &[u32]) -> u64 {
        let mut last = 0;
        for batch in pages.chunks(BATCH) {
            self.stage_discards(batch);
            for _ in batch {
                let done = self.discard_staged(queue.next_ns());
                queue.complete(done);
                last = last.max(done);
            }
        }
        last
    }

    /// Pages written, moved and trimmed and blocks erased, over all drives.
    fn counters(&self) -> Counters;

    /// Resets the counters to zero.
    fn reset_counters(&mut self);

    /// Latencies as seen by the host.
    fn recorder(&self) -> &Recorder;

    /// Mutable access, to restart the recorder.
    fn recorder_mut(&mut self) -> &mut Recorder;
}

impl Queue {
    /// Submits a request when the queue allows, and returns when it is done.
    pub fn submit<D: Device + ?Sized>(
        &mut self,
        device: &mut D,
        kind: Kind,
        first_page: u32,
        pages: u32,
    ) -> u64 {
        let done = device.submit(Request {
            at_ns: self.next_ns(),
            kind,
            first_page,
            pages,
        });
        self.complete(done);
        done
    }
}
