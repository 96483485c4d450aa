//! The device that a filesystem is made on: a file of the experiment's own, or a device that was named and confirmed.

use crate::path_error::{PathError, at};
use crate::program::{ProgramError, run_program, unmount};
use crate::variant::{FilesystemKind, Variant};
use crate::workspace::Workspace;
use linux::counters::{CounterError, DeviceCounters, parse_diskstats};
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Read-ahead of a drive (`VM_READAHEAD_PAGES`).
const READ_AHEAD_KIB: &str = "128";
/// The same in units of 512 bytes.
const READ_AHEAD_SECTORS: &str = "256";

/// Why a device cannot be used.
#[derive(Debug, Error)]
pub enum DiskError {
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Not a device.
    #[error("{}: expected a block device, found something else", units::escape(&.0.to_string_lossy()))]
    NoDevice(PathBuf),
    /// It is mounted, or part of something that is.
    #[error("{} is in use: it is mounted, or a part of RAID, LVM or dm-crypt; nothing was changed", units::escape(&.0.to_string_lossy()))]
    InUse(PathBuf),
    /// It may hold data, and nobody said that these may go.
    #[error("{} {}; nothing was changed", units::escape(&path.to_string_lossy()), units::escape(what))]
    Unconfirmed {
        /// The device.
        path: PathBuf,
        /// What wipefs(8) finds on it.
        what: String,
    },
    /// Another device has its name now.
    #[error("{} is another device than before; it was not touched", units::escape(&.0.to_string_lossy()))]
    Changed(PathBuf),
    /// A program failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The kernel's counters cannot be read.
    #[error(transparent)]
    Counters(#[from] CounterError),
    /// The kernel does not count it.
    #[error("{} is not in /proc/diskstats", units::escape(.0))]
    NotCounted(String),
    /// The kernel does not say how far it reads ahead.
    #[error("{}: the read-ahead of its Btrfs is not in /sys/fs/btrfs", units::escape(&.0.to_string_lossy()))]
    NoReadAhead(PathBuf),
}

/// A block device whose contents belong to the experiment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    device: PathBuf,
    /// The file behind a loop device.
    image: Option<PathBuf>,
}

impl Disk {
    /// Makes a loop device of `len_bytes`, with a file in the workspace behind it.
    ///
    /// The file's space is allocated: that the host has none left must not be found in mid-trial. The loop device
    /// bypasses the host's page cache, which would hold everything a second time.
    ///
    /// # Errors
    /// If there is not enough space, or no loop device.
    pub fn image(workspace: &Workspace, len_bytes: u64) -> Result<Self, DiskError> {
        let image = workspace.path().join("image");
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&image)
            .map_err(at(&image))?;
        fallocate(&file, FallocateFlags::empty(), 0, len_bytes)
            .map_err(|error| at(&image)(error.into()))?;
        drop(file);
        let arguments = ["--find", "--show", "--direct-io=on"].map(std::ffi::OsStr::new);
        let device = run_program(
            "losetup",
            "mount",
            arguments.into_iter().chain([image.as_os_str()]),
        )?;
        let device = PathBuf::from(device.trim_end());
        // The default of drives; that of loop devices follows their largest request, and is 2.5 MiB.
        let arguments = ["--setra", READ_AHEAD_SECTORS].map(std::ffi::OsStr::new);
        run_program(
            "blockdev",
            "util-linux",
            arguments.into_iter().chain([device.as_os_str()]),
        )?;
        Ok(Self {
            device,
            image: Some(image),
        })
    }

    /// A device that is [claimed](crate::Place) already.
    pub(crate) fn claimed(device: PathBuf) -> Self {
        Self {
            device,
            image: None,
        }
    }

    /// The device's path.
    pub fn path(&self) -> &Path {
        &self.device
    }

    /// What the kernel has counted of it so far.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub(crate) fn counters(&self) -> Result<DeviceCounters, DiskError> {
        let path = Path::new("/proc/diskstats");
        let text = fs::read_to_string(path).map_err(at(path))?;
        let name = self.device.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let mut found = parse_diskstats(&text, std::slice::from_ref(&name))?;
        found.remove(&name).ok_or(DiskError::NotCounted(name))
    }

    /// Whether it takes discards.
    ///
    /// # Errors
    /// If it is not known.
    pub(crate) fn accepts_discards(&self) -> Result<bool, DiskError> {
        let arguments = [
            "--noheadings",
            "--nodeps",
            "--bytes",
            "--output",
            "DISC-MAX",
        ];
        let arguments = arguments.map(std::ffi::OsStr::new);
        let text = run_program(
            "lsblk",
            "util-linux",
            arguments.into_iter().chain([self.device.as_os_str()]),
        )?;
        Ok(text.trim().parse::<u64>().is_ok_and(|bytes| bytes > 0))
    }

    /// Gives a loop device and its file back; a device of the user's stays as it is.
    ///
    /// # Errors
    /// If it is still in use.
    pub fn release(self) -> Result<(), DiskError> {
        let Some(image) = self.image else {
            return Ok(());
        };
        run_program(
            "losetup",
            "mount",
            ["--detach".as_ref(), self.device.as_os_str()],
        )?;
        Ok(fs::remove_file(&image).map_err(at(&image))?)
    }
}

