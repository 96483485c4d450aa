//! State of a running pass, and what its parts share: feeding the controller, pauses, stop
//! requests.

use super::trusted_counters::TrustedCounters;
use crate::account::Discarded;
use crate::counters::Sample;
use crate::geometry::{GeometryError, Survey};
use crate::pace::{Controller, QuietLevel};
use crate::pass::model::{
    DEADLINE_PASSED, Ended, Options, Parts, Progress, Progressed, requested_end,
};
use crate::settle::Settler;
use crate::step::Cursor;
use jiff::Timestamp;
use linux::counters::CounterError;
use rustix::io::Errno;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::time::Duration;

/// Longest time in a pause without checking the probes and the stop flag.
pub(super) const SLICE: Duration = Duration::from_millis(100);
/// How often counters are sampled while nothing else happens.
const SAMPLE_EVERY: Duration = Duration::from_millis(500);

/// A running pass.
pub(super) struct Engine<'a> {
    pub(super) parts: Parts<'a>,
    pub(super) options: &'a Options,
    pub(super) progress: &'a mut dyn Progress,
    pub(super) began: Duration,
    /// When the first step of this session began: measuring before it says nothing about the rate.
    pub(super) stepping_since: Option<Duration>,
    pub(super) started_at: Timestamp,
    /// Progress of earlier sessions.
    pub(super) earlier: Progressed,
    /// Progress of this session.
    pub(super) now: Progressed,
    pub(super) survey: Option<Survey>,
    pub(super) quiet: Vec<(String, QuietLevel)>,
    pub(super) quiet_in_flight: u64,
    pub(super) longest_step: Duration,
    /// The last sample of a step that had not settled: later discards belong to that step.
    pub(super) unsettled: Option<Sample>,
    pub(super) saved_at: Option<Duration>,
    pub(super) sampled_at: Duration,
    /// Where the last finished step ended: an interrupted step is repeated.
    pub(super) cursor: Cursor,
    /// The last steps, for rates.
    pub(super) recent: VecDeque<Recent>,
    pub(super) settler: Settler,
    pub(super) measurable: bool,
    /// Drives whose counters do not change.
    pub(super) uncounted: BTreeSet<String>,
    /// The longest stall announced so far: each is announced once, not for every step.
    pub(super) announced: Duration,
}

/// A finished step.
pub(super) struct Recent {
    pub(super) at: Duration,
    pub(super) visited_bytes: u64,
    pub(super) discarded_bytes: Option<u64>,
}

/// The controller with the probes it judges. Probes without a quiet level are not judged.
pub(super) struct Judged {
    pub(super) controller: Controller,
    /// Index of each probe in the controller.
    pub(super) indices: Vec<Option<usize>>,
}

impl<'a> Engine<'a> {
    pub(super) fn new(
        parts: Parts<'a>,
        options: &'a Options,
        progress: &'a mut dyn Progress,
    ) -> Self {
        let began = parts.clock.elapsed();
        let mut earlier = Progressed::default();
        let mut started_at = parts.clock.wall();
        if let Some(checkpoint) = &parts.resume {
            started_at = checkpoint.started_at;
            earlier.steps = checkpoint.steps;
            earlier.visited_bytes = checkpoint.visited_bytes;
            earlier.discarded = Discarded(checkpoint.discarded_bytes.clone());
            earlier.active = Duration::try_from_secs_f64(checkpoint.active_s).unwrap_or_default();
        }
        let cursor = parts.walk.cursor();
        Self {
            parts,
            options,
            progress,
            cursor,
            began,
            stepping_since: None,
            started_at,
            earlier,
            now: Progressed::default(),
            survey: None,
            quiet: Vec::new(),
            quiet_in_flight: 0,
            longest_step: Duration::ZERO,
            unsettled: None,
            saved_at: None,
            sampled_at: began,
            recent: VecDeque::new(),
            settler: Settler::new(),
            measurable: false,
            uncounted: BTreeSet::new(),
            announced: Duration::ZERO,
        }
    }

    pub(super) fn sample(&mut self) -> Result<Sample, Ended> {
        let mut sample = self
            .parts
            .watch
            .sample()
            .map_err(|error| counter_failure(&error))?;
        TrustedCounters::strip(&self.uncounted, &mut sample);
        self.sampled_at = self.parts.clock.elapsed();
        Ok(sample)
    }

