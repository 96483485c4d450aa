//! What an experiment found: its runs, compared variant by variant.

use super::run::{Queried, RunTrial, VariantRun};
use bench::compare::{
    Metric, MetricKey, Observations, Options, Rank, Report, Trial, TrialSet, compare,
};
use bench::trial::{HOST_FILE, Series, read_trial, samples};
use facts::series::Better;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// An experiment and its result.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Outcome {
    /// Name and version of the server: ratios of other versions are others.
    pub server: String,
    /// What the filesystems were made on.
    pub disk: String,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Whether all variants hold copies of the same segments.
    pub same_segments: bool,
    /// Whether the server had less memory than its index takes.
    pub larger_than_memory: bool,
    /// The runs, in the order in which they ran.
    pub runs: Vec<VariantRun>,
    /// The means of each variant, the first being the baseline.
    pub variants: Vec<VariantMeans>,
    /// The other variants compared with the first; `null` if that is not possible.
    pub comparison: Option<Report>,
    /// Why it is not possible, and what else weakens the result.
    pub notes: Vec<String>,
    /// Each measured query of the first run of each variant.
    #[serde(skip)]
    pub scatters: Vec<Scatter>,
    /// What the host did during those queries.
    #[serde(skip)]
    pub courses: Vec<Course>,
}

/// Means over the runs of a variant. Times are those of valid trials; `null` without any.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct VariantMeans {
    /// The variant.
    pub variant: String,
    /// Its runs.
    pub runs: usize,
    /// What the filesystem's use grew by.
    pub filesystem_bytes: f64,
    /// The same as a share of the baseline's.
    pub of_baseline: f64,
    /// What the files take by compsize(8).
    pub compsize_bytes: Option<f64>,
    /// What the server says that its files take.
    pub store_bytes: f64,
    /// Documents written per second.
    pub documents_per_s: Option<f64>,
    /// Time of all measured queries together.
    pub query_s: Option<f64>,
    /// The same with the request cache.
    pub query_cached_s: Option<f64>,
    /// The same while documents are written.
    pub query_while_ingesting_s: Option<f64>,
    /// Bytes read from the drive within the measured queries.
    pub read_bytes: Option<f64>,
    /// The least that a server read from the drive while it started: it was cold if there is anything.
    pub start_read_bytes_min: Option<u64>,
}

/// Single queries.
#[derive(Debug, Clone, PartialEq)]
pub struct Scatter {
    /// The variant.
    pub variant: String,
    /// Time of each in seconds, in order.
    pub latencies_s: Vec<f64>,
}

/// A figure of the host over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// Which.
    pub figure: Figure,
    /// For each variant its values, by the seconds since the trial's start.
    pub curves: Vec<(String, Vec<(f64, f64)>)>,
}

/// A figure of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// CPU time of user space, as a share.
    CpuUser,
    /// CPU time of the kernel, as a share.
    CpuSystem,
    /// Time in which CPUs had nothing to do but to wait for a drive, as a share.
    IoWait,
    /// Bytes read per second.
    Reads,
    /// Bytes written per second.
    Writes,
}

impl Figure {
    const ALL: [Self; 5] = [
        Self::CpuUser,
        Self::CpuSystem,
        Self::IoWait,
        Self::Reads,
        Self::Writes,
    ];

    /// Its values over time; those of several drives are added up, whose columns have the drive's name before it.
    fn values(self, series: &Series) -> Option<Vec<(f64, f64)>> {
        let ending = match self {
            Self::CpuUser => "cpu_user",
            Self::CpuSystem => "cpu_system",
            Self::IoWait => "cpu_io_wait",
            Self::Reads => "_read_bytes_per_s",
            Self::Writes => "_written_bytes_per_s",
        };
        let names = series.names.iter().filter(|name| name.ends_with(ending));
        let mut columns = names.filter_map(|name| series.column(name));
        let mut sum = columns.next()?;
        for column in columns {
            for (sum, value) in sum.iter_mut().zip(column) {
                sum.1 += value.1;
            }
        }
        Some(sum)
    }
}

