//! The host name in a host's files.

use super::Source;

/// Maximum file size in bytes: a name has at most 64 (hostname(7)).
const FILE_BYTES_MAX: usize = 4 << 10;

/// Returns the name in `etc/hostname` (hostname(5)), for a tree without `/proc`, where the kernel
/// provides it. It identifies whose lines are in a log, and bypasses the filter and the recording,
/// as logs do.
pub fn static_host_name(source: &dyn Source) -> Option<String> {
    let bytes = source.read("etc/hostname", FILE_BYTES_MAX).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let name = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    is_name.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::MemorySource;
    use super::*;

    #[test]
    fn the_first_line_that_is_not_a_comment_is_the_name() {
        for (text, name) in [
            ("db1\n", Some("db1")),
            (
                "# a remark\n\n  db1.example.org \nother\n",
                Some("db1.example.org"),
            ),
            ("", None),
            ("# db1\n", None),
            ("db1 db2\n", None),
            ("\u{1b}[31m\n", None),
        ] {
            let source = MemorySource::new().file("etc/hostname", text);
            assert_eq!(static_host_name(&source).as_deref(), name, "{text}");
        }
        assert_eq!(static_host_name(&MemorySource::new()), None);
        let long = MemorySource::new().file("etc/hostname", "x".repeat(5_000));
        assert_eq!(static_host_name(&long), None);
    }
}
