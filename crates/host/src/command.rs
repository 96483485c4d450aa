//! The questions to a host that no file answers, and the tools that answer them.

use std::borrow::Cow;

/// A question that is not answered by a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `systemctl show` of the named units, with a fixed list of properties
    /// ([`crate::parse::systemctl::PROPERTIES`]); answers one block a unit, blank line between.
    SystemctlShow {
        /// Unit names, sorted.
        units: Vec<String>,
    },
    /// The device-mapper tables in the form of `dmsetup table`, keys replaced by `-`.
    DmTable,
    /// statfs and geometry of the given mount points: one JSON object a line
    /// ([`crate::parse::statfs::Answer`]).
    Statfs {
        /// Absolute mount points.
        mount_points: Vec<String>,
    },
    /// What a drive counts for itself, in the JSON of the tool that reads it
    /// ([`crate::parse::drive_log`]).
    DriveLog {
        /// Who reads it.
        tool: DriveTool,
        /// Kernel name of the drive: ASCII letters and digits only
        /// ([`crate::parse::drive_log::is_plain_name`]).
        drive: String,
    },
    /// What systemd's journal tells of runs: `journalctl -o json`, newest first, of cron, anacron,
    /// run-parts, and of systemd about some units. Never through a [`crate::Reader`]: the text of commands
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
