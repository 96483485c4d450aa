//! A translation layer with timing, and RAID-0 of several.
//!
//! A [`Device`] takes a [`Request`] with its arrival time and returns when it is done. A [`Queue`]
//! decides on arrivals: it keeps a fixed number of requests in flight.

mod device;
mod queue;
mod raid0;
#[cfg(test)]
mod tests;

pub use device::{Device, Range, Request};
pub use queue::Queue;
pub use raid0::{Raid0, Raid0Error, Stripe};

use device::BATCH;
use thiserror::Error;

use crate::{
    ftl::{Counters, Ftl, PowerOn, Settings},
    geometry::GeometryError,
    time::{Clock, Kind, Recorder, Timing, TimingError},
};

/// Why a drive cannot be built.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum DriveError {
    /// Invalid geometry.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    /// Invalid timing.
    #[error(transparent)]
    Timing(#[from] TimingError),
}

/// A drive: a translation layer with timing.
#[derive(Debug, Clone)]
pub struct Drive {
    ftl: Ftl<Clock>,
    page_bytes: u32,
    pages: u32,
    recorder: Recorder,
}

impl Drive {
    /// Creates a drive in the state described by `power_on`, at time 0.
    ///
    /// # Errors
    /// If the geometry or the timing is invalid.
    pub fn new(settings: Settings, power_on: PowerOn, timing: &Timing) -> Result<Self, DriveError> {
        let geometry = settings.geometry;
        let clock = Clock::new(timing, geometry.page_bytes, geometry.pages_per_block)?;
        let ftl = Ftl::new(settings, power_on, clock)?;
        Ok(Self {
            ftl,
            page_bytes: geometry.page_bytes,
            #[allow(clippy::cast_possible_truncation)] // checked by the translation layer
            pages: geometry.logical_pages as u32,
            recorder: Recorder::new(),
        })
    }

    /// The translation layer.
    pub fn ftl(&self) -> &Ftl<Clock> {
        &self.ftl
    }

    /// The drive's clock.
    pub fn clock(&self) -> &Clock {
        self.ftl.medium()
    }

    fn within(&self, request: &Request) {
        let end = u64::from(request.first_page) + u64::from(request.pages);
        assert!(
            end <= u64::from(self.pages),
            "pages {} to {end} of a drive with {} pages",
            request.first_page,
            self.pages
        );
    }

    /// Ends the request and records it.
    fn end(&mut self, request: &Request) -> u64 {
        let done = self.ftl.medium_mut().end();
        self.recorder.record(request.kind, request.at_ns, done);
        done
    }
}

impl Device for Drive {
    fn pages(&self) -> u32 {
        self.pages
    }

    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn read(&mut self, request: Request) -> u64 {
        self.within(&request);
        self.ftl.medium_mut().begin(request.at_ns);
        for page in request.first_page..request.first_page + request.pages {
            match self.ftl.place(page) {
                Some(place) => self.ftl.medium_mut().read(place),
                None => self.ftl.medium_mut().read_unmapped(),
            }
        }
        self.end(&request)
    }

    fn write(&mut self, request: Request) -> u64 {
        self.within(&request);
        self.ftl.medium_mut().begin(request.at_ns);
        self.ftl.write_run(request.first_page, request.pages);
        self.end(&request)
    }

    fn discard_ranges(&mut self, at_ns: u64, ranges: &[Range]) -> u64 {
        let pages: u64 = ranges.iter().map(|range| u64::from(range.pages)).sum();
        if pages == 0 {
            return at_ns;
        }
        if self.clock().executes_discards() {
            for range in ranges {
                self.ftl.discard_run(range.first_page, range.pages);
            }
        }
        let bytes = pages * u64::from(self.page_bytes);
        let clock = self.ftl.medium_mut();
        let done = clock.discard(at_ns, ranges.len() as u64, bytes);
        self.recorder.record(Kind::Discard, at_ns, done);
        done
    }

    fn stage(&mut self, pages: &[u32]) {
        self.ftl.medium_mut().stage();
        self.ftl.write(pages);
        self.ftl.medium_mut().staged();
    }

    #[inline]
    fn write_staged(&mut self, at_ns: u64) -> u64 {
        let done = self.ftl.medium_mut().write_staged(at_ns);
        self.recorder.record(Kind::Write, at_ns, done);
        done
    }

    fn write_pages(&mut self, queue: &mut Queue, pages: &[u32]) -> u64 {
        let mut last = 0;
        for batch in pages.chunks(BATCH) {
            self.stage(batch);
            let (slots, not_before_ns) = queue.slots();
            let recorder = &mut self.recorder;
            let clock = self.ftl.medium_mut();
            clock.write_all_staged(slots, not_before_ns, |served| {
                last = last.max(recorder.record_all(Kind::Write, served));
            });
        }
        last
    }

    fn stage_discards(&mut self, pages: &[u32]) {
        if self.clock().executes_discards() {
            self.ftl.discard(pages);
        }
    }

    #[inline]
    fn discard_staged(&mut self, at_ns: u64) -> u64 {
        let done = self.ftl.medium_mut().discard_page(at_ns);
        self.recorder.record(Kind::Discard, at_ns, done);
        done
    }

    fn counters(&self) -> Counters {
        self.ftl.counters()
    }

    fn reset_counters(&mut self) {
        self.ftl.reset_counters();
    }

    fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }
}
