//! What `trimtab explain` answers: [text](text::text) with charts, a [JSON document](document::json),
//! and a [page](html::html) that loads nothing.
//!
//! Each draws from an [`Analysis`], the series that it is about, and the runs of jobs. Names of series,
//! jobs and files are hostile: all of them are escaped.

mod chart;
mod columns;
mod disk_log;
mod document;
mod fold;
mod html;
mod rows;
mod svg;
mod table;
mod text;
mod words;

pub use document::{ExplainResult, JobRow, json};
pub use html::{HtmlOptions, html};
pub use text::{ExplainTextOptions, text};

use explain::JobRuns;
use explain::disk_log::DiskLog;
use explain::verdict::{Analysis, JobClass, Kind, SeriesVerdict};
use facts::Skipped;
use facts::series::{Dating, Series};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::{BTreeSet, HashMap, VecDeque};

/// An analysis with what it was made of.
#[derive(Debug, Clone)]
pub struct ExplainReport<'a> {
    /// The answers.
    pub analysis: &'a Analysis,
    /// The series that were analysed, in any order.
    pub series: &'a [Series],
    /// What short logs of disks show by themselves.
    pub disk_logs: &'a [DiskLog],
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
    /// Whether something was found: a series recurs or changed, or the disks of a log jumped.
    pub fn is_trouble(&self) -> bool {
        let is_found = |series: &SeriesVerdict| {
            matches!(
                series.verdict.kind,
                Kind::Periodic | Kind::Unattributed | Kind::Change
            )
        };
        !self.disk_logs.is_empty() || self.analysis.series.iter().any(is_found)
    }

    /// What is told one by one, and what is summed up: series of a log of disks that is told as a
    /// whole, and those of any such log that is too short for each by itself.
    fn parted(&self, all: bool) -> (Vec<Told<'a>>, Vec<Told<'a>>) {
        let is_summed_up = |told: &Told<'_>| {
            let of_a_log = told
                .series
                .is_some_and(|series| series.labels.contains_key("metric"));
            let of_a_told_one = || {
                let host = told.series.and_then(|series| series.labels.get("host"));
                self.disk_logs
                    .iter()
                    .any(|log| log.source == told.verdict.source && log.host.as_ref() == host)
            };
            of_a_log
                && told.verdict.dating != Dating::Absolute
                && match told.verdict.verdict.kind {
                    Kind::Undecided => true,
                    Kind::None => of_a_told_one(),
                    Kind::Periodic | Kind::Unattributed | Kind::Change => false,
                }
        };
        let (summed_up, told): (Vec<_>, Vec<_>) = self
            .told()
            .into_iter()
            .partition(|one| !all && is_summed_up(one));
        // One that stands alone is told.
        if self.disk_logs.is_empty() && told.is_empty() && summed_up.len() == 1 {
            return (summed_up, Vec::new());
        }
        (told, summed_up)
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
        let number = crate::words::count(self.jobs.len(), "job");
        match &self.jobs_from {
            Some(from) => format!("{number} of {from}"),
            None if self.jobs.is_empty() => "no jobs were looked at".to_owned(),
            None => format!("{number} given by hand"),
        }
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

/// What each series is called beside the others: its name, and where series of several sources have it, the
/// part of their source that tells them apart.
fn titles(told: &[Told<'_>]) -> Vec<String> {
    let mut sources: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for one in told {
        let named = sources.entry(&one.verdict.name).or_default();
        named.insert(&one.verdict.source);
    }
    told.iter()
        .map(|one| {
            let name = &one.verdict.name;
            let all = &sources[name.as_str()];
            if all.len() < 2 {
                return name.clone();
            }
            format!("{name} of {}", &one.verdict.source[common_len(all)..])
        })
        .collect()
}

/// The length of the directories that all paths begin with: a heading has little room.
fn common_len(paths: &BTreeSet<&str>) -> usize {
    // Of sorted texts the first and the last differ earliest.
    let (Some(first), Some(last)) = (paths.first(), paths.last()) else {
        return 0;
    };
    let same = first.bytes().zip(last.bytes());
    let same = same.take_while(|(one, other)| one == other).count();
    first.as_bytes()[..same]
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |slash| slash + 1)
}

/// How many series have which verdict, in words: `2 periodic, 1 none`.
fn counts(told: &[Told<'_>]) -> String {
    let kinds = [
        Kind::Periodic,
        Kind::Unattributed,
        Kind::Change,
        Kind::Undecided,
        Kind::None,
    ];
    let parts: Vec<String> = kinds
        .into_iter()
        .filter_map(|kind| {
            let number = told
                .iter()
                .filter(|one| one.verdict.verdict.kind == kind)
                .count();
            (number > 0).then(|| {
                let number = crate::words::grouped(number as u64);
                format!("{number} {}", words::kind(kind))
            })
        })
        .collect();
    parts.join(", ")
}
