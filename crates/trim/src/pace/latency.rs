//! Latency model of one probe: the level without steps, and the harm that steps do.

use super::histogram::Histogram;
use super::quiet::{LEVELS, QuietLevel, seconds};
use crate::probe::Reading;
use std::collections::VecDeque;
use std::time::Duration;
use units::duration;

/// Fraction of readings that may exceed the tail limit.
const OVER_ALLOWED: f64 = 0.01;
/// Fraction of the remaining budget that the pass plans to use: the probe only sees a sample, and
/// others read more often and from busier processors.
const PLANNED_SHARE: f64 = 0.5;
/// Memory lengths in seconds and in readings: a store's probe is sampled less often than the
/// drives', and must not remember a bad minute for ten times as long.
const LEDGER: Memory = Memory::new(120.0, 240.0, 2400.0);
/// Memory of the idle level's mean, and of its tail.
const IDLE_MEAN: Memory = Memory::new(5.0, 10.0, 100.0);
const IDLE_OVER: Memory = Memory::new(25.0, 100.0, 500.0);
/// Upper bound of the remembered idle tail, however long a store was unavailable.
const IDLE_OVER_MAX: f64 = 2.0 * OVER_ALLOWED;
/// Idle readings after which their tail is trusted, and how often it is re-evaluated.
const TAIL_READINGS: u64 = 300;
const TAIL_EVERY: u64 = 50;
/// Weight of the prior, in readings.
const PRIOR_READINGS: f64 = 4.0;
/// Prior fraction of readings over the limit, before any was taken during a step.
const PRIOR_OVER: f64 = 0.05;
/// Readings during steps after which the older half is forgotten.
const HARM_READINGS: f64 = 400.0;
/// Number of idle readings used to judge recovery.
const RECENT: usize = 10;
const UNSORTED_MAX: usize = 8192;

/// Memory length of a running mean.
#[derive(Debug, Clone, Copy)]
struct Memory {
    seconds: f64,
    readings_min: f64,
    readings_max: f64,
}

impl Memory {
    const fn new(seconds: f64, readings_min: f64, readings_max: f64) -> Self {
        Self {
            seconds,
            readings_min,
            readings_max,
        }
    }

    fn readings(self, interval_s: f64) -> f64 {
        (self.seconds / interval_s.max(1e-3)).clamp(self.readings_min, self.readings_max)
    }
}

/// Assumed interval between two readings, before any arrived.
const INTERVAL_S: f64 = 0.05;

/// A time during which a step was running, or its aftermath may have been felt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    pub(super) from: Duration,
    pub(super) to: Duration,
    pub(super) level: usize,
}

/// Harm done by steps of one size level, over the readings that fell into their windows.
#[derive(Debug, Clone, Copy, Default)]
struct Harm {
    readings: f64,
    excess_s: f64,
    over: f64,
    prior_excess_s: f64,
    prior_over: f64,
}

/// Latency model of one probe.
#[derive(Debug)]
pub(super) struct Latency {
    pub(super) label: String,
    quiet: QuietLevel,
    pub(super) mean_budget: Duration,
    pub(super) p99_budget: Duration,
    histogram: Histogram,
    /// Readings outside any window: the quiet level as the pass goes on.
    idle: Histogram,
    /// Tail budget from the quiet measurement.
    first_p99_budget: Duration,
    pending: Vec<Reading>,
    unsorted: VecDeque<Reading>,
    /// Number of consecutive failed requests.
    failures: u32,
    asked_at: Option<Duration>,
    /// Mean time between two readings.
    interval_s: f64,
    idle_mean_s: f64,
    idle_over: f64,
    ledger_readings: f64,
    ledger_s: f64,
    ledger_over: f64,
    recent_s: VecDeque<f64>,
    /// A reading of the last step was over the limit: three good ones must follow.
    hurt: bool,
    harms: [Harm; LEVELS],
}

impl Latency {
    pub(super) fn new(label: String, quiet: QuietLevel, max_latency: Option<Duration>) -> Self {
        let milli = Duration::from_millis(1);
        let mean_budget = max_latency.unwrap_or_else(|| {
            quiet
                .mean
                .saturating_mul(2)
                .max(quiet.mean.saturating_add(milli))
        });
        let mut p99_budget = quiet
            .p99
            .saturating_mul(3)
            .max(quiet.p99.saturating_add(2 * milli));
        if let Some(max_latency) = max_latency {
            // Allowing a mean implies allowing the tail that goes with it.
            p99_budget = p99_budget.max(max_latency.saturating_mul(3));
        }
        let harm = Harm {
            prior_over: PRIOR_OVER,
            ..Harm::default()
        };
        Self {
            label,
            quiet,
            mean_budget,
            p99_budget,
            histogram: Histogram::new(),
            idle: Histogram::new(),
            first_p99_budget: p99_budget,
            pending: Vec::new(),
            unsorted: VecDeque::new(),
            failures: 0,
            asked_at: None,
            interval_s: INTERVAL_S,
            idle_mean_s: quiet.mean.as_secs_f64(),
            idle_over: 0.0,
            ledger_readings: 0.0,
            ledger_s: 0.0,
            ledger_over: 0.0,
            recent_s: VecDeque::new(),
            hurt: false,
            harms: [harm; LEVELS],
        }
    }

