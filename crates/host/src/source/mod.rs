//! Where facts are read from. Paths have no leading slash and are relative to the host's root.

mod archive;
mod bundle;
#[cfg(test)]
mod bundle_tests;
mod directory;
mod drive_log;
mod host_name;
mod journal;
mod live;
mod log_file;
mod memory;
mod process;
mod reader;
mod resolve;
mod statfs;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tree_tests;

pub(crate) use archive::plain_path_fault;
pub use bundle::{Bundle, BundleError, Limits, open, read_bytes};
pub use directory::Directory;
pub use host_name::static_host_name;
pub use live::Live;
pub use log_file::{End, read_log, whole_log};
pub use reader::{Reader, Recording};
#[cfg(test)]
pub(crate) use testing::MemorySource;

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// More names than any directory has that is listed here: /proc of a large host has some 10,000.
const LIST_NAMES_MAX: usize = 100_000;

/// What is said of a directory above [`LIST_NAMES_MAX`].
fn too_many_names() -> Unread {
    Unread::Failed(format!("more than {LIST_NAMES_MAX} names"))
}

/// An error of the operating system as the reason why something was not read.
fn unread(error: &std::io::Error) -> Unread {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Unread::NotFound,
        ErrorKind::PermissionDenied => Unread::Denied,
        // A process that ended between the listing of /proc and the reading.
        _ if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
            Unread::NotFound
        }
        _ => Unread::Failed(error.to_string()),
    }
}

/// A host's files and the few commands whose answers no file holds.
pub trait Source {
    /// The content of a file, symbolic links followed.
    ///
    /// # Errors
    /// Why it could not be read; [`Unread::TooLarge`] above `max_bytes`.
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread>;

    /// The last `max_bytes` of a file, symbolic links followed. A source that holds its files in
    /// memory anyway gives them as a whole or not at all.
    ///
    /// # Errors
    /// As [`Self::read`].
    fn read_end(&self, path: &str, max_bytes: usize) -> Result<End, Unread> {
        Ok(End {
            bytes: self.read(path, max_bytes)?,
            is_cut: false,
        })
    }

    /// The names in a directory, sorted, without `.` and `..`.
    ///
    /// # Errors
    /// Why it could not be read.
    fn list(&self, path: &str) -> Result<Vec<String>, Unread>;

    /// The text of a symbolic link, as it stands; the links on the way to it are followed.
    ///
    /// # Errors
    /// [`Unread::NotFound`] also where `path` is no link.
    fn link(&self, path: &str) -> Result<String, Unread>;

    /// Kind, mode and time of change, symbolic links followed.
    ///
    /// # Errors
    /// Why it could not be read.
    fn stat(&self, path: &str) -> Result<Stat, Unread>;

    /// The answer of a command.
    ///
    /// # Errors
    /// [`Unread::NotFound`] where the command has nothing to say on this host.
    fn command(&self, command: &Command) -> Result<Vec<u8>, Unread>;

    /// Whether all of the host can be asked: what is not found is then not there. False for a tree
    /// that may hold only a part of it.
    fn is_whole(&self) -> bool {
        false
    }

    /// When the facts were collected, where that was another time than now.
    fn collected_at(&self) -> Option<jiff::Timestamp> {
        None
    }

    /// Data paths that were given by hand when the facts were collected.
    fn data_paths(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the user should know of this source: entries of a bundle that were passed over.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Why something could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Unread {
    /// Not there.
    #[error("not found")]
    NotFound,
    /// Permission denied.
    #[error("permission denied")]
    Denied,
    /// No answer within the deadline.
    #[error("no answer within {0} ms")]
    Timeout(u64),
    /// Larger than the limit.
    #[error("larger than {0} bytes")]
    TooLarge(usize),
    /// Not looked at when the bundle was made.
    #[error("not in this bundle")]
    NotRecorded,
    /// There, but not of the form that the filter for secrets can take apart.
    #[error("{0}")]
    Malformed(String),
    /// Any other failure.
    #[error("{0}")]
    Failed(String),
}

impl Unread {
    /// Whether it is known that nothing is there.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::NotFound)
    }
}

/// What `stat` tells that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat {
    /// Regular file, directory, or anything else.
    pub kind: Kind,
    /// Permission bits.
    pub mode: u32,
    /// Last change of the content, seconds since 1970.
    pub mtime_s: i64,
    /// Size in bytes.
    pub size_bytes: u64,
}

