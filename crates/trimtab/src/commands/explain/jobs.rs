//! Finds the jobs that may cause a pattern, and when they ran.

use crate::commands::source;
use crate::error::{CommandError, Kind};
use crate::input;
use explain::JobRuns;
use explain::disk_log::MountedWith;
use explain::job_runs::Clock;
use facts::host::Job;
use facts::{InputError, Skipped};
use host::Recording;
use host::job_logs::JobHost;
use host::logs;
use host::parse::crontab_jobs::{self, CRONTAB_BYTES_MAX, name_by_program};
use host::source::may_be_archive;
use jiff::tz::TimeZone;
use linux::regular_file;
use schedule::CronFlavor;
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How much of a file tells whether it is an archive, in bytes.
const HEAD_BYTES: u64 = 512;

/// Maximum size of an events file, in bytes.
const EVENTS_BYTES_MAX: u64 = 16 << 20;

/// Jobs found on a host, in a bundle or in a crontab.
pub struct Found {
    /// Active jobs.
    pub jobs: Vec<Job>,
    /// Description of the source for the user, such as `bundle host.tar.zst`; `None` with `--jobs none`.
    pub from: Option<String>,
    /// Time zone of the host's clock, if known.
    pub zone: Option<TimeZone>,
    /// How the host's cron handles clock changes.
    pub cron: CronFlavor,
    /// Name of the host, if known.
    pub host_name: Option<String>,
    /// Name of this host, if the jobs are from it.
    pub this_host: Option<String>,
    /// Filesystems of the host, without duplicates.
    pub mounts: Vec<MountedWith>,
    /// What could not be read.
    pub skipped: Vec<Skipped>,
    /// The host, whose logs may record runs; `None` for a crontab file.
    pub opened: Option<source::Opened>,
    /// Files read from the host, including its logs; empty for a bundle.
    pub files: Vec<PathBuf>,
}

impl Found {
    /// Jobs of which no host is known.
    fn of_no_host(jobs: Vec<Job>, from: Option<String>) -> Self {
        Self {
            jobs,
            from,
            zone: None,
            cron: CronFlavor::Vixie,
            host_name: None,
            this_host: None,
            mounts: Vec::new(),
            skipped: Vec::new(),
            opened: None,
            files: Vec::new(),
        }
    }

    /// The clock that schedules the jobs: in the host's zone if known, else in `zone`.
    pub fn clock(&self, zone: &TimeZone) -> Clock {
        Clock {
            zone: self.zone.as_ref().unwrap_or(zone).clone(),
            cron: self.cron,
        }
    }

    /// The host to read job logs from.
    pub fn job_host(&self) -> Option<JobHost<'_>> {
        self.opened.as_ref().map(|opened| JobHost {
            source: opened.source.as_ref(),
            jobs: &self.jobs,
            name: self.host_name.as_deref(),
        })
    }

    /// A warning if jobs were wanted but none were found.
    pub fn without_jobs(&self) -> Option<String> {
        let from = self.from.as_ref()?;
        if !self.jobs.is_empty() {
            return None;
        }
        // The reader's reason for finding no schedules.
        let unread = self.skipped.iter().find(|skipped| skipped.what == "jobs");
        let none = "no cron job or systemd timer was found";
        let why = unread.map_or(none, |skipped| &skipped.why);
        let from = units::escape::escape(from);
        Some(format!("no job of {from} was considered: {why}"))
    }
}

/// Reads the jobs that `--jobs` names.
///
/// # Errors
/// When the source cannot be read.
pub fn find(named: &str) -> Result<Found, CommandError> {
    match named {
        "none" => Ok(Found::of_no_host(Vec::new(), None)),
        "/" => of_host(source::live(), Some(Path::new("/")), true),
        path => {
            let path = Path::new(path);
            if path.is_dir() {
                return of_host(source::stored(path, "directory")?, Some(path), false);
            }
            let failed = |error| unreadable(path, error);
            let mut file = File::open(path).map_err(failed)?;
            // Of a pipe, what was read is gone.
            let mut head = Vec::new();
            (&mut file)
                .take(HEAD_BYTES)
                .read_to_end(&mut head)
                .map_err(failed)?;
            if may_be_archive(&head) {
                regular_file::open(path).map_err(failed)?;
                return of_host(source::stored(path, "bundle")?, None, false);
            }
            of_crontab(path, head.chain(file))
        }
    }
}

/// Reads the jobs of this host from a bundle of it. When they ran is in the logs of the host as it runs.
///
/// # Errors
/// When the bundle cannot be read.
pub fn of_this_host(bundle: source::Opened) -> Result<Found, CommandError> {
    let found = of_host(bundle, None, true)?;
    Ok(Found {
        opened: Some(source::live()),
        ..found
    })
}

