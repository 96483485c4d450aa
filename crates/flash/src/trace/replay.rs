//! Replay of a trace on a drive.

use super::place::{Placement, pages};
use super::{Addresses, Kind, Reader, Record, TraceError};
use crate::drive::{Device, PartialEnds, Queue, Request};
use crate::ftl::Counters;
use crate::time;
use std::io::Read;

/// Latest arrival after power-on, 146 years: later times indicate a broken trace, and sums must not
/// overflow.
const LATEST_NS: u64 = 1 << 62;

/// Maximum queue depth; larger values are clamped.
const DEPTH_MAX: u32 = 1 << 16;

/// Which of a trace's devices are replayed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Devices {
    /// The device of the first record.
    #[default]
    First,
    /// All devices, overlaid: equal offsets of different devices share a place.
    All,
    /// The devices with these names ([`Reader::device_name`]), overlaid.
    Named(Vec<String>),
}

/// When requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// At the recorded times. A drive slower than the recorded one falls behind, and its latencies
    /// grow.
    #[default]
    Recorded,
    /// As fast as the drive takes them, with this many in flight (1 to 65,536). A flush waits for
    /// all of them.
    QueueDepth(u32),
}

/// How a trace is replayed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplaySettings {
    /// Which devices are replayed.
    pub devices: Devices,
    /// How addresses are mapped.
    pub addresses: Addresses,
    /// When requests arrive.
    pub pace: Pace,
    /// Earliest arrival of the first request after power-on.
    pub start_ns: u64,
}

/// Number of records and their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Number of records.
    pub records: u64,
    /// Sum of their lengths.
    pub bytes: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, record: &Record) {
        self.records += 1;
        // Lengths of 2^63 bytes are valid, and two of them would overflow.
        self.bytes = self.bytes.saturating_add(record.len_bytes);
    }
}

/// Statistics of a replay. Every record counts as one of `reads`, `writes`, `discards`, `flushes`,
/// `other_devices`, `out_of_range` and `empty`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replayed {
    /// Rounds finished.
    pub rounds: u32,
    /// Records read from the trace.
    pub records: u64,
    /// Reads replayed.
    pub reads: Tally,
    /// Writes replayed.
    pub writes: Tally,
    /// Discards replayed, including those that cover no whole page.
    pub discards: Tally,
    /// Flushes. The simulated drive has no volatile cache to lose; with [`Pace::QueueDepth`] they
    /// wait.
    pub flushes: u64,
    /// Records of devices that are not replayed.
    pub other_devices: Tally,
    /// Records beyond the end of the drive or of the scaled span, or longer than the drive.
    pub out_of_range: Tally,
    /// Line of the first record out of range.
    pub out_of_range_line: Option<u64>,
    /// Reads, writes and discards of zero bytes.
    pub empty: u64,
    /// Pages read, after rounding to whole pages.
    pub read_pages: u64,
    /// Pages written, after rounding to whole pages.
    pub written_pages: u64,
    /// Pages discarded, after rounding to whole pages.
    pub discarded_pages: u64,
    /// Pages that a write covered only in part. Each was programmed as a whole page; adjacent
    /// consecutive writes are not merged.
    pub partial_pages: u64,
    /// Partly written pages that were mapped, and so had to be read first ([`PartialEnds`]), since
    /// the counters were reset. They are not host reads, but their time is part of the write's.
    pub fetched_pages: u64,
    /// Bytes at the ends of discards that do not cover a whole page. They stay mapped.
    pub undiscarded_bytes: u64,
    /// Requested names that are not in the trace.
    pub missing_devices: Vec<String>,
    /// When the last request was done, since power-on.
    pub done_ns: u64,
    /// The drive's counters since they were reset.
    pub counters: Counters,
}

impl Replayed {
    /// Number of records not replayed, for any reason.
    pub fn skipped(&self) -> u64 {
        self.other_devices.records + self.out_of_range.records + self.empty
    }
}

/// Replays traces on a drive, round after round.
///
/// Memory does not depend on the length of the trace: records are replayed as they are read.
///
/// Reads and writes include every page they touch, discards only pages they cover completely.
/// Reading part of a page takes as long as reading all of it, because a die always senses whole
/// pages. Writing part of a page reads it first if it is mapped.
#[derive(Debug)]
pub struct Replay {
    settings: ReplaySettings,
    placement: Placement,
    page_bytes: u64,
    queue: Option<Queue>,
    /// Time of the round's first record.
    round_ns: u64,
    /// Last arrival and last completion.
    last_ns: u64,
    done_ns: u64,
    /// For the current round, whether the device of each number is replayed.
    wanted: Vec<bool>,
    /// Which of `Devices::Named` have been seen.
    seen: Vec<bool>,
    replayed: Replayed,
}

impl Replay {
    /// Creates a replay on this device, which must keep its size.
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

    /// Replays the rest of a trace. The next round, possibly with another reader of the same trace,
    /// begins when everything is done.
    ///
    /// # Errors
    /// If the reader fails; records replayed until then stay replayed.
    pub fn round<R: Read, D: Device + ?Sized>(
        &mut self,
        trace: &mut Reader<R>,
        device: &mut D,
    ) -> Result<(), TraceError> {
        while !self.replay_records(trace, device, u64::MAX)? {}
        Ok(())
    }

    /// Replays up to `records_max` records, so that the caller can show progress or stop. Returns
    /// `true` at the end of the round.
    ///
    /// # Errors
    /// If the reader fails.
    pub fn replay_records<R: Read, D: Device + ?Sized>(
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
            queue.complete(done_ns);
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
            .saturating_add(pages.dropped_bytes);
    }

    #[inline]
    fn is_wanted<R>(&mut self, number: u32, trace: &Reader<R>) -> bool {
        match self.wanted.get(number as usize) {
            Some(wanted) => *wanted,
            None => self.look_up(number, trace),
        }
    }

    /// Devices are numbered in order of appearance.
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

    /// Statistics so far.
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

/// Replays a trace `rounds` times; `open` returns a new reader for each round, and receives the
/// round's number from 0.
///
/// # Errors
/// Errors of `open` and of the readers.
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
