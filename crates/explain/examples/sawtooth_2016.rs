//! Prints the curve of 2016 as CSV, modelled on its authors' description: see `Sawtooth::of_2016`.
//!
//! `cargo run -p explain --example sawtooth_2016 -- curve|trims [SEED]`
//!
//! `curve` prints `time,throughput`; `trims` prints the times at which fstrim ran, `time,what`.

#[path = "../tests/simulate/mod.rs"]
mod simulate;

use jiff::{Timestamp, ToSpan};
use simulate::Sawtooth;
use std::fmt::Write as _;
use std::process::ExitCode;

/// The seed of the curve in the cases.
const SEED: u64 = 2016;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next();
    let seed = match arguments.next().map(|seed| seed.parse()) {
        None => SEED,
        Some(Ok(seed)) => seed,
        Some(Err(_)) => return usage(),
    };
    match what.as_deref() {
        Some("curve") => print!("{}", curve(seed)),
        Some("trims") => print!("{}", trims()),
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("sawtooth_2016 curve|trims [SEED]");
    ExitCode::from(2)
}

fn curve(seed: u64) -> String {
    let series = Sawtooth::of_2016().simulate(seed).series;
    let mut text = String::from("time,throughput\n");
    for (&at_us, value) in series.times_us.iter().zip(&series.values) {
        let at = Timestamp::from_microsecond(at_us).expect("times of the simulation");
        writeln!(text, "{},{value:.1}", at.strftime("%Y-%m-%dT%H:%M:%SZ")).expect("text");
    }
    text
}

fn trims() -> String {
    let sawtooth = Sawtooth::of_2016();
    let mut text = String::from("time,what\n");
    for index in 0..sawtooth.days {
        let day = sawtooth.first_day.saturating_add(i64::from(index).days());
        let is_daily = sawtooth.daily_from.is_some_and(|from| day >= from);
        let at = if is_daily {
            sawtooth.daily_at
        } else if day.weekday() == sawtooth.reset_day {
            sawtooth.reset_at
        } else {
            continue;
        };
        // The same name whatever starts it: a job whose schedule changes, not two jobs.
        let at = day.to_datetime(at).strftime("%Y-%m-%dT%H:%M:%SZ");
        writeln!(text, "{at},fstrim").expect("text");
    }
    text
}
