//! The clock of a trial.

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};

/// Tells the time. A test may put another clock in the place of [`SystemClock`], for example one that makes
/// the driver late.
pub trait Clock: Send + Sync {
    /// Nanoseconds since any fixed moment; never goes back.
    fn monotonic_ns(&self) -> u64;

    /// The time of day, which is written to the trial beside the first monotonic time.
    fn wall(&self) -> Timestamp;
}

/// The kernel's clocks: `CLOCK_MONOTONIC` and the time of day.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn monotonic_ns(&self) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        // Both are never negative.
        u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000
            + u64::try_from(now.tv_nsec).unwrap_or(0)
    }

    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }
}
