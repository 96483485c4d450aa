//! The code of real servers: the balancer of any version, run by lab/shards/versions/run.sh, and what other
//! scripts of lab/shards run.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;
use serde_json::Value;
use shards::model::{Product, Version};

use crate::answer::{Answer, Order};

/// Exit code of the script when Java, Maven or the jars are unavailable.
const NOT_HERE: i32 = 77;

/// A server's version, as its jars are called.
#[derive(Clone, Copy)]
pub struct Server {
    pub name: &'static str,
    pub product: Product,
    pub version: Version,
}

impl Server {
    pub fn of(name: &'static str) -> Self {
        let (product, numbers) = match name.strip_prefix("opensearch-") {
            Some(numbers) => (Product::OpenSearch, numbers),
            None => (Product::Elasticsearch, name),
        };
        let numbers: Vec<u32> = numbers
            .split('.')
            .map(|number| number.parse().expect("a number"))
            .collect();
        Self {
            name,
            product,
            version: Version::release(numbers[0], numbers[1], numbers[2]),
        }
    }

    pub fn is_elasticsearch_from(self, major: u32, minor: u32) -> bool {
        self.product == Product::Elasticsearch && self.version >= Version::release(major, minor, 0)
    }

    /// Whether it needs a later JDK than Debian 12 has.
    fn needs_java_21(self) -> bool {
        self.is_elasticsearch_from(9, 0)
            || self.product == Product::OpenSearch && self.version >= Version::release(3, 0, 0)
    }
}

/// Says that there is no comparison with a version, also in the summary of `make test` (`lab/stage.sh`).
///
/// # Panics
/// If the version was asked for by name
pub fn skip(version: &str, why: &str) {
    let wanted = std::env::var("VERSIONS").unwrap_or_default();
    assert!(!wanted.split(' ').any(|name| name == version), "{why}");
    let told = format!("not compared with {version}: {why}");
    println!("{told}");
    if let Some(skips) = std::env::var_os("TRIMTAB_SKIPS") {
        let skips = OpenOptions::new().append(true).create(true).open(skips);
        writeln!(skips.expect("the list of skips"), "{told}").expect("the list of skips");
    }
}

/// The balancer of a server.
pub struct Driver(Process);

#[derive(Deserialize)]
struct Raw {
    #[serde(default)]
    nodes: Vec<Vec<String>>,
    #[serde(default)]
    unassigned: Vec<String>,
    #[serde(default)]
    order: RawOrder,
    error: Option<String>,
    #[serde(default)]
    stack: Vec<String>,
}

#[derive(Default, Deserialize)]
struct RawOrder {
    data_nodes: Vec<String>,
    indices: Vec<Vec<Value>>,
}

impl Driver {
    /// Starts the driver, compiling it first if necessary; `None` if the server needs a later JDK than is
    /// installed.
    ///
    /// # Panics
    /// If the driver is unavailable otherwise: the differential test would prove nothing without it
    pub fn start(server: Server) -> Option<Self> {
        match Process::start("versions/run.sh", &[server.name], &[]) {
            Ok(process) => Some(Self(process)),
            Err(why) if server.needs_java_21() => {
                skip(server.name, &why);
                None
            }
            Err(why) => panic!("{why}"),
        }
    }

    /// Sends a line and returns the server's state, or what it threw, as lines.
    pub fn ask(&mut self, line: &Value) -> Result<Answer, Vec<String>> {
        let text = self.0.ask(line);
        let raw: Raw = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("the driver answered {text:?}: {error}"));
        if let Some(error) = raw.error {
            let mut lines = vec![format!("the server threw {error}")];
            lines.extend(raw.stack);
            return Err(lines);
        }
        let nodes = raw.nodes.into_iter().map(|mut lines| {
            let id = lines.remove(0);
            (id, lines)
        });
        let indices = raw.order.indices.iter();
        Ok(Answer {
            nodes: nodes.collect(),
            unassigned: raw.unassigned,
            order: Order {
                data_nodes: raw.order.data_nodes,
                indices: indices.map(|line| index_order(line)).collect(),
            },
        })
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
