//! The fixes that rules print about trims, with their wording and commands: replace a job by a paced
//! trim, move it to a quiet time, start one, stop one.

use crate::context::Volume;
use crate::trim_jobs::{Miss, NOTRIM, TrimJob, supports_notrim};
use crate::{fstab_edit, shell};
use facts::host::{Job, Mount};
use facts::{Host, Remedy};
use std::fmt::Write as _;

/// When the recommended commands trim: a placeholder for the quiet period, which only the operator
/// knows.
pub(crate) const QUIET_CALENDAR: &str = "Sun *-*-* 03:00:00";
/// The same in crontab syntax.
const QUIET_CRON: &str = "0 3 * * 0";
/// The same for a sentence.
pub(crate) const QUIET_WORDS: &str = "Sunday 03:00 to 04:00";

/// Describes the first trim after a long time.
pub(crate) const FIRST_PASS: &str = "The first pass after a long time has all free space to \
    discard. It takes long, and reads and writes stall meanwhile: start it in a quiet period, one \
    node after the other.";

/// When a paced trim may run.
const WINDOW: &str = "03:00-05:00";
const WINDOW_WORDS: &str = "Sunday 03:00 to 05:00";
/// Describes a paced trim, to end a sentence.
const PACED: &str = "which discards in small steps and waits while the drives are busy";
/// Describes the first paced trim.
const PACED_FIRST_PASS: &str = "trimtab has to be installed as /usr/bin/trimtab. The first pass \
has all \
    free space to discard: what does not fit into one window is resumed in the next.";

/// Returns the drop-in directory of a timer. The file sorts after `override.conf`, which
/// `systemctl edit` writes, so it takes precedence.
fn drop_in_dir(unit: &str) -> String {
    format!("/etc/systemd/system/{unit}.d")
}

/// Returns the command that writes the drop-in with another calendar for a timer.
///
/// It sets `Persistent=false`, because otherwise a missed run starts minutes after boot, when
/// caches are cold and shards recover.
fn write_drop_in(unit: &str, calendar: &str, random_delay: &str) -> String {
    let dir = shell::quote(&drop_in_dir(unit));
    let file = shell::quote(&format!("{}/quiet-time.conf", drop_in_dir(unit)));
    format!(
        "mkdir -p {dir} && printf '%s\\n' '[Timer]' 'OnCalendar=' 'OnCalendar={calendar}' \
         'AccuracySec=1min' 'RandomizedDelaySec={random_delay}' 'Persistent=false' > {file} && \
         systemctl daemon-reload"
    )
}

fn remove_drop_in(unit: &str) -> String {
    let file = shell::quote(&format!("{}/quiet-time.conf", drop_in_dir(unit)));
    format!("rm {file} && systemctl daemon-reload")
}

/// Enables an existing timer at a quiet time.
pub(crate) fn enable_timer(unit: &str) -> Remedy {
    let timer = shell::quote(unit);
    Remedy::command(
        format!(
            "Enable it, and set its time in an override (as `systemctl edit {timer}` does). \
             {QUIET_WORDS} stands for this host's quiet period: put in yours, and another night \
             on each node."
        ),
        format!(
            "{} && systemctl enable --now {timer}",
            write_drop_in(unit, QUIET_CALENDAR, "1h")
        ),
    )
    .risk(FIRST_PASS)
    .undo(format!(
        "systemctl disable --now {timer} && {}",
        remove_drop_in(unit)
    ))
}

/// Gives an active timer another calendar.
pub(crate) fn reschedule_timer(unit: &str, calendar: &str, text: impl Into<String>) -> Remedy {
    let timer = shell::quote(unit);
    Remedy::command(
        text,
        format!(
            "{} && systemctl restart {timer}",
            write_drop_in(unit, calendar, "1h")
        ),
    )
    .risk("A run that is missed while the host is off is not made up for.")
    .undo(format!(
        "{} && systemctl restart {timer}",
        remove_drop_in(unit)
    ))
}

