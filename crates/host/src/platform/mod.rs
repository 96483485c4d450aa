//! Distribution, kernel, cloud, container.

use crate::Reader;
use facts::Host;

/// Reads the platform.
pub(crate) fn read(reader: &Reader<'_>, host: &mut Host) {
    let _ = (reader, host);
}
