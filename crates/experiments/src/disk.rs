//! The device that a filesystem is made on: a file of the experiment's own, or a device that was named and confirmed.

use crate::program::{ProgramError, run_program_on, unmount_in};
use crate::register::RegisterError;
use crate::variant::{FilesystemKind, Variant};
use crate::workspace::Workspace;
use bench::path_error::{PathError, at};
use linux::counters::{CounterError, DeviceCounters, parse_diskstats};
use linux::folder::{FileId, Folder};
use linux::loop_device::LoopDevice;
use linux::mount_id::MountId;
use linux::mountinfo::MountLine;
use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use std::ffi::CString;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Read-ahead of a drive (`VM_READAHEAD_PAGES`).
const READ_AHEAD_KIB: &str = "128";
/// Names in the workspace.
const IMAGE: &str = "image";
const MOUNT: &str = "mount";
/// On the filesystem: a server's data.
pub(crate) const DATA: &str = "data";

/// Why a device cannot be used.
#[derive(Debug, Error)]
pub enum DiskError {
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Not a device.
    #[error("{}: expected a block device, found something else", units::escape(&.0.to_string_lossy()))]
    NoDevice(PathBuf),
    /// Another user could put another device in its place.
    #[error("{} {source}: name the device in /dev", units::escape(&folder.to_string_lossy()))]
    Unprotected {
        /// The folder that it is in.
        folder: PathBuf,
        /// What is wrong with it.
        source: std::io::Error,
    },
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
    /// What is mounted is not what was to be mounted.
    #[error("{} was replaced while {} was mounted there", units::escape(&mount.to_string_lossy()), units::escape(&device.to_string_lossy()))]
    Replaced {
        /// The mount point.
        mount: PathBuf,
        /// The device.
        device: PathBuf,
    },
    /// The kernel does not mount it.
    #[error("{} cannot be mounted as {fs_type}: {source}; the kernel's log may say why", units::escape(&device.to_string_lossy()))]
    Mount {
        /// The device.
        device: PathBuf,
        /// The filesystem.
        fs_type: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// The register.
    #[error(transparent)]
    Register(#[from] RegisterError),
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
#[derive(Debug)]
pub struct Disk {
    device: PathBuf,
    behind: Behind,
}

/// What keeps the device from becoming another one.
#[derive(Debug)]
enum Behind {
    /// A loop device that is held open, and the file behind it.
    Image { device: LoopDevice, image: Image },
    /// A device of the user's that is claimed: its number.
    Claimed(u64),
}

/// A file in the workspace.
#[derive(Debug)]
struct Image {
    within: Folder,
    id: FileId,
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
        let path = workspace.folder().join(IMAGE);
        let file = workspace.folder().make_file(IMAGE).map_err(at(&path))?;
        fallocate(&file, FallocateFlags::empty(), 0, len_bytes)
            .map_err(|error| at(&path)(error.into()))?;
        let image = Image {
            within: workspace.folder().try_clone().map_err(at(&path))?,
            id: FileId::of(&file).map_err(at(&path))?,
        };
        workspace.record_image(image.id)?;
        let device = LoopDevice::attach(&file).map_err(at(Path::new("/dev/loop-control")))?;
        let disk = Self {
            device: device.path().to_owned(),
            behind: Behind::Image { device, image },
        };
        disk.verify()?;
        // The default of drives; that of loop devices follows their largest request, and is 2.5 MiB.
        if let Some(file) = disk.read_ahead_file() {
            fs::write(&file, READ_AHEAD_KIB).map_err(at(&file))?;
        }
        Ok(disk)
    }

    /// A device that is [claimed](crate::Place), and its number (`st_rdev`).
    pub(crate) fn claimed(device: PathBuf, number: u64) -> Self {
        Self {
            device,
            behind: Behind::Claimed(number),
        }
    }

    /// Verifies that the path still leads to this device, and the device to its file: before anything is overwritten.
    ///
    /// # Errors
    /// [`DiskError::Changed`] if not.
    pub(crate) fn verify(&self) -> Result<(), DiskError> {
        let metadata = fs::symlink_metadata(&self.device).map_err(at(&self.device))?;
        let number = match &self.behind {
            Behind::Claimed(number) => *number,
            Behind::Image { device, image } => {
                if device.backing().map_err(at(&self.device))? != Some(image.id) {
                    return Err(DiskError::Changed(self.device.clone()));
                }
                let stat = rustix::fs::fstat(device);
                stat.map_err(|error| at(&self.device)(error.into()))?
                    .st_rdev
            }
        };
        if metadata.rdev() != number {
            return Err(DiskError::Changed(self.device.clone()));
        }
        Ok(())
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
        let options = [
            "--noheadings",
            "--nodeps",
            "--bytes",
            "--output",
            "DISC-MAX",
        ];
        let text = run_program_on("lsblk", "util-linux", &options, &self.device)?;
        Ok(text.trim().parse::<u64>().is_ok_and(|bytes| bytes > 0))
    }

    /// The file with the device's read-ahead in KiB.
    fn read_ahead_file(&self) -> Option<PathBuf> {
        let device = Path::new("/sys/class/block").join(self.device.file_name()?);
        // A partition has no queue of its own.
        ["queue", "../queue"]
            .map(|queue| device.join(queue).join("read_ahead_kb"))
            .into_iter()
            .find(|file| file.exists())
    }

    /// Gives a loop device and its file back; a device of the user's stays as it is.
    ///
    /// # Errors
    /// If it is still in use.
    pub fn release(self) -> Result<(), DiskError> {
        let Behind::Image { device, image } = self.behind else {
            return Ok(());
        };
        device.detach().map_err(at(&self.device))?;
        let path = image.within.join(IMAGE);
        let there = image.within.stat(IMAGE).map_err(at(&path))?;
        if there.is_none_or(|there| FileId::from(&there) != image.id) {
            return Err(DiskError::Changed(path));
        }
        image.within.remove_file(IMAGE).map_err(at(&path))?;
        Ok(())
    }
}

/// What a filesystem holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    /// Bytes that may still be written.
    pub(crate) free_bytes: u64,
    pub(crate) len_bytes: u64,
}

/// A filesystem of a variant on a disk, mounted in the workspace.
#[derive(Debug)]
pub struct Filesystem {
    disk: Disk,
    variant: Variant,
    /// The workspace, and the folder in it that lies below the mount.
    within: Folder,
    covered: Folder,
    /// The filesystem's own folder, as long as it is mounted.
    root: Option<Folder>,
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
        if matches!(disk.behind, Behind::Claimed(_)) && disk.accepts_discards()? {
            disk.verify()?;
            // Without --force: the kernel refuses it if anybody has claimed the device.
            run_program_on("blkdiscard", "util-linux", &[], &disk.device)?;
        }
        let kind = variant.filesystem;
        let (mkfs, options) = kind.mkfs();
        disk.verify()?;
        run_program_on(mkfs, kind.package(), options, &disk.device)?;
        let within = workspace.folder();
        let path = within.join(MOUNT);
        let covered = match within.stat(MOUNT).map_err(at(&path))? {
            None => within.make_folder(MOUNT, 0o755),
            Some(_) => within.folder(MOUNT),
        };
        let mut filesystem = Self {
            disk,
            variant,
            within: within.try_clone().map_err(at(&path))?,
            covered: covered.map_err(at(&path))?,
            root: None,
            empty_bytes: 0,
        };
        filesystem.mount()?;
        filesystem.empty_bytes = filesystem.used()?;
        Ok(filesystem)
    }

