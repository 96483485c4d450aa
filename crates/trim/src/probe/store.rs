//! Latency probe of the store itself, queried at a low rate alongside the pass.
//!
//! Like the drive probe it is an open loop: requests are due at their own times, regardless of
//! earlier ones, so that a stall of the store is seen as often as its users would see it.

pub mod command;

use super::{Probe, Reading, Readings};
use crate::clock::Clock;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Minimum time between two warnings about a failing store.
const WARN_EVERY: Duration = Duration::from_mins(1);

/// A request that can be repeated; shared by the threads of a probe.
pub trait Ask: Send + Sync {
    /// Sends the request and waits for the answer.
    ///
    /// # Errors
    /// A one-line description of what was wrong with it.
    fn ask(&self) -> Result<(), String>;
    /// Makes every call of [`Self::ask`] return soon, now and later.
    fn abort(&self);
}

/// Callback that receives a one-line warning about a failing store.
pub type Warn = Box<dyn Fn(&str) + Send + Sync>;

/// What to query, and how often.
pub struct Question {
    /// Display name: a URL, or the name of a program.
    pub label: String,
    /// Sends one request.
    pub ask: Box<dyn Ask>,
    /// Maximum number of pending requests.
    pub waiting_max: usize,
    /// Requests per second.
    pub requests_per_s: f64,
    /// Receives warnings about failures.
    pub warn: Warn,
}

/// A latency probe of a store, with its own threads.
pub struct StoreProbe {
    shared: Arc<Shared>,
    elapsed: Box<dyn Fn() -> Duration + Send>,
}

struct Shared {
    label: String,
    ask: Box<dyn Ask>,
    warn: Warn,
    interval: Duration,
    state: Mutex<State>,
    /// Notified when the probe is dropped.
    stopped: Condvar,
}

#[derive(Default)]
struct State {
    stop: bool,
    /// One slot per thread.
    readings: Readings,
    due: Duration,
    /// Requests so far.
    count: u32,
    /// When the last warning about a failure was issued.
    last_warning: Option<Duration>,
}

impl Shared {
    /// A panicking thread leaves no broken invariant behind.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreProbe {
    /// Starts querying at the configured rate in background threads.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn start<C: Clock + Clone + Send + 'static>(
        question: Question,
        clock: C,
    ) -> io::Result<Self> {
        let per_s = question.requests_per_s;
        let per_s = if per_s.is_finite() {
            per_s.clamp(0.01, 100.0)
        } else {
            2.0
        };
        let shared = Arc::new(Shared {
            label: question.label,
            ask: question.ask,
            warn: question.warn,
            interval: Duration::from_secs_f64(1.0 / per_s),
            state: Mutex::new(State {
                due: clock.elapsed(),
                ..State::default()
            }),
            stopped: Condvar::new(),
        });
        let clocks = vec![clock.clone(); question.waiting_max];
        // Created first, so that if a thread cannot be started, dropping it ends the others.
        let probe = Self {
            shared: Arc::clone(&shared),
            elapsed: Box::new(move || clock.elapsed()),
        };
        for clock in clocks {
            let slot = shared.lock().readings.add_slot();
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name(format!("store-probe-{slot}"))
                .spawn(move || work(&shared, slot, &clock))?;
        }
        Ok(probe)
    }
}

impl Probe for StoreProbe {
    fn label(&self) -> String {
        self.shared.label.clone()
    }

    fn drain(&mut self) -> Vec<Reading> {
        let mut state = self.shared.lock();
        state.readings.drain((self.elapsed)())
    }
}

impl Drop for StoreProbe {
    /// Ends the threads and aborts their requests, without waiting for them.
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.stopped.notify_all();
        self.shared.ask.abort();
    }
}

fn work(shared: &Shared, slot: usize, clock: &impl Clock) {
    while let Some(at) = next_request(shared, slot, clock) {
        let answer = shared.ask.ask();
        let latency = clock.elapsed().saturating_sub(at);
        let mut state = shared.lock();
        state.readings.answered(slot, latency, answer.is_err());
        let Err(reason) = answer else { continue };
        // A request that was aborted because the probe ended has not failed.
        let is_due = state
            .last_warning
            .is_none_or(|warned_at| clock.elapsed().saturating_sub(warned_at) >= WARN_EVERY);
        if is_due && !state.stop {
            (shared.warn)(&reason);
            state.last_warning = Some(clock.elapsed());
        }
    }
}

/// Waits until a request is due and takes it; `None` if the probe was dropped.
fn next_request(shared: &Shared, slot: usize, clock: &impl Clock) -> Option<Duration> {
    /// The fractional parts of its multiples fill an interval evenly and never repeat (Weyl, 1916).
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let mut state = shared.lock();
    loop {
        if state.stop {
            return None;
        }
        let now = clock.elapsed();
        if state.due <= now {
            state.count = state.count.wrapping_add(1);
            // Uneven intervals cannot lock into step with the pass.
            let jitter = 0.5 + (f64::from(state.count) * GOLDEN).fract();
            let interval = shared.interval.mul_f64(jitter);
            // Requests missed while all threads were waiting are not made up for in a burst.
            let late = now.saturating_sub(state.due);
            state.due = if late > interval { now } else { state.due } + interval;
            // Start counting now: being woken late is not the store's fault.
            state.readings.asked(slot, now);
            return Some(now);
        }
        let left = state.due.saturating_sub(now);
        state = shared
            .stopped
            .wait_timeout(state, left)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
}
