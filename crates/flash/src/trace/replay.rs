//! A trace made to happen on a drive.

use super::place::{Placement, pages};
use super::{Addresses, Kind, Reader, Record, TraceError};
use crate::drive::{Device, PartialEnds, Queue, Request};
use crate::ftl::Counters;
use crate::time;
use std::io::Read;

/// Requests arrive at most so late after power-on, 146 years: a trace that says later is wrong, and sums
/// must not overflow.
const LATEST_NS: u64 = 1 << 62;

/// A deeper queue is taken as this one.
const DEPTH_MAX: u32 = 1 << 16;

/// Which of a trace's devices are replayed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Devices {
    /// The one that the first record is of.
    #[default]
    First,
    /// All of them, laid over each other: the same offset of two devices is the same place.
    All,
    /// Those of these names ([`Reader::device_name`]), laid over each other.
    Named(Vec<String>),
}

/// When requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// When they did. A drive that is slower than the recorded one falls behind, and its latencies grow.
    #[default]
    Recorded,
    /// As fast as the drive takes them, with so many under way (1 to 65,536). A flush waits for all
    /// of them.
    QueueDepth(u32),
}

/// How a trace is replayed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplaySettings {
    /// Devices.
    pub devices: Devices,
    /// Addresses.
    pub addresses: Addresses,
    /// Times.
    pub pace: Pace,
    /// The first request arrives no earlier than this after power-on.
    pub start_ns: u64,
}

/// Records and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// How many.
    pub records: u64,
    /// Their lengths together.
    pub bytes: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, record: &Record) {
        self.records += 1;
        // Lengths of 2^63 bytes are valid, and two of them are too many.
        self.bytes = self.bytes.saturating_add(record.len_bytes);
    }
}

/// What was replayed. Every record is one of `reads`, `writes`, `discards`, `flushes`, `other_devices`,
/// `out_of_range` and `empty`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replayed {
    /// Rounds that were finished.
    pub rounds: u32,
    /// Records of the trace.
    pub records: u64,
    /// Reads that were made.
    pub reads: Tally,
    /// Writes that were made.
    pub writes: Tally,
    /// Discards that were made, those included that covered no page as a whole.
    pub discards: Tally,
    /// Flushes. A drive here has no cache that it could lose; with [`Pace::QueueDepth`] they wait.
    pub flushes: u64,
    /// Records of devices that were not asked for.
    pub other_devices: Tally,
    /// Records that reached beyond the drive, or beyond what is scaled, or are longer than the drive.
    pub out_of_range: Tally,
    /// The line of the first of them.
    pub out_of_range_line: Option<u64>,
    /// Reads, writes and discards of no bytes.
    pub empty: u64,
    /// Pages that were read, written and discarded, after rounding.
    pub read_pages: u64,
    /// As `read_pages`.
    pub written_pages: u64,
    /// As `read_pages`.
    pub discarded_pages: u64,
    /// Pages of which a write covered a part only. Each was programmed as a whole; neighbours that arrive one
    /// after the other are not put together.
    pub partial_pages: u64,
    /// Those of them that the drive held, and read to fill in the rest ([`PartialEnds`]), since its counters were
    /// reset. No reads of the host, but their time is part of the write's.
    pub fetched_pages: u64,
    /// Bytes at the ends of discards that are no whole page. They stay mapped.
    pub undiscarded_bytes: u64,
    /// Names that were asked for and not in the trace.
    pub missing_devices: Vec<String>,
    /// The last of all requests was done, since power-on.
    pub done_ns: u64,
    /// The drive's counters, since they were reset.
    pub counters: Counters,
}

impl Replayed {
    /// Records that were not made, whatever the reason.
    pub fn skipped(&self) -> u64 {
        self.other_devices.records + self.out_of_range.records + self.empty
    }
}

