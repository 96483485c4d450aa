//! The engine of a pass: survey, then steps and pauses until something ends it.

mod account;
mod record;
mod state;
mod step;
mod survey;
mod trusted_counters;

use crate::pace::Action;
use crate::pass::model::{Ended, Event, Options, Outcome, Parts, Progress};
use crate::state::Phase;
use state::{Engine, Judged};
use std::time::Duration;

/// Shorter waits are part of the pacing and not reported.
const REPORTED_WAIT_MIN: Duration = Duration::from_millis(500);

/// Runs a pass.
pub(super) fn run(parts: Parts<'_>, options: &Options, progress: &mut dyn Progress) -> Outcome {
    Engine::new(parts, options, progress).run()
}

impl Engine<'_> {
    fn run(mut self) -> Outcome {
        let mut judged = None;
        let ended = match self.prepare() {
            Ok(ready) => {
                let judged = judged.insert(ready);
                self.work(judged).unwrap_or_else(|ended| ended)
            }
            Err(ended) => ended,
        };
        if let Ok(last) = self.sample() {
            self.count_late(&last);
        }
        let ended = self.finish_checkpoint(ended);
        let progress = self.progressed(judged.as_ref());
        let locks_whole_steps = !self.parts.walk.locks_one_extent_at_a_time();
        Outcome {
            ended,
            progress,
            survey: self.survey,
            quiet: self.quiet,
            longest_step: self.longest_step,
            locks_whole_steps,
            measurable: self.measurable,
        }
    }

    /// Makes steps and pauses until something ends the pass.
    fn work(&mut self, judged: &mut Judged) -> Result<Ended, Ended> {
        let mut waited_since: Option<Duration> = None;
        // Where the last step began, if it did not advance the cursor.
        let mut idle_from: Option<u64> = None;
        loop {
            self.feed_controller(judged)?;
            self.wait_for_gate(judged)?;
            self.run_housekeeping()?;
            match judged.controller.next(self.parts.clock.elapsed()) {
                Action::Go => {
                    waited_since = None;
                    let budget = judged.controller.step_budget();
                    let next = self.parts.walk.next_step(budget);
                    let Some(step) = next.map_err(|error| self.geometry_failure(&error))? else {
                        self.warn_of_undiscarded_space();
                        return Ok(Ended::Complete);
                    };
                    // Inconsistent structures must not keep a drive busy forever. The cursor stays
                    // where it is while XFS tries a part of an extent that it may discard whole.
                    if idle_from.is_some_and(|start_bytes| step.range.start_bytes <= start_bytes) {
                        return Err(self.damaged(&format!(
                            "the filesystem's structures lead nowhere beyond byte {}",
                            self.cursor.next_bytes
                        )));
                    }
                    self.allow(&step, &judged.controller)?;
                    let before = self.cursor;
                    self.step(&step, judged)?;
                    idle_from = (self.cursor == before).then_some(step.range.start_bytes);
                }
                Action::Wait { pause, reason } => {
                    let now = self.parts.clock.elapsed();
                    let since = *waited_since.get_or_insert(now);
                    if pause >= REPORTED_WAIT_MIN || now.saturating_sub(since) >= REPORTED_WAIT_MIN
                    {
                        let progress = self.progressed(Some(judged));
                        self.progress.event(&Event::Waiting {
                            pause,
                            reason,
                            progress,
                        });
                    }
                    self.pause(pause, judged)?;
                }
                Action::GiveUp { reason } => return Ok(Ended::Stopped { reason }),
            }
        }
    }

    fn wait_for_gate(&mut self, judged: &mut Judged) -> Result<(), Ended> {
        let mut said = false;
        loop {
            let now = self.parts.clock.wall();
            let Some(closed) = self.parts.gate.closed(now) else {
                if said {
                    judged.controller.rested();
                }
                return Ok(());
            };
            let Some(opens_at) = closed.opens_at else {
                return Err(Ended::Stopped {
                    reason: closed.reason,
                });
            };
            if !said {
                said = true;
                let pause = Duration::try_from(opens_at.duration_since(now)).unwrap_or_default();
                let progress = self.progressed(Some(judged));
                self.progress.event(&Event::Waiting {
                    pause,
                    reason: closed.reason,
                    progress,
                });
                self.save(judged, Phase::Running)?;
            }
            // Wait in slices, because the wall clock may jump in either direction.
            self.pause(Duration::from_secs(1), judged)?;
            self.run_housekeeping()?;
        }
    }
}
