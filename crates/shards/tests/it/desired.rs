//! The desired balance beside that of real servers: random clusters are driven step by step, and after each
//! round the balance, and the steps towards it, are compared. Servers follow the order of Java's immutable maps,
//! which differs between processes; here it is given (`SALT`), so that a seed is the same cluster every time.

mod oracle;
mod ours;
mod plan;
mod told;

use std::time::Instant;

use crate::driver::skip;
use crate::number;
use oracle::Oracle;
use ours::Ours;
use plan::Planner;
use told::Told;

/// Number of differences that are reported in full.
const REPORTED_MAX: usize = 3;

/// The beginning of a line; `FULL=1` shows all of it.
fn shown(line: &str) -> String {
    let most = if number("FULL", 0) == 1 {
        usize::MAX
    } else {
        300
    };
    line.chars().take(most).collect()
}

/// What became of a cluster.
enum Result {
    Agrees { steps: usize },
    Differs { steps: usize, lines: Vec<String> },
}

fn run(oracle: &mut Oracle, seed: u64) -> Result {
    let mut planner = Planner::new(seed);
    let mut log = vec![format!("cluster {}", planner.cluster())];
    let mut told = match oracle.ask(planner.cluster()) {
        Ok(told) => told,
        Err(thrown) => {
            log.push(thrown);
            return Result::Differs {
                steps: 0,
                lines: log,
            };
        }
    };
    let mut ours = Ours::new(oracle.version());
    let mut steps = 0;
    while let Some(mut step) = planner.next(&told) {
        let before = told;
        let computed = ours.prepare(&planner, &mut step, &before);
        log.push(format!("step {step}"));
        told = match oracle.ask(&step) {
            Ok(told) => told,
            Err(thrown) => {
                log.push(thrown);
                return Result::Differs { steps, lines: log };
            }
        };
        let found = computed.map_or_else(Vec::new, |computed| ours.compare(computed, &told));
        if !found.is_empty() {
            log.push(format!(
                "settings {:?}, nodes that leave {:?}",
                planner.settings, planner.shutdowns
            ));
            log.extend(found);
            if number("FULL", 0) == 1 {
                log.extend(before.copies().map(|copy| format!("before {copy:?}")));
            }
            return Result::Differs { steps, lines: log };
        }
        steps += 1;
    }
    Result::Agrees { steps }
}

/// The code of a version, unless it needs a later JDK than Debian 12 has.
fn started(version: &str, salt: u64) -> Option<Oracle> {
    match Oracle::start(version, salt) {
        Ok(oracle) => Some(oracle),
        Err(why) if version.starts_with("9.") => {
            skip(version, &why);
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// Compares the clusters for `count` seeds from `first` on with a version of the server.
fn compare(version: &'static str, first: u64, count: u64) {
    let Some(mut oracle) = started(version, number("SALT", 1)) else {
        return;
    };
    let start = Instant::now();
    let (mut agreed, mut all_steps) = (0, 0);
    let mut differing = Vec::new();
    let mut reports = Vec::new();
    for seed in first..first + count {
        match run(&mut oracle, seed) {
            Result::Agrees { steps } => {
                agreed += 1;
                all_steps += steps;
            }
            Result::Differs { steps, lines } => {
                all_steps += steps;
                differing.push(seed);
                println!(
                    "seed {seed}, step {steps}: {}",
                    shown(lines.last().map_or("", String::as_str))
                );
                if reports.len() < REPORTED_MAX {
                    let shown: Vec<String> = lines.iter().map(|line| shown(line)).collect();
                    reports.push(format!("seed {seed}:\n  {}", shown.join("\n  ")));
                }
            }
        }
    }
    println!(
        "{agreed} of {count} clusters agree with {version}, in {all_steps} steps ({} s)",
        start.elapsed().as_secs()
    );
    assert!(
        differing.is_empty(),
        "{agreed} of {count} clusters agree with {version}; not those of seeds {differing:?}:\n{}",
        reports.join("\n")
    );
}

/// What two servers must have in common to be of one mind: where copies should be, and where they are.
fn placement(told: &Told) -> impl PartialEq + use<> {
    let mut desired = told.desired.clone();
    for (_, (nodes, ..)) in &mut desired {
        nodes.sort();
    }
    desired.sort();
    let shards = told.indices.iter().flat_map(|(index, shards)| {
        let numbered = shards.iter().enumerate();
        numbered.map(move |(shard, copies)| (index.clone(), shard, copies))
    });
    let mut copies: Vec<_> = shards
        .map(|(index, shard, copies)| {
            let copies = copies.iter();
            let mut copies: Vec<_> = copies
                .map(|copy| (copy.primary, copy.node.clone(), copy.to.clone()))
                .collect();
            copies.sort();
            (index, shard, copies)
        })
        .collect();
    copies.sort();
    (desired, copies)
}

/// Whether two servers with the same input decide the same at each step.
fn same_course(one: &mut Oracle, other: &mut Oracle, seed: u64) -> bool {
    let mut planner = Planner::new(seed);
    let mut ours = Ours::new(one.version());
    let mut asked = planner.cluster().clone();
    loop {
        let [told, second] = [&mut *one, &mut *other].map(|server| {
            server
                .ask(&asked)
                .unwrap_or_else(|thrown| panic!("seed {seed}: {thrown}"))
        });
        if placement(&told) != placement(&second) {
            return false;
        }
        let Some(mut step) = planner.next(&told) else {
            return true;
        };
        if let Some(computed) = ours.prepare(&planner, &mut step, &told) {
            ours.follow(computed);
        }
        asked = step;
    }
}

/// Counts the clusters in which servers decide by chance, that is by the order of Java's immutable maps: two whose orders
/// are the same repeat each other.
fn count_chance(version: &str) {
    let servers = (
        started(version, 1),
        started(version, 1),
        started(version, 2),
    );
    let (Some(mut one), Some(mut twin), Some(mut other)) = servers else {
        return;
    };
    let (first, count) = (number("SEED", 1), number("COUNT", 2000));
    let mut same = 0;
    for seed in first..first + count {
        assert!(
            same_course(&mut one, &mut twin, seed),
            "{version}, seed {seed}: it does not repeat itself"
        );
        same += u64::from(same_course(&mut one, &mut other, seed));
    }
    println!("two servers {version} decide the same in {same} of {count} clusters");
}

#[test]
fn the_first_desired_balances_match_8_19() {
    compare("8.19.12", 1, 30);
}

#[test]
fn the_first_desired_balances_match_9_2() {
    compare("9.2.0", 1, 30);
}

/// Where a map of shards is full by one key: the server fills it with `computeIfAbsent`, which doubles it later and puts
/// keys first in their bins.
#[test]
fn desired_balances_match_where_maps_are_about_to_double() {
    compare("8.19.12", 997, 1);
    compare("9.2.0", 53, 1);
}

/// Counts `COUNT` clusters starting at seed `SEED`: `CHANCE=1 make test-desired`.
#[test]
#[ignore = "minutes: make test-desired"]
fn two_servers_are_counted() {
    count_chance("8.19.12");
    count_chance("9.2.0");
}

/// Runs `COUNT` clusters starting at seed `SEED`: `make test-desired`.
#[test]
#[ignore = "minutes: make test-desired"]
fn desired_balances_agree_with_8_19() {
    compare("8.19.12", number("SEED", 1), number("COUNT", 2000));
}

/// Runs `COUNT` clusters starting at seed `SEED`: `make test-desired`.
#[test]
#[ignore = "minutes: make test-desired"]
fn desired_balances_agree_with_9_2() {
    compare("9.2.0", number("SEED", 1), number("COUNT", 2000));
}
