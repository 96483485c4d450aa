//! Runs a trial: creates its folder, watches host and servers beside the driver, and judges.

use super::before::{Place, host_key, kernel_settings};
use super::comparable;
use super::document::{SCHEMA, State, TrialDocument};
use super::folder::{self, FolderError};
use super::jobs::{self, Jobs, Within};
use super::judge::{self, Blocks, Outcome};
use super::monitor::{Monitor, Seen, Watch};
use super::race::{RACE_FILE, race};
use super::series::{CLIENT_FILE, Table};
use super::server::{Identity, ServerReader};
use crate::driver::{self, Control, Ended, Progress, Second, Stage, Target, TrialSummary, create};
use crate::host::others::Others;
use crate::host::reading::Reader;
use crate::path_error::{PathError, at};
use crate::track::{PhaseKind, Span, Track};
use crate::validity::{Limits, TrimDebt, judge};
use facts::Skipped;
use facts::host::Host;
use jiff::{SignedDuration, Timestamp};
use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Name of the copy of the track.
pub const TRACK_FILE: &str = "track.toml";
/// Blocks of which drift is judged at most.
const BLOCKS_MAX: usize = 300;

/// What a trial needs.
pub struct Request<'a> {
    /// The track.
    pub track: &'a Track,
    /// Its text, a copy of which is kept.
    pub track_text: &'a str,
    /// The server under load.
    pub target: Target,
    /// Asks the server for its figures; `None` if it is not Elasticsearch or OpenSearch.
    pub server: Option<ServerReader>,
    /// Who the server is.
    pub identity: Identity,
    /// Facts of this host.
    pub host: &'a Host,
    /// The server's place on it.
    pub place: Place,
    /// The host's jobs, if they are known and the server is here.
    pub jobs: Option<&'a dyn Jobs>,
    /// What the drives have written since the last trim, if that is known.
    pub trim_debt: Option<TrimDebt>,
    /// Options of the driver.
    pub options: driver::Options,
    /// Clock and stop flag.
    pub control: Control,
    /// The folder in which the trial's folder is created.
    pub into: &'a Path,
    /// Root directory of the kernel's files: `/`.
    pub root: PathBuf,
    /// Version of trimtab.
    pub tool_version: &'a str,
}

