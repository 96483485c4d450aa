//! The options of a trim request: how passes are made, when, and what the user consented to.

use crate::filesystem::Filesystem;
use crate::pace::Settings;
use crate::state::State;
use crate::window::Windows;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Directory of the locks, regardless of `--state`.
pub const RUN_DIR: &str = "/run/trimtab";
/// How long the quiet level is measured.
pub const QUIET: Duration = Duration::from_secs(8);
/// How long the drives may take after a step before the pass goes on, slower.
pub const SETTLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Options of a trim request.
#[derive(Debug, Clone)]
pub struct Request {
    /// When passes may work.
    pub windows: Windows,
    /// Whether to start at once, even below a running store.
    pub now: bool,
    /// Latency and rate limits.
    pub settings: Settings,
    /// How long a step that cannot be split may lock its space.
    pub accept_stall: Option<Duration>,
    /// Maximum duration of the whole run, including waits.
    pub deadline: Option<Duration>,
    /// Probes besides the drives, without the secrets that arguments and queries may contain.
    pub probes: Vec<String>,
    /// The cluster that has to be green, without secrets.
    pub green_cluster: Option<String>,
    /// Directory of checkpoints and the audit log.
    pub state_dir: PathBuf,
    /// Start over instead of resuming from the checkpoint.
    pub restart: bool,
    /// Trim although TRIM010 advises against it.
    pub force: bool,
}

impl Request {
    /// Returns whether consent for the trim is missing: below a running store, `--window` or
    /// `--now` is required.
    pub fn lacks_consent(&self, filesystem: &Filesystem<'_>) -> bool {
        !filesystem.stores.is_empty() && !self.now && self.windows.is_empty()
    }

    /// Returns the state store, without creating its directories.
    pub fn state(&self) -> State {
        state_at(self.state_dir.clone())
    }

    /// Returns the effective options for the audit log.
    pub fn for_audit(&self) -> Value {
        let seconds = |duration: Option<Duration>| duration.map(|duration| duration.as_secs_f64());
        json!({
            "now": self.now,
            "window": (!self.windows.is_empty()).then(|| self.windows.words()),
            "max_latency_s": seconds(self.settings.max_latency),
            "deadline_s": seconds(self.deadline),
            "rate_bytes_per_s": self.settings.rate_bytes_per_s,
            "accept_stall_s": seconds(self.accept_stall),
            // Commands and URLs may contain secrets.
            "probes": self.probes.len(),
            "require_green": self.green_cluster.is_some(),
            "restart": self.restart,
            "force": self.force,
        })
    }
}

/// Returns the state store, without creating its directories.
pub fn state_at(state_dir: PathBuf) -> State {
    State {
        state_dir,
        run_dir: PathBuf::from(RUN_DIR),
    }
}

/// A request without any options, for tests.
#[cfg(test)]
pub(crate) fn plain(accept_stall: Option<Duration>) -> Request {
    Request {
        windows: Windows::new(Vec::new(), jiff::tz::TimeZone::UTC),
        now: true,
        settings: Settings::default(),
        accept_stall,
        deadline: None,
        probes: Vec::new(),
        green_cluster: None,
        state_dir: PathBuf::new(),
        restart: false,
        force: false,
    }
}
