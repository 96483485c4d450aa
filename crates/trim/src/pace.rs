//! The pacing controller: decides how large the next step may be, how long to wait before it, and
//! when to give up.
//!
//! Its goals, in this order: do not disturb anyone (mean and 99th percentile of each probe stay
//! within their budgets), never lock space for long (each step below `stall`), and be as fast as
//! these two allow. It is pure: readings, counters and finished steps are passed in with their
//! times, and it returns [`Action`]s.
//!
//! # Budgets
//! Mean: twice the quiet mean, or `--max-latency`. Tail: three times the quiet p99. On an idle NVMe
//! drive twice nothing is still nothing, so at least 1 ms (mean) and 2 ms (p99) above quiet. A few
//! seconds of measuring see little of the tail: latencies measured between steps may widen its
//! budget, at most twofold.
//!
//! # Pauses
//! A step affects latency from the moment it is given to the kernel until some time after its last
//! discard: its *window* (the aftermath is assumed to be as long as the step, within 5 ms to 2 s).
//! Readings are taken at random moments, so the fraction of them that falls into windows equals the
//! fraction of time that windows take (Poisson arrivals see time averages: Wolff 1982). From the
//! readings that fell into a window the controller knows the mean excess `m` over the idle level
//! and the fraction `q` above the tail's limit. If a window of length `W` comes every `T`, the
//! pass's mean is `idle + m W / T` and the fraction above the limit is `idle_q + q W / T`. The pass
//! uses half of what is left of the budgets; the other half is a reserve for what the probe, being
//! a sample, does not see:
//!
//! ```text
//! T >= W * max( m / (0.5 * (budget - idle)),  q / (0.5 * (1 % - idle_q)) )
//! ```
//!
//! and the pause is what remains of `T` after the step. A step that pushes every read above the
//! limit thus gets 0.5 % of the time, one that merely slows reads down gets more, and one without
//! any effect gets all of it. `q` starts with a prior of 5 % worth four readings: about 30 clean
//! readings in windows are needed for full speed.
//!
//! The plan may be wrong, so there are brakes: no step is made while a read has been waiting for
//! longer than the limit, until three good readings after a step that hurt, while the readings
//! since the last step are over budget, while the ledger of the last two minutes is over budget (no
//! credit is carried further than that), or while diskstats or pressure object. A brake is a pause
//! and does not change the size of steps.
//!
//! # Sizes
//! See `pace/size.rs` (levels, slow start) and `pace/cost.rs` (the fit).
//!
//! # Giving up
//! The controller gives up when the smallest steps after the longest pauses (30 s) break the budget
//! several times in a row, or when the brakes have held for [`Settings::patience`] with nothing
//! trimmed, because the store itself is busy then.

mod cost;
mod histogram;
mod latency;
mod quiet;
mod size;
mod veto;

pub use quiet::QuietLevel;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use self::histogram::Histogram;
use self::latency::{Latency, Window, level_of};
use self::quiet::seconds;
use self::size::{Done, Sizes};
use self::veto::Veto;
use crate::counters::Sample;
use crate::probe::Reading;
use crate::range::StepBudget;
use std::collections::VecDeque;
use std::time::Duration;
use units::duration;

/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Interval after which a pause that waits for a change asks again.
const RECHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Minimum number of readings for a quiet level.
const QUIET_READINGS_MIN: u64 = 8;
/// Give up after this many consecutive smallest steps that broke the budget despite the longest
/// pauses.
const FAILED_ATTEMPTS_MAX: u32 = 2;
/// Maximum number of windows kept for late readings.
const WINDOWS_MAX: usize = 256;
/// Without any probe, a step is followed by a pause of at least its own length.
const NO_PROBE_STRETCH: f64 = 1.0;
const AFTERMATH_MIN: Duration = Duration::from_millis(5);
const AFTERMATH_MAX: Duration = Duration::from_secs(2);
/// How long after the last step a brake is attributed to it.
const OWN_EFFECT_MAX: Duration = Duration::from_secs(10);
/// A step discards at most what `--rate` allows in this time.
const RATE_SLICE_S: f64 = 0.25;

/// User-configurable limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// `--max-latency`: mean latency of the drive probe; `None`: twice the quiet level (but see
    /// [`Controller::budgets`]).
    pub max_latency: Option<Duration>,
    /// Longest time for which a step may keep discards in flight, which is how long an allocation
    /// that needs exactly this space would wait.
    pub stall: Duration,
    /// `--rate`, discarded bytes per second.
    pub rate_bytes_per_s: Option<u64>,
    /// Maximum step size.
    pub step_bytes_max: u64,
    /// How long to wait for a busy store before giving up.
    pub patience: Duration,
}

