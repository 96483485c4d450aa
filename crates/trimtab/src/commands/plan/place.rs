//! What is planned: this host, or the tree of `--root`, and what was written down there.

use super::args::Plan;
use super::systemd;
use crate::arguments::SourceArgs;
use crate::commands::source;
use crate::config::Config;
use crate::error::{CommandError, Kind};
use edits::{JournalError, Root};
use facts::Host;
use jiff::Timestamp;
use report::views::plan::PlanAnswer;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::ExitCode;

/// Where it is written down, below the root.
pub const JOURNAL: &str = "var/lib/trimtab/plan.json";
/// What the journal keeps of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The filesystems.
    pub mounts: Vec<NotedMount>,
    /// Timers that ran before and were stopped.
    pub stopped: Vec<String>,
    /// When it was last applied.
    pub applied_at: Timestamp,
}

/// A filesystem of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NotedMount {
    /// Its mount point.
    pub mount_point: String,
    /// When it is trimmed: `Tue 01:00`.
    pub slot: String,
    /// The zone of that.
    pub zone: String,
}

/// An answer, cautions, and the exit code.
pub type Answered = (PlanAnswer, Vec<String>, ExitCode);

/// Opens the tree that is planned.
///
/// # Errors
/// When it is no folder.
pub fn open(arguments: &Plan) -> Result<Root, CommandError> {
    let path = arguments.root.clone().unwrap_or_else(|| PathBuf::from("/"));
    let failed = |error| {
        let what = format!("--root {}", path.display());
        CommandError::unreadable(&what, error)
    };
    let path = std::fs::canonicalize(&path).map_err(failed)?;
    Root::open(path.clone()).map_err(failed)
}

/// Whether systemd of this host has to be told.
pub fn is_told(arguments: &Plan) -> bool {
    arguments.root.is_none() && systemd::is_running()
}

/// As an error of this command.
pub fn failed(error: JournalError) -> CommandError {
    let hint = match &error {
        JournalError::Edited { .. } => {
            "put those files back by hand, or as they were after --apply, and repeat it: \
             what was there before is in /var/lib/trimtab/plan.json"
        }
        JournalError::Busy { .. } => "wait for it, and repeat the command",
        JournalError::Invalid { .. } => "use the version of trimtab that has written it",
        _ => "run it as root (sudo)",
    };
    CommandError::because(Kind::Environment, error).hint(hint)
}

/// Reads the host, or the tree.
///
/// # Errors
/// When it cannot be read.
pub fn read(arguments: &Plan, config: &Config) -> Result<Host, CommandError> {
    let opened = match &arguments.root {
        Some(root) => source::stored(root, "directory")?,
        None => source::live(),
    };
    let from = SourceArgs {
        root: arguments.root.clone(),
        data_path: Vec::new(),
    };
    let (facts, _) = source::read(&opened, &from, &config.check.data_paths)?;
    Ok(facts)
}

/// Whether a mount point is a directory; of a tree nothing is mounted.
pub fn is_directory(arguments: &Plan, path: &str) -> Result<bool, String> {
    if arguments.root.is_some() {
        return Ok(true);
    }
    trim::filesystem::is_directory(path).map_err(|error| error.to_string())
}
