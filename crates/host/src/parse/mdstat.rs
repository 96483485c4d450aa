//! `/proc/mdstat`: `md_seq_show` in the kernel's `drivers/md/md.c` and the `status` functions of
//! its personalities.

use super::fields::note;
use facts::InputError;

/// Path without the leading slash.
pub const PATH: &str = "proc/mdstat";

/// One array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// Kernel name: `md0`, `md127`, `md_d0`.
    pub name: String,
    /// Whether it is started (`active`).
    pub is_active: bool,
    /// Whether it is `(read-only)` or `(auto-read-only)`.
    pub is_read_only: bool,
    /// `raid0`, `raid1`, `raid5`, ...; `None` for an inactive array.
    pub level: Option<String>,
    /// Kernel names of its members, `sda1`, in file order.
    pub members: Vec<String>,
    /// Chunk size; `None` if the level has none.
    pub chunk_bytes: Option<u64>,
    /// Number of devices in the array, without spares, if the level reports it (`[4/3]`).
    pub raid_disks: Option<u32>,
    /// The operation in progress, as in sysfs's `sync_action`: `check`, `resync`, `recover`,
    /// `reshape`; `None` if there is none.
    pub sync_action: Option<String>,
}

/// Parses the arrays; also returns the malformed lines.
pub fn parse(text: &str) -> (Vec<Array>, Vec<InputError>) {
    let mut arrays: Vec<Array> = Vec::new();
    let mut errors = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty()
            || line.starts_with("Personalities :")
            || line.starts_with("unused devices:")
        {
            continue;
        }
        // Only the first line of an array starts in the first column.
        let wrong = if line.starts_with([' ', '\t']) {
            match arrays.last_mut() {
                Some(array) => {
                    add_detail(array, line);
                    None
                }
                None => Some("an array before its details"),
            }
        } else {
            match parse_array(line) {
                Some(array) => {
                    arrays.push(array);
                    None
                }
                None => Some("`NAME : active|inactive [LEVEL] DEVICE[NUMBER]...`"),
            }
        };
        if let Some(expected) = wrong {
            note(
                &mut errors,
                InputError::new(PATH, expected, line).at_line(index + 1),
            );
        }
    }
    (arrays, errors)
}

fn parse_array(line: &str) -> Option<Array> {
    let (name, rest) = line.split_once(" : ")?;
    let mut words = rest.split_whitespace().peekable();
    let is_active = match words.next()? {
        "active" => true,
        "inactive" => false,
        _ => return None,
    };
    let is_read_only = words
        .next_if(|word| matches!(*word, "(read-only)" | "(auto-read-only)"))
        .is_some();
    let level = words.next_if(|word| !word.contains('[')).map(str::to_owned);
    Some(Array {
        name: name.trim().to_owned(),
        is_active,
        is_read_only,
        level,
        members: words.map(parse_member).collect::<Option<_>>()?,
        chunk_bytes: None,
        raid_disks: None,
        sync_action: None,
    })
}

/// Returns the name in `sdb1[1]`, `sdc1[2](S)`, `sdd1[0](W)(F)`.
fn parse_member(word: &str) -> Option<String> {
    let (name, rest) = word.split_once('[')?;
    let (number, mut rest) = rest.split_once(']')?;
    while !rest.is_empty() {
        let (flag, after) = rest.strip_prefix('(')?.split_once(')')?;
        // Spare, faulty, journal, write-mostly, replacement.
        if !matches!(flag, "S" | "F" | "J" | "W" | "R") {
            return None;
        }
        rest = after;
    }
    number.parse::<u32>().is_ok().then(|| name.to_owned())
}