impl Default for Settings {
    /// Twice the quiet level, 50 ms of locked space, no rate limit, steps of at most 1 GiB, ten
    /// minutes of patience.
    fn default() -> Self {
        Self {
            max_latency: None,
            stall: Duration::from_millis(50),
            rate_bytes_per_s: None,
            step_bytes_max: 1 << 30,
            patience: Duration::from_mins(10),
        }
    }
}

/// Result of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepOutcome {
    /// When FITRIM was called.
    pub began: Duration,
    /// When the drives had settled.
    pub settled: Duration,
    /// Time from the call to the last discard: how long space was locked.
    pub locked: Duration,
    /// Bytes discarded on the mounted device; `None` if not measurable.
    pub discarded_bytes: Option<u64>,
    /// Free bytes visited, if known.
    pub free_bytes: Option<u64>,
    /// Free extents visited, if known.
    pub free_extents: Option<u64>,
    /// Whether waiting for the drives timed out.
    pub timed_out: bool,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Make a step.
    Go,
    /// Wait, then ask again.
    Wait {
        /// How long to wait.
        pause: Duration,
        /// Human-readable reason: `reads take 9.1 ms, budget 4.0 ms`.
        reason: String,
    },
    /// The budget cannot be kept even with the smallest steps and longest pauses.
    GiveUp {
        /// What was observed, and which budget it broke.
        reason: String,
    },
}

/// The last step.
#[derive(Debug, Clone, Copy)]
struct Last {
    began: Duration,
    settled: Duration,
    window: Duration,
    /// Whether [`Controller::account`] has evaluated it.
    accounted: bool,
}

/// The pacing controller. Pure: everything it knows is passed in.
#[derive(Debug)]
pub struct Controller {
    settings: Settings,
    probes: Vec<Latency>,
    veto: Veto,
    sizes: Sizes,
    windows: VecDeque<Window>,
    last: Option<Last>,
    /// When the last step was allowed.
    allowed_at: Option<Duration>,
    /// Bytes that `--rate` currently allows; negative if overdrawn.
    tokens_bytes: f64,
    tokens_at: Option<Duration>,
    /// Start of the current period of braking without a step.
    braked_since: Option<Duration>,
    /// Consecutive smallest steps for which the longest pause was too short.
    failed_attempts: u32,
    /// Pause factor without a probe, doubled by vetoes.
    no_probe_factor: f64,
    no_probe_vetoed: bool,
}

