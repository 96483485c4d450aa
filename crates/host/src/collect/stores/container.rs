//! The file tree that a process sees.

use crate::collect::view::View;
use crate::parse::cgroup::{marker, runtime};
use crate::source::Reader;
use facts::Host;

/// Returns the tree that a process sees: the host's or its container's.
///
/// # Errors
/// Why the container's tree is unknown, in plain language.
pub(super) fn view(
    reader: &Reader<'_>,
    host: &Host,
    host_view: &View,
    pid: u32,
) -> Result<View, String> {
    let namespace = |who: &str| reader.link(&format!("proc/{who}/ns/mnt")).ok();
    let theirs = namespace(&pid.to_string());
    if theirs.is_some() && theirs == namespace("self") {
        return Ok(host_view.clone());
    }
    // Services with PrivateTmp= also have a mount namespace of their own, but with the host's
    // paths.
    let cgroup = reader
        .text(&format!("proc/{pid}/cgroup"))
        .unwrap_or_default();
    let Some(marker) = marker(&cgroup) else {
        return Ok(host_view.clone());
    };
    // Inside a container, only its own processes are visible.
    if theirs.is_none() && host.platform.container.is_some() {
        return Ok(host_view.clone());
    }
    View::of_process(reader, pid).map_err(|unread| {
        let runtime = runtime(marker);
        format!("it runs in a container ({runtime}), proc/{pid}/mountinfo: {unread}")
    })
}