/// Moves a trim job to a quiet time, depending on what starts it.
pub(crate) fn move_to_quiet_time(job: &Job) -> Remedy {
    if let Some(timer) = &job.timer {
        return reschedule_timer(
            &timer.unit,
            QUIET_CALENDAR,
            format!(
                "Or move it to a quiet period by an override. {QUIET_WORDS} stands for this host's: \
                 put in yours, and another night on each node."
            ),
        );
    }
    if let Some(script) = cron_directory_script(job) {
        let from = shell::quote(&format!("/{script}"));
        return Remedy::command(
            format!(
                "Or move it to a quiet period: take the script out of its cron directory and give it \
                 a line of its own. {QUIET_WORDS} stands for this host's quiet period: put in yours, \
                 and another night on each node."
            ),
            format!(
                "mv {from} /usr/local/sbin/trim-at-quiet-time && printf '%s\\n' \
                 '{QUIET_CRON} root /usr/local/sbin/trim-at-quiet-time' \
                 > /etc/cron.d/trim-at-quiet-time"
            ),
        )
        .risk("anacron no longer makes up for a run that was missed while the host was off.")
        .undo(format!(
            "rm /etc/cron.d/trim-at-quiet-time && mv /usr/local/sbin/trim-at-quiet-time {from}"
        ));
    }
    Remedy::advice(format!(
        "Or move it to a quiet period: change the time fields in {}, for example to `{QUIET_CRON}` \
         for Sunday 03:00, and to another night on each node.",
        shell::printable(&job.defined_in)
    ))
}

/// Moves one of several jobs that meet to a different night.
pub(crate) fn move_apart(job: &Job) -> Remedy {
    let name = shell::printable(&job.name);
    match &job.timer {
        Some(timer) => reschedule_timer(
            &timer.unit,
            APART_CALENDAR,
            format!("Give {name} a night of its own by an override, for example {APART_WORDS}."),
        ),
        None if cron_directory_script(job).is_some() => Remedy::advice(format!(
            "Give {name} a night of its own: take the script out of its cron directory and start it \
             by a line of its own in /etc/cron.d."
        )),
        None => Remedy::advice(format!(
            "Give {name} a night of its own: change the time fields in {}.",
            shell::printable(&job.defined_in)
        )),
    }
}

/// Another night than [`QUIET_CALENDAR`].
const APART_CALENDAR: &str = "Wed *-*-* 03:00:00";
const APART_WORDS: &str = "Wednesday 03:00";

