//! Several hosts at once.

use crate::support::{Tree, recorded, report, repository, run, stderr, stdout};
use bounded_http::testing::{Answer, Server};
use serde_json::Value;

const CRYPT: &str = "crypt-drops-discards";
const RAID5: &str = "raid5-default";

/// Returns the rules found on each host: `host RULE`.
fn found(document: &Value) -> Vec<String> {
    let findings = document["result"]["findings"].as_array().expect("findings");
    let mut found: Vec<String> = findings
        .iter()
        .map(|finding| {
            let text = |key: &str| finding[key].as_str().unwrap_or("-").to_owned();
            format!("{} {}", text("host"), text("rule"))
        })
        .collect();
    found.sort();
    found
}

/// Writes a bundle of a recorded host under another name.
fn renamed(tree: &Tree, host: &str, name: &str) -> String {
    let path = format!("{}/{name}", tree.path());
    std::fs::copy(recorded(host), &path).expect("a copy");
    path
}

/// Two trees with names of their own, mounted with and without `nobarrier`.
fn two_trees() -> (Tree, Tree) {
    let tree = |name: &str, options: &str| {
        let tree = Tree::new();
        tree.file("proc/sys/kernel/hostname", &format!("{name}\n"));
        tree.file(
            "proc/self/mountinfo",
            &format!("21 1 8:1 / /data rw,noatime - xfs /dev/sda1 {options}\n"),
        );
        tree.file("etc/crontab", "0 3 * * 0 root true\n");
        tree
    };
    (tree("db1", "rw,nobarrier"), tree("db2", "rw"))
}

