//! What the checks of a trial need of its readings, in constant memory.

use super::rates::{total, used};
use super::reading::Reading;
use crate::validity::{CpuObserved, FrequencyObserved};
use linux::counters::DeviceCounters;
use linux::cpu::CpuTicks;
use std::collections::VecDeque;
use std::time::Duration;

/// Readings whose median frequency counts as one: a CPU that clocks down for a moment is not a slow one.
const WINDOW: usize = 10;

/// Sums over the readings of a trial.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    first: Option<Reading>,
    last: Option<Reading>,
    ticks: u64,
    steal: u64,
    idle: u64,
    busy: u64,
    server: Option<u64>,
    driver: Option<u64>,
    shares: VecDeque<f64>,
    /// Lowest and highest median of a window.
    frequency: Option<(f64, f64)>,
}

impl Summary {
    /// Adds the next reading.
    pub fn add(&mut self, reading: Reading) {
        if let Some(before) = &self.last {
            self.add_cpu(&before.clone(), &reading);
        }
        self.add_frequency(reading.frequency_share);
        self.first.get_or_insert_with(|| reading.clone());
        self.last = Some(reading);
    }

    fn add_cpu(&mut self, before: &Reading, after: &Reading) {
        let (Some(passed), Some(cpu_before), Some(cpu_after)) =
            (total(before, after), before.cpu, after.cpu)
        else {
            return;
        };
        let part = |part: fn(&CpuTicks) -> u64| part(&cpu_after).saturating_sub(part(&cpu_before));
        self.ticks += passed;
        self.steal += part(|ticks| ticks.steal);
        self.idle += part(|ticks| ticks.idle) + part(|ticks| ticks.io_wait);
        self.busy += part(CpuTicks::busy);
        if let Some(driver) = &after.driver {
            *self.driver.get_or_insert(0) += used(before.driver.as_ref(), driver);
        }
        for (pid, server) in &after.server {
            *self.server.get_or_insert(0) += used(before.server.get(pid), server);
        }
    }

    fn add_frequency(&mut self, share: Option<f64>) {
        let Some(share) = share else { return };
        self.shares.push_back(share);
        if self.shares.len() > WINDOW {
            self.shares.pop_front();
        }
        if self.shares.len() == WINDOW {
            let mut sorted: Vec<f64> = self.shares.iter().copied().collect();
            sorted.sort_by(f64::total_cmp);
            let median = sorted[WINDOW / 2];
            let (low, high) = self.frequency.unwrap_or((median, median));
            self.frequency = Some((low.min(median), high.max(median)));
        }
    }

    /// CPU time; `None` without two readings of it, or if it is not known what the driver used. A server that
    /// is not on this host used none of it.
    #[allow(clippy::cast_precision_loss)] // shares
    pub fn cpu(&self) -> Option<CpuObserved> {
        let driver = self.driver?;
        if self.ticks == 0 {
            return None;
        }
        let share = |ticks: u64| ticks as f64 / self.ticks as f64;
        let ours = driver.saturating_add(self.server.unwrap_or(0));
        Some(CpuObserved {
            foreign: Some(share(self.busy.saturating_sub(ours))),
            steal: share(self.steal),
            driver: share(driver),
            idle: share(self.idle),
        })
    }

    /// Time that the server's control group was held back.
    pub fn throttled(&self) -> Option<Duration> {
        self.growth(|reading| reading.throttled_us)
            .map(Duration::from_micros)
    }

    /// Bytes read from the drives; `None` if a drive is not counted.
    pub fn read_bytes(&self) -> Option<u64> {
        self.drives(|drive| Some(drive.read_bytes))
    }

    /// Growth of a counter, summed over the drives; `None` if a drive is not counted, or has no such counter.
    pub fn drives(&self, counter: impl Fn(&DeviceCounters) -> Option<u64>) -> Option<u64> {
        let (first, last) = (self.first.as_ref()?, self.last.as_ref()?);
        if last.drives.is_empty() || !first.drives.keys().eq(last.drives.keys()) {
            return None;
        }
        let pairs = first.drives.values().zip(last.drives.values());
        pairs
            .map(|(before, after)| Some(counter(after)?.saturating_sub(counter(before)?)))
            .sum()
    }

