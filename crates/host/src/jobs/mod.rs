//! Everything scheduled: cron, anacron, systemd timers.

use crate::Reader;
use facts::Host;

/// Properties asked of `systemctl show`. No `Environment`: it may hold secrets.
pub const SYSTEMCTL_PROPERTIES: &str = "Id";

/// Reads jobs.
pub(crate) fn read(reader: &Reader<'_>, host: &mut Host) {
    let _ = (reader, host);
}