/// File kinds that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Regular file.
    File,
    /// Directory.
    Directory,
    /// Device, socket, pipe.
    Other,
}

/// A question that is not answered by a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `systemctl show` of the named units, with a fixed list of properties
    /// ([`crate::jobs::SYSTEMCTL_PROPERTIES`]); answers one block a unit, blank line between.
    SystemctlShow {
        /// Unit names, sorted.
        units: Vec<String>,
    },
    /// The device-mapper tables in the form of `dmsetup table`, keys replaced by `-`.
    DmTable,
    /// statfs and geometry of the given mount points: one JSON object a line
    /// ([`crate::storage::usage::Answer`]).
    Statfs {
        /// Absolute mount points.
        mount_points: Vec<String>,
    },
    /// What a drive counts for itself, in the JSON of the tool that reads it
    /// ([`crate::storage::drive_log`]).
    DriveLog {
        /// Who reads it.
        tool: DriveTool,
        /// Kernel name of the drive: ASCII letters and digits only
        /// ([`crate::storage::drive_log::is_plain_name`]).
        drive: String,
    },
    /// What systemd's journal tells of runs: `journalctl -o json`, newest first, of cron, anacron,
    /// run-parts, and of systemd about some units. Never through a [`Reader`]: the text of commands
    /// may hold passwords, and is not to be recorded.
    Journal {
        /// Unit names: services that timers start.
        units: Vec<String>,
        /// Nothing older.
        since: jiff::Timestamp,
        /// Nothing younger.
        until: jiff::Timestamp,
    },
}

/// The most entries of the journal that are asked for: the newest.
pub const JOURNAL_ENTRIES_MAX: usize = 400_000;

impl Command {
    /// Name of the file below `cmd/` in a bundle.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Self::SystemctlShow { .. } => "systemctl_show".into(),
            Self::DmTable => "dmsetup_table".into(),
            Self::Statfs { .. } => "statfs".into(),
            Self::DriveLog { tool, drive } => format!("{}_{drive}", tool.file_prefix()).into(),
            Self::Journal { .. } => "journal".into(),
        }
    }
}

/// A tool that reads a drive's own counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriveTool {
    /// `smartctl --json=c -A`; of ATA drives with the general page of the device statistics, and with
    /// `-i`, which says how large a sector is.
    Smartctl,
    /// `nvme smart-log -o json`: log page 0x02 of any NVMe drive.
    NvmeSmartLog,
    /// `nvme ocp smart-add-log -o json`: log page 0xC0 of drives made to the Datacenter NVMe SSD
    /// specification of the Open Compute Project.
    NvmeOcp,
}

impl DriveTool {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Smartctl, Self::NvmeSmartLog, Self::NvmeOcp];

    /// What the names of its answers begin with, before `_DRIVE`.
    pub fn file_prefix(self) -> &'static str {
        match self {
            Self::Smartctl => "smartctl",
            Self::NvmeSmartLog => "nvme_smart_log",
            Self::NvmeOcp => "nvme_ocp_smart_add_log",
        }
    }

    /// As people type it, without the drive.
    pub fn words(self) -> &'static str {
        match self {
            Self::Smartctl => "smartctl -A",
            Self::NvmeSmartLog => "nvme smart-log",
            Self::NvmeOcp => "nvme ocp smart-add-log",
        }
    }

    /// The package that has it.
    pub fn package(self) -> &'static str {
        match self {
            Self::Smartctl => "smartmontools",
            Self::NvmeSmartLog | Self::NvmeOcp => "nvme-cli",
        }
    }
}
