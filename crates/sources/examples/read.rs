//! Reads a history and prints its samples as tab-separated lines (series, microseconds, value) for the
//! tests against real servers; skipped parts and warnings go to standard error.
//!
//! ```text
//! read identify URL
//! read file PATH [PATTERN...]
//! read ftdc PATH STEP_S [PATTERN...]
//! read prometheus URL SINCE UNTIL STEP_S PROMQL
//! read discards URL SINCE UNTIL STEP_S FILTER
//! read disks URL STEP_S INDEX
//! read elastic URL SINCE UNTIL STEP_S INDEX FIELD FIGURE [key=value...]
//! ```
//! FIGURE is mean, min, max, sum, rate or a percentile as a number; keys are time, split, most, filter.

use bounded_http::{Client, Credentials, Endpoint, Options};
use sources::elastic::{self, Figure};
use sources::{FileOptions, Limits, Reading, Times, ftdc, identify, prometheus, read_path};
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let limits = Limits::default();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let client = Client::new(Options {
        credentials: Credentials::from_environment(|name| std::env::var_os(name))?,
        ..Options::default()
    })?;
    let reading = match words.as_slice() {
        ["identify", url] => {
            println!("{}", identify(&client, &Endpoint::parse(url)?)?);
            return Ok(());
        }
        ["file", path, patterns @ ..] => {
            let options = FileOptions {
                select: patterns.iter().map(ToString::to_string).collect(),
                ..FileOptions::default()
            };
            read_path(path.as_ref(), &options)?
        }
        ["ftdc", path, step_s, patterns @ ..] => {
            let options = ftdc::Options {
                select: patterns.iter().map(ToString::to_string).collect(),
                step_s: step_s.parse()?,
            };
            ftdc::read(path.as_ref(), &options, &Times::default(), &limits)?
        }
        ["prometheus", url, since, until, step_s, promql] => {
            let query = prometheus::Query {
                promql: (*promql).to_owned(),
                step_s: step_s.parse()?,
            };
            let endpoint = Endpoint::parse(url)?;
            prometheus::read(&client, &endpoint, &query, &times(since, until)?, &limits)?
        }
        ["discards", url, since, until, step_s, filter] => {
            let asked = prometheus::DiskQuery {
                step_s: step_s.parse()?,
                filter: Some((*filter).to_owned()),
            };
            let endpoint = Endpoint::parse(url)?;
            prometheus::read_disks(&client, &endpoint, &asked, &times(since, until)?, &limits)?
        }
        ["disks", url, step_s, index] => {
            let asked = elastic::DiskQuery {
                index: (*index).to_owned(),
                step_s: step_s.parse()?,
                filter: None,
            };
            let endpoint = Endpoint::parse(url)?;
            elastic::read_disks(&client, &endpoint, &asked, &Times::default(), &limits)?
        }
        [
            "elastic",
            url,
            since,
            until,
            step_s,
            index,
            field,
            figure,
            rest @ ..,
        ] => {
            let mut query = elastic::Query::new(index, field, step_s.parse()?);
            query.figure = match *figure {
                "mean" => Figure::Mean,
                "min" => Figure::Min,
                "max" => Figure::Max,
                "sum" => Figure::Sum,
                "rate" => Figure::Rate,
                percent => Figure::Percentile(percent.parse()?),
            };
            for pair in rest {
                match pair.split_once('=') {
                    Some(("time", field)) => query.time_field = Some(field.to_owned()),
                    Some(("split", field)) => query.split_by = Some(field.to_owned()),
                    Some(("most", count)) => query.split_max = count.parse()?,
                    Some(("filter", text)) => query.filter = Some(text.to_owned()),
                    _ => return Err(format!("unknown: {pair}").into()),
                }
            }
            let endpoint = Endpoint::parse(url)?;
            elastic::read(&client, &endpoint, &query, &times(since, until)?, &limits)?
        }
        _ => return Err("see the comment at the beginning of examples/read.rs".into()),
    };
    print(&reading)
}

/// Parses the time range; `-` leaves an end open.
fn times(since: &str, until: &str) -> Result<Times, Box<dyn Error>> {
    let moment = |text: &str| match text {
        "-" => Ok(None),
        text => text.parse().map(Some),
    };
    Ok(Times {
        since: moment(since)?,
        until: moment(until)?,
        ..Times::default()
    })
}

fn print(reading: &Reading) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for series in &reading.series {
        for (time_us, value) in series.times_us.iter().zip(&series.values) {
            writeln!(out, "{}\t{time_us}\t{value:?}", series.name)?;
        }
        for note in &series.notes {
            eprintln!("note: {}: {note}", series.name);
        }
    }
    for skipped in &reading.skipped {
        eprintln!("skipped: {}: {}", skipped.what, skipped.why);
    }
    for warning in &reading.warnings {
        eprintln!("warning: {warning}");
    }
    Ok(out.flush()?)
}
