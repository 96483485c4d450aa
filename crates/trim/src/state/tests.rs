use super::*;
use proptest::prelude::*;

const UUID: &str = "00112233-4455-6677-8899-aabbccddeeff";

fn identity(uuid: &str) -> Identity {
    Identity {
        device: DeviceNumber { major: 7, minor: 3 },
        uuid: Some(uuid.to_owned()),
        fs_type: "xfs".to_owned(),
    }
}

fn checkpoint() -> Checkpoint {
    Checkpoint {
        schema: CHECKPOINT_SCHEMA.to_owned(),
        identity: identity(UUID),
        mount_point: "/mnt/\u{fffd}".to_owned(),
        started_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        cursor: Cursor {
            next_bytes: u64::MAX,
            unallocated_done: true,
        },
        steps: 3,
        free_bytes: 2,
        visited_bytes: 1,
        discarded_bytes: BTreeMap::from([("md0".to_owned(), u64::MAX)]),
        active_s: 1.25,
        phase: Phase::Stopped {
            reason: "SIGTERM".to_owned(),
        },
        remark: None,
        left_s: Some(7.5),
        boot_id: Some("one".to_owned()),
    }
}

fn open() -> (tempfile::TempDir, State) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let state = State::open(path.join("lib"), path.join("run")).unwrap();
    (directory, state)
}

#[test]
fn checkpoint_is_found_until_it_is_forgotten() {
    let (_directory, state) = open();
    assert_eq!(state.checkpoint(UUID).unwrap(), None);
    state.save(&checkpoint()).unwrap();
    assert_eq!(state.checkpoint(UUID).unwrap(), Some(checkpoint()));
    let all: Vec<_> = state
        .checkpoints()
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert_eq!(all, [checkpoint()]);
    state.forget(UUID).unwrap();
    state.forget(UUID).unwrap();
    assert_eq!(state.checkpoint(UUID).unwrap(), None);
    assert!(state.checkpoints().is_empty());
}

#[test]
fn copies_and_old_passes_start_over() {
    let mut old = checkpoint();
    old.cursor.next_bytes = 1000;
    let same = old.identity.clone();
    let day = |days: i64| Timestamp::from_second(days * 86_400).unwrap();
    let outdated = |identity: &Identity, size, days| {
        old.outdated(identity, Some(size), day(days), Some("one"))
    };
    // A week later, and once more.
    assert_eq!(outdated(&same, 1000, 14), None);
    assert!(outdated(&same, 1000, 16).unwrap().contains("16 days"));
    assert!(outdated(&same, 999, 1).unwrap().contains("further"));
    // A clock that went back is not a reason.
    assert_eq!(outdated(&same, 1000, -30), None);
    let mut copy = same.clone();
    copy.device.minor += 1;
    assert!(outdated(&copy, 1000, 1).unwrap().contains("7:4"));
    // After a reboot drives may have other names.
    assert_eq!(old.outdated(&copy, Some(1000), day(1), Some("two")), None);
    assert_eq!(old.outdated(&copy, Some(1000), day(1), None), None);
    // A Btrfs gets a new number with each mount.
    copy.device.major = 0;
    assert_eq!(outdated(&copy, 1000, 1), None);
    copy.fs_type = "ext4".to_owned();
    assert!(outdated(&copy, 1000, 1).unwrap().contains("ext4"));
}

#[test]
fn unreadable_checkpoint_names_the_fix_and_can_be_forgotten() {
    let (_directory, state) = open();
    let path = state.state_dir.join(format!("pass-{UUID}.json"));
    let mut other_version = serde_json::to_value(checkpoint()).unwrap();
    other_version["schema"] = "trimtab.trim-checkpoint/2".into();
    let mut other_filesystem = checkpoint();
    other_filesystem.identity.uuid = Some("ffff".to_owned());
    let contents = [
        Vec::new(),
        b"{".to_vec(),
        vec![b' '; usize::try_from(CHECKPOINT_BYTES_MAX).unwrap() + 1],
        serde_json::to_vec(&other_version).unwrap(),
        serde_json::to_vec(&other_filesystem).unwrap(),
        br#"{"schema":"trimtab.trim-checkpoint/1"}"#.to_vec(),
    ];
    for content in contents {
        std::fs::write(&path, content).unwrap();
        let error = state.checkpoint(UUID).unwrap_err().to_string();
        assert!(error.contains("--restart"), "{error}");
        assert!(error.contains("pass-"), "{error}");
        assert!(matches!(state.checkpoints().as_slice(), [Err(_)]));
    }
    state.forget(UUID).unwrap();
    assert_eq!(state.checkpoint(UUID).unwrap(), None);
}

#[test]
fn non_finite_number_is_refused_and_the_old_checkpoint_kept() {
    let (_directory, state) = open();
    state.save(&checkpoint()).unwrap();
    for (active_s, left_s) in [(f64::NAN, None), (1.0, Some(f64::INFINITY))] {
        let non_finite = Checkpoint {
            active_s,
            left_s,
            ..checkpoint()
        };
        state.save(&non_finite).unwrap_err();
    }
    assert_eq!(state.checkpoint(UUID).unwrap(), Some(checkpoint()));
}

#[test]
fn keys_never_lead_out_of_the_directory() {
    let (_directory, state) = open();
    for key in ["", "../x", "a/b", "a\0b", ".", &"x".repeat(101)] {
        assert!(state.checkpoint(key).is_err(), "{key:?}");
        assert!(state.forget(key).is_err(), "{key:?}");
        assert!(state.cancel(key).is_err(), "{key:?}");
        assert!(state.holder(key).is_err(), "{key:?}");
        let hostile = Checkpoint {
            identity: identity(key),
            ..checkpoint()
        };
        assert!(state.save(&hostile).is_err(), "{key:?}");
        assert!(state.lock(&hostile.identity, &[]).is_err(), "{key:?}");
    }
}

