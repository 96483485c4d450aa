//! Fixes that switch online discard on or off.

use super::parts::{plan_commands, plan_text, planned_first_pass};
use crate::context::Context;
use crate::trim_jobs::{NOTRIM, TrimJob, has_option};
use crate::trim_state::{OnlineDiscard, online_discard, unqueued_trim};
use crate::volume::Volume;
use crate::{fstab_edit, shell};
use facts::Remedy;
use facts::host::Mount;

const DELETIONS_RISK: &str = "Deletions of much data at once send many discards at once.";

/// Lets the filesystem discard online, for hosts without a quiet period. `None` where that is never
/// good: on drives whose TRIM is not queued (TRIM005).
pub(crate) fn mount_with_discard(volume: &Volume<'_>) -> Option<Remedy> {
    if has_unqueued_drive(volume) {
        return None;
    }
    let text = format!(
        "If there is no quiet period, mount it with `{}` instead, after a test under load, \
         and do not trim it periodically as well.",
        option_of(volume.mount)
    );
    Some(Remedy::advice(text).risk(DELETIONS_RISK))
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
    let entry = fstab_edit::entry_of(cx.host, mount);
    let Some(entry) = entry.filter(|entry| has_option(entry, "discard")) else {
        // A plan is refused as long as nothing says that the option goes.
        let then = then.map_or_else(String::new, |(command, _)| format!(" Then: {command}"));
        return Remedy::advice(format!(
            "{text} No line of fstab that could be read sets it: look in its mount unit, the kernel's command line \
             (`rootflags=`) and the filesystem's default options (`tune2fs -l`). Until the next mount, \
             `mount -o remount,nodiscard` ends it, but not on XFS.{then}"
        ));
    };
    let mut text = text.to_owned();
    let mut steps = vec![(
        fstab_edit::remove_option(cx.host, entry.line, "discard[=a-z]*"),
        fstab_edit::undo(cx.host, entry.line),
    )];
    // xfs_fs_reconfigure() leaves the option unchanged.
    if mount.fs_type == "xfs" {
        text.push_str(
            " XFS does not take that by a remount: stop the store, unmount it and mount it again, or reboot.",
        );
    } else {
        let mount_point = shell::quote(&mount.mount_point);
        steps.push((
            format!("mount -o remount,nodiscard {mount_point}"),
            format!("mount -o remount,discard {mount_point}"),
        ));
    }
    steps.extend(then);
    let (commands, mut undos): (Vec<String>, Vec<String>) = steps.into_iter().unzip();
    undos.reverse();
    Remedy::command(text, commands.join(" && ")).undo(undos.join(" && "))
}

/// Excludes a mount from the periodic trim, and keeps online discard or switches it on. `None` on drives
/// whose TRIM is not queued (TRIM005).
pub(crate) fn discard_and_leave_out(
    volume: &Volume<'_>,
    reaching: &[&TrimJob<'_>],
) -> Option<Remedy> {
    if has_unqueued_drive(volume) {
        return None;
    }
    let mount = volume.mount;
    let option = option_of(mount);
    let keep = if online_discard(mount) == OnlineDiscard::Off {
        format!("mount it with `{option}`, after a test under load,")
    } else {
        format!("keep `{option}`")
    };
    let how = if reaching
        .iter()
        .all(|trim| trim.names_only(&mount.mount_point))
    {
        "stop the job, which trims nothing else".to_owned()
    } else if reaching.iter().all(|trim| trim.goes_by_fstab()) {
        format!(
            "leave it out of the periodic trim by {NOTRIM} in fstab (util-linux 2.38 and later)"
        )
    } else {
        "let the job name the mount points to trim, without this one".to_owned()
    };
    let text = format!("Without a quiet period, {keep} and {how}.");
    Some(Remedy::advice(text).risk(DELETIONS_RISK))
}
