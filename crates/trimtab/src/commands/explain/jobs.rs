//! Whose jobs may be behind a pattern, and when they ran.

use crate::arguments::SourceArgs;
use crate::commands::source;
use crate::error::{CommandError, Kind};
use explain::JobRuns;
use explain::disk_log::MountedWith;
use facts::Skipped;
use facts::host::Job;
use facts::series::{Dating, Series};
use host::Recording;
use host::logs;
use host::parse::crontab_jobs::{self, CRONTAB_BYTES_MAX, name_by_program};
use host::source::static_host_name;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schedule::{Conditions, CronFlavor, Log};
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Runs of one job: one every five minutes for a year, and some more.
const RUNS_MAX: usize = 120_000;
/// Runs of all jobs together.
const RUNS_OF_JOBS_MAX: usize = 2_000_000;
/// The longest list of moments, in bytes.
const EVENTS_BYTES_MAX: u64 = 16 << 20;
/// Runs before and after a series may have to do with it.
const MARGIN: SignedDuration = SignedDuration::from_hours(8 * 24);

/// Jobs, as they are written somewhere.
pub struct Found {
    /// Those that run.
    pub jobs: Vec<Job>,
    /// For people: `live`, `bundle host.tar.zst`; `None` where none were asked for.
    pub from: Option<String>,
    /// The zone of their clock, where it is known.
    pub zone: Option<TimeZone>,
    /// How their cron takes changes of the clock.
    pub cron: CronFlavor,
    /// The name of their host, where it is known.
    pub host_name: Option<String>,
    /// The same, where this one was read.
    pub this_host: Option<String>,
    /// Filesystems of their host, each once.
    pub mounts: Vec<MountedWith>,
    /// What could not be read of them.
    pub skipped: Vec<Skipped>,
    /// Their host, whose logs may tell of their runs; `None` for a crontab by itself.
    pub opened: Option<source::Opened>,
    /// The files of their host that are read, its logs included; none of a bundle.
    pub files: Vec<PathBuf>,
}

impl Found {
    /// A caution where a host or directory was to have jobs, and has none.
    pub fn without_jobs(&self) -> Option<String> {
        let from = self.from.as_ref()?;
        if !self.jobs.is_empty() {
            return None;
        }
        // What the host's reader says where nothing of a schedule is there.
        let unread = self.skipped.iter().find(|skipped| skipped.what == "jobs");
        let why = unread.map_or("none that runs by itself was found", |skipped| &skipped.why);
        let from = units::escape::escape(from);
        Some(format!("no job of {from} was weighed: {why}"))
    }
}

/// Reads the jobs that `--jobs` names.
///
/// # Errors
/// When what it names cannot be read.
pub fn find(named: &str) -> Result<Found, CommandError> {
    match named {
        "none" => Ok(Found {
            jobs: Vec::new(),
            from: None,
            zone: None,
            cron: CronFlavor::Vixie,
            host_name: None,
            this_host: None,
            mounts: Vec::new(),
            skipped: Vec::new(),
            opened: None,
            files: Vec::new(),
        }),
        "/" => of_host(source::live(), Some(Path::new("/")), true),
        path => {
            let path = Path::new(path);
            if path.is_dir() {
                return of_host(source::stored(path, "directory")?, Some(path), false);
            }
            if is_archive(path)? {
                return of_host(source::stored(path, "bundle")?, None, false);
            }
            of_crontab(path)
        }
    }
}

