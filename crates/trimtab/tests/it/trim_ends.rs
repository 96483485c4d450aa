//! How passes of `trimtab trim` end: deadlines, signals, failed starts, `--all --yes`, and devices
//! without counters.

use crate::disk::{Disk, Running, needs_root, of_type, parse, single_line, tool, wait_until};
use crate::support::{run, stderr, stdout, trimtab};
use bounded_http::testing::{Answer, Server};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Returns a window between two offsets from now, in UTC.
fn window(from_min: i64, until_min: i64) -> String {
    let clock = |ahead: i64| {
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(ahead);
        at.strftime("%H:%M").to_string()
    };
    format!("{}-{}", clock(from_min), clock(until_min))
}

/// Returns the child process that calls FITRIM.
fn fitrim_child(parent: u32) -> Option<Pid> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let children = fs::read_to_string(path).ok()?;
    let first = children.split_ascii_whitespace().next()?;
    Pid::from_raw(first.parse().ok()?)
}

#[test]
fn a_deadline_includes_the_wait_for_a_window() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    let before = disk.discards();
    let window = window(6 * 60, 7 * 60);
    let path = disk.path();
    let more = ["--tz", "UTC", "--deadline", "3s"];
    let lines = disk.lines(
        1,
        &[&[path.as_str(), "--window", &window], &more[..]].concat(),
    );
    let ended = of_type(&lines, "ended")[0];
    assert_eq!(
        (&ended["outcome"], &ended["resumable"]),
        (&"stopped".into(), &true.into())
    );
    let reason = ended["reason"].as_str().unwrap();
    assert!(
        reason.contains("it opens at") && reason.contains("deadline"),
        "{reason}"
    );
    assert_eq!(disk.discards(), before);
    assert!(disk.checkpoint().is_none(), "nothing was trimmed");
}

#[test]
fn a_deadline_ends_a_hung_fitrim_call() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let running = disk.start_slowly(&["--deadline", "25s"]);
    // Like a call that waits for a drive: it neither returns nor reacts to SIGTERM.
    let child = fitrim_child(running.id()).expect("a child");
    kill_process(child, Signal::STOP).unwrap();
    let output = finish(running, "the deadline ends the pass");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = single_line(&stdout(&output));
    assert!(text.contains("stopped: the deadline has passed"), "{text}");
    assert!(disk.checkpoint().is_some());
    let status = single_line(&stdout(&disk.run(&["--status"])));
    assert!(status.contains("ago: the deadline has passed"), "{status}");
    let (state, path) = (disk.state(), disk.path());
    let command = format!("--state {} {path}`, with the options", state.display());
    assert!(status.contains("to resume `trimtab trim "), "{status}");
    assert!(status.contains(&command), "{status}");
}

#[test]
fn the_printed_command_resumes_the_pass() {
    needs_root!();
    let mut disk = Disk::empty();
    let other_directory = disk.directory.path().join("with blank");
    fs::create_dir(&other_directory).unwrap();
    disk.make_and_mount("xfs", &disk.directory.path().join("image"), 320, "rw");
    // The resume command must repeat --now, and the configuration that requires it.
    let config = disk.directory.path().join("trimtab.toml");
    let text = format!("[check]\ndata_paths = [\"{}\"]\n", disk.path());
    fs::write(&config, text).unwrap();
    let config = config.display().to_string();
    let running = disk.start_slowly(&["--now", "--config", &config]);
    running.signal(Signal::TERM);
    let output = running.output();
    assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
    let text = stdout(&output);
    let rest = text.split_once("to resume").unwrap().1;
    let command = rest.split('`').nth(1).unwrap();
    let arguments = shlex::split(command).unwrap();
    assert_eq!(arguments[0], "trimtab");
    let again = trimtab()
        .args(&arguments[1..])
        .current_dir(&other_directory)
        .output()
        .unwrap();
    assert_eq!(
        again.status.code(),
        Some(0),
        "{command}: {}",
        stderr(&again)
    );
    let audit = disk.audit();
    assert_eq!(audit.len(), 2);
    assert_eq!(audit[1]["outcome"], "complete");
    assert!(audit[1]["resumed_bytes"].as_u64() > Some(0));
    // The other options are repeated too.
    assert_eq!(audit[1]["options"], audit[0]["options"]);
}

