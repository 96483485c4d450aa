//! From what is decided to what becomes of each file.

use crate::change::Change;
use crate::entry::{Contents, Entry};
use crate::lines::Replaced;
use crate::root::Root;
use facts::Edit;
use linux::octal::unescape_text;
use std::collections::BTreeMap;
use thiserror::Error;

/// A change, and the lines that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The change of the whole file.
    pub change: Change,
    /// Which lines it replaces, where it replaces single lines.
    pub lines: Vec<Replaced>,
}

/// Why a file cannot be changed.
#[derive(Debug, Error)]
#[error("/{path}: {why}")]
pub struct PlanError {
    path: String,
    why: String,
}

/// Looks at the files that edits are about, and returns what becomes of them: one change for each file, nothing for a
/// file that is what it should be. Each edit comes with its reason. `allows` sees the text of each script that is no longer
/// to be executed, and of each line that is commented out, and may refuse with a reason.
///
/// # Errors
/// If a file cannot be read, or is not what the edit is about.
pub fn planned(
    root: &Root,
    edits: &[(Edit, String)],
    allows: &dyn Fn(&Edit, &str) -> Result<(), String>,
) -> Result<Vec<Planned>, PlanError> {
    let mut all: Vec<Planned> = Vec::new();
    let expanded = expand(root, edits)?;
    let mut index_of: BTreeMap<&str, usize> = BTreeMap::new();
    for (edit, why) in &expanded {
        let path = edit.path();
        let failed = |why: String| PlanError {
            path: path.to_owned(),
            why,
        };
        let index = *index_of.entry(path).or_insert(all.len());
        if index == all.len() {
            let before = root.read(path).map_err(|error| failed(error.to_string()))?;
            let change = Change {
                name: path.to_owned(),
                what: String::new(),
                after: before.clone(),
                before,
            };
            let lines = Vec::new();
            all.push(Planned { change, lines });
        }
        let Planned { change, lines } = &mut all[index];
        let (after, line) = edited(edit, change.after.as_ref(), allows).map_err(failed)?;
        change.after = after;
        lines.extend(line);
        if !change.what.contains(why.as_str()) {
            if !change.what.is_empty() {
                change.what.push_str("; ");
            }
            change.what.push_str(why);
        }
    }
    all.retain(|planned| planned.change.before != planned.change.after);
    Ok(all)
}

/// An edit of one path; what disables a unit removes several links.
enum Single<'e> {
    Edit(&'e Edit),
    Unlink(String),
}

impl Single<'_> {
    fn path(&self) -> &str {
        match self {
            Self::Edit(edit) => edit.path(),
            Self::Unlink(path) => path,
        }
    }
}

/// systemd's configuration.
const UNITS: &str = "etc/systemd/system";

fn expand<'e>(
    root: &Root,
    edits: &'e [(Edit, String)],
) -> Result<Vec<(Single<'e>, &'e String)>, PlanError> {
    let mut all = Vec::new();
    for (edit, why) in edits {
        let Edit::Disable { unit } = edit else {
            all.push((Single::Edit(edit), why));
            continue;
        };
        let failed = |why: String| PlanError {
            path: UNITS.to_owned(),
            why,
        };
        let names = root
            .names(UNITS)
            .map_err(|error| failed(error.to_string()))?;
        let starts = |name: &&String| {
            [".wants", ".requires"]
                .iter()
                .any(|kind| name.ends_with(kind))
        };
        let known = all.len();
        for name in names.iter().filter(starts) {
            let path = format!("{UNITS}/{name}/{unit}");
            if matches!(root.read(&path), Ok(Some(Entry::Link(_)))) {
                all.push((Single::Unlink(path), why));
            }
        }
        if all.len() == known {
            return Err(failed(format!(
                "nothing here enables {unit}, which runs: disable it by hand"
            )));
        }
    }
    Ok(all)
}

type Edited = (Option<Entry>, Option<Replaced>);

