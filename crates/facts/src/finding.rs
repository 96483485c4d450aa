use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Severity of a finding. Ordered: `Info < Warning < Error`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; no action is needed.
    Info,
    /// Causes trouble under load, or will with the next change.
    Warning,
    /// Causes trouble now: a store's data is affected.
    Error,
}

impl Severity {
    /// Returns the lower-case word used in every output format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Where a fact was read, and its value there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// A path without its leading slash (`sys/block/dm-0/queue/discard_max_bytes`), a command with
    /// its field (`systemctl show fstrim.timer: UnitFileState`), or a cluster response with its
    /// field (`GET /_cluster/settings: cluster.max_shards_per_node`).
    pub source: String,
    /// The value as read.
    pub value: String,
}

impl Evidence {
    /// Creates evidence from a source and a value.
    pub fn new(source: impl Into<String>, value: impl std::fmt::Display) -> Self {
        Self {
            source: source.into(),
            value: value.to_string(),
        }
    }
}

/// One way to fix a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// What to do, in one or two sentences.
    pub text: String,
    /// The exact command, if there is one; several lines are run in order, as root.
    pub command: Option<String>,
    /// What can go wrong.
    pub risk: Option<String>,
    /// How to undo it.
    pub undo: Option<String>,
}

impl Remedy {
    /// Creates a remedy without a command.
    pub fn advice(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            command: None,
            risk: None,
            undo: None,
        }
    }

    /// Creates a remedy with its exact command.
    pub fn command(text: impl Into<String>, command: impl Into<String>) -> Self {
        Self {
            command: Some(command.into()),
            ..Self::advice(text)
        }
    }

    /// Sets what can go wrong.
    #[must_use]
    pub fn risk(mut self, risk: impl Into<String>) -> Self {
        self.risk = Some(risk.into());
        self
    }

    /// Sets how to undo it.
    #[must_use]
    pub fn undo(mut self, undo: impl Into<String>) -> Self {
        self.undo = Some(undo.into());
        self
    }
}

/// A problem with how something is configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable rule id, never reused.
    pub rule: String,
    /// How severe it is on this host.
    pub severity: Severity,
    /// What the finding is about: a mount point, a device (`/dev/dm-0`), a unit or a file; for a
    /// cluster `cluster logs`, `node es-1` or `setting index.codec`.
    pub subject: String,
    /// Mount point of the stack it belongs to, so that reports can group; `None` for the whole
    /// host.
    pub mount_point: Option<String>,
    /// Name of the host it is about, if several hosts were checked; omitted otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Name of the cluster it is about; omitted for findings about a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Kernel name of the layer at fault (`dm-0`), so that diagrams can mark it.
    pub device: Option<String>,
    /// One line, without a period at the end.
    pub title: String,
    /// Why it is a problem, in plain language.
    pub why: String,
    /// Facts that it is based on.
    pub evidence: Vec<Evidence>,
    /// Ways to fix it, the recommended one first.
    pub remedy: Vec<Remedy>,
}

impl Finding {
    /// Adds evidence from a source and a value.
    pub fn add_evidence(&mut self, source: impl Into<String>, value: impl std::fmt::Display) {
        self.evidence.push(Evidence::new(source, value));
    }

    /// Adds a way to fix it, after the known ones.
    pub fn add_remedy(&mut self, remedy: Remedy) {
        self.remedy.push(remedy);
    }
}