    pub(super) fn stop_requested(&self) -> Option<Ended> {
        let key = self.parts.target.identity.key();
        requested_end(&self.parts.stop, self.parts.state, &key)
    }

    /// Fails if a stop was requested or the deadline has passed.
    pub(super) fn check(&self) -> Result<(), Ended> {
        if let Some(ended) = self.stop_requested() {
            return Err(ended);
        }
        let active = self.parts.clock.elapsed().saturating_sub(self.began);
        match self.options.deadline {
            Some(deadline) if active >= deadline => Err(Ended::Stopped {
                reason: DEADLINE_PASSED.to_owned(),
            }),
            _ => Ok(()),
        }
    }

    /// Feeds probes and counters to the controller.
    pub(super) fn feed_controller(&mut self, judged: &mut Judged) -> Result<(), Ended> {
        self.check()?;
        self.feed_readings(judged);
        let now = self.parts.clock.elapsed();
        if now.saturating_sub(self.sampled_at) >= SAMPLE_EVERY {
            let sample = self.sample()?;
            judged.controller.sample(&sample);
        }
        Ok(())
    }

    pub(super) fn feed_readings(&mut self, judged: &mut Judged) {
        for (probe, index) in self.parts.probes.iter_mut().zip(&judged.indices) {
            let readings = probe.drain();
            if let Some(index) = index {
                judged.controller.read(*index, &readings);
            }
        }
    }

    pub(super) fn run_housekeeping(&mut self) -> Result<(), Ended> {
        (self.parts.run_housekeeping)().map_err(Ended::failed)
    }

    pub(super) fn pause(&mut self, pause: Duration, judged: &mut Judged) -> Result<(), Ended> {
        let until = self.parts.clock.elapsed() + pause;
        loop {
            let left = until.saturating_sub(self.parts.clock.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            self.parts.clock.sleep(left.min(SLICE));
            self.feed_controller(judged)?;
        }
    }

    pub(super) fn geometry_failure(&self, error: &GeometryError) -> Ended {
        match error {
            GeometryError::Stopped => self.stop_requested().unwrap_or(Ended::Signal(0)),
            GeometryError::Unreadable { source, .. } => {
                self.kernel_failure(error.to_string(), source)
            }
            GeometryError::Invalid { .. } => self.damaged(&error.to_string()),
            GeometryError::Target(_) => Ended::failed(error.to_string()),
        }
    }

    /// The end of a pass on structures that contradict themselves.
    pub(super) fn damaged(&self, reason: &str) -> Ended {
        let checker = match self.parts.target.identity.fs_type.as_str() {
            "xfs" => "xfs_repair",
            "btrfs" => "btrfs check",
            "ext2" | "ext3" | "ext4" => "e2fsck",
            _ => "fsck",
        };
        Ended::Failed {
            reason: format!(
                "{reason}: the filesystem seems to be damaged; unmount it and run `{checker}` before it is \
                 trimmed again"
            ),
            resumable: false,
        }
    }

    /// The end of a pass after a system call failed, with what to do if the filesystem is damaged.
    pub(super) fn kernel_failure(&self, reason: String, error: &io::Error) -> Ended {
        // EFSCORRUPTED and EFSBADCRC of the filesystems.
        let is_damaged = matches!(
            Errno::from_io_error(error),
            Some(Errno::UCLEAN | Errno::BADMSG)
        );
        if is_damaged {
            return self.damaged(&reason);
        }
        Ended::Failed {
            reason,
            // Not supported, not permitted, no such call: retrying changes nothing.
            resumable: !matches!(
                error.kind(),
                io::ErrorKind::Unsupported
                    | io::ErrorKind::PermissionDenied
                    | io::ErrorKind::InvalidInput
            ),
        }
    }
}

pub(super) fn counter_failure(error: &CounterError) -> Ended {
    Ended::failed(error.to_string())
}

#[allow(clippy::cast_precision_loss)] // rates and durations for people
pub(super) fn ratio(bytes: u64, per: u64) -> f64 {
    bytes as f64 / per as f64
}