/// `root` is the directory of the host's files; `None` for an archive.
fn of_host(
    opened: source::Opened,
    root: Option<&Path>,
    is_live: bool,
) -> Result<Found, CommandError> {
    let (host, recording) = source::read(&opened, &[], &[], false)?;
    let files = root.map(|root| files_of(root, &recording));
    let zone = host
        .time_zone
        .as_deref()
        .and_then(|name| schedule::parse_zone(name).ok());
    let about_jobs = |skipped: &&Skipped| {
        ["cron", "timer", "systemctl", "systemd", "job"]
            .iter()
            .any(|word| skipped.what.contains(word))
    };
    let (cron, why) = CronFlavor::of_host(&host);
    tracing::debug!("{why}");
    let mut jobs = host.jobs.unwrap_or_default();
    jobs.retain(Job::is_active);
    name_by_program(&mut jobs);
    let mut seen = HashSet::new();
    let mounts = host
        .mounts
        .iter()
        .filter(|mount| seen.insert(mount.device_number))
        .map(MountedWith::from)
        .collect();
    let host_name = host.platform.host_name;
    Ok(Found {
        jobs,
        from: Some(if is_live {
            "this host".to_owned()
        } else {
            opened.label.clone()
        }),
        zone,
        cron,
        this_host: host_name.clone().filter(|_| is_live),
        host_name,
        mounts,
        skipped: host.skipped.iter().filter(about_jobs).cloned().collect(),
        opened: Some(opened),
        files: files.unwrap_or_default(),
    })
}

/// Files below `root` that were read, plus logs, which are read later.
fn files_of(root: &Path, recording: &Recording) -> Vec<PathBuf> {
    let mut files = Vec::new();
    // An unpacked bundle keeps the host's files below `root/`.
    for root in [root.to_owned(), root.join("root")] {
        files.extend(recording.files.keys().map(|path| root.join(path)));
        let logs = root.join(logs::DIRECTORY).read_dir();
        let logs = logs.into_iter().flatten().flatten();
        files.extend(logs.map(|log| log.path()).filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            logs::NAMES.iter().any(|start| name.starts_with(start))
        }));
    }
    files
}

fn unreadable(path: &Path, error: std::io::Error) -> CommandError {
    CommandError::because(Kind::Environment, error)
        .at(&format!("--jobs {}", path.display()))
        .hint("name a directory, a bundle or a crontab, `/` for this host, or `none`")
}

fn of_crontab(path: &Path, content: impl Read) -> Result<Found, CommandError> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    content
        .take(CRONTAB_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, error))?;
    let text = crontab_jobs::text(bytes).map_err(|found| {
        let expected = "a bundle, or a crontab: lines of five fields and a command";
        CommandError::input(format!("--jobs {name}: expected {expected}, found {found}"))
            .hint("name a directory, a bundle or a crontab, `/` for this host, or `none`")
    })?;
    let jobs = crontab_jobs::named_by_program(&name, &text).map_err(|error| {
        let error = unquoted(error, &text);
        CommandError::input(format!("--jobs {error}"))
            .hint("a crontab has lines such as `47 6 * * 7 fstrim -av`")
    })?;
    Ok(Found::of_no_host(jobs, Some(format!("crontab {name}"))))
}

/// Removes the quotation from an error in the first line that is neither blank nor a comment: the file is
/// probably something else, which only root may be allowed to read.
fn unquoted(error: InputError, text: &str) -> InputError {
    let has_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let first = text.lines().position(has_content).unwrap_or(0) + 1;
    if error.line.is_some_and(|line| line > first as u64) {
        return error;
    }
    InputError {
        found: "another text".to_owned(),
        ..error
    }
}

