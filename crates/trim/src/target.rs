//! A mounted filesystem, reopened and verified for each step, so that a pause never blocks umount.

use crate::geometry::ext4::format::{SUPERBLOCK_BYTES, SUPERBLOCK_OFFSET_BYTES, Superblock};
use facts::host::DeviceNumber;
use linux::mount_id::MountId;
use linux::mount_points::MountPoints;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Identity of a filesystem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// `st_dev` of the mount (anonymous for Btrfs).
    pub device: DeviceNumber,
    /// UUID of the filesystem, read through an ioctl of the filesystem (or from its superblock),
    /// not from /dev/disk; `None` if it has none.
    pub uuid: Option<String>,
    /// Filesystem type, as in mountinfo.
    pub fs_type: String,
}

impl Identity {
    /// Returns a key that is safe as a file name and the same for every mount of the filesystem:
    /// the UUID, or `dev-MAJOR-MINOR`.
    pub fn key(&self) -> String {
        match &self.uuid {
            Some(uuid) => uuid.clone(),
            None => format!("dev-{}-{}", self.device.major, self.device.minor),
        }
    }

    /// Formats the identity for display: `xfs 3c5a.. on 259:1`.
    fn describe(&self) -> String {
        match &self.uuid {
            Some(uuid) => format!("{} {uuid} on {}", self.fs_type, self.device),
            None => format!("{} on {}", self.fs_type, self.device),
        }
    }
}

/// A mount to trim.
#[derive(Debug, Clone)]
pub struct Target {
    /// The mount point.
    pub mount_point: PathBuf,
    /// Mount ID when the pass began (`mnt_id` of mountinfo).
    pub mount_id: u64,
    /// The filesystem.
    pub identity: Identity,
    /// Path of the mounted device, for reading superblocks.
    pub device_path: PathBuf,
}

/// Why a mount could not be opened and verified.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Nothing, or something else, is mounted there now.
    #[error("{mount_point}: {found}; the pass began on {expected}")]
    Changed {
        /// The mount point.
        mount_point: String,
        /// What was mounted when the pass began.
        expected: String,
        /// What is mounted now.
        found: String,
    },
    /// The mount point could not be opened.
    #[error("{mount_point}: {source}")]
    Unreadable {
        /// The mount point.
        mount_point: String,
        /// Error from the kernel.
        source: std::io::Error,
    },
}

impl Target {
    /// Identifies what is currently mounted at a mount point. Relative paths are made absolute,
    /// because the trimming process works from `/`.
    ///
    /// # Errors
    /// If it cannot be opened or is not a mount point.
    #[allow(clippy::needless_pass_by_value)] // they are replaced by absolute ones
    pub fn identify(
        mount_point: PathBuf,
        fs_type: &str,
        device_path: PathBuf,
    ) -> Result<Self, TargetError> {
        let unreadable = |source| TargetError::Unreadable {
            mount_point: mount_point.display().to_string(),
            source,
        };
        let mount_point = std::path::absolute(&mount_point).map_err(unreadable)?;
        let device_path = std::path::absolute(&device_path).map_err(unreadable)?;
        let directory = open_directory(&mount_point).map_err(unreadable)?;
        let mount = MountId::of(directory.as_fd(), &mount_point).map_err(unreadable)?;
        if !mount.is_root {
            return Err(unreadable(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a mount point; name the directory on which the filesystem is mounted",
            )));
        }
        let device = device_of(&directory).map_err(unreadable)?;
        let uuid = uuid_of(&directory, fs_type, &device_path).map_err(unreadable)?;
        Ok(Self {
            identity: Identity {
                device,
                uuid,
                fs_type: fs_type.to_owned(),
            },
            mount_id: mount.id,
            mount_point,
            device_path,
        })
    }

    /// Opens the mount point (`O_RDONLY|O_DIRECTORY|O_CLOEXEC`) and verifies device, filesystem
    /// UUID and mount ID. As long as the descriptor is open the filesystem cannot be unmounted.
    ///
    /// # Errors
    /// [`TargetError::Changed`] if another filesystem, or none, is mounted there now.
    pub fn open(&self) -> Result<OwnedFd, TargetError> {
        let directory = match open_directory(&self.mount_point) {
            Ok(directory) => directory,
            // The mount was on a directory, which exists for as long as the mount does.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Err(self.changed(format!("nothing is mounted there now ({error})")));
            }
            Err(error) => return Err(self.unreadable(error)),
        };
        let mount = MountId::of(directory.as_fd(), &self.mount_point)
            .map_err(|error| self.unreadable(error))?;
        if !mount.is_root {
            return Err(self.changed("nothing is mounted there now".to_owned()));
        }
        let device = device_of(&directory).map_err(|error| self.unreadable(error))?;
        if device != self.identity.device {
            let found = if self.is_renumbered(&directory, device) {
                mounted_anew(mount.id)
            } else {
                format!("another filesystem, on {device}, is there now")
            };
            return Err(self.changed(found));
        }
        let uuid = uuid_of(&directory, &self.identity.fs_type, &self.device_path)
            .map_err(|error| self.unreadable(error))?;
        if uuid != self.identity.uuid {
            let found = match uuid {
                Some(uuid) => format!("another filesystem, {uuid} on {device}, is there now"),
                None => format!("another filesystem, without uuid, on {device}, is there now"),
            };
            return Err(self.changed(found));
        }
        if mount.id != self.mount_id {
            return Err(self.changed(mounted_anew(mount.id)));
        }
        Ok(directory)
    }

    /// Whether it is the same filesystem under another device number. Btrfs takes any free number of
    /// major 0 at each mount (`get_anon_bdev` in fs/super.c).
    fn is_renumbered(&self, directory: &OwnedFd, device: DeviceNumber) -> bool {
        let expected = &self.identity;
        expected.uuid.is_some()
            && (expected.device.major, device.major) == (0, 0)
            && uuid_of(directory, &expected.fs_type, &self.device_path)
                .is_ok_and(|uuid| uuid == expected.uuid)
    }

    fn changed(&self, found: String) -> TargetError {
        TargetError::Changed {
            mount_point: self.mount_point.display().to_string(),
            expected: format!("{} (mount {})", self.identity.describe(), self.mount_id),
            found,
        }
    }

    fn unreadable(&self, source: io::Error) -> TargetError {
        TargetError::Unreadable {
            mount_point: self.mount_point.display().to_string(),
            source,
        }
    }
}