#[test]
fn every_hosts_rules_run() {
    let (first, second) = two_trees();
    let bundles = ["--bundle", &first.path(), "--bundle", &second.path()];
    let document = report(&bundles);
    assert_eq!(found(&document), ["db1 FS005"]);
    let hosts = document["result"]["hosts"].as_array().expect("hosts");
    let names: Vec<&str> = hosts
        .iter()
        .map(|host| host["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["db1", "db2"]);
    let skipped = document["skipped"].as_array().expect("a list");
    assert!(!skipped.is_empty());
    for host in ["db1", "db2"] {
        let is_it = |skip: &&Value| skip["host"] == host && skip["what"] == "TRIM001";
        assert_eq!(skipped.iter().filter(is_it).count(), 1, "{skipped:#?}");
    }
    let output = run(&[&["check"][..], &bundles].concat());
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.starts_with("1 warning on 2 hosts (db1 and db2)"),
        "{text}"
    );
    for heading in ["\ndb1 ───", "\n/data (xfs)\n", "\ndb2 ───"] {
        assert!(text.contains(heading), "{heading:?}: {text}");
    }
    assert!(text.contains("- block devices on db1 and db2: "), "{text}");
    assert!(!text.contains("this host"), "{text}");
    let nagios = stdout(&run(
        &[&["check", "--format", "nagios"][..], &bundles].concat()
    ));
    assert!(nagios.contains("FS005 db1:/data"), "{nagios}");
}

#[test]
fn many_hosts_are_one_answer() {
    let tree = Tree::new();
    for name in ["a", "b", "c", "d", "e"] {
        renamed(&tree, CRYPT, &format!("{name}.tar.zst"));
    }
    renamed(&tree, RAID5, "f.tar.zst");
    let output = run(&["check", "--bundle", &tree.path()]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = stdout(&output);
    let first = text.lines().next().unwrap_or_default();
    assert!(
        first.contains("on 6 hosts (worst: TRIM001 on 5 hosts)"),
        "{text}"
    );
    for part in [
        "\non most hosts ──",
        "\nhosts    the host in a.tar.zst, the host in b.tar.zst,",
        "\nhosts that are alike ──",
    ] {
        assert!(text.contains(part), "{part:?}: {text}");
    }
    assert_eq!(text.matches("(on 5 of 6 hosts)").count(), 1, "{text}");
    let metrics = ["--bundle", &tree.path(), "--format", "openmetrics"];
    let metrics = stdout(&run(&[&["check"][..], &metrics].concat()));
    let findings =
        "trimtab_finding{host=\"the host in a.tar.zst\",rule=\"TRIM001\",severity=\"warning\",";
    assert!(metrics.contains(findings), "{metrics}");
}

#[test]
fn hosts_of_one_name_are_told_apart() {
    let (first, second) = two_trees();
    second.file("proc/sys/kernel/hostname", "db1\n");
    second.file(
        "proc/self/mountinfo",
        "21 1 8:1 / /data rw,noatime - xfs /dev/sda1 rw,nobarrier\n",
    );
    let (first, second) = (first.path(), second.path());
    let document = report(&["--bundle", &first, "--bundle", &second]);
    let mut expected = [&first, &second].map(|path| {
        let file = path.rsplit('/').next().expect("a name");
        format!("db1 ({file}) FS005")
    });
    expected.sort();
    assert_eq!(found(&document), expected);
    let warnings = document["warnings"].to_string();
    assert!(
        warnings.contains("2 bundles are of a host named db1"),
        "{warnings}"
    );
    let twice = run(&["check", "--bundle", &first, "--bundle", &first]);
    assert_eq!(twice.status.code(), Some(2));
    assert!(
        stderr(&twice).contains("it is given twice"),
        "{}",
        stderr(&twice)
    );
}

#[test]
fn a_directory_of_bundles_is_a_fleet() {
    let tree = Tree::new();
    renamed(&tree, CRYPT, "a.tar.zst");
    renamed(&tree, RAID5, "b.tar.zst");
    let document = report(&["--bundle", &tree.path()]);
    assert_eq!(
        document["result"]["hosts"].as_array().map(Vec::len),
        Some(2)
    );
    let empty = Tree::new();
    let output = run(&["check", "--bundle", &empty.path()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("holds neither a host's files nor bundles"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_data_path_may_be_on_some_of_the_hosts() {
    let (first, second) = two_trees();
    let document = report(&[
        "--bundle",
        &first.path(),
        "--bundle",
        &second.path(),
        "--data-path",
        "/data",
    ]);
    let hosts = document["result"]["hosts"].as_array().expect("hosts");
    assert!(
        hosts
            .iter()
            .all(|host| host["stores"][0]["data_paths"][0] == "/data")
    );
}

/// The recorded hosts all at once: each has the findings that it has alone.
#[test]
fn a_fleet_finds_what_each_host_finds() {
    let directory = repository().join("lab/hosts").display().to_string();
    let document = report(&["--bundle", &directory]);
    let together = found(&document).len();
    let hosts = document["result"]["hosts"].as_array().expect("hosts");
    let alone: usize = hosts
        .iter()
        .map(|host| {
            let source = host["source"].as_str().expect("a source");
            let path = source.trim_start_matches("bundle ");
            let path = path.split(" of ").next().unwrap_or(path);
            found(&report(&["--bundle", path])).len()
        })
        .sum();
    assert!(together > 10);
    assert_eq!(together, alone);
}

#[test]
fn findings_of_a_fleet_are_sent() {
    let (first, second) = two_trees();
    let bundles = ["--bundle", &first.path(), "--bundle", &second.path()];
    let server = Server::start(|request| {
        let answer = match request.split(' ').nth(1).unwrap_or_default() {
            "/" => r#"{"version":{"number":"8.19.1"}}"#,
            path if path.starts_with("/_cluster/health") => {
                r#"{"cluster_name":"logs","status":"green","timed_out":false,"number_of_nodes":1,"number_of_pending_tasks":0,
                "initializing_shards":0,"relocating_shards":0,"unassigned_shards":0}"#
            }
            path if path.contains("/_mapping") => return Answer::Body(404, b"{}".to_vec()),
            path if path.starts_with("/_bulk") => {
                let updates = request
                    .lines()
                    .filter(|line| line.starts_with(r#"{"update":"#));
                let created = r#"{"update":{"_id":"a","status":201,"result":"created"}}"#;
                let items = vec![created; updates.count()].join(",");
                return Answer::ok(&format!(r#"{{"items":[{items}]}}"#));
            }
            _ => r#"{"acknowledged":true}"#,
        };
        Answer::ok(answer)
    });
    let url = server.url("/");
    let sent = run(&[&["check"], &bundles[..], &["--to", &url, "--exit-zero"]].concat());
    // Two hosts, and FS005 on one of them.
    assert_eq!(sent.status.code(), Some(0), "{}", stderr(&sent));
    let told = "3 documents created, 0 updated, 0 deleted, 0 unchanged";
    let words: Vec<String> = stderr(&sent)
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    assert!(words.join(" ").contains(told), "{}", stderr(&sent));
    assert!(stdout(&sent).contains("FS005"));
}

#[test]
fn a_malformed_to_is_refused_before_anything_is_read() {
    let unread = run(&["check", "--bundle", "/none", "--to", "localhost:9200"]);
    assert_eq!(unread.status.code(), Some(2));
    assert!(stderr(&unread).contains("--to"), "{}", stderr(&unread));
    assert!(!stderr(&unread).contains("/none"), "{}", stderr(&unread));
    assert_eq!(stdout(&unread), "");
}
