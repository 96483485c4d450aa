//! Commands and sentences that several fixes are made of.

use crate::context::Context;
use crate::job_places::{cron_directory_script, crontab_line};
use crate::quiet_slot::QuietSlot;
use crate::{shell, times};
use facts::host::{Job, Platform};

/// Describes the first trim after a long time.
pub(crate) const FIRST_PASS: &str = "fstrim discards everything in one go, and the first pass \
    after a long time has all free space to discard: reads and writes stall meanwhile. Start it in a \
    quiet period, one node after the other.";

/// Describes the first paced trim.
pub(crate) fn planned_first_pass(platform: &Platform) -> String {
    // On Flatcar /usr is read-only, and what is in /etc is lost when a machine is provisioned anew.
    let kept = if platform.distribution.as_deref() == Some("flatcar") {
        " Put what it writes into the Butane configuration as well: a machine that is provisioned anew has none of it."
    } else {
        ""
    };
    format!(
        "The first pass has all free space to discard: what does not fit into one window is resumed in the next.{kept}"
    )
}

/// Describes the loss of a trim job.
pub(crate) const STOP_RISK: &str = "A drive that is never trimmed gets slower as it fills: without a quiet \
    period, online discard (after a test) is what is left.";

/// The word by which an operator declares, in the name of a crontab, a timer or its drop-in, that a trim
/// runs at a quiet time.
pub(crate) const QUIET_NAME: &str = "quiet-time";

/// Whether the operator declared that a trim runs at a quiet time.
pub(crate) fn is_declared_quiet(job: &Job) -> bool {
    let is_named = |name: &String| name.contains(QUIET_NAME);
    let by_timer = job
        .timer
        .as_ref()
        .is_some_and(|timer| is_named(&timer.unit) || timer.drop_ins.iter().any(is_named));
    (by_timer || is_named(&job.defined_in)) && times::default_schedule(job).is_none()
}

/// Formats the request to choose another time.
pub(crate) fn put_in_yours(words: &str) -> String {
    format!(
        "{words} is only an example: use this host's quiet period, and a different night on each node."
    )
}

/// Returns the commands that stop a job and start it again; `None` for users' crontabs, which
/// crontab(1) edits.
pub(crate) fn stop_commands(job: &Job) -> Option<(String, String)> {
    if let Some(timer) = &job.timer {
        let unit = shell::quote(&timer.unit);
        return Some((
            format!("systemctl disable --now {unit}"),
            format!("systemctl enable --now {unit}"),
        ));
    }
    if let Some(script) = cron_directory_script(job) {
        let path = shell::quote(&format!("/{script}"));
        return Some((format!("chmod -x {path}"), format!("chmod +x {path}")));
    }
    let (file, line) = crontab_line(job)?;
    Some((
        format!("sed -i '{line}s/^/#/' {file}"),
        format!("sed -i '{line}s/^#//' {file}"),
    ))
}

/// Describes what a plan does.
pub(crate) fn plan_text(what: &str) -> String {
    format!(
        "{what}: `trimtab plan` writes a timer for `trimtab trim`, which discards in small steps and waits while the drives \
         are busy, and ends what else trims the filesystem. Its slot is away from this host's heavy jobs; --window and \
         --days are your quiet hours, and --peers gives each node of a cluster a slot of its own. Without --apply it only \
         shows what it would change."
    )
}

/// Returns the commands that plan the trim of mounts, and that take it back.
pub(crate) fn plan_commands(mount_points: &[&str], may_edit_fstab: bool) -> (String, String) {
    let mounts: Vec<String> = mount_points
        .iter()
        .map(|point| shell::operand(point))
        .collect();
    let fstab = if may_edit_fstab { "--fstab " } else { "" };
    (
        format!("trimtab plan --apply {fstab}{}", mounts.join(" ")),
        "trimtab plan --undo".to_owned(),
    )
}

/// Returns commands that create a job, and that remove it.
pub(crate) fn new_job(
    cx: &Context<'_>,
    name: &str,
    line: &str,
    slot: QuietSlot,
) -> (String, String) {
    if cx.host.platform.systemd == Some(true) {
        let unit = format!("/etc/systemd/system/{name}");
        let calendar = slot.calendar();
        (
            format!(
                "printf '%s\\n' '[Service]' 'Type=oneshot' 'ExecStart={line}' > {unit}.service && \
                 printf '%s\\n' '[Timer]' 'OnCalendar={calendar}' '[Install]' \
                 'WantedBy=timers.target' > {unit}.timer && systemctl daemon-reload \
                 && systemctl enable --now {name}.timer"
            ),
            format!(
                "systemctl disable --now {name}.timer && rm {unit}.service {unit}.timer && \
                 systemctl daemon-reload"
            ),
        )
    } else {
        let cron = slot.cron();
        (
            format!("printf '%s\\n' '{cron} root {line}' > /etc/cron.d/{name}"),
            format!("rm /etc/cron.d/{name}"),
        )
    }
}

/// Returns `trim-data-es` for `/data/es`, so that the jobs of two mounts do not overwrite each
/// other. cron ignores files with a dot in their name.
pub(crate) fn job_name(mount_point: &str) -> String {
    let words: Vec<&str> = mount_point
        .split(['/', '.'])
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return "trim-root".to_owned();
    }
    format!("trim-{}", words.join("-"))
}
