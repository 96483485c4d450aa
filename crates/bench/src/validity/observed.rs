//! What the checks look at, and from where on something is a defect.

use crate::driver::{ErrorClass, OwnLateness};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What was seen of a trial, and of its host meanwhile. `None` and empty lists: not measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Observed {
    /// Length of the measured part.
    pub measured: Duration,
    /// The operations.
    pub classes: Vec<ClassObserved>,
    /// Jobs that ran, or were due, within the measured part; `None` if the host's jobs are not known.
    pub jobs: Option<Vec<JobWithin>>,
    /// The drive's trim debt before the trial.
    pub trim_debt: Option<TrimDebt>,
    /// CPU time of the host within the measured part.
    pub cpu: Option<CpuObserved>,
    /// Processes other than server and driver, with their shares of the CPU time, the largest first.
    pub other_processes: Vec<(String, f64)>,
    /// Time that the server's control group was held back by its CPU limit.
    pub throttled: Option<Duration>,
    /// Bytes read from the server's drives.
    pub read_bytes: Option<u64>,
    /// How the trial was meant to start.
    pub start: Start,
    /// Hits of the request cache, if the track wants none.
    pub unwanted_cache_hits: Option<u64>,
    /// By how much the wall clock left the monotonic one, in seconds; positive if it was set forward.
    pub clock_step_s: Option<f64>,
    /// Frequencies and governors.
    pub frequency: Option<FrequencyObserved>,
    /// The most shards that moved between nodes at the same time.
    pub relocating_shards: Option<f64>,
    /// Merges here and in earlier trials.
    pub merges: Option<Merges>,
    /// How it ended.
    pub end: Option<End>,
    /// Other stores with data on the same drives.
    pub other_stores: Option<Vec<String>>,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Everything that was planned was sent and answered.
    Complete,
    /// Somebody stopped it.
    Stopped,
    /// The server did not keep up, and requests were left.
    Overloaded,
    /// Everything was answered, but much later than planned: the queue grew, and was worked off at the end.
    Behind {
        /// For how long requests were planned.
        planned: Duration,
        /// When the last one was answered.
        took: Duration,
    },
    /// A part of it failed.
    Failed(String),
}

/// Time that the servers spent on merges, as a share of the measured time; several merges may run at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Merges {
    /// In this trial.
    pub share: f64,
    /// The median of earlier trials of the same track.
    pub usual_share: f64,
}

/// The start that a trial needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// Whatever is in memory.
    #[default]
    Any,
    /// Nothing of the data in memory: reads go to the drive.
    Cold,
    /// All of the data in memory: no reads go to the drive.
    Warm,
}

/// One class of operations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassObserved {
    /// Its name in the track.
    pub name: String,
    /// Successful operations measured.
    pub samples: u64,
    /// Failed operations.
    pub errors: u64,
    /// How many of them failed in which way.
    pub errors_by_class: Vec<(ErrorClass, u64)>,
    /// The highest percentile that is reported, between 0 and 100; 0 if none matters.
    pub highest_percentile: f64,
    /// 99th percentile of latency in microseconds.
    pub p99_latency_us: u64,
    /// What the driver's own lateness did to it; `None` if it was not measured.
    pub lateness: Option<OwnLateness>,
    /// Means of the latency of consecutive blocks, in microseconds.
    pub block_means_us: Vec<f64>,
}

/// A scheduled job within a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobWithin {
    /// Its name.
    pub name: String,
    /// When it started, as people read it.
    pub start: String,
    /// Whether a log or the host's counters show that it ran, rather than its schedule alone.
    pub is_proven: bool,
    /// When to start instead, if some time is free of it.
    pub free_in: Option<Duration>,
}

/// What a drive was written to since it last learned what is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrimDebt {
    /// Bytes written since the last complete trim.
    pub written_bytes: u64,
    /// Whether more may have been written: the last trim was before this boot, or there never was one.
    pub is_at_least: bool,
    /// Free bytes of the filesystem.
    pub free_bytes: u64,
}

/// Shares of the host's CPU time, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CpuObserved {
    /// Used by processes other than the server and the driver; `None` if a server on this host was not found among its
    /// processes.
    pub foreign: Option<f64>,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Used by the driver.
    pub driver: f64,
    /// Idle, waiting for I/O included.
    pub idle: f64,
}

/// The CPUs' frequencies.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrequencyObserved {
    /// Governors at the start.
    pub governor_before: Option<String>,
    /// Governors at the end.
    pub governor_after: Option<String>,
    /// Times that the CPUs were slowed by heat, over the trial.
    pub thermal_throttles: Option<u64>,
    /// Lowest share of the highest frequency seen that the CPUs ran at, as medians of a tenth of the trial.
    pub lowest_share: Option<f64>,
}

/// From where on something is a defect. The defaults are what the text of each says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Lateness of the driver, as a share of the latency's 99th percentile. 0.2
    ///
    /// If both have exponential tails, a share r of lateness makes the 99th percentile longer by
    /// ln(1 / (1 - r)) / ln(100) of itself: by 4.8 % for 0.2.
    pub lateness: f64,
    /// Lateness of the driver's 99th percentile, whatever the latency. 50 ms
    pub lateness_max: Duration,
    /// Requests that a closed loop could not send because the driver stood still, as a share of all. 0.05
    pub lost: f64,
    /// CPU time of other processes, as a share of the host's. 0.05
    pub foreign_cpu: f64,
    /// Steal, as a share of the host's CPU time. 0.02
    pub steal: f64,
    /// Time held back by a CPU limit, as a share of the measured time. 0.01
    pub throttled: f64,
    /// Idle CPU below which a driver on the same host takes from the server. 0.05
    pub idle: f64,
    /// Bytes written since the last trim, as a share of the free space. 0.25
    pub trim_debt: f64,
    /// Bytes read in a trial that starts cold: metadata alone is less. 1 MiB
    pub cold_read_bytes: u64,
    /// Bytes read in a trial that starts warm, for each second. 1 MiB
    pub warm_reads_per_s: f64,
    /// Step of the clock, in seconds. 0.5
    pub clock_step_s: f64,
    /// Difference between first and last third, as a share of their mean. 0.1
    pub drift: f64,
    /// Failed operations, as a share of all. 0.001
    pub errors: f64,
    /// Time for the last answers of an open loop beyond its planned time, as a share of that. 0.2
    pub behind: f64,
    /// Lowest frequency, as a share of the highest. 0.8
    pub frequency: f64,
    /// Difference of the share of time with merges. 0.1
    pub merge_share: f64,
    /// How many times more merges than usual, or fewer. 2
    pub merge_ratio: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            lateness: 0.2,
            lateness_max: Duration::from_millis(50),
            lost: 0.05,
            foreign_cpu: 0.05,
            steal: 0.02,
            throttled: 0.01,
            idle: 0.05,
            trim_debt: 0.25,
            cold_read_bytes: 1 << 20,
            warm_reads_per_s: 1_048_576.0,
            clock_step_s: 0.5,
            drift: 0.1,
            errors: 0.001,
            behind: 0.2,
            frequency: 0.8,
            merge_share: 0.1,
            merge_ratio: 2.0,
        }
    }
}
