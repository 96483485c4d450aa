//! What is drawn: a history with the verdicts on its metrics, and the jobs beside it.

use bench::nightly::{History, Metric, Outcome};
use explain::JobRuns;
use explain::verdict::{Analysis, Interval, SeriesVerdict, Verdict};
use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A job that runs more often than this for each trial would be one bar below every chart.
const RUNS_PER_TRIAL_MAX: usize = 4;
/// Less likely classes of jobs are not drawn, except for the most likely one.
const SCORE_MIN: f64 = 0.1;

/// A history of trials, explained.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Nightly {
    /// The page that was written.
    pub page: String,
    /// The trials, their metrics and what changed.
    #[serde(flatten)]
    pub history: History,
    /// The verdict on each metric, in their order.
    pub verdicts: Vec<SeriesVerdict>,
    /// Jobs whose runs are drawn: those that a verdict names, those that trim, and those that ran within trials.
    pub jobs: Vec<NightlyJob>,
    /// Where the jobs were read; null if no host's were.
    pub jobs_from: Option<String>,
    /// Name of the time zone of the page and of the verdicts.
    pub zone: String,
    /// The time zone.
    #[serde(skip)]
    pub clock: TimeZone,
}

/// A job whose runs are drawn.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NightlyJob {
    /// Its name.
    pub name: String,
    /// Whether it is drawn for every metric, rather than for those whose verdict names it.
    pub is_general: bool,
    /// Its runs, each between two times.
    pub runs: Vec<Interval>,
}

impl Nightly {
    /// Joins a history and the analysis of its metrics.
    pub fn new(
        page: String,
        history: History,
        analysis: Analysis,
        jobs: &[JobRuns],
        jobs_from: Option<String>,
        clock: TimeZone,
    ) -> Self {
        let zone = analysis.zone.clone();
        let mut found: BTreeMap<String, SeriesVerdict> = analysis
            .series
            .into_iter()
            .map(|verdict| (verdict.name.clone(), verdict))
            .collect();
        // A metric without a verdict was not analysed: there is none, as names are unique.
        let (metrics, verdicts): (Vec<Metric>, Vec<SeriesVerdict>) = history
            .metrics
            .into_iter()
            .filter_map(|metric| found.remove(&metric.name).map(|verdict| (metric, verdict)))
            .unzip();
        let history = History { metrics, ..history };
        Self {
            jobs: drawn(&history, &verdicts, jobs),
            page,
            history,
            verdicts,
            jobs_from,
            zone,
            clock,
        }
    }

    /// The metrics with their verdicts.
    pub(super) fn metrics(&self) -> impl Iterator<Item = (&Metric, &SeriesVerdict)> {
        self.history.metrics.iter().zip(&self.verdicts)
    }

    /// Number of trials of an outcome.
    pub(super) fn count(&self, outcome: Outcome) -> usize {
        let trials = self.history.trials.iter();
        trials.filter(|night| night.outcome == outcome).count()
    }
}

fn drawn(history: &History, verdicts: &[SeriesVerdict], jobs: &[JobRuns]) -> Vec<NightlyJob> {
    let named: BTreeSet<&String> = verdicts
        .iter()
        .flat_map(|one| likely(&one.verdict))
        .collect();
    let runs_max = history.trials.len() * RUNS_PER_TRIAL_MAX;
    let trims = |job: &&JobRuns| job.name.contains("trim") || job.name.contains("blkdiscard");
    let known = jobs
        .iter()
        .filter(|job| named.contains(&job.name) || trims(job))
        .filter(|job| !job.runs.is_empty() && job.runs.len() <= runs_max)
        .map(|job| NightlyJob {
            name: job.name.clone(),
            is_general: trims(&job),
            runs: job
                .runs
                .iter()
                .map(|run| Interval {
                    from: run.earliest,
                    to: run.latest,
                })
                .collect(),
        });
    let within = history.within.iter().map(|within| NightlyJob {
        name: format!("{} within a trial", within.job),
        is_general: true,
        runs: within
            .runs
            .iter()
            .map(|at| Interval { from: *at, to: *at })
            .collect(),
    });
    known.chain(within).collect()
}

/// The jobs that may be behind a pattern.
pub(super) fn likely(verdict: &Verdict) -> impl Iterator<Item = &String> {
    let classes = verdict.classes.iter().enumerate();
    classes
        .filter(|(index, class)| *index == 0 || class.score >= SCORE_MIN)
        .flat_map(|(_, class)| &class.jobs)
}

/// The id of the section of a metric.
pub(super) fn id(index: usize) -> String {
    format!("metric-{index}")
}
