//! `findmnt` and `mount`: what is mounted where, without the device numbers of mountinfo.

use super::lsblk::unescape;

/// One mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Where it is mounted.
    pub mount_point: String,
    /// What is mounted: a device path, or a name.
    pub source: String,
    /// The directory within the filesystem that is mounted: `/` unless it is a bind mount or a
    /// subvolume.
    pub root: String,
    /// Filesystem type.
    pub fs_type: String,
    /// Options, separated by commas.
    pub options: String,
}

/// Parses `findmnt` (findmnt(8)): a heading with TARGET, SOURCE, FSTYPE and OPTIONS, then a row for each
/// mount, with or without the tree. Blanks within names are written as `\x20`; rows with another number of
/// words are left out.
pub fn findmnt(text: &str) -> Vec<Line> {
    let mut lines = text.lines();
    let Some((words, places)) = lines.by_ref().find_map(heading) else {
        return Vec::new();
    };
    lines
        .filter_map(|line| {
            // The tree is drawn with box characters or with ASCII.
            let row = line.get(line.find('/')?..)?;
            let cells: Vec<&str> = row.split_whitespace().collect();
            if cells.len() != words {
                return None;
            }
            let [mount_point, source, fs_type, options] = places.map(|at| unescape(cells[at]));
            let (source, root) = split_source(&source);
            Some(Line {
                mount_point,
                source,
                root,
                fs_type,
                options,
            })
        })
        .collect()
}

/// How many columns there are, and which are those that are read, if this is the heading.
fn heading(line: &str) -> Option<(usize, [usize; 4])> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = |name: &str| words.iter().position(|word| *word == name);
    let places = [at("TARGET")?, at("SOURCE")?, at("FSTYPE")?, at("OPTIONS")?];
    (places[0] == 0).then_some((words.len(), places))
}

/// `/dev/sda2[/@home]` is a directory of what is on the device.
fn split_source(source: &str) -> (String, String) {
    match source.split_once('[') {
        Some((device, root)) if root.starts_with('/') && root.ends_with(']') => {
            (device.to_owned(), root.trim_end_matches(']').to_owned())
        }
        _ => (source.to_owned(), "/".to_owned()),
    }
}

/// Parses `mount` and `mount -l`: `/dev/sda2 on / type ext4 (rw,relatime) [label]`.
pub fn mount(text: &str) -> Vec<Line> {
    text.lines()
        .filter_map(|line| {
            let (source, rest) = line.split_once(" on ")?;
            let (mount_point, rest) = rest.split_once(" type ")?;
            let (fs_type, rest) = rest.split_once(" (")?;
            let (options, _) = rest.split_once(')')?;
            mount_point.starts_with('/').then(|| Line {
                mount_point: mount_point.to_owned(),
                source: source.to_owned(),
                root: "/".to_owned(),
                fs_type: fs_type.to_owned(),
                options: options.to_owned(),
            })
        })
        .collect()
}

/// Parses `/proc/mounts` (proc(5)): `/dev/sda2 / ext4 rw,relatime 0 0`.
pub fn proc_mounts(text: &str) -> Vec<Line> {
    let unescape = |word: &str| word.replace("\\040", " ");
    text.lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            let (source, mount_point) = (words.next()?, words.next()?);
            let (fs_type, options) = (words.next()?, words.next()?);
            mount_point.starts_with('/').then(|| Line {
                mount_point: unescape(mount_point),
                source: unescape(source),
                root: "/".to_owned(),
                fs_type: fs_type.to_owned(),
                options: options.to_owned(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_say_the_same() {
        let tree = "\
TARGET                   SOURCE             FSTYPE OPTIONS
/                        /dev/vda2          ext4   rw,relatime
|-/sys                   sysfs              sysfs  rw,nosuid
| `-/sys/fs/bpf          none               bpf    rw,mode=700
└─/mnt/my\\x20data        /dev/sdb[/@es]     btrfs  rw,discard=async
/short
";
        let found = findmnt(tree);
        assert_eq!(found.len(), 4);
        assert_eq!(found[0].mount_point, "/");
        assert_eq!(found[3].mount_point, "/mnt/my data");
        assert_eq!(
            (found[3].source.as_str(), found[3].root.as_str()),
            ("/dev/sdb", "/@es")
        );
        assert_eq!(found[3].options, "rw,discard=async");
        let listed = mount("/dev/vda2 on / type ext4 (rw,relatime) [root]\nnonsense\n");
        assert_eq!(listed, vec![found[0].clone()]);
        assert_eq!(proc_mounts("/dev/vda2 / ext4 rw,relatime 0 0\n"), listed);
        assert!(findmnt("findmnt: not found\n").is_empty());
    }

    proptest! {
        #[test]
        fn total(text in "(TARGET|SOURCE|FSTYPE|OPTIONS|├─|[a-z/\\[\\]]{1,9}| on | type | \\(|\\)| |\n){0,40}") {
            let _ = (findmnt(&text), mount(&text), proc_mounts(&text));
        }
    }
}