/// Why there is no trial.
#[derive(Debug, Error)]
pub enum TrialError {
    /// The driver cannot run.
    #[error(transparent)]
    Driver(#[from] driver::RunError),
    /// The trial's file cannot be created.
    #[error(transparent)]
    Journal(#[from] driver::JournalError),
    /// The folder cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Something else in the folder cannot be created.
    #[error(transparent)]
    Io(#[from] PathError),
}

/// Returns how long the measured phases are planned to take together, and when they begin; `None` if the track says
/// by counts only.
pub fn planned(track: &Track, from: Timestamp) -> Option<(Timestamp, Timestamp)> {
    let (mut begin, mut at) = (None, from);
    let mut end = from;
    let later = |at: Timestamp, by: Span| {
        let nanos = i64::try_from(by.nanos()).ok()?;
        at.checked_add(SignedDuration::from_nanos(nanos)).ok()
    };
    for phase in &track.phase {
        if let Some(pause) = phase.pause {
            at = later(at, pause)?;
        }
        let until = later(at, phase.duration?)?;
        if phase.kind == PhaseKind::Measured {
            begin.get_or_insert(at);
            end = until;
        }
        at = until;
    }
    Some((begin?, end))
}

/// Returns the jobs that are due within the measured time of a trial that starts now.
pub fn due(track: &Track, jobs: &dyn Jobs, now: Timestamp) -> Option<Within> {
    let (from, until) = planned(track, now)?;
    Some(jobs::within(jobs, from, until))
}

/// Runs a trial in a new folder, and returns the folder with the document in it.
///
/// # Errors
/// If nothing could be measured. What goes wrong after the start is in the document.
pub fn run(
    request: &Request<'_>,
    progress: &mut dyn Progress,
) -> Result<(PathBuf, TrialDocument), TrialError> {
    let started_at = request.control.clock.wall();
    let (id, folder) = folder::create(request.into, started_at)?;
    let mut document = first_document(request, id, started_at);
    let result = run_in(request, &folder, &mut document, progress);
    if let Err(error) = &result {
        document.state = State::Failed;
        document.state_detail = Some(error.to_string());
        document.ended_at = Some(request.control.clock.wall());
        // The error is what is reported.
        let _ = folder::write_document(&folder, &document);
    }
    result.map(|()| (folder, document))
}

fn run_in(
    request: &Request<'_>,
    folder: &Path,
    document: &mut TrialDocument,
    progress: &mut dyn Progress,
) -> Result<(), TrialError> {
    let path = folder.join(TRACK_FILE);
    fs::write(&path, request.track_text).map_err(at(&path))?;
    folder::write_document(folder, document)?;
    let watch = Watch {
        host: Reader::new(request.root.clone(), request.place.watched.clone()),
        others: Others::new(request.root.clone(), &request.place.watched),
        drives: request.place.watched.drives.clone(),
        server: request.server.clone(),
        clock: request.control.clock.clone(),
    };
    let client = Table::create(&folder.join(CLIENT_FILE), &client_columns(request.track))
        .map_err(at(folder))?;
    let monitor = Monitor::start(watch, folder).map_err(at(folder))?;
    let mut recorder = Recorder {
        to: progress,
        monitor: &monitor,
        request,
        client,
        measured: false,
        begun_at: None,
        ended_at: None,
    };
    let out = create(folder)?;
    let outcome = driver::run(
        request.track,
        &request.target,
        &request.options,
        &request.control,
        &mut recorder,
        BufWriter::new(out),
    );
    recorder.end();
    let (begun_at, ended_at) = (recorder.begun_at, recorder.ended_at);
    let client_failure = recorder
        .client
        .failure()
        .map(|error| format!("{CLIENT_FILE} is cut off: {error}"));
    let mut seen = monitor.finish();
    seen.problems.extend(client_failure);
    let summary = outcome?;
    let within = match (request.jobs, begun_at, ended_at) {
        (Some(jobs), Some(from), Some(until)) => Some(jobs::within(jobs, from, until)),
        _ => None,
    };
    finish_document(request, folder, &summary, &seen, within.as_ref(), document);
    // The document is what matters: it comes first. What a full disk does not take is still reported.
    let mut written = folder::write_document(folder, document).map_err(|error| error.to_string());
    if written.is_ok()
        && let Err(error) = write_race(folder, document)
    {
        document.notes.push(format!("{RACE_FILE}: {error}"));
        written = folder::write_document(folder, document).map_err(|error| error.to_string());
    }
    if let Err(error) = written {
        document
            .notes
            .push(format!("what is shown here is in no file: {error}"));
    }
    Ok(())
}

fn first_document(request: &Request<'_>, id: String, started_at: Timestamp) -> TrialDocument {
    let mut environment = request.place.environment.clone();
    let is_local = !request.place.is_elsewhere;
    let settings = kernel_settings(&request.root).into_iter();
    environment.extend(settings.map(|(key, value)| (host_key(&key, is_local), value)));
    let reading = Reader::new(request.root.clone(), request.place.watched.clone());
    if let Some(governor) = reading.read(std::time::Duration::ZERO).governor {
        environment.insert(host_key("governor", is_local), governor);
    }
    environment.insert(
        "driver threads".to_owned(),
        request.options.threads.to_string(),
    );
    environment.insert("trimtab".to_owned(), request.tool_version.to_owned());
    TrialDocument {
        schema: SCHEMA.to_owned(),
        tool_version: request.tool_version.to_owned(),
        id,
        track: request.track.name.clone(),
        track_crc32: format!("{:08x}", crc32fast::hash(request.track_text.as_bytes())),
        target: request.target.to_string(),
        started_at,
        ended_at: None,
        time_zone: request.host.time_zone.clone(),
        state: State::Running,
        state_detail: None,
        environment,
        operations: Vec::new(),
        server: std::collections::BTreeMap::new(),
        host: std::collections::BTreeMap::new(),
        jobs: Vec::new(),
        judgement: None,
        notes: Vec::new(),
    }
}

fn finish_document(
    request: &Request<'_>,
    folder: &Path,
    summary: &TrialSummary,
    seen: &Seen,
    within: Option<&Within>,
    document: &mut TrialDocument,
) {
    document.ended_at = Some(request.control.clock.wall());
    let ended = summary.end.as_ref().map(|end| &end.ended);
    (document.state, document.state_detail) = match ended {
        Some(Ended::Complete) => (State::Complete, None),
        Some(Ended::Stopped) => (State::Stopped, None),
        Some(Ended::Overloaded) => (State::Overloaded, None),
        Some(Ended::WriteFailed(why)) => (
            State::Failed,
            Some(format!("the trial could not be written: {why}")),
        ),
        Some(Ended::Failed(why)) => (State::Failed, Some(why.clone())),
        None => (State::Failed, None),
    };
    document.operations = judge::results(summary);
    document.server = seen.server.clone();
    document.host = judge::host_totals(seen);
    if let Some(within) = within {
        document.jobs.clone_from(&within.runs);
        document.notes.extend(within.unread.iter().map(unproven));
    }
    document.notes.extend(seen.problems.iter().cloned());
    if let Some(end) = &summary.end {
        let failures = end.teardown_failures.iter();
        document
            .notes
            .extend(failures.map(|failure| format!("teardown: {failure}")));
    }
    let blocks = match blocks(folder) {
        Ok(blocks) => blocks,
        Err(error) => {
            document
                .notes
                .push(format!("drift was not judged: {error}"));
            Blocks::new()
        }
    };
    let observed = Outcome {
        track: request.track,
        summary,
        blocks: &blocks,
        seen,
        place: &request.place,
        within,
        trim_debt: request.trim_debt,
        usual_merge_share: usual_merge_share(request.into, document),
    }
    .observed();
    document.judgement = Some(judge(&observed, &Limits::default()));
}

/// What a log that cannot be read leaves open.
fn unproven(log: &Skipped) -> String {
    format!(
        "whether a job ran is not known from {}: {}",
        units::escape(&log.what),
        units::escape(&log.why)
    )
}

/// Earlier trials of which the usual is the median.
const EARLIER_MAX: usize = 10;
/// Earlier trials from which on there is a usual.
const EARLIER_MIN: usize = 3;

/// The median share of time that servers merged in the latest trials of the same track in `into`.
fn usual_merge_share(into: &Path, document: &TrialDocument) -> Option<f64> {
    let mut folders: Vec<PathBuf> = fs::read_dir(into)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    // Their names are times.
    folders.sort_unstable_by(|one, other| other.cmp(one));
    let mut shares: Vec<f64> = folders
        .iter()
        .filter_map(|folder| folder::read_document(folder).ok())
        .filter(|other| {
            other.id != document.id
                && other.track_crc32 == document.track_crc32
                && other.target == document.target
                && other.has_usual_merges()
        })
        .filter_map(|other| {
            let measured_s: f64 = other.measured_s();
            let measured = std::time::Duration::try_from_secs_f64(measured_s).ok()?;
            judge::merge_share(&other.server, measured)
        })
        .take(EARLIER_MAX)
        .collect();
    if shares.len() < EARLIER_MIN {
        return None;
    }
    shares.sort_by(f64::total_cmp);
    Some(shares[shares.len() / 2])
}

/// Writes the trial as Rally would, if it measured anything.
fn write_race(folder: &Path, document: &TrialDocument) -> io::Result<()> {
    if document.operations.is_empty() {
        return Ok(());
    }
    let file = fs::File::create_new(folder.join(RACE_FILE))?;
    race(document).write(BufWriter::new(file))
}

/// Mean latencies of each second, from the trial's file.
fn blocks(folder: &Path) -> Result<Blocks, driver::JournalError> {
    let mut blocks = Blocks::new();
    for one in comparable::seconds(folder)? {
        let means = comparable::blocks_of(&one.seconds, BLOCKS_MAX);
        let means = means
            .iter()
            .filter_map(|block| Some(block.mean_ns()? / 1e3));
        blocks.insert((one.phase, one.operation), means.collect());
    }
    Ok(blocks)
}

/// The driver's columns for each operation.
const CLIENT: [&str; 6] = [
    "requests_per_s",
    "documents_per_s",
    "latency_mean_ms",
    "latency_p99_ms",
    "latency_max_ms",
    "errors_per_s",
];

/// Operations of all phases, in the order in which they come.
fn operations(track: &Track) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for load in track.phase.iter().flat_map(|phase| &phase.load) {
        if !names.contains(&load.operation.as_str()) {
            names.push(&load.operation);
        }
    }
    names
}

fn client_columns(track: &Track) -> Vec<String> {
    operations(track)
        .into_iter()
        .flat_map(|name| CLIENT.iter().map(move |column| format!("{name}_{column}")))
        .collect()
}

/// Passes progress on, and records it.
struct Recorder<'a> {
    to: &'a mut dyn Progress,
    monitor: &'a Monitor,
    request: &'a Request<'a>,
    client: Table,
    measured: bool,
    begun_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
}

impl Recorder<'_> {
    fn end(&mut self) {
        if std::mem::take(&mut self.measured) {
            self.monitor.end();
            self.ended_at = Some(self.request.control.clock.wall());
        }
    }
}

