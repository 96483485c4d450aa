//! The simulated clock: when every part of the drive becomes free.

use super::parts::{CHANNELS, Costs, DIES, Discard, Flash, PendingCollection, Slc, SlcUse, ns};
use super::{CollectionPace, DiscardHandling, Divisor, Served, Slots, Timing, TimingError};
use crate::ftl::Medium;

/// The clock of a drive, in nanoseconds since power-on. It receives flash operations as a
/// [`Medium`]; the operations between [`Clock::begin`] and [`Clock::end`] belong to one request.
///
/// Requests are served in the order in which they begin. A request may arrive before its
/// predecessor, but then finds the parts busy.
#[derive(Debug, Clone)]
pub struct Clock {
    costs: Costs,
    moments: Moments,
    channel_of: Box<[u8; DIES]>,
    die_free: Box<[u64; DIES]>,
    /// Used if reads suspend programs: reads queue only behind other reads of the die.
    die_read_free: Box<[u64; DIES]>,
    channel_free: Box<[u64; CHANNELS]>,
    cache: Option<Slots>,
    slc: Option<Slc>,
    pending: PendingCollection,
    discard: Discard,
    /// Operations are recorded for [`Clock::write_staged`] instead of timed.
    staging: bool,
    staged: Vec<Staged>,
    next_staged: usize,
}

/// An operation recorded while staging.
#[derive(Debug, Clone, Copy)]
enum Staged {
    /// Host pages to be timed: the first place and the number of pages, at least one.
    Programs { first: u32, pages: u32 },
    /// Collection of a victim with `valid` pages.
    Victim { valid: u32 },
}

/// Maximum number of staged writes passed on together.
const SERVED: usize = 64;

/// The first places of a run: as many as are passed on together, but no more than before the next
/// part of a collection is due.
#[inline]
fn head(first: u32, pages: u32, pending: &PendingCollection) -> std::ops::Range<u32> {
    #[allow(clippy::cast_possible_truncation)] // 64
    let most = SERVED as u32;
    let until = if pending.parts > 0 {
        pending.pages
    } else {
        most
    };
    first..first + pages.min(most).min(until)
}

/// Times at which things other than dies and channels are free.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    /// Earliest start of the current request's work.
    now: u64,
    /// When the last page of the current request is acknowledged.
    done: u64,
    link_in_free: u64,
    link_out_free: u64,
    /// Nothing begins before this time, because of a non-queued discard.
    barrier: u64,
    /// When all requests so far are done.
    outstanding: u64,
    /// When the previous discard is done.
    discard_free: u64,
    /// When all dies are free; maintained only with an SLC cache.
    quiet: u64,
}

impl Clock {
    /// Creates a clock at 0, with everything free.
    ///
    /// # Errors
    /// If a value is impossible: see [`Timing::check`].
    pub fn new(
        timing: &Timing,
        page_bytes: u32,
        pages_per_block: u32,
    ) -> Result<Self, TimingError> {
        timing.check()?;
        let share = timing.page_share(page_bytes);
        let page = |mb_s: f64| ns(f64::from(page_bytes) / mb_s);
        let mut channel_of = Box::new([0; DIES]);
        for (channel, of_die) in (0..timing.channels).cycle().zip(channel_of.iter_mut()) {
            #[allow(clippy::cast_possible_truncation)] // of at most 256
            let channel = channel as u8;
            *of_die = channel;
        }
        let pages = |bytes: u64| bytes.div_ceil(u64::from(page_bytes.max(1)));
        let block_share = timing.block_share(page_bytes, pages_per_block);
        Ok(Self {
            costs: Costs {
                dies: Divisor::new(timing.dies),
                channels: timing.channels,
                transfer_ns: page(timing.bus_mb_s),
                program_busy_ns: ns(timing.program_us * share),
                program_ns: ns(timing.program_us * share.max(1.0)),
                read_ns: ns(timing.read_us),
                erase_ns: ns(timing.erase_us * block_share),
                link_ns: timing.link_mb_s.map_or(0, page),
                command_ns: ns(timing.command_us),
                suspend_ns: timing.suspend_us.map(ns),
                block_read_ns: ns(timing.read_us * share.min(1.0) * f64::from(pages_per_block)),
                pages_per_block,
                pace: timing.collection,
            },
            moments: Moments::default(),
            channel_of,
            die_free: Box::new([0; DIES]),
            die_read_free: Box::new([0; DIES]),
            channel_free: Box::new([0; CHANNELS]),
            cache: (timing.write_cache_bytes > 0).then(|| {
                Slots::new(usize::try_from(pages(timing.write_cache_bytes)).unwrap_or(usize::MAX))
            }),
            slc: timing.slc.filter(|slc| slc.bytes > 0).map(|slc| Slc {
                capacity: pages(slc.bytes),
                used: 0,
                folded: 0,
                bypassed: 0,
                busy_ns: ns(slc.program_us * share),
                program_ns: ns(slc.program_us * share.max(1.0)),
                fold_ns: ns((slc.read_us + timing.program_us) * share),
                idle_ns: ns(slc.idle_us),
                folded_until: 0,
                full: slc.full,
            }),
            pending: PendingCollection::default(),
            discard: Discard::new(&timing.discard, page_bytes),
            staging: false,
            staged: Vec::new(),
            next_staged: 0,
        })
    }

