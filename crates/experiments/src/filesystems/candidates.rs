//! What can make the same query slow: each candidate is planted, and the factor that it makes is measured.
//!
//! The article found 1,000 queries to take 2.5 times as long on XFS as on Btrfs and did not know why. Its servers were
//! virtual machines with CPU credits and 4 GB of memory, documents were written all the time, and each query was a new
//! curl and jq.

use super::experiment::{One, little_cache};
use super::plan::Plan;
use super::runs::{RunError, Runs, Step, whole};
use super::settle::Settled;
use super::stage::Stage;
use super::track::{INDEX, INGEST_PER_S, Queries};
use crate::control_group::GroupLimits;
use crate::disk::Filesystem;
use crate::leftovers::MARK;
use crate::server::{Distribution, Node};
use crate::workspace::Workspace;
use bench::compare::{
    Metric, MetricKey, Observations, Options, Rank, Report, Trial, TrialSet, compare,
};
use bench::path_error::at;
use bench::trial::samples;
use facts::series::Better;
use jiff::Timestamp;
use linux::child::Child;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// CPUs that a t2.medium has without credits: 20 % of each of two.
const CPUS_WITHOUT_CREDITS: f64 = 0.4;
/// How long documents are written beside queries: the index is refreshed every five seconds.
const REFRESHES_S: u64 = 30;
/// Queries of curl and jq: each takes tens of milliseconds.
const CURL_QUERIES: u32 = 200;
const CURL_PATIENCE: Duration = Duration::from_mins(10);
/// Sends the query `$2` to `$1` with curl and jq, `$3` times, as the article did.
const CURL: &str = r#"for i in $(seq "$3"); do
    curl -sSf --noproxy '*' -H 'Content-Type: application/json' --data-raw "$2" "$1" | jq . >/dev/null || exit
done"#;
/// What uses the CPU beside the server.
const SPIN: &str = "while :; do :; done";

/// What is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Candidate {
    /// Nothing: queries without the request cache, on a server that has the machine for itself.
    Nothing,
    /// The request cache answers.
    RequestCache,
    /// The request cache answers, but documents are written, and each refresh empties it.
    Refreshes,
    /// The server has the CPU time of a burstable machine without credits.
    CpuCredits,
    /// The server has little memory for the page cache.
    Memory,
    /// Each query is a new curl and jq, whose time counts.
    Client,
    /// Another process uses each CPU.
    Interference,
}

impl Candidate {
    /// All, that of nothing first.
    const ALL: [Self; 7] = [
        Self::Nothing,
        Self::RequestCache,
        Self::Refreshes,
        Self::CpuCredits,
        Self::Memory,
        Self::Client,
        Self::Interference,
    ];

    /// Its name in paths.
    fn id(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::RequestCache => "request-cache",
            Self::Refreshes => "refreshes",
            Self::CpuCredits => "cpu-credits",
            Self::Memory => "memory",
            Self::Client => "client",
            Self::Interference => "interference",
        }
    }

    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Nothing => "baseline",
            Self::RequestCache => "request cache answers",
            Self::Refreshes => "request cache, emptied by refreshes",
            Self::CpuCredits => "CPU credits used up",
            Self::Memory => "small page cache",
            Self::Client => "start-up of curl and jq included",
            Self::Interference => "other processes on every CPU",
        }
    }
}

/// What candidates make.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CandidatesOutcome {
    /// Name and version of the server.
    pub server: String,
    /// The filesystem that all of them were tried on.
    pub filesystem: String,
    /// Documents in the index.
    pub documents: u64,
    /// CPUs of a server without credits.
    pub cpus_without_credits: f64,
    /// What a small page cache holds.
    pub cache_bytes: u64,
    /// Time of a query with each, compared with nothing; `null` with one repetition.
    pub comparison: Option<Report>,
    /// What weakens the result.
    pub notes: Vec<String>,
}

