//! `trimtab plan`: what it says, and what its commands write.

use crate::support::{run, stderr, stdout, trimtab};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs it on Sunday 2026-11-29, 05:00 UTC.
fn plan(arguments: &[&str]) -> String {
    let mut command = trimtab();
    command
        .env("SOURCE_DATE_EPOCH", "1795928400")
        .arg("plan")
        .args(arguments);
    let output = command.output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn nodes_get_days_of_their_own() {
    let text = plan(&["es1", "es2", "es3", "--tz", "Europe/Berlin"]);
    let expected = "\
With these slots, never do two of 3 nodes trim at once: es1 Tue 01:00, es2 Wed
01:00, es3 Thu 01:00 (Europe/Berlin). With a timer's random delay of 1 h 40 min,
at least two do in 78 % of all weeks, if a pass takes 20 min.
Nothing was changed; trimtab 0.1.0

node  slot       next        OnCalendar=
es1   Tue 01:00  2026-12-01  Tue *-*-* 01:00:00 Europe/Berlin
es2   Wed 01:00  2026-12-02  Wed *-*-* 01:00:00 Europe/Berlin
es3   Thu 01:00  2026-12-03  Thu *-*-* 01:00:00 Europe/Berlin

With --mount MOUNT, the commands that set up trimtab's own timer on each node
follow.
";
    assert_eq!(text, expected);
    let document: Value = serde_json::from_str(&plan(&["a", "b", "--format", "json"])).unwrap();
    assert_eq!(document["schema"], "trimtab.plan/1");
    assert_eq!(document["result"]["nodes"][1]["next"], "2026-12-02");
    let overlap = document["result"]["overlap_with_delay"].as_f64().unwrap();
    assert!((overlap - 0.36).abs() < 1e-9, "{overlap}");
}

/// The printed commands are run as they are, below a directory instead of `/`.
#[test]
fn its_commands_write_the_slot_of_each_node() {
    let page = plan(&[
        "es1",
        "es2",
        "--mount",
        "/var/lib/it's data",
        "--days",
        "sun",
        "--format",
        "markdown",
    ]);
    let blocks: Vec<&str> = page
        .split("```")
        .filter(|block| block.contains("systemctl enable"))
        .collect();
    assert_eq!(blocks.len(), 2, "{page}");
    for (block, time, window) in [
        (blocks[0], "01:00", "01:00-01:25"),
        (blocks[1], "01:25", "01:25-01:50"),
    ] {
        let root = tempfile::tempdir().unwrap();
        // What is not there in a test, and what must not be changed by one.
        let stubs = "sudo() { \"$@\"; }\nsystemctl() { echo \"$*\" >>calls; }\n\
                     systemd-escape() { [ \"$1 $2\" = \"--path /var/lib/it's data\" ] && echo escaped; }\n";
        let commands = block.split_once('\n').expect("a language").1;
        let script = format!("set -e\n{stubs}{}", commands.replace("/etc/", "etc/"));
        let status = Command::new("bash")
            .args(["-c", &script])
            .current_dir(root.path())
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{script}");
        let read = |path: &str| fs::read_to_string(Path::new(root.path()).join(path)).unwrap();
        let folder = "etc/systemd/system/trimtab-trim@escaped";
        assert_eq!(
            read(&format!("{folder}.timer.d/trimtab-plan.conf")),
            format!(
                "[Timer]\nOnCalendar=\nOnCalendar=Sun *-*-* {time}:00 UTC\nAccuracySec=1s\nRandomizedDelaySec=0\n"
            )
        );
        assert_eq!(
            read(&format!("{folder}.service.d/trimtab-plan.conf")),
            format!(
                "[Service]\nEnvironment=\"TRIMTAB_TRIM_OPTIONS=--window {window} --tz UTC --deadline 20min\"\n"
            )
        );
        assert_eq!(
            read("calls"),
            "daemon-reload\nenable trimtab-trim@escaped.timer\nrestart trimtab-trim@escaped.timer\n"
        );
    }
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let names: Vec<String> = (1..=100).map(|number| format!("n{number}")).collect();
    let mut arguments = vec!["plan", "--days", "tue,wed"];
    arguments.extend(names.iter().map(String::as_str));
    let output = run(&arguments);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stdout(&output), "");
    let said = stderr(&output);
    assert!(
        said.contains("100 slots of 25 min do not fit a week's windows of 4 h, which have 18"),
        "{said}"
    );
    assert!(said.contains("windows of 20 h 50 min do"), "{said}");
    for (arguments, words) in [
        (&["plan", "a", "a"][..], "the node a is named twice"),
        (
            &["plan", "a", "--mount", "data"],
            "expected an absolute path",
        ),
        (&["plan", "a", "--pass", "0s"], "a duration above zero"),
        (&["plan", "a", "--pass", "59s"], "expected a minute or more"),
        (
            &["plan", "a", "--pass", "9h"],
            "a slot of 9 h 5 min is longer than the window of 4 h",
        ),
        (&["plan", "a", "--tz", "CEST"], "expected a time zone"),
        (&["plan", "a", "--days", "noon"], "noon"),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}
