//! What `trimtab ssd ... --format json` prints, schema `trimtab.ssd/1`.

use report::ssd::{DriveAnswer, FivePages, ScenarioAnswer, Schedules, SweepAnswer, TenRuns};
use schemars::JsonSchema;
use serde::Serialize;

/// An answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    /// `run --logical-pages`.
    Drive(Box<DriveAnswer>),
    /// `run` below a filesystem.
    Scenario(Box<ScenarioAnswer>),
    /// `sweep`.
    Sweep(Box<SweepAnswer>),
    /// `example five-pages`.
    FivePages(Box<FivePages>),
    /// `example ten-runs`.
    TenRuns(Box<TenRuns>),
    /// `example schedules`.
    Schedules(Box<Schedules>),
}

impl report::Answer for Answer {
    const SCHEMA: &'static str = "trimtab.ssd/1";
    const TITLE: &'static str = "trimtab ssd";
}