/// What a filesystem holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    /// Bytes that may still be written.
    pub(crate) free_bytes: u64,
    /// All its bytes.
    pub(crate) len_bytes: u64,
}

/// A filesystem of a variant on a disk, mounted in the workspace.
#[derive(Debug)]
pub struct Filesystem {
    disk: Disk,
    variant: Variant,
    mount: PathBuf,
    /// Bytes in use before anything was written.
    empty_bytes: u64,
}

impl Filesystem {
    /// Discards the whole device, makes the filesystem and mounts it. Everything on the disk is lost.
    ///
    /// # Errors
    /// If the program for it is missing or fails, or the kernel does not mount it.
    pub fn make(workspace: &Workspace, disk: Disk, variant: Variant) -> Result<Self, DiskError> {
        // Two trials on a drive that holds more or less of what is gone are not two trials on one drive. An image is new.
        if disk.image.is_none() && disk.accepts_discards()? {
            // Without --force: the kernel refuses it if anybody has claimed the device.
            run_program("blkdiscard", "util-linux", [&disk.device])?;
        }
        let kind = variant.filesystem;
        let (mkfs, options) = kind.mkfs();
        let options = options.iter().map(std::ffi::OsStr::new);
        run_program(
            mkfs,
            kind.package(),
            options.chain([disk.device.as_os_str()]),
        )?;
        let mount = workspace.path().join("mount");
        fs::create_dir_all(&mount).map_err(at(&mount))?;
        let mut filesystem = Self {
            disk,
            variant,
            mount,
            empty_bytes: 0,
        };
        filesystem.mount()?;
        filesystem.empty_bytes = filesystem.used()?;
        Ok(filesystem)
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.mount
    }

    /// Its disk.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Mounts it again, after [`Filesystem::unmount`].
    ///
    /// # Errors
    /// If the kernel does not mount it.
    pub fn mount(&self) -> Result<(), DiskError> {
        let options = self.variant.mount_options();
        run_program(
            "mount",
            "mount",
            [
                "-t".as_ref(),
                self.variant.filesystem.name().as_ref(),
                "-o".as_ref(),
                std::ffi::OsStr::new(&options),
                self.disk.device.as_os_str(),
                self.mount.as_os_str(),
            ],
        )?;
        if self.variant.read_ahead_128k {
            let file = self.read_ahead_file();
            let file = file.ok_or_else(|| DiskError::NoReadAhead(self.disk.device.clone()))?;
            fs::write(&file, READ_AHEAD_KIB).map_err(at(&file))?;
        }
        Ok(())
    }

    /// Unmounts it, which removes all of it from the page cache.
    ///
    /// # Errors
    /// If it is still in use.
    pub fn unmount(&self) -> Result<(), DiskError> {
        Ok(unmount(&self.mount)?)
    }

