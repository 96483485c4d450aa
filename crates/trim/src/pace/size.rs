//! Chooses the size of the next step.
//!
//! Two things decide: how long a step may lock its space (`stall`, using the fitted cost), and at
//! which size the pass is fastest within the latency budget. On a drive that serves one request at
//! a time, a step of 40 ms delays every read in it, so that 30 s of pause are due, while a step of
//! 2 ms is not felt at all; on a drive that serves requests in parallel, large steps save overhead.
//! The size is therefore chosen from levels, each half of the one above, by the speed measured
//! there: bytes over the time that a step needs including its pause.

use super::cost::Cost;
use super::quiet::LEVELS;
use crate::range::StepBudget;
use std::time::Duration;

/// Fraction of the stall that a step is planned to take, because times vary.
const PLANNED_SHARE: f64 = 0.6;
/// The initial level: an eighth of the largest.
const FIRST_LEVEL: usize = 3;
/// Predictions are made for steps up to this many times the largest measured one.
const PREDICTABLE_RATIO: f64 = 16.0;
/// With fewer steps, the fit cannot separate commands from bytes yet.
const STEPS_FOR_FIT: u64 = 10;
/// Up to this size an extent is better measured than predicted from a few steps.
const SMALL_BYTES: f64 = 16.0 * 1_048_576.0;
const FIRST_BYTES: f64 = 4.0 * 1_048_576.0;
/// Smaller pieces are not worthwhile, because every discard has a fixed cost.
const BYTES_MIN: f64 = 1_048_576.0;
const EXTENTS_MAX: f64 = 1e6;
/// Readings during steps after which a level can be judged.
const JUDGED_READINGS: f64 = 30.0;
const CONDEMNED_READINGS: f64 = 100.0;
/// How much faster another level must be.
const FASTER: f64 = 1.1;
/// Time after which an abandoned level is tried again; doubled each time.
const RETRY: Duration = Duration::from_mins(1);
/// Forgetting factor of the measured speeds.
const MEMORY: f64 = 0.97;

/// Measurements at one level.
#[derive(Debug, Clone, Copy, Default)]
struct Measured {
    steps: f64,
    bytes: f64,
    window_s: f64,
    busy_s: f64,
    /// When the level was last abandoned, and how often.
    left_at: Option<Duration>,
    left: u32,
}

impl Measured {
    /// Returns bytes per second including the pauses that the harm requires.
    fn speed(&self, stretch: f64) -> Option<f64> {
        let needs_s = self.busy_s.max(self.window_s * stretch);
        (self.steps >= 3.0 && needs_s > 0.0).then(|| self.bytes / needs_s)
    }
}

/// One finished step, as needed for choosing sizes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub(super) extents: Option<u64>,
    /// Bytes visited, if known; compared with the budget.
    pub(super) visited_bytes: Option<u64>,
    /// Bytes discarded, or else visited.
    pub(super) bytes: u64,
    pub(super) locked: Duration,
    pub(super) window: Duration,
    pub(super) timed_out: bool,
}

/// Chooses step sizes.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    stall: Duration,
    bytes_max: f64,
    cost: Cost,
    level: usize,
    levels: [Measured; LEVELS],
    /// Size that steps have grown to.
    grown_extents: f64,
    grown_bytes: f64,
    /// Factor below 1 after steps that took too long.
    caution: f64,
    /// Mean bytes per extent of the last steps.
    extent_bytes: Option<f64>,
    last: StepBudget,
}

