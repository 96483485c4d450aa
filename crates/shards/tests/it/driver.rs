//! The real allocation service of 7.4.0, run by lab/shards/run.sh, and those of other versions, run by
//! lab/shards/versions/run.sh.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Answer, Order};
use crate::spec::{Attached, ClusterSpec, Step};

/// Exit code of the script when Java, Maven or the jars are unavailable.
const NOT_HERE: i32 = 77;

pub struct Driver {
    process: Process,
    order: Order,
}

#[derive(Deserialize)]
struct Raw {
    #[serde(default)]
    nodes: Vec<Vec<String>>,
    #[serde(default)]
    unassigned: Vec<String>,
    #[serde(default)]
    in_sync: Vec<String>,
    order: Option<RawOrder>,
    error: Option<String>,
    #[serde(default)]
    stack: Vec<String>,
}

#[derive(Deserialize)]
struct RawOrder {
    data_nodes: Vec<String>,
    indices: Vec<Vec<Value>>,
}

/// An exception thrown by the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thrown {
    pub error: String,
    pub stack: Vec<String>,
}

impl Driver {
    /// Starts the driver, compiling it first if necessary.
    ///
    /// # Panics
    /// If the driver is unavailable: the differential test would prove nothing without it
    pub fn start() -> Self {
        Self::run("run.sh", &[])
    }

    /// Like [`Driver::start`], for the balancer of any version: `8.4.3`, `opensearch-2.19.1`.
    ///
    /// # Panics
    /// As [`Driver::start`]
    pub fn version(version: &str) -> Self {
        Self::run("versions/run.sh", &[version])
    }

    fn run(script: &str, args: &[&str]) -> Self {
        let process = Process::start(script, args, &[]);
        Self {
            process: process.unwrap_or_else(|why| panic!("{why}")),
            order: Order::default(),
        }
    }

    /// Creates a cluster and returns the server's state.
    pub fn cluster(&mut self, spec: &ClusterSpec, with: &Attached) -> Result<Answer, Thrown> {
        let mut cluster = json!(spec);
        merge(&mut cluster, &json!(with));
        self.ask(&json!({ "cluster": cluster }))
    }

    /// Executes a step and returns the server's state.
    pub fn step(&mut self, step: &Step, with: &Attached) -> Result<Answer, Thrown> {
        let mut line = json!(step);
        merge(&mut line, &json!(with));
        self.ask(&line)
    }

    /// Sends a line and returns the server's state.
    pub fn ask(&mut self, line: &Value) -> Result<Answer, Thrown> {
        let text = self.process.ask(line);
        let raw: Raw = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("the driver answered {text:?}: {error}"));
        if let Some(error) = raw.error {
            return Err(Thrown {
                error,
                stack: raw.stack,
            });
        }
        if let Some(order) = raw.order {
            self.order = Order {
                data_nodes: order.data_nodes,
                indices: order.indices.iter().map(|line| index_order(line)).collect(),
            };
        }
        let nodes = raw.nodes.into_iter().map(|mut lines| {
            let id = lines.remove(0);
            (id, lines)
        });
        Ok(Answer {
            nodes: nodes.collect(),
            unassigned: raw.unassigned,
            in_sync: raw.in_sync,
            order: self.order.clone(),
        })
    }
}

/// Copies the keys of one object into another.
fn merge(into: &mut Value, from: &Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from.clone());
    }
}

fn index_order(line: &[Value]) -> (String, Vec<u32>) {
    let name = line.first().and_then(Value::as_str).expect("a name");
    let shards = line[1..].iter().filter_map(Value::as_u64);
    (
        name.to_owned(),
        shards.filter_map(|n| u32::try_from(n).ok()).collect(),
    )
}

/// The code of a server, which answers lines of JSON.
pub struct Process {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a script of lab/shards, compiling its classes first if necessary; says why if Java, Maven or the
    /// jars are unavailable.
    ///
    /// # Panics
    /// If the script fails otherwise
    pub fn start(script: &str, args: &[&str], env: &[(&str, &str)]) -> Result<Self, String> {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../lab/shards")
            .join(script);
        let command = || {
            let mut command = Command::new(&script);
            command.args(args).envs(env.iter().copied());
            command
        };
        let build = command()
            .arg("--build")
            .output()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", script.display()));
        let said = String::from_utf8_lossy(&build.stderr);
        match build.status.code() {
            Some(0) => {}
            Some(NOT_HERE) => {
                return Err(format!(
                    "the differential test needs the real jar: {} (make test as root installs it)",
                    said.trim().lines().last().unwrap_or_default()
                ));
            }
            code => panic!("{} --build ended with {code:?}: {said}", script.display()),
        }
        let mut child = command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", script.display()));
        Ok(Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("piped")),
            child,
        })
    }

    /// Sends a line and returns the one that is the answer.
    pub fn ask(&mut self, line: &Value) -> String {
        let input = self.input.as_mut().expect("closed only at the end");
        writeln!(input, "{line}").expect("the driver reads on");
        input.flush().expect("the driver reads on");
        let mut text = String::new();
        let read = self.output.read_line(&mut text).expect("UTF-8");
        assert!(
            read > 0,
            "the driver has ended; the last it was told: {line}"
        );
        text
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The driver exits when its input ends.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
