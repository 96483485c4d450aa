//! Limits of real loop devices, lowered and restored whatever is killed.

use crate::support::{
    Loop, Process, children_of, helper, is_alive, is_root, is_stopped, signal, until,
};
use rustix::process::Signal;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use trim::limits::{Guard, LimitError, Restored, restore_leftovers};

const MIB: u64 = 1 << 20;
const SYSFS: &str = "/sys";

struct Bench {
    directory: tempfile::TempDir,
    device: Loop,
}

impl Bench {
    /// Returns `None` without root.
    fn new() -> Option<Self> {
        if !is_root() {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let device = Loop::sparse(directory.path(), "image", 64 * MIB);
        Some(Self { directory, device })
    }

    fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    fn guardian(&self) -> Vec<OsString> {
        vec![
            helper().into(),
            "guard".into(),
            self.state().into(),
            SYSFS.into(),
        ]
    }

    fn devices(&self) -> Vec<String> {
        vec![self.device.kernel_name().to_owned()]
    }

    fn lower(&self, bytes: u64) -> Guard {
        self.try_lower(&self.devices(), bytes, self.guardian())
            .unwrap()
    }

    fn try_lower(
        &self,
        devices: &[String],
        bytes: u64,
        guardian: Vec<OsString>,
    ) -> Result<Guard, LimitError> {
        Guard::lower(&self.state(), Path::new(SYSFS), devices, bytes, guardian)
    }

    /// Starts a process that has lowered the limit to 1 MiB; also returns its guardian.
    fn owner(&self) -> (Process, u32) {
        let mut owner = Process::start(&[
            "lower",
            self.state().to_str().unwrap(),
            SYSFS,
            self.device.kernel_name(),
            "1048576",
        ]);
        assert_eq!(owner.line(), "lowered 1");
        assert_eq!(self.device.discard_max_bytes(), MIB);
        let children = children_of(owner.pid());
        assert_eq!(children.len(), 1);
        (owner, children[0])
    }

    /// Leaves a limit of 1 MiB whose owner and guardian were killed.
    fn leave_lowered(&self) {
        let (mut owner, guardian) = self.owner();
        kill(guardian);
        owner.kill();
        assert_eq!(self.device.discard_max_bytes(), MIB);
    }

    fn leftovers(&self) -> Vec<Restored> {
        restore_leftovers(&self.state(), Path::new(SYSFS))
            .unwrap()
            .into_iter()
            .map(|(_, restored)| restored)
            .collect()
    }

    fn journals(&self) -> usize {
        std::fs::read_dir(self.state().join("limits"))
            .unwrap()
            .count()
    }
}

/// Kills a process as `kill -9` does, and waits until it is dead.
fn kill(pid: u32) {
    signal(pid, Signal::KILL);
    until("it is dead", || !is_alive(pid));
}

#[test]
fn limits_are_lowered_and_restored() {
    let Some(bench) = Bench::new() else { return };
    let before = bench.device.discard_max_bytes();
    let highest = bench.device.highest_limit();
    let guard = bench.lower(16 * MIB + 17);
    assert_eq!(bench.device.discard_max_bytes(), 16 * MIB);
    let [lowered] = guard.lowered() else {
        panic!("{:?}", guard.lowered());
    };
    assert_eq!(lowered.old_bytes, before);
    assert_eq!(lowered.restorable_bytes, highest);
    assert_eq!(bench.journals(), 1);
    // The journal of a living owner is left alone.
    assert_eq!(bench.leftovers(), []);
    assert_eq!(bench.device.discard_max_bytes(), 16 * MIB);
    let restored = guard.restore().unwrap();
    assert_eq!(bench.device.discard_max_bytes(), highest);
    assert_eq!(restored.len(), 1);
    let expected = if highest == before {
        Restored::Restored
    } else {
        Restored::Nearest {
            found_bytes: highest,
        }
    };
    assert_eq!(restored[0].1, expected);
    assert_eq!(bench.journals(), 0);

    // A value that can be written is restored exactly.
    let guard = bench.lower(MIB);
    assert_eq!(guard.restore().unwrap()[0].1, Restored::Restored);
    assert_eq!(bench.device.discard_max_bytes(), highest);

    // Dropping is enough, and a limit that is low enough is left alone.
    drop(bench.lower(MIB));
    assert_eq!(bench.device.discard_max_bytes(), highest);
    let guard = bench.lower(u64::MAX);
    assert_eq!(guard.lowered(), []);
    assert_eq!(guard.restore().unwrap(), []);
}

#[test]
fn a_stopped_guardian_is_continued() {
    let Some(bench) = Bench::new() else { return };
    let highest = bench.device.highest_limit();
    // Started by a thread of this process, like the guardians of other tests.
    let state = bench.state().into_os_string().into_encoded_bytes();
    let is_its_guardian = |pid: &u32| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments.split(|&byte| byte == 0).any(|word| word == state)
    };
    let stop_guardian = || {
        let names = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = names.filter_map(|name| name.file_name().to_str()?.parse().ok());
        let guardian = pids.into_iter().find(is_its_guardian).unwrap();
        signal(guardian, Signal::STOP);
        until("it is stopped", || is_stopped(guardian));
        guardian
    };
    // Between two steps, so that it notices if the pass is killed.
    let mut guard = bench.lower(MIB);
    let guardian = stop_guardian();
    guard.keep_guarded().unwrap();
    until("it runs", || !is_stopped(guardian));
    // And at the end, where it has to put the limit back.
    stop_guardian();
    assert_eq!(guard.restore().unwrap().len(), 1);
    assert_eq!(bench.device.discard_max_bytes(), highest);
}