fn mounted_anew(mount_id: u64) -> String {
    format!("the filesystem was mounted anew (mount {mount_id})")
}

/// A made-up filesystem.
#[cfg(test)]
pub(crate) fn sample() -> Target {
    Target {
        mount_point: "/data".into(),
        mount_id: 1,
        identity: Identity {
            device: DeviceNumber { major: 7, minor: 1 },
            uuid: Some("0f0f".to_owned()),
            fs_type: "xfs".to_owned(),
        },
        device_path: "/dev/loop1".into(),
    }
}

/// Refuses a path that leads through a filesystem that may not answer: a process that waits for one reacts
/// to no signal that it handles. What is on the way may change during a pass.
pub(crate) fn look(path: &Path) -> io::Result<()> {
    let mounts = MountPoints::parse(&std::fs::read("/proc/self/mountinfo")?);
    let Some(mount) = mounts.remote_mount(&path.to_string_lossy()) else {
        return Ok(());
    };
    let fs_type = &mount.fs_type;
    let why = if Path::new(&mount.at) == path {
        format!("{fs_type} may not answer: not looked at")
    } else {
        format!(
            "{fs_type} at {} is on the way there and may not answer: not looked at",
            mount.at
        )
    };
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    look(path)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

fn device_of(directory: &OwnedFd) -> io::Result<DeviceNumber> {
    let device = rustix::fs::fstat(directory)?.st_dev;
    Ok(DeviceNumber {
        major: rustix::fs::major(device),
        minor: rustix::fs::minor(device),
    })
}

/// Returns the UUID in the usual form, 8-4-4-4-12 hexadecimal digits.
fn uuid_of(directory: &OwnedFd, fs_type: &str, device_path: &Path) -> io::Result<Option<String>> {
    let uuid = match crate::ioctl::fs_uuid(directory.as_fd(), fs_type)? {
        None if matches!(fs_type, "ext2" | "ext3" | "ext4") => ext4_uuid(directory, device_path)?,
        uuid => uuid,
    };
    Ok(uuid.map(uuid_text))
}

/// Reads the UUID from the superblock, for kernels without an ioctl for it.
fn ext4_uuid(directory: &OwnedFd, device_path: &Path) -> io::Result<Option<[u8; 16]>> {
    let named = |error: io::Error| {
        io::Error::new(error.kind(), format!("{}: {error}", device_path.display()))
    };
    let device = File::open(device_path).map_err(named)?;
    // Device names are reused; the number is the filesystem's own.
    if rustix::fs::fstat(&device)?.st_rdev != rustix::fs::fstat(directory)?.st_dev {
        return Err(named(io::Error::new(
            io::ErrorKind::InvalidInput,
            "is not the device that is mounted",
        )));
    }
    let mut superblock = [0; SUPERBLOCK_BYTES];
    device
        .read_exact_at(&mut superblock, SUPERBLOCK_OFFSET_BYTES)
        .map_err(named)?;
    let superblock = Superblock::parse(&superblock).map_err(|invalid| {
        named(io::Error::new(
            io::ErrorKind::InvalidData,
            invalid.to_string(),
        ))
    })?;
    Ok(Some(superblock.uuid).filter(|uuid| *uuid != [0; 16]))
}

fn uuid_text(uuid: [u8; 16]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(36);
    for (at, byte) in uuid.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuid_has_the_usual_form() {
        let uuid: [u8; 16] = std::array::from_fn(|at| u8::try_from(at * 17).unwrap());
        assert_eq!(uuid_text(uuid), "00112233-4455-6677-8899-aabbccddeeff");
    }

    #[test]
    fn directory_that_is_not_a_mount_point_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let error = Target::identify(directory.path().into(), "ext4", "/dev/null".into())
            .unwrap_err()
            .to_string();
        assert!(error.contains("not a mount point"), "{error}");
        let error = Target::identify(directory.path().join("x"), "ext4", "/dev/null".into())
            .unwrap_err()
            .to_string();
        assert!(error.contains("No such file"), "{error}");
    }

    #[test]
    fn proc_is_a_mount_and_stays_the_same() {
        let target = Target::identify("/proc".into(), "proc", "proc".into()).unwrap();
        assert_eq!(target.identity.uuid, None);
        let _ = target.open().unwrap();
        let other = Target {
            mount_id: target.mount_id + 100_000,
            ..target.clone()
        };
        let error = other.open().unwrap_err();
        assert!(matches!(error, TargetError::Changed { .. }), "{error}");
        assert!(error.to_string().contains("mounted anew"), "{error}");
        let moved = Target {
            mount_point: "/sys".into(),
            ..target
        };
        let error = moved.open().unwrap_err();
        assert!(error.to_string().contains("another filesystem"), "{error}");
    }
}
