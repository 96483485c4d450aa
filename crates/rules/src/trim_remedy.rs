//! The fixes that rules print about trims. Commands plan a paced trim or stop a job; any other way is a sentence.

mod elsewhere;
mod once;
mod online;
mod parts;

use crate::context::Context;
use crate::quiet_slot::QuietSlot;
use crate::shell;
use crate::trim_jobs::{Miss, NOTRIM, TrimJob, supports_notrim};
use crate::trim_plan::ending;
use crate::trim_state;
use crate::volume::Volume;
use facts::Remedy;
use facts::host::Job;

pub(crate) use elsewhere::{compact_vhdx, elsewhere, is_wsl};
pub(crate) use once::trim_once;
pub(crate) use online::{
    discard_and_leave_out, mount_with_discard, mount_without_discard, paced_without_discard,
};
pub(crate) use parts::{FIRST_PASS, is_declared_quiet};
use parts::{QUIET_NAME, STOP_RISK, plan_commands, plan_text, planned_first_pass, stop_commands};

/// Enables an existing timer at a quiet time.
pub(crate) fn enable_timer(unit: &str) -> Remedy {
    Remedy::advice(format!(
        "Or enable {}, with a quiet time in a drop-in {QUIET_NAME}.conf that resets `OnCalendar=` first, and another \
         night on each node.",
        shell::printable(unit)
    ))
    .risk(FIRST_PASS)
}

/// Moves a trim job to a quiet time, depending on what starts it.
pub(crate) fn move_to_quiet_time(job: &Job) -> Remedy {
    let how = if job.timer.is_some() {
        format!("by a drop-in {QUIET_NAME}.conf of its timer that resets `OnCalendar=` first")
    } else {
        format!(
            "from {} to a line of its own in /etc/cron.d/trim-at-{QUIET_NAME}",
            shell::printable(&job.defined_in)
        )
    };
    Remedy::advice(format!(
        "Or move it to a quiet period, {how}, and to another night on each node; the name tells trimtab that its time \
         is quiet."
    ))
}

/// Stops a trim job.
pub(crate) fn stop(job: &Job, text: &str) -> Remedy {
    match stop_commands(job) {
        Some((command, undo)) => Remedy::command(text, command).risk(STOP_RISK).undo(undo),
        None => Remedy::advice(format!(
            "{text} It is defined in {}.",
            shell::printable(&job.defined_in)
        )),
    }
}

/// Stops one of two jobs that do the same work.
pub(crate) fn stop_second(job: &Job) -> Remedy {
    let text = format!(
        "Keep one of the two. This stops {}.",
        shell::printable(&job.name)
    );
    Remedy {
        risk: Some("Make sure that the other one reaches everything that this one did.".to_owned()),
        ..stop(job, &text)
    }
}

/// Trims mounts by a separate, paced job.
pub(crate) fn trim_mounts(cx: &Context<'_>, mount_points: &[&str]) -> Remedy {
    let (command, undo) = plan_commands(mount_points, false);
    let pronoun = if mount_points.len() == 1 {
        "it"
    } else {
        "them"
    };
    Remedy::command(plan_text(&format!("Have {pronoun} trimmed paced")), command)
        .risk(planned_first_pass(&cx.host.platform))
        .undo(undo)
}

/// Trims a mount by fstrim, at a time that is declared to be quiet.
pub(crate) fn fstrim_at_quiet_time() -> Remedy {
    Remedy::advice(format!(
        "Or trim it with fstrim, in one go, in a quiet period and another night on each node: by a timer or a file in \
         /etc/cron.d with `{QUIET_NAME}` in its name."
    ))
    .risk(FIRST_PASS)
}

/// Trims one mount point once, paced.
pub(crate) fn trim_paced(volume: &Volume<'_>, slot: QuietSlot) -> Remedy {
    let window = slot.window();
    Remedy::command(
        format!(
            "Trim it with `trimtab trim`, which discards in small steps and waits while the drives \
             are busy: in a quiet period, for which {window} stands here, and one node after the \
             other."
        ),
        format!(
            "trimtab trim --window {window} {}",
            shell::operand(&volume.mount.mount_point)
        ),
    )
    .risk("What does not fit into one window is resumed in the next.")
}

/// Replaces jobs that trim all free space of a filesystem at once by a paced trim.
pub(crate) fn replace_by_paced(
    cx: &Context<'_>,
    replaced: &[&TrimJob<'_>],
    volume: &Volume<'_>,
) -> Remedy {
    let may_edit_fstab =
        supports_notrim(&cx.host.platform) && replaced.iter().any(|trim| trim.goes_by_fstab());
    if trim_state::discards_online(cx.host, volume.mount) {
        return paced_without_discard(cx, volume.mount, may_edit_fstab);
    }
    let text = plan_text("Let a paced trim take its place");
    let by_hand = replaced.iter().find(|trim| ending::of(trim, "").is_err());
    let risk = planned_first_pass(&cx.host.platform);
    if let Some(trim) = by_hand {
        let place = shell::printable(&trim.job.defined_in);
        return Remedy::advice(format!(
            "{text} First take the present trim out of {place} by hand, then: trimtab plan --apply {}.",
            shell::printable(&volume.mount.mount_point)
        ))
        .risk(risk);
    }
    let (command, undo) = plan_commands(&[&volume.mount.mount_point], may_edit_fstab);
    Remedy::command(text, command).risk(risk).undo(undo)
}

/// Makes the job for all mounts include one that it misses.
pub(crate) fn add_to_trim(trim: &TrimJob<'_>, miss: &Miss) -> Remedy {
    let place = shell::printable(&trim.job.defined_in);
    let quiet = "and move the job to a quiet period, since it stalls the store from then on";
    let text = match miss {
        Miss::NotInFstab | Miss::FstabTypeNone { .. } => format!(
            "Or let the job in {place} reach it, by a line in /etc/fstab, `fstrim --all` or a command for this mount, \
             {quiet}."
        ),
        Miss::NoTrim { line } => {
            format!("Or remove {NOTRIM} from line {line} of /etc/fstab, {quiet}.")
        }
        Miss::FstabReadOnly { line } => {
            return Remedy::advice(format!(
                "Change `ro` in line {line} of fstab if it should be writable; otherwise mount it \
                 read-only."
            ));
        }
        Miss::ReadOnly => {
            return Remedy::advice(
                "Find out why it is mounted read-only (`dmesg`: a filesystem remounts itself after \
                 an error); once it is writable again, the job trims it.",
            );
        }
        Miss::TypeLeftOut | Miss::NotNamed | Miss::Refused(_) => {
            format!("Or change the command in {place}: {}.", miss.reason())
        }
    };
    Remedy::advice(text).risk(FIRST_PASS)
}

#[cfg(test)]
mod tests;
