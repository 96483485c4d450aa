//! Runs `trimtab bench nightly`.

use super::args::{self, Nightly};
use super::facts as recorded;
use super::run::measure;
use crate::answer::{self, AnswerArgs, Delivery};
use crate::commands::explain::known_runs::{KnownRuns, known_runs};
use crate::commands::explain::times::{Zone, zone_named};
use crate::commands::explain::{jobs, logs, overwrite};
use crate::error::{CommandError, Kind};
use crate::input;
use crate::output;
use crate::progress::Draw;
use bench::nightly::{Annotation, AnnotationKind, History, NOTES_FILE, PAGE_FILE, read};
use bench::trial::DOCUMENT_FILE;
use explain::{JobRuns, job_runs};
use facts::Skipped;
use facts::series::Series;
use jiff::tz::TimeZone;
use report::Envelope;
use report::views::bench::{BenchAnswer, Nightly as Drawn, page};
use schedule::{Delays, Run, Seen};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Maximum size of the notes, in bytes.
const NOTES_BYTES_MAX: u64 = 1 << 20;

pub(super) fn run(arguments: &Nightly, quiet: bool) -> Result<ExitCode, CommandError> {
    let Some(history) = &arguments.history else {
        return Err(CommandError::usage("bench nightly needs a HISTORY"));
    };
    let delivery = Delivery::of(&arguments.answer, None)?;
    let (mut left, mut is_good) = (Vec::new(), true);
    let mut failed = None;
    if let (Some(track), Some(target)) = (&arguments.run, &arguments.target) {
        let trial = args::Run {
            tracks: vec![track.clone()],
            target: vec![target.clone()],
            into: history.clone(),
            trials: 1,
            interleave: false,
            threads: 1,
            wait: arguments.wait,
            facts: arguments.facts.clone(),
            access: arguments.access.clone(),
            answer: AnswerArgs::default(),
        };
        // A night without a trial is still a night: the page says what was before.
        match measure(&trial, quiet) {
            Ok(measured) => {
                is_good = measured.ran.is_valid() && !measured.failed;
                left.extend(measured.warnings);
            }
            Err(error) => {
                is_good = false;
                left.push(format!("no trial was added: {}", error.message));
                failed = Some(error);
            }
        }
    }
    // Without any trial there is no page, and why there is none matters.
    let mut envelope =
        update(history, arguments, quiet).map_err(|error| failed.unwrap_or(error))?;
    envelope.warnings.extend(left);
    delivery.give_envelope(&envelope, page)?;
    Ok(ExitCode::from(u8::from(!is_good)))
}

/// Reads the trials of a history, explains them and writes its page.
///
/// # Errors
/// When there is no trial, the jobs or logs that are named cannot be read, or the page cannot be written.
pub(super) fn update(
    folder: &Path,
    arguments: &Nightly,
    quiet: bool,
) -> Result<Envelope<BenchAnswer>, CommandError> {
    let mut draw = Draw::new(quiet);
    let mut skipped = Vec::new();
    draw.show("reading the trials");
    let mut history = read(folder, &mut skipped).map_err(|error| {
        CommandError::because(Kind::Input, error)
            .hint("trimtab bench run --into HISTORY writes such folders")
    })?;
    let found = match &arguments.facts {
        Some(path) if arguments.jobs == "/" => jobs::of_this_host(recorded::open(path)?.0)?,
        _ => jobs::find(&arguments.jobs)?,
    };
    let page_file = folder.join(PAGE_FILE);
    let target = arguments.answer.output.file();
    for target in target.into_iter().chain([page_file.as_path()]) {
        overwrite::refuse(Some(target), inputs(folder, arguments, &history, &found))?;
    }
    let zone = zone(arguments, &history, &found)?;
    let notes = notes(folder, &zone.zone, &mut skipped);
    history.add_notes(notes, &mut skipped);
    let source = folder.display().to_string();
    let series: Vec<Series> = history
        .metrics
        .iter()
        .map(|metric| metric.series(&history.trials, &source))
        .collect();
    let given = logs::given(&arguments.log, found.zone.as_ref().unwrap_or(&zone.zone))?;
    skipped.extend(found.skipped.iter().cloned());
    let KnownRuns { jobs, logs, from } =
        known_runs(&found, given, &zone.zone, &series, &mut draw, &mut skipped);
    let mut warnings: Vec<String> = found
        .without_jobs()
        .filter(|_| jobs.is_empty())
        .into_iter()
        .collect();
    draw.show(&format!(
        "explaining {}",
        units::count(series.len(), "metric")
    ));
    let options = explain::Options {
        zone: zone.zone.clone(),
        host_zone: found.zone.clone(),
        ..explain::Options::default()
    };
    let causes = [&jobs[..], &events(&history)].concat();
    let analysis = explain::explain(&series, &causes, &options);
    warnings.extend(job_runs::caution(&jobs, &logs, &analysis));
    draw.clear();
    let shown = page_file.display().to_string();
    let drawn = Drawn::new(shown, history, analysis, &jobs, from, zone.zone);
    let mut envelope = answer::envelope(source, BenchAnswer::Nightly(Box::new(drawn)))?;
    envelope.skipped = skipped;
    envelope.warnings = warnings;
    let html = page::html(&page(&envelope, false));
    output::write_file(&page_file, html.as_bytes()).map_err(|error| {
        CommandError::because(Kind::Environment, error)
            .at(&page_file.display().to_string())
            .hint("the page is written into HISTORY: name a folder that you may write to")
    })?;
    Ok(envelope)
}

