//! The fixes that rules print about trims, with their wording and commands: replace a job by a paced
//! trim, move it to a quiet time, start one, stop one.

mod elsewhere;
mod once;
mod online;
mod parts;

use crate::context::Context;
use crate::job_places::{cron_directory_script, crontab_line, is_plain};
use crate::quiet_slot::QuietSlot;
use crate::trim_jobs::{Miss, NOTRIM, TrimJob, supports_notrim};
use crate::trim_plan::ending;
use crate::trim_state;
use crate::volume::Volume;
use crate::{fstab_edit, shell};
use facts::host::{Job, Mount};
use facts::{Host, Remedy};

pub(crate) use elsewhere::{compact_vhdx, elsewhere, is_wsl};
pub(crate) use once::trim_once;
pub(crate) use online::{
    discard_and_leave_out, mount_with_discard, mount_without_discard, paced_without_discard,
};
pub(crate) use parts::{FIRST_PASS, is_declared_quiet};
use parts::{
    QUIET_NAME, STOP_RISK, job_name, new_job, plan_commands, plan_text, planned_first_pass,
    put_in_yours, stop_commands,
};

/// Returns the drop-in directory of a timer. The file sorts after `override.conf`, which
/// `systemctl edit` writes, so it takes precedence.
fn drop_in_dir(unit: &str) -> String {
    format!("/etc/systemd/system/{unit}.d")
}

/// Returns the command that writes the drop-in with another calendar for a timer.
///
/// It sets `Persistent=false`, because otherwise a missed run starts minutes after boot, when
/// caches are cold and shards recover.
fn write_drop_in(unit: &str, slot: QuietSlot) -> String {
    let dir = shell::quote(&drop_in_dir(unit));
    let file = shell::quote(&format!("{}/{QUIET_NAME}.conf", drop_in_dir(unit)));
    let calendar = slot.calendar();
    format!(
        "mkdir -p {dir} && printf '%s\\n' '[Timer]' 'OnCalendar=' 'OnCalendar={calendar}' \
         'AccuracySec=1min' 'RandomizedDelaySec=1h' 'Persistent=false' > {file} && \
         systemctl daemon-reload"
    )
}

fn remove_drop_in(unit: &str) -> String {
    let file = shell::quote(&format!("{}/{QUIET_NAME}.conf", drop_in_dir(unit)));
    format!("rm {file} && systemctl daemon-reload")
}

/// Enables an existing timer at a quiet time.
pub(crate) fn enable_timer(unit: &str, slot: QuietSlot) -> Remedy {
    let timer = shell::quote(unit);
    Remedy::command(
        format!(
            "Enable it, and set its time in an override (as `systemctl edit {timer}` does). {}",
            put_in_yours(&slot.start_words())
        ),
        format!(
            "{} && systemctl enable --now {timer}",
            write_drop_in(unit, slot)
        ),
    )
    .risk(FIRST_PASS)
    .undo(format!(
        "systemctl disable --now {timer} && {}",
        remove_drop_in(unit)
    ))
}

/// Gives an active timer another calendar.
pub(crate) fn reschedule_timer(unit: &str, slot: QuietSlot, text: impl Into<String>) -> Remedy {
    let (command, undo) = reschedule_commands(unit, slot);
    Remedy::command(text, command)
        .risk("A run that is missed while the host is off is not made up for.")
        .undo(undo)
}

/// Returns the commands that give an active timer another calendar, and that take it back.
fn reschedule_commands(unit: &str, slot: QuietSlot) -> (String, String) {
    let restart = format!("systemctl restart {}", shell::quote(unit));
    (
        format!("{} && {restart}", write_drop_in(unit, slot)),
        format!("{} && {restart}", remove_drop_in(unit)),
    )
}

/// Moves a trim job to a quiet time, depending on what starts it.
pub(crate) fn move_to_quiet_time(job: &Job, slot: QuietSlot) -> Remedy {
    let start = put_in_yours(&slot.start_words());
    if let Some(timer) = &job.timer {
        let text = format!("Move it to a quiet period by an override. {start}");
        return reschedule_timer(&timer.unit, slot, text);
    }
    let cron = slot.cron();
    if let Some(script) = cron_directory_script(job) {
        let from = shell::quote(&format!("/{script}"));
        return Remedy::command(
            format!(
                "Move it to a quiet period: take the script out of its cron directory and give it \
                 a line of its own. {start}"
            ),
            format!(
                "mv {from} /usr/local/sbin/trim-at-{QUIET_NAME} && printf '%s\\n' \
                 '{cron} root /usr/local/sbin/trim-at-{QUIET_NAME}' \
                 > /etc/cron.d/trim-at-{QUIET_NAME}"
            ),
        )
        .risk("anacron no longer makes up for a run that was missed while the host was off.")
        .undo(format!(
            "rm /etc/cron.d/trim-at-{QUIET_NAME} && mv /usr/local/sbin/trim-at-{QUIET_NAME} {from}"
        ));
    }
    if let Some((file, line)) = crontab_line(job) {
        let fields = "@[a-z]+|([^[:blank:]]+[[:blank:]]+){4}[^[:blank:]]+";
        return Remedy::command(
            format!(
                "Move it to a quiet period, into a file whose name tells trimtab that its time is \
                 quiet. {start}"
            ),
            format!(
                "sed -nE '{line}s/^[[:blank:]]*({fields})/{cron}/p' {file} \
                 > /etc/cron.d/trim-at-{QUIET_NAME} && sed -i '{line}s/^/#/' {file}"
            ),
        )
        .risk("Variables that the old crontab sets, such as PATH, do not apply to the new file.")
        .undo(format!(
            "sed -i '{line}s/^#//' {file} && rm /etc/cron.d/trim-at-{QUIET_NAME}"
        ));
    }
    Remedy::advice(format!(
        "Move it to a quiet period: take its line out of {} and give it a file of its own, \
         /etc/cron.d/trim-at-{QUIET_NAME}, whose name tells trimtab that its time is quiet, for \
         example `{cron}` for {}, and another night on each node.",
        shell::printable(&job.defined_in),
        slot.start_words()
    ))
}

