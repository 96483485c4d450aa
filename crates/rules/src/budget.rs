//! The time that rules may take: a hostile bundle of 100 KB can describe millions of combinations.

use std::time::Duration;

/// A limit on the time that all rules about one host, or one cluster, may take together.
#[derive(Clone, Copy, Default)]
pub struct Budget<'a> {
    limited: Option<Limited<'a>>,
}

#[derive(Clone, Copy)]
struct Limited<'a> {
    /// Time since some fixed moment.
    clock: &'a dyn Fn() -> Duration,
    limit: Duration,
    /// The clock's time at which the limit is reached.
    ends_at: Duration,
}

impl<'a> Budget<'a> {
    /// Returns a budget without a limit.
    pub fn unlimited() -> Self {
        Self::default()
    }

    /// Returns a budget that begins now. `clock` returns the time since some fixed moment.
    pub fn new(clock: &'a dyn Fn() -> Duration, limit: Duration) -> Self {
        Self {
            limited: Some(Limited {
                clock,
                limit,
                ends_at: clock().saturating_add(limit),
            }),
        }
    }

    /// Returns the same budget, beginning now.
    pub(crate) fn restarted(self) -> Self {
        self.limited
            .map_or(self, |limited| Self::new(limited.clock, limited.limit))
    }

    /// Whether the time is used up. Long loops ask between two steps and end early; which rules
    /// that concerns is reported by [`crate::run_on`].
    pub(crate) fn is_used_up(&self) -> bool {
        self.limited
            .is_some_and(|limited| (limited.clock)() >= limited.ends_at)
    }

    /// Says that the time is used up.
    pub(crate) fn reason(&self) -> String {
        let limit = self.limited.map_or(Duration::MAX, |limited| limited.limit);
        format!(
            "the time for rules, {}, was used up",
            units::seconds(limit.as_secs_f64())
        )
    }
}
