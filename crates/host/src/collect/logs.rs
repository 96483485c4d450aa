//! Finds the logs on a host that show when jobs ran: syslog files, including rotated ones, and the
//! units to query systemd's journal for.
//!
//! Logs bypass the filter and the recording: they are never put into a bundle, and what parses
//! their lines keeps only the words needed to match a job.

use crate::source::Source;
use crate::unread::Unread;
use facts::host::Job;
use jiff::Timestamp;

/// The directory of syslog files.
pub const DIRECTORY: &str = "var/log";
/// Files that cron messages go to: Red Hat's, the one that Debian administrators can enable, and
/// Debian's default. The default also contains all other messages, so it comes last in case the
/// number of bytes to read is limited.
pub const NAMES: [&str; 3] = ["cron", "cron.log", "syslog"];

/// A log file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// Its path.
    pub path: String,
    /// Its rotation age.
    pub age: Age,
    /// When it was last written to.
    pub written: Option<Timestamp>,
    /// Extension of an unsupported compression format: `.xz`.
    pub compressed: Option<String>,
}

/// Rotation age of a log file, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    /// The file being written to.
    Current,
    /// `.1`, `.2`: the number of newer files.
    Number(u64),
    /// `-20261115`, from logrotate's `dateext`: later dates are newer.
    Date(std::cmp::Reverse<u64>),
}

impl Age {
    /// Parses what follows the log's name; the rest is the compression extension.
    fn of(rest: &str) -> Option<(Self, &str)> {
        let (kind, digits) = match rest.as_bytes().first() {
            None => return Some((Self::Current, "")),
            Some(b'.') => (".", &rest[1..]),
            Some(b'-') => ("-", &rest[1..]),
            Some(_) => return None,
        };
        let len = digits.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, compressed) = digits.split_at(len);
        let number = digits.parse().ok()?;
        let age = match (kind, len) {
            (".", 1..=4) => Self::Number(number),
            ("-", 8..=10) => Self::Date(std::cmp::Reverse(number)),
            _ => return None,
        };
        (compressed.is_empty() || compressed.starts_with('.')).then_some((age, compressed))
    }

    /// Whether the numbers show that a file is missing between this one and the next older one.
    pub fn is_gap(self, older: Self) -> bool {
        match (self, older) {
            (Self::Current, Self::Number(number)) => number > 1,
            (Self::Number(newer), Self::Number(older)) => older > newer + 1,
            _ => false,
        }
    }
}

/// Returns the files of each log in [`NAMES`], newest first.
///
/// # Errors
/// If [`DIRECTORY`] cannot be listed.
pub fn find(source: &dyn Source) -> Result<Vec<Vec<LogFile>>, Unread> {
    let names = source.list(DIRECTORY)?;
    let logs = NAMES.iter().map(|base| {
        let mut files: Vec<LogFile> = names
            .iter()
            .filter_map(|name| {
                let (age, compressed) = name.strip_prefix(base).and_then(Age::of)?;
                let path = format!("{DIRECTORY}/{name}");
                let written_s = source.stat(&path).ok().map(|stat| stat.mtime_s);
                let is_read = matches!(compressed, "" | ".gz");
                Some(LogFile {
                    path,
                    age,
                    written: written_s.and_then(|at_s| Timestamp::from_second(at_s).ok()),
                    compressed: (!is_read).then(|| compressed.to_owned()),
                })
            })
            .collect();
        files.sort_by_key(|file| file.age);
        files
    });
    Ok(logs.collect())
}

/// Returns a message for a link whose target is missing; `None` if the path is not such a link.
pub fn dangling_link(source: &dyn Source, path: &str) -> Option<String> {
    let is_absent = source.stat(path).is_err_and(|unread| unread.is_absent());
    let target = source.link(path).ok().filter(|_| is_absent)?;
    // Links in a tree copied from another host are followed inside the tree.
    let place = if source.is_whole() {
        "there"
    } else {
        "in this directory"
    };
    Some(format!("a link to {target}, which is not {place}"))
}

/// Returns the services that the timers of these jobs activate, sorted, for querying the journal.
pub fn timer_services(jobs: &[Job]) -> Vec<String> {
    let mut units: Vec<String> = jobs
        .iter()
        .filter_map(|job| job.timer.as_ref())
        .map(|timer| timer.activates.clone())
        .filter(|unit| !unit.is_empty())
        .collect();
    units.sort_unstable();
    units.dedup();
    units
}

/// Converts a log to text, with `?` for each byte that is not UTF-8: a line with such bytes may
/// still report a run.
pub fn text(mut bytes: Vec<u8>) -> String {
    let mut from = 0;
    while let Err(error) = std::str::from_utf8(&bytes[from..]) {
        let at = from + error.valid_up_to();
        let len = error.error_len().unwrap_or(bytes.len() - at);
        bytes[at..at + len].fill(b'?');
        from = at + len;
    }
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::MemorySource;

    #[test]
    fn rotated_files_are_sorted_newest_first() {
        let mut source = MemorySource::new();
        for name in [
            "cron-20261108",
            "cron",
            "cron-20261115.gz",
            "syslog.10.gz",
            "syslog.2.xz",
            "syslog",
            "syslog.1",
            // Other logs, and names that logrotate does not produce.
            "cronjobs",
            "syslog.1.gz~",
            "syslog.12345",
            "syslog.",
            "dpkg.log",
        ] {
            source = source.file(&format!("var/log/{name}"), "x");
        }
        let found = find(&source).expect("listed");
        let names = |index: usize| -> Vec<&str> {
            found[index]
                .iter()
                .map(|file| &file.path["var/log/".len()..])
                .collect()
        };
        assert_eq!(names(0), ["cron", "cron-20261115.gz", "cron-20261108"]);
        assert!(names(1).is_empty());
        assert_eq!(
            names(2)[..4],
            ["syslog", "syslog.1", "syslog.1.gz~", "syslog.2.xz"]
        );
        assert_eq!(found[2][3].compressed.as_deref(), Some(".xz"));
        assert_eq!(found[0][1].compressed, None);
        assert_eq!(find(&MemorySource::new()), Err(Unread::NotFound));
    }

    #[test]
    fn a_missing_number_is_a_gap() {
        assert!(!Age::Current.is_gap(Age::Number(1)));
        assert!(Age::Current.is_gap(Age::Number(2)));
        assert!(!Age::Number(1).is_gap(Age::Number(2)));
        assert!(Age::Number(1).is_gap(Age::Number(3)));
    }

    #[test]
    fn bytes_that_are_not_utf_8_become_question_marks() {
        assert_eq!(text(b"a\xff\xc3\xa4\xe2\x82".to_vec()), "a?ä??");
    }
}
