//! A host's log files: size limits, joining rotations, and separating hosts.

use crate::runs::in_order;
use crate::text;
use flate2::Compression;
use flate2::write::GzEncoder;
use host::parse::shell::script::commands;
use host::source::{End, read_log};
use host::{Command, Source, Stat, Unread};
use schedule::{HostIdentity, Log, parse_zone};
use std::io::Write;

/// Files separated by a byte 0: rotations, copies of one file, lines of several hosts, a run that
/// continues in the next file, a renamed host.
pub const SEEDS: &[&str] = &[
    "Jan 10 06:47:01 h CRON[1]: (root) CMD (backup)\nJan 10 06:47:01 h CRON[2]: (root) CMD (backup)\n\0Jan 10 06:47:01 h CRON[1]: (root) CMD (backup)\nJan 10 06:47:01 h CRON[2]: (root) CMD (backup)\nJan 11 06:47:01 h CRON[1]: (root) CMD (x)\n",
    "2025-01-10T01:00:00Z db1 CRON[1]: (root) CMD (a)\n2025-01-10T02:00:00Z web1 CRON[1]: (root) CMD (a)\n2025-01-10T05:00:00Z db1.example.org CRON[1]: (root) CMD (a)\n\0<78>1 2025-01-11T06:00:01Z web1 CRON 1 - - (root) CMD (a)\n2025-01-11T07:00:00Z db1 kernel: Linux version 6\n",
    "Jan 10 23:59:00 old systemd[1]: Starting x.service - X\n\0Jan 11 00:01:00 old systemd[1]: x.service: Succeeded.\nJan 11 09:00:00 db1 run-parts[8]: (/etc/cron.weekly) starting y\n",
    "{\"__REALTIME_TIMESTAMP\":\"1717380000000000\",\"_HOSTNAME\":\"db1\",\"SYSLOG_IDENTIFIER\":\"CRON\",\"MESSAGE\":\"(root) CMD (a)\"}\n\0{\"__REALTIME_TIMESTAMP\":\"1717380000000000\",\"_HOSTNAME\":\"b\"}\n",
];

/// A host with a single file.
struct OneFile<'a> {
    path: &'static str,
    bytes: &'a [u8],
}

impl Source for OneFile<'_> {
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        match path {
            _ if path != self.path => Err(Unread::NotFound),
            _ if self.bytes.len() > max_bytes => Err(Unread::TooLarge(max_bytes)),
            _ => Ok(self.bytes.to_vec()),
        }
    }

    fn list(&self, _: &str) -> Result<Vec<String>, Unread> {
        Err(Unread::NotFound)
    }

    fn link(&self, _: &str) -> Result<String, Unread> {
        Err(Unread::NotFound)
    }

    fn stat(&self, _: &str) -> Result<Stat, Unread> {
        Err(Unread::NotFound)
    }

    fn command(&self, _: &Command) -> Result<Vec<u8>, Unread> {
        Err(Unread::NotFound)
    }
}

/// Reads a log file, and returns the result and the remaining byte limit.
fn end(path: &'static str, bytes: &[u8], mut bytes_left: usize) -> (Result<End, Unread>, usize) {
    let end = read_log(&OneFile { path, bytes }, path, &mut bytes_left);
    (end, bytes_left)
}

/// The limit holds for plain and compressed files, and compressed files have the same content.
fn read_within(bytes: &[u8]) {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    let packed = packed.expect("memory can be written to");
    let enough = bytes.len().max(packed.len());
    let (whole, left) = end("log.gz", &packed, enough);
    assert_eq!(whole.map(|end| end.bytes).as_deref(), Ok(bytes));
    assert_eq!(left, enough - bytes.len().max(packed.len()));
    for limit in [0, bytes.len() / 2, enough] {
        for (path, content) in [("log", bytes), ("log.gz", bytes), ("log.gz", &packed[..])] {
            let (end, left) = end(path, content, limit);
            assert!(left <= limit);
            if let Ok(end) = end {
                assert!(end.bytes.len() <= limit);
            }
        }
    }
    // Truncated.
    let (cut, _) = end("log.gz", &packed[..packed.len() / 2], enough);
    assert!(cut.is_err());
}

fn files(bytes: &[u8]) -> Vec<Log> {
    let zone = parse_zone("Europe/Berlin").expect("known");
    let ended = "2025-03-01T00:00:00Z".parse().expect("a time");
    let read = |(index, bytes): (usize, &[u8])| {
        let name = format!("syslog.{index}");
        Log::parse(&name, &text(bytes), &zone, ended, &commands).ok()
    };
    let files = bytes.split(|byte| *byte == 0).take(8).enumerate();
    files.filter_map(read).collect()
}

/// All runs are within the log's time range, and in order.
fn assert_runs_valid(log: &Log) {
    assert!(log.from <= log.until);
    let mut count = 0;
    for events in log.events() {
        in_order(&events.runs);
        count += events.runs.len();
        for run in &events.runs {
            assert!(log.from <= run.earliest && run.earliest <= log.until);
            assert!(run.len_s.is_none_or(|len_s| len_s >= 0.0));
        }
    }
    assert_eq!(count, log.count());
}

/// Duplicates of files add no runs, and filtering by host never adds any.
pub fn run(bytes: &[u8]) {
    read_within(bytes);
    let files = files(bytes);
    let most = files.iter().map(Log::count).max();
    let all: usize = files.iter().map(Log::count).sum();
    let twice = [files.clone(), files.clone()].concat();
    let Some(log) = Log::joined(files) else {
        return;
    };
    assert_runs_valid(&log);
    assert!(most <= Some(log.count()) && log.count() <= all);
    let of_twice = Log::joined(twice).expect("files");
    assert_eq!(of_twice.count(), log.count());
    assert_eq!((of_twice.from, of_twice.until), (log.from, log.until));
    for own in [None, Some("db1"), Some("DB1.example.org"), Some("web1")] {
        let identity = HostIdentity::of(std::slice::from_ref(&log), own);
        let Some(own) = log.clone().restrict_to(&identity) else {
            continue;
        };
        assert_runs_valid(&own);
        assert!(own.count() <= log.count());
        assert!(log.from <= own.from && own.until <= log.until);
        // Filtering again changes nothing.
        assert_eq!(
            own.clone().restrict_to(&identity).map(|log| log.count()),
            Some(own.count())
        );
    }
}

/// Whether the seed has several files with at least one run.
#[cfg(test)]
pub fn reaches(seed: &[u8]) -> bool {
    let files = files(seed);
    files.len() > 1 && Log::joined(files).is_some_and(|log| log.count() > 0)
}