/// Compares the runs. Times of trials that are INVALID are left out, unless `include_invalid`; sizes are not.
pub fn outcome(
    server: String,
    disk: String,
    (same_segments, larger_than_memory): (bool, bool),
    runs: Vec<VariantRun>,
    include_invalid: bool,
) -> Outcome {
    let mut notes = Vec::new();
    let mut sets: Vec<TrialSet> = Vec::new();
    for run in &runs {
        let trial = trial(run, include_invalid, &mut notes);
        match sets.iter_mut().find(|set| set.name == run.variant) {
            Some(set) => set.trials.push(trial),
            None => sets.push(TrialSet {
                name: run.variant.clone(),
                trials: vec![trial],
            }),
        }
    }
    let options = Options {
        pools_spread: true,
        ..Options::default()
    };
    let comparison = match compare(&sets, &options) {
        Ok(report) => Some(report),
        Err(_) if sets.len() < 2 => None,
        Err(error) => {
            notes.push(format!("not compared: {error}"));
            None
        }
    };
    let kernel = runs.iter().flat_map(|run| &run.trials).next();
    let kernel = kernel.and_then(|trial| trial.trial.environment.get("kernel").cloned());
    let mut outcome = Outcome {
        server,
        disk,
        kernel,
        same_segments,
        larger_than_memory,
        scatters: Vec::new(),
        courses: Vec::new(),
        variants: means(&runs, include_invalid),
        comparison,
        notes,
        runs,
    };
    outcome.draw(&sets);
    outcome
}

impl Outcome {
    /// Reads what charts are made of.
    fn draw(&mut self, sets: &[TrialSet]) {
        for set in sets {
            let Some(run) = self.runs.iter().find(|run| run.variant == set.name) else {
                continue;
            };
            let Some(trial) = run.trial(Queried::Query) else {
                continue;
            };
            let folder = Path::new(&trial.folder);
            match samples(folder) {
                Ok(found) => self.scatters.push(Scatter {
                    variant: set.name.clone(),
                    latencies_s: found.first().map_or_else(Vec::new, |queries| {
                        queries
                            .samples
                            .iter()
                            .map(|sample| seconds(sample.latency_ns()))
                            .collect()
                    }),
                }),
                Err(error) => self.notes.push(format!("no scatter plot: {error}")),
            }
            let series = match Series::read(&folder.join(HOST_FILE)) {
                Ok(series) => series,
                Err(error) => {
                    self.notes
                        .push(format!("no time courses of {}: {error}", trial.folder));
                    continue;
                }
            };
            for figure in Figure::ALL {
                let Some(values) = figure.values(&series) else {
                    continue;
                };
                let curve = (set.name.clone(), values);
                match self
                    .courses
                    .iter_mut()
                    .find(|course| course.figure == figure)
                {
                    Some(course) => course.curves.push(curve),
                    None => self.courses.push(Course {
                        figure,
                        curves: vec![curve],
                    }),
                }
            }
        }
    }
}

#[allow(clippy::cast_precision_loss)] // sizes
fn means(runs: &[VariantRun], include_invalid: bool) -> Vec<VariantMeans> {
    let mut variants: Vec<VariantMeans> = Vec::new();
    for run in runs {
        if variants.iter().any(|known| known.variant == run.variant) {
            continue;
        }
        let same = || runs.iter().filter(|other| other.variant == run.variant);
        let trials = |what: Queried| {
            let trials = same().filter_map(move |run| run.trial(what));
            trials.filter(move |trial| include_invalid || trial.trial.is_valid())
        };
        let query_s = |what| mean(trials(what).filter_map(queries_s));
        let filesystem_bytes = mean(same().map(|run| run.filesystem_bytes as f64));
        let baseline = variants.first().map(|first| first.filesystem_bytes);
        let filesystem_bytes = filesystem_bytes.unwrap_or(0.0);
        let starts = same().flat_map(|run| &run.trials);
        variants.push(VariantMeans {
            variant: run.variant.clone(),
            runs: same().count(),
            filesystem_bytes,
            of_baseline: filesystem_bytes / baseline.unwrap_or(filesystem_bytes).max(1.0),
            compsize_bytes: mean(same().filter_map(|run| Some(run.compsize_bytes? as f64))),
            store_bytes: mean(same().map(|run| run.store_bytes as f64)).unwrap_or(0.0),
            documents_per_s: mean(
                trials(Queried::Ingest)
                    .filter_map(|trial| trial.trial.operations.first()?.documents_per_s),
            ),
            query_s: query_s(Queried::Query),
            query_cached_s: query_s(Queried::QueryCached),
            query_while_ingesting_s: query_s(Queried::QueryWhileIngesting),
            read_bytes: mean(
                trials(Queried::Query)
                    .filter_map(|trial| trial.trial.host.get("read_bytes").copied()),
            ),
            start_read_bytes_min: starts
                .filter(|trial| trial.what != Queried::Ingest)
                .map(|trial| trial.start_read_bytes)
                .min(),
        });
    }
    variants
}

