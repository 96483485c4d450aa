//! Writes a synthetic cluster state to standard output.
//!
//! `cargo run -p shards --example write_state -- NODES INDICES PRIMARIES REPLICAS FIELDS > state.json`;
//! `100 60000 5 1 110` gives about 500 MB.

mod generate;

use generate::{Spec, write_state};
use std::io::{BufWriter, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let numbers: Option<Vec<u32>> = std::env::args()
        .skip(1)
        .map(|text| text.parse().ok())
        .collect();
    let Some(&[nodes, indices, primaries, replicas, mapping_fields]) = numbers.as_deref() else {
        eprintln!("usage: write_state NODES INDICES PRIMARIES REPLICAS FIELDS");
        return ExitCode::from(2);
    };
    let spec = Spec {
        nodes: nodes.max(1),
        indices,
        primaries,
        replicas,
        mapping_fields,
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    match write_state(&mut out, &spec).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("standard output: {error}");
            ExitCode::from(2)
        }
    }
}
