//! Mount options, and problems with them.

use crate::model::input::JobRuns;
use facts::InputError;
use facts::host::Mount;
use schemars::JsonSchema;
use serde::Serialize;

/// Maximum number of lines read.
const LINES_MAX: usize = 10_000;

/// A mounted filesystem with its options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MountedWith {
    /// The mount point.
    pub mount_point: String,
    /// `/dev/md0`; unknown if findmnt was not asked for it.
    pub source: Option<String>,
    /// `xfs`.
    pub fs_type: Option<String>,
    /// The mount options, in order.
    pub options: Vec<String>,
}

impl MountedWith {
    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|one| one == option)
    }
}

impl From<&Mount> for MountedWith {
    fn from(mount: &Mount) -> Self {
        Self {
            mount_point: mount.mount_point.clone(),
            source: Some(mount.source.clone()),
            fs_type: Some(mount.fs_type.clone()),
            options: mount.options.clone(),
        }
    }
}

/// Parses the output of `findmnt` (util-linux, findmnt(8)): a header with TARGET and OPTIONS, then a row
/// per filesystem, with or without the tree. Text before the header and after an empty line is ignored, so
/// that pasted terminal output works.
///
/// # Errors
/// When there is no header, or the number of words in a row differs from it; findmnt writes blanks within
/// names as `\x20`.
pub fn parse_findmnt(source_name: &str, text: &str) -> Result<Vec<MountedWith>, InputError> {
    let mut lines = text.lines().zip(1..).take(LINES_MAX);
    let head: Vec<&str> = lines
        .by_ref()
        .map(|(line, _)| line.split_whitespace().collect::<Vec<_>>())
        .find(|words| words.contains(&"TARGET") && words.contains(&"OPTIONS"))
        .ok_or_else(|| {
            InputError::new(
                source_name,
                "findmnt's head, with TARGET and OPTIONS",
                text.lines().next().unwrap_or(""),
            )
        })?;
    let mut mounts = Vec::new();
    for (line, number) in lines {
        // The tree is drawn with box characters or with ASCII.
        let row = line.trim_start_matches(|c: char| " │├└─|`-".contains(c));
        if row.trim().is_empty() {
            break;
        }
        let words: Vec<&str> = row.split_whitespace().collect();
        if words.len() != head.len() {
            let expected = format!("{} words: {}", head.len(), head.join(" "));
            return Err(InputError::new(source_name, expected, row).at_line(number));
        }
        let column = |name: &str| {
            let index = head.iter().position(|known| *known == name)?;
            Some(words[index])
        };
        mounts.push(MountedWith {
            mount_point: column("TARGET").map(unescape).unwrap_or_default(),
            source: column("SOURCE").map(unescape),
            fs_type: column("FSTYPE").map(unescape),
            options: column("OPTIONS")
                .unwrap_or_default()
                .split(',')
                .map(unescape)
                .collect(),
        });
    }
    Ok(mounts)
}

/// Decodes `\x20`.
fn unescape(word: &str) -> String {
    let mut pieces = word.split("\\x");
    let mut text = pieces.next().unwrap_or("").to_owned();
    for piece in pieces {
        let code = piece
            .get(..2)
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(code) = code.filter(u8::is_ascii) {
            text.push(char::from(code));
            text.push_str(&piece[2..]);
        } else {
            text.push_str("\\x");
            text.push_str(piece);
        }
    }
    text
}

/// Warns of filesystems that are trimmed twice or mounted without barriers.
pub(super) fn remarks(mounts: &[MountedWith], jobs: &[JobRuns]) -> Vec<String> {
    let trims: Vec<&str> = jobs
        .iter()
        .map(|job| job.name.as_str())
        .filter(|name| name.contains("fstrim"))
        .collect();
    let mut remarks = Vec::new();
    for mount in mounts {
        let place = match &mount.source {
            Some(source) => format!("{} ({source})", mount.mount_point),
            None => mount.mount_point.clone(),
        };
        if mount.has("discard") {
            remarks.push(if trims.is_empty() {
                format!(
                    "{place} is mounted with `discard`: deletions send discards immediately. Where fstrim runs \
                     too, it is trimmed twice."
                )
            } else {
                format!(
                    "{place} is mounted with `discard`, and {} trims it too: it is trimmed twice. Mount it \
                     without `discard`.",
                    trims.join(", ")
                )
            });
        }
        let without_barriers = mount.has("nobarrier") || mount.has("barrier=0");
        if without_barriers {
            remarks.push(format!(
                "{place} is mounted with `nobarrier`: a power failure may lose or tear the last \
                 writes, unless the drives' caches survive it. XFS dropped this option in Linux \
                 4.19."
            ));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn box_drawing_and_ascii_trees_are_parsed() {
        let text = "$ findmnt\nTARGET SOURCE FSTYPE OPTIONS\n/ /dev/sda1 ext4 rw\n\
                    ├─/a\\x20b /dev/b xfs rw,discard\n| `-/c /dev/c btrfs ro\n\nnot a row\n";
        let mounts = parse_findmnt("findmnt", text).expect("rows");
        let points: Vec<&str> = mounts
            .iter()
            .map(|mount| mount.mount_point.as_str())
            .collect();
        assert_eq!(points, ["/", "/a b", "/c"]);
        assert_eq!(mounts[1].options, ["rw", "discard"]);
        assert_eq!(mounts[2].fs_type.as_deref(), Some("btrfs"));
    }

    #[test]
    fn errors_name_their_line() {
        let error = parse_findmnt("x.txt", "hello").expect_err("no head");
        assert_eq!(
            error.to_string(),
            "x.txt: expected findmnt's head, with TARGET and OPTIONS, found \"hello\""
        );
        let error = parse_findmnt("x.txt", "TARGET OPTIONS\n/ rw\n/boot\n").expect_err("short");
        assert_eq!(
            error.to_string(),
            "x.txt:3: expected 2 words: TARGET OPTIONS, found \"/boot\""
        );
    }

    proptest! {
        #[test]
        fn any_text_parses_or_fails(text in "(TARGET OPTIONS\n)?(\\PC{0,20}[\n ]?){0,8}") {
            if let Ok(mounts) = parse_findmnt("x", &text) {
                let options: usize = mounts.iter().map(|mount| mount.options.len()).sum();
                prop_assert!(options <= text.matches(',').count() + mounts.len());
                prop_assert!(mounts.len() < text.lines().count());
            }
        }

        /// Rows printed as findmnt does are parsed back.
        #[test]
        fn rows_round_trip(
            rows in prop::collection::vec(("/[a-z/ ]{0,8}", "[a-z0-9]{1,6}", prop::collection::vec("[a-z]{1,8}", 1..4)), 0..6),
        ) {
            let mut text = String::from("TARGET SOURCE OPTIONS\n");
            for (target, source, options) in &rows {
                let target = target.replace(' ', "\\x20");
                let row = format!("└─{target}  {source} {}\n", options.join(","));
                text.push_str(&row);
            }
            let mounts = parse_findmnt("x", &text).expect("rows");
            prop_assert_eq!(mounts.len(), rows.len());
            for (mount, (target, source, options)) in mounts.iter().zip(&rows) {
                prop_assert_eq!(&mount.mount_point, target);
                prop_assert_eq!(mount.source.as_ref(), Some(source));
                prop_assert_eq!(&mount.options, options);
            }
        }
    }
}