/// Adds what an indented line contains; lines about bitmaps and external metadata have nothing that
/// is needed.
fn add_detail(array: &mut Array, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.get(1) == Some(&"blocks") {
        for (index, word) in words.iter().enumerate() {
            // `512k chunks` (raid0), `64k chunk,` (raid5), `512K chunks` (raid10).
            let is_chunk = words
                .get(index + 1)
                .is_some_and(|next| matches!(*next, "chunk" | "chunk," | "chunks"));
            if is_chunk {
                array.chunk_bytes = word
                    .strip_suffix(['k', 'K'])
                    .and_then(|digits| digits.parse::<u64>().ok())
                    .and_then(|kib| kib.checked_mul(1024))
                    .filter(|&bytes| bytes > 0);
            }
            let counts = word.strip_prefix('[').and_then(|w| w.strip_suffix(']'));
            if let Some((total, working)) = counts.and_then(|counts| counts.split_once('/'))
                && let (Ok(total), Ok(_)) = (total.parse(), working.parse::<u32>())
            {
                array.raid_disks = Some(total);
            }
        }
        return;
    }
    // `[==>....]  check = 12.6% (..)`, or `resync=DELAYED`.
    for word in words {
        let action = match word.split('=').next().unwrap_or_default() {
            "recovery" => "recover",
            "check" => "check",
            "resync" => "resync",
            "reshape" => "reshape",
            _ => continue,
        };
        array.sync_action = Some(action.to_owned());
        return;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn recorded_raid0_and_raid5() {
        let (arrays, errors) = parse(
            "Personalities : [raid0] [raid6] [raid5] [raid4] \n\
             md0 : active raid0 nvme3n1[3] nvme2n1[2] nvme1n1[1] nvme0n1[0]\n\
             \x20     4186112 blocks super 1.2 512k chunks\n\
             \x20     \n\
             md5 : active raid5 nvme3n1[3] nvme2n1[2] nvme1n1[1] nvme0n1[0]\n\
             \x20     1569792 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/4] [UUUU]\n\
             \x20     \n\
             unused devices: <none>\n",
        );
        assert_eq!(errors, []);
        assert_eq!(arrays.len(), 2);
        assert_eq!(arrays[0].level.as_deref(), Some("raid0"));
        assert_eq!(arrays[0].chunk_bytes, Some(524_288));
        assert_eq!(arrays[0].raid_disks, None);
        assert_eq!(arrays[0].members[0], "nvme3n1");
        assert_eq!(arrays[1].chunk_bytes, Some(65_536));
        assert_eq!(arrays[1].raid_disks, Some(4));
        assert_eq!(arrays[1].sync_action, None);
    }

    #[test]
    fn flags_states_and_running_actions() {
        let (arrays, errors) = parse(
            "Personalities : [raid1] [raid10]\n\
             md127 : active (auto-read-only) raid1 sdb1[1] sda1[0](W)(F) sdc1[2](S)\n\
             \x20     104792064 blocks super 1.2 [2/1] [_U]\n\
             \x20     [==>..................]  recovery = 12.6% (37043392/292945152) finish=127.5min speed=33440K/sec\n\
             \x20     bitmap: 1/1 pages [4KB], 65536KB chunk\n\
             \n\
             md9 : active raid10 sdd[3](J) sde[0](R)\n\
             \x20     1046528 blocks super 1.2 512K chunks 2 near-copies [4/4] [UUUU]\n\
             \x20       resync=DELAYED\n\
             md3 : inactive sdf[0](S)\n\
             \x20     1048576 blocks super external:imsm\n",
        );
        assert_eq!(errors, []);
        let [mirror, ten, inactive] = arrays.as_slice() else {
            panic!("three arrays");
        };
        assert!(mirror.is_active && mirror.is_read_only);
        assert_eq!(mirror.sync_action.as_deref(), Some("recover"));
        // The bitmap's chunk size is not the array's.
        assert_eq!(mirror.chunk_bytes, None);
        assert_eq!(mirror.raid_disks, Some(2));
        assert_eq!(mirror.members, ["sdb1", "sda1", "sdc1"]);
        assert_eq!(ten.members, ["sdd", "sde"]);
        assert_eq!(ten.chunk_bytes, Some(524_288));
        assert_eq!(ten.sync_action.as_deref(), Some("resync"));
        assert!(!inactive.is_active);
        assert_eq!(inactive.level, None);
        assert_eq!(inactive.members[0], "sdf");
    }

    #[test]
    fn malformed_lines_are_named() {
        let (arrays, errors) = parse(
            "  10 blocks\nmd0 : active raid0 sda[x]\nmd1 : broken\nmd2 : active raid1 sda[0](Z)\n",
        );
        assert_eq!(arrays, []);
        let lines: Vec<_> = errors.iter().filter_map(|error| error.line).collect();
        assert_eq!(lines, [1, 2, 3, 4]);
    }

    proptest! {
        #[test]
        fn generated_arrays_round_trip(
            number in 0u32..1000,
            level in "raid(0|1|4|5|6|10)",
            members in prop::collection::vec(("[a-z]{3}[0-9]?", any::<u32>(), any::<[bool; 5]>()), 1..8),
            chunk_kib in 1u64..100_000,
            disks in 1u32..100,
        ) {
            let words: Vec<String> = members
                .iter()
                .map(|(name, number, set)| {
                    let flags = ["(W)", "(J)", "(F)", "(S)", "(R)"].iter().zip(set);
                    let flags: String = flags.filter(|(_, set)| **set).map(|(flag, _)| *flag).collect();
                    format!("{name}[{number}]{flags}")
                })
                .collect();
            let (arrays, errors) = parse(&format!(
                "md{number} : active {level} {}\n      1 blocks level 5, {chunk_kib}k chunk, algorithm 2 [{disks}/{disks}] [U]\n",
                words.join(" "),
            ));
            prop_assert_eq!(errors, vec![]);
            prop_assert_eq!(arrays, vec![Array {
                name: format!("md{number}"),
                is_active: true,
                is_read_only: false,
                level: Some(level),
                members: members.into_iter().map(|(name, ..)| name).collect(),
                chunk_bytes: Some(chunk_kib * 1024),
                raid_disks: Some(disks),
                sync_action: None,
            }]);
        }

        #[test]
        fn never_panics(text in any::<String>(), lines in prop::collection::vec("(md0 : active|      |raid1|\\[|\\]|\\(S\\)|[a-z]{1,3}|[ 0-9=/]){0,8}", 0..8)) {
            let _ = (parse(&text), parse(&lines.join("\n")));
        }
    }
}
