//! Every parser under random and mutated input, on the stable toolchain: the same functions that
//! `cargo fuzz` drives with coverage, from the same seeds, with a seeded generator.
//!
//! `cargo run -p fuzz-targets -- [--inputs N] [--seed N] [--only NAME]`

use fuzz_targets::{TARGETS, Target};
use std::num::NonZero;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::available_parallelism;

/// Longest input that is made, in bytes.
const LEN_MAX: usize = 512;

fn main() -> ExitCode {
    let mut inputs = 100_000_u64;
    let mut seed = 1_u64;
    let mut only = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--inputs" => inputs = value.parse().expect("--inputs takes a number"),
            "--seed" => seed = value.parse().expect("--seed takes a number"),
            "--only" => only = Some(value),
            _ => {
                eprintln!("usage: fuzz-targets [--inputs N] [--seed N] [--only NAME]");
                return ExitCode::from(2);
            }
        }
    }
    // The default hook would print a backtrace for every panic that is caught and counted.
    std::panic::set_hook(Box::new(|_| {}));
    let chosen: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| only.as_deref().is_none_or(|name| name == target.name))
        .collect();
    let next = AtomicUsize::new(0);
    let failed = AtomicUsize::new(0);
    // Each target by itself has the same inputs, whatever runs beside it.
    let work = || {
        while let Some(target) = chosen.get(next.fetch_add(1, Relaxed)) {
            match run(target, inputs, seed) {
                None => println!("{:<14} {inputs} inputs", target.name),
                Some(input) => {
                    let input = String::from_utf8_lossy(&input);
                    println!("{:<14} PANICS on {input:?}", target.name);
                    failed.fetch_add(1, Relaxed);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(work);
        }
    });
    let failed = failed.into_inner();
    let passed = chosen.len() - failed;
    println!("{passed} passed, {failed} failed");
    if failed == 0 && passed > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The first input that makes the target panic.
fn run(target: &Target, inputs: u64, seed: u64) -> Option<Vec<u8>> {
    let mut random = Random(seed);
    for index in 0..inputs {
        let input = if index < target.seeds.len() as u64 {
            target.seeds[usize::try_from(index).ok()?]
                .as_bytes()
                .to_vec()
        } else if index % 8 == 0 || target.seeds.is_empty() {
            (0..random.below(LEN_MAX)).map(|_| random.byte()).collect()
        } else {
            mutate(target.seeds, &mut random)
        };
        if std::panic::catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            return Some(input);
        }
    }
    None
}

/// A piece of a seed with some bytes changed, cut, doubled, or taken from another seed.
fn mutate(seeds: &[&str], random: &mut Random) -> Vec<u8> {
    let seed = seeds[random.below(seeds.len())].as_bytes();
    let start = random.below(seed.len() + 1);
    let mut input: Vec<u8> = seed[start..].iter().copied().take(LEN_MAX).collect();
    if random.below(2) == 0 {
        input = seed.iter().copied().take(LEN_MAX).collect();
    }
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        match random.below(7) {
            0 if at < input.len() => input[at] = random.byte(),
            1 if at < input.len() => input[at] ^= 1 << random.below(8),
            2 => input.insert(at, random.byte()),
            3 if at < input.len() => {
                input.remove(at);
            }
            4 => {
                // What parsers stumble over: separators, quotes, signs, large numbers.
                let pieces: [&[u8]; 16] = [
                    b"\n",
                    b" ",
                    b"\t",
                    b"*",
                    b"/",
                    b"-",
                    b"..",
                    b"\"",
                    b"\\",
                    b"'",
                    b"=",
                    b"{",
                    b"0",
                    b"18446744073709551616",
                    b"\xff",
                    "\u{2026}".as_bytes(),
                ];
                input.splice(at..at, pieces[random.below(pieces.len())].iter().copied());
            }
            5 => {
                let other = seeds[random.below(seeds.len())].as_bytes();
                let from = random.below(other.len() + 1);
                let len = random.below(40).min(other.len() - from);
                input.splice(at..at, other[from..from + len].iter().copied());
            }
            _ => {
                let len = random.below(16).min(input.len() - at.min(input.len()));
                let piece: Vec<u8> = input[at..at + len].to_vec();
                input.splice(at..at, piece);
            }
        }
    }
    input.truncate(LEN_MAX);
    input
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 where the bound is 0.
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 1)
            .unwrap_or(0)
            .checked_rem(bound)
            .unwrap_or(0)
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}