    /// Frequencies and governors.
    pub fn frequency(&self) -> Option<FrequencyObserved> {
        let (first, last) = (self.first.as_ref()?, self.last.as_ref()?);
        let found = FrequencyObserved {
            governor_before: first.governor.clone(),
            governor_after: last.governor.clone(),
            thermal_throttles: self.growth(|reading| reading.thermal_throttles),
            lowest_share: self
                .frequency
                .and_then(|(low, high)| (high > 0.0).then(|| low / high)),
        };
        (found != FrequencyObserved::default()).then_some(found)
    }

    fn growth(&self, value: impl Fn(&Reading) -> Option<u64>) -> Option<u64> {
        value(self.last.as_ref()?)?.checked_sub(value(self.first.as_ref()?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::cpu::ProcessTicks;

    /// A host of 100 ticks a second: the server uses 40, the driver 10, others 5, the hypervisor takes 3.
    fn reading(second: u64) -> Reading {
        let process = |per_second: u64| ProcessTicks {
            user: per_second * second,
            system: 0,
            started: 1,
        };
        let mut reading = Reading {
            at: Duration::from_secs(second),
            cpu: Some(CpuTicks {
                user: 50 * second,
                system: 5 * second,
                idle: 40 * second,
                io_wait: 2 * second,
                steal: 3 * second,
            }),
            driver: Some(process(10)),
            frequency_share: Some(if second < 40 { 0.9 } else { 0.45 }),
            governor: Some("schedutil".to_owned()),
            throttled_us: Some(1_000 * second),
            thermal_throttles: Some(second / 50),
            ..Reading::default()
        };
        reading.server.insert(7, process(40));
        reading.drives.insert(
            "sda".to_owned(),
            DeviceCounters {
                read_bytes: 100 + 7 * second,
                ..DeviceCounters::default()
            },
        );
        reading
    }

    fn summary(seconds: u64, change: impl Fn(&mut Reading)) -> Summary {
        let mut summary = Summary::default();
        for second in 0..=seconds {
            let mut reading = reading(second);
            change(&mut reading);
            summary.add(reading);
        }
        summary
    }

    #[test]
    fn shares_of_a_minute() {
        let summary = summary(60, |_| ());
        let expected = CpuObserved {
            foreign: Some(0.05),
            steal: 0.03,
            driver: 0.1,
            idle: 0.42,
        };
        assert_eq!(summary.cpu(), Some(expected));
        assert_eq!(summary.throttled(), Some(Duration::from_millis(60)));
        assert_eq!(summary.read_bytes(), Some(420));
        let frequency = summary.frequency().unwrap();
        assert_eq!(frequency.lowest_share, Some(0.5));
        assert_eq!(frequency.thermal_throttles, Some(1));
        assert_eq!(frequency.governor_before, frequency.governor_after);
    }

    #[test]
    fn a_moment_at_a_low_frequency_is_no_slow_cpu() {
        let summary = summary(39, |reading| {
            if reading.at.as_secs() == 20 {
                reading.frequency_share = Some(0.1);
            }
        });
        assert_eq!(summary.frequency().unwrap().lowest_share, Some(1.0));
    }

    #[test]
    fn what_was_not_read_is_unknown() {
        let summary = summary(60, |reading| {
            reading.driver = None;
            reading.drives.clear();
            reading.throttled_us = None;
            reading.governor = None;
            reading.frequency_share = None;
            reading.thermal_throttles = None;
        });
        assert_eq!(summary.cpu(), None);
        assert_eq!(summary.read_bytes(), None);
        assert_eq!(summary.throttled(), None);
        assert_eq!(summary.frequency(), None);
        assert_eq!(Summary::default().cpu(), None);
    }
}
