//! Preparations before the first step: the survey, the quiet level, and which counters can be
//! trusted.

use super::state::{Engine, Judged, SLICE};
use super::trusted_counters::{self, TrustedCounters};
use crate::counters::Sample;
use crate::pace::Controller;
use crate::pass::model::{Ended, Event};
use crate::probe::Reading;
use crate::range::StepBudget;
use crate::state::Phase;
use std::time::Duration;

/// Typical budget on a drive that is not disturbed; only used to estimate the number of steps.
const USUAL_BUDGET: StepBudget = StepBudget {
    free_bytes: 256 << 20,
    free_extents: 1024,
};

impl Engine<'_> {
    /// Surveys the filesystem and measures the quiet level.
    pub(super) fn prepare(&mut self) -> Result<Judged, Ended> {
        let first = self.sample()?;
        self.progress.event(&Event::Measuring {
            takes: self.options.quiet,
        });
        let (samples, readings) = self.collect_samples(self.options.quiet, first)?;
        self.find_devices_without_counters(&samples, readings.first().map_or(&[], Vec::as_slice));
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
                // The first is the drive probe; without its quiet level nothing can be judged.
                return Err(Ended::Stopped {
                    reason: format!(
                        "{label}: too few were answered within {} to say what is usual: the \
                         drives are overloaded or out of order, and this is no time for a trim",
                        units::duration(self.options.quiet)
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
        let survey = surveyed.map_err(|error| self.geometry_failure(&error))?;
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

    /// Determines which devices' counters cannot be trusted.
    fn find_devices_without_counters(&mut self, samples: &[Sample], probe: &[Reading]) {
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
            return;
        };
        self.uncounted =
            trusted_counters::find_uncounted(first, last, &self.parts.layers.leaves(), probe);
        let mut last = last.clone();
        TrustedCounters::strip(&self.uncounted, &mut last);
        let top = self.parts.layers.top();
        self.measurable = top
            .iter()
            .filter_map(|name| last.devices.get(name))
            .any(|device| device.discarded_bytes.is_some());
        if !self.uncounted.is_empty() {
            let names: Vec<&str> = self.uncounted.iter().map(String::as_str).collect();
            self.progress.event(&Event::Warning(format!(
                "{} answers reads and counts none (queue/iostats is 0, or NVMe multipath before \
                 Linux 6.2): what is discarded there cannot be measured",
                names.join(", ")
            )));
        }
    }

    /// Collects samples, and the readings of each probe, for a while.
    fn collect_samples(
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
            for (probe, readings_of_probe) in self.parts.probes.iter_mut().zip(&mut readings) {
                // Pending readings will be returned again.
                readings_of_probe.retain(|reading| !reading.pending);
                readings_of_probe.extend(probe.drain());
            }
        }
        Ok((samples, readings))
    }
}

fn in_flight(sample: &Sample, devices: &[String]) -> u64 {
    devices
        .iter()
        .filter_map(|name| sample.devices.get(name))
        .fold(0, |sum, device| sum.saturating_add(device.in_flight))
}
