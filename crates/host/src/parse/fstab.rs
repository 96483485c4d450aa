//! `/etc/fstab` (fstab(5)) and `/etc/crypttab` (crypttab(5)): lines of whitespace-separated fields,
//! whole-line comments.

use super::fields::{note, split_options};
use facts::InputError;
use facts::host::{Crypttab, FstabEntry};
use linux::octal::unescape_text;

/// Path without the leading slash.
pub const PATH: &str = "etc/fstab";
/// Path without the leading slash.
pub const CRYPTTAB_PATH: &str = "etc/crypttab";

/// Iterates over the lines that are neither blank nor a comment, with their 1-based numbers.
pub(crate) fn entries(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let fields: Vec<&str> = line
            .split([' ', '\t', '\r'])
            .filter(|f| !f.is_empty())
            .collect();
        let holds_something = fields.first().is_some_and(|first| !first.starts_with('#'));
        holds_something.then_some((index + 1, fields))
    })
}

/// Parses the entries of an fstab, swap included; also returns the malformed lines. Options may be
/// missing, as in libmount.
pub fn parse(text: &str) -> (Vec<FstabEntry>, Vec<InputError>) {
    let expected = "`DEVICE MOUNTPOINT TYPE [OPTIONS [DUMP [PASS]]]`";
    parsed(text, PATH, expected, |line, fields| {
        let [spec, mount_point, fs_type, rest @ ..] = fields else {
            return None;
        };
        Some(FstabEntry {
            line,
            spec: unescape_text(spec),
            mount_point: unescape_text(mount_point),
            fs_type: unescape_text(fs_type),
            options: options(rest.first()),
        })
    })
}

/// Parses the entries of a crypttab, without key files; also returns the malformed lines. Key file
/// and options may be missing.
pub fn parse_crypttab(text: &str) -> (Vec<Crypttab>, Vec<InputError>) {
    let expected = "`NAME DEVICE [KEYFILE [OPTIONS]]`";
    parsed(text, CRYPTTAB_PATH, expected, |line, fields| {
        let [name, device, rest @ ..] = fields else {
            return None;
        };
        Some(Crypttab {
            line,
            name: unescape_text(name),
            device: unescape_text(device),
            options: options(rest.get(1)),
        })
    })
}

fn parsed<T>(
    text: &str,
    path: &str,
    expected: &str,
    entry: impl Fn(u64, &[&str]) -> Option<T>,
) -> (Vec<T>, Vec<InputError>) {
    let mut found = Vec::new();
    let mut errors = Vec::new();
    for (line, fields) in entries(text) {
        if let Some(entry) = entry(u64::try_from(line).unwrap_or(u64::MAX), &fields) {
            found.push(entry);
        } else {
            let error = InputError::new(path, expected, &fields.join(" "));
            note(&mut errors, error.at_line(line));
        }
    }
    (found, errors)
}

fn options(field: Option<&&str>) -> Vec<String> {
    split_options(field.copied().unwrap_or_default())
        .into_iter()
        .filter(|&option| option != "-")
        .map(unescape_text)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_keep_their_line() {
        let (entries, errors) = parse(
            "# /etc/fstab: static file system information.\n\
             UUID=0a3407de-014b-458b-b5c1-848e92a327a3 / ext4 rw,discard,errors=remount-ro 0 1\n\
             \n\
             \t# a comment behind a tab\n\
             /dev/vg/data\t/srv/my\\040data\txfs\tnoatime,X-fstrim.notrim 0 2\n\
             /swapfile none swap\n",
        );
        assert_eq!(errors, []);
        assert_eq!(entries.len(), 3);
        assert_eq!(entries[0].line, 2);
        assert_eq!(entries[0].spec, "UUID=0a3407de-014b-458b-b5c1-848e92a327a3");
        assert_eq!(entries[0].options, ["rw", "discard", "errors=remount-ro"]);
        assert_eq!(
            (entries[1].line, entries[1].mount_point.as_str()),
            (5, "/srv/my data")
        );
        assert_eq!(entries[1].options, ["noatime", "X-fstrim.notrim"]);
        assert_eq!((entries[2].line, entries[2].options.len()), (6, 0));
    }

    #[test]
    fn a_line_of_two_fields_is_an_error() {
        let (entries, errors) = parse("/dev/sda1 /\n");
        assert_eq!(entries, []);
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].line, Some(1));
        assert_eq!(errors[0].found, "/dev/sda1 /");
    }

    #[test]
    fn crypttab_drops_the_key_file() {
        let (entries, errors) = parse_crypttab(
            "# <target> <device> <key> <options>\n\
             data UUID=8b1c /root/keys/data.key luks,discard\n\
             swap /dev/sdb2 /dev/urandom swap,cipher=aes-xts-plain64,size=256\n\
             bare /dev/sdc\n\
             lonely\n",
        );
        assert_eq!(entries.len(), 3);
        assert_eq!(
            entries[0],
            Crypttab {
                line: 2,
                name: "data".to_owned(),
                device: "UUID=8b1c".to_owned(),
                options: vec!["luks".to_owned(), "discard".to_owned()],
            }
        );
        assert_eq!(
            entries[1].options,
            ["swap", "cipher=aes-xts-plain64", "size=256"]
        );
        assert!(entries[2].options.is_empty());
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].line, Some(5));
        assert!(!format!("{entries:?}").contains("key"));
    }

    proptest! {
        #[test]
        fn generated_lines_round_trip(
            names in prop::collection::vec("[!-\"$-+\\--\\[\\]-~][!-+\\--\\[\\]-~]{0,9}", 3),
            options in prop::collection::vec("[a-z]{1,6}(=[a-z0-9]{1,6})?", 1..5),
            blanks in "[ \t]{1,3}",
            lines_before in 0usize..4,
        ) {
            let text = format!(
                "{}{blanks}{}{blanks}0{blanks}2\n",
                "#\n".repeat(lines_before),
                [&names[0], &names[1], &names[2], &options.join(",")].map(String::as_str).join(&blanks),
            );
            let (entries, errors) = parse(&text);
            prop_assert_eq!(errors, vec![]);
            prop_assert_eq!(entries, vec![FstabEntry {
                line: u64::try_from(lines_before).unwrap() + 1,
                spec: names[0].clone(),
                mount_point: names[1].clone(),
                fs_type: names[2].clone(),
                options,
            }]);
        }

        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = (parse(&text), parse_crypttab(&text));
        }
    }
}
