//! Recognises gzip data and HTML saved in place of an answer, by the first bytes.

use super::error::StateError;

/// Rejects gzip data and HTML.
///
/// # Errors
/// What was found instead of JSON, and how to get the answer itself
pub fn refuse(what: &'static str, head: &[u8]) -> Result<(), StateError> {
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
    let (found, way_out) = match first {
        Some(0x1f) => (
            "gzip data",
            "unpack it (gunzip), or let curl do it (curl --compressed)",
        ),
        Some(b'<') => (
            "HTML or XML",
            "that is the page of a proxy or a login: ask the server itself",
        ),
        _ => return Ok(()),
    };
    Err(StateError::NotJson {
        what,
        found,
        way_out,
    })
}
