use super::*;
use crate::clock::SystemClock;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Instant;

/// Creates a sparse file for direct reads.
fn file(directory: &Path, name: &str, size_bytes: u64) -> PathBuf {
    let path = directory.join(name);
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(size_bytes).unwrap();
    path
}

fn fast(seed: u64) -> DriveProbeOptions {
    DriveProbeOptions {
        reads_per_s: 1000.0,
        seed,
    }
}

fn wait_for(probe: &mut DriveProbe, wanted: usize) -> Vec<Reading> {
    let mut readings = Vec::new();
    let began = Instant::now();
    while readings.len() < wanted && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
        readings.extend(probe.drain().into_iter().filter(|reading| !reading.pending));
    }
    assert!(readings.len() >= wanted, "{} readings", readings.len());
    readings
}

#[test]
fn reads_two_files_and_closes_them() {
    let directory = tempfile::tempdir().unwrap();
    let paths = [
        file(directory.path(), "a", 1 << 20),
        file(directory.path(), "b", 5000),
    ];
    let clock = SystemClock::start();
    let mut probe = DriveProbe::start(&paths, fast(7), clock).unwrap();
    assert_eq!(probe.label(), "4 KiB reads of a, b");
    let readings = wait_for(&mut probe, 40);
    assert!(readings.iter().all(|reading| !reading.failed));
    assert!(readings.iter().all(|reading| reading.at <= clock.elapsed()));
    drop(probe);
    let open = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .filter(|target| target.starts_with(directory.path()))
        .count();
    assert_eq!(open, 0);
}

#[test]
fn failed_read_is_a_reading() {
    // A read beyond the end of a shrunken file returns nothing; a directory cannot be read.
    let directory = tempfile::tempdir().unwrap();
    let error = DriveProbe::start(
        &[directory.path().join("absent")],
        fast(1),
        SystemClock::start(),
    )
    .unwrap_err();
    assert!(error.to_string().contains("absent: No such file"));
    let error = DriveProbe::start(
        &[file(directory.path(), "tiny", 100)],
        fast(1),
        SystemClock::start(),
    )
    .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("tiny: 100 bytes are too few for a read of 4096 bytes"),
        "{error}"
    );
}

#[test]
fn shrunken_file_gives_failures() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "a", 1 << 20);
    let clock = SystemClock::start();
    let mut probe = DriveProbe::start(std::slice::from_ref(&path), fast(3), clock).unwrap();
    std::fs::OpenOptions::new()
        .write(true)
        .custom_flags(0)
        .open(&path)
        .unwrap()
        .set_len(0)
        .unwrap();
    let shrank = clock.elapsed();
    let readings = wait_for(&mut probe, 50);
    let later: Vec<_> = readings.iter().filter(|r| r.at > shrank).collect();
    assert!(!later.is_empty());
    assert!(later.iter().all(|reading| reading.failed));
}

#[test]
fn schedule_is_determined_by_its_seed_and_keeps_its_rate() {
    let schedule = |seed| Schedule {
        random: SplitMix64(seed),
        interval_s: 0.05,
        due: Duration::ZERO,
        blocks: 77,
    };
    let run = |seed| {
        let mut schedule = schedule(seed);
        let reads: Vec<(Duration, u64)> = (0..1000)
            .map(|_| {
                let due = schedule.due;
                (due, schedule.take(due))
            })
            .collect();
        reads
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let reads = run(1);
    assert!(reads.iter().all(|&(_, block)| block < 77));
    // 1000 intervals of uniform jitter: a standard error of 0.9 %.
    let last_s = reads[999].0.as_secs_f64();
    assert!((48.0..52.0).contains(&last_s), "{last_s}");
    // A minute without reads is not made up for.
    let mut late = schedule(1);
    late.take(Duration::from_mins(1));
    assert!(late.due > Duration::from_mins(1));
}

#[test]
fn pending_read_is_reported_until_answered_and_drop_does_not_wait_for_it() {
    // No drive here hangs on demand, so fill a worker's slot by hand.
    let directory = tempfile::tempdir().unwrap();
    let path = file(directory.path(), "a", 1 << 20);
    let clock = SystemClock::start();
    let slow = DriveProbeOptions {
        reads_per_s: 0.01,
        seed: 1,
    };
    let mut probe = DriveProbe::start(&[path], slow, clock).unwrap();
    let at = clock.elapsed();
    probe.shared.lock().readings.asked(0, at);
    for _ in 0..2 {
        let readings = probe.drain();
        assert_eq!(readings.len(), 1);
        assert!(readings[0].pending && readings[0].at == at);
    }
    probe.shared.lock().threads += 1;
    let began = Instant::now();
    drop(probe);
    assert!(began.elapsed() < Duration::from_secs(10));
}
