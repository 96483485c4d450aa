use super::*;

fn limit() -> serde_json::Value {
    serde_json::json!({
        "device": "nvme0n1",
        "old_bytes": 2_199_023_255_040_u64,
        "new_bytes": 16_777_216,
        "restorable_bytes": 4_294_966_784_u64,
        "diskseq": 9,
        "boot_id": "7a",
    })
}

fn journal(limit: &serde_json::Value) -> Vec<u8> {
    serde_json::to_vec(&serde_json::json!({
        "schema": "trimtab.limits-journal/1",
        "owner": {"pid": 1, "start_ticks": 0},
        "limits": [limit],
    }))
    .unwrap()
}

#[test]
fn only_consistent_journals_are_accepted() {
    let read = check_journal(&journal(&limit())).unwrap();
    assert_eq!(read[0].device, "nvme0n1");
    assert_eq!(read[0].diskseq, Some(9));
    let hostile = [
        ("device", serde_json::json!("../../etc")),
        ("device", serde_json::json!("..")),
        ("device", serde_json::json!("")),
        ("device", serde_json::json!("a b")),
        ("new_bytes", serde_json::json!(0)),
        ("new_bytes", serde_json::json!(4_294_966_784_u64)),
        ("old_bytes", serde_json::json!(512)),
        ("old_bytes", serde_json::json!(-1)),
        ("boot_id", serde_json::Value::Null),
    ];
    for (field, value) in hostile {
        let mut limit = limit();
        limit[field] = value.clone();
        assert!(check_journal(&journal(&limit)).is_err(), "{field} {value}");
    }
    let mut other: serde_json::Value = serde_json::from_slice(&journal(&limit())).unwrap();
    other["schema"] = "trimtab.limits-journal/2".into();
    let error = check_journal(other.to_string().as_bytes()).unwrap_err();
    assert!(error.contains("another version"), "{error}");
}

/// Creates a drive in a fake sysfs: plain files, which accept any value.
fn drive(sysfs: &Path, device: &str, max_bytes: u64) -> PathBuf {
    let queue = sysfs.join("block").join(device).join("queue");
    std::fs::create_dir_all(&queue).unwrap();
    for (name, value) in [
        ("discard_max_bytes", max_bytes),
        ("discard_max_hw_bytes", 2_199_023_255_040),
        ("discard_granularity", 512),
    ] {
        std::fs::write(queue.join(name), format!("{value}\n")).unwrap();
    }
    std::fs::write(sysfs.join("block").join(device).join("diskseq"), "9\n").unwrap();
    queue.join("discard_max_bytes")
}

struct Bench {
    directory: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn sysfs(&self) -> PathBuf {
        self.directory.path().join("sys")
    }

    fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    /// Leaves a journal behind as a past pass would; its process no longer exists.
    fn leave(&self, limits: &[serde_json::Value]) -> PathBuf {
        let _ = journal::create_directory(&self.state()).unwrap();
        let path = self.state().join("limits/left.json");
        let content = serde_json::json!({
            "schema": "trimtab.limits-journal/1",
            "owner": {"pid": std::process::id(), "start_ticks": 1},
            "limits": limits,
        });
        std::fs::write(&path, content.to_string()).unwrap();
        path
    }

    fn restore(&self) -> Result<Vec<Restored>, LimitError> {
        restore_leftovers(&self.state(), &self.sysfs())
            .map(|all| all.into_iter().map(|(_, restored)| restored).collect())
    }
}

fn now(mut limit: serde_json::Value) -> serde_json::Value {
    limit["boot_id"] = journal::this_boot().unwrap().into();
    limit
}

#[test]
fn restoring_without_journals_does_nothing() {
    assert_eq!(Bench::new().restore().unwrap(), []);
}

#[test]
fn another_boot_or_another_drive_is_obsolete() {
    let bench = Bench::new();
    let path = drive(&bench.sysfs(), "nvme0n1", 16_777_216);
    let mut other_drive = now(limit());
    other_drive["diskseq"] = 8.into();
    let mut gone = now(limit());
    gone["device"] = "nvme7n1".into();
    let journal = bench.leave(&[limit(), other_drive, gone]);
    assert_eq!(bench.restore().unwrap(), vec![Restored::Obsolete; 3]);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "16777216\n");
    assert!(!journal.exists());
}

