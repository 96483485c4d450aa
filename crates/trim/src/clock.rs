//! Time, handed in: tests run passes of hours in milliseconds.

use jiff::Timestamp;
use std::time::{Duration, Instant};

/// A clock that can be waited on.
pub trait Clock {
    /// Monotonic time since some fixed moment. Pacing, rates and deadlines use this one only.
    fn elapsed(&self) -> Duration;
    /// Wall-clock time: for windows and for what people read. It may jump.
    fn wall(&self) -> Timestamp;
    /// Waits; may return early when a stop is asked for.
    fn sleep(&self, duration: Duration);
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Starts at zero.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Clock for SystemClock {
    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}
