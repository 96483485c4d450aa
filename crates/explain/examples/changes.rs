//! Finds the changes of a series in a file, or measures how often changes are found in series with and
//! without any: run by `benches/explain/compare.sh`, with results in docs/explain-bench.md.
//!
//! ```text
//! changes find FILE             values, one a line, an hour apart: prints JSON
//! changes null RUNS LEN...      series without changes: prints Markdown
//! changes power RUNS LEN...     series with one step: prints Markdown
//! ```
#![allow(clippy::cast_precision_loss)] // counts

#[path = "../src/change/draw.rs"]
mod draw;

use draw::Draw;
use explain::change::{ChangePoint, segments};
use std::process::ExitCode;
use std::time::Instant;

const HOUR_US: i64 = 3_600_000_000;

/// Steps in standard deviations of the noise.
const STEPS: [f64; 4] = [1.0, 2.0, 3.0, 5.0];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let numbers = |texts: &[&str]| -> Option<Vec<usize>> {
        texts.iter().map(|text| text.parse().ok()).collect()
    };
    match arguments[..] {
        ["find", path] => return find(path),
        ["null" | "power", ref rest @ ..] if rest.len() > 1 => {
            if let Some(numbers) = numbers(rest) {
                if arguments[0] == "null" {
                    null(numbers[0] as u64, &numbers[1..]);
                } else {
                    power(numbers[0] as u64, &numbers[1..]);
                }
                return ExitCode::SUCCESS;
            }
        }
        _ => {}
    }
    eprintln!("usage: changes find FILE | null RUNS LEN... | power RUNS LEN...");
    ExitCode::from(2)
}

fn hourly(values: &[f64]) -> Vec<ChangePoint> {
    let times: Vec<i64> = (0_i64..)
        .take(values.len())
        .map(|hour| hour * HOUR_US)
        .collect();
    segments(&times, values).changes
}

fn find(path: &str) -> ExitCode {
    let values: Option<Vec<f64>> = std::fs::read_to_string(path).ok().and_then(|text| {
        text.split_ascii_whitespace()
            .map(|value| value.parse().ok())
            .collect()
    });
    let Some(values) = values else {
        eprintln!("{path}: no readable list of numbers");
        return ExitCode::from(2);
    };
    // The minimum of up to five runs, within a second, because other load only makes a run longer.
    let (mut least_s, mut total_s) = (f64::INFINITY, 0.0);
    let mut changes = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        changes = hourly(&values);
        let taken_s = start.elapsed().as_secs_f64();
        least_s = least_s.min(taken_s);
        total_s += taken_s;
        if total_s > 1.0 {
            break;
        }
    }
    let found: Vec<usize> = changes.iter().map(|change| change.index).collect();
    println!("{{\"seconds\": {least_s}, \"found\": {found:?}}}");
    ExitCode::SUCCESS
}

type Noise = (&'static str, fn(&mut Draw, usize) -> Vec<f64>);

/// Series without any changes.
const NOISES: [Noise; 9] = [
    ("white", |draw, len| draw.white(len)),
    ("t3", |draw, len| (0..len).map(|_| draw.heavy()).collect()),
    ("AR .5", |draw, len| draw.memory(len, 0.5)),
    ("AR .9", |draw, len| draw.memory(len, 0.9)),
    ("AR .97", |draw, len| draw.memory(len, 0.97)),
    ("walk", |draw, len| draw.memory(len, 1.0)),
    ("walk of t3", |draw, len| {
        let mut now = 0.0;
        (0..len)
            .map(|_| {
                now += draw.heavy();
                now
            })
            .collect()
    }),
    ("AR .95 below white 3", |draw, len| {
        let slow = draw.memory(len, 0.95);
        slow.iter()
            .map(|value| value + 3.0 * draw.normal())
            .collect()
    }),
    ("walk below white 5", |draw, len| {
        let slow = draw.memory(len, 1.0);
        slow.iter()
            .map(|value| value + 5.0 * draw.normal())
            .collect()
    }),
];

fn null(runs: u64, lens: &[usize]) {
    let names: Vec<&str> = NOISES.iter().map(|noise| noise.0).collect();
    println!("| samples | {} |", names.join(" | "));
    println!("|---{}|", "|---".repeat(NOISES.len()));
    for &len in lens {
        let mut cells = vec![len.to_string()];
        for (number, (_, noise)) in (0_u64..).zip(NOISES) {
            let alarms = (0..runs).filter(|run| {
                let mut draw = Draw::new(1_000 * run + number);
                !hourly(&noise(&mut draw, len)).is_empty()
            });
            cells.push(format!("{:.1} %", percent(alarms.count(), runs)));
        }
        println!("| {} |", cells.join(" | "));
    }
}

fn power(runs: u64, lens: &[usize]) {
    println!("| samples | noise | 1 sigma | 2 sigma | 3 sigma | 5 sigma |");
    println!("|---|---|---|---|---|---|");
    for &len in lens {
        for (name, phi) in [("white", 0.0_f64), ("AR .5", 0.5), ("AR .9", 0.9)] {
            let mut cells = vec![len.to_string(), name.to_owned()];
            for step in STEPS {
                let (mut found, mut near, mut more) = (0, 0, 0);
                for run in 0..runs {
                    let mut draw = Draw::new(77 + run);
                    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // within len
                    let at = len / 4 + (draw.uniform() * len as f64 / 2.0) as usize;
                    let mut values = draw.memory(len, phi);
                    for value in &mut values[at..] {
                        *value += step / (1.0 - phi * phi).sqrt();
                    }
                    let changes = hourly(&values);
                    found += usize::from(!changes.is_empty());
                    near +=
                        usize::from(changes.iter().any(|change| change.index.abs_diff(at) <= 5));
                    more += usize::from(changes.len() > 1);
                }
                cells.push(format!(
                    "{:.0} / {:.0} / {:.0}",
                    percent(found, runs),
                    percent(near, runs),
                    percent(more, runs)
                ));
            }
            println!("| {} |", cells.join(" | "));
        }
    }
}

fn percent(count: usize, of: u64) -> f64 {
    100.0 * count as f64 / of as f64
}
