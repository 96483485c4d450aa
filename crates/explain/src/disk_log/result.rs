//! What a log of disks shows, as values.

use facts::series::Dating;
use schemars::JsonSchema;
use serde::Serialize;

/// What a log of disks shows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DiskLog {
    /// Where it came from.
    pub source: String,
    /// The host that it names.
    pub host: Option<String>,
    /// The kernel that it names.
    pub kernel: Option<String>,
    /// What its times are worth.
    pub dating: Dating,
    /// Number of samples.
    pub samples: usize,
    /// Number of the first sample after the jump, from 1.
    pub jump_sample: usize,
    /// The devices whose writes jumped, by name, stacked ones last.
    pub devices: Vec<DeviceJump>,
    /// Written to all drives in the first sample after the jump, stacked devices not counted, in kB
    /// (1,024 bytes) a second.
    pub drives_write_kb_s: f64,
    /// `%iowait` in the first sample, and in the first one after the jump.
    pub iowait_percent: Option<FromTo>,
    /// What the writes were.
    pub writes_are: WritesAre,
    /// Why that is thought, one sentence each.
    pub because: Vec<String>,
    /// What the log shows, in sentences.
    pub sentences: Vec<String>,
    /// What it cannot tell, in sentences.
    pub cannot_tell: Vec<String>,
    /// What is wrong with how the filesystems are mounted.
    pub mounts: Vec<String>,
}

/// A figure before and after.
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
    /// The drives that it consists of, found by their sums before the jump; empty for drives.
    pub members: Vec<String>,
    /// Written in the first sample of the log, in kB (1,024 bytes) a second.
    pub write_before_kb_s: f64,
    /// Written in each sample from the jump on; null where there is none.
    pub write_after_kb_s: Vec<Option<f64>>,
    /// The first of them over `write_before_kb_s`.
    pub write_times: Option<f64>,
    /// Read in the first sample of the log.
    pub read_before_kb_s: Option<f64>,
    /// Read in each sample from the jump on.
    pub read_after_kb_s: Vec<Option<f64>>,
    /// `read_before_kb_s` over what is read in each sample from the jump on; null where nothing is.
    pub read_down_times: Vec<Option<f64>>,
    /// Mean length of a request in the first sample after the jump, in kB.
    pub request_kb: Option<f64>,
}

/// What the writes of the jump were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WritesAre {
    /// The kernel counts discards as writes, and writes cannot be that fast or that long.
    ProbablyDiscards,
    /// The kernel counts discards as writes, or nobody knows: they may be either.
    WritesOrDiscards,
    /// The kernel counts discards apart.
    Writes,
}