#[test]
fn status_finds_a_pass_by_any_path_of_its_filesystem() {
    needs_root!();
    let (mut disk, other) = (Disk::new("xfs", 320, "rw"), Disk::new("ext4", 64, "rw"));
    let running = disk.start_slowly(&[]);
    running.signal(Signal::TERM);
    assert_eq!(running.output().status.code(), Some(143));
    let (bind, path) = (disk.bind(), disk.path());
    let link = disk.directory.path().join("link");
    std::os::unix::fs::symlink(disk.mount_point(), &link).unwrap();
    let at = |word: &str, path: &str| {
        let mut command = disk.trim(&[word, path]);
        command.current_dir(disk.directory.path()).output().unwrap()
    };
    let finds = |name: &str| {
        let output = at("--status", name);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        single_line(&stdout(&output)).contains(&format!("{path}: stopped"))
    };
    let names = [&path, &format!("{path}/"), "mount", "./mount/", "link"];
    for name in names {
        assert!(finds(name), "{name}");
    }
    assert!(finds(&bind), "the same filesystem");
    assert!(!finds(&other.path()), "another filesystem");
    let nowhere = at("--status", "/no/such/place");
    assert_eq!(nowhere.status.code(), Some(2), "{}", stdout(&nowhere));

    // A dry run reports the checkpoint only if the pass would resume from it.
    let plan = single_line(&stdout(&at("--dry-run", "mount")));
    assert!(plan.contains("resumes from the pass of"), "{plan}");
    let stopped = disk.checkpoint().unwrap();
    // A weekly one does, also if the clocks have changed.
    for (days, is_resumed) in [(8, true), (16, false)] {
        let mut aged = stopped.clone();
        let ago = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(days * 24);
        aged["updated_at"] = ago.to_string().into();
        disk.write_checkpoint(&aged);
        let plan = single_line(&stdout(&at("--dry-run", "mount")));
        let resumes = plan.contains("resumes from the pass of");
        assert_eq!(resumes, is_resumed, "{days} days: {plan}");
    }
    disk.write_checkpoint(&stopped);

    // The filesystem is unmounted, or another is mounted over it.
    for point in [&bind, &path] {
        tool("umount", &[point]);
    }
    for name in names {
        assert!(finds(name), "{name}, unmounted");
    }
    assert_eq!(at("--status", &bind).status.code(), Some(2));
    tool("mount", &[&other.device, &path]);
    for name in names {
        assert!(finds(name), "{name}, covered");
    }
    tool("umount", &[&path]);
    fs::remove_dir(disk.mount_point()).unwrap();
    assert!(finds("./mount"), "the directory is gone");
    let cancel = at("--cancel", "./mount/");
    assert_eq!(cancel.status.code(), Some(0), "{}", stderr(&cancel));
    let text = stdout(&cancel);
    assert!(text.contains("its checkpoint has been removed"), "{text}");
    assert!(disk.checkpoint().is_none());
}

/// Runs a command in a mount namespace with a read-only /run.
const READ_ONLY_RUN: &str =
    "mount --make-rprivate / && mount -t tmpfs -o ro tmpfs /run && exec \"$@\"";

#[test]
fn lock_and_state_directory_errors_have_different_hints() {
    needs_root!();
    let disk = Disk::new("ext4", 64, "rw");
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", READ_ONLY_RUN, "sh"])
        .arg(env!("CARGO_BIN_EXE_trimtab"))
        .args(["trim", &disk.path(), "--state"])
        .arg(disk.state())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    let text = stderr(&output);
    assert!(text.contains("/run/trimtab: Read-only"), "{text}");
    assert!(
        text.contains("hint: locks are in /run/trimtab whatever --state says"),
        "{text}"
    );
    // An unusable state directory gets its own hint.
    let file = disk.directory.path().join("file");
    fs::write(&file, "").unwrap();
    let output = trimtab()
        .args(["trim", &disk.path(), "--state"])
        .arg(file.join("state"))
        .output()
        .unwrap();
    let text = stderr(&output);
    assert!(
        text.contains("hint: --state DIR keeps checkpoints"),
        "{text}"
    );
}

/// Waits for a pass to end without being stopped, and returns its output.
fn finish(mut running: Running, what: &str) -> std::process::Output {
    wait_until(what, || !running.is_running());
    running.output()
}

