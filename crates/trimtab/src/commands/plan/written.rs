//! What was written by an earlier `--apply`: taken back, or compared with what is there.

use super::args::Plan;
use super::place::{self, Answered, JOURNAL, Note, NotedMount, failed, is_told, open};
use super::{packaged, systemd};
use crate::commands::STATE_DIR;
use crate::config::Config;
use crate::error::CommandError;
use edits::{Found, Journal, Root};
use facts::Host;
use facts::host::TrimPlan;
use jiff::Timestamp;
use report::views::plan::{MountStatus, PlanAnswer, PlanStatus, Undone};
use rules::TakeoverRequest;
use std::path::Path;
use std::process::ExitCode;

/// A pass that did not finish for as long is reported: the one after the next, and a day.
const OVERDUE_DAYS: i64 = 15;

/// Puts back what was changed.
///
/// # Errors
/// When somebody else has changed it since, or it cannot be written.
pub fn undo(arguments: &Plan) -> Result<Answered, CommandError> {
    let root = open(arguments)?;
    let is_told = is_told(arguments);
    let then = |journal: &Journal<Note>| {
        if is_told {
            tell_systemd(&journal.note)
        } else {
            Ok(())
        }
    };
    let journal = Journal::<Note>::undo(&root, JOURNAL, then).map_err(failed)?;
    let Some(journal) = journal else {
        place::refuse_remains(&root)?;
        let nothing = PlanAnswer::Undone(Undone::default());
        return Ok((nothing, Vec::new(), ExitCode::SUCCESS));
    };
    let note = journal.note;
    let changes = journal.changes.iter();
    let mounts = note.mounts.into_iter();
    let undone = Undone {
        restored: changes.map(|change| format!("/{}", change.name)).collect(),
        mounts: mounts.map(|mount| mount.mount_point).collect(),
        started: if is_told { note.stopped } else { Vec::new() },
    };
    Ok((PlanAnswer::Undone(undone), Vec::new(), ExitCode::SUCCESS))
}

/// Once the files are as before.
fn tell_systemd(note: &Note) -> Result<(), String> {
    let (already, ours): (Vec<String>, Vec<String>) = note
        .timers()
        .into_iter()
        .partition(|timer| note.already.contains(timer));
    // Before systemd forgets what they are.
    systemd::each("stop", &ours)?;
    systemd::systemctl(&["daemon-reload"])?;
    systemd::each("restart", &already)?;
    systemd::each("start", &note.stopped)
}

/// The day on which a slot begins next, where no timer tells.
fn next_day(mount: &NotedMount, now: Timestamp) -> Option<String> {
    let slot: plan::Slot = mount.slot.parse().ok()?;
    let zone = units::zone::parse(&mount.zone).ok()?;
    Some(slot.next_day(&zone, now).to_string())
}

/// Compares what was written with what is there.
///
/// # Errors
/// When the host or what was written cannot be read.
pub fn status(arguments: &Plan, config: &Config, now: Timestamp) -> Result<Answered, CommandError> {
    let root = open(arguments)?;
    let journal = Journal::<Note>::read(&root, JOURNAL).map_err(failed)?;
    let Some(journal) = journal else {
        place::refuse_remains(&root)?;
        let none = PlanAnswer::Status(PlanStatus::default());
        return Ok((none, Vec::new(), ExitCode::SUCCESS));
    };
    let facts = place::read(arguments, config)?;
    let is_live = arguments.root.is_none();
    let (mounts, mut drift) = compare(&root, &journal, &facts, is_live, now);
    drift.extend(drift_of_trims(arguments, &facts, &journal.note));
    let code = ExitCode::from(u8::from(!drift.is_empty()));
    let status = PlanStatus {
        command: commands(&journal.note).join("\n"),
        mounts,
        drift,
    };
    Ok((PlanAnswer::Status(status), Vec::new(), code))
}

/// Compares the plan of a host with its files and timers, for `check`; a caution if there is one that cannot be read.
pub fn in_facts(facts: &mut Host, tree: &Path, is_live: bool, now: Timestamp) -> Option<String> {
    let root = match std::fs::canonicalize(tree).and_then(Root::open) {
        Ok(root) => root,
        Err(error) => return Some(format!("whether the trim plan is in effect: {error}")),
    };
    match Journal::<Note>::read(&root, JOURNAL) {
        Ok(None) => {
            facts.trim_plan = Some(TrimPlan::default());
            None
        }
        Ok(Some(journal)) => {
            let (_, drift) = compare(&root, &journal, facts, is_live, now);
            let noted = journal.note.mounts.iter();
            facts.trim_plan = Some(TrimPlan {
                mount_points: noted.map(|mount| mount.mount_point.clone()).collect(),
                drift,
                commands: commands(&journal.note),
            });
            None
        }
        // Its folder is root's: others cannot even tell whether there is a plan, unless they see its files.
        Err(error) => place::refuse_remains(&root)
            .is_err()
            .then(|| format!("whether the trim plan is in effect: {error}")),
    }
}

