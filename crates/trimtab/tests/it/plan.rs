//! `trimtab plan`: what it says, and what its commands write.

use crate::support::{Tree, report, repository, run, stderr, stdout, trimtab};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

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

/// Runs printed commands as they are, below a directory instead of `/`; what systemd is asked is in `calls` there.
fn run_below(root: &Path, commands: &str) {
    let stubs = "sudo() { \"$@\"; }\nsystemctl() { echo \"$*\" >>calls; }\n\
                 systemd-escape() { echo \"$2\" | sed 's:^/::; s:/:-:g'; }\n";
    let script = format!("set -e\n{stubs}{}", commands.replace("/etc/", "etc/"));
    let status = Command::new("bash")
        .args(["-c", &script])
        .current_dir(root)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{script}");
}

/// The blocks of commands of a page in Markdown.
fn commands(arguments: &[&str]) -> Vec<String> {
    let page = plan(&[arguments, &["--format", "markdown"]].concat());
    let blocks = page.split("```").skip(1).step_by(2);
    let lines = |block: &str| block.split_once('\n').expect("a language").1.to_owned();
    blocks.map(lines).collect()
}

#[test]
fn its_commands_write_the_slot_of_each_node_and_take_it_back() {
    let blocks = commands(&["es1", "es2", "--mount", "/srv/it's data", "--days", "sun"]);
    assert_eq!(blocks.len(), 3, "two nodes and the undo");
    for (block, time, window) in [
        (&blocks[0], "01:00", "01:00-01:25"),
        (&blocks[1], "01:25", "01:25-01:50"),
    ] {
        let root = tempfile::tempdir().unwrap();
        run_below(root.path(), block);
        let read = |path: &str| fs::read_to_string(root.path().join(path)).unwrap();
        let unit = "trimtab-trim@srv-it's data";
        let [timer, service] = ["timer", "service"]
            .map(|kind| format!("etc/systemd/system/{unit}.{kind}.d/trimtab-plan.conf"));
        assert_eq!(
            read(&timer),
            format!(
                "[Timer]\nOnCalendar=\nOnCalendar=Sun *-*-* {time}:00 UTC\nAccuracySec=1s\nRandomizedDelaySec=0\n"
            )
        );
        assert_eq!(
            read(&service),
            format!(
                "[Service]\nEnvironment=\"TRIMTAB_TRIM_OPTIONS=--window {window} --tz UTC --deadline 20m\"\n"
            )
        );
        let enabled = format!("daemon-reload\nenable {unit}.timer\nrestart {unit}.timer\n");
        assert_eq!(read("calls"), enabled);
        run_below(root.path(), &blocks[2]);
        for path in [timer, service] {
            assert!(!root.path().join(&path).exists(), "{path}");
        }
        let disabled = format!("disable --now {unit}.timer\ndaemon-reload\n");
        assert_eq!(read("calls"), enabled + &disabled);
    }
}

/// The planned timer is a trim that `check` knows, even where an override takes all its times away.
#[test]
fn a_planned_trim_ends_the_finding_and_leads_to_none() {
    let tree = Tree::new();
    tree.disk("sda", "8:0", 0, None);
    let queue = "sys/devices/vbd-768/block/sda/queue";
    for name in ["discard_max_bytes", "discard_max_hw_bytes"] {
        tree.file(&format!("{queue}/{name}"), "2147483648\n");
    }
    tree.file(
        "proc/self/mountinfo",
        "22 1 8:0 / /data rw,noatime - xfs /dev/sda rw\n",
    );
    tree.file("etc/crontab", "# none\n");
    let mut system = "etc/systemd/system/".to_owned();
    for unit in ["trimtab-trim@.timer", "trimtab-trim@.service"] {
        let path = repository().join("packaging").join(unit);
        tree.file(&(system.clone() + unit), &fs::read_to_string(path).unwrap());
    }
    let found = || {
        let tree = tree.path();
        let report = report(&["--root", &tree, "--data-path", "/data"]);
        let findings = report["result"]["findings"].as_array().unwrap().clone();
        let rules = findings
            .iter()
            .map(|finding| finding["rule"].as_str().unwrap().to_owned());
        (rules.collect::<Vec<_>>(), report.to_string())
    };
    // A timer of another mount, so that timers are known.
    tree.link(
        &(system.clone() + "timers.target.wants/trimtab-trim@other.timer"),
        "/etc/systemd/system/trimtab-trim@.timer",
    );
    let (before, _) = found();
    assert_eq!(before, ["TRIM002"]);

    system += "trimtab-trim@data.timer.d/override.conf";
    tree.file(&system, "[Timer]\nOnCalendar=\n");
    run_below(
        Path::new(&tree.path()),
        &commands(&["es1", "es2", "--mount", "/data"])[0],
    );
    tree.link(
        "etc/systemd/system/timers.target.wants/trimtab-trim@data.timer",
        "/etc/systemd/system/trimtab-trim@.timer",
    );
    let (after, report) = found();
    assert_eq!(after, Vec::<String>::new(), "{report}");
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