/// Stops a trim job.
pub(crate) fn stop(job: &Job, text: &str) -> Remedy {
    const RISK: &str = "A drive that is never trimmed gets slower as it fills: without a quiet \
                        period, online discard (after a test) is what is left.";
    if let Some(timer) = &job.timer {
        let unit = shell::quote(&timer.unit);
        return Remedy::command(text, format!("systemctl disable --now {unit}"))
            .risk(RISK)
            .undo(format!("systemctl enable --now {unit}"));
    }
    if let Some(script) = cron_directory_script(job) {
        let path = shell::quote(&format!("/{script}"));
        return Remedy::command(text, format!("chmod -x {path}"))
            .risk(RISK)
            .undo(format!("chmod +x {path}"));
    }
    Remedy::advice(format!(
        "{text} It is defined in {}.",
        shell::printable(&job.defined_in)
    ))
    .risk(RISK)
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

/// Trims one mount point weekly by a separate, paced job.
pub(crate) fn trim_mount(mount_point: &str, systemd: bool) -> Remedy {
    let text = format!(
        "Trim it with `trimtab trim`, {PACED}. {WINDOW_WORDS} stands for this host's quiet period: \
         put in \
         yours, and another night on each node."
    );
    // Unit files and crontabs each have their own quoting rules; names that need quoting are left
    // to the operator.
    if !is_plain(mount_point) {
        return Remedy::advice(text).risk(PACED_FIRST_PASS);
    }
    let (command, undo) = paced_job(&job_name(mount_point), mount_point, systemd);
    Remedy::command(text, command)
        .risk(PACED_FIRST_PASS)
        .undo(undo)
}

/// Trims one mount point once, paced.
pub(crate) fn trim_paced(volume: &Volume<'_>) -> Remedy {
    Remedy::command(
        format!(
            "Trim it with `trimtab trim`, {PACED}: in a quiet period, for which {WINDOW} stands \
             here, and \
             one node after the other."
        ),
        format!(
            "trimtab trim --window {WINDOW} {}",
            shell::operand(&volume.mount.mount_point)
        ),
    )
    .risk("What does not fit into one window is resumed in the next.")
}

/// Replaces a job that trims all free space at once by a paced trim.
pub(crate) fn replace_by_paced(trim: &TrimJob<'_>, mount_point: &str, systemd: bool) -> Remedy {
    let mut text = format!(
        "Let `trimtab trim` do it, {PACED}. {WINDOW_WORDS} stands for this host's quiet period: put in \
         yours, and another night on each node."
    );
    let is_alone = trim.names_only(mount_point);
    if is_alone && !is_plain(mount_point) {
        return Remedy::advice(text).risk(PACED_FIRST_PASS);
    }
    let (name, what) = if is_alone {
        (job_name(mount_point), mount_point)
    } else {
        // The job also trims other mounts.
        ("trim-all".to_owned(), "--all --yes")
    };
    let (mut command, mut undo) = paced_job(&name, what, systemd);
    let stopped = stop(trim.job, "");
    if let (Some(stop), Some(start)) = (stopped.command, stopped.undo) {
        command = format!("{command} && {stop}");
        undo = format!("{start} && {undo}");
    } else {
        let place = shell::printable(&trim.job.defined_in);
        let _ = write!(text, " Then remove the old job from {place}.");
    }
    Remedy::command(text, command)
        .risk(PACED_FIRST_PASS)
        .undo(undo)
}

/// Returns commands that create a weekly job for `trimtab trim`, and that remove it.
fn paced_job(name: &str, what: &str, systemd: bool) -> (String, String) {
    let trim = format!("/usr/bin/trimtab trim --window {WINDOW} {what}");
    if systemd {
        let unit = format!("/etc/systemd/system/{name}");
        (
            format!(
                "printf '%s\\n' '[Service]' 'Type=oneshot' 'ExecStart={trim}' > {unit}.service && \
                 printf '%s\\n' '[Timer]' 'OnCalendar={QUIET_CALENDAR}' '[Install]' \
                 'WantedBy=timers.target' > {unit}.timer && systemctl daemon-reload \
                 && systemctl enable --now {name}.timer"
            ),
            format!(
                "systemctl disable --now {name}.timer && rm {unit}.service {unit}.timer && \
                 systemctl daemon-reload"
            ),
        )
    } else {
        (
            format!("printf '%s\\n' '{QUIET_CRON} root {trim}' > /etc/cron.d/{name}"),
            format!("rm /etc/cron.d/{name}"),
        )
    }
}

/// Whether a mount point needs no quoting in unit files and crontabs.
fn is_plain(mount_point: &str) -> bool {
    mount_point
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "/_.-".contains(c))
}

/// Returns `trim-data-es` for `/data/es`, so that the jobs of two mounts do not overwrite each
/// other. cron ignores files with a dot in their name.
fn job_name(mount_point: &str) -> String {
    let words: Vec<&str> = mount_point
        .split(['/', '.'])
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return "trim-root".to_owned();
    }
    format!("trim-{}", words.join("-"))
}

/// Enables online discard for the filesystem, for hosts without a quiet period.
pub(crate) fn mount_with_discard(mount: &Mount) -> Remedy {
    let mount_point = shell::quote(&mount.mount_point);
    let text = "If there is no quiet period, mount it with `discard` instead, after a test under \
                load, and do not trim it periodically as well.";
    // XFS only accepts the option at mount time.
    let remedy = if mount.fs_type == "xfs" {
        Remedy::advice(format!(
            "{text} XFS does not take the option by a remount: put it into fstab, stop the store, \
             unmount and mount."
        ))
    } else {
        Remedy::command(
            format!("{text} Put the option into fstab, too."),
            format!("mount -o remount,discard {mount_point}"),
        )
        .undo(format!("mount -o remount,nodiscard {mount_point}"))
    };
    remedy.risk(
        "Deletions of much data at once send many discards at once; on SATA drives without queued \
         TRIM each of them waits for the queue to drain.",
    )
}