/// `root` is where the host's files are, unless they are in an archive.
fn of_host(
    opened: source::Opened,
    root: Option<&Path>,
    is_live: bool,
) -> Result<Found, CommandError> {
    let arguments = SourceArgs {
        root: None,
        data_path: Vec::new(),
    };
    let (host, recording) = source::read(&opened, &arguments, &[])?;
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
    let host_name = host_name.or_else(|| static_host_name(opened.source.as_ref()));
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

/// The files below `root` that were read, and logs, which are read later.
fn files_of(root: &Path, recording: &Recording) -> Vec<PathBuf> {
    let mut files = Vec::new();
    // A bundle that was unpacked has the host's files below `root/`.
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

/// Whether a file begins as the archives do that bundles are.
fn is_archive(path: &Path) -> Result<bool, CommandError> {
    let mut head = Vec::new();
    open(path)?
        .take(512)
        .read_to_end(&mut head)
        .map_err(|error| unreadable(path, &error))?;
    let zstd = head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
    let gzip = head.starts_with(&[0x1f, 0x8b]);
    Ok(zstd || gzip || head.get(257..262) == Some(b"ustar"))
}

fn open(path: &Path) -> Result<File, CommandError> {
    File::open(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::new(
        Kind::Environment,
        format!("--jobs {}: {error}", path.display()),
    )
    .hint("name a directory, a bundle or a crontab, `/` for this host, or `none`")
}

fn of_crontab(path: &Path) -> Result<Found, CommandError> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    open(path)?
        .take(CRONTAB_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    let text = crontab_jobs::text(bytes).map_err(|found| {
        let expected = "a bundle, or a crontab: lines of five fields and a command";
        CommandError::new(
            Kind::Input,
            format!("--jobs {name}: expected {expected}, found {found}"),
        )
        .hint("name a directory, a bundle or a crontab, `/` for this host, or `none`")
    })?;
    Ok(Found {
        jobs: crontab_jobs::named_by_program(&name, &text).map_err(|error| {
            CommandError::new(Kind::Input, format!("--jobs {error}"))
                .hint("a crontab has lines such as `47 6 * * 7 fstrim -av`")
        })?,
        from: Some(format!("crontab {name}")),
        zone: None,
        cron: CronFlavor::Vixie,
        host_name: None,
        this_host: None,
        mounts: Vec::new(),
        skipped: Vec::new(),
        opened: None,
        files: Vec::new(),
    })
}

/// The stretch of time that runs may have to do with: that of all series that know their days.
pub fn stretch(series: &[Series]) -> Option<(Timestamp, Timestamp)> {
    let dated = || {
        series
            .iter()
            .filter(|series| series.dating != Dating::Undated)
    };
    let first = dated().filter_map(|series| series.times_us.first()).min()?;
    let last = dated().filter_map(|series| series.times_us.last()).max()?;
    let at = |us: i64| Timestamp::from_microsecond(us).ok();
    let (first, last) = (at(*first)?, at(*last)?);
    Some((
        first.checked_sub(MARGIN).unwrap_or(first),
        last.checked_add(MARGIN).unwrap_or(last),
    ))
}

/// The runs of all jobs in a stretch of time: those that logs tell of, else computed ones; and what cannot
/// be told. Where there are no jobs, what the logs tell of are the jobs.
pub fn runs(
    found: &Found,
    logs: &[Log],
    (from, until): (Timestamp, Timestamp),
    zone: &TimeZone,
    skipped: &mut Vec<Skipped>,
) -> Vec<JobRuns> {
    let jobs = &found.jobs;
    let conditions = Conditions {
        cron: found.cron,
        // A thousand jobs that run every minute are to fit into memory.
        runs_max: RUNS_MAX.min(RUNS_OF_JOBS_MAX / jobs.len().max(1)),
        // Their own clock decides, whatever zone the answer is told in.
        ..Conditions::in_zone(found.zone.as_ref().unwrap_or(zone))
    };
    let mut all = Vec::new();
    if jobs.is_empty() {
        let of_logs = schedule::observed_runs(logs, from, until, RUNS_MAX);
        all.extend(of_logs.into_iter().map(|(name, seen)| JobRuns {
            name,
            runs: seen.runs,
            unknown: seen.truncated_at.map(cut_at).into_iter().collect(),
        }));
    }
    for log in logs {
        let unread = log.notes.iter();
        skipped.extend(unread.map(|note| Skipped::new(&log.source, note, None)));
        if log.until < from || log.from > until {
            skipped.push(Skipped::new(
                format!("the runs of {}", log.source),
                format!(
                    "it tells of {} to {}, and no sample is of that time",
                    log.from.strftime("%Y-%m-%d"),
                    log.until.strftime("%Y-%m-%d")
                ),
                Some(
                    "a log of the same time; lines without a year are dated by the file's own time",
                ),
            ));
        }
    }
    for job in jobs {
        match schedule::known_runs(job, jobs, logs, from, until, &conditions) {
            Ok(forecast) => {
                let mut unknown = forecast.unknown;
                unknown.extend(forecast.truncated_at.map(cut_at));
                all.push(JobRuns {
                    name: job.name.clone(),
                    runs: forecast.runs,
                    unknown,
                });
            }
            Err(error) => skipped.push(Skipped::new(
                format!("the runs of {}", job.name),
                error.to_string(),
                None,
            )),
        }
    }
    all
}

/// What is said of a job whose runs are known until then only.
fn cut_at(at: Timestamp) -> String {
    format!(
        "its runs from {} on: it runs too often to be told apart",
        at.strftime("%Y-%m-%d %H:%M UTC")
    )
}

/// The moments of `--events`, a job for each name in them.
///
/// # Errors
/// When one of them cannot be read.
pub fn given(files: &[PathBuf], zone: &TimeZone) -> Result<Vec<JobRuns>, CommandError> {
    let mut all = Vec::new();
    for path in files {
        let (name, bytes) = bytes_of(path, "--events", EVENTS_BYTES_MAX)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let before = error.utf8_error().valid_up_to();
            CommandError::new(
                Kind::Input,
                format!("--events {name}: no UTF-8 at byte {before}"),
            )
            .hint("name a file of text")
        })?;
        let lists = schedule::parse_events(&name, &text, zone)
            .map_err(|error| CommandError::new(Kind::Input, format!("--events: {error}")))?;
        all.extend(lists.into_iter().map(|events| JobRuns {
            name: events.name,
            runs: events.runs,
            unknown: Vec::new(),
        }));
    }
    Ok(all)
}

/// The content of a file that an option names, and its name.
///
/// # Errors
/// When it cannot be read, or is too long.
pub(super) fn bytes_of(
    path: &Path,
    option: &str,
    bytes_max: u64,
) -> Result<(String, Vec<u8>), CommandError> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes))
        .map_err(|error| {
            CommandError::new(Kind::Environment, format!("{option} {name}: {error}"))
                .hint("name a file that is there and that you may read")
        })?;
    if bytes.len() as u64 > bytes_max {
        return Err(CommandError::new(
            Kind::Input,
            format!("{option} {name}: longer than {bytes_max} bytes"),
        ));
    }
    Ok((name, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
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
            told.contains("none that runs by itself was found"),
            "{told}"
        );
        found.jobs = crontab_jobs::named_by_program("c", "@daily x\n").unwrap();
        assert_eq!(found.without_jobs(), None);
        // Nobody asked for any.
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
        let mut skipped = Vec::new();
        let stretch = (at("2026-01-01T00:00:00Z"), at("2026-04-11T00:00:00Z"));
        let all = runs(&found, &[], stretch, &TimeZone::UTC, &mut skipped);
        // A hundred days of 288 runs; the first Sunday is the fourth.
        assert_eq!(all[0].runs.len(), 28_800);
        assert_eq!(all[1].runs[0].earliest, at("2026-01-04T06:47:00Z"));
        assert_eq!(all[1].runs.len(), 14);
        assert!(skipped.is_empty() && all[0].unknown.is_empty());
    }

    #[test]
    fn many_jobs_share_what_may_be_kept() {
        let found = found(&"* * * * * x\n".repeat(400));
        let stretch = (at("2026-01-01T00:00:00Z"), at("2026-04-11T00:00:00Z"));
        let all = runs(&found, &[], stretch, &TimeZone::UTC, &mut Vec::new());
        assert_eq!(all.len(), 400);
        assert!(all.iter().all(|job| job.runs.len() == 5_000));
        assert!(!all[399].unknown.is_empty());
    }

    #[test]
    fn the_clock_of_the_host_decides() {
        let mut found = found("47 6 * * 7 y\n");
        found.zone = schedule::parse_zone("Europe/Berlin").ok();
        let stretch = (at("2026-01-01T00:00:00Z"), at("2026-01-11T00:00:00Z"));
        let all = runs(&found, &[], stretch, &TimeZone::UTC, &mut Vec::new());
        assert_eq!(all[0].runs[0].earliest, at("2026-01-04T05:47:00Z"));
    }

    #[test]
    fn a_job_that_runs_all_the_time_is_cut_and_says_so() {
        let found = found("* * * * * x\n");
        let stretch = (at("2026-01-01T00:00:00Z"), at("2026-12-31T00:00:00Z"));
        let all = runs(&found, &[], stretch, &TimeZone::UTC, &mut Vec::new());
        assert_eq!(all[0].runs.len(), RUNS_MAX);
        assert!(
            all[0].unknown[0].contains("2026-03-25"),
            "{:?}",
            all[0].unknown
        );
    }
}
