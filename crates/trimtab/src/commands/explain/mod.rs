//! `trimtab explain`: histories and jobs to verdicts.

pub mod args;
mod disks;
mod jobs;
mod load;
mod logs;
mod overwrite;
mod readers;

use crate::answer::generated_at;
use crate::config::ExplainConfig;
use crate::error::{CommandError, Kind};
use crate::output;
use crate::progress::Draw;
use args::{BetterArg, Explain, ExplainFormat};
use explain::Options;
use facts::series::Series;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use load::Loaded;
use report::explain::{ExplainTextOptions, HtmlOptions};
use report::{ExplainReport, ExplainResult, TextOptions};
use sources::Times;
use std::process::ExitCode;

/// Runs `trimtab explain`.
///
/// # Errors
/// When nothing could be read, or the arguments do not fit; that something recurs is no error.
pub fn run(
    arguments: &Explain,
    config: &ExplainConfig,
    verbose: bool,
    quiet: bool,
) -> Result<ExitCode, CommandError> {
    if arguments.output.schema {
        output::print(&report::schema_of::<ExplainResult<'_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let target = arguments.output.file();
    if let Some(target) = target {
        overwrite::refuse(target, &overwrite::inputs(arguments, config))?;
    }
    let mut draw = Draw::new(quiet);
    let named = arguments.jobs.as_deref().or(config.jobs.as_deref());
    // A zone that is not there is known before anything is read.
    let asked = asked_zone(arguments, config)?;
    let found = jobs::find(named.unwrap_or("/"))?;
    if let Some(target) = target {
        let files = found.files.iter().cloned();
        let inputs: Vec<_> = files
            .map(|file| (file, "a file of the host of --jobs"))
            .collect();
        overwrite::refuse(target, &inputs)?;
    }
    let zone = Zone::of(asked, &found);
    let times = times(arguments, &zone.zone)?;
    // Lines without a zone are of the host's.
    let zone_of_host = found.zone.as_ref().unwrap_or(&zone.zone);
    let given = logs::given(&arguments.log, zone_of_host)?;
    let mut loaded = load::load(arguments, config, &times, &mut draw)?;
    loaded.note_gaps(&zone.zone);
    let mut skipped = std::mem::take(&mut loaded.skipped);
    skipped.extend(found.skipped.iter().cloned());
    let mut jobs_from = found.from.clone();
    let mut all_jobs = Vec::new();
    if let Some(stretch) = jobs::stretch(&loaded.series) {
        let mut logs = given.logs;
        // Without jobs everything that is told counts.
        if found.from.is_some() {
            logs = logs::own_lines(logs, found.host_name.as_deref(), &mut skipped);
        }
        if given.reads_host {
            draw.show("reading when the jobs ran");
            logs.extend(logs::of_host(&found, stretch, zone_of_host, &mut skipped));
        }
        all_jobs = jobs::runs(&found, &logs, stretch, &zone.zone, &mut skipped);
        jobs_from =
            jobs_from.map(|from| logs::origin(&from, &logs, &all_jobs, stretch, &zone.zone));
    }
    let by_hand = jobs::given(&arguments.events, &zone.zone)?;
    let events = by_hand.len();
    all_jobs.extend(by_hand);
    let mut warnings = std::mem::take(&mut loaded.warnings);
    warnings.extend(other_host(&loaded, &found));
    if all_jobs.len() == events {
        warnings.extend(found.without_jobs());
    }
    let options = Options {
        zone: zone.zone.clone(),
        better: arguments.better.or(config.better).map(BetterArg::into),
        seed: arguments.seed.unwrap_or(Options::default().seed),
        ..Options::default()
    };
    draw.show(&format!("weighing {} series", loaded.series.len()));
    let analysis = explain::explain(&loaded.series, &all_jobs, &options);
    let disk_logs = disks::logs(&loaded.series, &found, &all_jobs, &zone.zone);
    draw.clear();
    let report = ExplainReport {
        analysis: &analysis,
        series: &loaded.series,
        disk_logs: &disk_logs,
        jobs: &all_jobs,
        jobs_from,
        zone: &zone.zone,
        zone_from: zone.from,
        source: source_words(&arguments.sources, &loaded.series),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        generated_at: generated_at()?,
        skipped: &skipped,
        warnings: &warnings,
    };
    let format = arguments.format.or(config.format).unwrap_or_default();
    arguments
        .output
        .write(&render(&report, format, arguments, verbose))?;
    let negative = report.is_trouble() && !arguments.exit_zero;
    Ok(ExitCode::from(u8::from(negative)))
}

fn render(
    report: &ExplainReport<'_>,
    format: ExplainFormat,
    arguments: &Explain,
    verbose: bool,
) -> String {
    match format {
        ExplainFormat::Text => {
            let defaults = ExplainTextOptions::default();
            let terminal = arguments.output.terminal();
            let options = ExplainTextOptions {
                text: TextOptions {
                    width: terminal.width,
                    color: terminal.color,
                    unicode: terminal.unicode,
                    verbose,
                },
                details_max: if arguments.all {
                    usize::MAX
                } else {
                    defaults.details_max
                },
            };
            report::explain::text(report, &options)
        }
        ExplainFormat::Json => report::explain::json(report),
        ExplainFormat::Html => {
            let mut options = HtmlOptions::default();
            if arguments.all {
                options.details_max = usize::MAX;
            }
            report::explain::html(report, &options)
        }
    }
}

/// The zone that calendars are told in.
struct Zone {
    zone: TimeZone,
    /// Where it was taken from, for people.
    from: String,
}

impl Zone {
    fn of(asked: Option<(TimeZone, &str)>, found: &jobs::Found) -> Self {
        let (zone, from) = match (asked, &found.zone, &found.from) {
            (Some((zone, from)), ..) => (zone, from.to_owned()),
            (None, Some(zone), Some(from)) => (zone.clone(), format!("the zone of {from}")),
            (None, _, Some(from)) => (
                TimeZone::UTC,
                format!("the zone of {from} is not known; --tz names it"),
            ),
            (None, _, None) => (TimeZone::UTC, "--tz names another".to_owned()),
        };
        Self { zone, from }
    }
}

fn asked_zone<'a>(
    arguments: &Explain,
    config: &ExplainConfig,
) -> Result<Option<(TimeZone, &'a str)>, CommandError> {
    let (name, from) = match (&arguments.tz, &config.tz) {
        (Some(name), _) => (name, "--tz"),
        (None, Some(name)) => (name, "configuration: [explain] tz"),
        (None, None) => return Ok(None),
    };
    Ok(Some((zone_named(name, from)?, from)))
}

fn zone_named(name: &str, from: &str) -> Result<TimeZone, CommandError> {
    schedule::parse_zone(name).map_err(|error| {
        CommandError::new(Kind::Usage, format!("{from}: {error}"))
            .hint("zones are named as Europe/Berlin or UTC")
    })
}

fn times(arguments: &Explain, zone: &TimeZone) -> Result<Times, CommandError> {
    if let Some(format) = &arguments.files.time_format {
        sources::times::check_format(format).map_err(|wrong| {
            CommandError::new(Kind::Usage, format!("--time-format {format}: {wrong}"))
        })?;
    }
    let now = generated_at()?;
    let at = |text: &Option<String>, option: &str| {
        text.as_deref()
            .map(|text| moment(text, option, zone, now))
            .transpose()
    };
    let times = Times {
        zone: match &arguments.files.data_tz {
            Some(name) => zone_named(name, "--data-tz")?,
            None => zone.clone(),
        },
        since: at(&arguments.since, "--since")?,
        until: at(&arguments.until, "--until")?,
    };
    if let (Some(since), Some(until)) = (times.since, times.until)
        && since >= until
    {
        return Err(CommandError::new(
            Kind::Usage,
            format!("--since {since} is not before --until {until}"),
        ));
    }
    Ok(times)
}

/// A moment as it is written on the command line; a date alone is its midnight.
fn moment(
    text: &str,
    option: &str,
    zone: &TimeZone,
    now: Timestamp,
) -> Result<Timestamp, CommandError> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    if text.contains(':')
        && let Ok(wall) = text.parse::<jiff::civil::DateTime>()
        && let Ok(at) = wall.to_zoned(zone.clone())
    {
        return Ok(at.timestamp());
    }
    if let Ok(day) = text.parse::<jiff::civil::Date>()
        && let Ok(midnight) = day.to_zoned(zone.clone())
    {
        return Ok(midnight.timestamp());
    }
    span_before(text)
        .and_then(|span| now.checked_sub(span).ok())
        .ok_or_else(|| {
            CommandError::new(
                Kind::Usage,
                format!("{option}: expected a time or a span before now, found {text:?}"),
            )
            .hint("for example 2026-11-01, '2026-11-01 06:00', 2026-11-01T06:00:00Z, 90d or 12h")
        })
}

