use super::DeviceNumber;
use serde::{Deserialize, Serialize};

/// One line of mountinfo, plus information queried from the filesystem. For an image without
/// mountinfo, one line of fstab.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Mount {
    /// Mount id.
    pub id: u64,
    /// Device number of the filesystem; anonymous (major 0) for Btrfs and network filesystems.
    pub device_number: DeviceNumber,
    /// Root of the mount within the filesystem; `/` unless it is a bind mount or a Btrfs subvolume.
    pub root: String,
    /// Mount point, unescaped.
    pub mount_point: String,
    /// Filesystem type: `xfs`, `ext4`, `btrfs`, `nfs4`, `fuse.sshfs`.
    pub fs_type: String,
    /// Mount source: `/dev/md0`, `server:/export`.
    pub source: String,
    /// Mount options followed by superblock options, without duplicates.
    pub options: Vec<String>,
    /// Sizes; `None` if statfs was not called or did not answer.
    pub usage: Option<FsUsage>,
    /// Geometry, if the filesystem reports it.
    pub geometry: Option<FsGeometry>,
    /// How far the kernel reads ahead on a Btrfs filesystem, at most; `None` for others, and if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_bytes: Option<u64>,
    /// 1-based line of `/etc/fstab` that stands in for the mount; `None` if mountinfo shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fstab_line: Option<u64>,
}

impl Mount {
    /// Whether an option is set, with or without a value: `has_option("discard")`.
    pub fn has_option(&self, name: &str) -> bool {
        self.options
            .iter()
            .any(|option| option.split('=').next() == Some(name))
    }

    /// Returns the value of `name=value`; of several the last, which takes effect.
    pub fn option_value(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find_map(|option| {
            option
                .split_once('=')
                .filter(|(key, _)| *key == name)
                .map(|(_, value)| value)
        })
    }

    /// Whether it is mounted read-only.
    pub fn is_read_only(&self) -> bool {
        self.has_option("ro")
    }

    /// Whether the filesystem itself is read-only. A read-only bind mount of a writable filesystem
    /// has both `ro` and `rw`, and its filesystem can be trimmed.
    pub fn is_filesystem_read_only(&self) -> bool {
        self.is_read_only() && !self.has_option("rw")
    }

    /// Returns the file and line that the options are from, for evidence.
    pub fn read_from(&self) -> String {
        match self.fstab_line {
            Some(line) => format!("etc/fstab:{line}"),
            None => "proc/self/mountinfo".to_owned(),
        }
    }

    /// Whether a block device is below it, as far as its line tells. Filesystems on several devices have a
    /// number without a device; the source of others may be `/dev/fuse`.
    pub fn is_on_device(&self) -> bool {
        self.device_number.major != 0
            || (self.source.starts_with("/dev/") && !self.fs_type.starts_with("fuse"))
    }

    /// Whether an absolute path is at or below the mount point.
    pub fn contains(&self, path: &str) -> bool {
        if self.mount_point == "/" {
            return path.starts_with('/');
        }
        path.strip_prefix(self.mount_point.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Sizes from statfs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FsUsage {
    /// Block size in bytes.
    pub block_bytes: u64,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Free bytes, including the space reserved for root.
    pub free_bytes: u64,
    /// Free bytes available to any user.
    pub available_bytes: u64,
}

/// How a filesystem divides its space, as far as TRIM is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FsGeometry {
    /// XFS allocation groups, from `XFS_IOC_FSGEOMETRY_V1`.
    Xfs {
        /// Block size in bytes.
        block_bytes: u64,
        /// Blocks per allocation group; the last may be smaller.
        group_blocks: u64,
        /// Number of allocation groups.
        groups: u64,
        /// Stripe unit in bytes; 0 if none.
        stripe_unit_bytes: u64,
        /// Stripe width in bytes; 0 if none.
        stripe_width_bytes: u64,
    },
    /// ext4 block groups: 8 x `block_bytes`^2 by default.
    Ext4 {
        /// Block size in bytes.
        block_bytes: u64,
        /// Bytes per block group.
        group_bytes: u64,
    },
}

/// One line of `/etc/fstab`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FstabEntry {
    /// 1-based line number.
    pub line: u64,
    /// `/dev/sda1`, `UUID=...`, `LABEL=...`.
    pub spec: String,
    /// Mount point, unescaped.
    pub mount_point: String,
    /// Filesystem type.
    pub fs_type: String,
    /// Options, without values that may be secret.
    pub options: Vec<String>,
}

/// One line of `/etc/crypttab`, without its key file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crypttab {
    /// 1-based line number.
    pub line: u64,
    /// Name below `/dev/mapper`.
    pub name: String,
    /// Encrypted device.
    pub device: String,
    /// Options.
    pub options: Vec<String>,
}
