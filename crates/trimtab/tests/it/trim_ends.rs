//! How passes of `trimtab trim` end: deadlines, signals, waits that lead nowhere, `--all --yes`, and
//! the counters that do not count.

use crate::disk::{Disk, Running, needs_root, of_type, parse, tool, wait_until, words};
use crate::support::{stderr, stdout, trimtab};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A window of the clock that shows UTC, in some minutes.
fn window(from_min: i64, until_min: i64) -> String {
    let clock = |ahead: i64| {
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_mins(ahead);
        at.strftime("%H:%M").to_string()
    };
    format!("{}-{}", clock(from_min), clock(until_min))
}

/// The process in which a pass makes its calls of FITRIM.
fn fitrim_child(parent: u32) -> Option<Pid> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let children = fs::read_to_string(path).ok()?;
    let first = children.split_ascii_whitespace().next()?;
    Pid::from_raw(first.parse().ok()?)
}

#[test]
fn a_deadline_counts_the_wait_for_a_window() {
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
    assert!(disk.checkpoint().is_none(), "nothing was done");
}

#[test]
fn a_deadline_ends_a_call_that_does_not_return() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let running = disk.start_slowly(&["--deadline", "25s"]);
    // As one that waits for a drive: no answer, and deaf to SIGTERM.
    let child = fitrim_child(running.id()).expect("a child");
    kill_process(child, Signal::STOP).unwrap();
    let output = finish(running, "the deadline ends it");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let text = words(&stdout(&output));
    assert!(text.contains("stopped: the deadline has passed"), "{text}");
    assert!(disk.checkpoint().is_some());
    let status = words(&stdout(&disk.run(&["--status"])));
    assert!(status.contains("ago: the deadline has passed"), "{status}");
    let (state, path) = (disk.state(), disk.path());
    let command = format!("--state {} {path}`, with the options", state.display());
    assert!(status.contains("to resume `trimtab trim "), "{status}");
    assert!(status.contains(&command), "{status}");
}

#[test]
fn what_is_said_goes_on_with_the_pass() {
    needs_root!();
    let mut disk = Disk::bare();
    let blank = disk.directory.path().join("with blank");
    fs::create_dir(&blank).unwrap();
    disk.put("xfs", &disk.directory.path().join("image"), 320, "rw");
    // A word is needed, and the configuration that asks for it.
    let config = disk.directory.path().join("trimtab.toml");
    let text = format!("[check]\ndata_paths = [\"{}\"]\n", disk.path());
    fs::write(&config, text).unwrap();
    let config = config.display().to_string();
    let running = disk.start_slowly(&["--now", "--config", &config]);
    running.signal(Signal::TERM);
    let output = running.output();
    assert_eq!(output.status.code(), Some(143), "{}", stderr(&output));
    let text = stdout(&output);
    let said = text.split_once("to resume").unwrap().1;
    let command = said.split('`').nth(1).unwrap();
    let said = shlex::split(command).unwrap();
    assert_eq!(said[0], "trimtab");
    let again = trimtab()
        .args(&said[1..])
        .current_dir(&blank)
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
    // Whatever else was asked for holds, too.
    assert_eq!(audit[1]["options"], audit[0]["options"]);
}

