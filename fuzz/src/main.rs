//! Runs every parser on random and mutated input with the stable toolchain: the same functions and
//! seeds that `cargo fuzz` uses with coverage, with a seeded generator.
//!
//! `cargo run -p fuzz-targets -- [--inputs N] [--seconds S] [--seed N] [--only NAME]`
//!
//! Each target first gets the files of `fuzz/regressions/NAME`, inputs that once caused a panic,
//! then its seeds, then generated inputs, up to N in total. With `--seconds` it stops after S
//! seconds, but not before [`INPUTS_MIN`] inputs; the inputs run are the same as without a limit.

use fuzz_targets::{TARGETS, Target};
use std::ffi::OsString;
use std::io;
use std::num::NonZero;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Maximum length of generated inputs, in bytes.
const LEN_MAX: usize = 512;

/// Minimum number of inputs for every target, however slow it is.
const INPUTS_MIN: u64 = 50_000;

/// Number of inputs between checks of the time limit.
const INPUTS_PER_LOOK: u64 = 256;

/// Command-line options.
struct Options {
    inputs: u64,
    seed: u64,
    /// Time limit per target; `None` runs all inputs.
    limit: Option<Duration>,
    only: Option<String>,
}

fn main() -> ExitCode {
    let Some(options) = read_arguments(std::env::args().skip(1)) else {
        eprintln!("usage: fuzz-targets [--inputs N] [--seconds S] [--seed N] [--only NAME]");
        return ExitCode::from(2);
    };
    // The default hook would print a backtrace for every panic that is caught and counted.
    std::panic::set_hook(Box::new(|_| {}));
    let regressions = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let chosen: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| {
            options
                .only
                .as_deref()
                .is_none_or(|name| name == target.name)
        })
        .collect();
    let next = AtomicUsize::new(0);
    let failed = AtomicUsize::new(0);
    // A target gets the same inputs regardless of which other targets run.
    let work = || {
        while let Some(target) = chosen.get(next.fetch_add(1, Relaxed)) {
            let outcome = read_regressions(&regressions.join(target.name))
                .map(|first| run(target, &first, &options));
            match outcome {
                Ok(Outcome::Passed(count)) => println!("{:<18} {count:>8} inputs", target.name),
                Ok(Outcome::Panics(input)) => {
                    let input = String::from_utf8_lossy(&input);
                    println!("{:<18} PANICS on {input:?}", target.name);
                    failed.fetch_add(1, Relaxed);
                }
                Err(error) => {
                    println!("{:<18} its regressions: {error}", target.name);
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

/// Parses the arguments; `None` if they are invalid.
fn read_arguments(mut arguments: impl Iterator<Item = String>) -> Option<Options> {
    let mut options = Options {
        inputs: 100_000,
        seed: 1,
        limit: None,
        only: None,
    };
    while let Some(argument) = arguments.next() {
        let value = arguments.next()?;
        match argument.as_str() {
            "--inputs" => options.inputs = value.parse().ok()?,
            "--seconds" => options.limit = Some(Duration::from_secs(value.parse().ok()?)),
            "--seed" => options.seed = value.parse().ok()?,
            "--only" => options.only = Some(value),
            _ => return None,
        }
    }
    Some(options)
}

/// The contents of a directory's files, sorted by name; empty if the directory does not exist.
///
/// # Errors
/// If the directory or a file in it cannot be read.
fn read_regressions(directory: &Path) -> io::Result<Vec<Vec<u8>>> {
    let entries = match directory.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names: Vec<OsString> = entries
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<_>>()?;
    names.sort();
    names
        .iter()
        .map(|name| std::fs::read(directory.join(name)))
        .collect()
}

/// Result of running a target.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// Number of inputs run without a panic.
    Passed(u64),
    /// The first input that causes a panic.
    Panics(Vec<u8>),
}

/// Runs a target on the inputs `first`, then on its seeds and generated inputs.
fn run(target: &Target, first: &[Vec<u8>], options: &Options) -> Outcome {
    let panics =
        |input: &[u8]| std::panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err();
    if let Some(input) = first.iter().find(|input| panics(input)) {
        return Outcome::Panics(input.clone());
    }
    let start = Instant::now();
    let mut random = Random(options.seed);
    for index in 0..options.inputs {
        if index >= INPUTS_MIN
            && index % INPUTS_PER_LOOK == 0
            && options.limit.is_some_and(|limit| start.elapsed() >= limit)
        {
            return Outcome::Passed(index);
        }
        let seed = usize::try_from(index)
            .ok()
            .and_then(|index| target.seeds.get(index));
        let input = if let Some(seed) = seed {
            seed.as_bytes().to_vec()
        } else if index % 8 == 0 || target.seeds.is_empty() {
            (0..random.below(LEN_MAX)).map(|_| random.byte()).collect()
        } else {
            mutate(target.seeds, &mut random)
        };
        if panics(&input) {
            return Outcome::Panics(input);
        }
    }
    Outcome::Passed(options.inputs)
}

/// Mutates a seed or part of one: changes, removes or duplicates bytes, or inserts parts of other
/// seeds.
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
                // Pieces likely to confuse parsers: separators, quotes, signs, large numbers.
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

    /// A number below `bound`, or 0 if `bound` is 0.
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

#[cfg(test)]
mod tests {
    use super::{INPUTS_MIN, INPUTS_PER_LOOK, Options, Outcome, run};
    use fuzz_targets::Target;
    use std::time::Duration;

    fn options(inputs: u64, limit: Option<Duration>) -> Options {
        Options {
            inputs,
            seed: 1,
            limit,
            only: None,
        }
    }

    const FINE: Target = Target {
        name: "fine",
        run: |_| {},
        seeds: &["a"],
    };
    const WANTS_NO_Q: Target = Target {
        name: "wants-no-q",
        run: |input| assert_ne!(input, b"q"),
        seeds: &["a"],
    };

    #[test]
    fn all_inputs_run_without_a_limit() {
        assert_eq!(
            run(&FINE, &[], &options(1_000, None)),
            Outcome::Passed(1_000)
        );
    }

    #[test]
    fn a_time_limit_keeps_the_minimum_of_inputs() {
        let none = Some(Duration::ZERO);
        let Outcome::Passed(count) = run(&FINE, &[], &options(u64::MAX, none)) else {
            panic!("nothing panics");
        };
        assert!((INPUTS_MIN..INPUTS_MIN + INPUTS_PER_LOOK).contains(&count));
        // Fewer are run if fewer were requested.
        assert_eq!(
            run(&FINE, &[], &options(1_000, none)),
            Outcome::Passed(1_000)
        );
    }

    #[test]
    fn regressions_run_first() {
        let panicked = [b"ok".to_vec(), b"q".to_vec()];
        assert_eq!(
            run(&WANTS_NO_Q, &panicked, &options(0, None)),
            Outcome::Panics(b"q".to_vec())
        );
    }
}