/// Replays traces on a drive, round after round.
///
/// Memory does not depend on the length of the trace: a record is made as it is read.
///
/// A write or read takes every page that it touches, a discard those that it covers as a whole. A read of a part
/// is a read of the page: a die senses no less. A write of a part reads the page first, where it is mapped.
#[derive(Debug)]
pub struct Replay {
    settings: ReplaySettings,
    placement: Placement,
    page_bytes: u64,
    queue: Option<Queue>,
    /// Where the time of the round's first record lies.
    round_ns: u64,
    /// Last arrival and last completion.
    last_ns: u64,
    done_ns: u64,
    /// Of the round: whether a device of this number is wanted.
    wanted: Vec<bool>,
    /// Which of `Devices::Named` were there.
    seen: Vec<bool>,
    replayed: Replayed,
}

impl Replay {
    /// A replay on this device; it has to stay one of its size.
    pub fn new<D: Device + ?Sized>(settings: ReplaySettings, device: &D) -> Self {
        let start_ns = settings.start_ns.min(LATEST_NS);
        let queue = match settings.pace {
            Pace::Recorded => None,
            Pace::QueueDepth(depth) => {
                let mut queue = Queue::closed(depth.min(DEPTH_MAX) as usize);
                queue.pause_until(start_ns);
                Some(queue)
            }
        };
        let seen = match &settings.devices {
            Devices::Named(names) => vec![false; names.len()],
            _ => Vec::new(),
        };
        Self {
            placement: Placement::new(settings.addresses, device.pages(), device.page_bytes()),
            page_bytes: device.page_bytes().max(1).into(),
            settings,
            queue,
            round_ns: start_ns,
            last_ns: start_ns,
            done_ns: start_ns,
            wanted: Vec::new(),
            seen,
            replayed: Replayed::default(),
        }
    }

    /// Replays what is left of a trace; the next round, be it with another reader of the same
    /// trace, begins when all of it is done.
    ///
    /// # Errors
    /// The reader's. What was replayed until then stays replayed.
    pub fn round<R: Read, D: Device + ?Sized>(
        &mut self,
        trace: &mut Reader<R>,
        device: &mut D,
    ) -> Result<(), TraceError> {
        while !self.some(trace, device, u64::MAX)? {}
        Ok(())
    }

    /// Replays up to `records_max` records, so that the caller can show progress or stop; `true` when that
    /// was the end of the round.
    ///
    /// # Errors
    /// The reader's.
    pub fn some<R: Read, D: Device + ?Sized>(
        &mut self,
        trace: &mut Reader<R>,
        device: &mut D,
        records_max: u64,
    ) -> Result<bool, TraceError> {
        for _ in 0..records_max {
            let Some(record) = trace.next() else {
                self.end_round();
                return Ok(true);
            };
            self.record(record?, trace, device);
        }
        Ok(false)
    }

    fn end_round(&mut self) {
        self.replayed.rounds += 1;
        self.wanted.clear();
        self.round_ns = self.last_ns.max(self.done_ns).min(LATEST_NS);
        if let Some(queue) = &mut self.queue {
            queue.pause_until(self.round_ns);
        }
    }

