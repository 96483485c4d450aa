//! Links inside a tree: the directory, the in-memory tree and the kernel must agree.

use crate::source::archive::EntryKind;
use crate::source::memory::Memory;
use crate::source::{Directory, Kind, Source};
use crate::unread::Unread;
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;

/// One step of building a tree: what to put at a path.
#[derive(Debug, Clone)]
enum Step {
    Directory,
    File,
    Link(String),
}

fn path() -> impl Strategy<Value = String> {
    proptest::collection::vec("[abc]", 1..4).prop_map(|names| names.join("/"))
}

/// Paths and link targets with everything that might lead outside.
fn wild_path() -> impl Strategy<Value = String> {
    proptest::collection::vec("[abc]|\\.|\\.\\.|", 1..6).prop_map(|names| names.join("/"))
}

fn steps() -> impl Strategy<Value = Vec<(String, Step)>> {
    let step = prop_oneof![
        Just(Step::Directory),
        Just(Step::File),
        wild_path()
            .prop_filter("an empty link cannot be made", |text| !text.is_empty())
            .prop_map(Step::Link),
    ];
    proptest::collection::vec((path(), step), 0..14)
}

/// Builds the same tree twice.
fn build(directory: &Path, steps: &[(String, Step)]) -> Memory {
    let mut memory = Memory::default();
    for (path, step) in steps {
        let addition = match step {
            Step::Directory => EntryKind::Directory,
            Step::File => EntryKind::File(path.clone().into_bytes()),
            Step::Link(text) => EntryKind::Link(text.clone()),
        };
        let full = directory.join(path);
        // A path may lead through a link or file that was created before: both trees skip it.
        let parent_is_plain = path
            .match_indices('/')
            .map(|(index, _)| directory.join(&path[..index]))
            .all(|above| {
                std::fs::symlink_metadata(above).map_or(true, |meta| meta.file_type().is_dir())
            });
        if !parent_is_plain || std::fs::symlink_metadata(&full).is_ok() {
            continue;
        }
        memory.add(path, addition, 0o644, 0).unwrap();
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        match step {
            Step::Directory => std::fs::create_dir(&full).unwrap(),
            Step::File => std::fs::write(&full, path).unwrap(),
            Step::Link(text) => symlink(text, &full).unwrap(),
        }
    }
    memory
}

/// Returns what the kernel finds when it resolves inside the directory; `None` if it does not
/// support that.
fn kernel(root: &File, path: &str) -> Option<Result<Option<Vec<u8>>, Unread>> {
    // An empty path means the root here, but ENOENT to the kernel.
    let path = if path.is_empty() { "." } else { path };
    let open = || {
        rustix::fs::openat2(
            root,
            path,
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
            ResolveFlags::IN_ROOT,
        )
    };
    // EAGAIN: a rename or mount anywhere on the machine raced with a `..`, see openat2(2).
    let mut opened = open();
    while matches!(opened, Err(rustix::io::Errno::AGAIN)) {
        opened = open();
    }
    Some(match opened {
        Ok(fd) => {
            let mut bytes = Vec::new();
            let is_file = File::from(fd).read_to_end(&mut bytes).is_ok();
            Ok(is_file.then_some(bytes))
        }
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Err(Unread::NotFound),
        Err(rustix::io::Errno::LOOP) => Err(Unread::Failed(String::new())),
        Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => return None,
        Err(error) => panic!("{error}"),
    })
}

