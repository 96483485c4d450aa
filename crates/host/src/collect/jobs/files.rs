//! File lookups for jobs: whether the file that a guard tests exists, and what is in a script that
//! a job calls.

use crate::collect::view::View;
use crate::parse::shell::programs::{self, is_called};
use crate::parse::shell::script::{self, Found, Origin, SCRIPT_BYTES_MAX};
use crate::parse::shell::truth::{all, any};
use crate::source::{Kind, Reader, Stat};
use crate::unread::Unread;
use facts::host::{ClockCondition, JobCommand};
use facts::{Host, InputError, Skipped};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashSet};

/// Larger files called by jobs are not scripts.
const CALLED_BYTES_MAX: u64 = 1 << 20;
/// More scripts than jobs call on any real host.
const CALLED_MAX: u32 = 2000;
/// Limit for crontabs, units and scripts together: several times those of the largest host.
const TEXT_BYTES_MAX: usize = 16 << 20;
/// Minimum cost of reading a file, in bytes of its text.
const FILE_COST_BYTES: usize = 64;
/// Paths of the anacron program.
pub(super) const ANACRONS: &[&str] = &["/usr/sbin/anacron", "/usr/bin/anacron"];
/// Where a name without a path is searched, as far as administrators' scripts are concerned.
const LOCAL_PROGRAMS: &[&str] = &["usr/local/sbin", "usr/local/bin"];

/// Access to a host's files for reading jobs.
pub(crate) struct Files<'r, 's> {
    pub reader: &'r Reader<'s>,
    view: View,
    /// Whether systemd is the init system.
    pub systemd: Option<bool>,
    /// Whether the tree contains programs at all; recorded trees often do not.
    has_programs: bool,
    local_programs: Vec<(&'static str, HashSet<String>)>,
    calls_left: Cell<u32>,
    text_bytes_left: Cell<usize>,
    /// Files that could not be read, or not completely.
    skipped: RefCell<BTreeSet<Skipped>>,
}

/// Whose schedule calls a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Caller {
    /// One that only root can write.
    Root,
    /// A user's own crontab.
    User,
}

/// What a job runs, and what keeps it from running.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub commands: Vec<JobCommand>,
    pub held_back_by: Vec<String>,
    /// The condition on the clock without which it does nothing.
    pub when: Option<ClockCondition>,
}

/// Returns the condition under which one of these programs runs that nothing else holds back;
/// `None` if one always does.
fn either(found: &[Found]) -> Option<ClockCondition> {
    let runs = found.iter().filter(|found| found.held_back_by.is_none());
    let when: Vec<ClockCondition> = runs
        .map(|found| found.when.clone())
        .collect::<Option<_>>()?;
    (!when.is_empty()).then(|| any(when))
}

fn both(one: Option<ClockCondition>, other: Option<ClockCondition>) -> Option<ClockCondition> {
    match (one, other) {
        (Some(one), Some(other)) => Some(all(vec![one, other])),
        (one, other) => one.or(other),
    }
}

impl<'r, 's> Files<'r, 's> {
    /// The mounts and the platform must have been read before.
    pub fn new(reader: &'r Reader<'s>, host: &Host) -> Self {
        let has_programs = ["usr/bin", "bin"]
            .iter()
            .any(|path| reader.exists(path) == Some(true));
        let local_programs = LOCAL_PROGRAMS
            .iter()
            .map(|&path| {
                let names = reader.list(path).unwrap_or_default();
                (path, names.into_iter().collect())
            })
            .collect();
        Self {
            reader,
            view: View::of_host(host),
            systemd: host.platform.systemd,
            has_programs,
            local_programs,
            calls_left: Cell::new(CALLED_MAX),
            text_bytes_left: Cell::new(TEXT_BYTES_MAX),
            skipped: RefCell::default(),
        }
    }

