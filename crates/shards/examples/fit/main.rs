//! Fits the cost model to the measurements. Prints the contents of `cost/table.rs` and, for each held-out
//! size, the prediction from the remaining sizes.
//!
//! `cargo run -p shards --example fit -- crates/shards/data/measured.csv`

mod fitting;
#[cfg(test)]
mod tests;

use fitting::{Fitted, HeldBack, Measured, fit_all, hold_back, read_csv, shortest, worst_factor};
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
            report(&shortest(&rows));
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
    let copies = rows.iter().map(|row| row.size.copies);
    let nodes = rows.iter().map(|row| row.size.nodes);
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
    let held = hold_back(rows);
    for Fitted { version, step, fit } in fit_all(rows) {
        let of = |held: &&HeldBack| held.version == version && held.step == step;
        let worst = worst_factor(held.iter().filter(of)).unwrap_or(f64::NAN);
        let [fixed, near, far, pairs, walk, walk_far] = fit.coefficients();
        println!(
            "    row({version:?}, Step::{step:?}, [{fixed:.4}, {near:.4}, {far:.4}, {pairs:.4}, \
             {walk:.4}, {walk_far:.4}], {worst:.2}),"
        );
    }
    let met = held.iter().filter(|held| held.factor() <= 1.5).count();
    println!(
        "\nheld back: predicted over measured, {met} of {} within a factor of 1.5",
        held.len()
    );
    println!("version,operation,copies,indices,nodes,ratio");
    for held in &held {
        println!(
            "{},{},{},{},{},{:.2}",
            held.version,
            held.step.name(),
            held.size.copies,
            held.size.indices,
            held.size.nodes,
            held.ratio
        );
    }
}
