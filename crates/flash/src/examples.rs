//! The articles' examples as scenarios.

use crate::filesystem::Reach;
use crate::scenario::{Part, Runs, Scenario, Schedule, Trims};

/// The articles' nightly benchmark hosts, as far as known: logs and indices that fill a drive and
/// are deleted again, trimmed weekly, daily or never.
pub fn schedules() -> [(&'static str, Scenario); 3] {
    let host = |trims| Scenario {
        fill: 0.62,
        parts: Part::ELASTICSEARCH.to_vec(),
        bytes_per_day: 120_000_000_000,
        trims,
        warm_up_days: 28,
        days: 28,
        interval_hours: 6,
        ..Scenario::default()
    };
    let daily = Schedule {
        every_days: 1,
        first_day: 0,
        ..Schedule::WEEKLY
    };
    [
        ("weekly", host(Trims::Periodic(Schedule::WEEKLY))),
        ("daily", host(Trims::Periodic(daily))),
        ("never", host(Trims::Never)),
    ]
}

/// A benchmark run ten times: trimmed before the first run only, before each, and before each with
/// the discards swallowed.
pub fn ten_runs() -> [(&'static str, Runs); 3] {
    let base = Runs::default();
    let before_each = Runs {
        trim_every: Some(1),
        ..base.clone()
    };
    let swallowed = Runs {
        reach: Reach::Swallowed,
        ..before_each.clone()
    };
    [
        ("trimmed before the first only", base),
        ("trimmed before each", before_each),
        ("trimmed before each with discards dropped", swallowed),
    ]
}