#[test]
fn a_failed_start_after_a_wait_keeps_the_checkpoint() {
    needs_root!();
    let (new, stopped) = (Disk::new("xfs", 320, "rw"), Disk::new("xfs", 512, "rw"));
    let pass = stopped.start_slowly(&[]);
    pass.signal(Signal::TERM);
    assert_eq!(pass.output().status.code(), Some(143));
    let earlier = stopped.checkpoint().unwrap();
    // Windows open on a full minute: do not start right before the next one.
    if jiff::Zoned::now().second() > 55 {
        std::thread::sleep(Duration::from_secs(6));
    }
    let window = window(1, 10);
    let start = |disk: &Disk| {
        let path = disk.path();
        // Nothing listens on port 1.
        let green = ["--require-green", "http://127.0.0.1:1/", "--tz", "UTC"];
        disk.start(&[&[path.as_str(), "--window", &window], &green[..]].concat())
    };
    let passes = [start(&new), start(&stopped)];
    wait_until("both passes wait", || {
        new.checkpoint().is_some() && stopped.checkpoint().is_some_and(|now| now != earlier)
    });
    let status = single_line(&stdout(&new.run(&["--status"])));
    assert!(status.contains("which waits for its window"), "{status}");
    for pass in passes {
        let output = finish(pass, "the window opens");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let text = single_line(&stderr(&output));
        assert!(text.contains("127.0.0.1:1"), "{text}");
        assert!(
            !text.contains("resumes the pass of"),
            "nothing is resumed: {text}"
        );
    }
    assert_eq!(new.checkpoint(), None);
    assert_eq!(stopped.checkpoint().unwrap(), earlier);
    // A failed start with --restart keeps the checkpoint too.
    let path = stopped.path();
    let restarted = stopped.run(&[&path, "--restart", "--require-green", "http://127.0.0.1:1/"]);
    assert_eq!(restarted.status.code(), Some(2), "{}", stderr(&restarted));
    assert_eq!(stopped.checkpoint().unwrap(), earlier);
}

/// Within its window a pass waits for the cluster, and what was done before is not lost if that takes too long.
#[test]
fn a_pass_waits_for_a_green_cluster_until_its_deadline() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let pass = disk.start_slowly(&[]);
    pass.signal(Signal::TERM);
    assert_eq!(pass.output().status.code(), Some(143));
    let earlier = disk.checkpoint().unwrap();
    let health =
        br#"{"cluster_name": "logs", "status": "yellow", "timed_out": false, "number_of_nodes": 3,
        "relocating_shards": 0, "initializing_shards": 0, "unassigned_shards": 2}"#;
    let server = Server::start(move |_| Answer::Body(200, health.to_vec()));
    let url = server.url("/");
    let window = window(-2, 10);
    let path = disk.path();
    let green = ["--require-green", url.as_str(), "--tz", "UTC"];
    let within = [
        &[path.as_str(), "--window", &window, "--deadline", "3s"],
        &green[..],
    ]
    .concat();
    let output = disk.run(&within);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = single_line(&stdout(&output));
    let why = "cluster \"logs\" is yellow: 2 unassigned shards, and the deadline has passed";
    assert!(text.contains(why), "{text}");
    assert_eq!(disk.checkpoint().unwrap(), earlier);
    // Without a window nothing is waited for.
    let output = disk.run(&[&path, "--now", "--require-green", &url]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(single_line(&stderr(&output)).contains("is yellow"));
    assert_eq!(disk.checkpoint().unwrap(), earlier);
}

#[test]
fn a_pass_stopped_before_its_first_step_leaves_no_checkpoint() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    // Nothing is discarded while the baseline latency is measured.
    let pass = disk.start(&[&disk.path()]);
    wait_until("the pass has begun", || disk.checkpoint().is_some());
    let status = single_line(&stdout(&disk.run(&["--status"])));
    let running = format!("{}: running, process {}", disk.path(), pass.id());
    assert!(status.contains(&running), "{status}");
    assert!(status.contains("nothing yet"), "{status}");
    pass.signal(Signal::TERM);
    assert_eq!(pass.output().status.code(), Some(143));
    assert_eq!(disk.checkpoint(), None);
}

/// Starts a pass from a shell that ignores a signal, and waits until it has made progress.
fn start_ignoring_signal(disk: &Disk, signal: &str) -> Running {
    let mut command = Command::new("/bin/sh");
    let program = env!("CARGO_BIN_EXE_trimtab");
    command
        .args(["-c", &format!("trap '' {signal}; exec \"$@\""), "sh"])
        .args([program, "trim", &disk.path(), "--rate", "8MiB/s"])
        .args(["--max-latency", "5s", "--accept-stall", "60s", "--state"])
        .arg(disk.state())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut running = Running::new(command.spawn().unwrap());
    wait_until("the pass is under way", || {
        assert!(running.is_running(), "{}", running.final_output());
        disk.checkpoint()
            .is_some_and(|checkpoint| checkpoint["visited_bytes"].as_u64() > Some(0))
    });
    running
}