fn edited(
    edit: &Single<'_>,
    now: Option<&Entry>,
    allows: &dyn Fn(&Edit, &str) -> Result<(), String>,
) -> Result<Edited, String> {
    let edit = match edit {
        Single::Edit(edit) => edit,
        Single::Unlink(_) => return Ok((None, None)),
    };
    let file = || match now {
        Some(Entry::File(contents)) => Ok(contents),
        Some(Entry::Link(target)) => Err(format!("expected a file, found a link to {target}")),
        None => Err("it is gone".to_owned()),
    };
    Ok(match edit {
        Edit::Write { text, .. } => {
            let contents = match now {
                // Whoever could read it still can.
                Some(Entry::File(now)) => now.with_bytes(text.clone().into_bytes()),
                None => Contents::own(text.clone()),
                Some(Entry::Link(target)) => {
                    return Err(format!("expected a file, found a link to {target}"));
                }
            };
            (Some(Entry::File(contents)), None)
        }
        Edit::Link { target, .. } => match now {
            None | Some(Entry::Link(_)) => (Some(Entry::Link(target.clone())), None),
            Some(Entry::File(_)) => {
                return Err(format!(
                    "expected nothing, where a link to {target} has to be, found a file"
                ));
            }
        },
        // They are links, and were expanded.
        Edit::Disable { .. } => (now.cloned(), None),
        Edit::MakeNotExecutable { .. } => {
            let now = file()?;
            allows(edit, &String::from_utf8_lossy(&now.bytes))?;
            let contents = Contents {
                mode: now.mode & !0o111,
                ..now.clone()
            };
            (Some(Entry::File(contents)), None)
        }
        Edit::CommentOut { line, .. } => {
            let mut allowed = Ok(());
            let edited = replaced(file()?, *line, |text| {
                allowed = allows(edit, text);
                (!text.trim_start().starts_with('#')).then(|| format!("#{text}"))
            });
            allowed.map_err(|why| format!("line {line} {why}"))?;
            edited?
        }
        Edit::AddMountOption {
            line,
            mount_point,
            option,
        } => replaced(file()?, *line, |text| {
            with_option(text, mount_point, option)
        })?,
        Edit::SetLine { text, ending, .. } => {
            let now = match now {
                None => Contents::own(Vec::new()),
                Some(_) => file()?.clone(),
            };
            let text = format!("{text}{ending}");
            let ours = now.bytes.split(|&byte| byte == b'\n');
            let ours = ours
                .zip(1..)
                .find(|(line, _)| line.ends_with(ending.as_bytes()));
            if let Some((_, line)) = ours {
                return replaced(&now, line, |_| Some(text));
            }
            let mut bytes = now.bytes.to_vec();
            if bytes.last().is_some_and(|&byte| byte != b'\n') {
                bytes.push(b'\n');
            }
            bytes.extend(text.bytes().chain([b'\n']));
            let line = Replaced {
                before: None,
                after: text,
            };
            (Some(Entry::File(now.with_bytes(bytes))), Some(line))
        }
    })
}

/// Replaces one line of a file.
fn replaced(
    now: &Contents,
    line: u64,
    new: impl FnOnce(&str) -> Option<String>,
) -> Result<Edited, String> {
    let index = usize::try_from(line)
        .ok()
        .and_then(|line| line.checked_sub(1));
    let mut lines: Vec<&[u8]> = now.bytes.split_inclusive(|&byte| byte == b'\n').collect();
    let old = index
        .and_then(|index| lines.get(index))
        .ok_or_else(|| format!("it has no line {line}"))?;
    let end = if old.ends_with(b"\n") { "\n" } else { "" };
    let old = old.strip_suffix(b"\n").unwrap_or(old);
    let old = str::from_utf8(old).map_err(|_| format!("line {line} is not UTF-8"))?;
    let Some(new) = new(old) else {
        return Err(format!("line {line} is not what it was: {old:?}"));
    };
    let pair = Replaced {
        before: Some(old.to_owned()),
        after: new.clone(),
    };
    if pair.before.as_ref() == Some(&pair.after) {
        return Ok((Some(Entry::File(now.clone())), None));
    }
    let new = new + end;
    if let Some(index) = index {
        lines[index] = new.as_bytes();
    }
    let bytes = lines.concat();
    Ok((Some(Entry::File(now.with_bytes(bytes))), Some(pair)))
}

