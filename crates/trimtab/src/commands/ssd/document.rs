//! What `trimtab ssd ... --format json` prints, schema `trimtab.ssd/1`.

use super::example::{FivePages, Schedules, TenRuns};
use super::{bare_answer, scenario_answer, sweep_answer};
use schemars::JsonSchema;
use serde::Serialize;

/// An answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    /// `run --logical-pages`.
    Drive(Box<bare_answer::Answer>),
    /// `run` below a filesystem.
    Scenario(Box<scenario_answer::Answer>),
    /// `sweep`.
    Sweep(Box<sweep_answer::Answer>),
    /// `replay`.
    Replay(Box<report::ssd::ReplayAnswer>),
    /// `calibrate`.
    Calibration(Box<report::ssd::CalibrationAnswer>),
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