    /// Makes the same filesystem anew.
    ///
    /// # Errors
    /// As [`Filesystem::make`] and [`Filesystem::unmount`].
    pub(crate) fn remade(self, workspace: &Workspace) -> Result<Self, DiskError> {
        self.unmount()?;
        Self::make(workspace, self.disk, self.variant)
    }

    /// Bytes that its files take, with their metadata: the growth of the bytes in use since it was made. Compression is
    /// seen here alone; files' own counts of blocks are those before compression on Btrfs.
    ///
    /// # Errors
    /// If it cannot be asked.
    pub fn written_bytes(&self) -> Result<u64, DiskError> {
        Ok(self.used()?.saturating_sub(self.empty_bytes))
    }

    /// What its files take by compsize(8), which asks Btrfs for each extent; `None` on other filesystems, or if it cannot
    /// be asked.
    pub fn compsize_bytes(&self) -> Option<u64> {
        if self.variant.filesystem != FilesystemKind::Btrfs {
            return None;
        }
        let arguments = ["-b".as_ref(), "-x".as_ref(), self.mount.as_os_str()];
        let text = run_program("compsize", "btrfs-compsize", arguments).ok()?;
        compsize_total(&text)
    }

    /// How far the kernel reads ahead at most: what the device says, but 4 MiB or more on Btrfs (`open_ctree` in
    /// fs/btrfs/disk-io.c). `None` if it cannot be read.
    pub(crate) fn read_ahead_bytes(&self) -> Option<u64> {
        let kib = fs::read_to_string(self.read_ahead_file()?).ok()?;
        kib.trim().parse::<u64>().ok().map(|kib| kib << 10)
    }

    /// The file with the read-ahead in KiB. That of Btrfs is there as long as it is mounted.
    fn read_ahead_file(&self) -> Option<PathBuf> {
        let name = self.disk.device.file_name()?;
        if self.variant.filesystem == FilesystemKind::Btrfs {
            let all = fs::read_dir("/sys/fs/btrfs").ok()?.flatten();
            let mut all = all.map(|filesystem| filesystem.path());
            let ours = all.find(|filesystem| filesystem.join("devices").join(name).exists())?;
            return Some(ours.join("bdi/read_ahead_kb"));
        }
        let device = Path::new("/sys/class/block").join(name);
        // A partition has no queue of its own.
        ["queue", "../queue"]
            .map(|queue| device.join(queue).join("read_ahead_kb"))
            .into_iter()
            .find(|file| file.exists())
    }

    /// How much it holds.
    pub(crate) fn space(&self) -> Result<Space, DiskError> {
        let found = statvfs(&self.mount).map_err(|error| at(&self.mount)(error.into()))?;
        Ok(Space {
            free_bytes: found.f_bavail * found.f_frsize,
            len_bytes: found.f_blocks * found.f_frsize,
        })
    }

    /// Bytes in use, once everything is on the disk.
    fn used(&self) -> Result<u64, DiskError> {
        let failed = |error: rustix::io::Errno| at(&self.mount)(error.into());
        let root = fs::File::open(&self.mount).map_err(at(&self.mount))?;
        // Delayed allocation: blocks of files that are not written back yet are not counted by Btrfs.
        rustix::fs::syncfs(&root).map_err(failed)?;
        let found = statvfs(&self.mount).map_err(failed)?;
        Ok((found.f_blocks - found.f_bfree) * found.f_frsize)
    }

    /// Unmounts it and gives its disk back.
    ///
    /// # Errors
    /// If it is still in use.
    pub fn release(self) -> Result<(), DiskError> {
        self.unmount()?;
        self.disk.release()
    }
}

/// The disk usage in the line `TOTAL  65%  12345  18765  18765`.
fn compsize_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("TOTAL"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compsize_tells_its_total() {
        let text = "Processed 166 files, 1237 regular extents (1237 refs), 80 inline.\n\
            Type       Perc     Disk Usage   Uncompressed Referenced  \n\
            TOTAL       67%    123456789    184000000    184000000\n\
            none       100%     40000000     40000000     40000000\n\
            zstd        57%     83456789    144000000    144000000\n";
        assert_eq!(compsize_total(text), Some(123_456_789));
        assert_eq!(compsize_total("No files.\n"), None);
    }
}
