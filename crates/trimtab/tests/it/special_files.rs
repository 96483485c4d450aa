//! Pipes, sockets and devices in place of files: refused at once where they make no sense; elsewhere read whole, and a
//! signal ends the wait.

use crate::support::{recorded, stderr, stdout, trimtab};
use rustix::fs::{CWD, Mode};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any of these takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);
/// Nothing listens there.
const URL: &str = "http://127.0.0.1:1";

fn pipe(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    rustix::fs::mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR).unwrap();
    path.display().to_string()
}

fn start(arguments: &[&str]) -> Child {
    trimtab()
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for the end; kills and fails after [`PATIENCE`].
fn end(mut child: Child, arguments: &[&str]) -> Output {
    let until = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{arguments:?} hangs");
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

/// Waits until the process is asleep in open(2) of a pipe, or in read(2).
fn wait_until_it_waits(child: &Child) {
    let until = Instant::now() + PATIENCE;
    let is_waiting = || {
        let text = fs::read_to_string(format!("/proc/{}/wchan", child.id())).unwrap_or_default();
        ["wait_for_partner", "fifo", "pipe"]
            .iter()
            .any(|word| text.contains(word))
    };
    while !is_waiting() {
        assert!(Instant::now() < until, "it opens no pipe");
        thread::sleep(Duration::from_millis(10));
    }
}

struct Inputs {
    _folder: tempfile::TempDir,
    csv: String,
    config: PathBuf,
    home: PathBuf,
    out: PathBuf,
}

fn inputs() -> Inputs {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let csv = path("series.csv");
    fs::write(&csv, "time,v\n2026-01-01,1\n").unwrap();
    for name in ["home", "home/lib", "config"] {
        fs::create_dir(path(name)).unwrap();
    }
    fs::write(path("home/lib/elasticsearch-7.4.2.jar"), "").unwrap();
    fs::write(path("config/jvm.options"), "-Xms1g\n").unwrap();
    Inputs {
        csv: csv.display().to_string(),
        config: path("config"),
        home: path("home"),
        out: path("out"),
        _folder: folder,
    }
}

#[test]
fn what_is_no_file_is_refused_where_a_file_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = inputs();
    let [config, home, out] =
        [&inputs.config, &inputs.home, &inputs.out].map(|path| path.to_str().unwrap());
    let fifo = pipe(folder.path(), "pipe");
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    for (name, found) in [
        (fifo.as_str(), "a pipe"),
        (socket.to_str().unwrap(), "a socket"),
        ("/dev/zero", "a device"),
    ] {
        for arguments in [
            &["bench", "run", name, "--target", URL, "--into", out][..],
            &[
                "bench",
                "run",
                "ingest",
                "--target",
                URL,
                "--into",
                out,
                "--ca-file",
                name,
            ],
            &[
                "bench",
                "run",
                "ingest",
                "--target",
                URL,
                "--into",
                out,
                "--credentials-file",
                name,
            ],
            &["bench", "compare", name, name],
            &["check", "--cluster", URL, "--ca-file", name],
            &["check", "--cluster", URL, "--credentials-file", name],
            &[
                "livefix", "install", "--config", config, "--home", home, "--jar", name,
            ],
        ] {
            let output = end(start(arguments), arguments);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
            let wanted = format!("expected a file, found {found}");
            assert!(said.contains(&wanted), "{arguments:?}: {said}");
            assert!(said.contains("hint: "), "{arguments:?}: {said}");
        }
        let root = ["check", "--root", name];
        let said = stderr(&end(start(&root), &root));
        assert!(
            said.contains("expected a directory, found something else"),
            "{said}"
        );
    }
}

#[test]
fn a_pipe_in_a_folder_of_results_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    let trial = make("trial");
    fs::write(trial.join("trial.json"), "{}").unwrap();
    for table in ["client.csv", "server.csv", "host.csv"] {
        pipe(&trial, table);
    }
    let (races, diagnostics) = (make("races"), make("diagnostics"));
    pipe(&races, "race.json");
    pipe(&diagnostics, "metrics.2026-01-01T00-00-00Z-00000");
    for path in [&trial, &races, &diagnostics] {
        let arguments = ["explain", path.to_str().unwrap(), "--jobs", "none"];
        let output = end(start(&arguments), &arguments);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    }
}

#[test]
fn a_signal_ends_the_wait_for_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = pipe(folder.path(), "pipe");
    let inputs = inputs();
    let csv = &inputs.csv;
    for arguments in [
        &["explain", &fifo, "--jobs", "none"][..],
        &["explain", csv, "--jobs", &fifo],
        &["explain", csv, "--jobs", "none", "--log", &fifo],
        &["explain", csv, "--jobs", "none", "--events", &fifo],
        &["shards", "reroute", "--state", &fifo],
        &["ssd", "run", "--drive", &fifo],
        &["check", "--bundle", &fifo],
        &["--config", &fifo, "check"],
    ] {
        for signal in [Signal::INT, Signal::TERM] {
            let child = start(arguments);
            wait_until_it_waits(&child);
            kill_process(Pid::from_child(&child), signal).unwrap();
            let output = end(child, arguments);
            assert_eq!(
                output.status.signal(),
                Some(signal.as_raw()),
                "{arguments:?}"
            );
        }
    }
}

/// Writes to a pipe, which may be closed before its end.
fn fed(folder: &Path, name: &str, content: Vec<u8>) -> (String, thread::JoinHandle<()>) {
    let path = pipe(folder, name);
    let to = path.clone();
    (
        path,
        thread::spawn(move || {
            let _ = fs::write(to, content);
        }),
    )
}

#[test]
fn a_bundle_comes_through_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let name = recorded("nvme-ext4");
    let (path, writer) = fed(folder.path(), "nvme-ext4.tar.zst", fs::read(&name).unwrap());
    let check = |path: &str| {
        let arguments = ["check", "--bundle", path];
        let output = end(start(&arguments), &arguments);
        // Lines are wrapped by the length of the path.
        let text = stdout(&output).replace('\n', " ").replace(path, "BUNDLE");
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        (output.status.code(), words)
    };
    let through_pipe = check(&path);
    writer.join().unwrap();
    assert_eq!(through_pipe, check(&name));
}

/// The job is beyond the first bytes, by which archives are recognised.
#[test]
fn a_crontab_comes_through_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let source = crate::explain_support::sawtooth(folder.path());
    let crontab = format!("{}47 6 * * 7 /sbin/fstrim -a\n", "# nothing\n".repeat(200));
    let (path, writer) = fed(folder.path(), "pipe", crontab.into_bytes());
    let arguments = ["explain", source.to_str().unwrap(), "--jobs", &path];
    let output = end(start(&arguments), &arguments);
    writer.join().unwrap();
    assert!(stdout(&output).contains("fstrim"), "{}", stdout(&output));

    let bundle = fs::read(recorded("nvme-ext4")).unwrap();
    let (path, writer) = fed(folder.path(), "bundle", bundle[..4096].to_vec());
    let arguments = ["explain", source.to_str().unwrap(), "--jobs", &path];
    let output = end(start(&arguments), &arguments);
    writer.join().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("expected a file, found a pipe"));
}