/// Time that the measured queries of a trial took together, one after the other.
#[allow(clippy::cast_precision_loss)] // a count
fn queries_s(of: &RunTrial) -> Option<f64> {
    let mut operations = of.trial.operations.iter();
    let queries = operations.find(|operation| operation.operation == "query")?;
    Some(queries.latency.as_ref()?.mean_ms / 1e3 * queries.succeeded as f64)
}

#[allow(clippy::cast_precision_loss)] // a count
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[allow(clippy::cast_precision_loss)] // sizes
fn trial(run: &VariantRun, include_invalid: bool, notes: &mut Vec<String>) -> Trial {
    let mut trial = Trial {
        name: run.variant.clone(),
        ..Trial::default()
    };
    if let Some(first) = run.trials.first() {
        trial.name.clone_from(&first.folder);
        trial.started_us = Some(first.trial.started_at.as_microsecond());
    }
    for (name, bytes, rank) in [
        ("on the drive", Some(run.filesystem_bytes), Rank::Primary),
        ("by compsize", run.compsize_bytes, Rank::Secondary),
        ("by the server", Some(run.store_bytes), Rank::Secondary),
    ] {
        if let Some(bytes) = bytes {
            let metric = Metric::scalar(bytes as f64, Some("B"), Better::Lower, rank);
            trial.metrics.insert(MetricKey::new("size", name), metric);
        }
    }
    for one in &run.trials {
        if !one.trial.is_valid() && !include_invalid {
            continue;
        }
        if let Err(error) = add_times(one, &mut trial) {
            notes.push(format!("{}: {error}", one.folder));
        }
    }
    trial
}

fn add_times(of: &RunTrial, trial: &mut Trial) -> Result<(), bench::driver::JournalError> {
    let folder = Path::new(&of.folder);
    let label = of.what.label();
    let read = read_trial(folder)?;
    if of.what == Queried::Ingest {
        let throughput = read
            .metrics
            .into_iter()
            .filter(|(key, _)| key.metric == "throughput mean");
        trial
            .metrics
            .extend(throughput.map(|(key, metric)| (MetricKey::new(label, key.metric), metric)));
        return Ok(());
    }
    for queries in samples(folder)? {
        if queries.operation != "query" || queries.samples.is_empty() {
            continue;
        }
        let values = queries.samples.iter();
        let metric = Metric {
            unit: Some("s".to_owned()),
            better: Better::Lower,
            rank: Rank::Primary,
            observations: Observations::Values(
                values.map(|sample| seconds(sample.latency_ns())).collect(),
            ),
        };
        let key = MetricKey::new(label, "mean time");
        trial.metrics.insert(key, metric);
    }
    let details = read.metrics.into_iter().filter(|(key, _)| {
        key.operation == "query" && matches!(key.metric.as_str(), "latency p50" | "latency p99")
    });
    for (key, mut metric) in details {
        metric.rank = Rank::Secondary;
        let key = MetricKey::new(label, key.metric);
        trial.metrics.insert(key, metric);
    }
    for (name, unit, value) in [
        (
            "read from the drive",
            "B",
            of.trial.host.get("read_bytes").copied(),
        ),
        ("CPU in use", "", busy(of)),
    ] {
        if let Some(value) = value {
            let metric = Metric::scalar(value, Some(unit), Better::Lower, Rank::Secondary);
            trial.metrics.insert(MetricKey::new(label, name), metric);
        }
    }
    Ok(())
}

/// Share of the host's CPU time that was in use within the measured time, kernel workers included: Btrfs compresses in
/// those.
fn busy(of: &RunTrial) -> Option<f64> {
    let host = &of.trial.host;
    Some(1.0 - host.get("cpu_idle")? - host.get("cpu_steal").copied().unwrap_or(0.0))
}

#[allow(clippy::cast_precision_loss)] // a time
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
