//! Changes of one line of a file, which can be taken back although other lines were changed since.

use serde::{Deserialize, Serialize};

/// A line that was replaced or added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// What it was, without its line end; `None` if it is new.
    pub before: Option<String>,
    /// What it is.
    pub after: String,
}

impl Replaced {
    /// Puts the line back as it was. Line ends stay as they are. `None` if there is not exactly one such line.
    pub fn put_back(&self, text: &[u8]) -> Option<Vec<u8>> {
        let lines = || text.split_inclusive(|&byte| byte == b'\n');
        let is_ours =
            |line: &&[u8]| line.strip_suffix(b"\n").unwrap_or(line) == self.after.as_bytes();
        if lines().filter(is_ours).count() != 1 {
            return None;
        }
        let put_back = lines().flat_map(|line| {
            if !is_ours(&line) {
                return line.to_vec();
            }
            let end = if line.ends_with(b"\n") {
                &b"\n"[..]
            } else {
                b""
            };
            let before = self.before.as_ref();
            before.map_or_else(Vec::new, |before| [before.as_bytes(), end].concat())
        });
        Some(put_back.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_line_is_put_back() {
        let put_back = |text: &str, before: Option<&str>, after: &str| {
            let replaced = Replaced {
                before: before.map(str::to_owned),
                after: after.to_owned(),
            };
            let text = replaced.put_back(text.as_bytes());
            text.map(|text| String::from_utf8(text).unwrap())
        };
        assert_eq!(put_back("a\nb\na b", Some("c"), "a b").unwrap(), "a\nb\nc");
        assert_eq!(put_back("#a\nb\n", Some("a"), "#a").unwrap(), "a\nb\n");
        assert_eq!(put_back("a\nb\nc\n", None, "b").unwrap(), "a\nc\n");
        assert_eq!(put_back("a\nb\n", None, "c"), None);
        assert_eq!(put_back("a\na\n", None, "a"), None);
    }
}
