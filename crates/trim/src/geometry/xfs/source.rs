//! What the walk through an XFS asks.

use crate::geometry::walk::GeometryError;
use crate::ioctl::FsMap;
use std::io;
use std::time::Duration;

/// What the walk asks of the kernel and the device.
pub(in crate::geometry) trait XfsSource {
    /// Opens what the other questions need.
    fn open(&mut self) -> Result<(), GeometryError>;
    /// Closes it again.
    fn close(&mut self);
    /// Fails once a stop was asked for: looked at between any two questions.
    fn check_stop(&self) -> Result<(), GeometryError>;
    /// `FS_IOC_GETFSMAP`.
    fn fsmap(&mut self, low: FsMap, high: FsMap) -> io::Result<Vec<FsMap>>;
    /// Reads the data device.
    fn read_at(&mut self, offset_bytes: u64, len_bytes: usize) -> io::Result<Vec<u8>>;
    /// Time since some moment.
    fn elapsed(&self) -> Duration;
}
