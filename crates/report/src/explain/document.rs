//! JSON document of `trimtab explain --format json`, schema `trimtab.explain/1`.

use super::ExplainReport;
use crate::envelope::{Answer, Envelope};
use explain::JobRuns;
use explain::disk_log::DiskLog;
use explain::verdict::Analysis;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Result of an analysis.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ExplainResult<'a> {
    /// The series with their verdicts.
    #[serde(flatten)]
    pub analysis: &'a Analysis,
    /// Jumps in disk writes found in short disk logs.
    pub disk_logs: &'a [DiskLog],
    /// Where the time zone was taken from.
    pub zone_from: &'a str,
    /// Where the jobs were read; null if no host's were.
    pub jobs_from: Option<&'a str>,
    /// The jobs that were considered, and events given by hand.
    pub jobs: Vec<JobRow<'a>>,
}

/// A job that was considered.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct JobRow<'a> {
    /// Its name.
    pub name: &'a str,
    /// Number of its runs during the series.
    pub runs: usize,
    /// Earliest start of the first run; null without runs.
    pub first_run: Option<Timestamp>,
    /// Latest start of the last run; null without runs.
    pub last_run: Option<Timestamp>,
    /// What is unknown about its runs.
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

impl Answer for ExplainResult<'_> {
    const SCHEMA: &'static str = "trimtab.explain/1";
    const TITLE: &'static str = "trimtab explain";
    const JSON_SCHEMA: &'static str = include_str!("../../schemas/explain.json");
}

impl<'a> ExplainResult<'a> {
    /// Builds the document of a report.
    pub fn envelope(report: &'a ExplainReport<'a>) -> Envelope<Self> {
        let result = Self {
            analysis: report.analysis,
            disk_logs: report.disk_logs,
            zone_from: &report.zone_from,
            jobs_from: report.jobs_from.as_deref(),
            jobs: report.jobs.iter().map(JobRow::of).collect(),
        };
        Envelope {
            skipped: report.skipped.to_vec(),
            warnings: report.warnings.to_vec(),
            ..Envelope::new(
                report.tool_version.clone(),
                report.generated_at,
                report.source.clone(),
                result,
            )
        }
    }
}

/// Renders a report as an indented JSON document with a trailing newline.
pub fn json(report: &ExplainReport<'_>) -> String {
    ExplainResult::envelope(report).json()
}
