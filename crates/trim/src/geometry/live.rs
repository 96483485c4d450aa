//! The geometry sources, backed by the kernel. Nothing stays open between two calls of a walk: a
//! pause must never keep a filesystem from being unmounted.

use super::btrfs::BtrfsSource;
use super::source::{MapSource, Source};
use super::walk::GeometryError;
use super::whole::{Space, Statfs};
use crate::ioctl::{self, BtrfsSearchKey, FsMap};
use crate::stop::Stop;
use crate::target::Target;
use linux::xfs::XfsGeometry;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// A mounted filesystem.
pub(super) struct Live {
    target: Target,
    mount: Option<OwnedFd>,
    device: Option<File>,
    start: Instant,
    stop: Stop,
}

impl Live {
    pub(super) fn new(target: &Target, stop: &Stop) -> Self {
        Self {
            target: target.clone(),
            mount: None,
            device: None,
            start: Instant::now(),
            stop: stop.clone(),
        }
    }

    fn mount(&self) -> io::Result<BorrowedFd<'_>> {
        let not_open = || io::Error::new(io::ErrorKind::NotConnected, "the mount is not open");
        Ok(self.mount.as_ref().ok_or_else(not_open)?.as_fd())
    }

    /// Opens the mounted device by its path, or by its number if that path is not a device
    /// (`/dev/root`).
    fn open_device(&self) -> io::Result<File> {
        let number = self.target.identity.device;
        File::open(&self.target.device_path).or_else(|error| {
            File::open(format!("/dev/block/{}:{}", number.major, number.minor)).map_err(|_| error)
        })
    }

    /// Queries the geometry of an XFS.
    pub(super) fn xfs_geometry(&self) -> io::Result<XfsGeometry> {
        Ok(linux::xfs::geometry(self.mount()?)?)
    }
}

impl Statfs for Live {
    fn space(&mut self) -> Result<Space, GeometryError> {
        self.open()?;
        let asked = self
            .mount()
            .and_then(|mount| rustix::fs::fstatvfs(mount).map_err(io::Error::from));
        self.close();
        let found = asked.map_err(|error| {
            let what = format!("statfs of {}", self.target.mount_point.display());
            GeometryError::unreadable(what, error)
        })?;
        Ok(Space {
            free_bytes: found.f_bfree.saturating_mul(found.f_frsize),
            size_bytes: found.f_blocks.saturating_mul(found.f_frsize),
        })
    }
}

impl Source for Live {
    /// Opens the mount and verifies that it is the one on which the pass began.
    fn open(&mut self) -> Result<(), GeometryError> {
        if self.mount.is_none() {
            self.mount = Some(self.target.open()?);
        }
        Ok(())
    }

    fn close(&mut self) {
        self.mount = None;
        self.device = None;
    }

    fn check_stop(&self) -> Result<(), GeometryError> {
        match self.stop.requested() {
            Some(_) => Err(GeometryError::Stopped),
            None => Ok(()),
        }
    }
}

impl MapSource for Live {
    fn fsmap(&mut self, low: FsMap, high: FsMap) -> io::Result<Vec<FsMap>> {
        ioctl::getfsmap(self.mount()?, low, high)
    }

    fn read_at(&mut self, offset_bytes: u64, len_bytes: usize) -> io::Result<Vec<u8>> {
        let device = match self.device.take() {
            Some(device) => device,
            None => self.open_device()?,
        };
        let mut bytes = vec![0; len_bytes];
        let read = device.read_exact_at(&mut bytes, offset_bytes);
        self.device = Some(device);
        read?;
        Ok(bytes)
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

impl BtrfsSource for Live {
    fn search(&mut self, key: BtrfsSearchKey) -> io::Result<(u32, Vec<u8>)> {
        ioctl::btrfs_tree_search(self.mount()?, key)
    }

    fn sector_bytes(&mut self) -> io::Result<u64> {
        Ok(ioctl::btrfs_fs_info(self.mount()?)?.sector_bytes.into())
    }
}

/// Returns `discard_granularity` of a block device in bytes; for a partition, that of its disk. 0
/// if it cannot be read.
pub(super) fn discard_granularity_bytes(device: facts::host::DeviceNumber) -> u64 {
    let base = format!("/sys/dev/block/{}:{}", device.major, device.minor);
    ["queue", "../queue"]
        .iter()
        .find_map(|queue| {
            let path = format!("{base}/{queue}/discard_granularity");
            std::fs::read_to_string(path).ok()?.trim().parse().ok()
        })
        .unwrap_or(0)
}