#[test]
fn missing_directories_are_empty() {
    let directory = tempfile::tempdir().unwrap();
    let state = State {
        state_dir: directory.path().join("no"),
        run_dir: directory.path().join("neither"),
    };
    assert!(state.checkpoints().is_empty());
    assert_eq!(state.checkpoint(UUID).unwrap(), None);
    assert_eq!(state.holder(UUID).unwrap(), None);
    assert!(!state.cancel_requested(UUID));
    state.forget(UUID).unwrap();
}

#[test]
fn locks_are_all_or_nothing() {
    let (_directory, state) = open();
    let drive = |minor| {
        let number = DeviceNumber { major: 259, minor };
        (format!("nvme{minor}n1"), number)
    };
    let first = state.lock(&identity("a"), &[drive(0), drive(1)]).unwrap();
    // Another filesystem that shares one drive with it gets neither lock.
    match state
        .lock(&identity("b"), &[drive(2), drive(1)])
        .unwrap_err()
    {
        StateError::Busy {
            what,
            pid,
            same_filesystem,
        } => {
            assert_eq!(what, "drive nvme1n1");
            assert_eq!(pid, std::process::id());
            assert!(!same_filesystem);
        }
        error => panic!("{error}"),
    }
    assert_eq!(state.holder("b").unwrap(), None);
    // A second pass on the same filesystem fails because of the filesystem, not of a drive below
    // it.
    match state
        .lock(&identity("a"), &[drive(0), drive(1)])
        .unwrap_err()
    {
        StateError::Busy {
            what,
            same_filesystem,
            ..
        } => {
            assert_eq!(what, format!("filesystem {}", identity("a").key()));
            assert!(same_filesystem);
        }
        error => panic!("{error}"),
    }
    let apart = state.lock(&identity("b"), &[drive(2)]).unwrap();
    // Inherited descriptors keep the lock.
    let inherited = first.for_child().unwrap();
    assert_eq!(inherited.len(), 3);
    drop(first);
    state.lock(&identity("c"), &[drive(0)]).unwrap_err();
    drop(inherited);
    state.lock(&identity("c"), &[drive(0)]).unwrap();
    drop(apart);
}

#[test]
fn checking_a_lock_does_not_make_it_busy() {
    let (_directory, state) = open();
    let looker = state.clone();
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = std::sync::Arc::clone(&done);
    let looking = std::thread::spawn(move || {
        while !flag.load(std::sync::atomic::Ordering::SeqCst) {
            looker.holder("a").unwrap();
        }
    });
    for _ in 0..50 {
        drop(state.lock(&identity("a"), &[]).unwrap());
    }
    done.store(true, std::sync::atomic::Ordering::SeqCst);
    looking.join().unwrap();
}

/// The lock file's directory was emptied while the lock was held: two passes would each hold one.
#[test]
fn lock_on_an_unlinked_file_does_not_count() {
    let (_directory, state) = open();
    let held = state.lock(&identity("a"), &[]).unwrap();
    std::fs::remove_file(state.run_dir.join("fs-a.lock")).unwrap();
    // The old holder cannot be helped; the new lock has a name again.
    let again = state.lock(&identity("a"), &[]).unwrap();
    assert!(state.run_dir.join("fs-a.lock").exists());
    drop((held, again));
}

#[test]
fn audit_log_continues_after_a_torn_line() {
    let (_directory, state) = open();
    state
        .audit(&serde_json::json!({"n": 1, "text": "a\nb"}))
        .unwrap();
    let path = state.state_dir.join("audit.jsonl");
    let mut torn = std::fs::read(&path).unwrap();
    torn.extend_from_slice(br#"{"n":2,"te"#);
    std::fs::write(&path, torn).unwrap();
    state.audit(&serde_json::json!({"n": 3})).unwrap();
    state.audit(&serde_json::json!({"n": 4})).unwrap();
    let log = std::fs::read_to_string(&path).unwrap();
    let numbers: Vec<_> = log
        .lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line)
                .ok()
                .map(|entry| entry["n"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(numbers, [Some(1), None, Some(3), Some(4)]);
    assert!(log.ends_with('\n'));
}

#[test]
fn many_writers_share_the_audit_log() {
    let (_directory, state) = open();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let state = &state;
            scope.spawn(move || {
                for entry in 0..10 {
                    state
                        .audit(&serde_json::json!({"writer": writer, "entry": entry}))
                        .unwrap();
                }
            });
        }
    });
    let log = std::fs::read_to_string(state.state_dir.join("audit.jsonl")).unwrap();
    assert_eq!(log.lines().count(), 40);
    assert!(
        log.lines()
            .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
    );
}

proptest! {
    #[test]
    fn checkpoints_round_trip(
        next_bytes in any::<u64>(),
        steps in any::<u64>(),
        remark in prop::option::of(".{0,40}"),
        mount_point in ".{0,40}",
        tenths in 0u32..1_000_000,
    ) {
        let written = Checkpoint {
            cursor: Cursor { next_bytes, unallocated_done: false },
            steps,
            remark,
            mount_point,
            active_s: f64::from(tenths) / 8.0,
            ..checkpoint()
        };
        let content = serde_json::to_vec_pretty(&written).unwrap();
        prop_assert_eq!(Checkpoint::parse(&content).unwrap(), written);
    }

    #[test]
    fn a_truncated_checkpoint_is_an_error(cut in 0.0..1.0f64) {
        let content = serde_json::to_vec_pretty(&checkpoint()).unwrap();
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
        let len = (content.len() as f64 * cut) as usize;
        prop_assert!(Checkpoint::parse(&content[..len]).is_err());
    }
}
