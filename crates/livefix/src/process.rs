//! A server's process and the fix.

use crate::installation::version_in;
use crate::need::{Need, need};
use crate::options::agent_jar;
use facts::cluster::{Flavour, LIVE_FIX_JAR};
use schemars::JsonSchema;
use serde::Serialize;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use thiserror::Error;

/// Option of the start script that names the installation's folder.
const HOME: &[u8] = b"-Des.path.home=";
/// The kernel's own limit is 128 KiB for one argument, and a quarter of the stack for all.
const CMDLINE_BYTES_MAX: u64 = 4 << 20;

/// A server's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Its version; `null` if it is not known.
    pub version: Option<String>,
    /// Whether it needs the fix; `null` if its version is not known.
    pub need: Option<Need>,
    /// The jar that it was started with, or has open since it was loaded; `null` if it lacks the fix.
    pub jar: Option<String>,
}

/// Why a process tells nothing.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// There is none.
    #[error("there is no process {pid} on this host")]
    Missing {
        /// Its id.
        pid: u32,
    },
    /// It may not be read.
    #[error("process {pid}: {error}")]
    Unreadable {
        /// Its id.
        pid: u32,
        /// Why.
        error: io::Error,
    },
    /// It is another program.
    #[error("process {pid} is no Elasticsearch: its command line has no -Des.path.home=")]
    OtherProgram {
        /// Its id.
        pid: u32,
    },
}

impl Process {
    /// Reads a process below `proc`, which is `/proc`.
    ///
    /// # Errors
    /// If it is not there, or is no Elasticsearch.
    pub fn read(proc: &Path, pid: u32) -> Result<Self, ProcessError> {
        let folder = proc.join(pid.to_string());
        let mut line = Vec::new();
        File::open(folder.join("cmdline"))
            .and_then(|file| file.take(CMDLINE_BYTES_MAX).read_to_end(&mut line))
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => ProcessError::Missing { pid },
                _ => ProcessError::Unreadable { pid, error },
            })?;
        let arguments = || line.split(|&byte| byte == 0);
        let home = arguments().find_map(|argument| argument.strip_prefix(HOME));
        let home = home.ok_or(ProcessError::OtherProgram { pid })?;
        // As the process sees it, which may be in a container.
        let home = Path::new(OsStr::from_bytes(home));
        let inside = home.strip_prefix("/").unwrap_or(home);
        let version = version_in(&folder.join("root").join(inside)).or_else(|| version_in(home));
        let started_with = arguments().find_map(|argument| {
            let argument = std::str::from_utf8(argument).ok()?;
            agent_jar(argument).map(str::to_owned)
        });
        let jar = started_with.or_else(|| open_jar(&folder));
        Ok(Self {
            pid,
            need: version
                .as_ref()
                .map(|version| need(Flavour::Elasticsearch, version)),
            version: version.map(|version| version.to_string()),
            jar,
        })
    }
}

/// The agent's jar among the files that a process has open: Java keeps what it loads classes from open. Only the process's
/// own user and root can tell.
fn open_jar(process: &Path) -> Option<String> {
    fs::read_dir(process.join("fd"))
        .ok()?
        .flatten()
        .filter_map(|entry| fs::read_link(entry.path()).ok())
        .map(|file| file.to_string_lossy().into_owned())
        // As the kernel names a file that was removed, or replaced, since.
        .map(|file| file.trim_end_matches(" (deleted)").to_owned())
        .find(|file| file.rsplit('/').next() == Some(LIVE_FIX_JAR))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_tells_its_version_and_agent() {
        let proc = tempfile::tempdir().unwrap();
        let process = proc.path().join("12");
        let lib = process.join("root/usr/share/elasticsearch/lib");
        fs::create_dir_all(&lib).unwrap();
        fs::write(lib.join("elasticsearch-7.4.2.jar"), "").unwrap();
        let read = |line: &str| {
            fs::write(process.join("cmdline"), line).unwrap();
            Process::read(proc.path(), 12)
        };
        let plain = "java\0-Xms1g\0-Des.path.home=/usr/share/elasticsearch\0org.elasticsearch.bootstrap.Elasticsearch\0";
        let found = read(plain).unwrap();
        assert_eq!(found.version.as_deref(), Some("7.4.2"));
        assert_eq!((found.need, found.jar), (Some(Need::Needed), None));
        let fixed = plain.replace(
            "-Xms1g",
            "-javaagent:/etc/elasticsearch/trimtab-livefix.jar",
        );
        let jar = read(&fixed).unwrap().jar;
        assert_eq!(
            jar.as_deref(),
            Some("/etc/elasticsearch/trimtab-livefix.jar")
        );
        // Loaded while it runs: no option, but the file is open.
        fs::create_dir(process.join("fd")).unwrap();
        for (at, file) in ["/dev/null", "/opt/trimtab-livefix.jar (deleted)"]
            .iter()
            .enumerate()
        {
            std::os::unix::fs::symlink(file, process.join("fd").join(at.to_string())).unwrap();
        }
        let jar = read(plain).unwrap().jar;
        assert_eq!(jar.as_deref(), Some("/opt/trimtab-livefix.jar"));
        assert!(matches!(
            read("bash\0"),
            Err(ProcessError::OtherProgram { pid: 12 })
        ));
        assert!(matches!(
            Process::read(proc.path(), 13),
            Err(ProcessError::Missing { pid: 13 })
        ));
    }
}
