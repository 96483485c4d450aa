//! `--log`: log files that record when jobs ran.

use crate::error::{CommandError, Kind};
use crate::input;
use host::job_logs::LOG_BYTES_MAX;
use host::logs;
use host::parse::shell::script::commands;
use host::source::whole_log;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use schedule::Log;
use std::path::PathBuf;

/// Result of `--log`.
pub struct Given {
    /// Parsed log files.
    pub logs: Vec<Log>,
    /// Whether the host's own logs are read too: unless `none` is given.
    pub reads_host: bool,
}

/// Reads the log files of `--log`.
///
/// # Errors
/// When a file cannot be read.
pub fn given(files: &[PathBuf], zone: &TimeZone) -> Result<Given, CommandError> {
    let is_none = |path: &&PathBuf| path.as_os_str() == "none";
    let mut logs = Vec::new();
    for path in files.iter().filter(|path| !is_none(path)) {
        let name = path.display().to_string();
        let bytes = input::bytes(path, &format!("--log {name}"), LOG_BYTES_MAX as u64)?;
        let text = whole_log(bytes, &mut { LOG_BYTES_MAX }).map(logs::text);
        let text = text.map_err(|unread| {
            CommandError::input(format!("--log {name}: {unread}"))
                .hint("decompress it yourself, and cut it to the time of the samples")
        })?;
        // Lines without a year are dated backwards from the last one.
        let written = std::fs::metadata(path)
            .and_then(|file| file.modified())
            .ok();
        let ended = written
            .and_then(|at| Timestamp::try_from(at).ok())
            .unwrap_or_else(Timestamp::now);
        let log = Log::parse(&name, &text, zone, ended, &commands).map_err(|error| {
            CommandError::because(Kind::Input, error)
                .at("--log")
                .hint("take the output of `journalctl -o json`, or a file of syslog")
        })?;
        logs.push(log);
    }
    Ok(Given {
        logs,
        reads_host: !files.iter().any(|path| is_none(&path)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::explain::jobs;
    use explain::job_runs;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn line(day: u32) -> String {
        format!("Nov {day:2} 06:47:01 h CRON[2]: (root) CMD (/sbin/fstrim -a)\n")
    }

    /// Gzip of `Nov  2 06:47:01 h CRON[2]: (root) CMD (/sbin/fstrim -a)` and a newline.
    const PACKED: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xf3\xcb\x2f\x53\x50\x30\x52\x30\x30\xb3\x32\x31\xb7\x32\x30\x54\xc8\x50\x70\x0e\xf2\xf7\x8b\x36\x8a\xb5\x52\xd0\x28\xca\xcf\x2f\xd1\x54\x70\xf6\x75\x51\xd0\xd0\x2f\x4e\xca\xcc\xd3\x4f\x2b\x2e\x29\xca\xcc\x55\xd0\x4d\xd4\xe4\x02\x00\xeb\x3b\x95\x4e\x38\x00\x00\x00";

    #[test]
    fn a_log_that_is_given_is_read_as_the_host_s() {
        let directory = tempfile::tempdir().unwrap();
        let give = |content: &[u8]| {
            let path = directory.path().join("given");
            std::fs::write(&path, content).unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(at("2026-11-20T00:00:00Z").into())
                .unwrap();
            given(&[path], &TimeZone::UTC).map(|given| given.logs[0].count())
        };
        assert_eq!(give(PACKED).unwrap(), 1);
        let mut bytes = b"Nov 18 06:47:01 h x: caf\xe9 \xff\n".to_vec();
        bytes.extend(line(19).bytes());
        assert_eq!(give(&bytes).unwrap(), 1);
        let error = give(&PACKED[..20]).unwrap_err();
        assert!(error.kind == Kind::Input && error.message.ends_with("is cut"));
        // Unparsed lines may contain passwords.
        for line in [
            "CRON (root) CMD (/bin/mysqldump -phunter2)\n",
            "{\"MESSAGE\":\"(root) CMD (mysqldump -phunter2)\"}\n",
        ] {
            let error = give(line.as_bytes()).unwrap_err();
            let told = format!("{error} {error:?}");
            assert!(!told.contains("hunter2"), "{told}");
            assert!(error.message.contains("given:1"), "{told}");
        }
    }

    #[test]
    fn the_answer_names_the_logs() {
        let read = |name: &str, text: &str| {
            let ended = at("2026-11-20T00:00:00Z");
            Log::parse(name, text, &TimeZone::UTC, ended, &commands).unwrap()
        };
        let logs = [
            Log::joined(vec![read("syslog", &line(18)), read("syslog.1", &line(9))]).unwrap(),
            read("cron.log", &line(18)),
        ];
        let clock = jobs::find("none").unwrap().clock(&TimeZone::UTC);
        let november = (at("2026-11-01T00:00:00Z"), at("2026-11-30T00:00:00Z"));
        let jobs = job_runs::runs(&[], &clock, &logs, november, &mut Vec::new());
        let told = |stretch| job_runs::origin("this host", &logs, &jobs, stretch, &TimeZone::UTC);
        assert_eq!(
            told(november),
            "this host; 2 of their runs were seen in syslog (2 files, 2026-11-09 to 2026-11-18), \
             cron.log (2026-11-18 to 2026-11-18)"
        );
        let december = (at("2026-12-01T00:00:00Z"), at("2026-12-30T00:00:00Z"));
        assert_eq!(told(december), "this host");
        let none = job_runs::origin("this host", &logs, &[], november, &TimeZone::UTC);
        assert!(
            none.starts_with("this host; none of their runs was seen in syslog"),
            "{none}"
        );
    }
}
