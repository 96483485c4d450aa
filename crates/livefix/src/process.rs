//! A server's process and the fix.

use crate::installation::version_in;
use crate::need::{Need, need};
use crate::options::agent_jar;
use facts::cluster::{Flavour, LIVE_FIX_JAR, ServerVersion};
use linux::mount_points::MountPoints;
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
        let home = OsStr::from_bytes(home).to_string_lossy();
        // As the process sees it, which may be in a container.
        let version = version_below(&folder.join("root"), &folder, &home)
            .or_else(|| version_below(Path::new("/"), &proc.join("self"), &home));
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

/// The version of the server in a folder that the process names itself, below `root`, whose mounts `process` sees. What
/// may never answer is not looked at: any user can mount a FUSE filesystem and name a folder there.
fn version_below(root: &Path, process: &Path, home: &str) -> Option<ServerVersion> {
    let mounts = MountPoints::parse(&fs::read(process.join("mountinfo")).unwrap_or_default());
    let inside = |path: &str| root.join(path.trim_start_matches('/'));
    let link = |path: &str| match fs::read_link(inside(path)) {
        Ok(target) => Ok(Some(target.to_string_lossy().into_owned())),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        Err(_) => Ok(None),
    };
    let lib = mounts.resolve(&format!("{home}/lib"), link).ok()?;
    if lib.unfinished.is_some() || mounts.remote_fs(&lib.path).is_some() {
        return None;
    }
    version_in(&inside(&lib.path))
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
    fn what_may_never_answer_is_not_looked_at() {
        let proc = tempfile::tempdir().unwrap();
        let process = proc.path().join("12");
        for (home, at, expected) in [
            ("/opt/es", "/mnt", Some("7.4.2")),
            ("/opt/es", "/opt", None),
            ("/opt/es", "/opt/es/lib", None),
            ("/link", "/opt", None),
            ("/link", "/mnt", Some("7.4.2")),
        ] {
            let root = process.join("root");
            let lib = root.join("opt/es/lib");
            fs::create_dir_all(&lib).unwrap();
            fs::write(lib.join("elasticsearch-7.4.2.jar"), "").unwrap();
            let _ = std::os::unix::fs::symlink("/opt/es", root.join("link"));
            let line = format!("50 1 0:50 / {at} rw - fuse.x x rw\n");
            fs::write(process.join("mountinfo"), line).unwrap();
            let line = format!("java\0-Des.path.home={home}\0");
            fs::write(process.join("cmdline"), line).unwrap();
            let found = Process::read(proc.path(), 12).unwrap();
            assert_eq!(found.version.as_deref(), expected, "{home}, {at}");
        }
    }

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
