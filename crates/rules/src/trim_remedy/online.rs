//! Fixes that switch online discard on or off.

use super::parts::{STOP_RISK, plan_commands, plan_text, planned_first_pass, stop_commands};
use crate::context::Context;
use crate::trim_jobs::{NOTRIM, TrimJob, bare, has_option, supports_notrim};
use crate::trim_state::{OnlineDiscard, online_discard, unqueued_trim};
use crate::volume::Volume;
use crate::{fstab_edit, shell};
use facts::host::{FstabEntry, Mount};
use facts::{Host, Remedy};
use std::collections::BTreeSet;

const DELETIONS_RISK: &str = "Deletions of much data at once send many discards at once.";

/// Lets the filesystem discard online, for hosts without a quiet period. `None` where that is never
/// good: on drives whose TRIM is not queued (TRIM005).
pub(crate) fn mount_with_discard(cx: &Context<'_>, volume: &Volume<'_>) -> Option<Remedy> {
    if has_unqueued_drive(volume) {
        return None;
    }
    let mount = volume.mount;
    let option = option_of(mount);
    let text = format!(
        "If there is no quiet period, mount it with `{option}` instead, after a test under load, \
         and do not trim it periodically as well."
    );
    let Some(entry) = fstab_edit::entry_of(cx.host, mount) else {
        return Some(
            Remedy::advice(format!("{text} fstab has no line for it: {ELSEWHERE}"))
                .risk(DELETIONS_RISK),
        );
    };
    let edit = fstab_edit::append_option(cx.host, entry.line, option);
    Some(with_remount(&text, mount, edit, option))
}

/// Returns the option for online discard; Btrfs should gather discards.
fn option_of(mount: &Mount) -> &'static str {
    match mount.fs_type.as_str() {
        "btrfs" => "discard=async",
        _ => "discard",
    }
}

fn has_unqueued_drive(volume: &Volume<'_>) -> bool {
    volume
        .stack
        .data_drives()
        .any(|drive| unqueued_trim(drive).is_some())
}

/// Adds a remount with `option` to an edit of fstab. XFS only accepts the option at mount time.
fn with_remount(text: &str, mount: &Mount, (edit, undo): (String, String), option: &str) -> Remedy {
    let remedy = if mount.fs_type == "xfs" {
        let text = format!(
            "{text} XFS does not take the option by a remount: {}.",
            again(mount)
        );
        Remedy::command(text, edit).undo(undo)
    } else {
        let mount_point = shell::quote(&mount.mount_point);
        Remedy::command(
            text,
            format!("{edit} && mount -o remount,{option} {mount_point}"),
        )
        .undo(format!(
            "{undo} && mount -o remount,nodiscard {mount_point}"
        ))
    };
    remedy.risk(DELETIONS_RISK)
}

/// Describes how to mount a filesystem again.
fn again(mount: &Mount) -> String {
    if mount.mount_point == "/" {
        "reboot".to_owned()
    } else {
        format!(
            "stop the store, unmount {} and mount it again",
            shell::printable(&mount.mount_point)
        )
    }
}

/// Removes `discard` from the options of a mount, in fstab and on the mounted filesystem, where a
/// periodic trim reaches it.
pub(crate) fn mount_without_discard(cx: &Context<'_>, mount: &Mount) -> Remedy {
    const RISK: &str = "From then on only a periodic trim tells the drive what is free: make sure \
                        that one reaches this mount.";
    let text =
        "Take `discard` out of the mount's options and keep a periodic trim at a quiet time.";
    drop_option(cx, mount, text, None).risk(RISK)
}

/// Trims a mount by a paced job, and then removes `discard` from its options.
pub(crate) fn paced_without_discard(
    cx: &Context<'_>,
    mount: &Mount,
    may_edit_fstab: bool,
) -> Remedy {
    let text = plan_text("Take `discard` out of the mount's options, and have it trimmed paced");
    let plan = plan_commands(&[&mount.mount_point], may_edit_fstab);
    drop_option(cx, mount, &text, Some(plan)).risk(planned_first_pass(&cx.host.platform))
}