/// Returns the contents of a file, or `None` for a directory, with the kernel's errors.
fn found(read: Result<Vec<u8>, Unread>) -> Result<Option<Vec<u8>>, Unread> {
    match read {
        Err(Unread::Failed(why)) if why == "not a regular file" => Ok(None),
        Err(Unread::Failed(_)) => Err(Unread::Failed(String::new())),
        read => read.map(Some),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn directory_memory_and_kernel_agree(
        steps in steps(),
        asked in proptest::collection::vec(wild_path(), 1..20),
    ) {
        let temporary = tempfile::tempdir().unwrap();
        let memory = build(temporary.path(), &steps);
        let directory = Directory::new(temporary.path().to_path_buf());
        let root = File::open(temporary.path()).unwrap();
        for path in &asked {
            let read = directory.read(path, 100);
            prop_assert_eq!(&read, &memory.read(path, 100), "{}", path);
            if let Some(kernel) = kernel(&root, path) {
                prop_assert_eq!(found(read), kernel, "{}", path);
            }
            prop_assert_eq!(directory.list(path), memory.list(path), "{}", path);
            prop_assert_eq!(directory.link(path), memory.link(path), "{}", path);
            prop_assert_eq!(
                directory.stat(path).map(|stat| stat.kind),
                memory.stat(path).map(|stat| stat.kind),
                "{}",
                path
            );
        }
    }
}

/// Creates a tree in `root` of a new directory, with a secret next to it.
fn with_secret() -> (tempfile::TempDir, Directory) {
    let temporary = tempfile::tempdir().unwrap();
    std::fs::write(temporary.path().join("secret"), "secret").unwrap();
    std::fs::create_dir_all(temporary.path().join("root/etc")).unwrap();
    let directory = Directory::new(temporary.path().join("root"));
    (temporary, directory)
}

#[test]
fn links_and_dots_never_lead_outside() {
    let (temporary, directory) = with_secret();
    let root = temporary.path().join("root");
    symlink("../../secret", root.join("etc/up")).unwrap();
    symlink(temporary.path().join("secret"), root.join("etc/absolute")).unwrap();
    symlink("../..", root.join("etc/above")).unwrap();
    for path in [
        "../secret",
        "etc/up",
        "etc/absolute",
        "etc/above/secret",
        "etc/../../secret",
        "/../secret",
    ] {
        assert_eq!(directory.read(path, 100), Err(Unread::NotFound), "{path}");
    }
    // `above` is the root itself, as within chroot(2).
    assert_eq!(directory.list("etc/above"), Ok(vec!["etc".to_owned()]));
    std::fs::write(root.join("secret"), "inside").unwrap();
    assert_eq!(directory.read("etc/up", 100), Ok(b"inside".to_vec()));
}

#[test]
fn loops_and_long_chains_are_errors() {
    let (temporary, directory) = with_secret();
    let etc = temporary.path().join("root/etc");
    symlink("loop", etc.join("loop")).unwrap();
    symlink(format!("{}loop", "../etc/".repeat(150)), etc.join("long")).unwrap();
    // Each link doubles the number of steps: 2^40 without a limit.
    for level in 0..40 {
        let text = format!("l{0}/../l{0}", level + 1);
        symlink(text, etc.join(format!("l{level}"))).unwrap();
    }
    std::fs::create_dir(etc.join("l40")).unwrap();
    for path in ["etc/loop", "etc/long", "etc/l0"] {
        let read = directory.read(path, 100);
        assert!(
            matches!(&read, Err(Unread::Failed(why)) if why.starts_with("more than")),
            "{read:?}"
        );
    }
}

#[test]
fn only_regular_files_are_read() {
    let (temporary, directory) = with_secret();
    let fifo = temporary.path().join("root/fifo");
    rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert!(matches!(
        directory.read("fifo", 100),
        Err(Unread::Failed(_))
    ));
    assert!(matches!(directory.read("etc", 100), Err(Unread::Failed(_))));
    assert_eq!(directory.stat("fifo").unwrap().kind, Kind::Other);
    assert_eq!(directory.list("fifo"), Err(Unread::NotFound));
}

#[test]
fn a_missing_root_is_not_an_empty_host() {
    let directory = Directory::new("/nonexistent/tree".into());
    let read = directory.read("etc/fstab", 100);
    assert!(
        matches!(&read, Err(Unread::Failed(why)) if why.contains("/nonexistent/tree")),
        "{read:?}"
    );
}

#[test]
fn a_directory_replaced_by_a_link_does_not_lead_outside() {
    use rustix::fs::{RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};
    let (temporary, _) = with_secret();
    let root = temporary.path().join("root");
    std::fs::write(root.join("etc/secret"), "inside").unwrap();
    symlink(temporary.path(), root.join("link")).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // If the filesystem cannot exchange files, the test covers only the unchanging
                // tree.
                let _ = renameat_with(
                    CWD,
                    root.join("etc"),
                    CWD,
                    root.join("link"),
                    RenameFlags::EXCHANGE,
                );
            }
        });
        for _ in 0..3000 {
            // A new one each time, so that no open directory is cached.
            let read = Directory::new(root.clone()).read("etc/secret", 100);
            if let Ok(bytes) = read {
                assert_eq!(bytes, b"inside");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}
