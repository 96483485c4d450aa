//! Jobs of cron, run-parts and anacron.

use super::files::{ANACRONS, Caller, Files};
use crate::parse::crontab_jobs::JOBS_MAX;
use crate::parse::run_parts::{ignored_name, is_debian_like};
use crate::parse::shell::script::Found;
use crate::parse::{anacrontab, crontab};
use crate::source::Kind;
use facts::host::{Guard, Host, Job, Trigger};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::collections::{BTreeMap, HashSet};

/// Directories of scripts that run-parts runs on all common distributions.
const DIRECTORIES: &[&str] = &[
    "etc/cron.hourly",
    "etc/cron.daily",
    "etc/cron.weekly",
    "etc/cron.monthly",
    "etc/cron.yearly",
];
/// Directories of user crontabs: busybox, Debian, SUSE, cronie. On Alpine the second is a link to the first.
const SPOOLS: &[&str] = &[
    "etc/crontabs",
    "var/spool/cron/crontabs",
    "var/spool/cron/tabs",
    "var/spool/cron",
];
/// Programs that read crontabs. systemd-cron's generator turns them into timers.
const DAEMONS: &[&str] = &[
    "/usr/sbin/cron",
    "/usr/sbin/crond",
    "/usr/bin/crond",
    "/sbin/crond",
    "/usr/sbin/fcron",
    "/usr/bin/fcron",
    "/usr/lib/systemd/system-generators/systemd-crontab-generator",
];
/// More users than have crontabs on any real host.
const CRONTABS_MAX: usize = 5000;
/// More lines than start the same directory on any real host.
const STARTERS_MAX: usize = 100;
/// More timers and lines than start anacron on any real host. Each of its jobs names them.
const ANACRON_STARTERS_MAX: usize = 10;

/// What starts the scripts in a directory.
#[derive(Debug, Default)]
struct Starters {
    triggers: Vec<Trigger>,
    user: Option<String>,
    /// What their lines ask the clock first.
    guards: Vec<Guard>,
    /// Anacrontab lines, with the names of their timestamp files.
    anacron: Vec<(Trigger, String)>,
}

struct Cron<'f, 'r, 's> {
    files: &'f Files<'r, 's>,
    debian_like: bool,
    /// Why cron starts nothing at all.
    stopped_by: Option<String>,
    directories: BTreeMap<String, Starters>,
    jobs: Vec<Job>,
}

/// Reads crontabs, run-parts directories and anacron. `cron_stopped` is why cron starts nothing, if
/// systemd knows; `anacron_at_boot` is whether systemd starts anacron.
pub(super) fn read(
    files: &Files<'_, '_>,
    host: &Host,
    timers: &[Job],
    cron_stopped: Option<String>,
    anacron_at_boot: bool,
) -> Vec<Job> {
    let stopped_by = cron_stopped.or_else(|| {
        (files.any_program(DAEMONS) == Some(false))
            .then(|| "no cron daemon is installed".to_owned())
    });
    let mut cron = Cron {
        files,
        debian_like: is_debian_like(host.platform.distribution.as_deref()),
        stopped_by,
        directories: DIRECTORIES
            .iter()
            .map(|&path| (path.to_owned(), Starters::default()))
            .collect(),
        jobs: Vec::new(),
    };
    cron.crontabs();
    let anacron_lines = cron.anacrontab();
    let owners = cron.directory_jobs();
    let starts = || {
        timers
            .iter()
            .chain(&cron.jobs)
            .filter(|job| starts_anacron(job))
    };
    let started = anacron_at_boot || starts().next().is_some();
    let by_calendar =
        |trigger: &&Trigger| matches!(trigger, Trigger::Cron { .. } | Trigger::Calendar(_));
    let calendars: Vec<Trigger> = starts()
        .flat_map(|job| job.triggers.iter().filter(by_calendar))
        .take(ANACRON_STARTERS_MAX)
        .cloned()
        .collect();
    let of_host = |mut trigger: Trigger| {
        if let Trigger::Anacron { started_by, .. } = &mut trigger {
            started_by.clone_from(&calendars);
        }
        trigger
    };
    let zone = host
        .time_zone
        .as_deref()
        .and_then(|name| TimeZone::get(name).ok())
        .unwrap_or(TimeZone::UTC);
    for (index, directory) in owners {
        for (trigger, identifier) in &cron.directories[&directory].anacron {
            let job = &mut cron.jobs[index];
            if started {
                job.triggers.push(of_host(trigger.clone()));
                job.user.get_or_insert_with(|| "root".to_owned());
            }
            job.last_run = job.last_run.max(stamp(files, identifier, &zone));
        }
    }
    for (mut job, trigger, identifier) in anacron_lines {
        if started {
            job.triggers.push(of_host(trigger));
        }
        job.last_run = stamp(files, &identifier, &zone);
        cron.jobs.push(job);
    }
    cron.jobs
}

