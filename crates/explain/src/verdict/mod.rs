//! What an analysis answers.
//!
//! `decision` decides by what was found, `significance` by what was found in other series as well; only then
//! `sentence` words it, and `analyse` puts together the [`Verdict`].

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
