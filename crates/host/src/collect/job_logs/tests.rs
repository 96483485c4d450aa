//! Tests with the logs of made-up hosts.

use super::*;
use crate::source::{self, Stat};
use std::collections::BTreeMap;

mod hosts;

/// `Nov  2 06:47:01 h CRON[2]: (root) CMD (/sbin/fstrim -a)` and a line ending, compressed by gzip.
const PACKED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xf3\xcb\x2f\x53\x50\x30\x52\x30\x30\xb3\x32\x31\xb7\x32\x30\x54\xc8\x50\x70\x0e\xf2\xf7\x8b\x36\x8a\xb5\x52\xd0\x28\xca\xcf\x2f\xd1\x54\x70\xf6\x75\x51\xd0\xd0\x2f\x4e\xca\xcc\xd3\x4f\x2b\x2e\x29\xca\xcc\x55\xd0\x4d\xd4\xe4\x02\x00\xeb\x3b\x95\x4e\x38\x00\x00\x00";

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A running host: files in its `var/log`, with the day in November 2026 on which they were last
/// written.
struct Fake {
    files: BTreeMap<&'static str, (i64, Result<Vec<u8>, Unread>)>,
    journal: Result<Vec<u8>, Unread>,
}

impl Fake {
    fn new() -> Self {
        Self {
            files: BTreeMap::new(),
            journal: Err(Unread::NotFound),
        }
    }

    fn file(mut self, name: &'static str, day: i64, content: impl AsRef<[u8]>) -> Self {
        self.files
            .insert(name, (day, Ok(content.as_ref().to_vec())));
        self
    }

    fn unread(mut self, name: &'static str, unread: Unread) -> Self {
        self.files.insert(name, (20, Err(unread)));
        self
    }

    fn journal(mut self, answer: Result<&str, Unread>) -> Self {
        self.journal = answer.map(|text| text.as_bytes().to_vec());
        self
    }

    fn of(&self, path: &str) -> Result<&(i64, Result<Vec<u8>, Unread>), Unread> {
        let name = path.strip_prefix("var/log/");
        name.and_then(|name| self.files.get(name))
            .ok_or(Unread::NotFound)
    }
}

impl Source for Fake {
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        let bytes = self.of(path)?.1.clone()?;
        if bytes.len() > max_bytes {
            return Err(Unread::TooLarge(max_bytes));
        }
        Ok(bytes)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, Unread> {
        assert_eq!(path, "var/log");
        if self.files.is_empty() {
            return Err(Unread::NotFound);
        }
        Ok(self.files.keys().map(|&name| name.to_owned()).collect())
    }

    fn link(&self, _: &str) -> Result<String, Unread> {
        Err(Unread::NotFound)
    }

    fn stat(&self, path: &str) -> Result<Stat, Unread> {
        let (day, _) = self.of(path)?;
        let first = at("2026-11-01T00:00:00Z").as_second();
        Ok(Stat {
            kind: source::Kind::File,
            mode: 0o640,
            mtime_s: first + (day - 1) * 86_400 + 43_200,
            size_bytes: 1,
        })
    }

    fn command(&self, command: &Command) -> Result<Vec<u8>, Unread> {
        let Command::Journal { units, .. } = command else {
            panic!("{command:?}");
        };
        assert_eq!(units, &["fstrim.service"]);
        self.journal.clone()
    }

    fn is_whole(&self) -> bool {
        true
    }
}

struct Found {
    source: Box<dyn Source>,
    jobs: Vec<Job>,
    host_name: Option<String>,
}

fn of_host(
    found: &Found,
    stretch: (Timestamp, Timestamp),
    zone: &TimeZone,
    skipped: &mut Vec<Skipped>,
) -> Vec<Log> {
    let host = JobHost {
        source: found.source.as_ref(),
        jobs: &found.jobs,
        name: found.host_name.as_deref(),
    };
    super::read(&host, stretch, zone, skipped)
}

