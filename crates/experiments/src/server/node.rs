//! Starts and stops a node.

use super::configuration::{self, Places};
use super::distribution::{Distribution, Product};
use super::java::{self, JavaError};
use crate::control_group::{ControlGroup, GroupLimits};
use crate::path_error::{PathError, at};
use crate::program::run_program;
use crate::workspace::{MARK, Workspace};
use bounded_http::{Client, Endpoint, HttpError};
use linux::child::Child;
use rustix::process::Signal;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};
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

/// Where a node keeps what it writes, and how large its heap is.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// Its data: kept after its end.
    pub data: PathBuf,
    /// A new folder for its configuration and logs.
    pub run: PathBuf,
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
    endpoint: Endpoint,
    /// The file with what it writes to its standard output and error.
    output: PathBuf,
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
        options: &NodeOptions,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Self, NodeError> {
        let java = java::find(of)?;
        let uid = free_uid()?;
        let run = &options.run;
        let [logs, config, temporary] = ["logs", "config", "tmp"].map(|name| run.join(name));
        for folder in [&logs, &temporary] {
            fs::create_dir_all(folder).map_err(at(folder))?;
        }
        fs::create_dir_all(&options.data).map_err(at(&options.data))?;
        let places = Places {
            data: &options.data,
            logs: &logs,
        };
        configuration::write(of, &places, &config).map_err(at(&config))?;
        for folder in [run, &options.data] {
            give_to(folder, uid).map_err(at(folder))?;
        }
        let output = run.join("output");
        let out = File::create(&output).map_err(at(&output))?;
        let also = out.try_clone().map_err(at(&output))?;
        let limits = options.limits.as_ref();
        let group = limits.map(|limits| ControlGroup::create(workspace.path(), limits));
        let mut command = command(
            of,
            uid,
            &java,
            &config,
            options,
            group.transpose()?.as_ref(),
        );
        command
            .env(MARK, workspace.path())
            .current_dir(run)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(also);
        let process = Child::spawn(&mut command).map_err(at(&of.home))?;
        Self::answering(of, process, (&logs, &output), is_stopped)
    }

    fn answering(
        of: &Distribution,
        mut process: Child,
        (logs, output): (&Path, &Path),
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Self, NodeError> {
        let client = Client::new(bounded_http::Options::default())?;
        let until = Instant::now() + PATIENCE;
        let tail = || last_lines(output);
        loop {
            if process.try_wait().map_err(at(output))?.is_some() {
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
                        endpoint,
                        output: output.to_owned(),
                    });
                }
            }
            if is_stopped() {
                process.kill_or_abandon();
                return Err(NodeError::Stopped);
            }
            if Instant::now() >= until {
                process.kill_or_abandon();
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
    }
}

fn command(
    of: &Distribution,
    uid: u32,
    java: &Path,
    config: &Path,
    options: &NodeOptions,
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
        .env("HOME", &options.run)
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

/// The address in the file that the node writes once it listens.
fn address(logs: &Path) -> Option<Endpoint> {
    let text = fs::read_to_string(logs.join("http.ports")).ok()?;
    let line = text.lines().next().filter(|line| line.contains(':'))?;
    Endpoint::parse(&format!("http://{line}")).ok()
}

fn last_lines(output: &Path) -> Vec<String> {
    let output = fs::read(output).unwrap_or_default();
    let output = String::from_utf8_lossy(&output);
    // Stack traces push out what matters.
    let lines = output
        .lines()
        .filter(|line| !line.trim_start().starts_with("at "))
        .map(str::to_owned);
    let mut lines: Vec<String> = lines.collect();
    lines.split_off(lines.len().saturating_sub(LINES_SHOWN))
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

/// Gives a folder and everything in it to a user. Links are not followed.
fn give_to(path: &Path, uid: u32) -> io::Result<()> {
    lchown(path, Some(uid), Some(uid))?;
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            give_to(&entry?.path(), uid)?;
        }
    }
    Ok(())
}
