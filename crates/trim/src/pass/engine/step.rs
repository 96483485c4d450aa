//! One step: whether it may be made, the FITRIM call, and the wait for the drives.

use super::state::{Engine, Judged, Recent, SLICE, counter_failure, ratio};
use super::trusted_counters::TrustedCounters;
use crate::account::{self, Discarded};
use crate::child::TrimError;
use crate::pace::{Controller, StepOutcome};
use crate::pass::model::{ASSUMED_BYTES_PER_S, Ended, Event, STALL_MAX_DEFAULT};
use crate::settle::Expect;
use crate::state::Phase;
use crate::step::Step;
use std::time::Duration;

/// Minimum time between checkpoints: an fsync is I/O too.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(2);

impl Engine<'_> {
    /// Refuses a step that would stall others for longer than allowed.
    pub(super) fn allow(&mut self, step: &Step, controller: &Controller) -> Result<(), Ended> {
        let Some(why) = &step.unsplittable else {
            return Ok(());
        };
        if self.parts.walk.locks_one_extent_at_a_time() {
            return Ok(());
        }
        let bytes = step.free_bytes.unwrap_or(step.range.len_bytes);
        let extents = step.free_extents.unwrap_or(1);
        let measured = controller.predicted_stall(bytes, extents);
        let predicted =
            measured.unwrap_or_else(|| Duration::from_secs_f64(ratio(bytes, ASSUMED_BYTES_PER_S)));
        let settings = &self.options.settings;
        let allowed = self
            .options
            .accept_stall
            .unwrap_or(STALL_MAX_DEFAULT)
            .max(settings.stall);
        if predicted > settings.stall && predicted > self.announced.mul_f64(1.5) {
            self.announced = predicted;
            self.progress.event(&Event::Unsplittable {
                what: why.clone(),
                bytes,
                predicted,
            });
        }
        if predicted <= allowed {
            return Ok(());
        }
        let basis = if measured.is_some() {
            "as measured in this pass"
        } else {
            "at an assumed 2 GiB/s: nothing as large was measured yet"
        };
        Err(Ended::Stopped {
            reason: format!(
                "the next {} of free space cannot be trimmed in pieces ({why}): it may be \
                 locked for {} ({basis}), and the limit is {}; resume with --accept-stall {}s",
                units::bytes(bytes),
                units::duration(predicted),
                units::duration(allowed),
                predicted.as_secs_f64().ceil(),
            ),
        })
    }

    /// Calls FITRIM once and waits for the drives.
    pub(super) fn step(&mut self, step: &Step, judged: &mut Judged) -> Result<(), Ended> {
        let before = self.sample()?;
        self.count_late(&before);
        let began = self.parts.clock.elapsed();
        self.stepping_since.get_or_insert(began);
        let minlen_bytes = self.parts.walk.minlen_bytes();
        let trimmed = self.parts.trimmer.trim(step.range, minlen_bytes);
        let trimmed = match trimmed {
            Ok(trimmed) => trimmed,
            Err(error) => return Err(self.trim_failure(&error)),
        };
        let expect = Expect {
            top: self.parts.layers.top(),
            leaves: self.parts.layers.leaves(),
            free_bytes: step.free_bytes,
            quiet_in_flight: self.quiet_in_flight,
            timeout: self.options.settle_timeout,
        };
        let settled = self
            .settler
            .settle(
                &mut TrustedCounters {
                    watch: self.parts.watch.as_mut(),
                    uncounted: &self.uncounted,
                },
                self.parts.clock,
                &self.parts.stop,
                &before,
                &expect,
            )
            .map_err(|error| counter_failure(&error))?;
        let locked = trimmed.took + settled.took;
        self.longest_step = self.longest_step.max(locked);
        if settled.timed_out && self.parts.stop.requested().is_none() {
            self.progress.event(&Event::Warning(format!(
                "the drives had not finished {} after a step; going on more slowly",
                units::duration(self.options.settle_timeout)
            )));
        }
        self.parts.walk.observed(settled.discarded_bytes);
        self.cursor = self.parts.walk.cursor();
        let now = self.parts.clock.elapsed();
        judged.controller.finished(&StepOutcome {
            began,
            settled: now,
            locked,
            discarded_bytes: settled.discarded_bytes,
            free_bytes: step.free_bytes,
            free_extents: step.free_extents,
            timed_out: settled.timed_out,
        });
        judged.controller.sample(&settled.last);
        self.feed_readings(judged);
        self.now
            .discarded
            .add(&Discarded::between(&before, &settled.last));
        self.now.steps += 1;
        let visited = step
            .free_bytes
            .or(settled.discarded_bytes)
            .unwrap_or_default();
        self.now.visited_bytes = self.now.visited_bytes.saturating_add(visited);
        self.recent.push_back(Recent {
            at: now,
            visited_bytes: visited,
            discarded_bytes: settled.discarded_bytes,
        });
        self.unsettled = settled.timed_out.then_some(settled.last);
        if let Some(swallowed) = account::swallowed(self.parts.layers, &self.now.discarded) {
            return Err(Ended::Swallowed(swallowed));
        }
        let progress = self.progressed(Some(judged));
        self.progress.event(&Event::Stepped {
            step: step.clone(),
            locked,
            progress,
        });
        if self
            .saved_at
            .is_none_or(|at| now.saturating_sub(at) >= CHECKPOINT_EVERY)
        {
            self.save(judged, Phase::Running)?;
        }
        Ok(())
    }

    fn trim_failure(&self, error: &TrimError) -> Ended {
        match error {
            TrimError::Stopped => self.stop_requested().unwrap_or(Ended::Signal(0)),
            TrimError::Died(_) => {
                // `systemctl stop` sends its signal to child and parent at once, and the child may
                // react first.
                self.parts.clock.sleep(SLICE);
                self.stop_requested()
                    .unwrap_or_else(|| Ended::failed(error.to_string()))
            }
            TrimError::Kernel(kernel) => self.kernel_failure(error.to_string(), kernel),
            _ => Ended::failed(error.to_string()),
        }
    }
}