/// A host with an fstrim timer.
fn found(source: impl Source + 'static) -> Found {
    let jobs = vec![facts::host::Job {
        timer: Some(facts::host::TimerState {
            unit: "fstrim.timer".to_owned(),
            activates: "fstrim.service".to_owned(),
            enabled: None,
            active: None,
            drop_ins: Vec::new(),
        }),
        ..facts::host::Job::new("fstrim.timer".to_owned(), "fstrim.timer".to_owned())
    }];
    Found {
        source: Box::new(source),
        jobs,
        host_name: None,
    }
}

fn november() -> (Timestamp, Timestamp) {
    (at("2026-11-01T00:00:00Z"), at("2026-11-30T00:00:00Z"))
}

/// Returns the sources with their first and last day and number of runs, and the messages about
/// skipped ones.
fn read_of(found: &Found) -> (Vec<String>, Vec<String>) {
    let mut skipped = Vec::new();
    let logs = of_host(found, november(), &TimeZone::UTC, &mut skipped);
    let told = logs.iter().map(|log| {
        let day = |at: Timestamp| at.strftime("%d").to_string();
        format!(
            "{} {}-{} {} of {}",
            log.source,
            day(log.from),
            day(log.until),
            log.count(),
            log.files()
        )
    });
    let skipped = skipped
        .iter()
        .map(|one| format!("{}: {}", one.what, one.why));
    (told.collect(), skipped.collect())
}

fn read(fake: Fake) -> (Vec<String>, Vec<String>) {
    read_of(&found(fake))
}

fn line(day: u32) -> String {
    format!("Nov {day:2} 06:47:01 h CRON[2]: (root) CMD (/sbin/fstrim -a)\n")
}

#[test]
fn rotations_are_one_log() {
    let (logs, skipped) = read(
        Fake::new()
            .file("syslog", 20, line(18) + &line(19))
            .file("syslog.1", 16, line(9) + &line(16))
            .file("syslog.2.gz", 2, PACKED)
            // Last written before the first sample.
            .file("syslog.3.gz", -6, "not looked at")
            .file("cron-20261115", 15, line(9) + &line(12))
            .file("cron-20261108", 8, line(5) + &line(8))
            .file("cron-20261101.xz", 2, "")
            .file("syslogger", 20, "")
            .file("cron.log.1", 20, line(3))
            .file("auth.log", 20, "not looked at"),
    );
    assert_eq!(
        logs,
        [
            "var/log/cron-20261115 05-12 4 of 2",
            "var/log/cron.log.1 03-03 1 of 1",
            "var/log/syslog 02-19 5 of 3"
        ]
    );
    assert_eq!(skipped, ["var/log/cron-20261101.xz: .xz is not read"]);
}

#[test]
fn a_missing_file_splits_a_log() {
    let whole = Fake::new()
        .file("syslog", 20, line(18))
        .file("syslog.2", 9, line(5));
    let (logs, skipped) = read(whole);
    assert_eq!(
        logs,
        [
            "var/log/syslog 18-18 1 of 1",
            "var/log/syslog.2 05-05 1 of 1"
        ]
    );
    assert!(skipped.is_empty(), "{skipped:?}");
    let denied = Fake::new()
        .file("syslog", 20, line(18))
        .unread("syslog.1", Unread::Denied)
        .file("syslog.2", 9, line(5));
    let (logs, skipped) = read(denied);
    assert_eq!(logs.len(), 2);
    assert_eq!(skipped, ["var/log/syslog.1: permission denied"]);
}

