//! Kernel and device queries of the XFS walk.

use crate::geometry::walk::GeometryError;
use crate::ioctl::FsMap;
use std::io;
use std::time::Duration;

/// Kernel and device queries that the walk needs.
pub(in crate::geometry) trait XfsSource {
    /// Opens the mount for the other queries.
    fn open(&mut self) -> Result<(), GeometryError>;
    /// Closes it again.
    fn close(&mut self);
    /// Fails once a stop was requested; called between any two queries.
    fn check_stop(&self) -> Result<(), GeometryError>;
    /// `FS_IOC_GETFSMAP`.
    fn fsmap(&mut self, low: FsMap, high: FsMap) -> io::Result<Vec<FsMap>>;
    /// Reads from the data device.
    fn read_at(&mut self, offset_bytes: u64, len_bytes: usize) -> io::Result<Vec<u8>>;
    /// Monotonic time since a fixed moment.
    fn elapsed(&self) -> Duration;
}
