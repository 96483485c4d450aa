use super::*;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

/// Names the directory for the other process of the test below.
const DIRECTORY: &str = "TRIMTAB_TEST_LOCK_DIRECTORY";
/// How often each thread takes the lock: two threads in each of two processes.
const ROUNDS: u32 = 500;
const NAME: &str = "fs-a.lock";

fn directory() -> (tempfile::TempDir, Arc<Directory>) {
    let outer = tempfile::tempdir().unwrap();
    let directory = Directory::create(&outer.path().join("run")).unwrap();
    (outer, Arc::new(directory))
}

#[test]
fn a_lock_leaves_no_file() {
    let (outer, directory) = directory();
    let path = outer.path().join("run").join(NAME);
    let held = take(&directory, NAME).unwrap().unwrap();
    assert!(path.exists());
    // While a child has it, it has its name.
    let inherited = held.file().unwrap().try_clone().unwrap();
    drop(held);
    assert!(path.exists());
    assert!(take(&directory, NAME).unwrap().is_err());
    drop(inherited);
    drop(take(&directory, NAME).unwrap().unwrap());
    assert!(!path.exists());
}

#[test]
fn leftovers_are_swept_and_locks_are_not() {
    let (outer, directory) = directory();
    let run = outer.path().join("run");
    for name in [
        "fs-old.lock",
        "fs-old.cancel",
        "fs-alone.cancel",
        "drive-8-0.lock",
    ] {
        fs::write(run.join(name), "{}").unwrap();
    }
    for name in ["fs-held.cancel", "note", "fs-x.txt"] {
        fs::write(run.join(name), "{}").unwrap();
    }
    std::os::unix::fs::symlink("note", run.join("fs-link.lock")).unwrap();
    let held =
        ["fs-held.lock", "drive-8-1.lock"].map(|name| take(&directory, name).unwrap().unwrap());
    sweep(&directory).unwrap();
    let left = [
        "drive-8-1.lock",
        "fs-held.cancel",
        "fs-held.lock",
        "fs-link.lock",
        "fs-x.txt",
        "note",
    ];
    assert_eq!(directory.names().unwrap(), left);
    drop(held);
}

/// Takes the lock as often as told, lets a "child" keep some of them, and counts how often it was not alone.
fn contend(directory: &Arc<Directory>, inside: &Path) -> u32 {
    let ends = AtomicBool::new(false);
    let violations = AtomicU32::new(0);
    let working = || {
        let mut taken = 0;
        while taken < ROUNDS {
            let Some(held) = attempt(directory, NAME).unwrap() else {
                thread::yield_now();
                continue;
            };
            taken += 1;
            // Fails if somebody else is inside.
            if fs::File::create_new(inside).is_err() {
                violations.fetch_add(1, Ordering::Relaxed);
            }
            let inherited = taken
                .is_multiple_of(3)
                .then(|| held.file().unwrap().try_clone());
            if inherited.is_some() {
                drop(held);
                thread::yield_now();
                let _ = fs::remove_file(inside);
            } else {
                let _ = fs::remove_file(inside);
                drop(held);
            }
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                sweep(directory).unwrap();
                // On a busy machine nobody else would get a turn.
                thread::sleep(Duration::from_micros(50));
            }
        });
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(working)).collect();
        for worker in workers {
            worker.join().unwrap();
        }
        ends.store(true, Ordering::Relaxed);
    });
    violations.into_inner()
}

#[test]
fn two_never_hold_a_lock_while_files_are_removed() {
    if let Some(run) = std::env::var_os(DIRECTORY) {
        let run = Path::new(&run);
        let directory = Arc::new(Directory::open(run).unwrap());
        assert_eq!(contend(&directory, &run.join("inside")), 0);
        return;
    }
    // Each removal is synced, which a disk takes long for.
    let memory = Path::new("/dev/shm");
    let outer = if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    };
    let run = outer.path().join("run");
    let directory = Arc::new(Directory::create(&run).unwrap());
    let this_test = "state::lock::tests::two_never_hold_a_lock_while_files_are_removed";
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", this_test])
        .env(DIRECTORY, &run)
        .spawn()
        .unwrap();
    let violations = contend(&directory, &run.join("inside"));
    assert!(other.wait().unwrap().success());
    assert_eq!(violations, 0);
    sweep(&directory).unwrap();
    assert!(directory.names().unwrap().is_empty());
}