#[test]
fn an_unsupported_compression_splits_a_log() {
    let (logs, skipped) = read(
        Fake::new()
            .file("cron", 20, line(16) + &line(19))
            .file("cron-20261115.gz", 15, PACKED)
            .file("cron-20261108.xz", 8, "")
            .file("syslog", 20, line(18))
            .file("syslog.1.zst", 16, "")
            .file("syslog.2", 9, line(5)),
    );
    assert_eq!(
        logs,
        [
            "var/log/cron 16-19 2 of 1",
            "var/log/cron-20261115.gz 02-02 1 of 1",
            "var/log/syslog 18-18 1 of 1",
            "var/log/syslog.2 05-05 1 of 1"
        ]
    );
    assert_eq!(
        skipped,
        [
            "var/log/cron-20261108.xz: .xz is not read",
            "var/log/syslog.1.zst: .zst is not read"
        ]
    );
    // The lines alone do not reveal the gap.
    let (logs, _) = read(
        Fake::new()
            .file("cron-20261110", 10, line(10))
            .file("cron-20261109.xz", 9, "")
            .file("cron-20261108", 8, line(9)),
    );
    assert_eq!(logs.len(), 2, "{logs:?}");
}

#[test]
fn a_missing_date_splits_a_log() {
    let days = |from: u32, until: u32| -> String { (from..=until).map(line).collect() };
    let weeks = || {
        Fake::new()
            .file("cron", 25, days(23, 25))
            .file("cron-20261122", 22, days(16, 22))
    };
    let (logs, _) = read(weeks().file("cron-20261115", 15, days(9, 15)));
    assert_eq!(logs, ["var/log/cron 09-25 17 of 3"]);
    // The file of the 15th is missing.
    let (logs, _) = read(weeks().file("cron-20261108", 8, days(2, 8)));
    assert_eq!(
        logs,
        [
            "var/log/cron 16-25 10 of 2",
            "var/log/cron-20261108 02-08 7 of 1"
        ]
    );
    // The file of the 22nd is missing.
    let (logs, _) = read(Fake::new().file("cron", 25, days(23, 25)).file(
        "cron-20261115",
        15,
        days(9, 15),
    ));
    assert_eq!(logs.len(), 2, "{logs:?}");
    // A log that is rotated every night, with one line per night.
    let nights = Fake::new()
        .file("cron", 10, line(10))
        .file("cron-20261110", 9, line(9));
    let (logs, _) = read(nights.file("cron-20261109", 8, line(8)));
    assert_eq!(logs, ["var/log/cron 08-10 3 of 3"]);
}

#[test]
fn copied_files_are_all_read() {
    // All of them were written after the samples, when they were copied.
    let stretch = (at("2026-11-01T00:00:00Z"), at("2026-11-19T00:00:00Z"));
    for days in [[25, 25, 25], [23, 24, 25], [25, 24, 25]] {
        let fake = Fake::new()
            .file("cron", days[0], line(16) + &line(18))
            .file("cron.1", days[1], line(9) + &line(12))
            .file("cron.2", days[2], line(3));
        let mut skipped = Vec::new();
        let logs = of_host(&found(fake), stretch, &TimeZone::UTC, &mut skipped);
        assert_eq!((logs.len(), logs[0].files(), logs[0].count()), (1, 3, 5));
    }
}

#[test]
fn files_after_the_samples_are_not_read() {
    let fake = Fake::new()
        .unread("syslog", Unread::Failed("never asked".to_owned()))
        .file("syslog.1", 16, line(12))
        .file("syslog.2", 9, line(5));
    let mut skipped = Vec::new();
    let stretch = (at("2026-11-01T00:00:00Z"), at("2026-11-14T00:00:00Z"));
    let logs = of_host(&found(fake), stretch, &TimeZone::UTC, &mut skipped);
    assert_eq!((logs.len(), logs[0].files()), (1, 2));
    assert!(skipped.is_empty(), "{skipped:?}");
}

