//! What was written by an earlier `--apply`: taken back, or compared with what is there.

use super::args::Plan;
use super::place::{self, Answered, JOURNAL, Note, NotedMount, failed, is_told, open};
use super::systemd;
use crate::config::Config;
use crate::error::CommandError;
use edits::{Found, Journal};
use jiff::Timestamp;
use report::views::plan::{MountStatus, PlanAnswer, PlanStatus, Undone};
use rules::TakeoverRequest;
use std::path::Path;
use std::process::ExitCode;

/// State of passes on this host.
const STATE_DIR: &str = "/var/lib/trimtab";
/// A pass that did not finish for as long is told: the one after the next, and a day.
const OVERDUE_DAYS: i64 = 15;

/// Puts back what was changed.
///
/// # Errors
/// When somebody else has changed it since, or it cannot be written.
pub fn undo(arguments: &Plan) -> Result<Answered, CommandError> {
    let root = open(arguments)?;
    let Some(journal) = Journal::<Note>::read(&root, JOURNAL).map_err(failed)? else {
        let nothing = Undone {
            restored: Vec::new(),
            mounts: Vec::new(),
            started: Vec::new(),
        };
        return Ok((PlanAnswer::Undone(nothing), Vec::new(), ExitCode::SUCCESS));
    };
    let note = journal.note.clone();
    let restored = journal
        .changes
        .iter()
        .map(|change| format!("/{}", change.name))
        .collect();
    journal.undo(&root, JOURNAL).map_err(failed)?;
    let mut cautions = Vec::new();
    let mut started = Vec::new();
    if is_told(arguments) {
        let mut tell = |words: &[&str]| {
            let told = systemd::systemctl(words);
            told.map_err(|why| cautions.push(format!("{why}; repeat it by hand")))
                .is_ok()
        };
        for mount in &note.mounts {
            tell(&["stop", &rules::timer_name(&mount.mount_point)]);
        }
        tell(&["daemon-reload"]);
        for timer in &note.stopped {
            if tell(&["start", timer]) {
                started.push(timer.clone());
            }
        }
    }
    let undone = Undone {
        restored,
        mounts: note
            .mounts
            .into_iter()
            .map(|mount| mount.mount_point)
            .collect(),
        started,
    };
    Ok((PlanAnswer::Undone(undone), cautions, ExitCode::SUCCESS))
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
        let none = PlanStatus {
            mounts: Vec::new(),
            drift: Vec::new(),
        };
        return Ok((PlanAnswer::Status(none), Vec::new(), ExitCode::SUCCESS));
    };
    let facts = place::read(arguments, config)?;
    let mut drift = Vec::new();
    if !journal.is_complete {
        drift.push("an earlier run was killed before it was done.".to_owned());
    }
    for recorded in &journal.changes {
        let path = format!("/{}", recorded.name);
        match recorded.found(&root) {
            Ok(Found::Changed | Found::EditedAround(_)) => {}
            Ok(Found::Original) => drift.push(format!("{path} is as it was before the plan.")),
            Ok(Found::Edited) => drift.push(format!("{path} was changed since by somebody else.")),
            Err(error) => drift.push(format!("{path}: {error}.")),
        }
    }
    let mount_points: Vec<String> = journal
        .note
        .mounts
        .iter()
        .map(|mount| mount.mount_point.clone())
        .collect();
    let request = TakeoverRequest {
        mount_points: &mount_points,
        may_edit_fstab: true,
        is_directory: &|path| place::is_directory(arguments, path),
    };
    match rules::takeover(&facts, &request) {
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
    let jobs = || facts.jobs.iter().flatten();
    let mut mounts = Vec::new();
    for mount in &journal.note.mounts {
        let unit = rules::timer_name(&mount.mount_point);
        let timer = jobs().find(|job| job.timer.as_ref().is_some_and(|timer| timer.unit == unit));
        if timer.is_some_and(|job| !job.is_active()) {
            drift.push(format!("{unit} is not active."));
        }
        let mounted = facts
            .mounts
            .iter()
            .find(|found| found.mount_point == mount.mount_point);
        let last = mounted
            .filter(|_| arguments.root.is_none())
            .and_then(|mounted| trim::debt::last_pass(&facts, mounted, Path::new(STATE_DIR)));
        let last = last.map(|pass| pass.ended_at);
        let since = last
            .unwrap_or(journal.note.applied_at)
            .max(journal.note.applied_at);
        if arguments.root.is_none() && now.duration_since(since).as_hours() > OVERDUE_DAYS * 24 {
            let date = since.strftime("%Y-%m-%d");
            drift.push(format!(
                "{} has had no complete pass since {date}.",
                mount.mount_point
            ));
        }
        let shown = |at: Timestamp| at.strftime("%Y-%m-%d %H:%M UTC").to_string();
        mounts.push(MountStatus {
            mount_point: mount.mount_point.clone(),
            slot: mount.slot.clone(),
            last_complete: last.map(shown),
            next: timer
                .and_then(|job| job.next_run)
                .map(shown)
                .or_else(|| next_day(mount, now)),
        });
    }
    let code = ExitCode::from(u8::from(!drift.is_empty()));
    Ok((
        PlanAnswer::Status(PlanStatus { mounts, drift }),
        Vec::new(),
        code,
    ))
}
