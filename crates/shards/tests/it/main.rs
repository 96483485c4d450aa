//! Differential test against the real allocation service of Elasticsearch 7.4.0: random clusters are
//! driven step by step on both sides and compared after every step.
//!
//! The server runs in a JVM (lab/shards/run.sh) and is fetched through Maven when the test runs.

mod answer;
mod circles;
mod desired;
mod driver;
mod generate;
mod joins;
mod lockstep;
mod ours;
mod parse;
mod plan;
mod relocations;
mod rng;
mod seen;
mod sides;
mod spec;
mod versions;
mod world;

use std::time::Instant;

use driver::Driver;
use seen::Seen;

/// Number of differences to shrink and report in full; for the rest only the seed is printed.
const REPORTED_MAX: usize = 3;
/// Maximum number of runs for shrinking one difference.
const SHRINK_RUNS: usize = 400;
/// Number of clusters between progress reports.
const PROGRESS: u64 = 250;

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) if !text.is_empty() => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable} is {text:?}, no number")),
        _ => otherwise,
    }
}

/// Compares the clusters for `count` seeds starting at `first`; returns what they covered.
fn compare(first: u64, count: u64) -> Seen {
    let mut driver = Driver::start();
    let mut seen = Seen::default();
    let (mut agreed, mut failed, mut steps) = (0, 0, 0);
    let mut reports = Vec::new();
    let mut differing = Vec::new();
    let start = Instant::now();
    for seed in first..first + count {
        let made = seed - first;
        if made > 0 && made.is_multiple_of(PROGRESS) {
            println!("{agreed} of {made} clusters agree");
        }
        let (mut script, mut planner) = lockstep::script(seed);
        let run = lockstep::run(&mut driver, &mut script, Some(&mut planner), &mut seen);
        steps += run.steps;
        failed += usize::from(run.server_failed);
        let Some(mut difference) = run.difference else {
            agreed += 1;
            continue;
        };
        differing.push(lockstep::in_short(&script, &difference));
        if reports.len() < REPORTED_MAX {
            let before = difference.lines.join("\n  ");
            lockstep::shrink(&mut driver, &mut script, &mut difference, SHRINK_RUNS);
            let shrunk = lockstep::report(&script, &difference);
            reports.push(format!("{shrunk}before it was shrunk:\n  {before}\n"));
        }
    }
    println!(
        "{agreed} of {count} clusters agree with 7.4.0, in {steps} steps ({} s)",
        start.elapsed().as_secs()
    );
    println!(
        "{failed} of them up to where 7.4.0 throws: more is on its way to a node than is free there"
    );
    assert!(
        differing.is_empty(),
        "{agreed} of {count} clusters agree; not these:\n{}\n\n{}",
        differing.join("\n"),
        reports.join("\n")
    );
    seen
}

#[test]
fn the_first_clusters_match_the_real_server() {
    let seen = compare(1, 60);
    let missing = seen.missing();
    assert!(missing.is_empty(), "never seen: {missing:?}, but\n{seen}");
}

/// Runs `COUNT` clusters starting at seed `SEED`: `make test-shards`.
#[test]
#[ignore = "minutes: make test-shards"]
fn clusters_agree_with_the_real_server() {
    let seen = compare(number("SEED", 1), number("COUNT", 2000));
    println!("states, of both sides alike, in which there was\n{seen}");
}

/// The comparison is only meaningful if it detects that one side lacks a rule.
#[test]
#[ignore = "minutes: make test-shards"]
fn a_missing_decider_is_detected() {
    const WITHIN: u64 = 300;
    let mut driver = Driver::start();
    let mut unnoticed = Vec::new();
    for decider in [
        "MaxRetryAllocationDecider",
        "ReplicaAfterPrimaryActiveAllocationDecider",
        "RebalanceOnlyWhenActiveAllocationDecider",
        "ClusterRebalanceAllocationDecider",
        "ConcurrentRebalanceAllocationDecider",
        "EnableAllocationDecider",
        "NodeVersionAllocationDecider",
        "FilterAllocationDecider",
        "SameShardAllocationDecider",
        "DiskThresholdDecider",
        "ThrottlingAllocationDecider",
        "ShardsLimitAllocationDecider",
        "AwarenessAllocationDecider",
    ] {
        let noticed = (1..=WITHIN).find(|&seed| {
            let (mut script, mut planner) = lockstep::script(seed);
            script.cluster.without = vec![decider];
            lockstep::run(
                &mut driver,
                &mut script,
                Some(&mut planner),
                &mut Seen::default(),
            )
            .difference
            .is_some()
        });
        match noticed {
            Some(seed) => println!("without {decider}: noticed at cluster {seed}"),
            None => unnoticed.push(decider),
        }
    }
    assert!(
        unnoticed.is_empty(),
        "nobody noticed in {WITHIN} clusters: {unnoticed:?}"
    );
}