#[test]
fn a_pass_is_found_by_every_name_of_its_filesystem() {
    needs_root!();
    let (mut disk, other) = (Disk::new("xfs", 320, "rw"), Disk::new("ext4", 64, "rw"));
    let running = disk.start_slowly(&[]);
    running.signal(Signal::TERM);
    assert_eq!(running.output().status.code(), Some(143));
    let (bind, path) = (disk.bind(), disk.path());
    let link = disk.directory.path().join("link");
    std::os::unix::fs::symlink(disk.point(), &link).unwrap();
    let at = |word: &str, path: &str| {
        let mut command = disk.trim(&[word, path]);
        command.current_dir(disk.directory.path()).output().unwrap()
    };
    let finds = |name: &str| {
        let output = at("--status", name);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        words(&stdout(&output)).contains(&format!("{path}: stopped"))
    };
    let names = [&path, &format!("{path}/"), "mount", "./mount/", "link"];
    for name in names {
        assert!(finds(name), "{name}");
    }
    assert!(finds(&bind), "the same filesystem");
    assert!(!finds(&other.path()), "another filesystem");
    let nowhere = at("--status", "/no/such/place");
    assert_eq!(nowhere.status.code(), Some(2), "{}", stdout(&nowhere));

    // A dry run knows of it, as far as the pass would go on from it.
    let plan = words(&stdout(&at("--dry-run", "mount")));
    assert!(plan.contains("resumes from the pass of"), "{plan}");
    let stopped = disk.checkpoint().unwrap();
    let mut outdated = stopped.clone();
    let long_ago = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(9 * 24);
    outdated["updated_at"] = long_ago.to_string().into();
    disk.keep_checkpoint(&outdated);
    let plan = words(&stdout(&at("--dry-run", "mount")));
    assert!(!plan.contains("resumes from the pass of"), "{plan}");
    disk.keep_checkpoint(&stopped);

    // Its mount is gone, or covered by another.
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
    fs::remove_dir(disk.point()).unwrap();
    assert!(finds("./mount"), "the directory is gone");
    let cancel = at("--cancel", "./mount/");
    assert_eq!(cancel.status.code(), Some(0), "{}", stderr(&cancel));
    let told = stdout(&cancel);
    assert!(told.contains("its checkpoint is forgotten"), "{told}");
    assert!(disk.checkpoint().is_none());
}

/// A mount namespace in which /run cannot be written to.
const NO_RUN: &str = "mount --make-rprivate / && mount -t tmpfs -o ro tmpfs /run && exec \"$@\"";

#[test]
fn trouble_with_the_locks_is_no_matter_of_the_state_directory() {
    needs_root!();
    let disk = Disk::new("ext4", 64, "rw");
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", NO_RUN, "sh"])
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
    // And that with the state directory is one.
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

/// The end of a pass that must end by itself.
fn finish(mut running: Running, what: &str) -> std::process::Output {
    wait_until(what, || !running.is_there());
    running.output()
}

#[test]
fn a_start_that_fails_after_a_wait_leaves_the_state_as_it_was() {
    needs_root!();
    let (new, stopped) = (Disk::new("xfs", 320, "rw"), Disk::new("xfs", 512, "rw"));
    let pass = stopped.start_slowly(&[]);
    pass.signal(Signal::TERM);
    assert_eq!(pass.output().status.code(), Some(143));
    let earlier = stopped.checkpoint().unwrap();
    // Windows open on the minute.
    if jiff::Zoned::now().second() > 55 {
        std::thread::sleep(Duration::from_secs(6));
    }
    let window = window(1, 10);
    let start = |disk: &Disk| {
        let path = disk.path();
        // Nobody listens at port 1.
        let green = ["--require-green", "http://127.0.0.1:1/", "--tz", "UTC"];
        disk.start(&[&[path.as_str(), "--window", &window], &green[..]].concat())
    };
    let passes = [start(&new), start(&stopped)];
    wait_until("it waits", || {
        new.checkpoint().is_some() && stopped.checkpoint().is_some_and(|now| now != earlier)
    });
    let status = words(&stdout(&new.run(&["--status"])));
    assert!(status.contains("which waits for its window"), "{status}");
    for pass in passes {
        let output = finish(pass, "the window opens");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let text = words(&stderr(&output));
        assert!(text.contains("127.0.0.1:1"), "{text}");
        assert!(!text.contains("resumes the pass of"), "it does not: {text}");
    }
    assert_eq!(new.checkpoint(), None);
    assert_eq!(stopped.checkpoint().unwrap(), earlier);
    // Nor does --restart forget what it did not come to replace.
    let path = stopped.path();
    let anew = stopped.run(&[&path, "--restart", "--require-green", "http://127.0.0.1:1/"]);
    assert_eq!(anew.status.code(), Some(2), "{}", stderr(&anew));
    assert_eq!(stopped.checkpoint().unwrap(), earlier);
}

#[test]
fn a_pass_is_listed_before_its_first_step_and_leaves_nothing_if_it_ends_there() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    // While it measures how fast the drive answers, nothing is freed.
    let pass = disk.start(&[&disk.path()]);
    wait_until("it has begun", || disk.checkpoint().is_some());
    let status = words(&stdout(&disk.run(&["--status"])));
    let running = format!("{}: running, process {}", disk.path(), pass.id());
    assert!(status.contains(&running), "{status}");
    assert!(status.contains("nothing yet"), "{status}");
    pass.signal(Signal::TERM);
    assert_eq!(pass.output().status.code(), Some(143));
    assert_eq!(disk.checkpoint(), None);
}

