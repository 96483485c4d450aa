//! What `trimtab ssd ... --format json` prints, schema `trimtab.ssd/1`.

use report::ssd::{FivePages, ScenarioAnswer, Schedules, SweepAnswer, TenRuns};
use schemars::JsonSchema;
use serde::Serialize;

/// An answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer<'a> {
    /// `run`.
    Scenario(&'a ScenarioAnswer),
    /// `sweep`.
    Sweep(&'a SweepAnswer),
    /// `example five-pages`.
    FivePages(&'a FivePages),
    /// `example ten-runs`.
    TenRuns(&'a TenRuns),
    /// `example schedules`.
    Schedules(&'a Schedules),
}

impl report::Answer for Answer<'_> {
    const SCHEMA: &'static str = "trimtab.ssd/1";
    const TITLE: &'static str = "trimtab ssd";
}
