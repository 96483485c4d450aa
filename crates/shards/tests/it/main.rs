//! Differential tests against the servers' own code: random clusters are driven step by step on both sides
//! and compared after every step.
//!
//! The servers run in a JVM (lab/shards) and are fetched through Maven when the tests run.

mod answer;
mod circles;
mod desired;
mod driver;
mod joins;
mod ours;
mod parse;
mod relocations;
mod rng;
mod spec;
mod versions;

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) if !text.is_empty() => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is {text:?}, no number")),
        _ => otherwise,
    }
}
