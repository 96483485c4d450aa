//! What is planned: this host, or the tree of `--root`, and what was written down there.

use super::args::{Plan, words};
use super::slots::Assigned;
use super::systemd;
use crate::commands::source;
use crate::config::Config;
use crate::error::{CommandError, Kind};
use edits::{JournalError, Root};
use facts::Host;
use jiff::Timestamp;
use plan::{Every, Slot};
use report::views::plan::PlanAnswer;
use rules::{Blocked, PLAN_DROP_IN, PlannedMount};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Where it is written down, below the root.
pub const JOURNAL: &str = "var/lib/trimtab/plan.json";
/// What the journal keeps of a plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// The filesystems.
    pub mounts: Vec<NotedMount>,
    /// Timers that ran before and were stopped.
    pub stopped: Vec<String>,
    /// Timers of trimtab's that ran before there was a plan.
    #[serde(default)]
    pub already: Vec<String>,
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
    /// Length of the slot in seconds.
    pub len_s: u32,
    /// After how long a pass in it ends, in seconds.
    pub deadline_s: f64,
    /// The arguments that it was planned with.
    pub words: Vec<String>,
}

impl Note {
    /// The plan's timers.
    pub fn timers(&self) -> Vec<String> {
        self.mounts
            .iter()
            .map(|mount| rules::timer_name(&mount.mount_point))
            .collect()
    }

    /// The slots of filesystems that are not among `mounts`, for others to keep away from.
    pub fn busy(&self, mounts: &[PlannedMount]) -> Vec<(u32, u32)> {
        self.others(mounts)
            .filter_map(NotedMount::slot)
            .flat_map(|slot| slot.spans_s().collect::<Vec<_>>())
            .collect()
    }

    /// The slots of an earlier plan with the same arguments: a monthly job that comes near must not move them.
    pub fn kept(
        &self,
        arguments: &Plan,
        mounts: &[PlannedMount],
        every: Every,
    ) -> Option<Vec<Assigned>> {
        // What is measured anew may choose anew.
        if arguments.load.is_some() {
            return None;
        }
        let words = words(arguments);
        let slots = mounts.iter().map(|mount| {
            let noted = self
                .mounts
                .iter()
                .find(|noted| noted.mount_point == mount.mount_point)?;
            let slot = noted.slot().filter(|_| noted.words == words)?;
            let is_as_often = slot.weekday.is_none() == (every == Every::Day);
            let deadline = Duration::from_secs_f64(noted.deadline_s);
            is_as_often.then_some(Assigned { slot, deadline })
        });
        slots.collect()
    }

    /// What is in the way of counting slots beside those of an earlier plan.
    pub fn apart(&self, arguments: &Plan, mounts: &[PlannedMount]) -> Option<Blocked> {
        let other = self.others(mounts).next()?;
        let has_peers = other.words.iter().any(|word| word == "--peers");
        if arguments.peers.is_empty() && !has_peers {
            return None;
        }
        Some(Blocked {
            why: format!(
                "{} is planned already, in slots that nodes share",
                other.mount_point
            ),
            hint: "name all filesystems of a node in one call, or `trimtab plan --undo` first"
                .to_owned(),
        })
    }

    fn others(&self, mounts: &[PlannedMount]) -> impl Iterator<Item = &NotedMount> {
        let is_other = |noted: &&NotedMount| {
            !mounts
                .iter()
                .any(|mount| mount.mount_point == noted.mount_point)
        };
        self.mounts.iter().filter(is_other)
    }
}

impl NotedMount {
    fn slot(&self) -> Option<Slot> {
        let slot: Slot = self.slot.parse().ok()?;
        Some(Slot {
            len_s: self.len_s,
            ..slot
        })
    }
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
        JournalError::Foreign { .. } => {
            "run it as the user who has applied it, or find out who wrote it"
        }
        JournalError::AfterUndo(_) => "repeat it: what is done already stays done",
        _ if rustix::process::geteuid().is_root() => {
            "change the file by hand, or what keeps it from being changed"
        }
        _ => "run it as root (sudo)",
    };
    CommandError::because(Kind::Environment, error).hint(hint)
}

const UNITS: &str = "etc/systemd/system";
const CRONTABS: &str = "etc/cron.d";

/// Files of a plan whose journal is gone are not "nothing to take back".
///
/// # Errors
/// Which there are.
pub fn refuse_remains(root: &Root) -> Result<(), CommandError> {
    let unreadable = |error| CommandError::unreadable("/etc/systemd/system", error);
    let mut remains = Vec::new();
    for folder in root.names(UNITS).map_err(unreadable)? {
        let is_ours = folder.starts_with("trimtab-trim@")
            && [".timer.d", ".service.d"]
                .iter()
                .any(|end| folder.ends_with(end));
        let path = format!("{UNITS}/{folder}/{PLAN_DROP_IN}");
        if is_ours && root.exists(&path).map_err(unreadable)? {
            remains.push(format!("/{path}"));
        }
    }
    let crontabs = root.names(CRONTABS).unwrap_or_default();
    let ours = crontabs
        .iter()
        .filter(|name| name.starts_with("trimtab-plan-"));
    remains.extend(ours.map(|name| format!("/{CRONTABS}/{name}")));
    if remains.is_empty() {
        return Ok(());
    }
    let message = format!(
        "/{JOURNAL} is gone, and with it what was there before: {} are of a plan",
        remains.join(", ")
    );
    Err(CommandError::environment(message).hint(
        "remove them by hand, and X-fstrim.notrim from fstab; `systemctl unmask` and `chmod +x` bring back what a plan ends",
    ))
}

/// Reads the host, or the tree.
///
/// # Errors
/// When it cannot be read.
pub fn read(arguments: &Plan, config: &Config) -> Result<Host, CommandError> {
    let opened = source::live_or(arguments.root.as_deref())?;
    let (facts, _) = source::read(&opened, &[], &config.check.data_paths, false)?;
    Ok(facts)
}

/// Whether a mount point is a directory; of a tree nothing is mounted.
pub fn is_directory(arguments: &Plan, path: &str) -> Result<bool, String> {
    if arguments.root.is_some() {
        return Ok(true);
    }
    trim::filesystem::is_directory(path).map_err(|error| error.to_string())
}
