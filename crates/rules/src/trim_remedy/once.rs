//! Fixes for a filesystem that one run trims several times.

use crate::trim_jobs::turns::Pass;
use crate::trim_jobs::{NOTRIM, supports_notrim};
use crate::{fstab_edit, shell, wording};
use facts::host::Job;
use facts::{Host, Remedy};

/// Leaves all but one of a filesystem's trims in a run out.
pub(crate) fn trim_once(host: &Host, job: &Job, passes: &[Pass<'_>]) -> Remedy {
    // A mount of the device, or fstab's missing root, reaches the whole filesystem whatever happens to the
    // directories that are mounted elsewhere.
    let kept = passes.iter().position(|pass| !pass.is_bind()).unwrap_or(0);
    let others = passes
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != kept);
    let others: Vec<_> = others.filter_map(|(_, pass)| pass.entry).collect();
    let point = shell::printable(passes[kept].mount_point);
    let Some(first) = others.first() else {
        return Remedy::advice(format!(
            "Let the job in {} trim one of them, such as {point}.",
            shell::printable(&job.defined_in)
        ));
    };
    if host.platform.distribution.as_deref() == Some("nixos") {
        return Remedy::advice(format!(
            "NixOS writes fstab: add \"{NOTRIM}\" to the options of all of these `fileSystems` but {point}, \
             such as `fileSystems.\"{}\".options = [ \"bind\" \"{NOTRIM}\" ];`.",
            shell::printable(&first.mount_point)
        ));
    }
    let numbers: Vec<u64> = others.iter().map(|entry| entry.line).collect();
    let lines: Vec<String> = numbers.iter().map(u64::to_string).collect();
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    let lines = format!("{noun} {}", wording::list(&lines));
    if !supports_notrim(&host.platform) {
        return Remedy::advice(format!(
            "Keep fstab's line for {point}. In {lines}, give bind mounts the type `none`, as in mount(8), \
             which fstrim skips, and mounts of the device the same source as {point} has. ({NOTRIM} is known \
             from util-linux 2.38 on, which this host may not have.)"
        ));
    }
    let edits: Vec<(u64, &str)> = numbers.iter().map(|line| (*line, NOTRIM)).collect();
    let text =
        format!("Keep fstab's line for {point}, and have fstrim leave {lines} out by {NOTRIM}.");
    let (edit, undo) = fstab_edit::append_to_lines(host, &edits);
    Remedy::command(text, edit)
        .risk("fstrim supports the option from util-linux 2.38 on.")
        .undo(undo)
}