impl Controller {
    /// Creates a controller. `probes` are the probes' labels with their quiet levels; the first is
    /// the drive probe. `quiet` are samples from before the pass, for await and pressure.
    pub fn new(settings: Settings, probes: Vec<(String, QuietLevel)>, quiet: &[Sample]) -> Self {
        let probes: Vec<Latency> = probes
            .into_iter()
            .enumerate()
            .map(|(index, (label, level))| {
                let max_latency = settings.max_latency.filter(|_| index == 0);
                Latency::new(label, level, max_latency)
            })
            .collect();
        let veto = Veto::new(quiet, probes.is_empty());
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )] // a size
        let slice_bytes = settings
            .rate_bytes_per_s
            .map_or(u64::MAX, |rate| (rate as f64 * RATE_SLICE_S) as u64);
        let bytes_max = settings.step_bytes_max.min(slice_bytes).max(1);
        Self {
            sizes: Sizes::new(settings.stall, bytes_max),
            settings,
            probes,
            veto,
            windows: VecDeque::new(),
            last: None,
            allowed_at: None,
            tokens_bytes: 0.0,
            tokens_at: None,
            braked_since: None,
            failed_attempts: 0,
            no_probe_factor: 1.0,
            no_probe_vetoed: false,
        }
    }

    /// Computes the quiet level of readings; `None` if too few were answered, or most failed.
    pub fn quiet_level(readings: &[Reading]) -> Option<QuietLevel> {
        let mut histogram = Histogram::new();
        let mut failed = 0u64;
        for reading in readings.iter().filter(|reading| !reading.pending) {
            if reading.failed {
                failed += 1;
            } else {
                histogram.add(reading.latency);
            }
        }
        if histogram.count() < QUIET_READINGS_MIN || failed > histogram.count() {
            return None;
        }
        level_of(&histogram)
    }

    /// Returns the budgets in force, one human-readable sentence each.
    pub fn budgets(&self) -> Vec<String> {
        let mut sentences: Vec<String> = self.probes.iter().map(Latency::sentence).collect();
        sentences.push(format!(
            "space being discarded is locked for at most {} at a time",
            duration(self.settings.stall)
        ));
        if let Some(rate) = self.settings.rate_bytes_per_s {
            sentences.push(format!("at most {}/s are discarded", units::bytes(rate)));
        }
        sentences.extend(self.veto.limits());
        sentences
    }

    /// Returns the budget of a probe's mean latency; zero if there is no such probe.
    pub fn budget(&self, probe: usize) -> Duration {
        self.probes
            .get(probe)
            .map_or(Duration::ZERO, |probe| probe.mean_budget)
    }

    /// Adds readings: everything that a probe returned at once, including pending ones. `probe` is
    /// the index given to [`Controller::new`]; other indices are ignored.
    pub fn read(&mut self, probe: usize, readings: &[Reading]) {
        if let Some(probe) = self.probes.get_mut(probe) {
            probe.read(readings);
        }
    }

    /// Adds a counter sample, whose await and pressure can veto steps.
    pub fn sample(&mut self, sample: &Sample) {
        self.veto.sample(sample);
        // With a probe the counters only veto; without one they are the only source to learn from.
        if self.probes.is_empty() && !self.no_probe_vetoed && self.veto.reason().is_some() {
            self.no_probe_vetoed = true;
            self.no_probe_factor = (self.no_probe_factor * 2.0).min(4096.0);
        }
    }

    /// Adds a finished step. Step sizes grow while latency is fine and shrink when it is not.
    pub fn finished(&mut self, outcome: &StepOutcome) {
        let took = outcome.settled.saturating_sub(outcome.began);
        // Waiting for quiet counters does not count as work.
        let locked = outcome.locked.min(took);
        let aftermath = locked.clamp(AFTERMATH_MIN, AFTERMATH_MAX);
        let window = locked.saturating_add(aftermath);
        let bytes = outcome
            .discarded_bytes
            .or(outcome.free_bytes)
            .unwrap_or_default();
        for probe in &mut self.probes {
            probe.begin_step();
        }
        if self.windows.len() >= WINDOWS_MAX {
            self.windows.pop_front();
        }
        self.windows.push_back(Window {
            from: outcome.began,
            to: outcome.began.saturating_add(window),
            level: self.sizes.level(),
        });
        self.veto.add_own_wait(took);
        self.sizes.finished(&Done {
            extents: outcome.free_extents,
            visited_bytes: outcome.free_bytes,
            bytes,
            locked: outcome.locked,
            window,
            timed_out: outcome.timed_out,
        });
        #[allow(clippy::cast_precision_loss)] // a rate
        let spent_bytes = bytes as f64;
        self.tokens_bytes -= spent_bytes;
        self.last = Some(Last {
            began: outcome.began,
            settled: outcome.settled,
            window,
            accounted: false,
        });
        self.no_probe_vetoed = false;
    }

    /// Returns what to do now.
    pub fn next(&mut self, now: Duration) -> Action {
        self.account(now);
        if let Some(wait) = self.rate(now) {
            return wait;
        }
        let (planned_until, strained) = self.planned();
        if now < planned_until {
            let reason = self.plan_reason();
            return Action::Wait {
                pause: planned_until.saturating_sub(now).min(PAUSE_MAX),
                reason,
            };
        }
        let idle = self
            .last
            .map_or(PAUSE_MAX, |last| now.saturating_sub(last.settled));
        if strained && self.probes.is_empty() {
            self.sizes.smallest();
        }
        let overdrawn = self.probes.iter().find_map(Latency::overdrawn_reason);
        if let Some(reason) = &overdrawn {
            self.sizes.smallest();
            if idle < PAUSE_MAX {
                return Action::Wait {
                    pause: RECHECK_INTERVAL,
                    reason: reason.clone(),
                };
            }
        }
        let distress = self
            .probes
            .iter()
            .find_map(Latency::distress_reason)
            .or_else(|| {
                let late = idle > OWN_EFFECT_MAX;
                late.then(|| self.probes.iter().find_map(Latency::busy_reason))?
            })
            .or_else(|| self.veto.reason().map(str::to_owned));
        if let Some(reason) = distress {
            return self.brake(now, idle, reason);
        }
        // An attempt: the longest pause was not enough for the smallest steps.
        if self.last.is_some() && self.sizes.is_smallest() && (strained || overdrawn.is_some()) {
            self.failed_attempts += 1;
            if self.failed_attempts > FAILED_ATTEMPTS_MAX {
                return Action::GiveUp {
                    reason: format!(
                        "the smallest steps with pauses of {} s do not keep the budget: {}",
                        PAUSE_MAX.as_secs(),
                        overdrawn.unwrap_or_else(|| self.plan_reason())
                    ),
                };
            }
        } else {
            self.failed_attempts = 0;
        }
        self.braked_since = None;
        if !self.no_probe_vetoed {
            self.no_probe_factor = (self.no_probe_factor * 0.9).max(1.0);
        }
        self.allowed_at = Some(now);
        Action::Go
    }

    /// Tells the controller that the pass was idle for other reasons (a closed window): whatever
    /// held it up before is no reason to give up now.
    pub fn rested(&mut self) {
        self.braked_since = None;
        self.failed_attempts = 0;
    }

    /// Returns the budget of the next step.
    pub fn step_budget(&self) -> StepBudget {
        self.sizes.budget()
    }

    /// Predicts how long discarding this much would take, based on this pass's measurements, with a
    /// margin; `None` before anything was measured.
    pub fn predicted_stall(&self, bytes: u64, extents: u64) -> Option<Duration> {
        self.sizes.predicted(bytes, extents)
    }

    /// Returns mean, median and p99 of a probe over the whole pass so far; pending requests count
    /// with the time they have waited. Failed requests have no meaningful latency: they are left
    /// out here, and act as a brake.
    pub fn seen(&self, probe: usize) -> Option<QuietLevel> {
        self.probes.get(probe)?.seen()
    }

    /// Sorts readings, and evaluates the last step on the first call after it.
    fn account(&mut self, now: Duration) {
        for probe in &mut self.probes {
            probe.sort(&self.windows);
        }
        let Some(last) = self.last.as_mut().filter(|last| !last.accounted) else {
            return;
        };
        last.accounted = true;
        let since = self.allowed_at.unwrap_or(last.began).min(last.began);
        self.sizes.add_busy(now.saturating_sub(since));
        let probes = &self.probes;
        let left = self.sizes.choose(
            now,
            |level| stretch(probes, level),
            |level| probes.first().map_or(0.0, |probe| probe.evidence(level)),
        );
        if let Some(left) = left {
            let level = self.sizes.level();
            let scale = if level > left { 0.5 } else { 1.0 };
            for probe in &mut self.probes {
                probe.expect(level, left, scale);
            }
        }
    }

    /// Returns when the last step's pause ends, and whether it should be longer than the maximum.
    fn planned(&self) -> (Duration, bool) {
        let Some(last) = self.last else {
            return (Duration::ZERO, false);
        };
        let stretch = if self.probes.is_empty() {
            NO_PROBE_STRETCH * self.no_probe_factor
        } else {
            stretch(&self.probes, self.sizes.level())
        };
        let period = seconds(last.window.as_secs_f64() * stretch);
        let until = last.began.saturating_add(period);
        let latest = last.settled.saturating_add(PAUSE_MAX);
        (until.min(latest), until > latest)
    }

    fn plan_reason(&self) -> String {
        let level = self.sizes.level();
        self.probes
            .iter()
            .max_by(|a, b| a.stretch(level).total_cmp(&b.stretch(level)))
            .map_or_else(
                || "no probe answers: pauses by rule of thumb".to_owned(),
                |probe| {
                    format!(
                        "pauses keep {} within {}",
                        probe.label,
                        duration(probe.mean_budget)
                    )
                },
            )
    }

    fn rate(&mut self, now: Duration) -> Option<Action> {
        #[allow(clippy::cast_precision_loss)] // a rate
        let rate = self.settings.rate_bytes_per_s?.max(1) as f64;
        let since = self.tokens_at.replace(now).unwrap_or(now);
        let earned = now.saturating_sub(since).as_secs_f64() * rate;
        self.tokens_bytes = (self.tokens_bytes + earned).min(rate * RATE_SLICE_S);
        (self.tokens_bytes < 0.0).then(|| Action::Wait {
            pause: seconds(-self.tokens_bytes / rate).clamp(Duration::from_millis(1), PAUSE_MAX),
            reason: "--rate".to_owned(),
        })
    }

    fn brake(&mut self, now: Duration, idle: Duration, reason: String) -> Action {
        let since = *self.braked_since.get_or_insert(now);
        let long = now.saturating_sub(since);
        let by_itself = idle > OWN_EFFECT_MAX;
        if long >= self.settings.patience && by_itself {
            return Action::GiveUp {
                reason: format!(
                    "busy by itself for {} although nothing was trimmed: {reason}",
                    duration(long)
                ),
            };
        }
        let reason = match self.last {
            None => format!("{reason}; nothing was trimmed yet"),
            Some(_) if by_itself => format!("{reason}; nothing was trimmed for {}", duration(idle)),
            Some(_) => reason,
        };
        Action::Wait {
            pause: RECHECK_INTERVAL,
            reason,
        }
    }
}

/// Returns the largest stretch that any probe requires.
fn stretch(probes: &[Latency], level: usize) -> f64 {
    probes
        .iter()
        .map(|probe| probe.stretch(level))
        .fold(0.0, f64::max)
}
