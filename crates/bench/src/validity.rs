//! Whether a trial is valid, with reasons and a remedy for each where it is not.
//!
//! A figure is worth nothing if something else ran on the host, if the driver was late, or if the drive was not
//! the drive of the other trial. Each check looks at what was measured beside the trial ([`Observed`]); what was
//! not measured is a check that could not be made ([`Judgement::unchecked`]), never one that passed.

mod check;
mod look;
mod observed;
mod samples;

pub use check::Check;
pub use observed::{
    ClassObserved, CpuObserved, End, FrequencyObserved, JobWithin, Limits, Merges, Observed, Start,
    TrimDebt,
};

pub use samples::samples_needed;

use look::look;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a trial is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// The check that found it.
    pub check: Check,
    /// What was found, as a sentence.
    pub found: String,
    /// What to do before the next trial.
    pub remedy: String,
}

/// What the checks say of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Judgement {
    /// Why it is invalid; empty if it is valid.
    pub reasons: Vec<Reason>,
    /// Checks that could not be made, because what they need was not measured.
    pub unchecked: Vec<Check>,
}

impl Judgement {
    /// Whether nothing speaks against the trial.
    pub fn is_valid(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// Judges a trial.
pub fn judge(observed: &Observed, limits: &Limits) -> Judgement {
    let mut judgement = Judgement::default();
    let mut add = |check: Check, result: Option<Vec<(String, String)>>| match result {
        None => judgement.unchecked.push(check),
        Some(found) => judgement
            .reasons
            .extend(found.into_iter().map(|(found, remedy)| Reason {
                check,
                found,
                remedy,
            })),
    };
    for check in Check::ALL {
        add(check, look(check, observed, limits));
    }
    judgement
}

#[cfg(test)]
#[path = "validity_tests.rs"]
mod tests;