/// Like a loop device that was detached and reattached.
#[test]
fn another_drive_in_the_same_queue_does_not_keep_the_limit() {
    use std::os::unix::fs::MetadataExt;
    let bench = Bench::new();
    let path = drive(&bench.sysfs(), "nvme0n1", 16_777_216);
    let mut other_drive = now(limit());
    other_drive["diskseq"] = 8.into();
    let found = std::fs::metadata(bench.sysfs().join("block/nvme0n1")).unwrap();
    other_drive["queue_inode"] = (found.ino() + 1).into();
    bench.leave(std::slice::from_ref(&other_drive));
    assert_eq!(bench.restore().unwrap(), [Restored::Obsolete]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "16777216\n");
    other_drive["queue_inode"] = found.ino().into();
    bench.leave(std::slice::from_ref(&other_drive));
    let found_bytes = 4_294_966_784;
    assert_eq!(
        bench.restore().unwrap(),
        [Restored::Nearest { found_bytes }]
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "4294966784");
    // The new drive has a limit of its own.
    std::fs::write(&path, "1048576").unwrap();
    bench.leave(&[other_drive]);
    assert_eq!(bench.restore().unwrap(), [Restored::Obsolete]);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "1048576");
}

#[test]
fn failed_writes_stay_in_the_journal() {
    let bench = Bench::new();
    let first = drive(&bench.sysfs(), "nvme0n1", 16_777_216);
    let second = drive(&bench.sysfs(), "nvme1n1", 16_777_216);
    std::fs::write(second.with_file_name("discard_granularity"), "what?").unwrap();
    let mut other = now(limit());
    other["device"] = "nvme1n1".into();
    let journal = bench.leave(&[other, now(limit())]);
    let error = bench.restore().unwrap_err().to_string();
    assert!(error.contains("discard_granularity"), "{error}");
    // The other limit was restored nevertheless, and the journal is kept.
    assert_eq!(std::fs::read_to_string(first).unwrap(), "4294966784");
    assert!(journal.exists());
    std::fs::write(second.with_file_name("discard_granularity"), "512").unwrap();
    let nearest = Restored::Nearest {
        found_bytes: 4_294_966_784,
    };
    assert_eq!(bench.restore().unwrap(), [nearest.clone(), nearest]);
    assert_eq!(std::fs::read_to_string(second).unwrap(), "4294966784");
    assert!(!journal.exists());
}

#[test]
fn partition_name_refers_to_its_drive() {
    let bench = Bench::new();
    let sysfs = bench.sysfs();
    drive(&sysfs, "sda", 1 << 30);
    let partition = sysfs.join("block/sda/sda1");
    std::fs::create_dir(&partition).unwrap();
    std::fs::write(partition.join("partition"), "1\n").unwrap();
    std::fs::create_dir_all(sysfs.join("class/block")).unwrap();
    std::os::unix::fs::symlink(&partition, sysfs.join("class/block/sda1")).unwrap();
    let planned = plan(&sysfs, &["sda1".to_owned(), "sda".to_owned()], 1 << 20).unwrap();
    assert_eq!(planned.len(), 1);
    assert_eq!(planned[0].device, "sda");
    assert_eq!(planned[0].new_bytes, 1 << 20);
    assert_eq!(planned[0].restorable_bytes, 1 << 30);
    assert!(plan(&sysfs, &["sdb".to_owned()], 1 << 20).is_err());
    assert!(plan(&sysfs, &["../x".to_owned()], 1 << 20).is_err());
}

#[test]
fn journal_that_names_a_partition_does_not_affect_its_drive() {
    let bench = Bench::new();
    let sysfs = bench.sysfs();
    let path = drive(&sysfs, "sda", 16_777_216);
    let partition = sysfs.join("block/sda/sda1");
    std::fs::create_dir(&partition).unwrap();
    std::fs::write(partition.join("partition"), "1\n").unwrap();
    std::fs::create_dir_all(sysfs.join("class/block")).unwrap();
    std::os::unix::fs::symlink(&partition, sysfs.join("class/block/sda1")).unwrap();
    let mut limit = now(limit());
    limit["device"] = "sda1".into();
    bench.leave(&[limit]);
    assert_eq!(bench.restore().unwrap(), [Restored::Obsolete]);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "16777216\n");
}

#[test]
fn old_kernel_is_reported() {
    let bench = Bench::new();
    let path = drive(&bench.sysfs(), "sda", 1 << 30);
    std::fs::remove_file(path.with_file_name("discard_max_hw_bytes")).unwrap();
    let error = plan(&bench.sysfs(), &["sda".to_owned()], 1 << 20)
        .unwrap_err()
        .to_string();
    assert!(error.contains("before 4.3"), "{error}");
}
