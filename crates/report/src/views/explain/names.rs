//! Plain names of what an analysis tells apart.

use explain::verdict::{ChangeKind, Cycle, Kind, Role, Shape};
use page::{Level, Tone};

/// A verdict, for a table.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Periodic => "recurring, job found",
        Kind::Unattributed => "recurring, cause unknown",
        Kind::Change => "lasting change",
        Kind::None => "no pattern",
        Kind::Undecided => "not enough data",
    }
}

/// A verdict behind a number of series.
pub(super) fn kind_of_some(kind: Kind) -> &'static str {
    match kind {
        Kind::Periodic => "recurring with a known job",
        Kind::Unattributed => "recurring with an unknown cause",
        Kind::Change => "with a lasting change",
        Kind::None => "without a pattern",
        Kind::Undecided => "with not enough data",
    }
}

/// How a verdict looks.
pub(super) fn tone(kind: Kind) -> Tone {
    match kind {
        Kind::Periodic | Kind::Unattributed | Kind::Change => Tone::Level(Level::Warning),
        Kind::None => Tone::Strong,
        Kind::Undecided => Tone::Level(Level::Note),
    }
}

/// What a pattern looks like.
pub(super) fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Sawtooth => "sawtooth",
        Shape::Spike => "spikes",
        Shape::Dip => "dips",
        Shape::Step => "two alternating levels",
        Shape::Wave => "wave",
    }
}

/// What its events are, for the marks of a chart.
pub(super) fn events(shape: Option<Shape>) -> &'static str {
    match shape {
        Some(Shape::Sawtooth) => "resets",
        Some(Shape::Spike) => "spikes",
        Some(Shape::Dip) => "dips",
        Some(Shape::Step) => "steps",
        Some(Shape::Wave) | None => "events",
    }
}

/// What a job does.
pub(super) fn role(role: Role) -> &'static str {
    match role {
        Role::Heals => "improves",
        Role::Hurts => "degrades",
        Role::Unknown => "unknown",
    }
}

/// What changed.
pub(super) fn change(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Level => "level",
        ChangeKind::Slope => "slope",
        ChangeKind::PatternBegins => "the pattern begins",
        ChangeKind::PatternEnds => "the pattern ends",
    }
}

/// What a period follows.
pub(super) fn cycle(cycle: Cycle) -> &'static str {
    match cycle {
        Cycle::Hour => "on the hourly clock",
        Cycle::Day => "on the daily clock",
        Cycle::Week => "on the weekly calendar",
        Cycle::Runs => "at the runs of a job",
        Cycle::Fixed => "on no calendar",
    }
}
