//! The article's experiment: the same documents and the same query on XFS, Btrfs and its compressions.

mod candidates;
mod experiment;
mod plan;
mod result;
mod run;
mod runs;
mod settle;
mod stage;
mod track;

pub use candidates::{Candidate, CandidatesOutcome, candidates};
pub use experiment::run;
pub use plan::{Plan, QUERIES, WARM_UP_QUERIES};
pub use result::{Course, Figure, Outcome, Scatter, VariantMeans, outcome};
pub use run::{Queried, RunTrial, VariantRun};
pub use runs::{RunError, Runs, Step};
pub use settle::SettleError;