    /// Resets the clock to 0, with everything free.
    pub fn reset(&mut self) {
        self.die_free.fill(0);
        self.die_read_free.fill(0);
        self.channel_free.fill(0);
        self.moments = Moments::default();
        self.staging = false;
        self.staged.clear();
        self.next_staged = 0;
        self.pending = PendingCollection::default();
        if let Some(cache) = &mut self.cache {
            cache.reset();
        }
        if let Some(slc) = &mut self.slc {
            (slc.used, slc.folded, slc.bypassed, slc.folded_until) = (0, 0, 0, 0);
        }
    }

    /// Begins a request that arrives at `at_ns`.
    #[inline]
    pub fn begin(&mut self, at_ns: u64) {
        let start = at_ns.max(self.moments.barrier);
        self.moments.now = start + self.costs.command_ns;
        self.moments.done = self.moments.now;
        if self.slc.is_some() {
            self.fold_idle(start);
        }
    }

    /// Ends the request, and returns when it is done.
    #[inline]
    pub fn end(&mut self) -> u64 {
        self.moments.outstanding = self.moments.outstanding.max(self.moments.done);
        self.moments.done
    }

    /// Starts staging: operations are recorded but not timed yet, so the translation layer can
    /// process a batch of single-page writes, which is faster than one by one.
    ///
    /// # Panics
    /// If writes staged earlier have not been timed by [`Clock::write_staged`].
    pub fn stage(&mut self) {
        // victims after the last write of the previous batch
        while let Some(event) = self.staged.get(self.next_staged) {
            let Staged::Victim { valid } = *event else {
                panic!("staged writes are timed before others are staged");
            };
            self.next_staged += 1;
            self.collect(valid);
        }
        self.staged.clear();
        self.next_staged = 0;
        self.staging = true;
    }

    /// Ends staging.
    pub fn staged(&mut self) {
        self.staging = false;
    }

    /// Times the next staged write as a request of its own, without `begin` and `end`. Returns when
    /// it is done.
    ///
    /// # Panics
    /// If no staged write is left.
    #[inline]
    pub fn write_staged(&mut self, at_ns: u64) -> u64 {
        self.begin(at_ns);
        loop {
            match &mut self.staged[self.next_staged] {
                Staged::Programs { first, pages } => {
                    let place = *first;
                    *first += 1;
                    *pages -= 1;
                    self.next_staged += usize::from(*pages == 0);
                    self.program(place, 1);
                    return self.end();
                }
                Staged::Victim { valid } => {
                    let valid = *valid;
                    self.next_staged += 1;
                    self.collect(valid);
                }
            }
        }
    }

