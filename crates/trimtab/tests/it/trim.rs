//! `trimtab trim`: refused arguments, consent, dry runs, complete passes on loop devices, signals,
//! and control from other processes. Faults during a pass are in `trim_trouble`.

use crate::disk::{Disk, MIB, needs_root, of_type, single_line, tool, wait_until};
use crate::support::{stderr, stdout};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

fn refusal(output: &Output) -> String {
    assert_eq!(
        output.status.code(),
        Some(2),
        "{}{}",
        stdout(output),
        stderr(output)
    );
    stderr(output)
}

/// Replaces paths and device names that differ from run to run.
fn normalize(text: &str, disk: &Disk) -> String {
    let directory = disk.directory.path().display().to_string();
    text.replace(&directory, "DIR")
        .replace(&disk.device, "/dev/loopN")
        .replace(disk.device.trim_start_matches("/dev/"), "loopN")
}

#[test]
fn invalid_arguments_are_usage_errors() {
    for (arguments, word) in [
        (&["trim"][..], "required"),
        (
            &["trim", "/", "--now", "--window", "01:00-05:00"],
            "cannot be used with",
        ),
        (&["trim", "/", "--tz", "UTC"], "--window"),
        (&["trim", "/", "--all"], "cannot be used with"),
        (&["trim", "/", "--window", "1-5"], "expected a window"),
        (
            &["trim", "/", "--max-latency", "fast"],
            "expected a duration",
        ),
        (&["trim", "/", "--rate", "500MiB"], "expected a rate"),
        (
            &["trim", "/", "--window", "01:00-05:00", "--tz", "Mars/Base"],
            "expected a time zone",
        ),
        (&["trim", "--cancel"], "required"),
        (
            &["trim", "/", "--dry-run", "--require-green", "es1:9200"],
            "--require-green: URL: expected http://",
        ),
        (
            &["trim", "/", "--dry-run", "--probe", "ftp://es1/"],
            "--probe: URL: expected http://",
        ),
    ] {
        let output = crate::support::run(arguments);
        let text = refusal(&output);
        assert!(text.contains(word), "{arguments:?}: {text}");
    }
}

#[test]
fn a_path_that_is_not_a_mount_point_is_refused_with_a_hint() {
    for (path, word) in [
        ("/usr/bin", "hint: it lies on /"),
        ("/proc", "proc has no drive below"),
        ("/no/such/place", "No such file"),
    ] {
        for command in ["trim", "plan"] {
            let output = crate::support::run(&[command, path]);
            let text = refusal(&output);
            assert!(text.contains(word), "{command} {path}: {text}");
        }
    }
}

#[test]
fn an_invalid_configuration_value_is_named() {
    let mut config = tempfile::NamedTempFile::new().unwrap();
    writeln!(config, "[trim]\nmax_latency = \"soon\"").unwrap();
    let path = config.path().display().to_string();
    let output = crate::support::run(&["--config", &path, "trim", "/", "--dry-run"]);
    let text = refusal(&output);
    assert!(
        text.contains("[trim] max_latency: expected a duration"),
        "{text}"
    );
}

#[test]
fn without_root_only_a_dry_run_works() {
    needs_root!();
    let disk = Disk::new("ext4", 64, "rw");
    // The user nobody cannot enter a home directory, where the test binary may be.
    let open = |path: &Path| {
        let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(path, mode).unwrap();
    };
    open(disk.directory.path());
    let binary = disk.directory.path().join("trimtab");
    fs::copy(env!("CARGO_BIN_EXE_trimtab"), &binary).unwrap();
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new(&binary);
        command.args(arguments).env_clear().uid(65534).gid(65534);
        command.current_dir("/").output().unwrap()
    };
    let path = disk.path();
    let text = refusal(&as_nobody(&["trim", &path]));
    assert!(text.contains("needs root (CAP_SYS_ADMIN)"), "{text}");
    let before = disk.discards();
    let dry_run = as_nobody(&["trim", "--dry-run", &path]);
    assert_eq!(dry_run.status.code(), Some(0), "{}", stderr(&dry_run));
    let text = stdout(&dry_run);
    assert!(text.contains("ext4 on /dev/loop"), "{text}");
    assert!(text.contains("read as root"), "{text}");
    assert_eq!(disk.discards(), before);
}

