//! Fits the cost model to measurements: prints what belongs into `cost/table.rs`, and, for each size
//! that was held back, what the other sizes predict for it.
//!
//! `cargo run -p shards --example fit -- crates/shards/data/measured.csv`

use shards::cost::Step;
use shards::cost::fit::{Measured, fit, hold_back, read_csv, worst_factor};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: fit MEASURED.csv");
        return ExitCode::from(2);
    };
    match std::fs::read_to_string(&path)
        .map_err(|error| error.to_string())
        .and_then(|text| read_csv(&text).map_err(|error| error.to_string()))
    {
        Ok(rows) if !rows.is_empty() => {
            report(&rows);
            ExitCode::SUCCESS
        }
        Ok(_) => {
            eprintln!("{path}: no measurements");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("{path}: {error}");
            ExitCode::from(2)
        }
    }
}

fn report(rows: &[Measured]) {
    let copies = rows.iter().map(|row| row.routed_copies);
    let nodes = rows.iter().map(|row| row.nodes);
    for (name, least, most) in [
        ("COPIES", copies.clone().min(), copies.max()),
        (
            "NODES",
            nodes.clone().min().map(u64::from),
            nodes.max().map(u64::from),
        ),
    ] {
        println!("{name}_MIN = {}", least.unwrap_or(0));
        println!("{name}_MAX = {}", most.unwrap_or(0));
    }
    let mut versions: Vec<&str> = rows.iter().map(|row| row.version.as_str()).collect();
    versions.dedup();
    let groups: Vec<(&str, Step, Vec<&Measured>)> = versions
        .iter()
        .flat_map(|&version| Step::ALL.map(|step| (version, step)))
        .map(|(version, step)| {
            let of = |row: &&Measured| row.version == version && row.step == step;
            (version, step, rows.iter().filter(of).collect())
        })
        .collect();
    for (version, step, rows) in &groups {
        let scan = shards::cost::scans(version, *step);
        let Some(fit) = fit(rows, scan) else { continue };
        let worst = worst_factor(&hold_back(rows, scan)).unwrap_or(f64::NAN);
        println!(
            "    row({version:?}, Step::{step:?}, [{:.4}, {:.5}, {:.5}], {worst:.2}),",
            fit.fixed_ms, fit.per_thousand_ms, fit.scan_ms
        );
    }
    println!("\nheld back: predicted over measured\nversion,operation,copies,nodes,ratio");
    for (version, step, rows) in &groups {
        for held in hold_back(rows, shards::cost::scans(version, *step)) {
            println!(
                "{version},{},{},{},{:.2}",
                step.name(),
                held.copies,
                held.nodes,
                held.ratio
            );
        }
    }
}
