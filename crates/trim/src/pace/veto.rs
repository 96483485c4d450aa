//! Vetoes from system-wide counters: the time reads take (diskstats) and the time tasks wait for
//! I/O (pressure). Both are coarse and do not tell who waits, so they cannot steer; but they cover
//! every reader, and may veto steps.

use crate::counters::Sample;
use linux::counters::{DeviceCounters, ms_between};
use std::collections::BTreeMap;
use std::time::Duration;

/// Minimum number of reads for a meaningful mean time.
const READS_MIN: u64 = 20;
/// Shortest interval that is judged.
const INTERVAL_MIN: Duration = Duration::from_millis(500);
/// An interval is judged or dropped after this time.
const INTERVAL_MAX: Duration = Duration::from_secs(3);

/// Limits from the quiet level, and the current state.
#[derive(Debug, Clone, Default)]
pub(super) struct Veto {
    /// Quiet await and its limit by device, in milliseconds.
    limits_ms: BTreeMap<String, (f64, f64)>,
    /// Limit for the share of time in which some task waited for I/O.
    pressure_limit: Option<f64>,
    /// Start of the current interval, by device and for pressure.
    awaits_since: BTreeMap<String, (Duration, DeviceCounters)>,
    pressure_since: Option<(Duration, u64)>,
    /// Time within the pressure interval in which the pass itself waited for I/O.
    own_s: f64,
    /// Current objections as text.
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
    /// Computes limits from samples taken before the pass. `alone`: there is no probe, so these
    /// counters are the only signal.
    pub(super) fn new(quiet: &[Sample], alone: bool) -> Self {
        let mut veto = Self::default();
        let (Some(first), Some(last)) = (quiet.first(), quiet.last()) else {
            return veto;
        };
        // The usual budgets if there is nothing else to go by, and wider ones beside a probe: a
        // store that begins to read larger pieces waits longer for them.
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

    /// Records that a step of the pass itself kept a task waiting for I/O.
    pub(super) fn add_own_wait(&mut self, waited: Duration) {
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
        self.check_pressure(sample);
    }

    fn check_pressure(&mut self, sample: &Sample) {
        let (Some(limit), Some(total_us)) = (self.pressure_limit, sample.io_pressure_us) else {
            self.pressure = None;
            return;
        };
        let since = *self.pressure_since.get_or_insert((sample.at, total_us));
        let long_s = sample.at.saturating_sub(since.0).as_secs_f64();
        if long_s < 2.0 * INTERVAL_MIN.as_secs_f64() {
            return;
        }
        // The trimming child waits for I/O as well, which does no harm.
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

    /// Returns the human-readable reason to hold back.
    pub(super) fn reason(&self) -> Option<&str> {
        self.awaits
            .values()
            .next()
            .or(self.pressure.as_ref())
            .map(String::as_str)
    }

    /// Returns the limits as human-readable sentences.
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
        // A limit above 100 % of the time can never be exceeded.
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
