//! The experiment of the articles on TRIM: a benchmark that writes and deletes, again and again, with one trim before the
//! first run, and with a trim before each.

mod effect;
mod experiment;
mod workload;

pub use effect::{Effect, effect};
pub use experiment::{
    Arm, ArmRun, Drive, Outcome, Plan, RunError, Runs, Step, Trimmer, Trims, of_model, run,
};
pub use workload::{Iteration, Workload, WorkloadError};
