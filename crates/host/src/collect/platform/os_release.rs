use crate::parse::os_release::{read_release, value};
use crate::source::Reader;
use facts::host::Platform;

/// Reads os-release (os-release(5)), and the release file of older Red Hat systems.
pub(super) fn read(reader: &Reader<'_>, platform: &mut Platform) {
    let text = reader
        .text("etc/os-release")
        .or_else(|_| reader.text("usr/lib/os-release"))
        .unwrap_or_default();
    platform.distribution = value(&text, "ID");
    platform.distribution_version = value(&text, "VERSION_ID");
    platform.distribution_name = value(&text, "PRETTY_NAME");
    // In os-release CentOS only says "CentOS Linux 7 (Core)"; this file has the minor release.
    let is_centos = platform.distribution.as_deref() == Some("centos");
    if is_centos || platform.distribution.is_none() {
        let release = reader
            .attribute("etc/centos-release")
            .or_else(|| reader.attribute("etc/redhat-release"));
        if let Some(release) = release {
            read_release(&release, platform);
        }
    }
}
