//! Programs of the system, such as mkfs; unmounting.

use bench::path_error::{PathError, at};
use linux::folder::Folder;
use linux::run::{IfStuck, KeepStderr, Limits, RunError, run};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Making a filesystem of a terabyte writes its inode tables.
const DEADLINE: Duration = Duration::from_mins(10);
const STDOUT_BYTES_MAX: usize = 1 << 20;
const BUSY_PATIENCE: Duration = Duration::from_secs(10);
const BUSY_POLL: Duration = Duration::from_millis(100);
/// Where the system's own programs are, whatever PATH says.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Why a program of the system did not do its work.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// It is not installed.
    #[error("{program} is not installed: apt-get install {package}")]
    Missing {
        /// Its name.
        program: String,
        /// Debian's package.
        package: String,
    },
    /// It did not end well by itself.
    #[error("{program}: {source}")]
    Run {
        /// Its name.
        program: String,
        /// Why.
        source: RunError,
    },
    /// It failed.
    #[error("{program} failed ({status}): {message}")]
    Failed {
        /// Its name and arguments.
        program: String,
        /// How it ended.
        status: String,
        /// What it said.
        message: String,
    },
}

/// Unmounts what is mounted at `name` in a folder, not what a link there leads to. A process that was killed keeps a
/// filesystem busy for a moment after its end.
pub(crate) fn unmount_in(folder: &Folder, name: &str) -> Result<(), PathError> {
    let until = Instant::now() + BUSY_PATIENCE;
    let path = folder.descriptor_path().join(name);
    loop {
        match rustix::mount::unmount(&path, UnmountFlags::NOFOLLOW) {
            Err(Errno::BUSY) if Instant::now() < until => thread::sleep(BUSY_POLL),
            result => return result.map_err(|error| at(&folder.join(name))(error.into())),
        }
    }
}

/// Runs a program of the system on a device or a mount point, as [`run_program`] does.
pub(crate) fn run_program_on(
    program: &str,
    package: &str,
    options: &[&str],
    path: &Path,
) -> Result<String, ProgramError> {
    let options = options.iter().map(OsStr::new);
    run_program(program, package, options.chain([path.as_os_str()]))
}

/// Runs a program of the system, and returns its standard output.
pub(crate) fn run_program(
    program: &str,
    package: &str,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<String, ProgramError> {
    let mut command = Command::new(program);
    command.args(arguments);
    command.env_clear().env("PATH", PATH).env("LC_ALL", "C");
    let limits = Limits {
        deadline: DEADLINE,
        stdout_bytes_max: Some(STDOUT_BYTES_MAX),
        keep_stderr: KeepStderr::Last,
        // A second mkfs or mount beside one that hangs would make things worse.
        if_stuck: IfStuck::Wait,
    };
    let ended = match run(&mut command, &limits) {
        Ok(ended) => ended,
        Err(RunError::Start(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Err(ProgramError::Missing {
                program: program.to_owned(),
                package: package.to_owned(),
            });
        }
        Err(source) => {
            return Err(ProgramError::Run {
                program: program.to_owned(),
                source,
            });
        }
    };
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    let arguments: Vec<String> = command
        .get_args()
        .map(|argument| units::escape(&argument.to_string_lossy()).into_owned())
        .collect();
    Err(ProgramError::Failed {
        program: format!("{program} {}", arguments.join(" ")),
        status: ended.status.to_string(),
        message: units::escape(String::from_utf8_lossy(&ended.stderr).trim()).into_owned(),
    })
}
