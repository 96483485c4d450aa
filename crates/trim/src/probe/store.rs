//! What the store itself feels: it is asked at a low rate beside the pass.
//!
//! Like the probe of the drives it is an open loop: requests are due at moments of their own, whatever
//! became of the earlier ones, so that a stop of the store is seen as often as its users would see it.

pub mod command;

use super::{Probe, Reading, Readings};
use crate::clock::Clock;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A store that fails again and again is told of once in this time.
const WARN_EVERY: Duration = Duration::from_mins(1);

/// Asks one thing once; shared by the threads that ask.
pub trait Ask: Send + Sync {
    /// Waits for the answer.
    ///
    /// # Errors
    /// One line that says what was wrong with it.
    fn ask(&self) -> Result<(), String>;
    /// Makes every call of [`Self::ask`] return soon, now and later.
    fn abort(&self);
}

/// Hears in one line of a store that fails.
pub type Warn = Box<dyn Fn(&str) + Send + Sync>;

/// What is asked, and how often.
pub struct Question {
    /// What it is called: a URL, the name of a program.
    pub label: String,
    /// Asks once.
    pub ask: Box<dyn Ask>,
    /// Requests that may wait at the same time.
    pub waiting_max: usize,
    /// Requests a second.
    pub requests_per_s: f64,
    /// Hears of failures.
    pub warn: Warn,
}

/// Readings of a store, made in threads of their own.
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
    /// The probe was dropped.
    stopped: Condvar,
}

#[derive(Default)]
struct State {
    stop: bool,
    /// A slot for each thread.
    readings: Readings,
    due: Duration,
    /// Requests so far.
    count: u32,
    /// When somebody was last told of a failure, and its words.
    told: Option<(Duration, String)>,
}

impl Shared {
    /// A thread that panicked took no invariant with it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreProbe {
    /// Asks at the rate of the question, beside the caller.
    ///
    /// # Errors
    /// Where no thread can be started.
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
        // Made now: should a thread be refused, dropping it ends the others.
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

    /// Tells of its threads, also once it was dropped.
    pub fn threads(&self) -> Threads {
        Threads(Arc::downgrade(&self.shared))
    }

    /// The failure that was told last.
    pub fn last_failure(&self) -> Option<String> {
        let state = self.shared.lock();
        state.told.as_ref().map(|(_, reason)| reason.clone())
    }
}

/// The threads of a probe.
pub struct Threads(Weak<Shared>);

impl Threads {
    /// Whether all of them have ended, and let go of what they shared.
    pub fn have_ended(&self) -> bool {
        self.0.strong_count() == 0
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
    /// Ends the threads, with what they wait for; nobody waits for them.
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
        // What was ended together with the probe has not failed.
        let news = match &state.told {
            Some((told, _)) => clock.elapsed().saturating_sub(*told) >= WARN_EVERY,
            None => true,
        };
        if news && !state.stop {
            (shared.warn)(&reason);
            state.told = Some((clock.elapsed(), reason));
        }
    }
}

/// Waits until a request is due and takes it; `None` where the probe was dropped.
fn next_request(shared: &Shared, slot: usize, clock: &impl Clock) -> Option<Duration> {
    /// Fractions of its multiples fill an interval evenly and never repeat (Weyl, 1916).
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let mut state = shared.lock();
    loop {
        if state.stop {
            return None;
        }
        let now = clock.elapsed();
        if state.due <= now {
            state.count = state.count.wrapping_add(1);
            // Uneven intervals, so that they cannot keep step with the pass.
            let jitter = 0.5 + (f64::from(state.count) * GOLDEN).fract();
            let interval = shared.interval.mul_f64(jitter);
            // What nobody could send, as all threads waited, is not sent later in a burst.
            let late = now.saturating_sub(state.due);
            state.due = if late > interval { now } else { state.due } + interval;
            // Sent now: how late this thread was woken is no fault of the store.
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
