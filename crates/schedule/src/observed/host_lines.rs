//! The lines of each host in a log.

use jiff::Timestamp;
use std::net::IpAddr;

/// Maximum length of a host name (`_POSIX_HOST_NAME_MAX`).
const NAME_BYTES_MAX: usize = 255;

/// The lines of a log that name one host, or none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HostLines {
    /// The name as it appears in the lines; `None` for lines without a host name.
    pub name: Option<String>,
    pub from: Timestamp,
    pub until: Timestamp,
    pub lines: usize,
}

/// A boot of a host, according to its kernel's lines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct HostStart {
    pub at: Timestamp,
    /// Index into the hosts.
    pub host: usize,
    /// The last line of any host before it.
    pub before: Option<Timestamp>,
    /// The last line of this host before it.
    pub before_own: Option<Timestamp>,
}

/// Returns the host name in the host field of a line; `None` if it does not look like one, or could
/// be any host (`localhost`).
pub(super) fn host_name(field: &str) -> Option<&str> {
    // syslog-ng may prepend its source and append the relay.
    let (_, name) = field.rsplit_once('@').unwrap_or(("", field));
    let name = name.split('/').next().unwrap_or(name);
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_name = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:%".contains(&byte))
        && name.bytes().any(|byte| byte.is_ascii_alphanumeric())
        && !name.ends_with(':');
    (is_name && !is_localhost(name)).then_some(name)
}

/// Whether a name is `localhost`, with or without a domain, or a loopback address.
pub(super) fn is_localhost(name: &str) -> bool {
    let address = || name.parse::<IpAddr>().ok();
    short_name(name).eq_ignore_ascii_case("localhost")
        || address().is_some_and(|address| address.is_loopback())
}

/// Returns the part before the domain; addresses are not split.
pub(super) fn short_name(name: &str) -> &str {
    if name.parse::<IpAddr>().is_ok() {
        return name;
    }
    name.split('.').next().unwrap_or(name)
}