/// A pass under way whose caller ignores a signal.
fn under_way_ignoring(disk: &Disk, signal: &str) -> Running {
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
        assert!(running.is_there(), "{}", running.last_words());
        disk.checkpoint()
            .is_some_and(|checkpoint| checkpoint["visited_bytes"].as_u64() > Some(0))
    });
    running
}

#[test]
fn a_pass_whose_caller_ignores_sigterm_can_be_cancelled() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let running = under_way_ignoring(&disk, "TERM");
    let cancel = disk.run(&["--cancel", &disk.path()]);
    assert_eq!(cancel.status.code(), Some(0), "{}", stderr(&cancel));
    let output = finish(running, "it is cancelled");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("cancelled"), "{}", stdout(&output));
    assert!(disk.checkpoint().is_none());
}

#[test]
fn nohup_is_respected() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let mut running = under_way_ignoring(&disk, "HUP");
    running.signal(Signal::HUP);
    // A signal that is handled ends it within a tenth of that.
    std::thread::sleep(Duration::from_secs(2));
    assert!(running.is_there(), "{}", running.last_words());
    running.signal(Signal::TERM);
    assert_eq!(running.output().status.code(), Some(143));
}

#[test]
fn a_closed_terminal_ends_a_pass_resumably() {
    needs_root!();
    let disk = Disk::new("xfs", 512, "rw");
    let running = disk.start_slowly(&[]);
    running.signal(Signal::HUP);
    let output = finish(running, "SIGHUP ends it");
    assert_eq!(output.status.code(), Some(129), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("ended by SIGHUP"), "{text}");
    let status = stdout(&disk.run(&["--status"]));
    assert!(words(&status).contains("ago: ended by SIGHUP"), "{status}");
    let lines = disk.lines(0, &["--status"]);
    assert_eq!(lines[0]["reason"], "ended by SIGHUP");
    // Steps of each session, and of all.
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

/// A pipe that is full, so that whoever writes into it waits.
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
fn a_second_signal_ends_a_pass_that_cannot_end() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    let (_reader, writer) = full_pipe();
    let mut command = disk.trim(&[&disk.path(), "--format", "json"]);
    command.stdout(writer).stderr(Stdio::null());
    let mut running = Running::new(command.spawn().unwrap());
    // Its handlers are set, and its first line does not get out.
    let status = format!("/proc/{}/status", running.id());
    wait_until("signals are handled", || {
        let status = fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        u64::from_str_radix(caught.unwrap().trim(), 16).unwrap() & (1 << 14) != 0
    });
    running.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(1200));
    assert!(running.is_there(), "the first one asks");
    running.signal(Signal::TERM);
    wait_until("the second one ends it", || !running.is_there());
    let output = running.output();
    assert_eq!(output.status.signal(), Some(15), "{:?}", output.status);
}

#[test]
fn ext4_and_btrfs_need_no_word_for_their_block_groups() {
    needs_root!();
    for (fs_type, options) in [("ext4", "rw"), ("btrfs", "rw,nodiscard")] {
        let disk = Disk::new(fs_type, 400, options);
        let path = disk.path();
        let before = disk.discards();
        // The latency of a busy test machine is not what is looked at here.
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
        let said = format!("{}{}", stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(0), "{fs_type}: {said}");
        assert!(said.contains(": complete\n"), "{said}");
        assert!(disk.discards() > before);
    }
}

