//! Every printed remedy is applied to its host, and the host is checked again: no remedy leads to another
//! finding. `cargo test -p trimtab --test it remedies -- --nocapture` prints the table.

mod hosts;

use crate::disk::{Disk, needs_root};
use crate::support::{report, repository, run, stderr, stdout};
use hosts::Host;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Directories that commands write to and that a host without them has as well.
const PLACES: &[&str] = &[
    "etc/cron.d",
    "etc/modprobe.d",
    "etc/systemd/system",
    "etc/udev/rules.d",
    "sys/module/raid456/parameters",
    "usr/local/sbin",
];
/// Programs that commands may run as they are.
const TOOLS: &[&str] = &[
    "awk", "basename", "cat", "chmod", "cp", "dirname", "find", "grep", "head", "ln", "mkdir",
    "mv", "readlink", "rm", "sed", "sync", "tee",
];

/// A remedy of a finding.
#[derive(Clone)]
struct Remedy {
    /// `TRIM007 /data`.
    finding: String,
    index: usize,
    text: String,
    command: Option<String>,
}

/// What became of a remedy.
#[derive(Debug, PartialEq)]
enum Applied {
    /// Its command ran on the host's files.
    Yes,
    /// It has none, or one that only asks or needs what a directory does not have.
    No(String),
}

fn check(host: &Host) -> Value {
    let directory = host.directory.path().display().to_string();
    let mut arguments = vec!["--bundle", &directory];
    if let Some(path) = host.data_path {
        arguments.extend(["--data-path", path]);
    }
    if host.cluster().is_some() {
        arguments.extend(["--select", "ES"]);
    }
    report(&arguments)
}

/// Returns the findings as `RULE place`, with their severities.
fn findings(report: &Value) -> BTreeMap<String, String> {
    let findings = report["result"]["findings"].as_array().expect("a list");
    let entry = |finding: &Value| {
        (
            key(finding),
            finding["severity"].as_str().expect("one").to_owned(),
        )
    };
    findings.iter().map(entry).collect()
}

fn key(finding: &Value) -> String {
    let text = |key: &str| finding[key].as_str();
    let place = text("mount_point").or(text("subject")).expect("a subject");
    format!("{} {place}", text("rule").expect("a rule"))
}

fn remedies(report: &Value) -> Vec<Remedy> {
    let findings = report["result"]["findings"].as_array().expect("a list");
    let mut all = Vec::new();
    for finding in findings {
        for (index, remedy) in finding["remedy"]
            .as_array()
            .expect("a list")
            .iter()
            .enumerate()
        {
            let text = |key: &str| remedy[key].as_str().map(str::to_owned);
            all.push(Remedy {
                finding: key(finding),
                index,
                text: format!(
                    "{} {}",
                    text("text").expect("a text"),
                    text("risk").unwrap_or_default()
                ),
                command: text("command"),
            });
        }
    }
    all
}

/// Runs a remedy's command on the files of a host.
fn apply(host: &Host, remedy: &Remedy) -> Applied {
    let Some(command) = &remedy.command else {
        return Applied::No("advice".to_owned());
    };
    if let Some(mut answers) = host.cluster() {
        if let Err(why) = put(&mut answers, command) {
            return Applied::No(why);
        }
        host.set_cluster(&answers);
        return Applied::Yes;
    }
    let bundle = host.directory.path();
    let root = bundle.join("root").display().to_string();
    for place in PLACES {
        std::fs::create_dir_all(bundle.join("root").join(place)).expect("a directory");
    }
    let tools = bundle.join("tools");
    std::fs::create_dir_all(&tools).expect("a directory");
    for tool in TOOLS {
        let found = ["/usr/bin", "/bin"]
            .iter()
            .map(|directory| Path::new(directory).join(tool))
            .find(|path| path.exists())
            .expect(tool);
        let _ = std::os::unix::fs::symlink(found, tools.join(tool));
    }
    let before = snapshot(bundle);
    let fstab = read(bundle, "root/etc/fstab");
    let _ = std::fs::remove_file(bundle.join("not-run"));
    let library = repository().join("crates/trimtab/tests/data/remedies/commands.sh");
    let output = Command::new("/bin/bash")
        .args(["-c", ". \"$1\"; eval \"$(moved \"$2\")\"", "bash"])
        .arg(library)
        .arg(command)
        .env("BUNDLE", bundle)
        .env("TRIMTAB", env!("CARGO_BIN_EXE_trimtab"))
        .env("PATH", &tools)
        .output()
        .expect("bash");
    let _ = std::fs::remove_dir_all(&tools);
    // Empty directories would say that the host has no jobs.
    for place in PLACES {
        let mut place = bundle.join("root").join(place);
        while std::fs::remove_dir(&place).is_ok() && place.pop() {}
    }
    if let Ok(program) = std::fs::read_to_string(bundle.join("not-run")) {
        return Applied::No(format!("runs {}", program.trim()));
    }
    if bundle.join("root/etc").is_dir() {
        restore_paths(&bundle.join("root/etc"), &root);
    }
    mount_again(bundle, &fstab, &read(bundle, "root/etc/fstab"));
    if snapshot(bundle) == before {
        return Applied::No("only asks".to_owned());
    }
    assert!(
        output.status.success(),
        "{}: {command}\n{}",
        host.name,
        stderr(&output)
    );
    Applied::Yes
}

