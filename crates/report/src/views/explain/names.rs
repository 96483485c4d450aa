//! Display names for the enums of an analysis.

use explain::verdict::{ChangeKind, Cycle, Kind, Role, SampleTaken, Shape};
use facts::series::SampleOf;
use page::{Level, Tone};

/// Name of a verdict, for a table.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Periodic => "recurring, job found",
        Kind::Unattributed => "recurring, cause not proven",
        Kind::Change => "lasting change",
        Kind::None => "no pattern",
        Kind::Undecided => "not enough data",
    }
}

/// Phrase for a verdict that follows a number of series.
pub(super) fn kind_of_some(kind: Kind) -> &'static str {
    match kind {
        Kind::Periodic => "recurring with a known job",
        Kind::Unattributed => "recurring without a proven cause",
        Kind::Change => "with a lasting change",
        Kind::None => "without a pattern",
        Kind::Undecided => "without enough data",
    }
}

/// Tone in which a verdict is shown.
pub(super) fn tone(kind: Kind) -> Tone {
    match kind {
        Kind::Periodic | Kind::Unattributed | Kind::Change => Tone::Level(Level::Warning),
        Kind::None => Tone::Strong,
        Kind::Undecided => Tone::Level(Level::Note),
    }
}

/// Name of a pattern's shape.
pub(super) fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Sawtooth => "sawtooth",
        Shape::Spike => "spikes",
        Shape::Dip => "dips",
        Shape::Step => "two alternating levels",
        Shape::Wave => "wave",
    }
}

/// Name of a pattern's events, for the marks of a chart.
pub(super) fn events(shape: Option<Shape>) -> &'static str {
    match shape {
        Some(Shape::Sawtooth) => "resets",
        Some(Shape::Spike) => "spikes",
        Some(Shape::Dip) => "dips",
        Some(Shape::Step) => "steps",
        Some(Shape::Wave) | None => "events",
    }
}

/// Name of a job's effect.
pub(super) fn role(role: Role) -> &'static str {
    match role {
        Role::Heals => "improves",
        Role::Hurts => "degrades",
        Role::Unknown => "unknown",
    }
}

/// Name of a changed quantity.
pub(super) fn change(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Level => "level",
        ChangeKind::Slope => "slope",
        ChangeKind::PatternBegins => "the pattern begins",
        ChangeKind::PatternEnds => "the pattern ends",
    }
}

/// Phrase for the calendar cycle that a period follows.
pub(super) fn cycle(cycle: Cycle) -> &'static str {
    match cycle {
        Cycle::Hour => "on the hourly clock",
        Cycle::Day => "on the daily clock",
        Cycle::Week => "on the weekly calendar",
        Cycle::Runs => "at the runs of a job",
        Cycle::Fixed => "on no calendar",
    }
}

/// Says what a sample was taken for, and who says so.
pub(super) fn sample(taken: SampleTaken) -> String {
    let what = match taken.sample_of {
        SampleOf::Interval => "each is the mean since the one before",
        SampleOf::Moment => "each is the value at its moment",
    };
    let who = if taken.by_source {
        "as the source says"
    } else {
        "which fits them better"
    };
    format!("{what}, {who}")
}