/// `90d`, `2w`, `12h`, `30m`: days are of 24 hours.
fn span_before(text: &str) -> Option<SignedDuration> {
    let unit = text.chars().last()?;
    let hours = match unit {
        'w' => 7 * 24,
        'd' => 24,
        'h' => 1,
        'm' => return number_before(text).and_then(|m| minutes(m, 1)),
        _ => return None,
    };
    number_before(text).and_then(|number| minutes(number, hours * 60))
}

fn number_before(text: &str) -> Option<i64> {
    let digits = &text[..text.len() - 1];
    digits
        .chars()
        .all(|c| c.is_ascii_digit())
        .then(|| digits.parse().ok())
        .flatten()
}

fn minutes(number: i64, each: i64) -> Option<SignedDuration> {
    SignedDuration::try_from_mins(number.checked_mul(each)?)
}

/// What was read, for people.
fn source_words(sources: &[String], series: &[Series]) -> String {
    match (sources, series) {
        // The reader's own name of it has no password.
        ([_], [first, ..]) if series.iter().all(|one| one.source == first.source) => {
            first.source.clone()
        }
        ([one], _) if !one.contains("://") => one.clone(),
        (several, _) => format!("{} sources", several.len()),
    }
}

/// A caution where this host's jobs are weighed although the series are another host's.
fn other_host(loaded: &Loaded, found: &jobs::Found) -> Option<String> {
    const HOST_LABELS: [&str; 5] = ["host", "hostname", "host.name", "nodename", "instance"];
    let this_host = found.this_host.as_deref()?;
    if found.jobs.is_empty() {
        return None;
    }
    let hint = "--jobs BUNDLE names those of the other host, --jobs none weighs none";
    let is_this = |name: &str| {
        let name = name.split(':').next().unwrap_or(name);
        let short = |name: &str| name.split('.').next().unwrap_or(name).to_ascii_lowercase();
        name == "localhost" || name.starts_with("127.") || short(name) == short(this_host)
    };
    let mut others = loaded.series.iter().filter_map(|series| {
        let names = HOST_LABELS
            .iter()
            .filter_map(|label| series.labels.get(*label));
        let names: Vec<&String> = names.collect();
        (!names.is_empty() && !names.iter().any(|name| is_this(name))).then(|| names[0].clone())
    });
    if let Some(name) = others.next() {
        let name = report::escape(&name).into_owned();
        return Some(format!(
            "the jobs are this host's ({this_host}), but series are of {name}: {hint}"
        ));
    }
    loaded.is_remote.then(|| {
        format!("the jobs are this host's ({this_host}), but another host was asked: {hint}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_on_the_command_line() {
        let zone = schedule::parse_zone("Europe/Berlin").unwrap();
        let now: Timestamp = "2026-11-22T12:00:00Z".parse().unwrap();
        for (text, at) in [
            ("2026-11-01", "2026-10-31T23:00:00Z"),
            ("2026-11-01 06:00", "2026-11-01T05:00:00Z"),
            ("2026-11-01T06:00:00Z", "2026-11-01T06:00:00Z"),
            ("2d", "2026-11-20T12:00:00Z"),
            ("90m", "2026-11-22T10:30:00Z"),
            ("1w", "2026-11-15T12:00:00Z"),
        ] {
            let found = moment(text, "--since", &zone, now).unwrap();
            assert_eq!(found.to_string(), at, "{text}");
        }
        for text in [
            "",
            "d",
            "-1d",
            "yesterday",
            "99999999999999999d",
            "1.5h",
            "ü",
        ] {
            let error = moment(text, "--since", &zone, now).unwrap_err();
            assert_eq!(error.kind, Kind::Usage, "{text}");
        }
    }

    fn loaded(labels: &[(&str, &str)], is_remote: bool) -> Loaded {
        let series = Series {
            name: "load".to_owned(),
            source: "x".to_owned(),
            labels: labels
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            unit: None,
            better: None,
            dating: facts::series::Dating::Absolute,
            times_us: vec![0],
            values: vec![1.0],
            notes: Vec::new(),
        };
        Loaded {
            series: vec![series],
            is_remote,
            ..Loaded::default()
        }
    }

    #[test]
    fn jobs_of_another_host_are_told() {
        let mut found = jobs::find("none").unwrap();
        found.this_host = Some("es1.example.org".to_owned());
        found.from = Some("this host".to_owned());
        // Without a job there is nothing to be wrong about.
        assert_eq!(other_host(&loaded(&[("host", "es2")], false), &found), None);
        found.jobs = vec![facts::host::Job {
            name: "x".to_owned(),
            defined_in: String::new(),
            user: None,
            triggers: Vec::new(),
            commands: Vec::new(),
            held_back_by: Vec::new(),
            last_run: None,
            next_run: None,
            timer: None,
        }];
        for labels in [
            &[("host", "ES1")][..],
            &[("instance", "localhost:9100")],
            &[("instance", "es1.example.org:9100")],
            &[],
        ] {
            assert_eq!(other_host(&loaded(labels, false), &found), None);
        }
        let told = other_host(&loaded(&[("instance", "es2:9100")], false), &found).unwrap();
        assert!(
            told.contains("es2:9100") && told.contains("--jobs"),
            "{told}"
        );
        assert!(other_host(&loaded(&[], true), &found).is_some());
        found.this_host = None;
        assert_eq!(other_host(&loaded(&[], true), &found), None);
    }
}
