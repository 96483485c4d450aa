//! What `trimtab explain` answers: [text](text::text) with charts, a [JSON document](document::json),
//! and a [page](html::html) that loads nothing.
//!
//! Each draws from an [`Analysis`], the series that it is about, and the runs of jobs. Names of series,
//! jobs and files are hostile: all of them are escaped.

mod chart;
mod columns;
mod document;
mod fold;
mod html;
mod rows;
mod svg;
mod text;
mod words;

pub use document::{EXPLAIN_SCHEMA, ExplainDocument, ExplainResult, JobRow, json};
pub use html::{HtmlOptions, html};
pub use text::{ExplainTextOptions, text};

use explain::JobRuns;
use explain::verdict::{Analysis, JobClass, Kind, SeriesVerdict};
use facts::Skipped;
use facts::series::Series;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::{HashMap, VecDeque};

/// An analysis with what it was made of.
#[derive(Debug, Clone)]
pub struct ExplainReport<'a> {
    /// The answers.
    pub analysis: &'a Analysis,
    /// The series that were analysed, in any order.
    pub series: &'a [Series],
    /// The jobs that were weighed, and events given by hand.
    pub jobs: &'a [JobRuns],
    /// Where the jobs were read: `live`, `bundle host.tar.zst`, `crontab /etc/crontab`; `None`
    /// where no host's jobs were asked for.
    pub jobs_from: Option<String>,
    /// The zone that times are told in.
    pub zone: &'a TimeZone,
    /// Where the zone was taken from: `--tz`, `the host's`, `nobody named one`.
    pub zone_from: String,
    /// What was read: `races.csv`, `3 sources`.
    pub source: String,
    /// Version of trimtab.
    pub tool_version: String,
    /// When the report was made.
    pub generated_at: Timestamp,
    /// What was not looked at.
    pub skipped: &'a [Skipped],
    /// What the user should know of this run.
    pub warnings: &'a [String],
}

/// A verdict beside its series.
#[derive(Debug, Clone, Copy)]
struct Told<'a> {
    verdict: &'a SeriesVerdict,
    /// `None` where the series was not handed in.
    series: Option<&'a Series>,
}

impl<'a> ExplainReport<'a> {
    /// Whether something was found: a series recurs or changed.
    pub fn is_trouble(&self) -> bool {
        self.analysis.series.iter().any(|series| {
            matches!(
                series.verdict.kind,
                Kind::Periodic | Kind::Unattributed | Kind::Change
            )
        })
    }

    /// Verdicts with their series: by source and name, in turn where several have both in common.
    fn told(&self) -> Vec<Told<'a>> {
        let mut known: HashMap<(&str, &str), VecDeque<&Series>> = HashMap::new();
        for series in self.series {
            known
                .entry((&series.source, &series.name))
                .or_default()
                .push_back(series);
        }
        self.analysis
            .series
            .iter()
            .map(|verdict| Told {
                verdict,
                series: known
                    .get_mut(&(verdict.source.as_str(), verdict.name.as_str()))
                    .and_then(VecDeque::pop_front),
            })
            .collect()
    }

    /// The zone and where it comes from, for people.
    fn zone_words(&self) -> String {
        format!("times in {} ({})", self.analysis.zone, self.zone_from)
    }

    /// What jobs were weighed, for people.
    fn jobs_words(&self) -> String {
        let number = crate::units::count(self.jobs.len(), "job");
        match &self.jobs_from {
            Some(from) => format!("{number} of {from}"),
            None if self.jobs.is_empty() => "no jobs were looked at".to_owned(),
            None => format!("{number} given by hand"),
        }
    }

    /// How many series have which verdict, in words: `2 periodic, 1 none`.
    fn counts(&self) -> String {
        let kinds = [
            Kind::Periodic,
            Kind::Unattributed,
            Kind::Change,
            Kind::Undecided,
            Kind::None,
        ];
        let all = &self.analysis.series;
        let parts: Vec<String> = kinds
            .into_iter()
            .filter_map(|kind| {
                let number = all.iter().filter(|one| one.verdict.kind == kind).count();
                (number > 0).then(|| {
                    let number = crate::units::grouped(number as u64);
                    format!("{number} {}", words::kind(kind))
                })
            })
            .collect();
        parts.join(", ")
    }

    /// The runs of a class as stretches of time in microseconds since the epoch.
    fn runs_of(&self, class: &JobClass) -> Vec<(i64, i64)> {
        self.jobs
            .iter()
            .filter(|job| class.jobs.contains(&job.name))
            .flat_map(|job| &job.runs)
            .map(|run| (run.earliest.as_microsecond(), run.latest.as_microsecond()))
            .collect()
    }
}
