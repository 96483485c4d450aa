//! The checks by name.

use crate::names;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The checks, in the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A scheduled job ran within the trial.
    ScheduledJob,
    /// The drive had much written to it since it was last trimmed.
    TrimDebt,
    /// The driver sent late.
    LateDriver,
    /// Other processes used the CPU.
    ForeignCpu,
    /// The driver left no CPU to a server on the same host.
    BusyDriver,
    /// The hypervisor took CPU time.
    Steal,
    /// A control group held the server back.
    Throttled,
    /// Cold, and yet nothing was read from the drive.
    ColdWithoutReads,
    /// Warm, and yet data was read from the drive.
    WarmWithReads,
    /// Answers came from the request cache.
    RequestCache,
    /// The wall clock was set.
    ClockStep,
    /// CPU frequency or governor changed.
    Frequency,
    /// Too few operations for a percentile.
    FewSamples,
    /// The first third differs from the last.
    Drift,
    /// Operations failed.
    Errors,
    /// Another store uses the drive.
    OtherStore,
    /// Shards moved between nodes.
    Relocations,
    /// The servers merged more or less than in earlier trials.
    Merges,
    /// The trial did not run to its end.
    Incomplete,
}

impl Check {
    /// All of them.
    pub const ALL: [Self; 19] = [
        // What went wrong comes before what may have disturbed it.
        Self::Incomplete,
        Self::Errors,
        Self::ScheduledJob,
        Self::TrimDebt,
        Self::LateDriver,
        Self::ForeignCpu,
        Self::BusyDriver,
        Self::Steal,
        Self::Throttled,
        Self::ColdWithoutReads,
        Self::WarmWithReads,
        Self::RequestCache,
        Self::ClockStep,
        Self::Frequency,
        Self::FewSamples,
        Self::Drift,
        Self::OtherStore,
        Self::Relocations,
        Self::Merges,
    ];

    /// What it looks for, for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::ScheduledJob => "scheduled jobs",
            Self::TrimDebt => "trim debt",
            Self::LateDriver => "late driver",
            Self::ForeignCpu => "other processes' CPU time",
            Self::BusyDriver => "driver's CPU time",
            Self::Steal => "steal",
            Self::Throttled => "CPU limit",
            Self::ColdWithoutReads => "cold start",
            Self::WarmWithReads => "warm start",
            Self::RequestCache => "request cache",
            Self::ClockStep => "clock steps",
            Self::Frequency => "CPU frequency",
            Self::FewSamples => "number of samples",
            Self::Drift => "drift",
            Self::Errors => "errors",
            Self::OtherStore => "other stores",
            Self::Relocations => "relocating shards",
            Self::Merges => "merges",
            Self::Incomplete => "end of the trial",
        }
    }

    /// What must be there for the check to be made.
    pub fn needs(self) -> &'static str {
        match self {
            Self::ScheduledJob => {
                "schedules of the server's host: run trimtab on it, with the right to read them"
            }
            Self::TrimDebt => {
                "a server on this host, on drives that accept discards, and a complete trim by trimtab since boot"
            }
            Self::LateDriver => "requests",
            Self::ForeignCpu => {
                "/proc/stat, and Elasticsearch or OpenSearch if the server is on this host"
            }
            Self::BusyDriver | Self::Steal => "/proc/stat and the driver's own times",
            Self::Throttled => "a server on this host whose control group has a CPU controller",
            Self::RequestCache | Self::Relocations => {
                "the figures of Elasticsearch or OpenSearch (GET _nodes/stats and _cluster/health)"
            }
            Self::ClockStep => "a clock",
            Self::Frequency => "cpufreq in /sys, which virtual machines rarely have",
            Self::FewSamples | Self::Errors => "operations in a measured phase",
            Self::Drift => "15 seconds of measurements",
            Self::ColdWithoutReads | Self::WarmWithReads | Self::OtherStore => {
                "a server on this host, and its drives"
            }
            Self::Merges => "three earlier trials of this track in the same folder",
            Self::Incomplete => "an end",
        }
    }

    /// Its name in documents.
    pub fn id(self) -> String {
        names::in_documents(&self)
    }
}