/// Adds an option to a line of fstab (fstab(5)): to the fourth field, which may be missing. The same line if it has it;
/// `None` if it is of another mount point.
fn with_option(line: &str, mount_point: &str, option: &str) -> Option<String> {
    let is_blank = |c: char| c == ' ' || c == '\t';
    let mut fields = Vec::new();
    let mut at = 0;
    for part in line.split(is_blank) {
        if !part.is_empty() {
            fields.push((at, part));
        }
        at += part.len() + 1;
    }
    let (_, written) = fields.get(1)?;
    let bare = |path: &str| path.trim_end_matches('/').to_owned();
    if bare(&unescape_text(written)) != bare(mount_point) || fields[0].1.starts_with('#') {
        return None;
    }
    let Some((at, options)) = fields.get(3) else {
        let (at, fs_type) = fields.get(2)?;
        let end = at + fs_type.len();
        return Some(format!("{} defaults,{option}", &line[..end]));
    };
    if options.split(',').any(|known| known == option) {
        return Some(line.to_owned());
    }
    let end = at + options.trim_end_matches('\r').len();
    Some(format!("{},{option}{}", &line[..end], &line[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    const ANY: &dyn Fn(&Edit, &str) -> Result<(), String> = &|_, _| Ok(());

    #[test]
    fn an_option_is_added_to_the_right_line_only() {
        let add = |line: &str| with_option(line, "/data", "X-fstrim.notrim");
        let cases = [
            (
                "/dev/a /data xfs noatime 0 0",
                "/dev/a /data xfs noatime,X-fstrim.notrim 0 0",
            ),
            (
                "UUID=1\t/data/\text4  defaults\t0  2 # x",
                "UUID=1\t/data/\text4  defaults,X-fstrim.notrim\t0  2 # x",
            ),
            (
                "/dev/a /data xfs",
                "/dev/a /data xfs defaults,X-fstrim.notrim",
            ),
            ("/dev/a /data xfs rw", "/dev/a /data xfs rw,X-fstrim.notrim"),
            (
                "/dev/a /data xfs rw,X-fstrim.notrim 0 0",
                "/dev/a /data xfs rw,X-fstrim.notrim 0 0",
            ),
            (
                "/dev/a /data xfs rw\r",
                "/dev/a /data xfs rw,X-fstrim.notrim\r",
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(add(line).as_deref(), Some(expected));
        }
        for other in [
            "/dev/a /data2 xfs rw 0 0",
            "# /data x",
            "#/dev/a /data xfs rw",
            "/data",
            "",
            "/dev/a /data",
        ] {
            assert_eq!(add(other), None, "{other}");
        }
        let spaced = with_option("/dev/a /my\\040data xfs rw 0 0", "/my data", "o");
        assert_eq!(spaced.as_deref(), Some("/dev/a /my\\040data xfs rw,o 0 0"));
    }

    fn tree(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let root = Root::open(fs::canonicalize(folder.path()).unwrap()).unwrap();
        (folder, root)
    }

    fn text(planned: &Planned) -> String {
        let contents = planned.change.after.as_ref().unwrap().file().unwrap();
        String::from_utf8(contents.bytes.to_vec()).unwrap()
    }

    #[test]
    fn edits_of_one_file_are_one_change() {
        let (_folder, root) = tree(&[
            ("etc/fstab", "/dev/a / ext4 rw 0 1\n/dev/b /data xfs rw 0 0"),
            ("etc/crontab", "fstrim a\n#b\n"),
        ]);
        let option = |line: u64, mount_point: &str| {
            let edit = Edit::AddMountOption {
                line,
                mount_point: mount_point.to_owned(),
                option: "o".to_owned(),
            };
            (edit, "why".to_owned())
        };
        let both = planned(&root, &[option(1, "/"), option(2, "/data")], ANY).unwrap();
        assert_eq!(both.len(), 1);
        assert_eq!(
            text(&both[0]),
            "/dev/a / ext4 rw,o 0 1\n/dev/b /data xfs rw,o 0 0"
        );
        assert_eq!(
            (both[0].lines.len(), both[0].change.what.as_str()),
            (2, "why")
        );
        let error = planned(&root, &[option(2, "/")], ANY)
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "/etc/fstab: line 2 is not what it was: \"/dev/b /data xfs rw 0 0\""
        );
        let comment = |line| {
            (
                Edit::CommentOut {
                    path: "etc/crontab".to_owned(),
                    line,
                },
                String::new(),
            )
        };
        assert_eq!(
            text(&planned(&root, &[comment(1)], ANY).unwrap()[0]),
            "#fstrim a\n#b\n"
        );
        for wrong in [0, 2, 3, 99] {
            assert!(planned(&root, &[comment(wrong)], ANY).is_err(), "{wrong}");
        }
        // Who decides sees the line.
        let refuses = |_: &Edit, text: &str| Err(format!("is {text:?}"));
        let error = planned(&root, &[comment(1)], &refuses).unwrap_err();
        assert_eq!(error.to_string(), "/etc/crontab: line 1 is \"fstrim a\"");
    }

    #[test]
    fn what_is_as_it_should_be_is_no_change() {
        let (folder, root) = tree(&[("etc/a", "#!/bin/sh\nfstrim /\n"), ("etc/root", "a\nb")]);
        let write = (
            Edit::Write {
                path: "etc/a".to_owned(),
                text: "#!/bin/sh\nfstrim /\n".to_owned(),
            },
            String::new(),
        );
        assert_eq!(planned(&root, &[write], ANY).unwrap(), []);
        let set = |text: &str| {
            let edit = Edit::SetLine {
                path: "etc/root".to_owned(),
                text: text.to_owned(),
                ending: " # x".to_owned(),
            };
            planned(&root, &[(edit, String::new())], ANY).unwrap()
        };
        assert_eq!(text(&set("c")[0]), "a\nb\nc # x\n");
        fs::write(folder.path().join("etc/root"), "a\nc # x\nb\n").unwrap();
        assert_eq!(set("c"), []);
        assert_eq!(text(&set("d")[0]), "a\nd # x\nb\n");
        let unexecutable = [(
            Edit::MakeNotExecutable {
                path: "etc/a".to_owned(),
            },
            String::new(),
        )];
        assert_eq!(planned(&root, &unexecutable, ANY).unwrap(), []);
        fs::set_permissions(
            folder.path().join("etc/a"),
            fs::Permissions::from_mode(0o755),
        )
        .unwrap();
        let change = planned(&root, &unexecutable, ANY).unwrap().remove(0).change;
        assert_eq!(change.after.unwrap().file().unwrap().mode, 0o644);
        let mask = [(
            Edit::Link {
                path: "etc/a".to_owned(),
                target: "/dev/null".to_owned(),
            },
            String::new(),
        )];
        assert!(planned(&root, &mask, ANY).is_err());
    }

    /// A unit may be enabled in several targets.
    #[test]
    fn a_unit_is_disabled_everywhere() {
        let (folder, root) = tree(&[
            ("etc/systemd/system/a.target.wants/x", ""),
            ("etc/systemd/system/b.target.requires/y", ""),
        ]);
        for folder_name in ["a.target.wants", "b.target.requires"] {
            let link = folder
                .path()
                .join("etc/systemd/system")
                .join(folder_name)
                .join("t.timer");
            std::os::unix::fs::symlink("/etc/systemd/system/t.timer", link).unwrap();
        }
        let disable = |unit: &str| {
            planned(
                &root,
                &[(
                    Edit::Disable {
                        unit: unit.to_owned(),
                    },
                    "why".to_owned(),
                )],
                ANY,
            )
        };
        let changes = disable("t.timer").unwrap();
        assert_eq!(changes.len(), 2);
        assert!(changes.iter().all(|planned| planned.change.after.is_none()));
        assert!(disable("other.timer").is_err());
    }

    proptest! {
        #[test]
        fn any_line_of_fstab_keeps_all_but_its_options(line in "[ \t#/a-c,\\\\0-4é\r]{0,40}") {
            if let Some(changed) = with_option(&line, "/a", "x-o") {
                let without = changed.replacen(" defaults,x-o", "", 1).replacen(",x-o", "", 1);
                prop_assert_eq!(without.trim_end().to_owned(), line.trim_end());
            }
        }
    }
}
