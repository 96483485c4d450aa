use crate::discard_path::DiscardPath;
use facts::Stack;
use facts::host::{Mount, Store};

/// A mounted filesystem on a block device.
pub struct Volume<'a> {
    /// The mounted filesystem.
    pub mount: &'a Mount,
    /// The layers below it.
    pub stack: Stack<'a>,
    /// Stores whose data is on this filesystem, through any of its mounts.
    pub stores: Vec<&'a Store>,
    /// How far discards get below it.
    pub(crate) discards: DiscardPath<'a>,
}
