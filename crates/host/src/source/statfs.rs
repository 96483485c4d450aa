//! Queries the sizes of filesystems in a child process, since a hung one (a dead NFS server, a
//! stuck FUSE daemon) makes the querying process unkillable.

use crate::parse::statfs::Answer;
use linux::child::isolated;
use linux::helper::{Helper, Line};
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// How long the helper may be silent before the current mount counts as hung.
const STALL: Duration = Duration::from_millis(250);
/// Total timeout for all mounts.
const TOTAL: Duration = Duration::from_millis(600);

/// Returns one JSON line ([`Answer`]) for each mount point, in order; for those that do not answer,
/// a line with `timeout_ms` or `error`.
///
/// `helper` is a program with its arguments. It gets the mount points on standard input, each
/// terminated by a NUL, and writes their answers in this order, flushing each line.
pub(super) fn ask(helper: &[OsString], mount_points: &[String]) -> Vec<u8> {
    let end = Instant::now() + TOTAL;
    let mut answers = Answers {
        mount_points,
        next: 0,
        lines: Vec::new(),
    };
    while answers.next < mount_points.len() && Instant::now() < end {
        if let Err(why) = ask_rest(helper, &mut answers, end) {
            while answers.next < mount_points.len() {
                answers.fail(&why);
            }
        }
    }
    while answers.next < mount_points.len() {
        answers.time_out(TOTAL);
    }
    answers.lines
}

struct Answers<'m> {
    mount_points: &'m [String],
    /// Index of the next mount point to be answered.
    next: usize,
    lines: Vec<u8>,
}

impl Answers<'_> {
    fn push(&mut self, line: &[u8]) {
        self.lines.extend_from_slice(line);
        self.lines.push(b'\n');
        self.next += 1;
    }

    fn push_for(&mut self, timeout_ms: Option<u64>, error: Option<String>) {
        let answer = Answer {
            mount_point: self.mount_points[self.next].clone(),
            usage: None,
            geometry: None,
            timeout_ms,
            error,
        };
        // Strings and numbers only, so this cannot fail.
        let line = serde_json::to_vec(&answer).unwrap_or_default();
        self.push(&line);
    }

    fn time_out(&mut self, waited: Duration) {
        self.push_for(u64::try_from(waited.as_millis()).ok(), None);
    }

    fn fail(&mut self, why: &str) {
        self.push_for(None, Some(why.to_owned()));
    }

    /// Accepts a line from the helper if it answers the current mount point.
    fn accept(&mut self, line: &[u8]) -> bool {
        let fits = serde_json::from_slice::<Answer>(line)
            .is_ok_and(|answer| answer.mount_point == self.mount_points[self.next]);
        if fits {
            self.push(line);
        }
        fits
    }
}