#[test]
fn the_guardian_restores_when_the_pass_is_killed() {
    let Some(bench) = Bench::new() else { return };
    let highest = bench.device.highest_limit();
    let (mut owner, guardian) = bench.owner();
    // Signals that end the pass do not end its guardian.
    for number in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        signal(guardian, number);
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(is_alive(guardian));
    assert_eq!(bench.device.discard_max_bytes(), MIB);
    owner.kill();
    until("the limit is back", || {
        bench.device.discard_max_bytes() == highest
    });
    until("the guardian is gone", || !is_alive(guardian));
    assert_eq!(bench.journals(), 0);
}

#[test]
fn next_start_restores_when_both_are_killed() {
    let Some(bench) = Bench::new() else { return };
    let highest = bench.device.highest_limit();
    bench.leave_lowered();
    let restored = bench.leftovers();
    assert_eq!(restored.len(), 1);
    assert_ne!(restored[0], Restored::Obsolete);
    assert_eq!(bench.device.discard_max_bytes(), highest);
    assert_eq!(bench.journals(), 0);
    assert_eq!(bench.leftovers(), []);
}

#[test]
fn lowering_again_restores_leftovers_first() {
    let Some(bench) = Bench::new() else { return };
    let highest = bench.device.highest_limit();
    bench.leave_lowered();
    let guard = bench.lower(2 * MIB);
    assert_eq!(guard.lowered()[0].old_bytes, highest, "not the 1 MiB");
    assert_eq!(bench.device.discard_max_bytes(), 2 * MIB);
    guard.restore().unwrap();
    assert_eq!(bench.device.discard_max_bytes(), highest);
}

#[test]
fn limit_lowered_by_a_running_pass_is_not_an_old_value() {
    let Some(bench) = Bench::new() else { return };
    let (owner, _) = bench.owner();
    let error = bench
        .try_lower(&bench.devices(), MIB / 2, bench.guardian())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&format!("process {}", owner.pid())),
        "{error}"
    );
    assert_eq!(bench.device.discard_max_bytes(), MIB);
}