/// Changes the settings in a cluster's answers as the PUT of a curl command would.
fn put(answers: &mut Value, command: &str) -> Result<(), String> {
    let (head, body) = command.split_once(" -d '").ok_or("is not a PUT")?;
    assert!(head.starts_with("curl -X PUT "), "{command}");
    let body: Value =
        serde_json::from_str(body.strip_suffix('\'').expect("a quote")).expect("a JSON body");
    let value_of = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if head.contains("/_cluster/settings") {
        for (scope, settings) in body.as_object().expect("scopes") {
            for (key, value) in settings.as_object().expect("settings") {
                let known = answers["settings"]["answer"][scope]
                    .as_object_mut()
                    .expect("settings");
                if value.is_null() {
                    known.remove(key);
                } else {
                    known.insert(key.clone(), Value::String(value_of(value)));
                }
            }
        }
        return Ok(());
    }
    if !head.contains("/_all/_settings ") {
        return Err(format!("changes indices by {head}"));
    }
    let indices = &mut answers["indices"]["answer"];
    let open = indices["open"].clone();
    let known = indices["values"].as_object_mut().expect("settings");
    for (key, value) in body.as_object().expect("settings") {
        known.remove(key);
        if !value.is_null() {
            let count = serde_json::json!({"open": open, "closed": 0, "example": "logs-0000"});
            known.insert(key.clone(), serde_json::json!({value_of(value): count}));
        }
    }
    Ok(())
}

fn read(bundle: &Path, path: &str) -> String {
    std::fs::read_to_string(bundle.join(path)).unwrap_or_default()
}

/// Returns every file with its content and mode, and every link.
fn snapshot(directory: &Path) -> Vec<String> {
    use std::os::unix::fs::PermissionsExt;
    let mut all = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = std::fs::symlink_metadata(&path).expect("metadata");
            if metadata.is_dir() {
                if path.file_name().is_some_and(|name| name != "tools") {
                    open.push(path);
                }
                continue;
            }
            let content = if metadata.is_symlink() {
                std::fs::read_link(&path).expect("a link").into_os_string()
            } else {
                String::from_utf8_lossy(&std::fs::read(&path).unwrap_or_default())
                    .into_owned()
                    .into()
            };
            all.push(format!(
                "{} {:o} {}",
                path.display(),
                metadata.permissions().mode(),
                content.display()
            ));
        }
    }
    all.sort();
    all
}

/// Takes the directory of the copy out of what commands wrote.
fn restore_paths(directory: &Path, root: &str) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        let metadata = std::fs::symlink_metadata(&path).expect("metadata");
        if metadata.is_dir() {
            restore_paths(&path, root);
        } else if metadata.is_file() {
            let content = std::fs::read(&path).expect("a file");
            let Ok(text) = String::from_utf8(content) else {
                continue;
            };
            if text.contains(root) {
                std::fs::write(&path, text.replace(root, "")).expect("a file");
            }
        }
    }
}

/// Mounts what fstab says now, as after the next boot: options that a remedy added or removed.
fn mount_again(bundle: &Path, before: &str, after: &str) {
    let options = |fstab: &str| -> BTreeMap<String, Vec<String>> {
        let fields = fstab
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .filter(|fields| fields.len() >= 4 && !fields[0].starts_with('#'));
        let entry = |fields: Vec<&str>| {
            let options = fields[3].split(',').map(str::to_owned).collect();
            (fields[1].to_owned(), options)
        };
        fields.map(entry).collect()
    };
    let (before, after) = (options(before), options(after));
    let mountinfo = read(bundle, "root/proc/self/mountinfo");
    let mut lines = String::new();
    for line in mountinfo.lines() {
        let mut fields: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let point = fields[4].clone();
        if let (Some(before), Some(after)) = (before.get(&point), after.get(&point)) {
            let last = fields.last_mut().expect("options");
            let mut known: Vec<&str> = last.split(',').collect();
            known.retain(|known| {
                let is_there = |list: &Vec<String>| list.iter().any(|option| option == known);
                !is_there(before) || is_there(after)
            });
            for option in after {
                let is_new = !before.contains(option) && !known.contains(&option.as_str());
                if is_new && !option.starts_with("X-") && option != "defaults" {
                    known.push(option);
                }
            }
            *last = known.join(",");
        }
        let _ = writeln!(lines, "{}", fields.join(" "));
    }
    if lines != mountinfo {
        std::fs::write(bundle.join("root/proc/self/mountinfo"), lines).expect("a file");
    }
}

