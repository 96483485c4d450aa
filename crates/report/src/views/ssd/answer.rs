//! What `trimtab ssd ... --format json` prints, schema `trimtab.ssd/1`.

use super::{FivePages, ScenarioAnswer, Schedules, SweepAnswer, TenRuns};
use schemars::JsonSchema;
use serde::Serialize;

/// The result of one of its commands.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum SsdAnswer<'a> {
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

impl crate::Answer for SsdAnswer<'_> {
    const SCHEMA: &'static str = "trimtab.ssd/1";
    const TITLE: &'static str = "trimtab ssd";
    const JSON_SCHEMA: &'static str = include_str!("../../../schemas/ssd.json");
}
