use super::*;
use std::fs;
use std::path::Path;

const PATH: &str = "var/lib/trimtab/plan.json";

struct Tree {
    folder: tempfile::TempDir,
    root: Root,
}

impl Tree {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("etc")).unwrap();
        fs::write(folder.path().join("etc/fstab"), "a\nb\n").unwrap();
        let root = Root::open(fs::canonicalize(folder.path()).unwrap()).unwrap();
        Self { folder, root }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn change(&self, name: &str, after: Option<Entry>) -> Planned {
        let change = Change {
            name: name.to_owned(),
            what: String::new(),
            before: self.root.read(name).unwrap(),
            after,
        };
        Planned {
            change,
            lines: Vec::new(),
        }
    }

    /// A drop-in in a folder of its own, a mask, and a line of fstab.
    fn changes(&self) -> Vec<Planned> {
        let fstab = self.root.read_file("etc/fstab", 100).unwrap().unwrap();
        let mut edited = self.change(
            "etc/fstab",
            Some(Entry::File(fstab.with_bytes(b"a\nb,x\n".to_vec()))),
        );
        edited.lines = vec![Replaced {
            before: Some("b".to_owned()),
            after: "b,x".to_owned(),
        }];
        let own = Contents::own("[Timer]\n");
        vec![
            self.change(
                "etc/systemd/system/a.timer.d/plan.conf",
                Some(Entry::File(own)),
            ),
            self.change(
                "etc/systemd/system/b.timer",
                Some(Entry::Link("/dev/null".to_owned())),
            ),
            edited,
        ]
    }

    fn apply(&self) -> Result<(), JournalError> {
        let changes = self.changes();
        Journal::apply(&self.root, PATH, &changes, |_| "note".to_owned(), || Ok(()))
    }

    fn journal(&self) -> Option<Journal<String>> {
        Journal::read(&self.root, PATH).unwrap()
    }

    fn etc(&self) -> Vec<(String, String)> {
        fn walk(path: &Path, found: &mut Vec<(String, String)>) {
            for entry in fs::read_dir(path).unwrap().flatten() {
                let path = entry.path();
                let is = if entry.file_type().unwrap().is_dir() {
                    walk(&path, found);
                    "folder".to_owned()
                } else if let Ok(target) = fs::read_link(&path) {
                    target.display().to_string()
                } else {
                    fs::read_to_string(&path).unwrap()
                };
                found.push((path.display().to_string(), is));
            }
        }
        let mut found = Vec::new();
        walk(&self.path("etc"), &mut found);
        found.sort();
        found
    }
}

fn undo(tree: &Tree) -> Result<Option<Journal<String>>, JournalError> {
    Journal::undo(&tree.root, PATH, |_| Ok(()))
}

/// A line that somebody adds between two changes of a file is no part of either.
#[test]
fn what_others_edit_between_two_changes_stays() {
    let tree = Tree::new();
    tree.apply().unwrap();
    fs::write(tree.path("etc/fstab"), "a\nb,x\nnew\n").unwrap();
    let fstab = tree.root.read_file("etc/fstab", 100).unwrap().unwrap();
    let mut again = tree.change(
        "etc/fstab",
        Some(Entry::File(fstab.with_bytes(b"a,y\nb,x\nnew\n".to_vec()))),
    );
    again.lines = vec![Replaced {
        before: Some("a".to_owned()),
        after: "a,y".to_owned(),
    }];
    Journal::apply(
        &tree.root,
        PATH,
        &[again],
        |note: Option<String>| note.unwrap(),
        || Ok(()),
    )
    .unwrap();
    undo(&tree).unwrap();
    assert_eq!(
        fs::read_to_string(tree.path("etc/fstab")).unwrap(),
        "a\nb\nnew\n"
    );
}

/// What follows an undo may fail; the next undo does it again.
#[test]
fn an_undo_is_done_once_what_follows_is() {
    let tree = Tree::new();
    let original = tree.etc();
    tree.apply().unwrap();
    let failed = Journal::<String>::undo(&tree.root, PATH, |_| Err("no systemd".to_owned()));
    assert!(
        matches!(failed, Err(JournalError::AfterUndo(_))),
        "{failed:?}"
    );
    assert_eq!(tree.etc(), original);
    assert_eq!(undo(&tree).unwrap().unwrap().note, "note");
    assert_eq!(undo(&tree).unwrap(), None);
}

/// A journal that others could have written would write what they want, as root.
#[test]
fn a_journal_of_others_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let tree = Tree::new();
    tree.apply().unwrap();
    fs::set_permissions(tree.path(PATH), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(matches!(undo(&tree), Err(JournalError::Foreign { .. })));
    assert!(matches!(
        Journal::<String>::read(&tree.root, PATH),
        Err(JournalError::Foreign { .. })
    ));
}

#[test]
fn what_is_applied_is_undone_with_its_folders() {
    let tree = Tree::new();
    let original = tree.etc();
    tree.apply().unwrap();
    assert_eq!(
        fs::read_to_string(tree.path("etc/fstab")).unwrap(),
        "a\nb,x\n"
    );
    let journal = tree.journal().unwrap();
    assert!(journal.is_complete);
    assert_eq!(journal.folders.len(), 3, "{:?}", journal.folders);
    for recorded in &journal.changes {
        assert_eq!(recorded.found(&tree.root).unwrap(), Found::Changed);
    }
    undo(&tree).unwrap();
    assert_eq!(tree.etc(), original);
    assert!(!tree.path("var").exists(), "its own folders");
}

