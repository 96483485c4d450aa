//! Internal parts of the clock: costs, pending collection work, discards, the SLC cache, dies and
//! channels.

use super::{
    CollectionPace, DiscardHandling, DiscardTiming, Divisor, MAX_CHANNELS, MAX_DIES, SlcFull,
};

pub(super) const DIES: usize = MAX_DIES as usize;
pub(super) const CHANNELS: usize = MAX_CHANNELS as usize;

/// Constant costs, separate from mutable state so that loops over pages keep them in registers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Costs {
    pub(super) dies: Divisor,
    pub(super) channels: u32,
    pub(super) transfer_ns: u64,
    /// Time a page occupies its die.
    pub(super) program_busy_ns: u64,
    /// Time a page waits for its program to finish.
    pub(super) program_ns: u64,
    pub(super) read_ns: u64,
    /// Time a die takes to erase its part of a block.
    pub(super) erase_ns: u64,
    pub(super) link_ns: u64,
    pub(super) command_ns: u64,
    pub(super) suspend_ns: Option<u64>,
    /// Time to read a whole block, summed over dies; an upper bound for reading a victim's valid
    /// pages.
    pub(super) block_read_ns: u64,
    pub(super) pages_per_block: u32,
    pub(super) pace: CollectionPace,
}

/// Pending collection work, in equal parts.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PendingCollection {
    pub(super) parts: u32,
    /// Host pages until the next part is due.
    pub(super) pages: u32,
    /// Remaining time per die.
    pub(super) die_ns: u64,
    /// Remaining time per channel.
    pub(super) channel_ns: u64,
}

impl PendingCollection {
    /// Adds the collection of a victim with `valid` pages. The work has to be finished when the
    /// host has written as many pages as the victim makes room for.
    #[inline]
    pub(super) fn add(&mut self, costs: &Costs, valid: u32) {
        let room = costs.pages_per_block.saturating_sub(valid);
        self.parts += costs.dies.quotient(room).max(1);
        let (dies, valid) = (u64::from(costs.dies.get()), u64::from(valid));
        let reads_ns = (valid * costs.read_ns).min(costs.block_read_ns);
        let moves_ns = reads_ns + valid * costs.program_busy_ns;
        self.die_ns += moves_ns / dies + costs.erase_ns;
        self.channel_ns += 2 * valid * costs.transfer_ns / u64::from(costs.channels);
    }

    /// Whether a part is due before the next page.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.parts > 0 && self.pages == 0
    }

    /// Takes one part, and returns its time per die and per channel.
    #[inline]
    pub(super) fn take(&mut self, costs: &Costs) -> (u64, u64) {
        let parts = match costs.pace {
            CollectionPace::AtOnce => 1,
            CollectionPace::Even => u64::from(self.parts),
        };
        let (die_ns, channel_ns) = (self.die_ns / parts, self.channel_ns / parts);
        if parts == 1 {
            *self = Self::default();
        } else {
            self.parts -= 1;
            self.die_ns -= die_ns;
            self.channel_ns -= channel_ns;
            self.pages = costs.dies.get();
        }
        (die_ns, channel_ns)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Discard {
    pub(super) fixed_ns: u64,
    pub(super) range_ns: u64,
    pub(super) byte_ns: f64,
    /// Cost of a single page.
    pub(super) page_ns: u64,
    pub(super) handling: DiscardHandling,
}

impl Discard {
    pub(super) fn new(timing: &DiscardTiming, page_bytes: u32) -> Self {
        let mut discard = Self {
            fixed_ns: ns(timing.fixed_us),
            range_ns: ns(timing.range_us),
            byte_ns: timing.byte_ns,
            page_ns: 0,
            handling: timing.handling,
        };
        discard.page_ns = discard.cost_ns(1, page_bytes.into());
        discard
    }

    #[allow(
        clippy::cast_precision_loss,      // an eighth of a byte in 2^53 is nothing
        clippy::cast_possible_truncation, // saturates, which is as good as never
        clippy::cast_sign_loss            // never negative, checked
    )]
    pub(super) fn cost_ns(&self, ranges: u64, bytes: u64) -> u64 {
        let bytes_ns = (bytes as f64 * self.byte_ns).round() as u64;
        self.fixed_ns
            .saturating_add(self.range_ns.saturating_mul(ranges))
            .saturating_add(bytes_ns)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Slc {
    pub(super) capacity: u64,
    pub(super) used: u64,
    pub(super) folded: u64,
    pub(super) bypassed: u64,
    pub(super) busy_ns: u64,
    pub(super) program_ns: u64,
    /// Time that folding a page occupies its die.
    pub(super) fold_ns: u64,
    pub(super) idle_ns: u64,
    /// Idle time before this has already been used for folding.
    pub(super) folded_until: u64,
    pub(super) full: SlcFull,
}

/// Occupancy and traffic of the SLC cache, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SlcUse {
    /// Capacity.
    pub capacity_pages: u64,
    /// Written and not yet folded.
    pub used_pages: u64,
    /// Folded.
    pub folded_pages: u64,
    /// Written directly, because the cache was full.
    pub bypassed_pages: u64,
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // at most an hour, checked
pub(super) fn ns(us: f64) -> u64 {
    (us * 1000.0).round() as u64
}

impl Slc {
    /// Time a host page occupies its die, and time it waits; `None` if it bypasses the cache.
    #[inline]
    pub(super) fn program(&mut self) -> Option<(u64, u64)> {
        if self.used < self.capacity {
            self.used += 1;
            return Some((self.busy_ns, self.program_ns));
        }
        match self.full {
            SlcFull::Fold => {
                self.folded += 1;
                Some((self.fold_ns + self.busy_ns, self.fold_ns + self.program_ns))
            }
            SlcFull::Bypass => {
                self.bypassed += 1;
                None
            }
        }
    }
}

/// Dies and channels.
pub(super) struct Flash<'a> {
    pub(super) channel_of: &'a [u8; DIES],
    pub(super) die_free: &'a mut [u64; DIES],
    pub(super) channel_free: &'a mut [u64; CHANNELS],
}

impl Flash<'_> {
    /// Transfers a page over its die's channel, starting at `now`; returns when it has arrived.
    #[inline]
    pub(super) fn transfer(&mut self, costs: &Costs, die: u32, now: u64) -> u64 {
        let channel = self.channel_of[die as usize % DIES];
        let channel = &mut self.channel_free[usize::from(channel)];
        *channel = now.max(*channel) + costs.transfer_ns;
        *channel
    }

    /// Programs a page on its die, which it occupies for `busy_ns`; returns when the die starts.
    #[inline]
    pub(super) fn occupy(&mut self, die: u32, arrived: u64, busy_ns: u64) -> u64 {
        let free = &mut self.die_free[die as usize % DIES];
        let begins = arrived.max(*free);
        *free = begins + busy_ns;
        begins
    }

    /// Occupies every die and every channel for the given time; returns when the last die is free.
    #[inline(never)]
    pub(super) fn work(&mut self, costs: &Costs, now: u64, die_ns: u64, channel_ns: u64) -> u64 {
        let mut last = 0;
        for free in &mut self.die_free[..costs.dies.get() as usize] {
            *free = now.max(*free) + die_ns;
            last = last.max(*free);
        }
        for free in &mut self.channel_free[..costs.channels as usize] {
            *free = now.max(*free) + channel_ns;
        }
        last
    }
}
