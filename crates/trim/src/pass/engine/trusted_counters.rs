//! Filters out counters that do not change although requests are answered.
//!
//! Two kinds of drives do not count: those whose `queue/iostats` is switched off, and the device
//! that NVMe multipath shows before Linux 6.2 ("nvme-multipath: support io stats on the mpath
//! device"). Their discards read as zero bytes, which means unknown rather than nothing freed.

use crate::counters::{CounterSource, Sample};
use crate::probe::Reading;
use linux::counters::CounterError;
use std::collections::BTreeSet;

/// Reads of one drive that must have been answered before its counters are considered dead.
const READS_MIN: usize = 8;

/// Returns the drives that do not count, judging by the probe's reads between two samples. Drives
/// whose discards are not counted because the kernel is too old are not included.
pub(super) fn find_uncounted(
    first: &Sample,
    last: &Sample,
    leaves: &[String],
    probe: &[Reading],
) -> BTreeSet<String> {
    let answered = probe.iter().filter(|read| !read.pending && !read.failed);
    // The probe reads from all drives in turn.
    if answered.count() / leaves.len().max(1) < READS_MIN {
        return BTreeSet::new();
    }
    let stands_still = |leaf: &&String| {
        let pair = first.devices.get(*leaf).zip(last.devices.get(*leaf));
        pair.is_some_and(|(then, now)| then.reads == now.reads && now.discarded_bytes.is_some())
    };
    leaves.iter().filter(stands_still).cloned().collect()
}

/// A counter source that hides the discards of devices that do not count.
pub(super) struct TrustedCounters<'w> {
    pub(super) watch: &'w mut dyn CounterSource,
    pub(super) uncounted: &'w BTreeSet<String>,
}

impl TrustedCounters<'_> {
    pub(super) fn strip(uncounted: &BTreeSet<String>, sample: &mut Sample) {
        for name in uncounted {
            if let Some(device) = sample.devices.get_mut(name) {
                device.discards = None;
                device.discarded_bytes = None;
                device.discard_ms = None;
            }
        }
    }
}

impl CounterSource for TrustedCounters<'_> {
    fn sample(&mut self) -> Result<Sample, CounterError> {
        let mut sample = self.watch.sample()?;
        Self::strip(self.uncounted, &mut sample);
        Ok(sample)
    }
}