/// The zone asked for, else that of the trials, else that of the jobs' host.
fn zone(arguments: &Nightly, history: &History, found: &jobs::Found) -> Result<Zone, CommandError> {
    let asked = match &arguments.tz {
        Some(name) => Some((zone_named(name, "--tz")?, "--tz")),
        None => history
            .time_zone
            .as_deref()
            .and_then(|name| schedule::parse_zone(name).ok())
            .map(|zone| (zone, "the zone of the trials")),
    };
    Ok(Zone::of(asked, found))
}

/// All files that are read, none of which is to be overwritten.
fn inputs(
    folder: &Path,
    arguments: &Nightly,
    history: &History,
    found: &jobs::Found,
) -> Vec<PathBuf> {
    let trials = history.trials.iter();
    trials
        .map(|night| folder.join(&night.folder).join(DOCUMENT_FILE))
        .chain([folder.join(NOTES_FILE), PathBuf::from(&arguments.jobs)])
        .chain(arguments.log.iter().chain(&arguments.facts).cloned())
        .chain(found.files.iter().cloned())
        .collect()
}

/// Reads the notes by hand. A page without them is better than none, so that a mistake in them is a caution.
fn notes(folder: &Path, zone: &TimeZone, skipped: &mut Vec<Skipped>) -> Vec<Annotation> {
    let path = folder.join(NOTES_FILE);
    let Ok(found) = std::fs::symlink_metadata(&path) else {
        return Vec::new();
    };
    let lists = if found.is_file() {
        input::text(&path, NOTES_FILE, NOTES_BYTES_MAX)
            .map_err(|error| error.message)
            .and_then(|text| {
                schedule::parse_events(NOTES_FILE, &text, zone).map_err(|error| error.to_string())
            })
    } else {
        Err("it is not a file".to_owned())
    };
    let lists = lists.unwrap_or_else(|why| {
        let needs =
            "lines such as 2026-11-01,moved to new racks; quotes around a text with a comma";
        skipped.push(Skipped::new(NOTES_FILE, why, Some(needs)));
        Vec::new()
    });
    let runs = lists.into_iter().flat_map(|events| events.runs);
    runs.map(|run| Annotation {
        kind: AnnotationKind::Note,
        text: run.job,
        from: run.earliest,
        to: run.latest,
    })
    .collect()
}

/// What changed, as possible causes.
fn events(history: &History) -> Vec<JobRuns> {
    let event = |one: &Annotation| JobRuns {
        name: one.text.clone(),
        runs: vec![Run {
            job: one.text.clone(),
            earliest: one.from,
            latest: one.to,
            delays: Delays::Either,
            len_s: None,
            seen: Seen::Given,
            evidence: match one.kind {
                AnnotationKind::Note => NOTES_FILE.into(),
                AnnotationKind::Environment | AnnotationKind::Track | AnnotationKind::Target => {
                    DOCUMENT_FILE.into()
                }
            },
        }],
        unknown: Vec::new(),
        by_hand: None,
    };
    history.annotations.iter().map(event).collect()
}