#[test]
fn a_read_only_mount_refuses_the_whole_call() {
    needs_root!();
    let disk = Disk::new("ext4", 64, "ro");
    let other = Disk::new("ext4", 64, "rw");
    let before = other.discards();
    let output = other.run(&[&other.path(), &disk.path()]);
    let text = refusal(&output);
    assert!(text.contains("mounted read-only"), "{text}");
    assert!(
        text.contains("no other mount of this call was trimmed"),
        "{text}"
    );
    assert_eq!(other.discards(), before);
    // A dry run reports the same, and still plans the other mount.
    let output = other.run(&["--dry-run", &other.path(), &disk.path()]);
    assert_eq!(output.status.code(), Some(2));
    let text = single_line(&stdout(&output));
    assert!(
        text.starts_with("1 of 2 filesystems would be trimmed; 1 cannot be."),
        "{text}"
    );
    assert!(text.contains("refused it is mounted read-only"), "{text}");
    assert!(text.contains("geometry ext4"), "{text}");
}

#[test]
fn output_goes_to_a_file() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    let path = |name: &str| disk.directory.path().join(name).display().to_string();
    let read = |name: &str| fs::read_to_string(path(name)).unwrap();
    let output = disk.run(&["--dry-run", "-o", &path("plan.md"), &disk.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    let plan = read("plan.md");
    assert!(
        plan.starts_with("# trimtab trim: dry run\n") && plan.contains("- **geometry:** XFS"),
        "{plan}"
    );
    let output = disk.run(&["-o", &path("pass.html"), &disk.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "");
    assert!(
        stderr(&output).contains("measuring for"),
        "{}",
        stderr(&output)
    );
    let page = read("pass.html");
    assert!(page.starts_with("<!doctype html>"), "{page}");
    for word in ["/mount: complete", "<dt>discarded</dt>", "all of it"] {
        assert!(page.contains(word), "{word}: {page}");
    }
    let output = disk.run(&["--status", "--format", "markdown"]);
    assert!(
        stdout(&output).contains("no pass is running, and none can be resumed"),
        "{}",
        stdout(&output)
    );
    let output = disk.run(&["--status", "--format", "json", "-o", &path("x.md")]);
    assert!(refusal(&output).contains("disagree"));
    // JSON lines can be written to a file too.
    let output = disk.run(&["--dry-run", "-o", &path("plan.json"), &disk.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let line: Value = serde_json::from_str(&read("plan.json")).unwrap();
    assert_eq!(line["type"], "plan");
}

#[test]
fn events_match_the_schema() {
    needs_root!();
    let schema = stdout(&crate::support::run(&["trim", "--schema"]));
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let disk = Disk::new("ext4", 64, "rw");
    for line in disk.lines(0, &[&disk.path()]) {
        assert!(validator.is_valid(&line), "{line}");
    }
}

#[test]
fn a_data_path_needs_window_or_now() {
    needs_root!();
    let disk = Disk::new("ext4", 64, "rw");
    let config = disk.directory.path().join("trimtab.toml");
    fs::write(
        &config,
        format!("[check]\ndata_paths = [\"{}\"]\n", disk.path()),
    )
    .unwrap();
    let config = config.display().to_string();
    let path = disk.path();
    let before = disk.discards();
    let text = refusal(&disk.run(&["--config", &config, &path]));
    assert!(text.contains("--window or --now"), "{text}");
    assert_eq!(disk.discards(), before);
    let output = disk.run(&["--config", &config, &path, "--dry-run"]);
    assert_eq!(output.status.code(), Some(0));
    let text = single_line(&stdout(&output));
    assert!(text.contains("needs data path runs on"), "{text}");
    let output = disk.run(&["--config", &config, &path, "--now"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(disk.discards() > before);
}

#[test]
fn all_without_yes_only_prints_the_plan() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    let before = disk.discards();
    let output = disk.run(&["--all", "--now"]);
    let text = refusal(&output);
    assert!(text.contains("--all needs --yes"), "{text}");
    let text = stdout(&output);
    assert!(
        text.contains(&disk.path()) && text.contains("xfs on"),
        "{text}"
    );
    assert_eq!(disk.discards(), before);
    assert!(!disk.state().exists());
}

#[test]
fn a_dry_run_shows_the_plan_and_changes_nothing() {
    needs_root!();
    let mut disk = Disk::new("ext4", 512, "rw");
    disk.fragment(40, MIB);
    let bound = disk.bind();
    let before = disk.discards();
    let output = disk.run(&["--dry-run", &bound, &disk.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = normalize(&stdout(&output), &disk);
    let joined = single_line(&text);
    assert!(
        joined
            .starts_with("A trim of DIR/bind0 would take less than a minute. Nothing was changed."),
        "{text}"
    );
    for word in [
        "ext4 on /dev/loopN, ",
        "mounts also on DIR/mount; trimmed once",
        "stack loopN",
        "geometry ext4: 4 block groups of 128 MiB",
        "free extents, the largest",
        "at loopN",
        "time less than a minute at",
        "last trim ",
    ] {
        assert!(joined.contains(word), "{word}: {text}");
    }
    assert!(
        text.lines()
            .all(|line| line.chars().count() <= 80 || line.contains("DIR")),
        "{text}"
    );
    let options = [
        "--require-green",
        "http://es1:9200",
        "--probe",
        "http://es1:9200/?key=hunter2",
        "--probe",
        "/usr/bin/ask --password hunter2",
    ];
    let output = disk.run(&[&options[..], &["--dry-run", &disk.path()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let joined = single_line(&stdout(&output));
    for word in [
        "begins only while the cluster at http://es1:9200 is green",
        "probe http://es1:9200/?... and ask ..., beside",
    ] {
        assert!(joined.contains(word), "{word}: {joined}");
    }
    assert!(!joined.contains("hunter2"), "{joined}");
    let lines = disk.lines(0, &["--dry-run", &disk.path()]);
    assert_eq!(lines.len(), 1);
    let plan = &lines[0];
    assert_eq!(plan["schema"], "trimtab.trim/1");
    assert_eq!((&plan["type"], &plan["seq"]), (&"plan".into(), &0.into()));
    assert_eq!(plan["also_mounted_on"], serde_json::json!([bound]));
    assert!(plan["refusal"].is_null() && plan["resumes"].is_null());
    assert!(plan["free_extents"].as_u64().unwrap() >= 20, "{plan}");
    let name = disk.device.trim_start_matches("/dev/");
    assert_eq!(plan["layers"][0]["device"], name);
    assert_eq!(plan["layers"][0]["expected_bytes_max"], plan["free_bytes"]);
    assert_eq!(disk.discards(), before);
    assert!(!disk.state().exists(), "a dry run needs no state directory");
}

/// Runs a complete pass: free space is discarded, the amounts come from the device's counters, and
/// the events, checkpoint and audit log are as they should be.
fn complete_pass(fs_type: &str, options: &str, metadata_max: u64) {
    let mut disk = Disk::new(fs_type, 768, options);
    let live_bytes = disk.fragment(200, MIB);
    let bound = disk.bind();
    let stored = disk.stored_bytes();
    let lines = disk.lines(0, &[&disk.path(), &bound]);
    disk.sync();
    let left = disk.stored_bytes();
    assert!(
        left <= live_bytes + metadata_max * MIB && stored - left >= live_bytes * 9 / 10,
        "{fs_type}: {stored} -> {left}, live {live_bytes}"
    );
    for (index, line) in lines.iter().enumerate() {
        assert_eq!(line["schema"], "trimtab.trim/1");
        assert_eq!(line["seq"], index);
        assert!(line["at"].as_str().unwrap().ends_with('Z'), "{line}");
    }
    assert_eq!(
        of_type(&lines, "plan").len(),
        1,
        "the bind mount is not a second filesystem"
    );
    let begins = of_type(&lines, "begins");
    assert_eq!(begins[0]["resumed_bytes"], 0);
    assert!(!of_type(&lines, "step").is_empty());
    let ended = of_type(&lines, "ended");
    assert_eq!(ended.len(), 1);
    let ended = ended[0];
    assert_eq!(
        (&ended["outcome"], &ended["reason"]),
        (&"complete".into(), &Value::Null)
    );
    assert_eq!(ended["resumable"], false);
    let layer = &ended["layers"][0];
    assert_eq!(layer["device"], disk.device.trim_start_matches("/dev/"));
    // The device's counter, not FITRIM's result: at least what the image shrank by.
    let discarded = layer["discarded_bytes"].as_u64().unwrap();
    assert!(discarded >= stored - left, "{discarded} {stored} {left}");
    assert!(discarded <= 768 * MIB);
    assert!(ended["visited_bytes"].as_u64() >= begins[0]["free_bytes"].as_u64());
    assert!(disk.checkpoint().is_none());
    let audit = disk.audit();
    assert_eq!(audit.len(), 1);
    assert_eq!(audit[0]["outcome"], "complete");
    assert_eq!(audit[0]["who"]["uid"], 0);
    assert_eq!(audit[0]["mount_point"], disk.path());
    // The next forecast knows about this pass.
    let plan = &disk.lines(0, &["--dry-run", &disk.path()])[0];
    assert_eq!(plan["last_trim_by"], "trimtab");
}

#[test]
fn a_complete_pass_on_xfs() {
    needs_root!();
    // mkfs writes the 64 MiB log, and it remains.
    complete_pass("xfs", "rw", 80);
}

#[test]
fn a_complete_pass_on_ext4() {
    needs_root!();
    complete_pass("ext4", "rw", 40);
}

#[test]
fn a_complete_pass_on_btrfs() {
    needs_root!();
    complete_pass("btrfs", "rw,nodiscard", 40);
}

#[test]
fn the_text_summary_of_a_pass() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    let output = disk.run(&[&disk.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = normalize(&stdout(&output), &disk);
    assert!(text.starts_with("DIR/mount: complete\n\n"), "{text}");
    for word in [
        "\ndiscarded  ",
        " at loopN of ",
        "all of it",
        "steps",
        "\nlatency    ",
        "quiet: mean",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let messages = stderr(&output);
    assert!(messages.contains("measuring for"), "{messages}");
    assert!(
        !messages.contains('\u{1b}') && !messages.contains('\r'),
        "no terminal: {messages}"
    );
    let quiet = disk.run(&[&disk.path(), "--quiet"]);
    assert_eq!(stderr(&quiet), "");
}

#[test]
fn sigint_exits_with_130_and_the_next_call_resumes() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let running = disk.start_slowly(&[]);
    running.signal(Signal::INT);
    let output = running.output();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("ended by SIGINT"), "{text}");
    assert!(
        single_line(&text).contains("to resume `trimtab trim "),
        "{text}"
    );
    let visited = disk.checkpoint().unwrap()["visited_bytes"]
        .as_u64()
        .unwrap();
    assert!(visited > 0);
    let status = disk.run(&["--status"]);
    assert!(stdout(&status).contains("SIGINT") || stdout(&status).contains("signal 2"));
    let lines = disk.lines(0, &[&disk.path()]);
    let begins = of_type(&lines, "begins")[0];
    assert_eq!(begins["resumed_bytes"], visited);
    let ended = of_type(&lines, "ended")[0];
    assert_eq!(ended["outcome"], "complete");
    assert!(disk.checkpoint().is_none());
    let outcomes: Vec<Value> = disk
        .audit()
        .iter()
        .map(|line| line["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["signal", "complete"]);
}

#[test]
fn restart_ignores_the_checkpoint() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let running = disk.start_slowly(&[]);
    running.signal(Signal::TERM);
    assert_eq!(running.output().status.code(), Some(143));
    let lines = disk.lines(0, &[&disk.path(), "--restart"]);
    assert_eq!(of_type(&lines, "begins")[0]["resumed_bytes"], 0);
}

#[test]
fn another_process_lists_and_cancels_a_pass() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let running = disk.start_slowly(&[]);
    let pid = running.id();
    let status = disk.run(&["--status"]);
    assert_eq!(status.status.code(), Some(0), "{}", stderr(&status));
    let text = stdout(&status);
    assert!(
        single_line(&text).contains(&format!("{}: running, process {pid}", disk.path())),
        "{text}"
    );
    let lines = disk.lines(0, &["--status"]);
    assert_eq!(lines[0]["type"], "pass");
    assert_eq!(
        (&lines[0]["state"], &lines[0]["pid"]),
        (&"running".into(), &pid.into())
    );
    // A second start is refused and does not disturb the running pass.
    let second = disk.run(&[&disk.path()]);
    let text = refusal(&second);
    assert!(
        text.contains(&pid.to_string()) && text.contains("--status"),
        "{text}"
    );
    let cancel = disk.run(&["--cancel", &disk.path()]);
    assert_eq!(cancel.status.code(), Some(0), "{}", stderr(&cancel));
    assert!(
        stdout(&cancel).contains(&pid.to_string()),
        "{}",
        stdout(&cancel)
    );
    let output = running.output();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("cancelled"), "{}", stdout(&output));
    assert!(disk.checkpoint().is_none());
    let status = disk.run(&["--status"]);
    assert!(
        stdout(&status).contains("no pass is running"),
        "{}",
        stdout(&status)
    );
    let nothing = disk.run(&["--cancel", &disk.path()]);
    assert_eq!(nothing.status.code(), Some(1));
}

#[test]
fn cancel_removes_the_checkpoint_of_a_stopped_pass() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let running = disk.start_slowly(&[]);
    running.signal(Signal::TERM);
    running.output();
    let cancel = disk.run(&["--cancel", &disk.path()]);
    assert_eq!(cancel.status.code(), Some(0), "{}", stderr(&cancel));
    assert!(
        stdout(&cancel).contains("its checkpoint has been removed"),
        "{}",
        stdout(&cancel)
    );
    assert!(disk.checkpoint().is_none());
}

#[test]
fn a_deadline_stops_a_pass_resumably() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let lines = disk.lines(1, &[&disk.path(), "--rate", "8MiB/s", "--deadline", "16s"]);
    let ended = of_type(&lines, "ended")[0];
    assert_eq!(
        (&ended["outcome"], &ended["resumable"]),
        (&"stopped".into(), &true.into())
    );
    assert!(
        ended["reason"].as_str().unwrap().contains("deadline"),
        "{ended}"
    );
    assert!(disk.checkpoint().is_some());
}

#[test]
fn a_pass_outside_its_window_waits_and_can_be_stopped() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    let before = disk.discards();
    // A window from six to seven hours from now.
    let hour = |ahead: i64| {
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(ahead);
        at.strftime("%H:%M").to_string()
    };
    let window = format!("{}-{}", hour(6), hour(7));
    let path = disk.path();
    let mut running = disk.start(&[&path, "--window", &window, "--tz", "UTC"]);
    wait_until("the pass waits", || {
        assert!(
            running.is_running(),
            "the pass ended early: {}",
            running.final_output()
        );
        disk.checkpoint().is_some()
    });
    let status = disk.run(&["--status"]);
    let text = stdout(&status);
    assert!(text.contains("running, process"), "{text}");
    assert!(
        single_line(&text).contains(&format!("outside of --window {window}")),
        "{text}"
    );
    running.signal(Signal::TERM);
    let output = running.output();
    assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
    assert!(
        single_line(&stderr(&output)).contains("it opens at"),
        "{}",
        stderr(&output)
    );
    assert_eq!(disk.discards(), before);
    assert!(
        disk.checkpoint().is_none(),
        "nothing was trimmed: no checkpoint is kept"
    );
}

#[test]
fn a_pass_starts_in_an_open_window() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    let lines = disk.lines(0, &[&disk.path(), "--window", "00:00-24:00"]);
    assert_eq!(of_type(&lines, "ended")[0]["outcome"], "complete");
}

#[test]
fn a_device_without_discard_support_is_refused() {
    needs_root!();
    // ramfs cannot punch holes, so a loop device over it has no discard support.
    let mut disk = Disk::empty();
    let ram = disk.directory.path().join("ram");
    fs::create_dir(&ram).unwrap();
    tool("mount", &["-t", "ramfs", "ramfs", ram.to_str().unwrap()]);
    disk.extra_mounts.push(ram.clone());
    disk.make_and_mount("ext4", &ram.join("image"), 16, "rw");
    let before = disk.discards();
    let output = disk.run(&[&disk.path(), "--force"]);
    let text = single_line(&refusal(&output));
    let name = &disk.device;
    assert!(
        text.contains(&format!(
            "{name} takes no discards: there is nothing to trim"
        )) || text.contains("TRIM001: "),
        "{text}"
    );
    let lines = disk.lines(2, &[&disk.path()]);
    assert_eq!(lines[0]["outcome"], "refused");
    assert_eq!(disk.discards(), before);
}

#[test]
fn help_and_man_page_cover_trim() {
    let help = stdout(&crate::support::run(&["trim", "--help"]));
    for word in ["Examples:", "--max-latency", "Exit codes:", "143"] {
        assert!(help.contains(word), "{word}: {help}");
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display().to_string();
    assert!(crate::support::run(&["man", &path]).status.success());
    let page = fs::read_to_string(directory.path().join("trimtab-trim.1")).unwrap();
    assert!(page.contains("accept\\-stall"), "{page}");
}
