//! Makes a plan's changes, and tells systemd.

use super::args::{Plan, words};
use super::place::{self, JOURNAL, Note, NotedMount};
use super::systemd;
use crate::error::CommandError;
use edits::{Journal, JournalError, Planned, Root};
use jiff::Timestamp;
use report::views::plan::MountPlan;
use rules::Takeover;

/// What is done beside the changes of files.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The filesystems.
    pub mounts: &'a [MountPlan],
    /// The zone of their slots.
    pub zone: &'a str,
    /// Timers that are stopped.
    pub stops: &'a [String],
    /// When it is done.
    pub now: Timestamp,
}

/// The timers that run and must not any more.
pub fn stops(arguments: &Plan, takeover: &Takeover) -> Vec<String> {
    let stops = takeover.stops.iter();
    if place::is_told(arguments) {
        stops
            .filter(|timer| systemd::is_active(timer))
            .cloned()
            .collect()
    } else {
        Vec::new()
    }
}

/// Applies a plan; nothing is changed if all is as it should be.
///
/// # Errors
/// When a file cannot be changed or systemd refuses: what was changed is put back.
pub fn apply(
    arguments: &Plan,
    root: &Root,
    planned: &[Planned],
    run: Run<'_>,
) -> Result<(), CommandError> {
    let earlier = Journal::<Note>::read(root, JOURNAL).map_err(place::failed)?;
    let is_complete = earlier.as_ref().is_none_or(|journal| journal.is_complete);
    let timers: Vec<String> = run
        .mounts
        .iter()
        .map(|mount| rules::timer_name(&mount.mount_point))
        .collect();
    let is_told = place::is_told(arguments);
    let is_running = !is_told || timers.iter().all(|timer| systemd::is_active(timer));
    if planned.is_empty() && run.stops.is_empty() && is_complete && is_running && earlier.is_some()
    {
        return Ok(());
    }
    let ours = earlier.map_or_else(Vec::new, |journal| journal.note.timers());
    let is_own = |timer: &&String| is_told && !ours.contains(timer) && systemd::is_active(timer);
    // Those that somebody enabled by hand go on after an undo.
    let already: Vec<String> = timers.iter().filter(is_own).cloned().collect();
    let note = |earlier: Option<Note>| noted(arguments, run, &already, earlier.unwrap_or_default());
    let then = || {
        if is_told {
            tell_systemd(&timers, run.stops)
        } else {
            Ok(())
        }
    };
    let done = Journal::apply(root, JOURNAL, planned, note, then);
    if let Err(JournalError::Then(_) | JournalError::Stuck { .. }) = &done {
        // As far as it goes: the first error is reported. Stopped before systemd forgets what they are.
        let (known, new): (Vec<&String>, Vec<&String>) = timers
            .iter()
            .partition(|timer| already.contains(timer) || ours.contains(timer));
        for timer in new {
            let _ = systemd::systemctl(&["stop", timer]);
        }
        let _ = systemd::systemctl(&["daemon-reload"]);
        for timer in known {
            let _ = systemd::systemctl(&["restart", timer]);
        }
        for timer in run.stops {
            let _ = systemd::systemctl(&["start", timer]);
        }
    }
    done.map_err(place::failed)
}

fn noted(arguments: &Plan, run: Run<'_>, already: &[String], mut note: Note) -> Note {
    for mount in run.mounts {
        note.mounts
            .retain(|known| known.mount_point != mount.mount_point);
        note.mounts.push(NotedMount {
            mount_point: mount.mount_point.clone(),
            slot: mount.slot.slot.clone(),
            len_s: mount.len_s,
            deadline_s: mount.deadline_s,
            zone: run.zone.to_owned(),
            words: words(arguments),
        });
    }
    for (known, new) in [(&mut note.stopped, run.stops), (&mut note.already, already)] {
        known.extend(new.iter().cloned());
        known.sort();
        known.dedup();
    }
    note.applied_at = run.now;
    note
}

fn tell_systemd(timers: &[String], stops: &[String]) -> Result<(), String> {
    systemd::systemctl(&["daemon-reload"])?;
    systemd::each("restart", timers)?;
    systemd::each("stop", stops)
}
