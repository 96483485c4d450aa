//! Clock abstraction, so that tests can run hours-long passes in milliseconds.

use jiff::Timestamp;
use std::time::{Duration, Instant};

/// A clock that can sleep.
pub trait Clock {
    /// Monotonic time since a fixed moment. The only clock used for pacing, rates and deadlines.
    fn elapsed(&self) -> Duration;
    /// Wall-clock time, for windows and for display. It may jump.
    fn wall(&self) -> Timestamp;
    /// Sleeps; may return early when a stop is requested.
    fn sleep(&self, duration: Duration);
}

/// The system clock.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Creates a clock whose elapsed time starts at zero.
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