/// Rules whose first remedy makes their finding go away.
const ENDED_BY_THE_FIRST: &[&str] = &[
    "FS005", "SCHED002", "TRIM001", "TRIM002", "TRIM003", "TRIM004", "TRIM005", "TRIM006",
    "TRIM007", "TRIM009", "TRIM013",
];

#[test]
fn no_remedy_leads_to_another_finding() {
    let mut wrong = String::new();
    let (mut applied, mut not_applied) = (0, 0);
    for host in hosts::all() {
        let first = check(&host);
        let before = findings(&first);
        println!("{}: {} findings", host.name, before.len());
        for remedy in remedies(&first) {
            let name = format!("{} fix {}", remedy.finding, remedy.index + 1);
            let copy = host.copy();
            match apply(&copy, &remedy) {
                Applied::No(why) => {
                    not_applied += 1;
                    println!("  {name:38} not applied: {why}");
                    continue;
                }
                Applied::Yes => applied += 1,
            }
            let after = findings(&check(&copy));
            let new = new_findings(&before, &after, &remedy);
            let stays = after.contains_key(&remedy.finding);
            println!(
                "  {name:38} {}; {} after, new: {}",
                if stays { "stays" } else { "gone" },
                after.len(),
                if new.is_empty() {
                    "none".to_owned()
                } else {
                    new.join(", ")
                },
            );
            let rule = remedy.finding.split(' ').next().unwrap_or_default();
            let must_end = remedy.index == 0 && ENDED_BY_THE_FIRST.contains(&rule);
            let hard: Vec<&String> = new
                .iter()
                .filter(|new| !new.ends_with("(announced)"))
                .collect();
            if !hard.is_empty() || (stays && must_end) {
                let _ = writeln!(
                    wrong,
                    "{}: {name}: stays {stays}, new {new:?}\n{}",
                    host.name,
                    remedy.command.unwrap_or_default()
                );
            }
        }
    }
    println!("{applied} remedies applied, {not_applied} not");
    assert!(wrong.is_empty(), "{wrong}");
    assert!(applied >= 50, "only {applied} remedies were applied");
}

/// Returns findings that were not there before, or were less severe. Those that the remedy announces by
/// their rule are marked: they were hidden behind what it mends.
fn new_findings(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
    remedy: &Remedy,
) -> Vec<String> {
    let rank = |severity: &str| {
        ["info", "warning", "error"]
            .iter()
            .position(|&s| s == severity)
    };
    let is_new = |key: &String, severity: &String| {
        before
            .get(key)
            .is_none_or(|known| rank(known) < rank(severity))
    };
    let new = after.iter().filter(|(key, severity)| is_new(key, severity));
    new.map(|(key, severity)| {
        let rule = key.split(' ').next().unwrap_or_default();
        let announced = if remedy.text.contains(rule) {
            " (announced)"
        } else {
            ""
        };
        format!("{key} {severity}{announced}")
    })
    .collect()
}

#[test]
fn a_filesystem_is_trimmed_once_for_each_of_its_lines_in_fstab() {
    let hosts = hosts::all();
    let named = |name| hosts.iter().find(|host| host.name == name).expect(name);
    let titles = |host: &Host| -> Vec<String> {
        let report = check(host);
        let findings = report["result"]["findings"].as_array().expect("a list");
        let ours = findings
            .iter()
            .filter(|finding| finding["rule"] == "SCHED002");
        ours.map(|finding| finding["title"].as_str().expect("a title").to_owned())
            .collect()
    };
    assert_eq!(
        titles(named("bind mounts in fstab")),
        ["fstrim.timer trims /data 3 times in each run"]
    );
    assert_eq!(
        titles(named("two mounts of a filesystem, each trimmed by cron")),
        ["/etc/cron.d/trim:1 and /etc/cron.d/trim:2 both trim /data"]
    );
}

