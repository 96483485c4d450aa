//! Detects input that is not JSON by its first bytes.

use super::error::StateError;

/// Number of leading bytes of an input to examine.
pub const HEAD_BYTES: usize = 64;

/// Leading bytes of other formats, the format's name, and how to fix the input.
const SIGNATURES: [(&[u8], &str, &str); 7] = [
    (
        b"\x1f\x8b",
        "gzip data",
        "unpack it (gunzip), or let curl do it (curl --compressed)",
    ),
    (b"\x28\xb5\x2f\xfd", "zstd data", "unpack it (zstd -d)"),
    (
        b"PK\x03\x04",
        "a zip archive",
        "unpack it, and give the file in it",
    ),
    (
        b"\xef\xbb\xbf",
        "a byte order mark",
        "save it without one, as curl -o FILE does",
    ),
    (b"\xff\xfe", "UTF-16", TO_UTF8),
    (b"\xfe\xff", "UTF-16", TO_UTF8),
    (b"---", "YAML", "ask for JSON: format=json"),
];

const TO_UTF8: &str = "save it as UTF-8 (iconv -f UTF-16 -t UTF-8), as curl -o FILE does";

/// Rejects an input whose first bytes show that it is not JSON.
///
/// # Errors
/// If another format is detected; names it
pub fn refuse(what: &'static str, head: &[u8]) -> Result<(), StateError> {
    let head = &head[..head.len().min(HEAD_BYTES)];
    let first = head
        .iter()
        .copied()
        .find(|byte| !byte.is_ascii_whitespace());
    let (found, way_out) = if head.is_empty() {
        ("nothing", "it is empty: save the answer again")
    } else if let Some((_, found, way_out)) = SIGNATURES
        .iter()
        .find(|(start, ..)| head.starts_with(start))
    {
        (*found, *way_out)
    } else if matches!(head, [0, b'{' | b'[', ..] | [b'{' | b'[', 0, ..]) {
        ("UTF-16", TO_UTF8)
    } else if first == Some(b'<') {
        (
            "HTML or XML",
            "that is the page of a proxy or a login: ask the server itself",
        )
    } else {
        return Ok(());
    };
    let bytes: Vec<String> = head
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Err(StateError::NotJson {
        what,
        found,
        bytes: bytes.join(" "),
        way_out,
    })
}
