//! Decisions and their presentation.
//!
//! `decision` decides from what was found, `significance` also considers the other series; only then does
//! `sentence` phrase the result, and `analyse` assemble the [`Verdict`].

mod advice;
pub(crate) mod analyse;
mod decision;
mod lasting;
mod phrases;
mod recurrence;
mod result;
mod sentence;
mod separation;
mod significance;

pub use result::{
    Analysis, Candidate, Change, ChangeKind, Cycle, Effect, Folded, Interval, JobClass, Kind,
    OtherPattern, Phase, Role, SeriesVerdict, Shape, Verdict,
};
