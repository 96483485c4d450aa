//! One combination of settings of a sweep, and its result.

use super::scenario::{cell_names, cells};
use super::scenario_rows::Summary;
use crate::views::phrases::cell;
use flash::bare::{BareDrive, BareError, BareOutcome};
use flash::scenario::ScenarioError;
use flash::setup::{Setup, Simulated};
use schemars::JsonSchema;
use serde::Serialize;
use units::grouped;

/// One combination of settings.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SweepRow {
    /// Requested spare area.
    pub over_provisioning: f64,
    /// Spare area as built from whole blocks; null if it could not be built.
    pub over_provisioning_built: Option<f64>,
    /// Victim selection policy.
    pub policy: String,
    /// Share of the capacity that holds live data; null for a bare drive.
    pub fill: Option<f64>,
    /// Trim schedule; null for a bare drive.
    pub trim: Option<String>,
    /// Share of requests that trim; null for a drive below a filesystem.
    pub trim_share: Option<f64>,
    /// Pages programmed per page written; null if it could not be simulated.
    pub write_amplification: Option<f64>,
    /// Closed-form prediction; null if there is none.
    pub theory: Option<f64>,
    /// Key figures of a drive below a filesystem; null otherwise.
    pub summary: Option<Summary>,
    /// Why it could not be simulated; null if it was.
    pub error: Option<String>,
    /// Table cells besides the settings.
    #[serde(skip)]
    pub(super) cells: Vec<String>,
}

/// Describes what bare drives of one geometry have in common:
/// `Bare drives of 65,536 logical pages with 32 a block, uniform writes`.
pub fn bare_words(drive: &BareDrive) -> String {
    format!(
        "Bare drives of {} logical pages with {} a block, {} writes",
        grouped(drive.geometry.logical_pages),
        grouped(drive.geometry.pages_per_block.into()),
        drive.pattern
    )
}

/// Column names of a bare drive's cells.
pub(super) const BARE_CELLS: [&str; 3] = ["write ampl.", "theory", "off by"];

impl SweepRow {
    /// Builds the row of a bare drive.
    pub fn bare(drive: &BareDrive, simulated: Result<BareOutcome, BareError>) -> Self {
        let theory = drive.theory().ok().map(|(expected, _)| expected);
        let (found, error) = match simulated {
            Ok(outcome) => (outcome.counters.write_amplification(), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let off = found
            .zip(theory)
            .map(|(found, theory)| 100.0 * (found / theory - 1.0));
        Self {
            over_provisioning: drive.over_provisioning,
            over_provisioning_built: Some(drive.geometry.over_provisioning()),
            policy: drive.collection.to_string(),
            fill: None,
            trim: None,
            trim_share: Some(drive.trim_share),
            write_amplification: found,
            theory,
            summary: None,
            cells: vec![
                cell(found, |found| format!("{found:.3}")),
                cell(theory, |theory| format!("{theory:.3}")),
                cell(off, |off| format!("{off:+.2} %")),
            ],
            error,
        }
    }

    /// Builds the row of a drive below a filesystem.
    pub fn of(setup: &Setup, simulated: &Result<Simulated, ScenarioError>) -> Self {
        let drive = &setup.scenario.drive;
        let reads = setup.scenario.reads > 0.0;
        let ok = simulated.as_ref().ok();
        Self {
            over_provisioning: drive.over_provisioning,
            over_provisioning_built: ok.map(|ok| ok.outcome.over_provisioning),
            policy: drive.collection.to_string(),
            fill: Some(setup.scenario.fill),
            trim: Some(setup.when.to_string()),
            trim_share: None,
            write_amplification: ok.and_then(|ok| ok.outcome.total.write_amplification),
            theory: None,
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

    /// Builds a row of a drive below a filesystem; without a value, one that could not be
    /// simulated.
    pub fn row(op: f64, fill: f64, trim: &str, value: Option<f64>) -> SweepRow {
        SweepRow {
            over_provisioning: op,
            over_provisioning_built: None,
            policy: "greedy".to_owned(),
            fill: Some(fill),
            trim: Some(trim.to_owned()),
            trim_share: None,
            write_amplification: value,
            theory: None,
            summary: None,
            error: value.is_none().then(|| "does not fit".to_owned()),
            cells: vec!["123.4 MiB/s".to_owned(); cell_names(false).len()],
        }
    }
}
