mod believed;
mod record;

use super::{
    ASSUMED_BYTES_PER_S, DEADLINE_PASSED, Ended, Event, Options, Outcome, Parts, Progress,
    Progressed, STALL_UNASKED, asked_to_end,
};
use crate::account::{self, Discarded};
use crate::child::TrimError;
use crate::counters::{CounterError, Sample};
use crate::geometry::{GeometryError, Survey};
use crate::pace::{Action, Controller, QuietLevel, StepOutcome};
use crate::probe::Reading;
use crate::range::{Cursor, Step, StepBudget};
use crate::settle::{Expect, Settler};
use crate::state::Phase;
use believed::Believed;
use jiff::Timestamp;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::time::Duration;

/// How long a pause lasts at most without a look at the probes and the stop flag.
const SLICE: Duration = Duration::from_millis(100);
/// How often counters are looked at while nothing else happens.
const SAMPLE_EVERY: Duration = Duration::from_millis(500);
/// How often a checkpoint is written at most: an fsync is I/O too.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(2);
/// Waits that are shorter are part of the pace, and not worth a word.
const WORTH_A_WORD: Duration = Duration::from_millis(500);
/// What steps grow to on a drive that does not mind; for the survey's count of steps only.
const USUAL_BUDGET: StepBudget = StepBudget {
    free_bytes: 256 << 20,
    free_extents: 1024,
};

/// A pass under way.
pub(super) struct Engine<'a> {
    parts: Parts<'a>,
    options: &'a Options,
    progress: &'a mut dyn Progress,
    began: Duration,
    started_at: Timestamp,
    /// From earlier sittings.
    earlier: Progressed,
    /// Of this sitting.
    now: Progressed,
    survey: Option<Survey>,
    quiet: Vec<(String, QuietLevel)>,
    quiet_in_flight: u64,
    longest_step: Duration,
    /// The last look at a step that had not settled: what is discarded after it belongs to it.
    unsettled: Option<Sample>,
    saved_at: Option<Duration>,
    sampled_at: Duration,
    /// Where the last finished step ended: one that was interrupted is made again.
    cursor: Cursor,
    /// The last steps, for rates.
    recent: VecDeque<Recent>,
    settler: Settler,
    measurable: bool,
    /// Drives whose counters stand still.
    silent: BTreeSet<String>,
    /// The longest stall that was announced: each is told once, not each step.
    announced: Duration,
}

/// A finished step.
struct Recent {
    at: Duration,
    visited_bytes: u64,
    discarded_bytes: Option<u64>,
}

