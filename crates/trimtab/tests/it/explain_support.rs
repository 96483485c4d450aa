//! Synthetic curves, and `trimtab explain` on them.

use crate::support::{run, stderr};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Writes a year of nightly values that fall by 12 % within each week and recover after Sunday
/// 06:47, with a little noise that repeats every 11 nights.
pub fn sawtooth(directory: &Path) -> PathBuf {
    let mut text = String::from("time,throughput\n");
    let mut day = jiff::civil::date(2016, 1, 4).at(5, 40, 0, 0);
    for night in 0..365_i32 {
        let value = 51_000.0 * (1.0 - 0.12 * f64::from(night % 7) / 7.0);
        let noise = f64::from(night * 37 % 11 - 5) * 60.0;
        let _ = writeln!(text, "{day},{}", value + noise);
        day = day.checked_add(jiff::Span::new().days(1)).unwrap();
    }
    write(directory, "nightly.csv", &text)
}

pub fn write(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

pub fn explain(source: &Path, more: &[&str]) -> std::process::Output {
    let mut args = vec!["explain", source.to_str().unwrap(), "--tz", "Europe/Berlin"];
    args.extend(more);
    run(&args)
}

/// Parses the output of `--format json`.
pub fn json(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}
