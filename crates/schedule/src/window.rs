//! Time windows in which runs start, and the sources that produce them.

use crate::run::Delays;
use std::sync::Arc;

/// Microseconds per second.
pub(crate) const SECOND_US: i64 = 1_000_000;

/// Upper bound of the time from kernel start until cron, anacron and systemd timers run, in
/// microseconds: ten minutes, which a large server can take.
pub(crate) const STARTUP_US: i64 = 600 * SECOND_US;

/// Bounds on the start of a run, in microseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Window {
    pub earliest_us: i64,
    pub latest_us: i64,
}

impl Window {
    /// The window of a start that is known exactly.
    pub fn exact(at_us: i64) -> Self {
        Self::late(at_us, 0)
    }

    /// The window of a start that may be late.
    pub fn late(at_us: i64, late_us: i64) -> Self {
        Self {
            earliest_us: at_us,
            latest_us: at_us.saturating_add(late_us),
        }
    }
}

/// Windows, sorted by earliest start.
pub(crate) type Windows = Box<dyn Iterator<Item = Window>>;

/// A source of runs.
pub(crate) struct Source {
    pub windows: Windows,
    pub evidence: Arc<str>,
    /// For timers, how late systemd may run after the time it announced.
    pub accuracy_us: Option<i64>,
    /// For anacron, the last run according to its time stamp file.
    pub stamp_us: Option<i64>,
    /// Where in their windows runs lie.
    pub delays: Delays,
}

impl Source {
    /// Creates a source without a timer's accuracy and without a time stamp.
    pub fn new(
        windows: impl Iterator<Item = Window> + 'static,
        evidence: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            windows: Box::new(windows),
            evidence: evidence.into(),
            accuracy_us: None,
            stamp_us: None,
            delays: Delays::Either,
        }
    }
}