/// Removes `discard` from the options of a mount, in fstab and on the mounted filesystem.
pub(crate) fn mount_without_discard(host: &Host, mount: &Mount) -> Remedy {
    const RISK: &str = "From then on only a periodic trim tells the drive what is free: make sure \
                        that one reaches this mount.";
    let text =
        "Take `discard` out of the mount's options and keep a periodic trim at a quiet time.";
    let mount_point = shell::quote(&mount.mount_point);
    let edit = fstab_edit::entry_of(host, mount)
        .filter(|entry| crate::trim_jobs::has_option(entry, "discard"))
        .map(|entry| {
            (
                fstab_edit::remove_option(host, entry.line, "discard[=a-z]*"),
                fstab_edit::undo(host, entry.line),
            )
        });
    // xfs_fs_reconfigure() leaves the option unchanged.
    if mount.fs_type == "xfs" {
        let again = if mount.mount_point == "/" {
            "reboot".to_owned()
        } else {
            format!(
                "stop the store, unmount {} and mount it again",
                shell::printable(&mount.mount_point)
            )
        };
        let text = format!("{text} XFS does not take that by a remount: {again}.");
        return match edit {
            Some((edit, undo_edit)) => Remedy::command(text, edit).undo(undo_edit),
            None => Remedy::advice(format!(
                "{text} fstab does not set it: look in its mount unit."
            )),
        }
        .risk(RISK);
    }
    let remount = format!("mount -o remount,nodiscard {mount_point}");
    let undo = format!("mount -o remount,discard {mount_point}");
    match edit {
        Some((edit, undo_edit)) => Remedy::command(text, format!("{edit} && {remount}"))
            .undo(format!("{undo_edit} && {undo}")),
        None => Remedy::command(
            format!(
                "{text} fstab does not set it, so it comes back at the next mount: {ELSEWHERE}"
            ),
            remount,
        )
        .undo(undo),
    }
    .risk(RISK)
}

const ELSEWHERE: &str = "look in the unit, the kernel's command line (`rootflags=`) or the \
                         filesystem's default options (`tune2fs -l`).";

/// Excludes a mount from the periodic trim and keeps online discard.
pub(crate) fn leave_out_of_trim(host: &Host, mount: &Mount, reaching: &[&TrimJob<'_>]) -> Remedy {
    let text = "Without a quiet period, keep `discard` and leave the mount out of the periodic \
                trim.";
    let by_fstab = reaching.iter().all(|trim| trim.goes_by_fstab());
    let entry = fstab_edit::entry_of(host, mount).filter(|_| by_fstab);
    match entry {
        Some(entry) if supports_notrim(&host.platform) => {
            Remedy::command(text, fstab_edit::append_option(host, entry.line, NOTRIM))
                .risk("fstrim knows the option since util-linux 2.38.")
                .undo(fstab_edit::undo(host, entry.line))
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
    }
}

/// Makes the job for all mounts include one that it misses.
pub(crate) fn add_to_trim(host: &Host, mount: &Mount, trim: &TrimJob<'_>, miss: &Miss) -> Remedy {
    match miss {
        Miss::NotInFstab => {}
        Miss::NoTrim { line } => {
            return Remedy::command(
                format!("To have it trimmed, remove {NOTRIM} from line {line} of fstab."),
                fstab_edit::remove_option(host, *line, &NOTRIM.replace('.', "\\.")),
            )
            .risk(FIRST_PASS)
            .undo(fstab_edit::undo(host, *line));
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
                shell::printable(&trim.job.defined_in),
                miss.reason()
            ));
        }
    }
    match &trim.job.timer {
        Some(timer) if is_plain(&mount.mount_point) => {
            let dir = format!("/etc/systemd/system/{}.d", timer.activates);
            let file = shell::quote(&format!("{dir}/{}.conf", job_name(&mount.mount_point)));
            Remedy::command(
                "Add it to what the service trims, by a drop-in. (An fstab line for it does the \
                 same, and is read at boot as well.)",
                format!(
                    "mkdir -p {} && printf '%s\\n' '[Service]' \
                     'ExecStart=-/sbin/fstrim --verbose {}' > {file} && systemctl daemon-reload",
                    shell::quote(&dir),
                    mount.mount_point
                ),
            )
            .risk(FIRST_PASS)
            .undo(format!("rm {file} && systemctl daemon-reload"))
        }
        Some(_) => Remedy::advice(
            "Add a line for it to /etc/fstab, or a second `ExecStart=` to the service by a drop-in.",
        )
        .risk(FIRST_PASS),
        None => Remedy::advice(format!(
            "Let {} call `fstrim --all`, which goes by what is mounted, or add a line for this \
             mount to /etc/fstab.",
            shell::printable(&trim.job.defined_in)
        ))
        .risk(FIRST_PASS),
    }
}