/// The first fix of each finding that has a command, one after the other, as an operator would work.
#[test]
fn all_first_remedies_together_leave_a_quiet_host() {
    let mut wrong = String::new();
    for host in hosts::all() {
        let copy = host.copy();
        let mut known = findings(&check(&copy));
        let mut done: Vec<String> = Vec::new();
        loop {
            let report = check(&copy);
            let Some(remedy) = remedies(&report)
                .into_iter()
                .find(|remedy| remedy.index == 0 && !done.contains(&remedy.finding))
            else {
                break;
            };
            done.push(remedy.finding.clone());
            if apply(&copy, &remedy) != Applied::Yes {
                continue;
            }
            let after = findings(&check(&copy));
            let new = new_findings(&known, &after, &remedy);
            let hard = new.iter().filter(|new| !new.ends_with("(announced)"));
            for new in hard {
                let _ = writeln!(wrong, "{}: after {done:?}: {new}", host.name);
            }
            known = after;
        }
        println!(
            "{}: {} left: {:?}",
            host.name,
            known.len(),
            known.keys().collect::<Vec<_>>()
        );
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The arguments of every printed `trimtab` command are ones that the program has.
#[test]
fn printed_trimtab_commands_parse() {
    let mut seen = 0;
    for host in hosts::all() {
        for remedy in remedies(&check(&host)) {
            for command in remedy
                .command
                .iter()
                .flat_map(|command| trimtab_calls(command))
            {
                seen += 1;
                // Usage errors come before the mount is looked at; a dry run changes nothing, and `plan` none but
                // what is below its root.
                let mut arguments: Vec<&str> = command.split_whitespace().collect();
                if arguments[0] == "plan" {
                    arguments.extend(["--root", "/nowhere"]);
                } else {
                    arguments.push("--dry-run");
                }
                let output = run(&arguments);
                let message = stderr(&output);
                assert!(
                    !message.contains("Usage:") && !message.contains("--help"),
                    "{command}: {message}"
                );
            }
        }
    }
    assert!(seen >= 20, "only {seen} commands");
    // The check itself works.
    let message = stderr(&run(&[
        "trim",
        "--windows",
        "03:00-05:00",
        "/data",
        "--dry-run",
    ]));
    assert!(message.contains("--help"), "{message}");
}

/// Returns the arguments of each call of trimtab within a command.
fn trimtab_calls(command: &str) -> Vec<String> {
    let calls = command.split("trimtab ").skip(1);
    calls
        .map(|rest| {
            let end = rest.find(['\'', '\n', '&', '>']).unwrap_or(rest.len());
            rest[..end].trim().to_owned()
        })
        .filter(|call| call.starts_with("trim ") || call.starts_with("plan "))
        .collect()
}

/// The packaged units trim the mount that their instance names, and nothing else has to be done.
#[test]
fn the_packaged_timer_is_a_trim_job_of_its_mount() {
    let host = hosts::with_packaged_timer();
    let report = check(&host);
    assert_eq!(findings(&report), BTreeMap::new());
    let skipped = report["result"]["skipped"].to_string() + &report["skipped"].to_string();
    assert!(!skipped.contains("may trim it"), "{skipped}");
}

/// TRIM012's probe on a real filesystem, in which somebody planted a link under the name that it once had.
#[test]
fn the_probe_of_trim012_proves_a_loop_device_and_follows_no_link() {
    needs_root!();
    let disk = Disk::new("ext4", 256, "rw");
    let canary = disk.directory.path().join("canary");
    std::fs::write(&canary, "untouched").expect("a file");
    for name in ["trim-probe", "trim-probe.XXXXXX"] {
        std::os::unix::fs::symlink(&canary, disk.mount_point().join(name)).expect("a link");
    }
    let mount_point = disk.mount_point().display().to_string();
    let report = report(&["--select", "TRIM012"]);
    let findings = report["result"]["findings"].as_array().expect("a list");
    let finding = findings
        .iter()
        .find(|finding| finding["mount_point"] == mount_point.as_str())
        .expect("TRIM012 on the loop device");
    let command = finding["remedy"][0]["command"].as_str().expect("a command");
    let mut output = Command::new("bash");
    output
        .args([
            "-ec",
            "trimtab() { \"$TRIMTAB\" \"$@\" >&2; }; eval \"$1\"",
            "bash",
        ])
        .arg(command)
        .env("TRIMTAB", env!("CARGO_BIN_EXE_trimtab"))
        .env("TRIMTAB_STATE", disk.state());
    let output = output.output().expect("bash");
    assert!(output.status.success(), "{command}\n{}", stderr(&output));
    let blocks: Vec<u64> = stdout(&output)
        .lines()
        .map(|line| line.parse().expect("a number of blocks"))
        .collect();
    // 512-byte blocks: the probe of 60 MiB or so was there, and is gone.
    let [with_probe, without] = blocks[..] else {
        panic!("{blocks:?}");
    };
    assert!(with_probe > without + 2 * 16 * 1024, "{blocks:?}");
    assert_eq!(
        std::fs::read_to_string(&canary).expect("a file"),
        "untouched"
    );
    let left: Vec<String> = std::fs::read_dir(disk.mount_point())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().display().to_string())
        .filter(|name| name.starts_with("trim-probe.") && name != "trim-probe.XXXXXX")
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
