//! Real loop devices and filesystems: needs root, xfsprogs, e2fsprogs and btrfs-progs.

use experiments::{Disk, DiskError, Filesystem, Place, Variant, Workspace};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const LEN_BYTES: u64 = 512 << 20;

struct Folders {
    register: PathBuf,
    held: tempfile::TempDir,
}

fn folders() -> Folders {
    let held = tempfile::tempdir().unwrap();
    Folders {
        register: held.path().join("register"),
        held,
    }
}

impl Folders {
    fn workspace(&self) -> Workspace {
        Workspace::create(&self.register, self.held.path(), "test").unwrap()
    }
}

fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        eprintln!("skipped: needs root");
    }
    is_root
}

/// Half of it is random, the other half one letter: no compression goes below 0.5.
fn half_random(len: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut bytes = Vec::with_capacity(len);
    while bytes.len() < len {
        if (bytes.len() / 4096).is_multiple_of(2) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.extend(state.to_le_bytes());
        } else {
            bytes.extend([b'a'; 8]);
        }
    }
    bytes
}

fn is_loop_of(device: &Path, workspace: &Path) -> bool {
    let name = device.file_name().unwrap();
    fs::read_to_string(Path::new("/sys/block").join(name).join("loop/backing_file"))
        .is_ok_and(|file| Path::new(file.trim_end()).starts_with(workspace))
}

#[test]
fn sizes_are_those_on_the_device() {
    if !is_root() {
        return;
    }
    let data = half_random(64 << 20);
    for (name, expected) in [
        ("xfs", 1.0),
        ("ext4", 1.0),
        ("btrfs", 1.0),
        ("btrfs:lzo", 0.5),
        ("btrfs:zlib", 0.5),
        ("btrfs:zstd", 0.5),
    ] {
        let of = folders();
        let workspace = of.workspace();
        let variant: Variant = name.parse().unwrap();
        let disk = Disk::image(&workspace, LEN_BYTES).unwrap();
        let device = disk.path().to_owned();
        let mut filesystem = Filesystem::make(&workspace, disk, variant).unwrap();
        let mut file = fs::File::create(filesystem.path().join("data")).unwrap();
        file.write_all(&data).unwrap();
        drop(file);
        #[allow(clippy::cast_precision_loss)]
        let ratio = filesystem.written_bytes().unwrap() as f64 / data.len() as f64;
        assert!((ratio - expected).abs() < 0.05, "{name}: {ratio}");
        // Mounted anew it holds the same.
        filesystem.unmount().unwrap();
        filesystem.mount().unwrap();
        assert!(
            fs::read(filesystem.path().join("data")).unwrap() == data,
            "{name}"
        );
        filesystem.release().unwrap();
        assert!(!is_loop_of(&device, workspace.path()));
        let path = workspace.path().to_owned();
        let removed = workspace.remove().unwrap();
        assert!(removed.mounts.is_empty() && removed.loop_devices.is_empty());
        assert!(!path.exists());
    }
}

#[test]
fn a_device_with_data_is_refused_without_a_word_and_one_in_use_always() {
    if !is_root() {
        return;
    }
    let of = folders();
    let workspace = of.workspace();
    // The user's device: a loop device of another's.
    let disk = Disk::image(&workspace, LEN_BYTES).unwrap();
    let device = disk.path().to_owned();
    // It shows no signature, which says little.
    let refused = Place::device(&device, false);
    assert!(
        matches!(refused, Err(DiskError::Unconfirmed { .. })),
        "{refused:?}"
    );
    let mut filesystem = Filesystem::make(&workspace, disk, "ext4".parse().unwrap()).unwrap();
    for may_overwrite in [false, true] {
        let refused = Place::device(&device, may_overwrite);
        assert!(matches!(refused, Err(DiskError::InUse(_))), "{refused:?}");
    }
    filesystem.unmount().unwrap();
    let refused = Place::device(&device, false).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("{} holds ext4; nothing was changed", device.display())
    );
    let claimed = Place::device(&device, true).unwrap();
    // A second experiment does not get it.
    let refused = Place::device(&device, true);
    assert!(matches!(refused, Err(DiskError::InUse(_))), "{refused:?}");
    drop(claimed);
    assert!(Place::device(&device, true).is_ok());
    let file = fs::canonicalize("Cargo.toml");
    let refused = Place::device(&file.unwrap(), true);
    assert!(
        matches!(refused, Err(DiskError::NoDevice(_))),
        "{refused:?}"
    );
    workspace.remove().unwrap();
}

#[test]
fn what_a_crash_leaves_mounted_is_removed_by_the_next_start() {
    if !is_root() {
        return;
    }
    let of = folders();
    let workspace = of.workspace();
    let path = workspace.path().to_owned();
    let disk = Disk::image(&workspace, LEN_BYTES).unwrap();
    let device = disk.path().to_owned();
    let filesystem = Filesystem::make(&workspace, disk, "xfs".parse().unwrap()).unwrap();
    let mount = filesystem.path().to_owned();
    // A process that works on the filesystem keeps it busy.
    let mut server = std::process::Command::new("sleep")
        .arg("600")
        .env("TRIMTAB_EXPERIMENT", &path)
        .current_dir(&mount)
        .spawn()
        .unwrap();
    // spawn() returns within execve(2), when the new program's environment cannot be read yet.
    let environ = format!("/proc/{}/environ", server.id());
    while fs::read(&environ).unwrap().is_empty() {
        std::thread::yield_now();
    }
    // A killed process holds nothing any more.
    drop((workspace, filesystem));
    let mut removed = Workspace::remove_abandoned(&of.register).unwrap();
    let removed = removed.remove(0).unwrap();
    assert_eq!(removed.processes, 1);
    assert_eq!(removed.mounts, [mount]);
    assert_eq!(removed.loop_devices, std::slice::from_ref(&device));
    assert!(!server.wait().unwrap().success());
    assert!(!path.exists());
    // A device that somebody else looks at, such as another test that looks for a free one, is detached after that.
    let give_up = Instant::now() + Duration::from_mins(1);
    while is_loop_of(&device, &path) {
        assert!(
            Instant::now() < give_up,
            "{} is not detached",
            device.display()
        );
        std::thread::yield_now();
    }
}
