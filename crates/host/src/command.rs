//! Queries to a host that no file answers, and the tools that answer them.

use std::borrow::Cow;

/// A query that is not answered by a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `systemctl show` of the named units, with a fixed list of properties
    /// ([`crate::parse::systemctl::PROPERTIES`]); the answer has one block per unit, separated by
    /// blank lines.
    SystemctlShow {
        /// Unit names, sorted.
        units: Vec<String>,
    },
    /// Device-mapper tables in the format of `dmsetup table`, with keys replaced by `-`.
    DmTable,
    /// statfs and geometry of the given mount points: one JSON object per line
    /// ([`crate::parse::statfs::Answer`]).
    Statfs {
        /// Absolute mount points.
        mount_points: Vec<String>,
    },
    /// A drive's own counters, in the JSON format of the tool that reads them
    /// ([`crate::parse::drive_log`]).
    DriveLog {
        /// The tool to use.
        tool: DriveTool,
        /// Kernel name of the drive: ASCII letters and digits only
        /// ([`crate::parse::drive_log::is_plain_name`]).
        drive: String,
    },
    /// Entries about job runs in systemd's journal: `journalctl -o json`, newest first, for cron,
    /// anacron, run-parts, and systemd's messages about some units. Never to be requested through a
    /// [`crate::Reader`]: the command text may contain passwords and must not be recorded.
    Journal {
        /// Unit names: services that timers activate.
        units: Vec<String>,
        /// Start of the time range.
        since: jiff::Timestamp,
        /// End of the time range.
        until: jiff::Timestamp,
    },
}

/// Maximum number of journal entries requested: the newest.
pub const JOURNAL_ENTRIES_MAX: usize = 400_000;

impl Command {
    /// Returns the name of the file below `cmd/` in a bundle.
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
    /// `smartctl --json=c -A`; for ATA drives also the general page of the device statistics, and
    /// `-i`, which reports the sector size.
    Smartctl,
    /// `nvme smart-log -o json`: log page 0x02 of any NVMe drive.
    NvmeSmartLog,
    /// `nvme ocp smart-add-log -o json`: log page 0xC0 of drives that follow the Datacenter NVMe
    /// SSD specification of the Open Compute Project.
    NvmeOcp,
}

impl DriveTool {
    /// All tools.
    pub const ALL: [Self; 3] = [Self::Smartctl, Self::NvmeSmartLog, Self::NvmeOcp];

    /// Returns the prefix of its answers' file names, before `_DRIVE`.
    pub fn file_prefix(self) -> &'static str {
        match self {
            Self::Smartctl => "smartctl",
            Self::NvmeSmartLog => "nvme_smart_log",
            Self::NvmeOcp => "nvme_ocp_smart_add_log",
        }
    }

    /// Returns the command line as people type it, without the drive.
    pub fn words(self) -> &'static str {
        match self {
            Self::Smartctl => "smartctl -A",
            Self::NvmeSmartLog => "nvme smart-log",
            Self::NvmeOcp => "nvme ocp smart-add-log",
        }
    }

    /// Returns the package that contains it.
    pub fn package(self) -> &'static str {
        match self {
            Self::Smartctl => "smartmontools",
            Self::NvmeSmartLog | Self::NvmeOcp => "nvme-cli",
        }
    }
}
