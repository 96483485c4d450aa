//! Reads a cluster state and prints a summary, the time it took and the memory it needed.
//!
//! `cargo run -p shards --example read_state -- state.json`; with `-` it streams from standard input.

use shards::model::Version;
use shards::state::{Source, State};
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: read_state FILE|-");
        return ExitCode::from(2);
    };
    let version = Version::release(7, 4, 0);
    let start = Instant::now();
    let read = if path == "-" {
        let mut stdin = std::io::stdin().lock();
        State::read(Source::Stream(&mut stdin), version).map_err(|error| error.to_string())
    } else {
        std::fs::read(&path)
            .map_err(|error| error.to_string())
            .and_then(|bytes| {
                State::read(Source::Bytes(&bytes), version).map_err(|error| error.to_string())
            })
    };
    let state = match read {
        Ok(state) => state,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    let copies = state.cluster.routing.copies().count();
    println!(
        "{} nodes, {} indices, {copies} copies in {:.2} s",
        state.cluster.nodes.len(),
        state.cluster.indices.len(),
        start.elapsed().as_secs_f64()
    );
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        for line in status.lines().filter(|line| line.starts_with("VmHWM")) {
            println!("{line}");
        }
    }
    ExitCode::SUCCESS
}