/// Starts one helper for the remaining mount points, and follows it until it is done, hangs or
/// exits.
///
/// # Errors
/// If starting another helper would not help.
fn ask_rest(helper: &[OsString], answers: &mut Answers<'_>, end: Instant) -> Result<(), String> {
    let Some((program, arguments)) = helper.split_first() else {
        return Err("no statfs helper was named".to_owned());
    };
    let mut input = Vec::new();
    for mount_point in &answers.mount_points[answers.next..] {
        input.extend_from_slice(mount_point.as_bytes());
        input.push(0);
    }
    let mut helper = Helper::start(isolated(program).args(arguments), input)
        .map_err(|error| format!("the statfs helper could not be started: {error}"))?;
    let first = answers.next;
    let outcome = loop {
        if answers.next == answers.mount_points.len() {
            break Ok(());
        }
        let stalled = Instant::now() + STALL;
        match helper.next_line(stalled.min(end)) {
            Line::Text(line) if answers.accept(&line) => {}
            Line::Text(_) | Line::TooLong => {
                break Err("the statfs helper wrote something else than an answer".to_owned());
            }
            Line::Closed if answers.next == first => {
                break Err("the statfs helper ended without an answer".to_owned());
            }
            Line::Closed => {
                answers.fail("the statfs helper ended while it asked this filesystem");
                break Ok(());
            }
            Line::TimedOut if stalled <= end => {
                answers.time_out(STALL);
                break Ok(());
            }
            // The total timeout has expired.
            Line::TimedOut => break Ok(()),
        }
    };
    helper.abandon();
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// A helper in shell: `body` is run for each mount point in `$m`.
    fn helper(directory: &tempfile::TempDir, body: &str) -> Vec<OsString> {
        let path = directory.path().join("helper.sh");
        let script =
            format!("#!/bin/sh\ntr '\\000' '\\n' | while IFS= read -r m; do\n{body}\ndone\n");
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        // Through sh: running a file that was just written can fail with ETXTBSY while another
        // test's child still has it open.
        vec!["/bin/sh".into(), path.into()]
    }

    const ANSWER: &str = r#"printf '{"mount_point":"%s","usage":{"block_bytes":4096,"size_bytes":8,"free_bytes":4,"available_bytes":2}}\n' "$m""#;

    fn asked(helper: &[OsString], mount_points: &[&str]) -> Vec<Answer> {
        let mount_points: Vec<String> = mount_points.iter().map(|&m| m.to_owned()).collect();
        let lines = ask(helper, &mount_points);
        let answers: Vec<Answer> = String::from_utf8(lines)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let names: Vec<_> = answers.iter().map(|a| a.mount_point.clone()).collect();
        assert_eq!(names, mount_points, "one answer each, in their order");
        answers
    }

    #[test]
    fn every_mount_point_is_answered() {
        let directory = tempfile::tempdir().unwrap();
        let helper = helper(&directory, ANSWER);
        let answers = asked(&helper, &["/", "/a b", "/data"]);
        assert!(
            answers
                .iter()
                .all(|a| a.usage.is_some_and(|u| u.size_bytes == 8)),
            "{answers:?}"
        );
    }

    #[test]
    fn the_helper_does_not_inherit_our_environment() {
        // Cargo sets this for tests, as users set TRIMTAB_PASSWORD.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        let directory = tempfile::tempdir().unwrap();
        let body = format!("[ -n \"$CARGO_MANIFEST_DIR\" ] && exit 1\n{ANSWER}");
        let helper = helper(&directory, &body);
        let answers = asked(&helper, &["/"]);
        assert!(answers[0].usage.is_some(), "{answers:?}");
    }

    #[test]
    fn a_hung_mount_does_not_affect_the_others() {
        let directory = tempfile::tempdir().unwrap();
        let body = format!("[ \"$m\" = /hung ] && sleep 30\n{ANSWER}");
        let helper = helper(&directory, &body);
        let begun = Instant::now();
        let answers = asked(&helper, &["/", "/hung", "/data"]);
        assert!(begun.elapsed() < Duration::from_secs(20));
        assert_eq!(answers[1].timeout_ms, Some(250));
        assert_eq!(answers[1].usage, None);
        assert!(answers[0].usage.is_some(), "{answers:?}");
        assert!(answers[2].usage.is_some(), "{answers:?}");
    }

    #[test]
    fn many_hung_mounts_are_limited_by_the_total_timeout() {
        let directory = tempfile::tempdir().unwrap();
        let helper = helper(&directory, "sleep 30");
        let begun = Instant::now();
        let answers = asked(&helper, &["/1", "/2", "/3", "/4", "/5"]);
        assert!(begun.elapsed() < Duration::from_secs(20));
        let waited: Vec<_> = answers.iter().map(|a| a.timeout_ms).collect();
        // 250 + 250 + 100 of the 600 ms: the third is cut short (on a busy machine the second).
        assert_eq!(waited[0], Some(250));
        assert_eq!(waited[2..], [Some(600), Some(600), Some(600)]);
    }

    #[test]
    fn garbage_is_not_an_answer() {
        let directory = tempfile::tempdir().unwrap();
        for garbage in ["echo nonsense", "echo '{\"mount_point\":\"/other\"}'"] {
            let helper = helper(&directory, garbage);
            let answers = asked(&helper, &["/", "/data"]);
            for answer in answers {
                assert!(answer.error.is_some_and(|e| e.contains("something else")));
            }
        }
        let binary = ["/bin/sh", "-c", "exec head -c 300000 /dev/urandom"].map(OsString::from);
        for answer in asked(&binary, &["/", "/data"]) {
            assert!(answer.usage.is_none() && answer.error.is_some());
        }
    }

    #[test]
    fn a_helper_that_dies_on_one_mount_is_restarted() {
        let directory = tempfile::tempdir().unwrap();
        let body = format!("[ \"$m\" = /bad ] && exit 1\n{ANSWER}");
        let helper = helper(&directory, &body);
        let answers = asked(&helper, &["/", "/bad", "/data"]);
        assert!(
            answers[1]
                .error
                .as_ref()
                .is_some_and(|e| e.contains("ended"))
        );
        assert!(answers[2].usage.is_some(), "{answers:?}");
    }

    #[test]
    fn a_helper_that_fails_is_an_error_for_all_mounts() {
        for helper in [
            vec!["/nonexistent".into()],
            vec!["/bin/true".into()],
            vec![],
        ] {
            for answer in asked(&helper, &["/", "/data"]) {
                assert!(answer.error.is_some());
            }
        }
    }

    #[test]
    fn no_mount_points_start_no_helper() {
        assert!(ask(&["/nonexistent".into()], &[]).is_empty());
    }
}
