//! State directory and locks across processes, and on a full disk.

use crate::support::{Process, is_root, run, until};
use facts::host::DeviceNumber;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::process::Command;
use trim::Cursor;
use trim::state::{CHECKPOINT_SCHEMA, Checkpoint, Phase, State, StateError};
use trim::target::Identity;

const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";

fn identity() -> Identity {
    Identity {
        device: DeviceNumber { major: 7, minor: 0 },
        uuid: Some(UUID.to_owned()),
        fs_type: "ext4".to_owned(),
    }
}

fn checkpoint(steps: u64) -> Checkpoint {
    Checkpoint {
        schema: CHECKPOINT_SCHEMA.to_owned(),
        identity: identity(),
        mount_point: "/mnt".to_owned(),
        started_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        cursor: Cursor::default(),
        steps,
        free_bytes: 1,
        visited_bytes: 1,
        discarded_bytes: [("loop0".to_owned(), 1)].into(),
        active_s: 0.5,
        phase: Phase::Running,
        remark: None,
        left_s: None,
        boot_id: None,
    }
}

fn directories(directory: &Path) -> (PathBuf, PathBuf) {
    (directory.join("state"), directory.join("run"))
}

fn hold(directory: &Path) -> Process {
    let (state, run) = directories(directory);
    let mut holder =
        Process::start(&["hold", state.to_str().unwrap(), run.to_str().unwrap(), UUID]);
    assert_eq!(holder.line(), "locked");
    holder
}

#[test]
fn lock_holder_is_named_and_its_death_frees_the_lock() {
    let directory = tempfile::tempdir().unwrap();
    let mut holder = hold(directory.path());
    let (state, run) = directories(directory.path());
    let state = State::open(state, run).unwrap();
    match state.lock(&identity(), &[]).unwrap_err() {
        StateError::Busy {
            what,
            pid,
            same_filesystem,
        } => {
            assert!(what.contains(UUID), "{what}");
            assert_eq!(pid, holder.pid());
            assert!(same_filesystem);
        }
        error => panic!("{error}"),
    }
    assert_eq!(state.holder(UUID).unwrap(), Some(holder.pid()));
    holder.kill();
    assert_eq!(state.holder(UUID).unwrap(), None);
    let _locks = state.lock(&identity(), &[]).unwrap();
    assert_eq!(state.holder(UUID).unwrap(), Some(std::process::id()));
}

#[test]
fn running_pass_is_cancelled_and_stopped_pass_is_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let mut holder = hold(directory.path());
    let (state, run) = directories(directory.path());
    let state = State::open(state, run).unwrap();
    state.save(&checkpoint(1)).unwrap();
    assert!(state.cancel(UUID).unwrap());
    assert_eq!(holder.line(), "cancelled true");
    holder.wait();
    // The request was meant for that process, not for this one, nor for the next pass.
    assert!(!state.cancel_requested(UUID));
    let locks = state.lock(&identity(), &[]).unwrap();
    assert!(!state.cancel_requested(UUID));
    drop(locks);
    assert!(state.checkpoint(UUID).unwrap().is_some());
    assert!(!state.cancel(UUID).unwrap());
    assert!(state.checkpoint(UUID).unwrap().is_none());
}

#[test]
fn signal_alone_is_not_a_cancel() {
    let directory = tempfile::tempdir().unwrap();
    let mut holder = hold(directory.path());
    crate::support::signal(holder.pid(), rustix::process::Signal::TERM);
    assert_eq!(holder.line(), "cancelled false");
}

struct Unmount<'p>(&'p str);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        // A child that another test has just forked holds its files until it executes a program.
        until("nothing is open below it", || {
            let umount = Command::new("umount").arg(self.0).output();
            umount.is_ok_and(|output| output.status.success())
        });
    }
}

#[test]
fn full_disk_keeps_the_old_checkpoint() {
    if !is_root() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let small = directory.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let path = small.to_str().unwrap();
    run(
        "mount",
        &["-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", path],
    );
    let _unmount = Unmount(path);
    let state_dir = small.join("state");
    let state = State::open(state_dir.clone(), directory.path().join("run")).unwrap();
    state.save(&checkpoint(1)).unwrap();
    state.audit(&serde_json::json!({"pass": 1})).unwrap();
    // A line that fits into the rest of its page would still be accepted, so fill that as well.
    let filler = small.join("filler");
    assert!(std::fs::write(&filler, vec![0; 1 << 20]).is_err());
    let log = state_dir.join("audit.jsonl");
    let logged = std::fs::read(&log).unwrap();
    let error = state.save(&checkpoint(2)).unwrap_err();
    let StateError::Io { path, source } = &error else {
        panic!("{error}");
    };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
    assert!(path.ends_with(format!("pass-{UUID}.json")), "{path:?}");
    let entry = serde_json::json!({"pass": "x".repeat(8192)});
    assert!(state.audit(&entry).is_err());
    assert_eq!(std::fs::read(&log).unwrap(), logged, "no torn line stays");
    assert!(
        State::open(state_dir.clone(), directory.path().join("run")).is_err(),
        "the next start says it before anything is done"
    );
    assert_eq!(state.checkpoint(UUID).unwrap().unwrap().steps, 1);
    std::fs::remove_file(&filler).unwrap();
    state.save(&checkpoint(2)).unwrap();
    assert_eq!(state.checkpoint(UUID).unwrap().unwrap().steps, 2);
    let files: Vec<_> = std::fs::read_dir(&state_dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(files.len(), 2, "{files:?}");
}
