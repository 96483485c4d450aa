//! Specifiers in the values of unit files (systemd.unit(5), "Specifiers").

use super::fields::hex_escape;

/// Expands the specifiers that follow from a unit's name: `%f`, `%i`, `%I`, `%n`, `%N` and `%p`, and
/// `%%`. Others are kept, and so are those whose text would not stay one word: systemd splits the value
/// first.
pub(crate) fn expand(value: &str, unit: &str) -> String {
    let mut expanded = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('%') {
        expanded.push_str(before);
        let letter = after.chars().next();
        let text = letter.and_then(|letter| meaning(letter, unit));
        match (text.filter(|text| is_one_word(text)), letter) {
            (Some(text), _) => expanded.push_str(&text),
            (None, Some(letter)) => expanded.extend(['%', letter]),
            (None, None) => expanded.push('%'),
        }
        rest = &after[letter.map_or(0, char::len_utf8)..];
    }
    expanded.push_str(rest);
    expanded
}

fn meaning(letter: char, unit: &str) -> Option<String> {
    let stem = unit.rsplit_once('.').map_or(unit, |(stem, _)| stem);
    let (prefix, instance) = stem.split_once('@').unwrap_or((stem, ""));
    Some(match letter {
        'f' => {
            let path = if instance.is_empty() {
                prefix
            } else {
                instance
            };
            // The root directory is escaped as a single dash.
            let path = if path == "-" {
                String::new()
            } else {
                unescape(path)
            };
            format!("/{path}")
        }
        'i' => instance.to_owned(),
        'I' => unescape(instance),
        'n' => unit.to_owned(),
        'N' => stem.to_owned(),
        'p' => prefix.to_owned(),
        '%' => "%".to_owned(),
        _ => return None,
    })
}

fn is_one_word(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_alphanumeric() || "/_.-@+:,=%".contains(c))
}

/// Undoes systemd-escape(1): a dash is a slash, `\x2d` a byte. Bytes that are not UTF-8 become U+FFFD.
fn unescape(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, hex_escape(tail)) {
            (b'-', _) => bytes.push(b'/'),
            (b'\\', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_expanded() {
        let unit = r"trim@var-lib-my\x2ddb.service";
        for (value, expected) in [
            ("trimtab trim $O %f", "trimtab trim $O /var/lib/my-db"),
            // A backslash is not plain.
            ("%i %n", "%i %n"),
            ("%I %p", "var/lib/my-db trim"),
            ("100%% of %H %", "100% of %H %"),
        ] {
            assert_eq!(expand(value, unit), expected);
        }
        assert_eq!(expand("%f", "trim@-.service"), "/");
        assert_eq!(expand("%i %n %N", "a@b.service"), "b a@b.service a@b");
        assert_eq!(expand("%f", r"trim@my\x20data.service"), "%f");
        assert_eq!(expand("%f", "data-es.service"), "/data/es");
    }

    proptest! {
        #[test]
        fn expanding_never_panics(value in any::<String>(), unit in any::<String>()) {
            let _ = expand(&value, &unit);
        }
    }
}
