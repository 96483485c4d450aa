//! `df -al`, in units of 1 KiB.

/// One line of `df`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where the filesystem is mounted.
    pub mount_point: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Free bytes, including those reserved for root.
    pub free_bytes: u64,
    /// Free bytes available to any user.
    pub available_bytes: u64,
}

/// Parses the lines of filesystems that have a size. Other units than `1K-blocks` are not read: `-h`
/// rounds to two digits.
pub fn parse(text: &str) -> Vec<Line> {
    let mut lines = text.lines();
    let is_kib = |header: &str| header.contains("1K-blocks") || header.contains("1024-blocks");
    if !lines.by_ref().any(is_kib) {
        return Vec::new();
    }
    lines.filter_map(parse_line).collect()
}

/// `/dev/sda1 41152736 9251512 29794904 24% /`; the mount point may contain spaces.
fn parse_line(line: &str) -> Option<Line> {
    let percent = line.find("% /").map(|at| at + 2)?;
    let mount_point = line.get(percent..)?.trim_end().to_owned();
    let mut numbers = line.get(..percent)?.split_ascii_whitespace().rev().skip(1);
    let mut bytes = || numbers.next()?.parse::<u64>().ok()?.checked_mul(1 << 10);
    let (available_bytes, used_bytes, size_bytes) = (bytes()?, bytes()?, bytes()?);
    (size_bytes > 0).then(|| Line {
        mount_point,
        size_bytes,
        free_bytes: size_bytes.saturating_sub(used_bytes),
        available_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_with_a_size() {
        let text = "df: /run/user/1000/doc: Operation not permitted\n\
            Filesystem     1K-blocks     Used Available Use% Mounted on\n\
            proc                   0        0         0    - /proc\n\
            /dev/vda2      308583796 25480456 267358104   9% /\n\
            /dev/sdb1        1000000   400000    500000  45% /mnt/my data\n";
        let lines = parse(text);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].size_bytes, 308_583_796 << 10);
        assert_eq!(lines[1].mount_point, "/mnt/my data");
        assert_eq!(lines[1].free_bytes, 600_000 << 10);
        assert_eq!(lines[1].available_bytes, 500_000 << 10);
        assert!(
            parse("Filesystem Size Used Avail Use% Mounted on\n/dev/sda1 40G 9G 29G 24% /\n")
                .is_empty()
        );
    }

    proptest! {
        #[test]
        fn total(text in "(1K-blocks|% /|[0-9]{1,22}|[a-z/]{1,5}| |\n){0,30}") {
            let _ = parse(&text);
        }
    }
}
