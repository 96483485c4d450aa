//! Kernel and device queries of the walks.

use super::walk::GeometryError;
use crate::ioctl::FsMap;
use std::io;
use std::time::Duration;

/// What every walk needs of a mounted filesystem.
pub(super) trait Source {
    /// Opens the mount and its device for the other queries.
    fn open(&mut self) -> Result<(), GeometryError>;
    /// Closes them again.
    fn close(&mut self);
    /// Fails once a stop was requested; called between any two queries.
    fn check_stop(&self) -> Result<(), GeometryError>;
}

/// A filesystem that can tell its free extents.
pub(super) trait MapSource: Source {
    /// `FS_IOC_GETFSMAP`.
    fn fsmap(&mut self, low: FsMap, high: FsMap) -> io::Result<Vec<FsMap>>;
    /// Reads the data device through the page cache, where ext4 keeps its descriptors.
    fn read_at(&mut self, offset_bytes: u64, len_bytes: usize) -> io::Result<Vec<u8>>;
    /// Monotonic time since a fixed moment.
    fn elapsed(&self) -> Duration;
}