/// Reads the `--events` files, one job for each name in them.
///
/// # Errors
/// When a file cannot be read.
pub fn given(files: &[PathBuf], zone: &TimeZone) -> Result<Vec<JobRuns>, CommandError> {
    let mut all = Vec::new();
    for path in files {
        let name = path.display().to_string();
        let text = input::text(path, &format!("--events {name}"), EVENTS_BYTES_MAX)?;
        let lists = schedule::parse_events(&name, &text, zone)
            .map_err(|error| unquoted(error, &text))
            .map_err(|error| CommandError::because(Kind::Input, error).at("--events"))?;
        all.extend(lists.into_iter().map(|events| JobRuns {
            name: events.name,
            runs: events.runs,
            unknown: Vec::new(),
            by_hand: None,
        }));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use explain::job_runs;
    use jiff::Timestamp;

    #[test]
    fn a_file_that_is_something_else_is_not_quoted() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shadow");
        std::fs::write(&path, "root:$6$hunter2:19000:0:99999:7:::\n").unwrap();
        let error = find(path.to_str().unwrap())
            .err()
            .expect("no crontab")
            .to_string();
        assert!(!error.contains("hunter2"), "{error}");
        let error = given(std::slice::from_ref(&path), &TimeZone::UTC).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        std::fs::write(&path, "5 5 * * * fstrim\n61 * * * * x\n").unwrap();
        let error = find(path.to_str().unwrap())
            .err()
            .expect("a bad minute")
            .to_string();
        assert!(error.contains("61"), "{error}");
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn runs_from(found: &Found, (from, until): (&str, &str)) -> (Vec<JobRuns>, Vec<Skipped>) {
        let clock = found.clock(&TimeZone::UTC);
        let mut skipped = Vec::new();
        let runs = job_runs::runs(
            &found.jobs,
            &clock,
            &[],
            (at(from), at(until)),
            &mut skipped,
        );
        (runs, skipped)
    }

    #[test]
    fn where_no_job_is_found_that_is_a_caution() {
        let mut found = Found {
            from: Some("directory d".to_owned()),
            skipped: vec![Skipped::new("jobs", "nothing of a schedule", Some("x"))],
            ..find("none").unwrap()
        };
        let told = found.without_jobs().unwrap();
        for words in ["directory d", "nothing of a schedule"] {
            assert!(told.contains(words), "{told}");
        }
        found.skipped.clear();
        let told = found.without_jobs().unwrap();
        assert!(
            told.contains("no cron job or systemd timer was found"),
            "{told}"
        );
        found.jobs = crontab_jobs::named_by_program("c", "@daily x\n").unwrap();
        assert_eq!(found.without_jobs(), None);
        // No jobs were wanted.
        assert_eq!(find("none").unwrap().without_jobs(), None);
    }

    fn found(text: &str) -> Found {
        Found {
            jobs: crontab_jobs::named_by_program("c", text).unwrap(),
            ..find("none").unwrap()
        }
    }

    #[test]
    fn runs_of_jobs() {
        let found = found("*/5 * * * * x\n47 6 * * 7 y\n");
        let stretch = ("2026-01-01T00:00:00Z", "2026-04-11T00:00:00Z");
        let (all, skipped) = runs_from(&found, stretch);
        // 100 days of 288 runs; the first Sunday is January 4.
        assert_eq!(all[0].runs.len(), 28_800);
        assert_eq!(all[1].runs[0].earliest, at("2026-01-04T06:47:00Z"));
        assert_eq!(all[1].runs.len(), 14);
        assert!(skipped.is_empty() && all[0].unknown.is_empty());
    }

    #[test]
    fn many_jobs_share_what_may_be_kept() {
        let found = found(&"* * * * * x\n".repeat(400));
        let stretch = ("2026-01-01T00:00:00Z", "2026-04-11T00:00:00Z");
        let (all, _) = runs_from(&found, stretch);
        assert_eq!(all.len(), 400);
        assert!(all.iter().all(|job| job.runs.len() == 1_250));
        assert!(!all[399].unknown.is_empty());
    }

    #[test]
    fn the_clock_of_the_host_decides() {
        let mut found = found("47 6 * * 7 y\n");
        found.zone = schedule::parse_zone("Europe/Berlin").ok();
        let (all, _) = runs_from(&found, ("2026-01-01T00:00:00Z", "2026-01-11T00:00:00Z"));
        assert_eq!(all[0].runs[0].earliest, at("2026-01-04T05:47:00Z"));
    }

    #[test]
    fn a_job_that_runs_all_the_time_is_cut_and_says_so() {
        let found = found("* * * * * x\n");
        let (all, _) = runs_from(&found, ("2026-01-01T00:00:00Z", "2026-12-31T00:00:00Z"));
        assert_eq!(all[0].runs.len(), 120_000);
        assert!(
            all[0].unknown[0].contains("2026-03-25"),
            "{:?}",
            all[0].unknown
        );
    }

    #[test]
    fn the_name_of_a_tree_s_host_is_in_its_files() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let name = || find(root.path().to_str().unwrap()).unwrap().host_name;
        write("etc/crontab", "");
        assert_eq!(name(), None);
        write("etc/hostname", "# set by hand\ndb1\n");
        assert_eq!(name().as_deref(), Some("db1"));
        // The kernel's host name takes precedence.
        write("proc/sys/kernel/hostname", "db2\n");
        assert_eq!(name().as_deref(), Some("db2"));
    }
}
