//! The server's own code, run by lab/shards/desired/run.sh.

use serde_json::Value;
use shards::model::Version;

use super::told::Told;
use crate::driver::Process;

pub struct Oracle {
    process: Process,
    version: Version,
}

impl Oracle {
    /// Starts the code of a version; says why if it cannot run here. `salt` orders its immutable maps.
    pub fn start(version: &str, salt: u64) -> Result<Self, String> {
        let mut parts = version
            .split('.')
            .map(|part| part.parse().expect("a number"));
        let mut part = || parts.next().expect("three numbers");
        Ok(Self {
            process: Process::start("desired/run.sh", &[version], &[("SALT", &salt.to_string())])?,
            version: Version::release(part(), part(), part()),
        })
    }

    pub fn version(&self) -> Version {
        self.version
    }

    /// Sends a cluster or a step. Returns the state after it, or what the server threw.
    pub fn ask(&mut self, line: &Value) -> Result<Told, String> {
        let text = self.process.ask(line);
        let value: Value = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("the driver answered {text:?}: {error}"));
        if value.get("error").is_some() {
            return Err(format!("the server threw {value}"));
        }
        Ok(Told::read(&value))
    }
}