#[test]
fn a_pass_whose_caller_ignores_sigterm_can_be_cancelled() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let running = start_ignoring_signal(&disk, "TERM");
    let cancel = disk.run(&["--cancel", &disk.path()]);
    assert_eq!(cancel.status.code(), Some(0), "{}", stderr(&cancel));
    let output = finish(running, "the pass is cancelled");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("cancelled"), "{}", stdout(&output));
    assert!(disk.checkpoint().is_none());
}

#[test]
fn nohup_is_respected() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let mut running = start_ignoring_signal(&disk, "HUP");
    running.signal(Signal::HUP);
    // A pass ends within a tenth of this time after a signal that it handles.
    std::thread::sleep(Duration::from_secs(2));
    assert!(running.is_running(), "{}", running.final_output());
    running.signal(Signal::TERM);
    assert_eq!(running.output().status.code(), Some(143));
}

#[test]
fn sighup_stops_a_pass_resumably() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let running = disk.start_slowly(&[]);
    running.signal(Signal::HUP);
    let output = finish(running, "SIGHUP ends the pass");
    assert_eq!(output.status.code(), Some(129), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("ended by SIGHUP"), "{text}");
    let status = stdout(&disk.run(&["--status"]));
    assert!(
        single_line(&status).contains("ago: ended by SIGHUP"),
        "{status}"
    );
    let lines = disk.lines(0, &["--status"]);
    assert_eq!(lines[0]["reason"], "ended by SIGHUP");
    // Steps are counted for each session and for the pass.
    let lines = disk.lines(0, &[&disk.path()]);
    let ended = of_type(&lines, "ended")[0];
    let steps = |line: &Value, name: &str| line[name].as_u64().unwrap();
    let audit = disk.audit();
    let [first, second] = [0, 1].map(|session| steps(&audit[session], "steps"));
    assert!(first > 0 && second > 0);
    assert_eq!(steps(ended, "steps"), first + second);
    assert_eq!(steps(ended, "resumed_steps"), first);
    assert_eq!(steps(&audit[1], "resumed_steps"), first);
}

/// Returns a full pipe: writers block.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let flags = rustix::fs::fcntl_getfl(&writer).unwrap();
    rustix::fs::fcntl_setfl(&writer, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
    loop {
        match writer.write(&[b' '; 4096]) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => panic!("{error}"),
        }
    }
    rustix::fs::fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

#[test]
fn a_second_signal_kills_a_blocked_pass() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    let (_reader, writer) = full_pipe();
    let mut command = disk.trim(&[&disk.path(), "--format", "json"]);
    command.stdout(writer).stderr(Stdio::null());
    let mut running = Running::new(command.spawn().unwrap());
    // Wait until SIGTERM is handled. By then the pass is blocked writing its first line.
    let status = format!("/proc/{}/status", running.id());
    wait_until("signals are handled", || {
        let status = fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        u64::from_str_radix(caught.unwrap().trim(), 16).unwrap() & (1 << 14) != 0
    });
    running.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(1200));
    assert!(
        running.is_running(),
        "the first signal only requests a stop"
    );
    running.signal(Signal::TERM);
    wait_until("the second signal kills the pass", || !running.is_running());
    let output = running.output();
    assert_eq!(output.status.signal(), Some(15), "{:?}", output.status);
}

#[test]
fn ext4_and_btrfs_do_not_need_accept_stall() {
    needs_root!();
    for (fs_type, options) in [("ext4", "rw"), ("btrfs", "rw,nodiscard")] {
        let disk = Disk::new(fs_type, 400, options);
        let path = disk.path();
        let before = disk.discards();
        // This test is not about latency, which varies on a busy machine.
        let arguments = ["trim", &path, "--max-latency", "5s", "--state"];
        let plan = trimtab()
            .args(arguments)
            .arg(disk.state())
            .arg("--dry-run")
            .output()
            .unwrap();
        let text = stdout(&plan);
        assert!(!text.contains("--accept-stall"), "{text}");
        let output = trimtab()
            .args(arguments)
            .arg(disk.state())
            .output()
            .unwrap();
        let text = format!("{}{}", stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(0), "{fs_type}: {text}");
        assert!(text.contains(": complete\n"), "{text}");
        assert!(disk.discards() > before);
    }
}