    /// Times all remaining staged writes. Each is a request that arrives when a slot of `queue` is
    /// free, but not before `not_before_ns`. Passes the results to `on_served` in order, a few at a
    /// time.
    #[inline]
    pub fn write_all_staged(
        &mut self,
        queue: &mut Slots,
        not_before_ns: u64,
        mut on_served: impl FnMut(&[Served]),
    ) {
        let mut served = [Served::default(); SERVED];
        let plain = self.costs.link_ns == 0 && self.cache.is_none() && self.slc.is_none();
        if !plain {
            let staged = std::mem::take(&mut self.staged);
            for event in &staged[self.next_staged..] {
                match *event {
                    Staged::Programs { first, pages } => {
                        let (mut first, mut pages) = (first, pages);
                        while pages > 0 {
                            let run = head(first, pages, &PendingCollection::default());
                            first = run.end;
                            #[allow(clippy::cast_possible_truncation)] // at most 64
                            let len = run.len() as u32;
                            pages -= len;
                            let served = &mut served[..run.len()];
                            for (place, served) in run.zip(&mut *served) {
                                served.at_ns = queue.earliest().max(not_before_ns);
                                self.begin(served.at_ns);
                                self.program_page(place);
                                served.done_ns = self.end();
                                queue.replace_earliest(served.done_ns);
                            }
                            on_served(served);
                        }
                    }
                    Staged::Victim { valid } => {
                        self.begin(queue.earliest().max(not_before_ns));
                        self.collect(valid);
                    }
                }
            }
            self.staged = staged;
            self.next_staged = self.staged.len();
            return;
        }
        let costs = self.costs;
        let moments = self.moments;
        let mut outstanding = moments.outstanding;
        let mut pending = self.pending;
        let mut flash = Flash {
            channel_of: &self.channel_of,
            die_free: &mut self.die_free,
            channel_free: &mut self.channel_free,
        };
        // the next request's arrival, and the earliest start of its work
        let starts = |queue: &Slots| {
            let at_ns = queue.earliest().max(not_before_ns);
            (at_ns, at_ns.max(moments.barrier) + costs.command_ns)
        };
        for event in &self.staged[self.next_staged..] {
            match *event {
                Staged::Programs { first, pages } => {
                    let mut die = costs.dies.remainder(first);
                    let (mut first, mut pages) = (first, pages);
                    while pages > 0 {
                        if pending.is_due() {
                            let (die_ns, channel_ns) = pending.take(&costs);
                            flash.work(&costs, starts(queue).1, die_ns, channel_ns);
                        }
                        let run = head(first, pages, &pending);
                        first = run.end;
                        #[allow(clippy::cast_possible_truncation)] // at most 64
                        let len = run.len() as u32;
                        pages -= len;
                        pending.pages = pending.pages.saturating_sub(len);
                        let served = &mut served[..run.len()];
                        for served in &mut *served {
                            let (at_ns, now) = starts(queue);
                            let arrived = flash.transfer(&costs, die, now);
                            let begins = flash.occupy(die, arrived, costs.program_busy_ns);
                            let done_ns = begins + costs.program_ns;
                            outstanding = outstanding.max(done_ns);
                            queue.replace_earliest(done_ns);
                            *served = Served { at_ns, done_ns };
                            die += 1;
                            if die == costs.dies.get() {
                                die = 0;
                            }
                        }
                        on_served(served);
                    }
                }
                Staged::Victim { valid } => {
                    pending.add(&costs, valid);
                    if costs.pace == CollectionPace::AtOnce {
                        let (die_ns, channel_ns) = pending.take(&costs);
                        flash.work(&costs, starts(queue).1, die_ns, channel_ns);
                    }
                }
            }
        }
        self.next_staged = self.staged.len();
        self.moments.outstanding = outstanding;
        self.pending = pending;
    }

    /// Reads the page at this place.
    #[inline]
    pub fn read(&mut self, place: u32) {
        let now = self.moments.now;
        let mut done = self.sense(place);
        if self.costs.link_ns > 0 {
            self.moments.link_out_free = self.moments.link_out_free.max(now) + self.costs.link_ns;
            done = (done + self.costs.link_ns).max(self.moments.link_out_free);
        }
        self.moments.done = self.moments.done.max(done);
    }

    /// Reads a page from its die into the controller, and returns when it has arrived.
    #[inline]
    fn sense(&mut self, place: u32) -> u64 {
        let die = self.costs.dies.remainder(place) as usize % DIES;
        let now = self.moments.now;
        let free = self.die_free[die];
        let waits_until = free.max(now);
        let begins = match self.costs.suspend_ns {
            None => waits_until,
            Some(suspend_ns) => {
                let begins = waits_until
                    .min(now + suspend_ns)
                    .max(self.die_read_free[die]);
                self.die_read_free[die] = begins + self.costs.read_ns;
                begins
            }
        };
        let sensed = begins + self.costs.read_ns;
        self.die_free[die] = free.max(begins) + self.costs.read_ns;
        self.moments.quiet = self.moments.quiet.max(self.die_free[die]);
        let channel = &mut self.channel_free[usize::from(self.channel_of[die])];
        *channel = now.max(*channel) + self.costs.transfer_ns;
        (sensed + self.costs.transfer_ns).max(*channel)
    }

    /// Reads an unmapped page: the controller answers without accessing a die.
    #[inline]
    pub fn read_unmapped(&mut self) {
        if self.costs.link_ns > 0 {
            self.moments.link_out_free =
                self.moments.link_out_free.max(self.moments.now) + self.costs.link_ns;
            self.moments.done = self.moments.done.max(self.moments.link_out_free);
        }
    }

    /// Times a discard of `ranges` ranges with `bytes` in total as a request of its own, without
    /// `begin` and `end`. Returns when it is done.
    pub fn discard(&mut self, at_ns: u64, ranges: u64, bytes: u64) -> u64 {
        self.time_discard(at_ns, self.discard.cost_ns(ranges, bytes))
    }

    /// Like [`Clock::discard`], for a single page.
    #[inline]
    pub fn discard_page(&mut self, at_ns: u64) -> u64 {
        self.time_discard(at_ns, self.discard.page_ns)
    }