#[test]
fn a_second_change_is_undone_to_what_was_before_the_first() {
    let tree = Tree::new();
    let original = tree.etc();
    tree.apply().unwrap();
    let other = Contents::readable(
        b"[Timer]\nother\n".to_vec(),
        &tree.root.read_file("etc/fstab", 99).unwrap().unwrap(),
    );
    let again = [tree.change(
        "etc/systemd/system/a.timer.d/plan.conf",
        Some(Entry::File(other)),
    )];
    Journal::apply(
        &tree.root,
        PATH,
        &again,
        |note: Option<String>| note.unwrap(),
        || Ok(()),
    )
    .unwrap();
    undo(&tree).unwrap();
    assert_eq!(tree.etc(), original);
}

#[test]
fn what_follows_may_fail_and_nothing_stays() {
    let tree = Tree::new();
    let original = tree.etc();
    let changes = tree.changes();
    let failed = Journal::apply(
        &tree.root,
        PATH,
        &changes,
        |_| 1,
        || Err("no systemd".to_owned()),
    );
    let error = failed.unwrap_err().to_string();
    assert_eq!(error, "no systemd; the files were put back");
    assert_eq!(tree.etc(), original);
    assert_eq!(tree.journal(), None);
    // One of the files is not what it was when the changes were planned.
    fs::write(tree.path("etc/fstab"), "a\nb\nc\n").unwrap();
    let original = tree.etc();
    let failed = Journal::apply(&tree.root, PATH, &changes, |_| 1, || Ok(()));
    assert!(
        matches!(
            failed,
            Err(JournalError::Change(ChangeError::Undone { .. }))
        ),
        "{failed:?}"
    );
    assert_eq!(tree.etc(), original);
    assert_eq!(tree.journal(), None);
}

/// A run that is killed at any moment leaves a prefix of the changes, the journal, and temporary files.
#[test]
fn a_run_that_was_killed_is_finished_or_taken_back() {
    for killed_after in 0..=3 {
        for finish in [true, false] {
            let tree = Tree::new();
            let original = tree.etc();
            tree.apply().unwrap();
            let mut journal = tree.journal().unwrap();
            for recorded in &journal.changes[killed_after..] {
                tree.root
                    .set(&recorded.name, recorded.before.as_ref())
                    .unwrap();
            }
            journal.is_complete = false;
            journal.write(&tree.root, PATH).unwrap();
            fs::write(tree.path("etc/.fstab.4711.trimtab-tmp"), "half").unwrap();
            fs::write(tree.path("etc/.fstab.mine.trimtab-tmp"), "of somebody else").unwrap();
            if finish {
                let changes: Vec<_> = tree
                    .changes()
                    .into_iter()
                    .filter(|planned| planned.change.before != planned.change.after)
                    .collect();
                let changes: Vec<_> = if killed_after == 3 {
                    Vec::new()
                } else {
                    changes
                };
                Journal::apply(&tree.root, PATH, &changes, |_| "note".to_owned(), || Ok(()))
                    .unwrap();
                let journal = tree.journal().unwrap();
                for recorded in &journal.changes {
                    assert_eq!(
                        recorded.found(&tree.root).unwrap(),
                        Found::Changed,
                        "{killed_after}"
                    );
                }
            }
            undo(&tree).unwrap();
            fs::remove_file(tree.path("etc/.fstab.mine.trimtab-tmp")).unwrap();
            assert_eq!(tree.etc(), original, "{killed_after} {finish}");
        }
    }
}

#[test]
fn what_others_edited_stays() {
    let tree = Tree::new();
    tree.apply().unwrap();
    fs::write(tree.path("etc/fstab"), "new\na\nb,x\n").unwrap();
    undo(&tree).unwrap();
    assert_eq!(
        fs::read_to_string(tree.path("etc/fstab")).unwrap(),
        "new\na\nb\n"
    );

    let tree = Tree::new();
    tree.apply().unwrap();
    fs::write(tree.path("etc/fstab"), "a\nb,x,y\n").unwrap();
    let error = undo(&tree).unwrap_err();
    assert_eq!(
        error.to_string(),
        "changed since by somebody else: /etc/fstab; nothing was changed"
    );
    assert!(tree.path("etc/systemd/system/a.timer.d/plan.conf").exists());
}

#[test]
fn links_on_the_way_and_other_formats_are_refused() {
    let tree = Tree::new();
    fs::create_dir_all(tree.path("elsewhere/system")).unwrap();
    std::os::unix::fs::symlink("../elsewhere", tree.path("etc/systemd")).unwrap();
    assert!(tree.root.read("etc/systemd/system/b.timer").is_err());
    for path in ["../etc/fstab", "/etc/fstab", "etc//fstab", ""] {
        assert!(tree.root.read(path).is_err(), "{path}");
    }
    fs::create_dir_all(tree.path("var/lib/trimtab")).unwrap();
    for text in [
        "",
        "{}",
        "[1]",
        "{\"version\": 9, \"is_complete\": true, \"changes\": [], \"folders\": [], \"own_folders\": [], \"note\": \"\"}",
    ] {
        fs::write(tree.path(PATH), text).unwrap();
        let error = Journal::<String>::read(&tree.root, PATH).unwrap_err();
        assert!(
            matches!(error, JournalError::Invalid { .. }),
            "{text}: {error}"
        );
    }
}