    /// Returns the text of a file. Denied paths are reported by the caller for all readers; any
    /// other failure is recorded here. Each read counts toward the limit: a drop-in may belong to
    /// every unit.
    pub fn text(&self, path: &str) -> Option<String> {
        let left = self.text_bytes_left.get();
        if left == 0 {
            let why = format!(
                "at most {} MiB of crontabs, units and scripts are looked at",
                TEXT_BYTES_MAX >> 20
            );
            self.skip(Skipped::new("further files of jobs", why, None));
            return None;
        }
        match self.reader.text(path) {
            Ok(text) => {
                let cost = text.len().max(FILE_COST_BYTES);
                self.text_bytes_left.set(left.saturating_sub(cost));
                Some(text)
            }
            Err(Unread::NotFound | Unread::Denied) => None,
            Err(unread) => {
                self.skip(Skipped::new(path, unread.to_string(), None));
                None
            }
        }
    }

    /// Lists a directory; failures are handled as in [`Self::text`].
    pub fn list(&self, path: &str) -> Vec<String> {
        match self.reader.list(path) {
            Ok(names) => names,
            Err(Unread::NotFound | Unread::Denied) => Vec::new(),
            Err(unread) => {
                self.skip(Skipped::new(path, unread.to_string(), None));
                Vec::new()
            }
        }
    }

    pub fn skip(&self, skipped: Skipped) {
        self.skipped.borrow_mut().insert(skipped);
    }

    /// Records a malformed line.
    pub fn report_line(&self, error: &InputError) {
        let line = error.line.unwrap_or_default();
        let what = format!("line {line} of {}", error.source_name);
        self.skip(Skipped::new(what, error.to_string(), None));
    }

    /// Adds what was skipped to `host`.
    pub fn report(self, host: &mut Host) {
        host.skipped.extend(self.skipped.into_inner());
    }

    /// Evaluates `test -x PATH` and similar tests.
    pub fn test(&self, option: char, path: &str) -> Option<bool> {
        self.look_up(option, path).or_else(|| {
            // If programs are not visible, configuration files are the best sign of anacron: Debian
            // leaves them behind only until the package is purged.
            ANACRONS
                .contains(&path)
                .then(|| self.reader.exists("etc/anacrontab") == Some(true))
        })
    }

    fn look_up(&self, option: char, path: &str) -> Option<bool> {
        let path = path.trim_matches('/');
        // The kernel's links below /proc lead anywhere.
        let is_kernels = path.split('/').next() == Some("proc");
        if is_kernels || path.split('/').any(|name| name == "..") {
            return None;
        }
        match self.reader.stat(path) {
            Ok(Stat { kind, mode, .. }) => Some(match option {
                'x' => mode & 0o111 != 0,
                'd' => kind == Kind::Directory,
                'f' => kind == Kind::File,
                _ => true,
            }),
            Err(unread) => {
                // sd_booted(3): this directory shows whether systemd is running.
                if path == "run/systemd/system" && self.systemd.is_some() {
                    return self.systemd;
                }
                // A tree without programs says nothing about any of them.
                let top = path.split('/').next().unwrap_or_default();
                let top_is_there = match top {
                    "usr" | "bin" | "sbin" | "lib" | "lib64" | "opt" => self.has_programs,
                    _ => self.reader.exists(top) == Some(true),
                };
                (unread.is_absent() && top_is_there).then_some(false)
            }
        }
    }

    /// Whether any of these programs exists.
    pub fn any_program(&self, paths: &[&str]) -> Option<bool> {
        let answers: Vec<Option<bool>> = paths.iter().map(|path| self.test('e', path)).collect();
        if answers.contains(&Some(true)) {
            Some(true)
        } else if answers.contains(&None) {
            None
        } else {
            Some(false)
        }
    }

    /// Finds the programs that a shell command line runs.
    pub fn scan_line(&self, place: &str, command: &str) -> Vec<Found> {
        let test = |option, path: &str| self.test(option, path);
        script::scan(Origin::Line(place), command, &test)
    }

    /// Finds the programs that a command line runs without a shell.
    pub fn scan_exec(&self, place: &str, line: &str) -> Vec<Found> {
        let test = |option, path: &str| self.test(option, path);
        script::scan_exec(Origin::Line(place), line, &test)
    }

    /// Finds the programs that a script runs; empty if it cannot be read.
    pub fn scan_file(&self, path: &str, stat: Option<Stat>) -> Vec<Found> {
        let Some(text) = self.text(path) else {
            return Vec::new();
        };
        let limit = u64::try_from(SCRIPT_BYTES_MAX).unwrap_or(u64::MAX);
        if stat.is_some_and(|stat| stat.size_bytes > limit) && !text.is_empty() {
            let why = format!("scripts are looked at up to {SCRIPT_BYTES_MAX} bytes");
            self.skip(Skipped::new(format!("the rest of {path}"), why, None));
        }
        let probe = |option, path: &str| self.test(option, path);
        script::scan(Origin::File(path), &text, &probe)
    }