    #[inline]
    fn time_discard(&mut self, at_ns: u64, cost: u64) -> u64 {
        let start = at_ns.max(self.moments.barrier);
        let done = match self.discard.handling {
            DiscardHandling::Swallowed => return at_ns,
            DiscardHandling::Ignored => start + self.costs.command_ns + self.discard.fixed_ns,
            DiscardHandling::Queued => {
                self.moments.discard_free = (start + self.costs.command_ns)
                    .max(self.moments.discard_free)
                    .saturating_add(cost);
                self.moments.discard_free
            }
            DiscardHandling::NonQueued => {
                let drained = start.max(self.moments.outstanding);
                self.moments.barrier = (drained + self.costs.command_ns).saturating_add(cost);
                self.moments.barrier
            }
        };
        self.moments.outstanding = self.moments.outstanding.max(done);
        done
    }

    /// Whether the drive acts on discards.
    pub const fn executes_discards(&self) -> bool {
        matches!(
            self.discard.handling,
            DiscardHandling::Queued | DiscardHandling::NonQueued
        )
    }

    /// When all requests so far are done.
    #[cfg(test)]
    pub(super) const fn outstanding_ns(&self) -> u64 {
        self.moments.outstanding
    }

    /// When every die is idle: later than the last request is done if there is a write cache or
    /// pending collection work.
    pub fn idle_ns(&self) -> u64 {
        self.die_free.iter().copied().max().unwrap_or(0)
    }

    /// State of the SLC cache, if there is one.
    pub fn slc(&self) -> Option<SlcUse> {
        self.slc.map(|slc| SlcUse {
            capacity_pages: slc.capacity,
            used_pages: slc.used,
            folded_pages: slc.folded,
            bypassed_pages: slc.bypassed,
        })
    }

    /// Folds SLC pages during the time in which all dies were idle.
    fn fold_idle(&mut self, now: u64) {
        let Some(slc) = &mut self.slc else { return };
        let from = (self.moments.quiet + slc.idle_ns).max(slc.folded_until);
        if slc.used == 0 || now <= from {
            return;
        }
        let dies = u128::from(self.costs.dies.get());
        let possible = u128::from(now - from) * dies / u128::from(slc.fold_ns.max(1));
        let folded = u64::try_from(possible).map_or(slc.used, |possible| possible.min(slc.used));
        slc.used -= folded;
        slc.folded += folded;
        slc.folded_until = now;
    }
}

impl Medium for Clock {
    #[inline]
    fn program(&mut self, first_place: u32, pages: u32) {
        if self.staging {
            if pages > 0 {
                self.staged.push(Staged::Programs {
                    first: first_place,
                    pages,
                });
            }
            return;
        }
        for place in first_place..first_place + pages {
            self.program_page(place);
        }
    }

    #[inline]
    fn collect(&mut self, valid: u32) {
        if self.staging {
            self.staged.push(Staged::Victim { valid });
            return;
        }
        self.pending.add(&self.costs, valid);
        if self.costs.pace == CollectionPace::AtOnce {
            self.collect_part();
        }
    }
}

impl Clock {
    /// Does the next part of the pending collection work.
    fn collect_part(&mut self) {
        let (die_ns, channel_ns) = self.pending.take(&self.costs);
        let mut flash = Flash {
            channel_of: &self.channel_of,
            die_free: &mut self.die_free,
            channel_free: &mut self.channel_free,
        };
        let last = flash.work(&self.costs, self.moments.now, die_ns, channel_ns);
        self.moments.quiet = self.moments.quiet.max(last);
    }

    /// Programs the page at this place.
    #[inline]
    fn program_page(&mut self, place: u32) {
        if self.pending.is_due() {
            self.collect_part();
        }
        self.pending.pages = self.pending.pages.saturating_sub(1);
        let mut flash = Flash {
            channel_of: &self.channel_of,
            die_free: &mut self.die_free,
            channel_free: &mut self.channel_free,
        };
        let (costs, moments) = (&self.costs, &mut self.moments);
        if costs.link_ns > 0 {
            moments.link_in_free = moments.link_in_free.max(moments.now) + costs.link_ns;
        }
        let mut accepted = moments.now.max(moments.link_in_free);
        if let Some(cache) = &self.cache {
            accepted = accepted.max(cache.earliest());
            moments.now = accepted;
        }
        let die = costs.dies.remainder(place);
        let arrived = flash.transfer(costs, die, accepted);
        let (busy_ns, program_ns) = self
            .slc
            .as_mut()
            .and_then(Slc::program)
            .unwrap_or((costs.program_busy_ns, costs.program_ns));
        let programmed = flash.occupy(die, arrived, busy_ns) + program_ns;
        if self.slc.is_some() {
            // If pages are gathered, this is later than the die is free: the page waits for the
            // others.
            moments.quiet = moments.quiet.max(programmed);
        }
        let acknowledged = match &mut self.cache {
            None => programmed,
            Some(cache) => {
                cache.replace_earliest(programmed);
                accepted
            }
        };
        moments.done = moments.done.max(acknowledged);
    }
}