    fn record<R, D: Device + ?Sized>(&mut self, record: Record, trace: &Reader<R>, device: &mut D) {
        self.replayed.records += 1;
        if !self.is_wanted(record.device, trace) {
            self.replayed.other_devices.add(&record);
            return;
        }
        let kind = match record.kind {
            Kind::Read => time::Kind::Read,
            Kind::Write => time::Kind::Write,
            Kind::Discard => time::Kind::Discard,
            Kind::Flush => {
                self.replayed.flushes += 1;
                if let Some(queue) = &mut self.queue {
                    queue.pause_until(queue.drained_ns());
                }
                return;
            }
        };
        if record.len_bytes == 0 {
            self.replayed.empty += 1;
            return;
        }
        let at_ns = match &self.queue {
            None => self.round_ns.saturating_add(record.at_ns),
            Some(queue) => queue.next_ns(),
        };
        let at_ns = at_ns.min(LATEST_NS);
        let pages = pages(
            record.kind,
            record.offset_bytes,
            record.len_bytes,
            self.page_bytes,
        );
        let mut done_ns = at_ns;
        let mut before = 0;
        let within = pages.count == 0
            || self.placement.place(pages, |first_page, run| {
                let request = Request {
                    at_ns,
                    kind,
                    first_page,
                    pages: run,
                    stream: 0,
                };
                let ends = PartialEnds {
                    first: pages.ends.first && before == 0,
                    last: pages.ends.last && before + u64::from(run) == pages.count,
                };
                before += u64::from(run);
                let done = match kind {
                    time::Kind::Write => device.write_in_part(request, ends),
                    time::Kind::Read | time::Kind::Discard => device.submit(request),
                };
                done_ns = done_ns.max(done);
            });
        let replayed = &mut self.replayed;
        if !within {
            replayed.out_of_range.add(&record);
            replayed
                .out_of_range_line
                .get_or_insert(trace.stats().lines);
            return;
        }
        if let Some(queue) = &mut self.queue {
            queue.took(done_ns);
        }
        self.last_ns = at_ns;
        self.done_ns = self.done_ns.max(done_ns);
        let (tally, sum) = match record.kind {
            Kind::Read => (&mut replayed.reads, &mut replayed.read_pages),
            Kind::Write => (&mut replayed.writes, &mut replayed.written_pages),
            _ => (&mut replayed.discards, &mut replayed.discarded_pages),
        };
        tally.add(&record);
        *sum += pages.count;
        if record.kind == Kind::Write {
            replayed.partial_pages += pages.partial();
        }
        replayed.undiscarded_bytes = replayed
            .undiscarded_bytes
            .saturating_add(pages.left_out_bytes);
    }

    #[inline]
    fn is_wanted<R>(&mut self, number: u32, trace: &Reader<R>) -> bool {
        match self.wanted.get(number as usize) {
            Some(wanted) => *wanted,
            None => self.look_up(number, trace),
        }
    }

    /// Devices are numbered as they appear.
    #[cold]
    fn look_up<R>(&mut self, number: u32, trace: &Reader<R>) -> bool {
        #[allow(clippy::cast_possible_truncation)] // below `number`
        for next in self.wanted.len() as u32..=number {
            let wanted = match &self.settings.devices {
                Devices::First => next == 0,
                Devices::All => true,
                Devices::Named(names) => {
                    let name = trace.device_name(next);
                    let place = names
                        .iter()
                        .position(|wanted| Some(wanted) == name.as_ref());
                    if let Some(place) = place {
                        self.seen[place] = true;
                    }
                    place.is_some()
                }
            };
            self.wanted.push(wanted);
        }
        self.wanted[number as usize]
    }

    /// What was replayed so far.
    pub fn replayed<D: Device + ?Sized>(&self, device: &D) -> Replayed {
        let missing_devices = match &self.settings.devices {
            Devices::Named(names) => names
                .iter()
                .zip(&self.seen)
                .filter(|(_, seen)| !**seen)
                .map(|(name, _)| name.clone())
                .collect(),
            _ => Vec::new(),
        };
        Replayed {
            missing_devices,
            done_ns: self.done_ns,
            counters: device.counters(),
            fetched_pages: device.fetched_pages(),
            ..self.replayed.clone()
        }
    }
}

/// Replays a trace `rounds` times; `open` gives a new reader for each round, which is told its
/// number from 0.
///
/// # Errors
/// Those of `open` and of the readers.
pub fn replay<R: Read, D: Device + ?Sized, E: From<TraceError>>(
    settings: ReplaySettings,
    device: &mut D,
    rounds: u32,
    mut open: impl FnMut(u32) -> Result<Reader<R>, E>,
) -> Result<Replayed, E> {
    let mut replay = Replay::new(settings, device);
    for round in 0..rounds {
        replay.round(&mut open(round)?, device)?;
    }
    Ok(replay.replayed(device))
}