/// Removes `discard` in fstab and by a remount, before `then` (commands and their undo).
fn drop_option(
    cx: &Context<'_>,
    mount: &Mount,
    text: &str,
    then: Option<(String, String)>,
) -> Remedy {
    let host = cx.host;
    let mount_point = shell::quote(&mount.mount_point);
    let edit = fstab_edit::entry_of(host, mount)
        .filter(|entry| has_option(entry, "discard"))
        .map(|entry| fstab_edit::remove_option(host, entry.line, "discard[=a-z]*"));
    // xfs_fs_reconfigure() leaves the option unchanged.
    let is_xfs = mount.fs_type == "xfs";
    let remount = (!is_xfs).then(|| {
        (
            format!("mount -o remount,nodiscard {mount_point}"),
            format!("mount -o remount,discard {mount_point}"),
        )
    });
    let mut text = text.to_owned();
    match (is_xfs, edit.is_some()) {
        (true, true) => {
            text = format!(
                "{text} XFS does not take that by a remount: {}.",
                again(mount)
            );
        }
        (true, false) if host.fstab.is_none() => {
            text = format!("{text} fstab was not read: look there and in its mount unit.");
        }
        (true, false) => text = format!("{text} fstab does not set it: look in its mount unit."),
        (false, true) => {}
        (false, false) if host.fstab.is_none() => {
            text = format!(
                "{text} fstab was not read: if it sets the option, remove it there too, or it comes \
                 back at the next mount. If not, {ELSEWHERE}"
            );
        }
        (false, false) => {
            text = format!(
                "{text} fstab does not set it, so it comes back at the next mount: {ELSEWHERE}"
            );
        }
    }
    // A plan is refused as long as nothing says that the option goes.
    let then = if is_xfs && edit.is_none() {
        if let Some((command, _)) = then {
            text = format!("{text} Then: {command}");
        }
        None
    } else {
        then
    };
    let (commands, undos): (Vec<String>, Vec<String>) =
        edit.into_iter().chain(remount).chain(then).unzip();
    if commands.is_empty() {
        return Remedy::advice(text);
    }
    let undos: Vec<String> = undos.into_iter().rev().collect();
    Remedy::command(text, commands.join(" && ")).undo(undos.join(" && "))
}

const ELSEWHERE: &str = "look in the unit, the kernel's command line (`rootflags=`) or the \
                         filesystem's default options (`tune2fs -l`).";

/// Returns fstab's other lines by which fstrim trims the filesystem of a mount, such as of bind mounts.
fn other_lines(host: &Host, mount: &Mount) -> Vec<u64> {
    let is_other =
        |other: &&Mount| other.source == mount.source && other.mount_point != mount.mount_point;
    let others = host.mounts.iter().filter(is_other);
    let points: BTreeSet<&str> = others.map(|other| bare(&other.mount_point)).collect();
    let is_trimmed = |entry: &&FstabEntry| {
        let is_other = points.contains(bare(&entry.mount_point));
        is_other && entry.fs_type != "none" && !has_option(entry, NOTRIM)
    };
    let entries = host.fstab.iter().flatten().filter(is_trimmed);
    entries.map(|entry| entry.line).collect()
}

/// Excludes a mount from the periodic trim, and keeps online discard or switches it on. `None` on drives
/// whose TRIM is not queued (TRIM005).
pub(crate) fn discard_and_leave_out(
    cx: &Context<'_>,
    volume: &Volume<'_>,
    reaching: &[&TrimJob<'_>],
) -> Option<Remedy> {
    if has_unqueued_drive(volume) {
        return None;
    }
    let (host, mount) = (cx.host, volume.mount);
    let option = option_of(mount);
    let is_online = online_discard(mount) != OnlineDiscard::Off;
    let text = if is_online {
        format!(
            "Without a quiet period, keep `{option}` and leave the mount out of the periodic trim."
        )
    } else {
        format!(
            "If this host has no quiet period at all, mount it with `{option}`, after a test under \
             load, and leave it out of the periodic trim."
        )
    };
    let entry = fstab_edit::entry_of(host, mount);
    let is_declared = entry.is_some_and(|entry| has_option(entry, "discard"));
    // The job is for this mount alone: stop it.
    if reaching
        .iter()
        .all(|trim| trim.names_only(&mount.mount_point))
    {
        let stops: Option<Vec<(String, String)>> = reaching
            .iter()
            .map(|trim| stop_commands(trim.job))
            .collect();
        if let (Some(stops), true) = (stops, is_online) {
            let (commands, undos): (Vec<String>, Vec<String>) = stops.into_iter().unzip();
            return Some(
                Remedy::command(text, commands.join(" && "))
                    .risk(STOP_RISK)
                    .undo(undos.join(" && ")),
            );
        }
        return Some(Remedy::advice(format!(
            "{text} The job trims nothing else: stop it."
        )));
    }
    let by_fstab = reaching.iter().all(|trim| trim.goes_by_fstab());
    Some(match entry.filter(|_| by_fstab) {
        Some(entry) if supports_notrim(&host.platform) => {
            let options = if is_declared {
                NOTRIM.to_owned()
            } else {
                format!("{option},{NOTRIM}")
            };
            let mut edits = vec![(entry.line, options.as_str())];
            edits.extend(
                other_lines(host, mount)
                    .into_iter()
                    .map(|line| (line, NOTRIM)),
            );
            let (edit, undo) = fstab_edit::append_to_lines(host, &edits);
            if is_online {
                Remedy::command(text, edit)
                    .risk("fstrim supports the option from util-linux 2.38 on.")
                    .undo(undo)
            } else {
                with_remount(&text, mount, (edit, undo), option)
            }
        }
        _ if by_fstab => Remedy::advice(format!(
            "{text} fstab's option for that, {NOTRIM}, is known from util-linux 2.38 on, which this \
             host may not have (`fstrim --version`): let the job name the mount points to \
             trim."
        )),
        _ => Remedy::advice(format!(
            "{text} fstrim has no option for that where it goes by what is mounted (`--all`): let \
             the job name the mount points to trim."
        )),
    })
}
