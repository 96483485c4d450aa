//! Hash and comparison of Java strings.

/// `String.hashCode`, over UTF-16 units.
pub fn string_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| {
        hash.wrapping_mul(31).wrapping_add(i32::from(unit))
    })
}

/// `String.compareTo`: by UTF-16 units, which differs from the order of `str` beyond U+D7FF.
pub(crate) fn string_compare(a: &str, b: &str) -> std::cmp::Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}