/// Whether a job starts anacron to run jobs, rather than only `anacron -u`, which updates
/// timestamps.
fn starts_anacron(job: &Job) -> bool {
    job.is_active()
        && job.commands.iter().any(|command| {
            let arguments = &command.arguments;
            match command.program.as_str() {
                "anacron" => !arguments.iter().any(|argument| argument == "-u"),
                "service" | "invoke-rc.d" | "systemctl" => {
                    arguments.iter().any(|a| a == "start")
                        && arguments
                            .iter()
                            .any(|a| matches!(a.as_str(), "anacron" | "anacron.service"))
                }
                _ => false,
            }
        })
}

/// Returns when anacron last completed a job. The timestamp file contains the date, and is written
/// at that moment.
fn stamp(files: &Files<'_, '_>, identifier: &str, zone: &TimeZone) -> Option<Timestamp> {
    let path = format!("var/spool/anacron/{identifier}");
    let day = anacrontab::parse_stamp(&files.text(&path)?)?;
    let midnight = day.to_zoned(zone.clone()).ok()?.timestamp();
    // A copied file has a different mtime; a day ends within 26 hours in any time zone.
    let written = files
        .reader
        .stat(&path)
        .ok()
        .and_then(|stat| Timestamp::from_second(stat.mtime_s).ok())
        .filter(|at| (0..26 * 3600).contains(&(at.as_second() - midnight.as_second())));
    Some(written.unwrap_or(midnight))
}

/// Returns the directories that a command has run-parts run; SUSE's run-crons runs the standard
/// ones.
fn started_directories(found: &Found) -> Vec<String> {
    let arguments = &found.command.arguments;
    match found.command.program.as_str() {
        "run-parts" => arguments
            .iter()
            .filter(|argument| argument.starts_with("/etc/"))
            .map(|path| path.trim_matches('/').to_owned())
            .take(1)
            .collect(),
        "run-crons" => DIRECTORIES[..4].iter().map(|&p| p.to_owned()).collect(),
        _ => Vec::new(),
    }
}

