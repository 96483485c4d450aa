//! Distribution, kernel, cloud, container, time zone.

mod container;
mod elastic_cloud;
mod machine;
mod os_release;

pub(crate) use elastic_cloud::read as read_elastic_cloud_enterprise;

use crate::parse::time_zone::is_time_zone;
use crate::source::Reader;
use facts::Host;

/// Reads the platform.
pub(crate) fn read(reader: &Reader<'_>, host: &mut Host) {
    let platform = &mut host.platform;
    // The kernel's default until a name is set.
    platform.host_name = reader
        .attribute("proc/sys/kernel/hostname")
        .filter(|name| name != "(none)");
    platform.kernel_release = reader.attribute("proc/sys/kernel/osrelease");
    platform.uptime_s = reader
        .attribute("proc/uptime")
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .filter(|uptime: &f64| uptime.is_finite() && *uptime >= 0.0);
    // sd_booted(3). A tree without /run was not taken from a running host, or is incomplete.
    platform.systemd = reader
        .exists("run/systemd/system")
        .filter(|exists| *exists || reader.is_whole() || reader.exists("run") == Some(true));
    os_release::read(reader, platform);
    machine::read(reader, platform);
    platform.container = container::read(reader, platform.kernel_release.as_deref());
    host.time_zone = time_zone(reader);
}

/// Returns the IANA name of the time zone: the target of /etc/localtime (localtime(5)), otherwise
/// Debian's /etc/timezone.
fn time_zone(reader: &Reader<'_>) -> Option<String> {
    let link = reader.link("etc/localtime").ok();
    let linked = link.as_deref().and_then(|target| {
        let (_, zone) = target.split_once("zoneinfo/")?;
        // Variants of the whole database, without and with leap seconds.
        let zone = zone.strip_prefix("posix/").unwrap_or(zone);
        Some(zone.strip_prefix("right/").unwrap_or(zone).to_owned())
    });
    linked
        .or_else(|| reader.attribute("etc/timezone"))
        .filter(|zone| is_time_zone(zone))
}

#[cfg(test)]
mod tests;
