//! Starts and stops a node.

use super::configuration::{self, Places};
use super::distribution::{Distribution, Product};
use super::java::{self, JavaError};
use crate::control_group::{ControlGroup, GroupLimits};
use crate::leftovers::MARK;
use crate::program::run_program;
use crate::workspace::Workspace;
use bench::path_error::{PathError, at};
use bounded_http::{Client, Endpoint, HttpError};
use linux::child::Child;
use linux::folder::Folder;
use rustix::process::Signal;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use thiserror::Error;

/// A start or an end that takes longer hangs; the slowest measured start took 34 s.
const PATIENCE: Duration = Duration::from_mins(5);
const POLL: Duration = Duration::from_millis(200);
/// User ids of which one is taken: without an account on any common distribution.
const UIDS: std::ops::Range<u32> = 58_200..58_300;
/// Enters the control groups that are named before `--`, and runs what is named after it.
const ENTER: &str =
    r#"while [ "$1" != -- ]; do echo $$ >"$1" || exit; shift; done; shift; exec "$@""#;
/// Lines of a node's output that an error shows.
const LINES_SHOWN: usize = 15;
/// How much of it is looked at for them.
const OUTPUT_BYTES_MAX: u64 = 256 << 10;
/// A file with two or three addresses.
const PORTS_BYTES_MAX: u64 = 4096;
/// In the folder of a run: what it writes to its standard output and error.
const OUTPUT: &str = "output";

/// Why a node does not run.
#[derive(Debug, Error)]
pub enum NodeError {
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// No Java runs it.
    #[error(transparent)]
    Java(#[from] JavaError),
    /// It ended while it started.
    #[error("{server} ended while it started")]
    Ended {
        /// Name and version.
        server: String,
        /// The last lines of its output.
        output: Vec<String>,
    },
    /// It ended while it was used.
    #[error("{server} ended while it was measured ({status})")]
    Died {
        /// Name and version.
        server: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its output.
        output: Vec<String>,
    },
    /// It does not answer.
    #[error("{server} did not answer within {} s", PATIENCE.as_secs())]
    Silent {
        /// Name and version.
        server: String,
        /// The last lines of its output.
        output: Vec<String>,
    },
    /// It does not end.
    #[error("{server} did not end within {} s after SIGTERM", PATIENCE.as_secs())]
    Stuck {
        /// Name and version.
        server: String,
    },
    /// Somebody wants an end before it has started.
    #[error("stopped")]
    Stopped,
    /// Every user id is in use.
    #[error("no user id from {} to {} is free", UIDS.start, UIDS.end - 1)]
    NoUser,
    /// It answers what cannot be understood.
    #[error(transparent)]
    Http(#[from] HttpError),
}

impl NodeError {
    /// The last lines of the node's output.
    pub fn output(&self) -> &[String] {
        match self {
            Self::Ended { output, .. }
            | Self::Died { output, .. }
            | Self::Silent { output, .. } => output,
            _ => &[],
        }
    }
}

/// Where a node keeps what it writes, and how large its heap is. Both folders become those of its user.
#[derive(Debug)]
pub struct NodeOptions<'f> {
    /// Its data: kept after its end.
    pub data: &'f Folder,
    /// An empty folder for its configuration and logs.
    pub run: &'f Folder,
    /// Heap of the JVM.
    pub heap_bytes: u64,
    /// Limits of its memory and CPU time.
    pub limits: Option<GroupLimits>,
}

/// A node that runs.
#[derive(Debug)]
pub struct Node {
    server: String,
    process: Child,
    /// The user that it runs under, and nothing else does.
    uid: u32,
    endpoint: Endpoint,
    /// The file with what it writes to its standard output and error.
    output: File,
}

impl Node {
    /// Starts a node, and waits until it answers, or until it `is_stopped`. It runs under a user id that nobody else has,
    /// and listens on loopback only.
    ///
    /// # Errors
    /// If it cannot be started, or does not answer. Nothing of it then runs.
    pub fn start(
        workspace: &Workspace,
        of: &Distribution,
        options: &NodeOptions<'_>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Self, NodeError> {
        let java = java::find(of)?;
        let uid = free_uid()?;
        let run = options.run;
        let make = |name: &str| run.make_folder(name, 0o755).map_err(at(&run.join(name)));
        let (logs, config, _) = (make("logs")?, make("config")?, make("tmp")?);
        let places = Places {
            data: options.data.path(),
            logs: logs.path(),
        };
        configuration::write(of, &places, &config).map_err(at(config.path()))?;
        let output = run.make_file(OUTPUT).map_err(at(&run.join(OUTPUT)))?;
        // From here on, what is in these folders is another user's.
        for folder in [run, options.data] {
            folder.give_to(uid).map_err(at(folder.path()))?;
        }
        let duplicate = || output.try_clone().map_err(at(&run.join(OUTPUT)));
        let (out, also) = (duplicate()?, duplicate()?);
        let limits = options.limits.as_ref();
        let group = limits.map(|limits| ControlGroup::create(workspace.path(), limits));
        let mut command = command(
            of,
            uid,
            &java,
            config.path(),
            options,
            group.transpose()?.as_ref(),
        );
        command
            .env(MARK, workspace.path())
            .current_dir(run.path())
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(also);
        let process = Child::spawn(&mut command).map_err(at(&of.home))?;
        Self::answering(of, process, uid, (&logs, output), is_stopped)
    }