/// Plants each candidate `plan.repeats` times on the plan's first variant, alternately.
///
/// # Errors
/// If a run fails. What it had made is in the workspace.
pub fn candidates(
    plan: &Plan,
    server: &Distribution,
    workspace: &Workspace,
    runs: &mut dyn Runs,
) -> Result<CandidatesOutcome, RunError> {
    let mut stage = Stage::new(plan, server, workspace);
    let variant = plan.variants[0];
    let mut one = One {
        all: &mut stage,
        number: 0,
        variant,
    };
    one.step(runs, Step::Make)?;
    let disk = plan.place.disk(workspace)?;
    let mut filesystem = Filesystem::make(workspace, disk, variant)?;
    let settled = one.fill(&filesystem, &mut Vec::new(), runs)?;
    let mut planted = Planted {
        cache_bytes: little_cache(settled.store_bytes),
        one,
        filesystem: &mut filesystem,
        settled,
        alone_s: 1.0,
        sets: Candidate::ALL
            .map(|candidate| TrialSet {
                name: candidate.label().to_owned(),
                trials: Vec::new(),
            })
            .into(),
        notes: Vec::new(),
    };
    for repeat in 0..plan.repeats {
        let mut order = Candidate::ALL;
        if repeat % 2 == 1 {
            order.reverse();
        }
        for candidate in order {
            planted.run(candidate, runs)?;
        }
    }
    let Planted {
        cache_bytes,
        settled,
        mut sets,
        mut notes,
        ..
    } = planted;
    filesystem.release()?;
    sets.retain(|set| !set.trials.is_empty());
    // A server without CPU time scatters more than one that has all: no common spread is taken.
    let comparison = match compare(&sets, &Options::default()) {
        Ok(report) => Some(report),
        Err(error) => {
            notes.push(format!("not compared: {error}"));
            None
        }
    };
    Ok(CandidatesOutcome {
        server: server.to_string(),
        filesystem: variant.to_string(),
        documents: settled.documents,
        cpus_without_credits: CPUS_WITHOUT_CREDITS,
        cache_bytes,
        comparison,
        notes,
    })
}

/// Candidates as they are tried.
struct Planted<'f, 'e, 'a> {
    one: One<'e, 'a>,
    filesystem: &'f mut Filesystem,
    settled: Settled,
    cache_bytes: u64,
    /// Mean time of a query with nothing planted, once it is known.
    alone_s: f64,
    sets: Vec<TrialSet>,
    notes: Vec<String>,
}

