//! The JSON document, schema `trimtab.ssd/1`. Fields may be added without a new version; what is
//! unknown is null, never 0.

use super::example::{FivePages, Schedules, TenRuns};
use super::{bare_answer, calibrate, replay_answer, scenario_answer, sweep_answer};
use crate::commands::check::generated_at;
use crate::error::CommandError;
use facts::Skipped;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Name and version of the document's schema.
pub const SCHEMA: &str = "trimtab.ssd/1";

/// What `trimtab ssd ... --format json` prints.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "trimtab ssd")]
pub struct Document {
    /// `trimtab.ssd/1`. Fields may be added under the same version.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: &'static str,
    /// Version of trimtab.
    pub tool_version: &'static str,
    /// When the document was made, RFC 3339 in UTC.
    pub generated_at: Timestamp,
    /// Where the numbers came from: `arguments`, `live`, `bundle FILE`, `directory DIR`, `trace
    /// FILE`, `series FILE`, `example`.
    pub source: String,
    /// The answer; `kind` tells which.
    pub result: Answer,
    /// What was not looked at.
    pub skipped: Vec<Skipped>,
    /// What the user should know of this run.
    pub warnings: Vec<String>,
}

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
    Replay(Box<replay_answer::Answer>),
    /// `calibrate`.
    Calibration(Box<calibrate::Answer>),
    /// `example five-pages`.
    FivePages(Box<FivePages>),
    /// `example ten-runs`.
    TenRuns(Box<TenRuns>),
    /// `example schedules`.
    Schedules(Box<Schedules>),
}

impl Document {
    /// A document made now.
    ///
    /// # Errors
    /// When `SOURCE_DATE_EPOCH` is no time.
    pub fn new(source: impl Into<String>, result: Answer) -> Result<Self, CommandError> {
        Ok(Self {
            schema: SCHEMA,
            tool_version: env!("CARGO_PKG_VERSION"),
            generated_at: generated_at()?,
            source: source.into(),
            result,
            skipped: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// Indented, with a line break at its end.
    pub fn json(&self) -> String {
        report::to_json(self)
    }
}