    fn answering(
        of: &Distribution,
        mut process: Child,
        uid: u32,
        (logs, output): (&Folder, File),
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Self, NodeError> {
        let client = Client::new(bounded_http::Options::default())?;
        let until = Instant::now() + PATIENCE;
        let tail = || last_lines(&output);
        loop {
            if process.try_wait().map_err(at(&of.home))?.is_some() {
                kill_all_of(uid);
                return Err(NodeError::Ended {
                    server: of.to_string(),
                    output: tail(),
                });
            }
            if let Some(endpoint) = address(logs) {
                let health = "/_cluster/health?wait_for_status=yellow&timeout=4s";
                let answer = client.get(&endpoint, health);
                if answer.is_ok_and(|answer| answer.success().is_ok()) {
                    return Ok(Self {
                        server: of.to_string(),
                        process,
                        uid,
                        endpoint,
                        output,
                    });
                }
            }
            if is_stopped() {
                process.kill_or_abandon();
                kill_all_of(uid);
                return Err(NodeError::Stopped);
            }
            if Instant::now() >= until {
                process.kill_or_abandon();
                kill_all_of(uid);
                return Err(NodeError::Silent {
                    server: of.to_string(),
                    output: tail(),
                });
            }
            std::thread::sleep(POLL);
        }
    }

    /// Where it listens.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// How it ended, if it did by itself.
    pub(crate) fn death(&mut self) -> Option<NodeError> {
        let status = self.process.try_wait().ok()??;
        Some(NodeError::Died {
            server: self.server.clone(),
            status,
            output: last_lines(&self.output),
        })
    }

    /// Ends it as a service would, so that everything is on the disk.
    ///
    /// # Errors
    /// If it does not end; it is killed then.
    pub fn stop(mut self) -> Result<(), NodeError> {
        self.process.signal(Signal::TERM);
        let ended = self.process.wait_until(Instant::now() + PATIENCE);
        if ended.map_err(at(Path::new("/proc")))?.is_some() {
            // Dropping it ends what it left.
            return Ok(());
        }
        self.process.kill_or_abandon();
        Err(NodeError::Stuck {
            server: self.server.clone(),
        })
    }
}

/// A node that is dropped on an error must not outlive the experiment.
impl Drop for Node {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.process.kill_or_abandon();
        }
        kill_all_of(self.uid);
    }
}

fn command(
    of: &Distribution,
    uid: u32,
    java: &Path,
    config: &Path,
    options: &NodeOptions<'_>,
    group: Option<&ControlGroup>,
) -> Command {
    let id = of.product.id();
    let mut command = match group {
        None => Command::new("setpriv"),
        Some(group) => {
            let mut command = Command::new("sh");
            command.args(["-c", ENTER, "sh"]);
            command.args(group.process_files()).args(["--", "setpriv"]);
            command
        }
    };
    command
        .arg(format!("--reuid={uid}"))
        .arg(format!("--regid={uid}"))
        .args(["--clear-groups", "--no-new-privs", "--"])
        .arg(of.home.join("bin").join(id))
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", options.run.path())
        .env("JAVA_HOME", java);
    let heap = format!("-Xms{0}k -Xmx{0}k", options.heap_bytes >> 10);
    let prefix = match of.product {
        Product::Elasticsearch => "ES",
        Product::Opensearch => "OPENSEARCH",
    };
    for (name, value) in [
        ("JAVA_HOME", java.as_os_str()),
        ("PATH_CONF", config.as_os_str()),
        ("TMPDIR", options.run.join("tmp").as_os_str()),
        ("JAVA_OPTS", heap.as_ref()),
    ] {
        command.env(format!("{prefix}_{name}"), value);
    }
    if of.product == Product::Elasticsearch && of.version < (6, 0) {
        let mut argument = std::ffi::OsString::from("-Epath.conf=");
        argument.push(config);
        command.arg(argument);
        command.env("ES_JVM_OPTIONS", config.join("jvm.options"));
    }
    command
}

/// The address in the file that the node writes once it listens: its own, or nothing is sent there.
fn address(logs: &Folder) -> Option<Endpoint> {
    let bytes = logs.read("http.ports", PORTS_BYTES_MAX).ok()??;
    let text = String::from_utf8(bytes).ok()?;
    let address: SocketAddr = text.lines().next()?.parse().ok()?;
    let is_here = address.ip().is_loopback();
    is_here.then(|| Endpoint::parse(&format!("http://{address}")).ok())?
}

