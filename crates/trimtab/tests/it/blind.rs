//! Hosts of which little is known: what can be checked is, and the rest is not taken for healthy.

use crate::support::{Tree, findings, report, repository, run, stderr, stdout};
use serde_json::Value;

fn case(name: &str) -> String {
    repository()
        .join("lab/explain-cases")
        .join(name)
        .display()
        .to_string()
}

#[test]
fn mountinfo_alone_suffices_for_rules_about_mount_options() {
    let root = case("mongo-03");
    let report_of = |more: &[&str]| report(&[&["--root", &root][..], more].concat());
    let document = report_of(&[]);
    assert_eq!(
        findings(&document),
        [
            "FS005 warning /mnt/data md0",
            "TRIM004 info / xvda1",
            "TRIM004 info /mnt/data md0",
        ]
    );
    let skipped = document["skipped"].to_string();
    assert!(skipped.contains("no block devices are known"), "{skipped}");
    let with_store = findings(&report_of(&["--data-path", "/mnt/data"]));
    for expected in [
        "FS005 error /mnt/data md0",
        "TRIM004 warning /mnt/data md0",
        "TRIM007 warning /mnt/data md0",
    ] {
        assert!(
            with_store.iter().any(|found| found == expected),
            "{expected}: {with_store:#?}"
        );
    }
    let output = run(&["check", "--root", &root]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    let first = text.lines().next().unwrap_or_default();
    assert!(first.starts_with("1 warning, 2 notes on "), "{text}");
    assert!(!text.contains("0 drives"), "{text}");
}

/// What `explain` says of a host's mounts, `check` reports as well.
#[test]
fn check_misses_nothing_that_explain_finds_in_the_configuration() {
    let mut compared = 0;
    for entry in std::fs::read_dir(repository().join("lab/explain-cases")).expect("cases") {
        let path = entry.expect("a case").path();
        if !path.is_dir() {
            continue;
        }
        let root = path.display().to_string();
        let found = findings(&report(&["--root", &root]));
        let log = path.with_extension("iostat.txt");
        if !log.exists() {
            continue;
        }
        let log = log.display().to_string();
        let output = run(&[
            "explain",
            &log,
            "--jobs",
            &root,
            "--format",
            "json",
            "--exit-zero",
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        let explained: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        for remark in remarks(&explained) {
            let mount_point = remark.split(' ').next().unwrap_or_default();
            let rule = if remark.contains("nobarrier") {
                "FS005"
            } else if remark.contains("trimmed twice") {
                "TRIM004"
            } else {
                panic!("which rule reports this? {remark}");
            };
            let is_it = |line: &String| {
                line.starts_with(rule) && line.contains(&format!(" {mount_point} "))
            };
            assert!(found.iter().any(is_it), "{remark}\n{found:#?}");
            compared += 1;
        }
    }
    assert!(compared >= 3, "{compared}");
}

/// Returns what `explain` says of mounts, wherever it stands in the document.
fn remarks(document: &Value) -> Vec<String> {
    match document {
        Value::String(text) if text.contains(" is mounted with `") => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(remarks).collect(),
        Value::Object(fields) => fields.values().flat_map(remarks).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn fstab_stands_in_for_the_mounts_of_an_image() {
    let tree = Tree::new();
    tree.file("etc/hostname", "golden-image\n");
    tree.file(
        "etc/fstab",
        "UUID=0a34 / ext4 defaults 0 1\n\
         LABEL=data /var/lib/mongodb xfs noatime,discard,nobarrier 0 2\n",
    );
    tree.file("etc/mongod.conf", "storage:\n  dbPath: /var/lib/mongodb\n");
    tree.script("etc/cron.weekly/fstrim", "#!/bin/sh\n/sbin/fstrim --all\n");
    tree.file(
        "etc/crontab",
        "47 6 * * 7 root run-parts --report /etc/cron.weekly\n",
    );
    let document = report(&["--root", &tree.path()]);
    let found = findings(&document);
    for rule in ["FS005 error", "TRIM004 warning", "TRIM007 warning"] {
        let is_it = |line: &String| line.starts_with(&format!("{rule} /var/lib/mongodb"));
        assert!(found.iter().any(is_it), "{rule}: {found:#?}");
    }
    let evidence = document["result"]["findings"][0]["evidence"].to_string();
    assert!(evidence.contains("etc/fstab:2"), "{evidence}");
    assert!(!evidence.contains("mountinfo"), "{evidence}");
    let skipped = document["skipped"].to_string();
    assert!(
        skipped.contains("etc/fstab were checked instead"),
        "{skipped}"
    );
    let text = stdout(&run(&["check", "--root", &tree.path()]));
    assert!(text.contains(" on golden-image ("), "{text}");
    assert!(text.contains("2 lines of /etc/fstab"), "{text}");
}

#[test]
fn a_check_that_could_not_look_is_not_passed() {
    let root = case("rally-2016");
    let check = |format: &str| run(&["check", "--root", &root, "--format", format]);
    let text = check("text");
    assert_eq!(text.status.code(), Some(2));
    assert!(
        stdout(&text).starts_with("Could not tell: 18 of 21 rules had nothing to look at"),
        "{}",
        stdout(&text)
    );
    assert!(
        stderr(&text).contains("18 of 21 rules had nothing to look at"),
        "{}",
        stderr(&text)
    );
    let json = check("json");
    assert_eq!(json.status.code(), Some(2));
    let document: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(document["result"]["answer"], "could_not_tell");
    assert_eq!(document["result"]["coverage"]["undecided"], 18);
    let sarif: Value = serde_json::from_slice(&check("sarif").stdout).expect("JSON");
    assert_eq!(
        sarif["runs"][0]["invocations"][0]["executionSuccessful"],
        false
    );
    let nagios = check("nagios");
    assert_eq!(nagios.status.code(), Some(3));
    assert!(
        stdout(&nagios).starts_with("TRIMTAB UNKNOWN - could not tell: 18 of 21 rules"),
        "{}",
        stdout(&nagios)
    );
    let markdown = stdout(&check("markdown"));
    assert!(markdown.contains("Could not tell: 18 of 21"), "{markdown}");
}

#[test]
fn data_paths_that_are_not_there_are_refused() {
    let output = run(&["check", "--data-path", "/nonexistent/kafka"]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(
        message.contains("--data-path /nonexistent/kafka: there is no such directory"),
        "{message}"
    );
    assert!(
        message.contains("name a directory that exists"),
        "{message}"
    );
    let output = run(&["check", "--data-path", "kafka"]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(message.contains("expected an absolute path"), "{message}");
    assert!(message.contains("--data-path /"), "{message}");
}

#[test]
fn rules_about_a_cluster_are_refused_without_one() {
    let root = case("mongo-03");
    let output = run(&["check", "--root", &root, "--select", "ES"]);
    assert_eq!(output.status.code(), Some(2));
    let message = stderr(&output);
    assert!(
        message.contains("--select ES: these rules are about a cluster"),
        "{message}"
    );
    assert!(message.contains("--cluster URL"), "{message}");
}

/// Of a filesystem whose devices were not read, most rules had nothing to look at.
#[test]
fn a_mount_without_its_devices_was_not_looked_at() {
    let tree = Tree::new();
    tree.file("etc/os-release", "ID=debian\n");
    tree.file("etc/fstab", "/dev/sda1 / ext4 relatime 0 1\n");
    tree.file(
        "proc/self/mountinfo",
        "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n",
    );
    let why = "(sys/block: not found; needs sysfs)";
    for format in ["text", "markdown", "html"] {
        let check = |more: &[&str]| {
            let root = tree.path();
            let all = [&["check", "--root", &root, "--format", format][..], more].concat();
            // As one line, since text is wrapped.
            let words: Vec<String> = stdout(&run(&all))
                .split_whitespace()
                .map(str::to_owned)
                .collect();
            words.join(" ")
        };
        let (short, all) = (check(&[]), check(&["-v"]));
        let wanted = format!("1 mount: devices not looked at {why}");
        assert!(short.contains(&wanted), "{format}: {short}");
        // Text draws each mount.
        let wanted = match format {
            "text" => format!("Not looked at: its devices {why}"),
            _ => wanted,
        };
        assert!(all.contains(&wanted), "{format}: {all}");
        for shown in [short, all] {
            assert!(!shown.contains("othing found"), "{format}: {shown}");
        }
    }
}

/// Adds mounts to a tree with one disk, of which only that of `/` is read.
fn tree_with_mounts(others: &[(&str, &str)]) -> Tree {
    let tree = Tree::new();
    tree.file("etc/hostname", "db1\n");
    tree.file("etc/crontab", "# none\n");
    tree.disk("sda", "8:0", 1, None);
    tree.partition("sda", "sda1", "8:1");
    let mut mounts = vec!["22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw".to_owned()];
    for (index, (point, source)) in others.iter().enumerate() {
        let (id, minor) = (30 + index, 17 + 16 * index);
        mounts.push(format!(
            "{id} 22 8:{minor} / {point} rw,relatime - xfs {source} rw"
        ));
    }
    tree.file("proc/self/mountinfo", &(mounts.join("\n") + "\n"));
    tree
}

/// Each rule had something to look at, but not at most of the host.
#[test]
fn a_host_of_which_most_mounts_were_not_looked_at_is_not_healthy() {
    let checked = |others: &[(&str, &str)], more: &[&str]| {
        let tree = tree_with_mounts(others);
        let root = tree.path();
        let check = |format: &str| {
            run(&[&["check", "--root", &root, "--format", format][..], more].concat())
        };
        let (text, nagios) = (check("text"), check("nagios"));
        // Lines are wrapped.
        let words = stdout(&text).replace('\n', " ");
        let first_words = words.split(" on db1").next().map(str::to_owned);
        let document: Value = serde_json::from_slice(&check("json").stdout).expect("JSON");
        (
            text.status.code(),
            first_words.expect("a verdict"),
            stdout(&nagios)
                .split(" | ")
                .next()
                .unwrap_or_default()
                .to_owned(),
            document["result"]["answer"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        )
    };
    let expected = |code, words: &str, nagios: &str, answer: &str| {
        (
            Some(code),
            words.to_owned(),
            format!("TRIMTAB {nagios}"),
            answer.to_owned(),
        )
    };
    assert_eq!(
        checked(&[], &[]),
        expected(0, "Nothing found", "OK - nothing found", "nothing_found")
    );
    let srv = ("/srv", "/dev/sdb1");
    assert_eq!(
        checked(&[srv], &[]),
        expected(
            0,
            "Nothing found in what could be read",
            "OK - nothing found in what could be read; 1 of 2 filesystems could not be looked at",
            "nothing_found"
        )
    );
    for source in ["/dev/sdc1", "none"] {
        let most = "could not tell: 2 of 3 filesystems could not be looked at";
        assert_eq!(
            checked(&[srv, ("/opt", source)], &[]),
            expected(
                2,
                &most.replace("could not tell", "Could not tell"),
                &format!("UNKNOWN - {most}"),
                "could_not_tell"
            )
        );
    }
    let store = "could not tell: 1 of 2 filesystems, including a store's, could not be looked at";
    assert_eq!(
        checked(&[srv], &["--data-path", "/srv"]),
        expected(
            2,
            &store.replace("could not tell", "Could not tell"),
            &format!("UNKNOWN - {store}"),
            "could_not_tell"
        )
    );
}

/// No job is known of a part of a host's files without crontabs and timers.
#[test]
fn an_archive_without_jobs_says_nothing_of_jobs() {
    let tree = tree_with_mounts(&[]);
    std::fs::remove_file(format!("{}/etc/crontab", tree.path())).expect("removed");
    tree.file("etc/systemd/journald.conf", "[Journal]\n");
    let text = stdout(&run(&["check", "--root", &tree.path()]));
    assert!(text.contains("jobs are not known"), "{text}");
    assert!(!text.contains("0 jobs"), "{text}");
    assert!(
        text.contains("no crontab and no timer could be read"),
        "{text}"
    );
}
