use crate::source::Unread;

/// Files of the stores and platform parts: command lines, YAML configurations, os-release, DMI.
pub(super) fn keep(path: &str, bytes: &[u8]) -> Option<Result<Vec<u8>, Unread>> {
    let _ = (path, bytes);
    None
}