#[allow(clippy::cast_precision_loss)] // sizes
fn to_f64(value: u64) -> f64 {
    value as f64
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // clamped
fn to_u64(value: f64) -> u64 {
    if value >= 1.0 {
        value.min(9e18) as u64
    } else {
        1
    }
}

impl Sizes {
    pub(super) fn new(stall: Duration, bytes_max: u64) -> Self {
        let mut sizes = Self {
            stall: stall.clamp(Duration::from_millis(1), Duration::from_hours(1)),
            bytes_max: to_f64(bytes_max).max(1.0),
            cost: Cost::default(),
            level: FIRST_LEVEL,
            levels: [Measured::default(); LEVELS],
            grown_extents: 1.0,
            grown_bytes: FIRST_BYTES,
            caution: 1.0,
            extent_bytes: None,
            last: StepBudget {
                free_bytes: 1,
                free_extents: 1,
            },
        };
        sizes.last = sizes.plan();
        sizes
    }

    pub(super) fn level(&self) -> usize {
        self.level
    }

    /// Returns whether steps cannot get any smaller.
    pub(super) fn is_smallest(&self) -> bool {
        self.level == LEVELS - 1 || (self.last.free_extents == 1 && self.floor_is_reached())
    }

    fn floor_is_reached(&self) -> bool {
        to_f64(self.last.free_bytes) <= BYTES_MIN
    }

    pub(super) fn smallest(&mut self) {
        self.level = LEVELS - 1;
        self.last = self.plan();
    }

    pub(super) fn budget(&self) -> StepBudget {
        self.last
    }

    pub(super) fn predicted(&self, bytes: u64, extents: u64) -> Option<Duration> {
        let fitted = self.cost.fitted()?;
        // A few small extents cannot separate the cost of commands from that of bytes.
        if to_f64(bytes) > PREDICTABLE_RATIO * self.cost.bytes_max() {
            return None;
        }
        // Few steps give an uncertain fit.
        let margin = if self.cost.steps() >= STEPS_FOR_FIT {
            1.3
        } else if to_f64(bytes) <= SMALL_BYTES {
            return None;
        } else {
            2.0
        };
        Some(super::quiet::seconds(
            margin * fitted.seconds(to_f64(extents.max(1)), to_f64(bytes)),
        ))
    }

    fn goal_s(&self, level: usize) -> f64 {
        let halves = i32::try_from(level).unwrap_or(0);
        PLANNED_SHARE * self.stall.as_secs_f64() * 0.5f64.powi(halves)
    }

    fn plan(&self) -> StepBudget {
        let mut extents = self.grown_extents;
        let mut bytes = self.grown_bytes;
        if let Some(fitted) = self.cost.fitted() {
            let goal_s = self.goal_s(self.level) * self.caution;
            let command_s = fitted.extent_s.max(1e-12);
            let each_byte_s = fitted.byte_s().max(self.cost.byte_s_min()).max(1e-21);
            let typical_bytes = self.extent_bytes.unwrap_or(FIRST_BYTES);
            // Split the goal between commands and bytes as in a typical extent, so that a step that
            // reaches either limit, or both, stays below the goal.
            let share = command_s / (command_s + each_byte_s * typical_bytes);
            let share = share.clamp(0.1, 0.9);
            extents = extents.min((share * goal_s / command_s).max(1.0));
            // One command has to be paid for anyway, so make it worthwhile.
            let bytes_s =
                ((1.0 - share) * goal_s).max(0.3 * command_s.min(self.stall.as_secs_f64()));
            bytes = bytes.min(bytes_s / each_byte_s);
        }
        let floor = BYTES_MIN.min(self.bytes_max);
        StepBudget {
            free_bytes: to_u64(bytes.clamp(floor, self.bytes_max)),
            free_extents: to_u64(extents.clamp(1.0, EXTENTS_MAX)),
        }
    }

    /// Adds a finished step.
    pub(super) fn finished(&mut self, done: &Done) {
        let visited_bytes = done.visited_bytes.unwrap_or(done.bytes);
        // What was not discarded cost nothing, so only a fraction of the extents counts.
        let part = if visited_bytes > 0 {
            (to_f64(done.bytes) / to_f64(visited_bytes)).min(1.0)
        } else {
            1.0
        };
        let extents = to_f64(done.extents.unwrap_or(1).max(1)) * part;
        let worked = done.bytes > 0;
        if worked {
            self.cost.add(extents, to_f64(done.bytes), done.locked);
            let extent_bytes = to_f64(done.bytes) / extents.max(1e-9);
            let mean = self.extent_bytes.get_or_insert(extent_bytes);
            *mean += (extent_bytes - *mean) * 0.1;
        }
        // Only a step that stayed within its budget says something about that budget.
        let asked = self.last;
        let obeyed = to_f64(visited_bytes) <= 1.5 * to_f64(asked.free_bytes)
            && done.extents.unwrap_or(1) <= asked.free_extents.saturating_mul(2);
        if obeyed {
            self.adapt(done, asked, visited_bytes, worked);
        }
        let measured = &mut self.levels[self.level];
        measured.steps = measured.steps * MEMORY + 1.0;
        measured.bytes = measured.bytes * MEMORY + to_f64(done.bytes);
        measured.window_s = measured.window_s * MEMORY + done.window.as_secs_f64();
        measured.busy_s *= MEMORY;
        self.last = self.plan();
    }

    fn adapt(&mut self, done: &Done, asked: StepBudget, visited_bytes: u64, worked: bool) {
        let locked_s = done.locked.as_secs_f64();
        let stall_s = self.stall.as_secs_f64();
        // The share of the time spent on bytes, as far as the fit can tell. If a drive takes 50 ms
        // per command, smaller commands do not help.
        let bytes_part = self.cost.fitted().map_or(0.5, |fitted| {
            let least_s = self.cost.byte_s_min() * to_f64(done.bytes);
            let bytes_s = fitted.seconds(0.0, to_f64(done.bytes)).max(least_s);
            let all_s = fitted.seconds(to_f64(done.extents.unwrap_or(1)), to_f64(done.bytes));
            bytes_s / all_s.max(1e-12)
        });
        if locked_s > stall_s || done.timed_out {
            let cut = if done.timed_out {
                0.25
            } else {
                (PLANNED_SHARE * stall_s / locked_s).clamp(0.125, 0.8)
            };
            self.caution = (self.caution * cut).max(0.02);
            if bytes_part < 0.9 {
                let extents = self.grown_extents.min(to_f64(asked.free_extents));
                self.grown_extents = (extents * cut).max(1.0);
            }
            if bytes_part > 0.1 || done.timed_out {
                let bytes = self.grown_bytes.min(to_f64(asked.free_bytes));
                self.grown_bytes = (bytes * cut).max(BYTES_MIN);
            }
        }
        if !worked || done.timed_out {
            return;
        }
        if locked_s <= stall_s {
            self.caution = (self.caution * 1.05).min(1.0);
        }
        // Well below the goal: double the limit that the step used up.
        let well_s = 0.5 * PLANNED_SHARE * stall_s;
        let extents = done.extents.unwrap_or(1);
        if locked_s <= well_s && extents.saturating_mul(2) > asked.free_extents {
            self.grown_extents = (self.grown_extents * 2.0).min(EXTENTS_MAX);
        }
        let alone = extents == 1 && bytes_part < 0.2;
        if (locked_s <= well_s || alone) && visited_bytes.saturating_mul(2) > asked.free_bytes {
            self.grown_bytes = (self.grown_bytes * 2.0).min(self.bytes_max);
        }
    }

    /// Adds the time that the last step needed without its pause: from being allowed to the next
    /// call of [`Controller::next`](super::Controller::next).
    pub(super) fn add_busy(&mut self, busy: Duration) {
        self.levels[self.level].busy_s += busy.as_secs_f64();
    }

    /// Chooses the level of the next step, given `stretch` and `evidence` by level. Returns the
    /// level that was abandoned, if any.
    pub(super) fn choose(
        &mut self,
        now: Duration,
        stretch: impl Fn(usize) -> f64,
        evidence: impl Fn(usize) -> f64,
    ) -> Option<usize> {
        let here = self.level;
        let measured = self.levels[here];
        let asks = stretch(here);
        let readings = evidence(here);
        let alarmed = asks > 5.0 && readings >= 20.0 || asks > 30.0 && readings >= 4.0;
        if readings < JUDGED_READINGS && !alarmed {
            return None;
        }
        // The prior alone must not drive a pass to small steps.
        let condemned = alarmed || readings >= CONDEMNED_READINGS;
        let speed = measured.speed(asks)?;
        let pauses = measured.window_s * asks / measured.busy_s.max(1e-9);
        let worth = |level: usize| {
            let there = self.levels[level];
            let fresh = there.left_at.is_some_and(|at| {
                now.saturating_sub(at) < RETRY.saturating_mul(1 << there.left.min(8))
            });
            match there.speed(stretch(level)).filter(|_| fresh) {
                Some(known) => known > FASTER * speed,
                // Unknown or outdated levels are tried if there is something to gain.
                None if level > here => condemned && pauses > 1.5,
                None => pauses < 1.0,
            }
        };
        let smaller = (here + 1 < LEVELS)
            .then_some(here + 1)
            .filter(|&l| worth(l));
        let larger = here.checked_sub(1).filter(|&l| worth(l));
        let next = smaller.or(larger)?;
        self.levels[here].left_at = Some(now);
        self.levels[here].left += 1;
        let there = &mut self.levels[next];
        *there = Measured {
            left_at: there.left_at,
            left: there.left,
            ..Measured::default()
        };
        self.level = next;
        self.last = self.plan();
        Some(here)
    }
}