#[test]
fn files_that_are_not_logs_are_reported_without_their_text() {
    let (logs, skipped) = read(
        Fake::new()
            .file("syslog", 20, "")
            .file("syslog.1", 16, line(9))
            .file("syslog.2.gz", 9, "no gzip")
            .file("cron", 20, [0, 159, 146, 150].repeat(10_000))
            .file("cron.log", 20, "hunter2 ".repeat(10_000))
            .unread(
                "cron.log.1",
                Unread::Failed("not a regular file".to_owned()),
            ),
    );
    // An empty file after a rotation is not a gap.
    assert_eq!(logs, ["var/log/syslog.1 09-09 1 of 1"]);
    assert_eq!(skipped.len(), 5, "{skipped:?}");
    for (told, expected) in skipped.iter().zip([
        "var/log/cron: not one line of syslog",
        "var/log/cron.log: not one line of syslog",
        "var/log/cron.log.1: not a regular file",
        "var/log/syslog: empty",
        "var/log/syslog.2.gz: not one line of syslog",
    ]) {
        assert!(told.starts_with(expected), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn a_line_with_invalid_utf_8_counts() {
    let mut bytes = b"Nov 18 06:47:01 h x: caf\xe9 \xff\n".to_vec();
    bytes.extend(line(19).bytes());
    bytes.push(0xe2);
    let (logs, _) = read(Fake::new().file("syslog", 20, bytes));
    assert_eq!(logs, ["var/log/syslog 18-19 1 of 1"]);
    assert_eq!(logs::text(b"a\xff\xc3\xa4\xe2\x82".to_vec()), "a?\u{e4}??");
}

#[test]
fn the_newest_lines_of_a_long_log_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let logs = directory.path().join("var/log");
    std::fs::create_dir_all(&logs).unwrap();
    let write = |name: &str, text: &str, day: &str| {
        let path = logs.join(name);
        std::fs::write(&path, text).unwrap();
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(at(day).into()).unwrap();
    };
    write("syslog", &(line(18) + &line(19)), "2026-11-20T00:00:00Z");
    write("syslog.1", &(line(8) + &line(9)), "2026-11-10T00:00:00Z");
    write("syslog.2", &line(3), "2026-11-04T00:00:00Z");
    let source = source::Directory::new(directory.path().to_path_buf());
    let (since, until) = november();
    let mut skipped = Vec::new();
    let mut reader = LogReader {
        source: &source,
        zone: &TimeZone::UTC,
        since,
        until,
        bytes_left: line(1).len() * 3 + 10,
        logs: Vec::new(),
        skipped: &mut skipped,
    };
    reader.syslog();
    assert_eq!(reader.logs.len(), 1);
    assert_eq!(reader.logs[0].from, at("2026-11-09T06:47:01Z"));
    assert_eq!(reader.logs[0].count(), 3);
    let told: Vec<&str> = skipped.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(told, ["var/log/syslog.1", "var/log/syslog.2"]);
}

/// Returns the names of the logs that are read within a number of bytes, and the messages about the
/// others.
fn read_within(fake: &Fake, bytes: usize) -> (Vec<String>, Vec<String>) {
    let (since, until) = november();
    let mut skipped = Vec::new();
    let mut reader = LogReader {
        source: fake,
        zone: &TimeZone::UTC,
        since,
        until,
        bytes_left: bytes,
        logs: Vec::new(),
        skipped: &mut skipped,
    };
    reader.syslog();
    let logs = reader.logs.iter().map(|log| log.source.clone()).collect();
    let told = |one: &Skipped| format!("{}: {}", one.what, one.why);
    (logs, skipped.iter().map(told).collect())
}

#[test]
fn logs_with_only_cron_lines_are_read_first() {
    let fake = Fake::new()
        .file("syslog", 20, line(18).repeat(50))
        .file("cron", 20, line(18))
        .file("cron.log", 20, line(17));
    let (logs, skipped) = read_within(&fake, line(1).len() * 2);
    assert_eq!(logs, ["var/log/cron", "var/log/cron.log"]);
    assert_eq!(
        skipped,
        [
            "var/log/syslog: it and what is older: what was read before has 256 MiB, and no more is \
             read"
        ]
    );
}

#[test]
fn unusable_decompressed_data_counts_toward_the_limit() {
    // Its checksum is wrong, which is only known at the end.
    let mut damaged = PACKED.to_vec();
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 1;
    let fake = Fake::new()
        .file("cron.1.gz", 20, &damaged)
        .file("cron.2.gz", 19, &damaged)
        .file("cron.3.gz", 18, &damaged);
    let (logs, skipped) = read_within(&fake, damaged.len() * 2);
    assert!(logs.is_empty());
    assert_eq!(skipped.len(), 3, "{skipped:?}");
    assert!(skipped[2].contains("no more is read"), "{skipped:?}");
}

#[test]
fn missing_parts_of_a_tree_are_reported() {
    let root = tempfile::tempdir().unwrap();
    let tree = || source::Directory::new(root.path().to_path_buf());
    let skipped = || read_of(&found(tree())).1;
    let link = |target: &str, name: &str| {
        std::os::unix::fs::symlink(target, root.path().join(name)).unwrap();
    };
    assert!(skipped().is_empty());
    link("/srv/var", "var");
    assert_eq!(
        skipped(),
        ["var: a link to /srv/var, which is not in this directory"]
    );
    std::fs::create_dir_all(root.path().join("srv/var/log/journal")).unwrap();
    let told = skipped();
    assert!(
        told.len() == 1 && told[0].ends_with("runs are computed"),
        "{told:?}"
    );
    link("../../../mnt/cron", "srv/var/log/cron");
    assert_eq!(
        skipped(),
        ["var/log/cron: a link to ../../../mnt/cron, which is not in this directory"]
    );
    std::fs::create_dir(root.path().join("mnt")).unwrap();
    std::fs::write(root.path().join("mnt/cron"), line(18)).unwrap();
    assert!(skipped().is_empty());
}

#[test]
fn the_journal_of_the_running_host() {
    let entries = "{\"__REALTIME_TIMESTAMP\":\"1794787200000000\",\"MESSAGE_ID\":\"7d4958e842da4a758f6c1cdc7b36dcc5\",\"UNIT\":\"fstrim.service\"}\n";
    let (logs, skipped) = read(
        Fake::new()
            .file("syslog", 20, line(18))
            .journal(Ok(entries)),
    );
    assert_eq!(
        logs,
        [
            "var/log/syslog 18-18 1 of 1",
            "systemd's journal 16-16 1 of 1"
        ]
    );
    assert!(skipped.is_empty(), "{skipped:?}");
    // A missing journal is reported only if there is no other log.
    for answer in [Ok(""), Ok("-- No entries --\n"), Err(Unread::NotFound)] {
        let (logs, skipped) = read(Fake::new().journal(answer.clone()));
        assert!(logs.is_empty());
        assert!(
            skipped.len() == 1 && skipped[0].contains("runs are computed"),
            "{skipped:?}"
        );
        let (_, skipped) = read(Fake::new().file("syslog", 20, line(18)).journal(answer));
        assert!(skipped.is_empty(), "{skipped:?}");
    }
    for answer in [
        Err(Unread::Denied),
        Err(Unread::Timeout(20_000)),
        Err(Unread::TooLarge(9)),
        Ok("{\"hunter2\": 1}\n"),
    ] {
        let mut skipped = Vec::new();
        let found = found(Fake::new().journal(answer));
        assert!(of_host(&found, november(), &TimeZone::UTC, &mut skipped).is_empty());
        assert_eq!(skipped.len(), 1);
        assert!(skipped[0].needs.is_some() && !skipped[0].why.contains("hunter2"));
    }
}

#[test]
fn a_bundle_has_no_logs() {
    let bundle = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../lab/hosts/crypt-allows-discards.tar.zst"
    );
    let bundle = source::open(std::path::Path::new(bundle)).unwrap();
    let host = JobHost {
        source: bundle.as_ref(),
        jobs: &[],
        name: None,
    };
    let mut skipped = Vec::new();
    let logs = super::read(&host, november(), &TimeZone::UTC, &mut skipped);
    assert!(logs.is_empty() && skipped.is_empty());
}
