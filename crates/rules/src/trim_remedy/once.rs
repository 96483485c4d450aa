//! The fix for a filesystem that one run trims several times.

use crate::trim_jobs::NOTRIM;
use crate::trim_jobs::turns::Pass;
use crate::{shell, wording};
use facts::Remedy;
use facts::host::Job;

/// Leaves all but one of a filesystem's trims in a run out.
pub(crate) fn trim_once(job: &Job, passes: &[Pass<'_>]) -> Remedy {
    // A mount of the device, or fstab's missing root, reaches the whole filesystem whatever happens to the
    // directories that are mounted elsewhere.
    let kept = passes.iter().position(|pass| !pass.is_bind()).unwrap_or(0);
    let point = shell::printable(passes[kept].mount_point);
    let others = passes.iter().enumerate().filter(|(at, _)| *at != kept);
    let lines: Vec<String> = others
        .filter_map(|(_, pass)| Some(pass.entry?.line.to_string()))
        .collect();
    Remedy::advice(if lines.is_empty() {
        format!(
            "Let the job in {} trim one of them, such as {point}.",
            shell::printable(&job.defined_in)
        )
    } else {
        let noun = if lines.len() == 1 { "line" } else { "lines" };
        format!(
            "Keep fstab's line for {point}, and add {NOTRIM} (util-linux 2.38 and later) to {noun} {}, or give bind \
             mounts there the type `none`, which fstrim skips.",
            wording::list(&lines)
        )
    })
}