#[test]
fn a_command_is_asked_throughout_the_pass() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    let asked = disk.directory.path().join("asked");
    let script = disk.directory.path().join("ask");
    let text = format!("#!/bin/sh\necho \"$1\" >>{}\n", asked.display());
    fs::write(&script, text).unwrap();
    tool("chmod", &["755", script.to_str().unwrap()]);
    let probe = format!("{} 'two words'", script.display());
    let lines = disk.lines(0, &[&disk.path(), "--probe", &probe]);
    let begins = of_type(&lines, "begins")[0];
    assert_eq!(begins["quiet"].as_array().unwrap().len(), 2, "{begins}");
    let answers = fs::read_to_string(&asked).unwrap();
    assert!(answers.lines().count() >= 5, "{answers}");
    assert!(answers.lines().all(|line| line == "two words"), "{answers}");
    // One that does not work is no reason to trim unwatched.
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

/// Switches a device's counters off for a while.
struct Uncounted(PathBuf);

impl Uncounted {
    fn new(disk: &Disk) -> Self {
        let name = disk.device.trim_start_matches("/dev/");
        let path = PathBuf::from(format!("/sys/block/{name}/queue/iostats"));
        fs::write(&path, "0").unwrap();
        Self(path)
    }
}

impl Drop for Uncounted {
    fn drop(&mut self) {
        // The next owner of the loop device would find it so.
        let _ = fs::write(&self.0, "1");
    }
}

#[test]
fn a_device_that_counts_nothing_is_named() {
    needs_root!();
    let disk = Disk::new("xfs", 320, "rw");
    let name = disk.device.trim_start_matches("/dev/");
    let _uncounted = Uncounted::new(&disk);
    let output = disk.run(&[&disk.path()]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = words(&stdout(&output));
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

/// A root directory that holds the binary, and sees no other disk than the test's: mounts outside
/// of it are not in its mountinfo. In a mount namespace of its own, which takes it all away again.
const CONFINED: &str = r#"
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

fn confined(disk: &Disk, root: &Path, more: &[&str]) -> std::process::Output {
    Command::new("unshare")
        .args(["-m", "sh", "-c", CONFINED, "sh", root.to_str().unwrap()])
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
fn all_and_yes_trim_what_the_plan_named() {
    needs_root!();
    let disk = Disk::new("ext4", 200, "rw");
    let root = disk.directory.path().join("root");
    fs::create_dir(&root).unwrap();
    let plan = confined(&disk, &root, &["--dry-run", "--format", "json"]);
    assert_eq!(plan.status.code(), Some(0), "{}", stderr(&plan));
    let lines = parse(&stdout(&plan));
    // Before anything is trimmed: no other disk is in sight.
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["mount_point"], "/data");
    let name = disk.device.trim_start_matches("/dev/");
    assert_eq!(lines[0]["layers"][0]["device"], name);
    let before = disk.discards();
    let asked = confined(&disk, &root, &[]);
    assert_eq!(asked.status.code(), Some(2), "{}", stdout(&asked));
    assert!(
        stderr(&asked).contains("--all needs --yes to trim this filesystem"),
        "{}",
        stderr(&asked)
    );
    let plan = words(&stdout(&asked));
    assert!(plan.starts_with("A trim of /data would take"), "{plan}");
    assert!(plan.contains("ext4 on /dev/loop"), "{plan}");
    assert_eq!(disk.discards(), before);
    let trimmed = confined(&disk, &root, &["--yes"]);
    assert_eq!(trimmed.status.code(), Some(0), "{}", stderr(&trimmed));
    assert!(
        stdout(&trimmed).contains("/data: complete"),
        "{}",
        stdout(&trimmed)
    );
    assert!(disk.discards() > before);
}

#[test]
fn a_full_pipe_is_full() {
    let (_reader, writer) = full_pipe();
    let file = File::from(std::os::fd::OwnedFd::from(writer));
    let mut poll = [rustix::event::PollFd::new(
        &file,
        rustix::event::PollFlags::OUT,
    )];
    let now = rustix::event::Timespec::default();
    assert_eq!(rustix::event::poll(&mut poll, Some(&now)).unwrap(), 0);
}