impl Cron<'_, '_, '_> {
    fn crontabs(&mut self) {
        if let Some(text) = self.files.text("etc/crontab") {
            self.crontab("etc/crontab", &text, None, None);
        }
        for name in self.files.list("etc/cron.d").iter().take(CRONTABS_MAX) {
            let path = format!("etc/cron.d/{name}");
            if self.is_file(&path)
                && let Some(text) = self.files.text(&path)
            {
                self.crontab(&path, &text, None, ignored_name(name, self.debian_like));
            }
        }
        let mut known = HashSet::new();
        for spool in SPOOLS {
            for user in self.files.list(spool).iter().take(CRONTABS_MAX) {
                let path = format!("{spool}/{user}");
                if self.is_file(&path)
                    && let Some(text) = self.files.text(&path)
                {
                    // The same through a link is no second crontab.
                    if known.insert((user.clone(), text.clone())) {
                        self.crontab(&path, &text, Some(user), None);
                    }
                }
            }
        }
    }

    /// Whether the maximum number of jobs has been reached.
    fn is_full(&self) -> bool {
        self.jobs.len() > JOBS_MAX
    }

    /// Whether a path is a file: true unless it is known to be something else.
    fn is_file(&self, path: &str) -> bool {
        self.files
            .reader
            .stat(path)
            .map_or_else(|unread| !unread.is_absent(), |stat| stat.kind == Kind::File)
    }

    fn crontab(&mut self, path: &str, text: &str, owner: Option<&str>, ignored: Option<String>) {
        let kind = match owner {
            Some(_) => crontab::Kind::User,
            None => crontab::Kind::System,
        };
        let crontab = crontab::parse(path, text, kind);
        for error in &crontab.errors {
            self.files.report_line(error);
        }
        let mut held: Vec<String> = self.stopped_by.iter().cloned().chain(ignored).collect();
        if self.debian_like {
            // Debian's cron rejects the whole file; others skip the line.
            if let Some(line) = crontab.errors.first().and_then(|error| error.line) {
                held.push(format!(
                    "cron ignores all of {path} because line {line} is wrong"
                ));
            }
            if crontab.is_cut {
                held.push(format!(
                    "cron ignores {path} because its last line has no line end"
                ));
            }
        }
        for entry in crontab.entries {
            if self.is_full() {
                return;
            }
            let place = format!("{path}:{}", entry.line);
            let trigger = entry.trigger(&place);
            let user = owner.map(str::to_owned).or(entry.user);
            let mut found = self.files.scan_line(&place, &entry.command);
            let started: Vec<(usize, Vec<String>)> = found
                .iter()
                .map(started_directories)
                .enumerate()
                .filter(|(_, directories)| !directories.is_empty())
                .collect();
            for (index, directories) in &started {
                let runs = found[*index].held_back_by.is_none() && held.is_empty();
                for directory in directories {
                    let starters = self.directories.entry(directory.clone()).or_default();
                    if !runs || starters.triggers.len() >= STARTERS_MAX {
                        continue;
                    }
                    starters.user.clone_from(&user);
                    let guard = found[*index].when.clone().map(|condition| Guard {
                        condition,
                        trigger: Some(place.clone()),
                        zone: entry.clock_zone.clone(),
                    });
                    starters.guards.extend(guard);
                    starters
                        .triggers
                        .push(if found[*index].command.program == "run-crons" {
                            by_period(directory, &place)
                        } else {
                            trigger.clone()
                        });
                }
            }
            // A line that only starts directories is a trigger for their scripts, not a job.
            found.retain(|found| started_directories(found).is_empty());
            if found.is_empty() && !started.is_empty() {
                continue;
            }
            let name = match owner {
                Some(owner) => format!("crontab of {owner}:{}", entry.line),
                None => format!("/{place}"),
            };
            let caller = match owner {
                Some(owner) if owner != "root" => Caller::User,
                _ => Caller::Root,
            };
            let work = self.files.work(found, caller);
            let mut job = Job::new(name, place);
            job.user = user;
            job.triggers = vec![trigger];
            job.commands = work.commands;
            job.held_back_by = held.iter().cloned().chain(work.held_back_by).collect();
            job.guards.extend(work.when.map(|condition| Guard {
                zone: entry.clock_zone,
                ..Guard::of_all(condition)
            }));
            self.jobs.push(job);
        }
    }

    /// Returns the anacrontab lines that start no directory, as job, trigger and identifier. Lines
    /// that do are recorded with the directory.
    fn anacrontab(&mut self) -> Vec<(Job, Trigger, String)> {
        let mut jobs = Vec::new();
        let path = "etc/anacrontab";
        if self.files.any_program(ANACRONS) == Some(false) {
            return jobs;
        }
        let Some(text) = self.files.text(path) else {
            return jobs;
        };
        let anacrontab = anacrontab::parse(path, &text);
        for error in &anacrontab.errors {
            self.files.report_line(error);
        }
        for entry in anacrontab.entries {
            let place = format!("{path}:{}", entry.line);
            let trigger = Trigger::Anacron {
                period: entry.period,
                delay_min: entry.delay_min,
                random_delay_min: entry.random_delay_min,
                start_hours: entry.start_hours,
                started_by: Vec::new(),
                identifier: entry.identifier.clone(),
                source: place.clone(),
            };
            let found = self.files.scan_line(&place, &entry.command);
            let mut rest = Vec::new();
            for found in found {
                let directories = started_directories(&found);
                let runs = found.held_back_by.is_none();
                for directory in &directories {
                    let starters = self.directories.entry(directory.clone()).or_default();
                    if runs && starters.anacron.len() < STARTERS_MAX {
                        let guard = found.when.clone().map(|condition| Guard {
                            trigger: Some(place.clone()),
                            ..Guard::of_all(condition)
                        });
                        starters.guards.extend(guard);
                        starters
                            .anacron
                            .push((trigger.clone(), entry.identifier.clone()));
                    }
                }
                if directories.is_empty() {
                    rest.push(found);
                }
            }
            if rest.is_empty() {
                continue;
            }
            let work = self.files.work(rest, Caller::Root);
            let mut job = Job::new(format!("/{place}"), place);
            job.user = Some("root".to_owned());
            job.commands = work.commands;
            job.held_back_by = work.held_back_by;
            job.guards.extend(work.when.map(Guard::of_all));
            jobs.push((job, trigger, entry.identifier));
        }
        jobs
    }

    /// Adds a job for each script in the directories; returns their indices and directories.
    fn directory_jobs(&mut self) -> Vec<(usize, String)> {
        let mut owners = Vec::new();
        for (directory, starters) in &self.directories {
            let short = directory.strip_prefix("etc/").unwrap_or(directory);
            for name in self.files.list(directory) {
                let path = format!("{directory}/{name}");
                if self.is_full() {
                    return owners;
                }
                // Every host has files such as `.placeholder`, and nobody takes them for jobs.
                if name.starts_with('.') || !self.is_file(&path) {
                    continue;
                }
                let stat = self.files.reader.stat(&path).ok();
                let found = self.files.scan_file(&path, stat);
                let work = self.files.work(found, Caller::Root);
                let mut job = Job::new(format!("{short}/{name}"), path);
                job.user.clone_from(&starters.user);
                job.triggers.clone_from(&starters.triggers);
                job.commands = work.commands;
                job.held_back_by
                    .extend(ignored_name(&name, self.debian_like));
                if stat.is_some_and(|stat| stat.mode & 0o111 == 0) {
                    job.held_back_by
                        .push("it is not executable, so run-parts passes over it".to_owned());
                }
                job.held_back_by.extend(work.held_back_by);
                job.guards.clone_from(&starters.guards);
                job.guards.extend(work.when.map(Guard::of_all));
                owners.push((self.jobs.len(), directory.clone()));
                self.jobs.push(job);
            }
        }
        owners
    }
}

/// Builds a trigger for SUSE's run-crons, which checks every quarter of an hour which periods have
/// passed since their timestamps; so a directory has a period but no time of day.
fn by_period(directory: &str, place: &str) -> Trigger {
    let identifier = directory.rsplit('/').next().unwrap_or_default().to_owned();
    if identifier == "cron.hourly" {
        return Trigger::Cron {
            spec: "@hourly".to_owned(),
            time_zone: None,
            source: place.to_owned(),
        };
    }
    let period = match identifier.as_str() {
        "cron.weekly" => "@weekly",
        "cron.monthly" => "@monthly",
        _ => "@daily",
    };
    Trigger::Anacron {
        period: period.to_owned(),
        delay_min: 0,
        random_delay_min: None,
        start_hours: None,
        started_by: Vec::new(),
        identifier,
        source: place.to_owned(),
    }
}
