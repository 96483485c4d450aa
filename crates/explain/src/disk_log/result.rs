//! The result of a disk log's analysis.

use facts::series::Dating;
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
    /// Number, from 1, of the first sample after the jump.
    pub jump_sample: usize,
    /// The devices whose writes jumped, by name, stacked ones last.
    pub devices: Vec<DeviceJump>,
    /// Total written to all drives in the first sample after the jump, excluding stacked devices, in kB
    /// (1,024 bytes) per second.
    pub drives_write_kb_s: f64,
    /// `%iowait` in the first sample, and in the first one after the jump.
    pub iowait_percent: Option<FromTo>,
    /// What the writes were.
    pub writes_are: WritesAre,
    /// The reasons for `writes_are`, one sentence each.
    pub because: Vec<String>,
    /// What the log shows, in sentences.
    pub sentences: Vec<String>,
    /// What the log cannot show, in sentences.
    pub cannot_tell: Vec<String>,
    /// Problems with how the filesystems are mounted.
    pub mounts: Vec<String>,
}

/// A value before and after the jump.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FromTo {
    /// In the first sample of the log.
    pub from: f64,
    /// In the first sample after the jump.
    pub to: f64,
}

/// What a device did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DeviceJump {
    /// `nvme1n1`.
    pub device: String,
    /// Its member drives, identified by matching sums before the jump; empty for drives.
    pub members: Vec<String>,
    /// Written in the first sample of the log, in kB (1,024 bytes) per second.
    pub write_before_kb_s: f64,
    /// Written in each sample from the jump on; null where missing.
    pub write_after_kb_s: Vec<Option<f64>>,
    /// The first of these divided by `write_before_kb_s`.
    pub write_times: Option<f64>,
    /// Read in the first sample of the log.
    pub read_before_kb_s: Option<f64>,
    /// Read in each sample from the jump on.
    pub read_after_kb_s: Vec<Option<f64>>,
    /// `read_before_kb_s` divided by what is read in each sample from the jump on; null where nothing is
    /// read.
    pub read_down_times: Vec<Option<f64>>,
    /// Mean request size in the first sample after the jump, in kB.
    pub request_kb: Option<f64>,
}

/// What the writes of the jump were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WritesAre {
    /// The kernel counts discards as writes, and writes cannot be that fast or that large.
    ProbablyDiscards,
    /// The kernel counts discards as writes, or its version is unknown: they may be either.
    WritesOrDiscards,
    /// The kernel counts discards separately.
    Writes,
}