/// Returns `etc/cron.weekly/fstrim` if that defines the job.
fn cron_directory_script(job: &Job) -> Option<&str> {
    let (directory, script) = job.defined_in.rsplit_once('/')?;
    let is_cron_directory = matches!(
        directory,
        "etc/cron.hourly" | "etc/cron.daily" | "etc/cron.weekly" | "etc/cron.monthly"
    );
    (is_cron_directory && !script.is_empty()).then_some(job.defined_in.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;
    use crate::test_host::{TestHost, nvme};
    use crate::test_jobs::{cron_job, cron_weekly, fstrim_timer, jobs};
    use crate::trim_jobs::TrimJobs;
    use std::process::Command;

    /// Asserts that bash can parse every command and undo.
    fn assert_parses(remedy: &Remedy) {
        for script in [&remedy.command, &remedy.undo].into_iter().flatten() {
            let Ok(status) = Command::new("bash").args(["-n", "-c", script]).status() else {
                return; // no bash on this machine
            };
            assert!(status.success(), "{script}");
        }
    }

    #[test]
    fn commands_are_shell() {
        for job in [
            fstrim_timer(),
            cron_weekly("fstrim", "fstrim --all"),
            cron_weekly("f'; reboot; '", "fstrim --all"),
            cron_job("/etc/crontab:9", "0 0 * * *", "fstrim -a"),
        ] {
            assert_parses(&move_to_quiet_time(&job));
            assert_parses(&stop(&job, "Stop it."));
        }
        assert_parses(&enable_timer("fstrim.timer"));
        assert_parses(&enable_timer("a b'.timer"));
        assert_parses(&trim_mount("/data", true));
        assert_parses(&trim_mount("/data", false));
        let all = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "xfs", "rw")
            .with(jobs(vec![
                fstrim_timer(),
                cron_weekly("f'; reboot; '", "fstrim --all"),
                cron_job("/etc/crontab:9", "0 0 * * *", "fstrim /data"),
            ]))
            .build();
        for trim in &TrimJobs::of(&Context::new(&all)).expect("jobs").jobs {
            assert_parses(&replace_by_paced(trim, "/data", true));
            assert_parses(&replace_by_paced(trim, "/data", false));
        }
    }

    #[test]
    fn the_jobs_of_two_mounts_do_not_overwrite_each_other() {
        let file = |mount_point| {
            let command = trim_mount(mount_point, false).command.expect("a command");
            command.rsplit('/').next().map(str::to_owned)
        };
        assert_eq!(file("/data").as_deref(), Some("trim-data"));
        assert_eq!(file("/data/es.1/").as_deref(), Some("trim-data-es-1"));
        assert_eq!(file("/").as_deref(), Some("trim-root"));
    }

    #[test]
    fn the_override_resets_the_calendar_first() {
        let command = enable_timer("fstrim.timer").command.expect("a command");
        let reset = command.find("'OnCalendar='").expect("the reset");
        let own = command
            .find("'OnCalendar=Sun *-*-* 03:00:00'")
            .expect("ours");
        assert!(reset < own);
        assert!(command.ends_with("&& systemctl enable --now fstrim.timer"));
    }

    #[test]
    fn odd_mount_points_are_left_to_the_operator() {
        assert!(trim_mount("/da%ta", false).command.is_none());
        assert!(trim_mount("/x'; reboot", true).command.is_none());
    }

    #[test]
    fn a_crontab_line_is_edited_in_place() {
        let job = cron_job("/etc/crontab:9", "0 0 * * *", "fstrim -a");
        let remedy = move_to_quiet_time(&job);
        assert_eq!(remedy.command, None);
        assert!(remedy.text.contains("etc/crontab:9"), "{}", remedy.text);
    }
}
