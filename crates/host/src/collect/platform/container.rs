use crate::parse::cgroup::{marker, runtime};
use crate::source::Reader;

/// Detects the container manager that this process runs under, in the order of systemd's
/// `detect_container` (src/basic/virt.c).
pub(super) fn read(reader: &Reader<'_>, kernel_release: Option<&str>) -> Option<String> {
    let is_there = |path: &str| reader.exists(path) == Some(true);
    // The first exists on OpenVZ hosts and in containers, the second only on hosts.
    if is_there("proc/vz") && !is_there("proc/bc") {
        return Some("openvz".to_owned());
    }
    if kernel_release
        .is_some_and(|release| release.contains("Microsoft") || release.contains("WSL"))
    {
        return Some("wsl".to_owned());
    }
    // Files are checked last: an image may contain them by accident.
    let by_files = || {
        [("run/.containerenv", "podman"), (".dockerenv", "docker")]
            .into_iter()
            .find(|(path, _)| is_there(path))
            .map(|(_, name)| name.to_owned())
    };
    let manager = reader
        .attribute("run/host/container-manager")
        .or_else(|| reader.attribute("run/systemd/container"));
    match manager.as_deref() {
        // A generic value that some images set.
        Some("oci") => return by_files().or_else(|| Some("other".to_owned())),
        Some(_) => return manager,
        None => {}
    }
    by_files().or_else(|| {
        let cgroup = reader.text("proc/1/cgroup").ok()?;
        marker(&cgroup).map(|mark| runtime(mark).to_owned())
    })
}