    pub(super) fn sentence(&self) -> String {
        format!(
            "{}: mean at most {} (quiet {}), 99 of 100 below {} (quiet {})",
            self.label,
            duration(self.mean_budget),
            duration(self.quiet.mean),
            duration(self.p99_budget),
            duration(self.quiet.p99)
        )
    }

    pub(super) fn read(&mut self, readings: &[Reading]) {
        self.pending.clear();
        for reading in readings {
            if reading.pending {
                if self.pending.len() < UNSORTED_MAX {
                    self.pending.push(*reading);
                }
                continue;
            }
            if reading.failed {
                self.failures = self.failures.saturating_add(1);
            } else {
                self.failures = 0;
                self.histogram.add(reading.latency);
            }
            if let Some(before) = self.asked_at.replace(reading.at)
                && let Some(gap) = reading.at.checked_sub(before)
                && !gap.is_zero()
            {
                let gap_s = gap.as_secs_f64().min(60.0);
                self.interval_s += (gap_s - self.interval_s) / 20.0;
            }
            if self.unsorted.len() >= UNSORTED_MAX {
                self.unsorted.pop_front();
            }
            self.unsorted.push_back(*reading);
        }
    }

    /// Returns the latency of a reading, counting a failed one as over any budget.
    fn effective(&self, reading: &Reading) -> Duration {
        if reading.failed {
            reading.latency.max(self.p99_budget.saturating_mul(2))
        } else {
            reading.latency
        }
    }

    /// Separates readings that fell into a step's window from the others. Called while no step is
    /// running.
    pub(super) fn sort(&mut self, windows: &VecDeque<Window>) {
        while let Some(reading) = self.unsorted.pop_front() {
            let latency = self.effective(&reading);
            let latency_s = latency.as_secs_f64().min(3600.0);
            let over = if latency > self.p99_budget { 1.0 } else { 0.0 };
            let end = reading.at.saturating_add(reading.latency);
            let met = windows
                .iter()
                .find(|window| reading.at <= window.to && end >= window.from);
            // Latency that the store causes itself is not charged to the pass.
            if met.is_some() || self.busy_reason().is_none() {
                self.add_to_ledger(latency_s, over);
            }
            if let Some(window) = met {
                let excess_s = latency_s - self.idle_mean_s;
                let harm = &mut self.harms[window.level];
                harm.readings += 1.0;
                harm.excess_s += excess_s;
                harm.over += over;
                if harm.readings > HARM_READINGS {
                    harm.readings *= 0.5;
                    harm.excess_s *= 0.5;
                    harm.over *= 0.5;
                }
                if over > 0.0 {
                    self.hurt = true;
                    self.recent_s.clear();
                }
            } else {
                let bounded_s = latency_s.min(5.0 * self.p99_budget.as_secs_f64());
                self.idle_mean_s +=
                    (bounded_s - self.idle_mean_s) / IDLE_MEAN.readings(self.interval_s);
                self.idle_over += (over - self.idle_over) / IDLE_OVER.readings(self.interval_s);
                self.idle_over = self.idle_over.min(IDLE_OVER_MAX);
                self.idle.add(latency);
                self.learn_tail();
                if self.recent_s.len() >= RECENT {
                    self.recent_s.pop_front();
                }
                self.recent_s.push_back(latency_s);
                if self.recent_s.len() >= 3 {
                    self.hurt = false;
                }
            }
        }
    }

    /// Widens the tail's budget, at most twofold, from the latencies between steps: a short quiet
    /// measurement sees little of the tail. The bound also covers a drive that our own steps keep
    /// busy.
    fn learn_tail(&mut self) {
        if self.idle.count() >= TAIL_READINGS && self.idle.count().is_multiple_of(TAIL_EVERY) {
            let first = self.first_p99_budget;
            let seen = self.idle.quantile(990).saturating_mul(3);
            self.p99_budget = seen.clamp(first, first.saturating_mul(2));
        }
    }

    fn add_to_ledger(&mut self, latency_s: f64, over: f64) {
        let readings = LEDGER.readings(self.interval_s);
        if self.ledger_readings >= readings {
            let keep = (readings - 1.0) / self.ledger_readings;
            self.ledger_readings *= keep;
            self.ledger_s *= keep;
            self.ledger_over *= keep;
        }
        self.ledger_readings += 1.0;
        self.ledger_s += latency_s;
        self.ledger_over += over;
    }

