//! Queries systemd's journal for job runs.

use super::process;
use crate::command::JOURNAL_ENTRIES_MAX;
use crate::unread::Unread;
use jiff::Timestamp;
use linux::run::Ended;
use std::borrow::Cow;
use std::process::Command;
use std::time::{Duration, Instant};

/// Timeout for `journalctl`. It finds entries by an index, in files of several gigabytes.
const DEADLINE: Duration = Duration::from_secs(20);
/// Maximum answer size: twice that of [`JOURNAL_ENTRIES_MAX`] entries of usual length.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Syslog identifiers of cron, anacron and run-parts. In Red Hat 7, the identifier of run-parts
/// includes its directory.
const IDENTIFIERS: [&str; 10] = [
    "CRON",
    "CROND",
    "cron",
    "crond",
    "anacron",
    "run-parts",
    "run-parts(/etc/cron.hourly)",
    "run-parts(/etc/cron.daily)",
    "run-parts(/etc/cron.weekly)",
    "run-parts(/etc/cron.monthly)",
];
/// With more units than this, systemd's messages about all units are requested: a program's
/// arguments must not grow without bound.
const UNITS_MAX: usize = 1_000;

/// Messages to users who may not read the system's journal (`journal_access_check_and_warn()` in
/// systemd's `journal-util.c`).
const REFUSALS: [&str; 2] = ["insufficient permissions", "not seeing messages"];

/// Returns the entries about runs from `since` to `until`, newest first, at most
/// [`JOURNAL_ENTRIES_MAX`] of them, in the format of `journalctl -o json`.
///
/// # Errors
/// Those of [`super::Source::command`]; [`Unread::Denied`] if journalctl reports that it may not
/// read the system's journal.
pub(super) fn ask(units: &[String], since: Timestamp, until: Timestamp) -> Result<Vec<u8>, Unread> {
    run(units, since, until, &process::DIRECTORIES, DEADLINE)
}

fn run(
    units: &[String],
    since: Timestamp,
    until: Timestamp,
    directories: &[&str],
    deadline: Duration,
) -> Result<Vec<u8>, Unread> {
    let program = process::find("journalctl", directories)?;
    let called = Instant::now();
    let call = |command: &mut Command| {
        let timeout = || Unread::no_answer_within(deadline);
        let left = deadline.checked_sub(called.elapsed()).ok_or_else(timeout)?;
        process::run_to_end(command, left, ANSWER_BYTES_MAX).map_err(|unread| match unread {
            Unread::Timeout(_) => timeout(),
            other => other,
        })
    };
    let entries = |more: &[&str]| {
        let mut command = process::in_c_locale(&program);
        command
            .args(["--no-pager", "--output=json", "--reverse"])
            .args(more)
            .arg(format!("--lines={JOURNAL_ENTRIES_MAX}"))
            .arg(format!("--since=@{}", since.as_second()))
            .arg(format!("--until=@{}", until.as_second()))
            .arg("--");
        // Matches on one field are alternatives, and so are those before and after a `+`
        // (journalctl(1)).
        if !units.is_empty() {
            command.args(["_UID=0", "_PID=1"]);
            if units.len() <= UNITS_MAX {
                command.args(units.iter().map(|unit| format!("UNIT={unit}")));
            }
            command.arg("+");
        }
        // The user is a field that only the kernel sets; every user may choose an identifier.
        command.arg("_UID=0");
        command.args(IDENTIFIERS.map(|identifier| format!("SYSLOG_IDENTIFIER={identifier}")));
        call(&mut command)
    };
    let mut ended = entries(&["--output-fields=MESSAGE,MESSAGE_ID,SYSLOG_IDENTIFIER,UNIT,_UID"])?;
    // Before systemd 236, as on Red Hat 7, there is no such option, and entries contain all fields.
    if !ended.status.success() && complaint(&ended).contains("--output-fields") {
        ended = entries(&[])?;
    }
    let is_refused = |ended: &Ended| {
        let complaint = complaint(ended);
        REFUSALS.iter().any(|words| complaint.contains(words))
    };
    if ended.status.success() {
        // With JSON output journalctl is as quiet as with --quiet (`parse_argv()` in
        // `journalctl.c`), and does not report that it may not read the system's journal, or can
        // read only the user's own.
        if !ended.stdout.starts_with(b"{") {
            let mut command = process::in_c_locale(&program);
            command.args(["--no-pager", "--output=short", "--lines=0"]);
            let told = call(&mut command)?;
            if is_refused(&told) {
                return Err(Unread::Denied);
            }
        }
        return Ok(ended.stdout);
    }
    if is_refused(&ended) {
        return Err(Unread::Denied);
    }
    Err(Unread::Failed(match complaint(&ended).lines().next() {
        Some(line) => format!("{}: {}", ended.status, line.trim()),
        None => ended.status.to_string(),
    }))
}