impl Planted<'_, '_, '_> {
    fn run(&mut self, candidate: Candidate, runs: &mut dyn Runs) -> Result<(), RunError> {
        let limits = match candidate {
            Candidate::CpuCredits => Some(GroupLimits {
                cpus: Some(CPUS_WITHOUT_CREDITS),
                memory_bytes: None,
            }),
            // A group that was limited for the candidate before is not entered.
            _ => None,
        };
        // What the candidate before has left in the page cache would be this one's.
        self.filesystem.unmount()?;
        self.filesystem.mount()?;
        let mut node = if candidate == Candidate::Memory {
            self.one
                .start_with_cache(self.filesystem, self.cache_bytes, runs)?
        } else {
            self.one.start(self.filesystem, limits, runs)?
        };
        self.one.step(runs, Step::Query)?;
        let spinning = match candidate {
            Candidate::Interference => spin(self.one.all.workspace)?,
            _ => Vec::new(),
        };
        let started_us = Timestamp::now().as_microsecond();
        let values = if candidate == Candidate::Client {
            // The server is as warm as with the other candidates.
            self.with_driver(Candidate::Nothing, &mut node, runs)?;
            self.with_curl(&node)?
        } else {
            Some(self.with_driver(candidate, &mut node, runs)?)
        };
        for mut process in spinning {
            process.kill_or_abandon();
        }
        node.stop()?;
        let Some(values) = values else { return Ok(()) };
        let metric = Metric {
            unit: Some("s".to_owned()),
            better: Better::Lower,
            rank: Rank::Primary,
            observations: values,
        };
        let place = Candidate::ALL.iter().position(|known| *known == candidate);
        self.sets[place.unwrap_or(0)].trials.push(Trial {
            name: candidate.label().to_owned(),
            started_us: Some(started_us),
            metrics: [(MetricKey::new("query", "mean time"), metric)].into(),
            ..Trial::default()
        });
        Ok(())
    }

    /// The time of each query that trimtab sends.
    #[allow(clippy::cast_precision_loss)] // times
    fn with_driver(
        &mut self,
        candidate: Candidate,
        node: &mut Node,
        runs: &mut dyn Runs,
    ) -> Result<Observations, RunError> {
        let plan = self.one.all.plan;
        let refreshes = candidate == Candidate::Refreshes;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // some tens a second
        // At most every second CPU second, so that no queue grows.
        let rate_per_s = refreshes.then(|| {
            let most = (plan.queries / REFRESHES_S).max(1);
            ((0.5 / self.alone_s.max(1e-3)) as u64).clamp(1, most)
        });
        let track = self.one.all.dialect.query(&Queries {
            name: candidate.id(),
            request_cache: refreshes || candidate == Candidate::RequestCache,
            warm_up: plan.warm_up_queries,
            measured: rate_per_s.map_or(plan.queries, |rate| rate * REFRESHES_S),
            pause: plan.pause,
            // Queries that the cache answers would be over before the first refresh.
            rate_per_s,
            reads_everything: false,
            ingest_requests: refreshes.then_some(REFRESHES_S * INGEST_PER_S),
            documents: self.settled.documents,
        });
        let into = plan.into.join("candidates").join(candidate.id());
        let (folder, trial) = whole(runs, &track, node, &into)?;
        let is_planted = matches!(candidate, Candidate::CpuCredits | Candidate::Interference);
        if !is_planted && !trial.is_valid() {
            let reasons = trial
                .judgement
                .iter()
                .flat_map(|judgement| &judgement.reasons);
            let reasons: Vec<&str> = reasons.map(|reason| reason.found.as_str()).collect();
            self.notes.push(format!(
                "INVALID with \"{}\": {}",
                candidate.label(),
                reasons.join("; ")
            ));
        }
        let queries = samples(&folder).map_err(|error| RunError::Trial(Box::new(error)))?;
        let queries = queries.into_iter().find(|of| of.operation == "query");
        let values = queries.map_or_else(Vec::new, |queries| queries.samples);
        let values: Vec<f64> = values
            .iter()
            .map(|sample| sample.latency_ns() as f64 / 1e9)
            .collect();
        if candidate == Candidate::Nothing && !values.is_empty() {
            self.alone_s = values.iter().sum::<f64>() / values.len() as f64;
        }
        Ok(Observations::Values(values))
    }

    /// The mean time of queries by curl and jq; `None` if one of them is missing.
    fn with_curl(&mut self, node: &Node) -> Result<Option<Observations>, RunError> {
        let workspace = self.one.all.workspace.path();
        let url = format!("{}/{INDEX}/_search?request_cache=false", node.endpoint());
        let mut command = Command::new("bash");
        command
            .args(["-o", "pipefail", "-c", CURL, "bash", &url])
            .arg(self.one.all.dialect.body(false))
            .arg(CURL_QUERIES.to_string())
            .env(MARK, workspace)
            .current_dir(workspace)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let begun = Instant::now();
        let mut process = Child::spawn(&mut command).map_err(at(workspace))?;
        let ended = process
            .wait_until(begun + CURL_PATIENCE)
            .map_err(at(workspace))?;
        let took = begun.elapsed();
        if !ended.is_some_and(|status| status.success()) {
            process.kill_or_abandon();
            let missing = "curl and jq: not tried, one of them is missing or failed (apt-get install curl jq)";
            if !self.notes.iter().any(|known| known == missing) {
                self.notes.push(missing.to_owned());
            }
            return Ok(None);
        }
        Ok(Some(Observations::Scalar(
            took.as_secs_f64() / f64::from(CURL_QUERIES),
        )))
    }
}

/// Starts a process for each CPU that uses it.
fn spin(workspace: &Workspace) -> Result<Vec<Child>, RunError> {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let spinner = |folder: &Path| {
        let mut command = Command::new("sh");
        command
            .args(["-c", SPIN])
            .env(MARK, folder)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        Child::spawn(&mut command).map_err(at(folder))
    };
    let mut spinning = Vec::new();
    for _ in 0..cpus {
        spinning.push(spinner(workspace.path())?);
    }
    Ok(spinning)
}
