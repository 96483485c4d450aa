//! The location of a fault.

use facts::host::Mount;
use facts::{Host, Stack};

/// The location of a fault.
pub(crate) struct Site<'c, 'a> {
    /// The host.
    pub(crate) host: &'a Host,
    /// The affected mount.
    pub(crate) mount: &'c Mount,
    /// Its stack.
    pub(crate) stack: &'c Stack<'a>,
}