/// Moves one of several jobs that meet to a different night.
pub(crate) fn move_apart(job: &Job, slot: QuietSlot) -> Remedy {
    let name = shell::printable(&job.name);
    match &job.timer {
        Some(timer) => reschedule_timer(
            &timer.unit,
            slot,
            format!(
                "Give {name} a night of its own by an override, for example {}.",
                slot.start_words()
            ),
        ),
        None if cron_directory_script(job).is_some() => Remedy::advice(format!(
            "Give {name} a night of its own: take the script out of its cron directory and start it \
             by a line of its own in /etc/cron.d, for example `{}` for {}.",
            slot.cron(),
            slot.start_words()
        )),
        None => Remedy::advice(format!(
            "Give {name} a night of its own: change the time fields in {}, for example to `{}` for \
             {}.",
            shell::printable(&job.defined_in),
            slot.cron(),
            slot.start_words()
        )),
    }
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

/// Trims one mount by fstrim, at a time that is declared to be quiet.
pub(crate) fn fstrim_at_quiet_time(cx: &Context<'_>, mount: &Mount, slot: QuietSlot) -> Remedy {
    let text = format!(
        "Trim it with fstrim, in one go. {}",
        put_in_yours(&slot.window_words())
    );
    let mount_point = &mount.mount_point;
    if !is_plain(mount_point) {
        return Remedy::advice(text).risk(FIRST_PASS);
    }
    let name = format!("{}-at-{QUIET_NAME}", job_name(mount_point));
    let (command, undo) = new_job(cx, &name, &format!("/sbin/fstrim {mount_point}"), slot);
    Remedy::command(text, command).risk(FIRST_PASS).undo(undo)
}

/// Trims one mount point once, paced.
pub(crate) fn trim_paced(volume: &Volume<'_>, slot: QuietSlot) -> Remedy {
    let window = slot.window();
    Remedy::command(
        format!(
            "Trim it with `trimtab trim`, which discards in small steps and waits while the drives \
             are busy. Run it in a quiet period (replace {window} with yours), one node at a time."
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
pub(crate) fn add_to_trim(
    host: &Host,
    mount: &Mount,
    trim: &TrimJob<'_>,
    miss: &Miss,
    slot: QuietSlot,
) -> Remedy {
    let job = trim.job;
    // At the default time, the job would stall the store that it reaches from now on.
    let quiet = job
        .timer
        .as_ref()
        .filter(|_| !is_declared_quiet(job))
        .map(|timer| {
            let (command, undo) = reschedule_commands(&timer.unit, slot);
            (format!(" && {command}"), format!(" && {undo}"))
        });
    let at_quiet_time = if quiet.is_some() {
        format!(" and move the timer: {}", put_in_yours(&slot.start_words()))
    } else {
        ".".to_owned()
    };
    let (quiet, loud) = quiet.unwrap_or_default();
    match miss {
        Miss::NotInFstab | Miss::FstabTypeNone { .. } => {}
        Miss::NoTrim { line } => {
            let option = NOTRIM.replace('.', "\\.");
            let (edit, undo) = fstab_edit::remove_option(host, *line, &option);
            return Remedy::command(
                format!("Remove {NOTRIM} from line {line} of fstab{at_quiet_time}"),
                format!("{edit}{quiet}"),
            )
            .risk(FIRST_PASS)
            .undo(format!("{undo}{loud}"));
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
            return Remedy::advice(format!(
                "Change the command in {}: {}.",
                shell::printable(&job.defined_in),
                miss.reason()
            ));
        }
    }
    match &job.timer {
        Some(timer) if is_plain(&mount.mount_point) => {
            let dir = format!("/etc/systemd/system/{}.d", timer.activates);
            let file = shell::quote(&format!("{dir}/{}.conf", job_name(&mount.mount_point)));
            Remedy::command(
                format!(
                    "Add it to what the service trims, by a drop-in (an fstab line for it does \
                     the same, and is read at boot as well){at_quiet_time}"
                ),
                format!(
                    "mkdir -p {} && printf '%s\\n' '[Service]' \
                     'ExecStart=-/sbin/fstrim --verbose {}' > {file} && systemctl daemon-reload{quiet}",
                    shell::quote(&dir),
                    mount.mount_point
                ),
            )
            .risk(FIRST_PASS)
            .undo(format!("rm {file} && systemctl daemon-reload{loud}"))
        }
        Some(_) => Remedy::advice(
            "Add a line for it to /etc/fstab, or a second `ExecStart=` to the service by a \
             drop-in.",
        )
        .risk(FIRST_PASS),
        None => Remedy::advice(format!(
            "Let {} call `fstrim --all`, which goes by what is mounted, or add a line for this \
             mount to /etc/fstab.",
            shell::printable(&job.defined_in)
        ))
        .risk(FIRST_PASS),
    }
}

#[cfg(test)]
mod tests;
