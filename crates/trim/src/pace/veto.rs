//! What the kernel counts for everybody: time that reads take (diskstats) and time that tasks wait
//! for I/O (pressure). Both are coarse and both know nothing of who waits, so they cannot steer;
//! but they see every reader, and may say no.

use crate::counters::{DeviceCounters, Sample, ms_between};
use std::collections::BTreeMap;
use std::time::Duration;

/// Reads below which their mean time means nothing.
const READS_MIN: u64 = 20;
/// Shortest interval that is judged.
const INTERVAL_MIN: Duration = Duration::from_millis(500);
/// After so long an interval is judged or dropped.
const INTERVAL_MAX: Duration = Duration::from_secs(3);

/// What was usual, and what is.
#[derive(Debug, Clone, Default)]
pub(super) struct Veto {
    /// Await by device: quiet level and limit, in milliseconds.
    limits_ms: BTreeMap<String, (f64, f64)>,
    /// Share of time that some task waited for I/O: limit.
    pressure_limit: Option<f64>,
    /// The beginning of the interval that is being watched, by device; and for pressure.
    awaits_since: BTreeMap<String, (Duration, DeviceCounters)>,
    pressure_since: Option<(Duration, u64)>,
    /// Time within the pressure's interval in which the pass itself waited for I/O.
    own_s: f64,
    /// In words, while it holds.
    awaits: BTreeMap<String, String>,
    pressure: Option<String>,
}

fn await_ms(before: &DeviceCounters, after: &DeviceCounters) -> Option<f64> {
    let reads = after.reads.saturating_sub(before.reads);
    #[allow(clippy::cast_precision_loss)] // a mean
    (reads >= READS_MIN).then(|| ms_between(before.read_ms, after.read_ms) as f64 / reads as f64)
}

fn of_ms(latency_ms: f64) -> String {
    units::seconds(latency_ms / 1e3)
}

fn pressure_share(since: (Duration, u64), at: Duration, total_us: u64) -> f64 {
    #[allow(clippy::cast_precision_loss)] // a share
    let waited_s = total_us.saturating_sub(since.1) as f64 / 1e6;
    waited_s / at.saturating_sub(since.0).as_secs_f64().max(1e-3)
}

impl Veto {
    /// From samples before the pass. `alone`: there is no probe, these must do.
    pub(super) fn new(quiet: &[Sample], alone: bool) -> Self {
        let mut veto = Self::default();
        let (Some(first), Some(last)) = (quiet.first(), quiet.last()) else {
            return veto;
        };
        // As the budgets are with nothing else to go by, and wider beside a probe: a store that
        // begins to read larger pieces waits longer for them.
        let (times, plus_ms) = if alone { (2.0, 2.0) } else { (3.0, 10.0) };
        for (name, after) in &last.devices {
            let before = first.devices.get(name);
            if let Some(quiet_ms) = before.and_then(|before| await_ms(before, after)) {
                let limit_ms = (quiet_ms * times).max(quiet_ms + plus_ms);
                veto.limits_ms.insert(name.clone(), (quiet_ms, limit_ms));
            }
        }
        if let (Some(before), Some(after)) = (first.io_pressure_us, last.io_pressure_us)
            && last.at.saturating_sub(first.at) >= INTERVAL_MIN
        {
            let quiet = pressure_share((first.at, before), last.at, after);
            veto.pressure_limit = Some((2.0 * quiet).max(quiet + 0.2));
        }
        veto
    }

    /// A step of the pass itself kept a task waiting for so long.
    pub(super) fn own(&mut self, waited: Duration) {
        self.own_s += waited.as_secs_f64();
    }

    pub(super) fn sample(&mut self, sample: &Sample) {
        for (name, &(quiet_ms, limit_ms)) in &self.limits_ms {
            let Some(now) = sample.devices.get(name) else {
                continue;
            };
            let since = self
                .awaits_since
                .entry(name.clone())
                .or_insert((sample.at, *now));
            let long = sample.at.saturating_sub(since.0);
            if long < INTERVAL_MIN {
                continue;
            }
            let seen_ms = await_ms(&since.1, now);
            if seen_ms.is_none() && long < INTERVAL_MAX {
                continue;
            }
            *since = (sample.at, *now);
            match seen_ms.filter(|&seen_ms| seen_ms > limit_ms) {
                Some(seen_ms) => {
                    let words = format!(
                        "reads of {name} take {} (quiet {}, limit {})",
                        of_ms(seen_ms),
                        of_ms(quiet_ms),
                        of_ms(limit_ms)
                    );
                    self.awaits.insert(name.clone(), words);
                }
                None => {
                    self.awaits.remove(name);
                }
            }
        }
        self.press(sample);
    }

    fn press(&mut self, sample: &Sample) {
        let (Some(limit), Some(total_us)) = (self.pressure_limit, sample.io_pressure_us) else {
            self.pressure = None;
            return;
        };
        let since = *self.pressure_since.get_or_insert((sample.at, total_us));
        let long_s = sample.at.saturating_sub(since.0).as_secs_f64();
        if long_s < 2.0 * INTERVAL_MIN.as_secs_f64() {
            return;
        }
        // The child that trims waits for I/O as well, and that is nobody's trouble.
        let share = pressure_share(since, sample.at, total_us) - self.own_s / long_s;
        self.pressure = (share > limit).then(|| {
            format!(
                "tasks wait for I/O {} of the time (limit {})",
                units::percent(share),
                units::percent(limit)
            )
        });
        self.pressure_since = Some((sample.at, total_us));
        self.own_s = 0.0;
    }

    /// Why not to go on, for people.
    pub(super) fn holds(&self) -> Option<&str> {
        self.awaits
            .values()
            .next()
            .or(self.pressure.as_ref())
            .map(String::as_str)
    }

    /// The limits, for people.
    pub(super) fn limits(&self) -> Vec<String> {
        let mut sentences: Vec<String> = self
            .limits_ms
            .iter()
            .map(|(name, (quiet_ms, limit_ms))| {
                format!(
                    "a pause while reads of {name} take more than {} (quiet {})",
                    of_ms(*limit_ms),
                    of_ms(*quiet_ms)
                )
            })
            .collect();
        // Above the whole of the time it can never hold.
        sentences.extend(
            self.pressure_limit
                .filter(|limit| *limit < 1.0)
                .map(|limit| {
                    format!(
                        "a pause while others wait for I/O more than {} of the time",
                        units::percent(limit)
                    )
                }),
        );
        sentences
    }
}