    /// Determines what a job runs, including the scripts that it calls, one level deep.
    pub fn work(&self, found: Vec<Found>, caller: Caller) -> Work {
        let mut all: Vec<Found> = Vec::new();
        for mut found in found {
            let inside = self.called(&found, caller);
            // If a called script does nothing on this host, nor does the call.
            if found.held_back_by.is_none() && inside.iter().all(|f| f.held_back_by.is_some()) {
                found.held_back_by = inside.first().and_then(|f| f.held_back_by.clone());
            }
            let why = found.held_back_by.clone();
            let outer = found.when.clone();
            // At a time at which the called script does nothing, nor does the call.
            found.when = both(found.when, either(&inside));
            all.push(found);
            all.extend(inside.into_iter().map(|mut inner| {
                inner.held_back_by = inner.held_back_by.or_else(|| why.clone());
                inner.when = both(outer.clone(), inner.when);
                inner
            }));
        }
        let some_run = all.iter().any(|found| found.held_back_by.is_none());
        let mut work = Work {
            when: either(&all),
            ..Work::default()
        };
        for found in all {
            match found.held_back_by {
                Some(_) if some_run => continue,
                Some(why) if work.held_back_by.is_empty() => work.held_back_by.push(why),
                _ => {}
            }
            work.commands.push(found.command);
        }
        work
    }

    /// Whether a script may be read for its caller: a directory below /opt may belong to a user, who can plant
    /// links to files that only root may read, and a bundle would hold their words.
    fn may_be_read(&self, path: &str, stat: Stat, caller: Caller) -> bool {
        let Ok(resolved) = self.view.resolve(self.reader, &format!("/{path}")) else {
            return false;
        };
        let resolved = resolved.path.trim_start_matches('/');
        if !is_called(resolved) {
            return false;
        }
        let is_open = |directory: &str| match self.reader.stat(directory) {
            Ok(stat) => stat.mode & 0o001 != 0,
            // A bundle holds what was allowed when it was made.
            Err(unread) => unread == Unread::NotRecorded,
        };
        let mut above = resolved.match_indices('/').map(|(at, _)| &resolved[..at]);
        caller == Caller::Root || stat.mode & 0o004 != 0 && above.all(is_open)
    }

    /// Finds the programs in the script that a command calls.
    fn called(&self, found: &Found, caller: Caller) -> Vec<Found> {
        let program = found.command.program.as_str();
        if programs::arguments_matter(program) {
            return Vec::new();
        }
        let local = || {
            let (directory, _) = self
                .local_programs
                .iter()
                .find(|(_, names)| names.contains(program))?;
            Some(format!("{directory}/{program}"))
        };
        let path = match &found.path {
            Some(path) => Some(path.trim_start_matches('/').to_owned()),
            None => local(),
        };
        let Some(path) = path else {
            return Vec::new();
        };
        if !is_called(&path)
            || path.split('/').any(|name| name == "..")
            || self.calls_left.get() == 0
        {
            return Vec::new();
        }
        self.calls_left.set(self.calls_left.get() - 1);
        let stat = match self.reader.stat(&path) {
            Ok(stat) => stat,
            Err(unread) => {
                if let Unread::Failed(why) = unread {
                    self.skip(Skipped::new(path, why, None));
                }
                return Vec::new();
            }
        };
        if stat.kind != Kind::File || stat.size_bytes > CALLED_BYTES_MAX {
            return Vec::new();
        }
        if !self.may_be_read(&path, stat, caller) {
            let why = match caller {
                Caller::Root => "it is a link to a place where no scripts are looked for: not read",
                Caller::User => {
                    "called from a user's crontab, and not open to every user: not read"
                }
            };
            self.skip(Skipped::new(path, why, None));
            return Vec::new();
        }
        // The filter rejects files that are not scripts.
        if matches!(self.reader.bytes(&path), Err(Unread::Failed(_))) {
            return Vec::new();
        }
        self.scan_file(&path, Some(stat))
    }
}