    /// Where it is mounted, for people and for other programs.
    pub fn path(&self) -> &Path {
        self.covered.path()
    }

    /// Its own folder; that below it while it is not mounted.
    pub fn root(&self) -> &Folder {
        self.root.as_ref().unwrap_or(&self.covered)
    }

    /// The folder of a server's data in it, made if it is missing.
    pub(crate) fn data(&self) -> std::io::Result<Folder> {
        match self.root().stat(DATA)? {
            None => self.root().make_folder(DATA, 0o755),
            Some(_) => self.root().folder(DATA),
        }
    }

    /// Its disk.
    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Mounts it again, after [`Filesystem::unmount`].
    ///
    /// # Errors
    /// If the kernel does not mount it.
    pub fn mount(&mut self) -> Result<(), DiskError> {
        let fs_type = self.variant.filesystem.name();
        let (flags, options) = self.variant.mount_options();
        let failed = |source: std::io::Error| DiskError::Mount {
            device: self.disk.device.clone(),
            fs_type,
            source,
        };
        let options = CString::new(options).map_err(|error| failed(error.into()))?;
        self.disk.verify()?;
        // The folder that is held, wherever it is by now.
        let target = self.covered.descriptor_path();
        rustix::mount::mount(
            &self.disk.device,
            &target,
            fs_type,
            flags,
            options.as_c_str(),
        )
        .map_err(|error| failed(error.into()))?;
        self.root = Some(self.mounted()?);
        if self.variant.read_ahead_128k {
            let file = self.read_ahead_file();
            let file = file.ok_or_else(|| DiskError::NoReadAhead(self.disk.device.clone()))?;
            fs::write(&file, READ_AHEAD_KIB).map_err(at(&file))?;
        }
        Ok(())
    }