/// The filesystems of a plan, and where files and timers differ from it.
fn compare(
    root: &Root,
    journal: &Journal<Note>,
    facts: &Host,
    is_live: bool,
    now: Timestamp,
) -> (Vec<MountStatus>, Vec<String>) {
    let mut drift = drift_of_files(journal, root);
    let noted = journal.note.mounts.iter();
    let mounts = noted
        .map(|mount| {
            let timer = rules::timer_name(&mount.mount_point);
            let obstacles = packaged::obstacles(root, &timer, &mut Vec::new());
            drift.extend(
                obstacles
                    .into_iter()
                    .map(|blocked| format!("{}.", blocked.why)),
            );
            mount_status(is_live, facts, &journal.note, mount, now, &mut drift)
        })
        .collect();
    (mounts, drift)
}

/// The calls that write a plan again.
fn commands(note: &Note) -> Vec<String> {
    let mut calls: Vec<&[String]> = note
        .mounts
        .iter()
        .map(|mount| mount.words.as_slice())
        .collect();
    calls.dedup();
    calls
        .iter()
        .filter_map(|words| shlex::try_join(words.iter().map(String::as_str)).ok())
        .map(|words| format!("sudo trimtab plan --apply {words}"))
        .collect()
}

fn drift_of_files(journal: &Journal<Note>, root: &Root) -> Vec<String> {
    let mut drift = Vec::new();
    if !journal.is_complete {
        drift.push("an earlier run was killed before it was done.".to_owned());
    }
    for recorded in &journal.changes {
        let path = format!("/{}", recorded.name);
        match recorded.found(root) {
            Ok(Found::Changed | Found::EditedAround(_)) => {}
            Ok(Found::Original) => drift.push(format!("{path} is as it was before the plan.")),
            Ok(Found::Edited) => drift.push(format!("{path} was changed since by somebody else.")),
            Err(error) => drift.push(format!("{path}: {error}.")),
        }
    }
    drift
}

fn drift_of_trims(arguments: &Plan, facts: &Host, note: &Note) -> Vec<String> {
    let mut drift = Vec::new();
    let mount_points: Vec<String> = note
        .mounts
        .iter()
        .map(|mount| mount.mount_point.clone())
        .collect();
    let request = TakeoverRequest {
        mount_points: &mount_points,
        may_edit_fstab: true,
        is_directory: &|path| place::is_directory(arguments, path),
    };
    match rules::takeover(facts, &request) {
        Ok(takeover) => {
            drift.extend(
                takeover
                    .others
                    .iter()
                    .map(|job| format!("{job} trims it as well.")),
            );
            drift.extend(
                takeover
                    .blocked
                    .iter()
                    .map(|blocked| format!("{}.", blocked.why)),
            );
        }
        Err(refusal) => drift.push(format!("{}: {}.", refusal.mount_point, refusal.reason)),
    }
    drift
}

fn mount_status(
    is_live: bool,
    facts: &Host,
    note: &Note,
    mount: &NotedMount,
    now: Timestamp,
    drift: &mut Vec<String>,
) -> MountStatus {
    let unit = rules::timer_name(&mount.mount_point);
    let timer = facts
        .jobs
        .iter()
        .flatten()
        .find(|job| job.timer.as_ref().is_some_and(|timer| timer.unit == unit));
    if timer.is_some_and(|job| !job.is_active()) {
        drift.push(format!("{unit} is not active."));
    }
    let mounted = facts
        .mounts
        .iter()
        .find(|found| found.mount_point == mount.mount_point);
    let last = mounted
        .filter(|_| is_live)
        .and_then(|mounted| trim::debt::last_pass(facts, mounted, Path::new(STATE_DIR)));
    let last = last.map(|pass| pass.ended_at);
    let since = last.unwrap_or(note.applied_at).max(note.applied_at);
    if is_live && now.duration_since(since).as_hours() > OVERDUE_DAYS * 24 {
        let date = since.strftime("%Y-%m-%d");
        drift.push(format!(
            "{} has had no complete pass since {date}.",
            mount.mount_point
        ));
    }
    let shown = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M UTC").to_string();
    MountStatus {
        mount_point: mount.mount_point.clone(),
        slot: mount.slot.clone(),
        last_complete: last.map(shown),
        next: timer
            .and_then(|job| job.next_run)
            .map(shown)
            .or_else(|| next_day(mount, now)),
    }
}
