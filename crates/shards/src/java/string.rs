//! Hash and comparison of Java strings.

/// `String.hashCode`, over UTF-16 units.
pub fn string_hash(text: &str) -> i32 {
    let add = |hash: i32, unit: u16| hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    if text.is_ascii() {
        return text.bytes().map(u16::from).fold(0, add);
    }
    text.encode_utf16().fold(0, add)
}

/// `String.compareTo`: by UTF-16 units, which differs from the order of `str` beyond U+D7FF.
pub(crate) fn string_compare(a: &str, b: &str) -> std::cmp::Ordering {
    if a.is_ascii() && b.is_ascii() {
        return a.cmp(b);
    }
    a.encode_utf16().cmp(b.encode_utf16())
}