fn complaint(ended: &Ended) -> Cow<'_, str> {
    String::from_utf8_lossy(&ended.stderr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const LONG: Duration = Duration::from_secs(20);

    fn answer(script: &str, units: &[&str], deadline: Duration) -> Result<Vec<u8>, Unread> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journalctl");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let units: Vec<String> = units.iter().map(|&unit| unit.to_owned()).collect();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        run(
            &units,
            at("2026-01-01T00:00:00Z"),
            at("2026-02-01T00:00:00.5Z"),
            &["/nonexistent", directory.path().to_str().unwrap()],
            deadline,
        )
    }

    #[test]
    fn only_runs_are_requested() {
        let asked = |units: &[&str]| {
            let told = answer("printf '%s\\n' \"$@\" \"$LC_ALL\" \"$HOME\"", units, LONG).unwrap();
            String::from_utf8(told).unwrap()
        };
        let identifiers = "_UID=0\nSYSLOG_IDENTIFIER=CRON\nSYSLOG_IDENTIFIER=CROND\nSYSLOG_IDENTIFIER=cron\nSYSLOG_IDENTIFIER=crond\nSYSLOG_IDENTIFIER=anacron\nSYSLOG_IDENTIFIER=run-parts\nSYSLOG_IDENTIFIER=run-parts(/etc/cron.hourly)\nSYSLOG_IDENTIFIER=run-parts(/etc/cron.daily)\nSYSLOG_IDENTIFIER=run-parts(/etc/cron.weekly)\nSYSLOG_IDENTIFIER=run-parts(/etc/cron.monthly)\nC\n\n";
        let options = "--no-pager\n--output=json\n--reverse\n--output-fields=MESSAGE,MESSAGE_ID,SYSLOG_IDENTIFIER,UNIT,_UID\n--lines=400000\n--since=@1767225600\n--until=@1769904000\n--\n";
        assert_eq!(asked(&[]), format!("{options}{identifiers}"));
        // A name from a hostile unit is a single word, and not an option.
        assert_eq!(
            asked(&["fstrim.service", "--x $(y).service"]),
            format!(
                "{options}_UID=0\n_PID=1\nUNIT=fstrim.service\nUNIT=--x $(y).service\n+\n{identifiers}"
            )
        );
    }

    #[test]
    fn the_real_journalctl_accepts_the_arguments() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let units = ["fstrim.service".to_owned(), "--x (y).service".to_owned()];
        let told = ask(
            &units,
            at("2026-01-01T00:00:00Z"),
            at("2026-01-02T00:00:00Z"),
        );
        // If there is a journal, it may be empty or unreadable for us.
        assert!(
            matches!(
                told,
                Ok(_) | Err(Unread::NotFound | Unread::Denied | Unread::Timeout(_))
            ),
            "{told:?}"
        );
    }

    /// A stand-in that prints the real one's hint to users who may only read their own journal, and
    /// like it prints no hint with JSON or --quiet.
    fn with_hint(answer: &str) -> String {
        format!(
            "case \" $* \" in\n\
             *' --output=json '*) {answer};;\n\
             *) echo '-- No entries --'\n\
             echo 'Hint: You are currently not seeing messages from other users and the system.' >&2;;\n\
             esac"
        )
    }

    #[test]
    fn refused_access_is_reported() {
        assert_eq!(answer(&with_hint(":"), &[], LONG), Err(Unread::Denied));
        // Part of it may be readable nevertheless.
        assert_eq!(
            answer(&with_hint("echo '{}'"), &[], LONG),
            Ok(b"{}\n".to_vec())
        );
        // Access is granted, and there are no entries.
        assert_eq!(answer(":", &[], LONG), Ok(Vec::new()));
        let blocked =
            "echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1";
        assert_eq!(answer(blocked, &[], LONG), Err(Unread::Denied));
    }

    #[test]
    fn an_old_journalctl_is_run_without_output_fields() {
        let of_219 = "case \"$*\" in\n\
             *--output-fields*)\n\
             echo \"journalctl: unrecognized option '--output-fields=MESSAGE'\" >&2; exit 1;;\n\
             *--output=json*--lines=400000*) echo '{\"A\":1}';;\n\
             esac";
        assert_eq!(answer(of_219, &[], LONG), Ok(b"{\"A\":1}\n".to_vec()));
    }

    #[test]
    fn a_broken_or_slow_journalctl_is_an_error() {
        let broken = "echo 'Failed to open files: Bad message' >&2; exit 1";
        let told = answer(broken, &[], LONG);
        assert!(
            matches!(&told, Err(Unread::Failed(why)) if why.contains("Bad message")),
            "{told:?}"
        );
        assert_eq!(
            answer("exec sleep 30", &[], Duration::from_millis(80)),
            Err(Unread::Timeout(80))
        );
        assert_eq!(
            run(&[], Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH, &[], LONG),
            Err(Unread::NotFound)
        );
    }
}
