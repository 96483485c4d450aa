//! One combination of settings of a sweep, and its result.

use super::scenario::{cell_names, cells};
use super::scenario_rows::Summary;
use flash::scenario::ScenarioError;
use flash::setup::{Setup, Simulated};
use schemars::JsonSchema;
use serde::Serialize;

/// One combination of settings.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SweepRow {
    /// Requested spare area.
    pub over_provisioning: f64,
    /// Spare area as built from whole blocks; null if it could not be built.
    pub over_provisioning_built: Option<f64>,
    /// Victim selection policy.
    pub policy: String,
    /// Share of the capacity that holds live data.
    pub fill: f64,
    /// Trim schedule.
    pub trim: String,
    /// Pages programmed per page written; null if it could not be simulated.
    pub write_amplification: Option<f64>,
    /// Key figures; null if it could not be simulated.
    pub summary: Option<Summary>,
    /// Why it could not be simulated; null if it was.
    pub error: Option<String>,
    /// Table cells besides the settings.
    #[serde(skip)]
    pub(super) cells: Vec<String>,
}

impl SweepRow {
    /// Builds the row of a simulation.
    pub fn of(setup: &Setup, simulated: &Result<Simulated, ScenarioError>) -> Self {
        let drive = &setup.scenario.drive;
        let reads = setup.scenario.reads > 0.0;
        let ok = simulated.as_ref().ok();
        Self {
            over_provisioning: drive.over_provisioning,
            over_provisioning_built: ok.map(|ok| ok.outcome.over_provisioning),
            policy: drive.collection.to_string(),
            fill: setup.scenario.fill,
            trim: setup.when.to_string(),
            write_amplification: ok.and_then(|ok| ok.outcome.total.write_amplification),
            summary: ok.map(Summary::of),
            error: simulated.as_ref().err().map(ToString::to_string),
            cells: ok.map_or_else(
                || vec!["-".to_owned(); cell_names(reads).len()],
                |ok| cells(ok, reads),
            ),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Builds a row; without a value, one that could not be simulated.
    pub fn row(op: f64, fill: f64, trim: &str, value: Option<f64>) -> SweepRow {
        SweepRow {
            over_provisioning: op,
            over_provisioning_built: None,
            policy: "greedy".to_owned(),
            fill,
            trim: trim.to_owned(),
            write_amplification: value,
            summary: None,
            error: value.is_none().then(|| "does not fit".to_owned()),
            cells: vec!["123.4 MiB/s".to_owned(); cell_names(false).len()],
        }
    }
}
