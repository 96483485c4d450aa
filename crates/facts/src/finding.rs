use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a finding hurts. Ordered: `Info < Warning < Error`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing has to be done.
    Info,
    /// Will hurt under load, or is a trap for the next change.
    Warning,
    /// Hurts now: a store's data is affected.
    Error,
}

impl Severity {
    /// The lower-case word used in every output format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Where a fact was read and what stood there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// A path without leading slash (`sys/block/dm-0/queue/discard_max_bytes`), a command with its
    /// field (`systemctl show fstrim.timer: UnitFileState`), or a cluster's answer with its field
    /// (`GET /_cluster/settings: cluster.max_shards_per_node`).
    pub source: String,
    /// The value as it was read.
    pub value: String,
}

impl Evidence {
    /// Shorthand.
    pub fn new(source: impl Into<String>, value: impl std::fmt::Display) -> Self {
        Self {
            source: source.into(),
            value: value.to_string(),
        }
    }
}

/// One way out of a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// What to do, in one or two sentences.
    pub text: String,
    /// The exact command, where there is one; several lines are run in order, as root.
    pub command: Option<String>,
    /// What can go wrong.
    pub risk: Option<String>,
    /// How to take it back.
    pub undo: Option<String>,
}

impl Remedy {
    /// A remedy that is advice only.
    pub fn advice(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            command: None,
            risk: None,
            undo: None,
        }
    }

    /// A remedy with its exact command.
    pub fn command(text: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            command: Some(command.into()),
            ..Self::advice(text)
        }
    }

    /// Adds what can go wrong.
    #[must_use]
    pub fn risk(mut self, risk: impl Into<String>) -> Self {
        self.risk = Some(risk.into());
        self
    }

    /// Adds how to take it back.
    #[must_use]
    pub fn undo(mut self, undo: impl Into<String>) -> Self {
        self.undo = Some(undo.into());
        self
    }
}

/// Something that is set up so that it will hurt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable rule id, never reused.
    pub rule: String,
    /// How much it hurts here.
    pub severity: Severity,
    /// What it is about: a mount point, a device (`/dev/dm-0`), a unit or a file; of a cluster
    /// `cluster logs`, `node es-1` or `setting index.codec`.
    pub subject: String,
    /// Mount point of the stack this belongs to, so that reports can group; `None` for the host.
    pub mount_point: Option<String>,
    /// Name of the cluster that this is about; left out where it is about a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Kernel name of the layer at fault (`dm-0`), so that a drawing can mark it.
    pub device: Option<String>,
    /// One line, without a full stop.
    pub title: String,
    /// Why it hurts, in plain words.
    pub why: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
    /// Ways out, the recommended one first.
    pub remedy: Vec<Remedy>,
}