    /// Returns why a step now would hit a probe that is already suffering, as human-readable text.
    pub(super) fn distress_reason(&self) -> Option<String> {
        if let Some(longest) = self.pending.iter().map(|reading| reading.latency).max()
            && longest > self.p99_budget
        {
            return Some(format!(
                "{}: no answer for {} (limit {})",
                self.label,
                duration(longest),
                duration(self.p99_budget)
            ));
        }
        if self.failures > 0 {
            return Some(self.failure_reason());
        }
        if self.hurt {
            return Some(format!(
                "{}: over {} during the last step",
                self.label,
                duration(self.p99_budget)
            ));
        }
        #[allow(clippy::cast_precision_loss)] // ten at most
        let count = self.recent_s.len() as f64;
        if count > 0.0 {
            let mean_s = self.recent_s.iter().sum::<f64>() / count;
            // The mean of so few readings is only known to its standard error.
            if mean_s > self.mean_budget.as_secs_f64() * (1.0 + 1.0 / count.sqrt()) {
                return Some(format!(
                    "{}: {}, budget {}",
                    self.label,
                    duration(seconds(mean_s)),
                    duration(self.mean_budget)
                ));
            }
        }
        None
    }

    fn failure_reason(&self) -> String {
        match self.failures {
            1 => format!("{}: the last request failed", self.label),
            failures => format!("{}: the last {failures} requests failed", self.label),
        }
    }

    /// Returns a human-readable reason why the store itself is busy: the level without a step is
    /// over budget.
    pub(super) fn busy_reason(&self) -> Option<String> {
        if self.failures > 1 {
            return Some(self.failure_reason());
        }
        if self.idle_mean_s > self.mean_budget.as_secs_f64() {
            return Some(format!(
                "{}: {}, budget {}",
                self.label,
                duration(seconds(self.idle_mean_s)),
                duration(self.mean_budget)
            ));
        }
        (self.idle_over > OVER_ALLOWED).then(|| {
            format!(
                "{}: {} over {}",
                self.label,
                units::percent(self.idle_over),
                duration(self.p99_budget)
            )
        })
    }

    /// Returns by how much the last two minutes are over budget, as human-readable text.
    pub(super) fn overdrawn_reason(&self) -> Option<String> {
        let readings = self.ledger_readings;
        let mean_budget_s = self.mean_budget.as_secs_f64();
        // A pass begins without credit: it may owe one slow reading.
        if self.ledger_over > 0.9 * OVER_ALLOWED * readings + 1.0 {
            return Some(format!(
                "{}: {} over {} of late, allowed is 1 %",
                self.label,
                units::percent(self.ledger_over / readings),
                duration(self.p99_budget)
            ));
        }
        if self.ledger_s > 0.95 * mean_budget_s * readings + 10.0 * mean_budget_s {
            return Some(format!(
                "{}: {} on average of late, budget {}",
                self.label,
                duration(seconds(self.ledger_s / readings)),
                duration(self.mean_budget)
            ));
        }
        None
    }

    /// Returns how many times the window of a step must fit into the time until the next one, so
    /// that mean and tail stay within the planned budget.
    pub(super) fn stretch(&self, level: usize) -> f64 {
        let (excess_s, over) = self.harm(level);
        let mean_budget_s = self.mean_budget.as_secs_f64();
        let mean_room_s =
            (PLANNED_SHARE * (mean_budget_s - self.idle_mean_s)).max(0.05 * mean_budget_s);
        let over_room = (PLANNED_SHARE * (OVER_ALLOWED - self.idle_over)).max(0.1 * OVER_ALLOWED);
        let over = (over - self.idle_over).max(0.0);
        (excess_s / mean_room_s.max(1e-9)).max(over / over_room)
    }

    /// Returns the mean excess, and the fraction over the limit, of readings that fell into windows
    /// of this level.
    fn harm(&self, level: usize) -> (f64, f64) {
        let harm = &self.harms[level];
        let readings = harm.readings + PRIOR_READINGS;
        (
            ((harm.excess_s + PRIOR_READINGS * harm.prior_excess_s) / readings).max(0.0),
            (harm.over + PRIOR_READINGS * harm.prior_over) / readings,
        )
    }

    /// Returns the number of readings by which a level is judged.
    pub(super) fn evidence(&self, level: usize) -> f64 {
        self.harms[level].readings
    }

    /// Resets a level, using another level's results (scaled by `scale`, the ratio of their sizes)
    /// as prior.
    pub(super) fn expect(&mut self, level: usize, from: usize, scale: f64) {
        let (excess_s, over) = self.harm(from);
        self.harms[level] = Harm {
            prior_excess_s: excess_s * scale,
            prior_over: (over * scale).min(PRIOR_OVER.max(over)),
            ..Harm::default()
        };
    }

    /// Begins a step: recovery is judged by the readings after it.
    pub(super) fn begin_step(&mut self) {
        self.recent_s.clear();
    }

    pub(super) fn seen(&self) -> Option<QuietLevel> {
        let mut histogram = self.histogram.clone();
        for reading in &self.pending {
            histogram.add(reading.latency);
        }
        level_of(&histogram)
    }
}

pub(super) fn level_of(histogram: &Histogram) -> Option<QuietLevel> {
    (histogram.count() > 0).then(|| QuietLevel {
        mean: histogram.mean(),
        p50: histogram.quantile(500),
        p99: histogram.quantile(990),
        readings: usize::try_from(histogram.count()).unwrap_or(usize::MAX),
    })
}
