//! The JSON document, schema `trimtab.explain/1`. Fields may be added without a new version; what is
//! unknown is null, never 0.

use super::ExplainReport;
use crate::document::to_json;
use explain::JobRuns;
use explain::disk_log::DiskLog;
use explain::verdict::Analysis;
use facts::Skipped;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Name and version of the document's schema.
pub const EXPLAIN_SCHEMA: &str = "trimtab.explain/1";

/// What `trimtab explain --format json` prints.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "trimtab explain")]
pub struct ExplainDocument<'a> {
    /// `trimtab.explain/1`. Fields may be added under the same version.
    #[schemars(extend("const" = EXPLAIN_SCHEMA))]
    pub schema: &'static str,
    /// Version of trimtab.
    pub tool_version: &'a str,
    /// When the document was made, RFC 3339 in UTC.
    pub generated_at: Timestamp,
    /// What was read: a file, a URL without credentials, `3 sources`.
    pub source: &'a str,
    /// The answer.
    pub result: ExplainResult<'a>,
    /// What was not looked at.
    pub skipped: &'a [Skipped],
    /// What the user should know of this run.
    pub warnings: &'a [String],
}

/// The answer of an analysis.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExplainResult<'a> {
    /// The series with their verdicts.
    #[serde(flatten)]
    pub analysis: &'a Analysis,
    /// What short logs of disks show by themselves, where what is written to the drives jumps.
    pub disk_logs: &'a [DiskLog],
    /// Where the time zone was taken from.
    pub zone_from: &'a str,
    /// Where the jobs were read; null where no host's were.
    pub jobs_from: Option<&'a str>,
    /// The jobs that were weighed, and events given by hand.
    pub jobs: Vec<JobRow<'a>>,
}

/// A job that was weighed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct JobRow<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of its runs in the time of the series.
    pub runs: usize,
    /// Earliest start of the first of them; null without runs.
    pub first_run: Option<Timestamp>,
    /// Latest start of the last of them.
    pub last_run: Option<Timestamp>,
    /// What is not known of its runs.
    pub unknown: &'a [String],
}

impl<'a> JobRow<'a> {
    fn of(job: &'a JobRuns) -> Self {
        Self {
            name: &job.name,
            runs: job.runs.len(),
            first_run: job.runs.iter().map(|run| run.earliest).min(),
            last_run: job.runs.iter().map(|run| run.latest).max(),
            unknown: &job.unknown,
        }
    }
}

impl<'a> ExplainDocument<'a> {
    /// Arranges a report as a document.
    pub fn of(report: &'a ExplainReport<'a>) -> Self {
        Self {
            schema: EXPLAIN_SCHEMA,
            tool_version: &report.tool_version,
            generated_at: report.generated_at,
            source: &report.source,
            result: ExplainResult {
                analysis: report.analysis,
                disk_logs: report.disk_logs,
                zone_from: &report.zone_from,
                jobs_from: report.jobs_from.as_deref(),
                jobs: report.jobs.iter().map(JobRow::of).collect(),
            },
            skipped: report.skipped,
            warnings: report.warnings,
        }
    }
}

/// Renders a report as an indented JSON document with a line break at its end.
pub fn json(report: &ExplainReport<'_>) -> String {
    to_json(&ExplainDocument::of(report))
}
