//! Prints where each copy is after a change, as JSON: an array of `[index, shard, primary, node name]`, the
//! node null if unassigned.
//!
//! `cargo run -p shards --example placements -- DIRECTORY [KEY=VALUE | -NODE]...`, where the directory has
//! `state.json`, `nodes.json`, `sizes.json` and `settings.json` as the server responded. A key that starts
//! with `cluster.` is set, and a node with `-` before its name is lost.

use shards::gateway::Stores;
use shards::model::Version;
use shards::reading;
use shards::state::{Source, State};
use shards::what_if;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(directory) = arguments.next() else {
        eprintln!("usage: placements DIRECTORY [KEY=VALUE | -NODE]...");
        return ExitCode::from(2);
    };
    match placements(&directory, arguments) {
        Ok(rows) => {
            println!("{rows}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{directory}: {error}");
            ExitCode::from(2)
        }
    }
}

fn placements(
    directory: &str,
    changes: impl Iterator<Item = String>,
) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    let file = |name: &str| std::fs::read(format!("{directory}/{name}.json"));
    let mut state = State::read(Source::Bytes(&file("state")?), Version::release(7, 4, 0))?;
    state.read_nodes(Source::Bytes(&file("nodes")?))?;
    state.read_sizes(Source::Bytes(&file("sizes")?))?;
    state.read_settings(Source::Bytes(&file("settings")?))?;
    reading::determine_server(&mut state, None, None)?;
    reading::assumptions(&mut state);
    let mut stores = Stores::of(&state.cluster);
    for change in changes {
        if let Some((key, value)) = change.split_once('=') {
            state.set(key, value)?;
        } else if let Some(node) = change.strip_prefix('-') {
            what_if::remove_node(&mut state.cluster, node)?;
        }
    }
    what_if::run(&mut state.cluster, &mut stores, 0, 100_000, &mut |_| ())?;
    let cluster = &state.cluster;
    let rows = cluster.routing.copies().map(|copy| {
        let node = copy.node.map(|node| cluster.node(node).name.as_str());
        let index = &cluster.index(copy.shard.index).name;
        serde_json::json!([index, copy.shard.shard, copy.primary, node])
    });
    Ok(rows.collect())
}
