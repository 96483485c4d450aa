//! Reads files and archives as the command line asks for.

use super::args::FileArgs;
use crate::error::CommandError;
use facts::Skipped;
use sources::{FileOptions, Reading, SourceError, Times};
use std::path::Path;
use std::time::Duration;

fn options(
    select: &[String],
    arguments: &FileArgs,
    step: Option<Duration>,
    times: &Times,
) -> FileOptions {
    FileOptions {
        select: select.to_vec(),
        times: times.clone(),
        time_column: arguments.time_column.clone(),
        time_format: arguments.time_format.clone(),
        value_columns: arguments.column.clone(),
        label_columns: (!arguments.label_column.is_empty()).then(|| arguments.label_column.clone()),
        counter_columns: arguments.counter.clone(),
        date: arguments.date,
        step_s: step.map(|step| step.as_secs_f64()),
        ..FileOptions::default()
    }
}

/// Maximum size of one recorded curve in an archive: `sar -A` of a day has some 20 MB.
const CURVE_BYTES_MAX: usize = 96 << 20;

/// Reads the curves that were recorded in a support archive; days of the same curve become one.
///
/// # Errors
/// When none of its curves can be read.
pub fn archive(
    path: &Path,
    source: &dyn host::Source,
    select: &[String],
    arguments: &FileArgs,
    times: &Times,
) -> Result<Reading, CommandError> {
    let shown = path.display();
    let curves = source.curves();
    if curves.is_empty() {
        let message = format!("{shown}: the archive holds no history that trimtab reads");
        return Err(CommandError::input(message)
            .hint("it reads sar's text (sarNN) and iostat's; `check --bundle` reads the rest of an archive"));
    }
    let options = options(select, arguments, None, times);
    let mut all = Reading::default();
    let mut texts: Vec<(String, Vec<u8>)> = Vec::new();
    for curve in curves.iter().cloned() {
        match source.read(&curve, CURVE_BYTES_MAX) {
            Ok(bytes) => texts.push((curve, bytes)),
            Err(unread) => all
                .skipped
                .push(Skipped::new(curve, unread.to_string(), None)),
        }
    }
    // Days of sar are read as one log, since some of their dates tell how all are written.
    let read = |name: &str, text: &[u8]| sources::read_bytes(name, text, &options);
    let days: Vec<&[u8]> = texts.iter().map(|(_, text)| text.as_slice()).collect();
    let is_long = days.iter().map(|day| day.len()).sum::<usize>() > CURVE_BYTES_MAX;
    let glued = match &texts[..] {
        [(first, _), .., (last, _)] if !is_long => {
            read(&format!("{first} to {last}"), &days.join(&b"\n\n"[..])).ok()
        }
        _ => None,
    };
    if let Some(reading) = glued {
        all.append(reading);
    } else {
        for (curve, text) in &texts {
            match read(curve, text) {
                Ok(reading) => all.append(reading),
                Err(error) => all
                    .skipped
                    .push(Skipped::new(curve, error.to_string(), None)),
            }
        }
    }
    all.join();
    all.select(&options.select);
    if all.series.is_empty() {
        let why = all
            .skipped
            .first()
            .map_or("no samples", |skipped| &skipped.why);
        return Err(CommandError::input(format!("{shown}: {why}")));
    }
    Ok(all)
}

/// Reads what lies at a path; `-` is standard input.
///
/// # Errors
/// As [`sources::read_path`].
pub fn file(
    path: &Path,
    select: &[String],
    arguments: &FileArgs,
    step: Option<Duration>,
    times: &Times,
) -> Result<Reading, SourceError> {
    let options = options(select, arguments, step, times);
    if path.as_os_str() == "-" {
        let mut reading = sources::read_bytes("stdin", std::io::stdin().lock(), &options)?;
        reading.select(&options.select);
        return Ok(reading);
    }
    sources::read_path(path, &options)
}
