//! Detection of compressed traces by their first bytes.

/// Magic bytes of compressed files, and the program that decompresses them.
const KNOWN: [(&[u8], &str); 4] = [
    (&[0x1f, 0x8b], "zcat"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstdcat"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xzcat"),
    (b"BZh", "bzcat"),
];

/// The program that decompresses a file with these first bytes, of which eight are enough. `None`
/// if it is not compressed with a known program.
pub fn decompressor(first: &[u8]) -> Option<&'static str> {
    let mut known = KNOWN.iter();
    let (_, program) = known.find(|(magic, _)| first.starts_with(magic))?;
    Some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_files_are_detected_by_magic_bytes() {
        assert_eq!(decompressor(&[0x1f, 0x8b, 8, 8]), Some("zcat"));
        assert_eq!(decompressor(&[0x28, 0xb5, 0x2f, 0xfd, 4]), Some("zstdcat"));
        assert_eq!(decompressor(b"\xfd7zXZ\0"), Some("xzcat"));
        assert_eq!(decompressor(b"BZh9"), Some("bzcat"));
        assert_eq!(decompressor(b"128166372003061629,usr"), None);
        assert_eq!(decompressor(b""), None);
    }
}