/// The last lines of what a node wrote.
fn last_lines(output: &File) -> Vec<String> {
    let len = output.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::new();
    let from = len.saturating_sub(OUTPUT_BYTES_MAX);
    // The node shares its position.
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = output.read_at(&mut buffer, from + bytes.len() as u64)
        && (bytes.len() as u64) < OUTPUT_BYTES_MAX
    {
        bytes.extend_from_slice(&buffer[..read]);
    }
    let output = String::from_utf8_lossy(&bytes);
    // Stack traces push out what matters.
    let lines = output
        .lines()
        .filter(|line| !line.trim_start().starts_with("at "))
        .map(str::to_owned);
    let mut lines: Vec<String> = lines.collect();
    lines.split_off(lines.len().saturating_sub(LINES_SHOWN))
}

/// Kills whatever runs under a node's user id, in one call, so that none of it makes another process meanwhile: a node's
/// files are looked at after it.
fn kill_all_of(uid: u32) {
    let user = [format!("--reuid={uid}"), format!("--regid={uid}")];
    let kill = [
        "--clear-groups",
        "--no-new-privs",
        "sh",
        "-c",
        "kill -KILL -1",
    ]
    .map(String::from);
    // It fails if there is none.
    let _ = run_program("setpriv", "util-linux", user.into_iter().chain(kill));
}

/// A user id without an account and without processes.
fn free_uid() -> Result<u32, NodeError> {
    // Accounts may come from a directory service, which only the system's libc asks.
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let has_account = |uid: u32| {
        let uid = uid.to_string();
        accounts
            .lines()
            .any(|line| line.split(':').nth(2) == Some(&uid))
            || run_program("getent", "libc-bin", ["passwd", uid.as_str()]).is_ok()
    };
    let proc = Path::new("/proc");
    let processes = fs::read_dir(proc).map_err(at(proc))?;
    let in_use: Vec<u32> = processes
        .flatten()
        .filter_map(|process| {
            use std::os::unix::fs::MetadataExt;
            process.metadata().ok().map(|metadata| metadata.uid())
        })
        .collect();
    UIDS.clone()
        .find(|uid| !in_use.contains(uid) && !has_account(*uid))
        .ok_or(NodeError::NoUser)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    fn folder() -> (tempfile::TempDir, Folder) {
        let held = tempfile::tempdir().unwrap();
        let folder = Folder::open(held.path().canonicalize().unwrap()).unwrap();
        (held, folder)
    }

    #[test]
    fn an_address_is_this_machines() {
        let (_held, logs) = folder();
        let path = logs.join("http.ports");
        let at = |text: &str| {
            fs::write(&path, text).unwrap();
            address(&logs).map(|endpoint| endpoint.to_string())
        };
        assert_eq!(
            at("127.0.0.1:9200\n[::1]:9201\n").as_deref(),
            Some("http://127.0.0.1:9200")
        );
        assert_eq!(at("[::1]:9201\n").as_deref(), Some("http://[::1]:9201"));
        for text in [
            "",
            "127.0.0.1",
            "10.1.2.3:9200",
            "db.example:9200",
            "127.0.0.1:9200@db.example",
        ] {
            assert_eq!(at(text), None, "{text}");
        }
    }

    #[test]
    fn a_node_cannot_make_root_read_something_else() {
        let (held, logs) = folder();
        fs::write(held.path().join("secret"), "127.0.0.1:1\n").unwrap();
        for target in [held.path().join("secret"), PathBuf::from("/dev/zero")] {
            symlink(target, logs.join("http.ports")).unwrap();
            assert!(address(&logs).is_none());
            fs::remove_file(logs.join("http.ports")).unwrap();
        }
        let mut output = logs.make_file(OUTPUT).unwrap();
        write!(output, "{}", "x\n".repeat(1 << 20)).unwrap();
        write!(output, "\tat java.lang\nlast\n").unwrap();
        // What it puts in the place of its output is not read.
        fs::remove_file(logs.join(OUTPUT)).unwrap();
        symlink(held.path().join("secret"), logs.join(OUTPUT)).unwrap();
        let lines = last_lines(&output);
        assert_eq!(lines.len(), LINES_SHOWN);
        assert_eq!(lines.last().unwrap(), "last");
        assert!(!lines.iter().any(|line| line.contains("127")));
    }

    #[test]
    fn all_processes_of_a_node_end() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let uid = free_uid().unwrap();
        let mut left = Command::new("setpriv")
            .args([
                &format!("--reuid={uid}"),
                "--clear-groups",
                "setsid",
                "sleep",
                "600",
            ])
            .env_clear()
            .spawn()
            .unwrap();
        let process = Path::new("/proc").join(left.id().to_string());
        let owner = || {
            use std::os::unix::fs::MetadataExt;
            fs::metadata(&process).map_or(0, |metadata| metadata.uid())
        };
        while owner() != uid {
            std::thread::yield_now();
        }
        kill_all_of(uid);
        assert!(!left.wait().unwrap().success());
    }
}