impl Progress for Recorder<'_> {
    fn stage(&mut self, stage: Stage<'_>) {
        match stage {
            Stage::Phase {
                kind: PhaseKind::Measured,
                ..
            } if !self.measured => {
                self.measured = true;
                self.monitor.begin();
                let now = self.request.control.clock.wall();
                self.begun_at.get_or_insert(now);
            }
            Stage::Teardown(_) => self.end(),
            _ => {}
        }
        self.to.stage(stage);
    }

    #[allow(clippy::cast_precision_loss)] // for display
    fn second(&mut self, second: &Second<'_>) {
        let mut row = Vec::new();
        for name in operations(self.request.track) {
            let class = second.classes.iter().find(|class| class.operation == name);
            let Some(class) = class else {
                row.extend([None; CLIENT.len()]);
                continue;
            };
            let ms = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e6);
            let times = &class.latency;
            row.extend([
                Some(second.per_second(times.count())),
                Some(second.per_second(class.documents_written)),
                times.mean_ns().map(|ns| ns / 1e6),
                ms(times.quantile_ns(0.99)),
                ms((times.count() > 0).then(|| times.max_ns())),
                Some(second.per_second(class.failed)),
            ]);
        }
        self.client.row(self.request.control.clock.wall(), &row);
        self.to.second(second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Behaviour, Responder};
    use explain::JobRuns;
    use jiff::tz::TimeZone;

    /// Jobs whose log this process may not read.
    struct Unreadable;

    impl Jobs for Unreadable {
        fn runs(&self, _: Timestamp, _: Timestamp, skipped: &mut Vec<Skipped>) -> Vec<JobRuns> {
            let needs = Some("root, or a group that may read it");
            skipped.push(Skipped::new("var/log/syslog", "permission denied", needs));
            Vec::new()
        }

        fn zone(&self) -> &TimeZone {
            const { &TimeZone::UTC }
        }
    }

    #[test]
    fn a_trial_names_the_logs_that_could_not_be_read() {
        let responder = Responder::start(Behaviour::default());
        let text = r#"
            name = "page"
            seed = 1
            [operation.page]
            kind = "get"
            path = "/"
            [[phase]]
            name = "steady"
            load = [{ operation = "page", clients = 1, count = 5 }]
        "#;
        let folder = tempfile::tempdir().unwrap();
        let request = Request {
            track: &text.parse().unwrap(),
            track_text: text,
            target: Target::new("127.0.0.1", responder.address().port()),
            server: None,
            identity: Identity::default(),
            host: &Host::default(),
            place: Place::default(),
            jobs: Some(&Unreadable),
            trim_debt: None,
            options: driver::Options::default(),
            control: Control::default(),
            into: folder.path(),
            root: PathBuf::from("/"),
            tool_version: "0",
        };
        let (_, document) = run(&request, &mut driver::Silent).unwrap();
        let told = "whether a job ran is not known from var/log/syslog: permission denied";
        assert!(
            document.notes.iter().any(|note| note == told),
            "{:?}",
            document.notes
        );
    }
}
