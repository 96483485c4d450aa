//! Stores running or configured on the host.

use crate::{Options, Reader};
use facts::Host;

/// Reads stores.
pub(crate) fn read(reader: &Reader<'_>, options: &Options, host: &mut Host) {
    let _ = (reader, options, host);
}