#[test]
fn a_probe_command_runs_throughout_the_pass() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    let log = disk.directory.path().join("asked");
    let script = disk.directory.path().join("ask");
    let text = format!("#!/bin/sh\necho \"$1\" >>{}\n", log.display());
    fs::write(&script, text).unwrap();
    tool("chmod", &["755", script.to_str().unwrap()]);
    let probe = format!("{} 'two words'", script.display());
    let lines = disk.lines(0, &[&disk.path(), "--probe", &probe]);
    let begins = of_type(&lines, "begins")[0];
    assert_eq!(begins["quiet"].as_array().unwrap().len(), 2, "{begins}");
    let answers = fs::read_to_string(&log).unwrap();
    assert!(answers.lines().count() >= 5, "{answers}");
    assert!(answers.lines().all(|line| line == "two words"), "{answers}");
    // A probe that cannot run ends the command: nothing is trimmed without it.
    let before = disk.discards();
    let output = disk.run(&[&disk.path(), "--probe", "/no/such/program"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("--probe: program: cannot be started"),
        "{}",
        stderr(&output)
    );
    assert_eq!(disk.discards(), before);
}

/// Disables a device's I/O counters until dropped.
struct DisabledIostats(PathBuf);

impl DisabledIostats {
    fn new(disk: &Disk) -> Self {
        let name = disk.device.trim_start_matches("/dev/");
        let path = PathBuf::from(format!("/sys/block/{name}/queue/iostats"));
        fs::write(&path, "0").unwrap();
        Self(path)
    }
}

impl Drop for DisabledIostats {
    fn drop(&mut self) {
        // The next user of the loop device would inherit the setting.
        let _ = fs::write(&self.0, "1");
    }
}