#[test]
fn a_dead_guardian_is_replaced() {
    let Some(bench) = Bench::new() else { return };
    let highest = bench.device.highest_limit();
    let mut guard = bench.lower(MIB);
    let guardian = || {
        children_of(std::process::id())
            .into_iter()
            .chain(tasks())
            .find(|pid| {
                std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|command| {
                    String::from_utf8_lossy(&command).contains(bench.state().to_str().unwrap())
                })
            })
    };
    let first = guardian().expect("a guardian");
    guard.keep_guarded().unwrap();
    assert_eq!(guardian(), Some(first));
    kill(first);
    guard.keep_guarded().unwrap();
    let second = guardian().expect("another guardian");
    assert_ne!(first, second);
    // Without any guardian the pass restores the limit itself.
    kill(second);
    assert_eq!(guard.restore().unwrap().len(), 1);
    assert_eq!(bench.device.discard_max_bytes(), highest);
}

/// Children of this process's other threads, because tests run in threads.
fn tasks() -> Vec<u32> {
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|children| {
            children
                .split_ascii_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<u32>>()
        })
        .collect()
}

#[test]
fn values_changed_by_others_are_left_alone() {
    let Some(bench) = Bench::new() else { return };
    let path = bench.device.sysfs("queue/discard_max_bytes");
    let guard = bench.lower(MIB);
    std::fs::write(&path, (2 * MIB).to_string()).unwrap();
    let restored = guard.restore().unwrap();
    assert_eq!(
        restored[0].1,
        Restored::ChangedByOthers {
            found_bytes: 2 * MIB
        }
    );
    assert_eq!(bench.device.discard_max_bytes(), 2 * MIB);
    assert_eq!(bench.journals(), 0);
}

/// Another drive in the same queue does not keep a limit that was meant for its predecessor.
#[test]
fn reattached_loop_device_gets_its_limit_back() {
    let Some(bench) = Bench::new() else { return };
    if !bench.device.sysfs("diskseq").exists() {
        eprintln!("skipped: no diskseq before kernel 5.15");
        return;
    }
    let highest = bench.device.highest_limit();
    bench.leave_lowered();
    let (device, image) = (&bench.device.device, bench.device.image.to_str().unwrap());
    crate::support::run("losetup", &["-d", device]);
    until("the device is free", || {
        !bench.device.sysfs("loop/backing_file").exists()
    });
    crate::support::run("losetup", &[device, image]);
    let found = bench.device.discard_max_bytes();
    let restored = bench.leftovers();
    assert_eq!(restored.len(), 1);
    if found == MIB {
        assert_ne!(restored[0], Restored::Obsolete);
        assert_eq!(bench.device.discard_max_bytes(), highest);
    } else {
        // Before Linux 6.9 it begins with the limit of its hardware.
        assert_eq!(restored[0], Restored::Obsolete);
        assert_eq!(bench.device.discard_max_bytes(), found);
    }
    assert_eq!(bench.journals(), 0);
}

#[test]
fn nothing_is_lowered_without_journal_and_guardian() {
    let Some(bench) = Bench::new() else { return };
    let before = bench.device.discard_max_bytes();
    let devices = bench.devices();
    let lower = |devices: &[String], guardian: Vec<OsString>| {
        let error = bench.try_lower(devices, MIB, guardian).unwrap_err();
        error.to_string()
    };
    lower(&devices, vec!["/bin/false".into()]);
    lower(&devices, vec!["/nonexistent".into()]);
    assert_eq!(bench.journals(), 0);
    let missing = [devices[0].clone(), "nosuchdrive".to_owned()];
    let error = lower(&missing, bench.guardian());
    assert!(error.contains("nosuchdrive"), "{error}");
    std::fs::write(bench.state().join("limits/hostile.json"), "{}").unwrap();
    let error = lower(&devices, bench.guardian());
    assert!(error.contains("remove the file"), "{error}");
    assert_eq!(bench.device.discard_max_bytes(), before);
}
