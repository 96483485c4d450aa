use super::args::Explain;
use super::known_runs::{KnownRuns, known_runs};
use super::options::Options;
use super::times::{self, Zone};
use super::{disks, jobs, load, logs, other_host, overwrite};
use crate::answer::{self, Delivery, generated_at};
use crate::config::ExplainConfig;
use crate::error::CommandError;
use crate::progress::Draw;
use explain::job_runs;
use facts::series::Series;
use report::{ExplainDetail, ExplainReport, ExplainResult};
use std::process::ExitCode;

/// Runs `trimtab explain`.
///
/// # Errors
/// When nothing could be read or the arguments conflict; a pattern found is not an error.
pub fn run(
    arguments: &Explain,
    config: &ExplainConfig,
    verbose: bool,
    quiet: bool,
) -> Result<ExitCode, CommandError> {
    if arguments.answer.output.schema {
        return answer::print_schema::<ExplainResult<'_>>();
    }
    let delivery = Delivery::of(&arguments.answer, config.format)?;
    let target = arguments.answer.output.file();
    overwrite::refuse(target, overwrite::named(arguments, config))?;
    let mut draw = Draw::new(quiet);
    let settings = Options::resolve(arguments, config)?;
    let mut found = jobs::find(settings.jobs)?;
    if settings.is_archive {
        found.from = Some("the archive".to_owned());
    }
    overwrite::refuse(target, found.files.iter().cloned())?;
    let zone = Zone::of(settings.zone, &found);
    let times = times::times(arguments, &zone.zone)?;
    // Log lines without a zone are in the host's time zone.
    let zone_of_host = found.zone.as_ref().unwrap_or(&zone.zone);
    let mut given = logs::given(&arguments.log, zone_of_host)?;
    let archive = found.opened.as_ref().filter(|_| settings.is_archive);
    let archive = archive.map(|opened| opened.source.as_ref());
    let mut loaded = load::load(
        arguments,
        config,
        &times,
        archive,
        settings.better,
        &mut draw,
    )?;
    loaded.note_gaps(&zone.zone);
    if given.reads_host {
        given.logs.append(&mut loaded.logs);
    }
    let mut skipped = std::mem::take(&mut loaded.reading.skipped);
    skipped.extend(found.skipped.iter().cloned());
    let KnownRuns {
        jobs: mut all_jobs,
        logs,
        from: jobs_from,
    } = known_runs(
        &found,
        given,
        &zone.zone,
        &loaded.reading.series,
        &mut draw,
        &mut skipped,
    );
    let by_hand = jobs::given(&arguments.events, &zone.zone)?;
    let events = by_hand.len();
    all_jobs.extend(by_hand);
    let mut warnings = std::mem::take(&mut loaded.reading.warnings);
    warnings.extend(other_host::caution(&loaded, &found));
    if all_jobs.len() == events {
        warnings.extend(found.without_jobs());
    }
    let options = explain::Options {
        zone: zone.zone.clone(),
        host_zone: found.zone.clone(),
        better: settings.better,
        seed: settings.seed,
        folded: loaded.folded.take(),
        ..explain::Options::default()
    };
    draw.show(&format!("analysing {} series", loaded.reading.series.len()));
    let analysis = explain::explain(&loaded.reading.series, &all_jobs, &options);
    warnings.extend(job_runs::caution(&all_jobs, &logs, &analysis));
    let disk_logs = disks::logs(
        &loaded.reading.series,
        &analysis,
        &found,
        &all_jobs,
        &zone.zone,
    );
    draw.clear();
    let report = ExplainReport {
        analysis: &analysis,
        series: &loaded.reading.series,
        disk_logs: &disk_logs,
        jobs: &all_jobs,
        jobs_from,
        zone: &zone.zone,
        zone_from: zone.from,
        source: source_words(&arguments.sources, &loaded.reading.series),
        tool_version: crate::version::VERSION.to_owned(),
        generated_at: generated_at()?,
        skipped: &skipped,
        warnings: &warnings,
    };
    let page = |brief| {
        let detail = ExplainDetail {
            verbose,
            brief,
            all: arguments.all,
        };
        report::explain_page(&report, detail)
    };
    delivery.give(page, || report::explain::json(&report))?;
    let negative = report.is_trouble() && !arguments.exit_zero;
    Ok(ExitCode::from(u8::from(negative)))
}

/// Description of the sources for the user.
fn source_words(sources: &[String], series: &[Series]) -> String {
    match (sources, series) {
        // The reader's name for a source never contains a password.
        ([_], [first, ..]) if series.iter().all(|one| one.source == first.source) => {
            first.source.clone()
        }
        ([one], _) if !one.contains("://") => one.clone(),
        (several, _) => format!("{} sources", several.len()),
    }
}
