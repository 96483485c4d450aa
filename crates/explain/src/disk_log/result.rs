//! The result of a disk log's analysis.

use facts::series::Dating;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// What a disk log shows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DiskLog {
    /// The source of the log.
    pub source: String,
    /// The host named in the log.
    pub host: Option<String>,
    /// The kernel named in the log.
    pub kernel: Option<String>,
    /// How its times were dated.
    pub dating: Dating,
    /// Number of samples.
    pub samples: usize,
    /// The bursts in order; empty if nothing stands out, or if the log is one report about the time since boot.
    pub bursts: Vec<Burst>,
    /// The devices of which more moved in the clearest burst, by name, stacked ones last.
    pub devices: Vec<DeviceJump>,
    /// What moved on all drives in the first sample of the clearest burst, excluding stacked devices, in kB (1,024
    /// bytes) per second.
    pub drives_kb_s: f64,
    /// What moved.
    pub moved: Moved,
    /// The reasons for `moved`, one sentence each.
    pub because: Vec<String>,
    /// What got worse in the clearest burst; empty if no harm is visible.
    pub harm: Vec<Harm>,
    /// What the log shows, in sentences.
    pub sentences: Vec<String>,
    /// What the log cannot show, in sentences.
    pub cannot_tell: Vec<String>,
    /// Problems with how the filesystems are mounted.
    pub mounts: Vec<String>,
}

/// Consecutive samples in which much more moves than in the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Burst {
    /// Number of its first sample, from 1.
    pub first_sample: usize,
    /// Number of samples.
    pub samples: usize,
    /// Whether it is the clearest one.
    pub is_clearest: bool,
    /// When its first sample was made, if the log is dated.
    pub at: Option<Timestamp>,
}

/// What got worse.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Harm {
    /// What it is about.
    pub what: HarmTo,
    /// The device that shows it most; null for the processors.
    pub device: Option<String>,
    /// Before.
    pub from: f64,
    /// In the burst, at its worst.
    pub to: f64,
}

/// What a burst harms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HarmTo {
    /// Read rate, in kB per second.
    Reads,
    /// Time that a read takes, in milliseconds.
    ReadTime,
    /// Time that any request takes, in milliseconds.
    RequestTime,
    /// Time that a flush of the drive's cache takes, in milliseconds.
    FlushTime,
    /// `%iowait`: CPU time spent waiting for disks, in percent.
    Iowait,
    /// `%util`: time in which the device was busy, in percent.
    Utilization,
}

/// What a device did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DeviceJump {
    /// `nvme1n1`.
    pub device: String,
    /// Its member drives, identified by matching sums before the jump; empty for drives.
    pub members: Vec<String>,
    /// Moved before, in kB (1,024 bytes) per second.
    pub before_kb_s: f64,
    /// Moved in each sample from the burst's first on; null where missing.
    pub after_kb_s: Vec<Option<f64>>,
    /// The first of these, of discards the largest, divided by `before_kb_s`.
    pub times: Option<f64>,
    /// Read before.
    pub read_before_kb_s: Option<f64>,
    /// Read in each sample from the burst's first on.
    pub read_after_kb_s: Vec<Option<f64>>,
    /// `read_before_kb_s` divided by what is read in each sample from the burst's first on; null where nothing is
    /// read.
    pub read_down_times: Vec<Option<f64>>,
    /// Mean request size in the first sample of the burst, in kB.
    pub request_kb: Option<f64>,
}

impl DeviceJump {
    /// Returns the largest rate from the burst's first sample on, in kB per second.
    pub fn largest_kb_s(&self) -> f64 {
        self.after_kb_s
            .iter()
            .flatten()
            .copied()
            .fold(0.0, f64::max)
    }
}

/// What moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moved {
    /// Discards, counted as such.
    Discards,
    /// Discards counted as writes: writes cannot be that fast or that large.
    ProbablyDiscards,
    /// The kernel counts discards as writes, or its version is unknown: writes or discards.
    WritesOrDiscards,
    /// Writes: the kernel counts discards separately.
    Writes,
    /// Nothing that the log counts: reads fall and others wait, while neither writes nor discards rise.
    NotCounted,
    /// Averages since boot, of one report.
    SinceBoot,
    /// Nothing stands out.
    Nothing,
}
