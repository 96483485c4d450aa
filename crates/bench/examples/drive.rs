//! Loads an address and prints requests per second, latencies and memory.
//!
//! `drive ADDRESS closed CLIENTS SECONDS [THREADS [DIRECTORY]]` or `drive ADDRESS open RATE SECONDS [THREADS
//! [DIRECTORY]]`, for example `drive 127.0.0.1:9400 closed 16 10`; ADDRESS may have a path, as in
//! `127.0.0.1:9200/index/_search`. `respond` runs a server for it. `drive read DIRECTORY` prints how far the trial in
//! it was measured, whatever ended it.
//!
//! In the environment, `DRIVE_CONNECTIONS` is the most connections of an open loop, and `DRIVE_MEMORY` prints the
//! resident memory once a second.

#![allow(clippy::cast_precision_loss)] // for display

use bench::driver::{
    Control, Options, PhaseSummary, Progress, Second, Target, Times, TrialSummary, create, run,
};
use bench::track::Track;
use bench::validity::{Check, ClassObserved, Limits, Observed, judge};
use std::path::Path;
use std::time::Instant;

/// Prints the resident memory once a second, so that growth is seen.
struct Memory {
    shown: bool,
    requests: u64,
}

impl Progress for Memory {
    fn second(&mut self, second: &Second<'_>) {
        self.requests += second.classes[0].latency.count();
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let rss = status
            .lines()
            .find(|line| line.starts_with("VmRSS"))
            .unwrap_or_default();
        if self.shown {
            eprintln!(
                "{:>4} s  {:>10} requests  {rss}",
                second.elapsed_ns / 1_000_000_000,
                self.requests
            );
        }
    }
}

/// User and system time of this process in seconds.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks: f64 = fields[11..13]
        .iter()
        .filter_map(|field| field.parse::<f64>().ok())
        .sum();
    ticks / 100.0
}

/// Prints how many requests were measured, and until when in seconds since 1970.
fn read(directory: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let summary = TrialSummary::read(directory)?;
    let phase = summary.phases.last().ok_or("no phase began")?;
    println!(
        "{} requests until {:.3} s, {:?}, {:?}",
        phase.classes[0].succeeded(),
        phase.start.started_at.as_millisecond() as f64 / 1e3 + phase.len_ns as f64 / 1e9,
        summary.ending,
        summary.end.map(|end| end.ended)
    );
    Ok(())
}

/// Why a trial with this phase is invalid, if the driver was late.
fn late(phase: &PhaseSummary) -> Option<String> {
    let class = &phase.classes[0];
    let observed = Observed {
        classes: vec![ClassObserved {
            name: class.operation.clone(),
            p99_latency_us: class.latency.quantile_ns(0.99).unwrap_or(0) / 1_000,
            lateness: phase.own_lateness(class),
            ..ClassObserved::default()
        }],
        ..Observed::default()
    };
    judge(&observed, &Limits::default())
        .reasons
        .into_iter()
        .find(|reason| reason.check == Check::LateDriver)
        .map(|reason| reason.found)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [what, directory] = &arguments[..]
        && what == "read"
    {
        return read(Path::new(directory));
    }
    let [address, kind, amount, seconds, rest @ ..] = &arguments[..] else {
        return Err(
            "usage: drive ADDRESS closed|open CLIENTS|RATE SECONDS [THREADS [DIRECTORY]]".into(),
        );
    };
    let (address, path) = address.split_once('/').unwrap_or((address, ""));
    let (host, port) = address.rsplit_once(':').ok_or("expected ADDRESS:PORT")?;
    let load = match (kind.as_str(), std::env::var("DRIVE_CONNECTIONS")) {
        ("closed", _) => format!("clients = {amount}"),
        (_, Ok(connections)) => format!("rate = \"{amount}/s\", connections = {connections}"),
        (_, Err(_)) => format!("rate = \"{amount}/s\""),
    };
    let track: Track = format!(
        r#"
        name = "GET /{path}"
        [operation.get]
        kind = "get"
        path = "/{path}"
        [[phase]]
        name = "measured"
        duration = "{seconds}s"
        load = [{{ operation = "get", {load} }}]
        "#
    )
    .parse()?;
    let options = Options {
        threads: rest.first().map_or(Ok(1), |threads| threads.parse())?,
        ..Options::default()
    };
    let mut progress = Memory {
        shown: std::env::var_os("DRIVE_MEMORY").is_some(),
        requests: 0,
    };
    let (began, cpu_before_s) = (Instant::now(), cpu_s());
    let target = Target::new(host, port.parse()?);
    let out = match rest.get(1) {
        Some(directory) => create(Path::new(directory))?,
        None => tempfile::tempfile()?,
    };
    let summary: TrialSummary = run(
        &track,
        &target,
        &options,
        &Control::default(),
        &mut progress,
        out,
    )?;
    let (elapsed_s, cpu_s) = (began.elapsed().as_secs_f64(), cpu_s() - cpu_before_s);
    let phase = &summary.phases[0];
    let class = &phase.classes[0];
    let ms = |times: &Times, q: f64| times.quantile_ns(q).unwrap_or(0) as f64 / 1e6;
    println!(
        "{:.0} requests/s, {} failed, {:.0} % of a core, {:.0} requests per CPU-second",
        phase.requests_per_s("get").unwrap_or(0.0),
        class.failed(),
        100.0 * cpu_s / elapsed_s,
        class.succeeded() as f64 / cpu_s
    );
    for (name, times) in [
        ("latency", &class.latency),
        ("service", &class.service),
        ("lateness", &class.lateness),
        ("own lateness", &class.own_lateness),
        ("heartbeat", &phase.heartbeat),
    ] {
        if times.count() > 0 {
            println!(
                "{name:>12}: p50 {:.3} ms, p99 {:.3} ms, max {:.3} ms",
                ms(times, 0.5),
                ms(times, 0.99),
                times.max_ns() as f64 / 1e6
            );
        }
    }
    if let Some(why) = late(phase) {
        println!("INVALID: {why}");
    }
    println!("ended: {:?}", summary.end.map(|end| end.ended));
    Ok(())
}
