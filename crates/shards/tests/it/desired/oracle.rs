//! The server's own code, run by lab/shards/run.sh with a version.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;
use shards::model::Version;

use super::told::Told;

/// Exit code of the script when Java, Maven or the jars are unavailable.
const NOT_HERE: i32 = 77;

pub struct Oracle {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    version: Version,
}

/// Whether the server's code can run here.
pub enum Start {
    Here(Oracle),
    NotHere(String),
}

impl Oracle {
    pub fn start(version: &'static str) -> Start {
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../lab/shards/run.sh");
        let mut command = Command::new(&script);
        command.env("VERSION", version);
        let build = command
            .arg("--build")
            .output()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", script.display()));
        let said = String::from_utf8_lossy(&build.stderr);
        match build.status.code() {
            Some(0) => {}
            Some(NOT_HERE) => {
                let why = said.trim().lines().last().unwrap_or_default();
                return Start::NotHere(why.to_owned());
            }
            code => panic!("{} --build ended with {code:?}: {said}", script.display()),
        }
        let mut child = Command::new(&script)
            .env("VERSION", version)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{} does not start: {error}", script.display()));
        let mut parts = version
            .split('.')
            .map(|part| part.parse().expect("a number"));
        let mut part = || parts.next().expect("three numbers");
        Start::Here(Self {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("piped")),
            child,
            version: Version::release(part(), part(), part()),
        })
    }

    pub fn version(&self) -> Version {
        self.version
    }

    /// Sends a cluster or a step. Returns the state after it, or what the server threw.
    pub fn ask(&mut self, line: &Value) -> Result<Told, String> {
        let input = self.input.as_mut().expect("closed only at the end");
        writeln!(input, "{line}").expect("the driver reads on");
        input.flush().expect("the driver reads on");
        let mut text = String::new();
        let read = self.output.read_line(&mut text).expect("UTF-8");
        assert!(
            read > 0,
            "the driver has ended; the last it was told: {line}"
        );
        let value: Value = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("the driver answered {text:?}: {error}"));
        if value.get("error").is_some() {
            return Err(format!("the server threw {value}"));
        }
        Ok(Told::read(&value))
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // The driver exits when its input ends.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