    /// The folder of what has just been mounted, if that is where it should be.
    fn mounted(&self) -> Result<Folder, DiskError> {
        let path = self.path();
        let root = self.within.folder(MOUNT).map_err(at(path))?;
        let id = MountId::of(root.as_fd(), path).map_err(at(path))?;
        let mountinfo = Path::new("/proc/self/mountinfo");
        let text = fs::read(mountinfo).map_err(at(mountinfo))?;
        let mut mounts = text
            .split(|&byte| byte == b'\n')
            .filter_map(MountLine::parse);
        let mount = mounts.find(|mount| mount.id == id.id);
        let device = self.disk.device.as_os_str().as_bytes();
        if id.is_root && mount.is_some_and(|mount| *mount.source == *device) {
            return Ok(root);
        }
        Err(DiskError::Replaced {
            mount: path.to_owned(),
            device: self.disk.device.clone(),
        })
    }

    /// Verifies that its path leads to it: before another program is given the path.
    pub(crate) fn verify_path(&self) -> Result<(), DiskError> {
        let path = self.path();
        let id = |folder: &Folder| folder.id().map_err(at(path));
        let there = Folder::open(path).map_err(at(path))?;
        if id(&there)? == id(self.root())? {
            return Ok(());
        }
        Err(DiskError::Replaced {
            mount: path.to_owned(),
            device: self.disk.device.clone(),
        })
    }

    /// Unmounts it, which removes all of it from the page cache.
    ///
    /// # Errors
    /// If it is still in use.
    pub fn unmount(&mut self) -> Result<(), DiskError> {
        self.root = None;
        Ok(unmount_in(&self.within, MOUNT)?)
    }

    /// Makes the same filesystem anew.
    ///
    /// # Errors
    /// As [`Filesystem::make`] and [`Filesystem::unmount`].
    pub(crate) fn remade(mut self, workspace: &Workspace) -> Result<Self, DiskError> {
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
        let options = ["-b", "-x"];
        let text = run_program_on("compsize", "btrfs-compsize", &options, self.path()).ok()?;
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
        self.disk.read_ahead_file()
    }

    /// How much it holds.
    pub(crate) fn space(&self) -> Result<Space, DiskError> {
        let found = fstatvfs(self.root()).map_err(|error| at(self.path())(error.into()))?;
        Ok(Space {
            free_bytes: found.f_bavail * found.f_frsize,
            len_bytes: found.f_blocks * found.f_frsize,
        })
    }

    /// Bytes in use, once everything is on the disk.
    fn used(&self) -> Result<u64, DiskError> {
        let failed = |error: rustix::io::Errno| at(self.path())(error.into());
        // Delayed allocation: blocks of files that are not written back yet are not counted by Btrfs.
        rustix::fs::syncfs(self.root()).map_err(failed)?;
        let found = fstatvfs(self.root()).map_err(failed)?;
        Ok((found.f_blocks - found.f_bfree) * found.f_frsize)
    }

    /// Unmounts it and gives its disk back.
    ///
    /// # Errors
    /// If it is still in use.
    pub fn release(mut self) -> Result<(), DiskError> {
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
