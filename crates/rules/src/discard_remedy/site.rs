//! Where a fault stands.

use facts::host::Mount;
use facts::{Host, Stack};

/// Where the fault stands.
pub(crate) struct Site<'c, 'a> {
    /// The host.
    pub(crate) host: &'a Host,
    /// The mount to be saved.
    pub(crate) mount: &'c Mount,
    /// Its stack.
    pub(crate) stack: &'c Stack<'a>,
}