/// What the controller was not given a quiet level for is not judged.
struct Judged {
    controller: Controller,
    /// Index of each probe in the controller.
    indices: Vec<Option<usize>>,
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
            silent: BTreeSet::new(),
            announced: Duration::ZERO,
        }
    }

    pub(super) fn run(mut self) -> Outcome {
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
        let ended = self.leave(ended);
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

    /// Surveys the filesystem and measures the quiet level.
    fn prepare(&mut self) -> Result<Judged, Ended> {
        let first = self.sample()?;
        self.progress.event(&Event::Measuring {
            takes: self.options.quiet,
        });
        let (samples, readings) = self.listen(self.options.quiet, first)?;
        self.find_silent(&samples, readings.first().map_or(&[], Vec::as_slice));
        self.quiet_in_flight = samples
            .iter()
            .map(|sample| in_flight(sample, &self.parts.layers.leaves()))
            .max()
            .unwrap_or(0);
        let mut indices = Vec::new();
        for (probe, readings) in self.parts.probes.iter().zip(&readings) {
            let label = probe.label();
            if let Some(level) = Controller::quiet_level(readings) {
                indices.push(Some(self.quiet.len()));
                self.quiet.push((label, level));
            } else if indices.is_empty() {
                // The first is the drives' own: what it cannot tell, nobody can.
                return Err(Ended::Stopped {
                    reason: format!(
                        "{label}: too few were answered within {:.0} s to say what is usual: the \
                         drives are overloaded or out of order, and this is no time for a trim",
                        self.options.quiet.as_secs_f64()
                    ),
                });
            } else {
                indices.push(None);
                self.progress.event(&Event::Warning(format!(
                    "{label}: too few answers to judge by; this probe is left out"
                )));
            }
        }
        let controller =
            Controller::new(self.options.settings.clone(), self.quiet.clone(), &samples);
        let surveyed = self.parts.walk.survey(USUAL_BUDGET);
        let survey = surveyed.map_err(|error| self.unwalked(&error))?;
        self.progress.event(&Event::Begins {
            survey: survey.clone(),
            quiet: self.quiet.clone(),
            budgets: controller.budgets(),
            resumed_bytes: self.earlier.visited_bytes,
        });
        self.survey = Some(survey);
        let judged = Judged {
            controller,
            indices,
        };
        self.save(&judged, Phase::Running)?;
        Ok(judged)
    }

    /// Finds out whose counters can be believed.
    fn find_silent(&mut self, samples: &[Sample], probe: &[Reading]) {
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
            return;
        };
        self.silent = believed::silent(first, last, &self.parts.layers.leaves(), probe);
        let mut last = last.clone();
        Believed::strip(&self.silent, &mut last);
        let top = self.parts.layers.top();
        self.measurable = top
            .iter()
            .filter_map(|name| last.devices.get(name))
            .any(|device| device.discarded_bytes.is_some());
        if !self.silent.is_empty() {
            let names: Vec<&str> = self.silent.iter().map(String::as_str).collect();
            self.progress.event(&Event::Warning(format!(
                "{} answers reads and counts none (queue/iostats is 0, or NVMe multipath before \
                 Linux 6.2): what is discarded there cannot be measured",
                names.join(", ")
            )));
        }
    }

    /// Steps and pauses, until something ends it.
    fn work(&mut self, judged: &mut Judged) -> Result<Ended, Ended> {
        let mut waited_since: Option<Duration> = None;
        loop {
            self.look(judged)?;
            self.wait_for_gate(judged)?;
            self.tend()?;
            match judged.controller.next(self.parts.clock.elapsed()) {
                Action::Go => {
                    waited_since = None;
                    let budget = judged.controller.step_budget();
                    let next = self.parts.walk.next_step(budget);
                    let Some(step) = next.map_err(|error| self.unwalked(&error))? else {
                        self.own_up();
                        return Ok(Ended::Complete);
                    };
                    self.allow(&step, &judged.controller)?;
                    let before = self.cursor;
                    self.step(&step, judged)?;
                    if self.cursor == before {
                        // Structures that contradict themselves must not keep a drive busy for ever.
                        return Err(Ended::Failed {
                            reason: format!(
                                "the filesystem's structures lead nowhere beyond byte {}: is it sound?",
                                before.next_bytes
                            ),
                            resumable: false,
                        });
                    }
                }
                Action::Wait { pause, reason } => {
                    let now = self.parts.clock.elapsed();
                    let since = *waited_since.get_or_insert(now);
                    if pause >= WORTH_A_WORD || now.saturating_sub(since) >= WORTH_A_WORD {
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

    /// XFS passes over free space: what is busy in the log, what is shorter than a discard, and,
    /// on older kernels (6.1 among them), all but the first of the longest free extents of a group
    /// that are equally long (`xfs_trim_extents` begins there and walks down by size). The other
    /// filesystems remember what was trimmed before, and discard less for that reason.
    fn own_up(&mut self) {
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
                words_of(self.now.visited_bytes),
                words_of(left)
            )));
        }
    }

    /// Refuses a step that would stall others for longer than allowed.
    fn allow(&mut self, step: &Step, controller: &Controller) -> Result<(), Ended> {
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
            .unwrap_or(STALL_UNASKED)
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
                 locked for {:.1} s ({basis}), allowed are {:.2} s; go on with --accept-stall {:.0}s",
                words_of(bytes),
                predicted.as_secs_f64(),
                allowed.as_secs_f64(),
                predicted.as_secs_f64().ceil(),
            ),
        })
    }

    /// One call of FITRIM, and the wait for the drives.
    fn step(&mut self, step: &Step, judged: &mut Judged) -> Result<(), Ended> {
        let before = self.sample()?;
        self.count_late(&before);
        let began = self.parts.clock.elapsed();
        let minlen_bytes = self.parts.walk.minlen_bytes();
        let trimmed = self.parts.trimmer.trim(step.range, minlen_bytes);
        let trimmed = match trimmed {
            Ok(trimmed) => trimmed,
            Err(error) => return Err(self.untrimmed(&error)),
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
                &mut Believed {
                    watch: self.parts.watch.as_mut(),
                    silent: &self.silent,
                },
                self.parts.clock,
                &self.parts.stop,
                &before,
                &expect,
            )
            .map_err(|error| gone(&error))?;
        let locked = trimmed.took + settled.took;
        self.longest_step = self.longest_step.max(locked);
        if settled.timed_out && self.parts.stop.requested().is_none() {
            self.progress.event(&Event::Warning(format!(
                "the drives had not finished {:.0} s after a step; going on more slowly",
                self.options.settle_timeout.as_secs_f64()
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
        self.hear(judged);
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

    /// Discards of a step that had not settled, which came after the wait for it.
    fn count_late(&mut self, now: &Sample) {
        if let Some(then) = self.unsettled.take() {
            self.now.discarded.add(&Discarded::between(&then, now));
        }
    }

    fn unwalked(&self, error: &GeometryError) -> Ended {
        match error {
            GeometryError::Stopped => self.stop_requested().unwrap_or(Ended::Signal(0)),
            _ => Ended::Failed {
                reason: error.to_string(),
                resumable: true,
            },
        }
    }

    fn untrimmed(&self, error: &TrimError) -> Ended {
        match error {
            TrimError::Stopped => self.stop_requested().unwrap_or(Ended::Signal(0)),
            TrimError::Died(_) => {
                // `systemctl stop` sends its signal to child and parent at once, and the child may
                // be the first to show it.
                self.parts.clock.sleep(SLICE);
                self.stop_requested().unwrap_or_else(|| Ended::Failed {
                    reason: error.to_string(),
                    resumable: true,
                })
            }
            TrimError::Kernel(kernel) => Ended::Failed {
                reason: error.to_string(),
                // Not supported, not permitted, no such call: trying again changes nothing.
                resumable: !matches!(
                    kernel.kind(),
                    io::ErrorKind::Unsupported
                        | io::ErrorKind::PermissionDenied
                        | io::ErrorKind::InvalidInput
                ),
            },
            _ => Ended::Failed {
                reason: error.to_string(),
                resumable: true,
            },
        }
    }

    fn stop_requested(&self) -> Option<Ended> {
        let key = self.parts.target.identity.key();
        asked_to_end(&self.parts.stop, self.parts.state, &key)
    }

    /// Whether somebody wants an end, and time is left.
    fn check(&self) -> Result<(), Ended> {
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

    /// Probes and counters to the controller.
    fn look(&mut self, judged: &mut Judged) -> Result<(), Ended> {
        self.check()?;
        self.hear(judged);
        let now = self.parts.clock.elapsed();
        if now.saturating_sub(self.sampled_at) >= SAMPLE_EVERY {
            let sample = self.sample()?;
            judged.controller.sample(&sample);
        }
        Ok(())
    }

    fn hear(&mut self, judged: &mut Judged) {
        for (probe, index) in self.parts.probes.iter_mut().zip(&judged.indices) {
            let readings = probe.drain();
            if let Some(index) = index {
                judged.controller.read(*index, &readings);
            }
        }
    }

    fn tend(&mut self) -> Result<(), Ended> {
        (self.parts.tend)().map_err(|reason| Ended::Failed {
            reason,
            resumable: true,
        })
    }

    fn pause(&mut self, pause: Duration, judged: &mut Judged) -> Result<(), Ended> {
        let until = self.parts.clock.elapsed() + pause;
        loop {
            let left = until.saturating_sub(self.parts.clock.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            self.parts.clock.sleep(left.min(SLICE));
            self.look(judged)?;
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
            // In slices: the wall clock may jump, in either direction.
            self.pause(Duration::from_secs(1), judged)?;
            self.tend()?;
        }
    }

    /// Listens for a while; returns the samples, and the readings of each probe.
    fn listen(
        &mut self,
        long: Duration,
        first: Sample,
    ) -> Result<(Vec<Sample>, Vec<Vec<Reading>>), Ended> {
        let mut samples = vec![first];
        let mut readings: Vec<Vec<Reading>> = vec![Vec::new(); self.parts.probes.len()];
        let until = self.parts.clock.elapsed() + long;
        loop {
            let left = until.saturating_sub(self.parts.clock.elapsed());
            if left.is_zero() {
                break;
            }
            self.parts.clock.sleep(left.min(SLICE));
            self.check()?;
            samples.push(self.sample()?);
            for (probe, heard) in self.parts.probes.iter_mut().zip(&mut readings) {
                // One that still waits comes again.
                heard.retain(|reading| !reading.pending);
                heard.extend(probe.drain());
            }
        }
        Ok((samples, readings))
    }

    fn sample(&mut self) -> Result<Sample, Ended> {
        let mut sample = self.parts.watch.sample().map_err(|error| gone(&error))?;
        Believed::strip(&self.silent, &mut sample);
        self.sampled_at = self.parts.clock.elapsed();
        Ok(sample)
    }
}

fn in_flight(sample: &Sample, devices: &[String]) -> u64 {
    devices
        .iter()
        .filter_map(|name| sample.devices.get(name))
        .fold(0, |sum, device| sum.saturating_add(device.in_flight))
}

fn gone(error: &CounterError) -> Ended {
    Ended::Failed {
        reason: error.to_string(),
        resumable: true,
    }
}

/// A size for people.
fn words_of(bytes: u64) -> String {
    match bytes {
        0..1_048_576 => format!("{:.1} KiB", ratio(bytes, 1 << 10)),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", ratio(bytes, 1 << 20)),
        _ => format!("{:.1} GiB", ratio(bytes, 1 << 30)),
    }
}

#[allow(clippy::cast_precision_loss)] // rates and durations for people
fn ratio(bytes: u64, per: u64) -> f64 {
    bytes as f64 / per as f64
}
