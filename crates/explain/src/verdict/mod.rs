//! Decisions and their presentation.
//!
//! `decision` decides from what was found, `significance` also considers the other series; only then does
//! `sentence` phrase the result, and `analyse` assemble the [`Verdict`].

mod advice;
pub(crate) mod analyse;
pub(crate) mod clocks;
mod common;
mod decision;
mod discards;
mod lasting;
mod like_load;
mod phrases;
mod recurrence;
mod result;
mod sentence;
mod separation;
mod significance;
mod times_of_day;
mod unlike_load;

pub use result::{
    Analysis, Candidate, Change, ChangeKind, ClockChoice, Common, Cycle, Effect, Folded, Interval,
    JobClass, Kind, Level, LocalTime, OtherClock, OtherPattern, Phase, Requests, Role, SampleTaken,
    SeriesVerdict, Shape, Undecided, Verdict,
};
