//! Accounts for late discards and for space that was not discarded.

use super::state::Engine;
use crate::account::Discarded;
use crate::counters::Sample;
use crate::pass::model::Event;

impl Engine<'_> {
    /// Adds the discards of an unsettled step that completed after the wait for it.
    pub(super) fn count_late(&mut self, now: &Sample) {
        if let Some(then) = self.unsettled.take() {
            self.now.discarded.add(&Discarded::between(&then, now));
        }
    }

    /// Warns about free space that XFS skipped: extents busy in the log, extents shorter than a
    /// discard, and, on older kernels (6.1 among them), all but the first of the longest free
    /// extents of a group that are equally long (`xfs_trim_extents` begins there and walks down by
    /// size). The other filesystems remember what was trimmed before, and discard less for that
    /// reason.
    pub(super) fn warn_of_undiscarded_space(&mut self) {
        if self.parts.target.identity.fs_type != "xfs" || !self.measurable {
            return;
        }
        let discarded = self.now.discarded.sum(&self.parts.layers.top());
        let left = self
            .now
            .visited_bytes
            .saturating_sub(discarded.unwrap_or_default());
        if discarded.is_some_and(|bytes| bytes > 0) && left > self.now.visited_bytes / 100 {
            self.progress.event(&Event::Warning(format!(
                "of {} visited, {} were not discarded: the kernel passed over them (busy, too \
                 short, or, on older kernels, as long as the longest free extent of their group). \
                 Another pass may reach them once the free space has changed",
                units::bytes(self.now.visited_bytes),
                units::bytes(left)
            )));
        }
    }
}
