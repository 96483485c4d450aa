//! Octal escapes (`\040` is a space), as written to mountinfo by the kernel's `mangle_path`
//! (`fs/seq_file.c`), and to fstab by mount(8).

use std::borrow::Cow;

/// Decodes octal escapes. A backslash that is not followed by an octal number below 256 is kept.
pub fn unescape(field: &[u8]) -> Cow<'_, [u8]> {
    if !field.contains(&b'\\') {
        return Cow::Borrowed(field);
    }
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        if let [
            b'\\',
            a @ b'0'..=b'3',
            b @ b'0'..=b'7',
            c @ b'0'..=b'7',
            after @ ..,
        ] = rest
        {
            plain.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
            rest = after;
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    Cow::Owned(plain)
}

/// Decodes octal escapes in text like [`unescape`]. Bytes that are not UTF-8 become U+FFFD.
pub fn unescape_text(field: &str) -> String {
    String::from_utf8_lossy(&unescape(field.as_bytes())).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escapes_are_decoded_and_other_backslashes_kept() {
        assert_eq!(unescape_text(r"/mnt/my\040disk"), "/mnt/my disk");
        assert_eq!(unescape_text(r"a\134b\011c\012"), "a\\b\tc\n");
        assert_eq!(unescape_text(r"\303\244"), "ä");
        // 0o777 does not fit a byte, and an escape needs three digits.
        assert_eq!(unescape_text(r"\777 \04 \"), r"\777 \04 \");
        assert_eq!(&*unescape(b"\\134\\04\\999\\"), b"\\\\04\\999\\");
        assert_eq!(&*unescape(b"\\377"), [0xff]);
    }

    /// Mimics the kernel's `mangle_path`, escaping every byte of `" \t\n\\#"`.
    fn escape(plain: &[u8]) -> Vec<u8> {
        plain
            .iter()
            .flat_map(|&byte| match byte {
                b' ' | b'\t' | b'\n' | b'\\' | b'#' => format!("\\{byte:03o}").into_bytes(),
                _ => vec![byte],
            })
            .collect()
    }

    proptest! {
        #[test]
        fn unescape_undoes_escape(text in any::<String>()) {
            let escaped = String::from_utf8(escape(text.as_bytes())).unwrap();
            prop_assert_eq!(unescape_text(&escaped), text);
        }

        #[test]
        fn any_bytes_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let escaped = escape(&bytes);
            prop_assert_eq!(&*unescape(&escaped), bytes.as_slice());
        }

        #[test]
        fn unescape_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(unescape(&bytes).len() <= bytes.len());
        }
    }
}