#[test]
fn a_device_without_counters_is_named() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    let name = disk.device.trim_start_matches("/dev/");
    let _disabled = DisabledIostats::new(&disk);
    let output = disk.run(&[&disk.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = single_line(&stdout(&output));
    assert!(
        text.contains(&format!("freed not measurable: {name} counts nothing")),
        "{text}"
    );
    assert!(!text.contains("this kernel"), "{text}");
    let lines = disk.lines(0, &[&disk.path()]);
    let ended = of_type(&lines, "ended")[0];
    assert_eq!(ended["measurable"], false);
    assert!(ended["layers"][0]["discarded_bytes"].is_null(), "{ended}");
    let steps = of_type(&lines, "step");
    assert!(
        steps
            .iter()
            .all(|step| step["discarded_bytes"][name].is_null())
    );
    assert!(!steps.is_empty());
}

/// Runs trimtab in a chroot, in a mount namespace that cleans up after itself. Mounts outside the
/// root are not in its mountinfo, so `--all` sees only the test's disk.
const CHROOT_SCRIPT: &str = r#"
set -eu
root=$1 device=$2
shift 2
mount --make-rprivate /
mount -t tmpfs tmpfs "$root"
mkdir -p "$root/dev" "$root/proc" "$root/sys" "$root/data" "$root/bin"
mount -t devtmpfs devtmpfs "$root/dev"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount "$device" "$root/data"
cp "$TRIMTAB" "$root/bin/trimtab"
for library in $(ldd "$TRIMTAB" | grep -o '/[^ ]*'); do
    mkdir -p "$root${library%/*}"
    cp "$library" "$root$library"
done
unset TRIMTAB
exec chroot "$root" /bin/trimtab trim --all "$@"
"#;

fn trim_all_in_chroot(disk: &Disk, root: &Path, more: &[&str]) -> std::process::Output {
    Command::new("unshare")
        .args([
            "-m",
            "sh",
            "-c",
            CHROOT_SCRIPT,
            "sh",
            root.to_str().unwrap(),
        ])
        .arg(&disk.device)
        .args(["--max-latency", "5s", "--state", "/state"])
        .args(more)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("TRIMTAB", env!("CARGO_BIN_EXE_trimtab"))
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn all_with_yes_trims_the_planned_filesystem() {
    needs_root!();
    let disk = Disk::new("ext4", 200, "rw");
    let root = disk.directory.path().join("root");
    fs::create_dir(&root).unwrap();
    let plan = trim_all_in_chroot(&disk, &root, &["--dry-run", "--format", "json"]);
    assert_eq!(plan.status.code(), Some(0), "{}", stderr(&plan));
    let lines = parse(&stdout(&plan));
    // Make sure that no other disk is visible before anything is trimmed.
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["mount_point"], "/data");
    let name = disk.device.trim_start_matches("/dev/");
    assert_eq!(lines[0]["layers"][0]["device"], name);
    let before = disk.discards();
    let without_yes = trim_all_in_chroot(&disk, &root, &[]);
    assert_eq!(
        without_yes.status.code(),
        Some(2),
        "{}",
        stdout(&without_yes)
    );
    assert!(
        stderr(&without_yes).contains("--all needs --yes to trim this filesystem"),
        "{}",
        stderr(&without_yes)
    );
    let plan = single_line(&stdout(&without_yes));
    assert!(plan.starts_with("A trim of /data would take"), "{plan}");
    assert!(plan.contains("ext4 on /dev/loop"), "{plan}");
    assert_eq!(disk.discards(), before);
    let trimmed = trim_all_in_chroot(&disk, &root, &["--yes"]);
    assert_eq!(trimmed.status.code(), Some(0), "{}", stderr(&trimmed));
    assert!(
        stdout(&trimmed).contains("/data: complete"),
        "{}",
        stdout(&trimmed)
    );
    assert!(disk.discards() > before);
}

#[test]
fn full_pipe_is_not_writable() {
    let (_reader, writer) = full_pipe();
    let file = File::from(std::os::fd::OwnedFd::from(writer));
    let mut poll = [rustix::event::PollFd::new(
        &file,
        rustix::event::PollFlags::OUT,
    )];
    let now = rustix::event::Timespec::default();
    assert_eq!(rustix::event::poll(&mut poll, Some(&now)).unwrap(), 0);
}

/// A checkpoint as a pass writes it, of a filesystem with this UUID.
fn interrupted_pass(uuid: &str) -> Value {
    serde_json::json!({
        "schema": "trimtab.trim-checkpoint/1",
        "identity": {"device": {"major": 7, "minor": 250}, "uuid": uuid, "fs_type": "xfs"},
        "mount_point": format!("/of/{uuid}"),
        "started_at": "2026-11-01T00:00:00Z",
        "updated_at": "2026-11-01T01:00:00Z",
        "cursor": {"next_bytes": 4096, "unallocated_done": false},
        "steps": 3,
        "free_bytes": 1 << 30,
        "visited_bytes": 1 << 20,
        "discarded_bytes": {},
        "active_s": 60.0,
        "phase": {"type": "running"},
        "remark": null,
        "left_s": null,
        "boot_id": null,
    })
}

#[test]
fn every_checkpoint_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let good = "00112233-0000-4455-6677-8899aabbccdd";
    let content = interrupted_pass(good).to_string();
    std::fs::write(path(&format!("pass-{good}.json")), content).unwrap();
    std::fs::write(path("pass-one.json"), "garbage").unwrap();
    std::fs::write(path("pass-two.json"), "{}").unwrap();
    let status = |format: &str| {
        let state = folder.path().to_str().unwrap();
        run(&["trim", "--status", "--state", state, "--format", format])
    };
    for format in ["text", "markdown", "html", "json"] {
        let output = status(format);
        assert_eq!(output.status.code(), Some(2), "{format}");
        let (shown, said) = (stdout(&output), stderr(&output));
        assert!(shown.contains(&format!("/of/{good}")), "{format}: {shown}");
        for bad in ["pass-one.json", "pass-two.json"] {
            assert_eq!(said.matches(bad).count(), 1, "{format}: {said}");
            // Text is read beside standard error.
            let in_answer = usize::from(format != "text");
            assert_eq!(shown.matches(bad).count(), in_answer, "{format}: {shown}");
        }
    }
    std::fs::remove_file(path(&format!("pass-{good}.json"))).unwrap();
    let shown = stdout(&status("text"));
    assert!(!shown.contains("none can be resumed"), "{shown}");
}

#[test]
fn a_pass_leaves_no_lock_file() {
    needs_root!();
    let disk = Disk::new("ext4", 64, "rw");
    let output = disk.run(&[&disk.path(), "--now"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let uuid = tool("findmnt", &["-no", "UUID", &disk.path()]);
    let uuid = uuid.trim().to_owned();
    let names = std::fs::read_dir("/run/trimtab").unwrap().flatten();
    let names: Vec<String> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    assert!(names.iter().all(|name| !name.contains(&uuid)), "{names:?}");
}
