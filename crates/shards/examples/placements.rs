//! Prints where each copy is after a change, as JSON: an array of `[index, shard, primary, node name]`, the
//! node null if unassigned.
//!
//! `cargo run -p shards --example placements -- SERVER DIRECTORY [CHANGE]...`, where SERVER is the version as
//! node.sh calls it, since older servers do not say theirs in these files, and the directory has
//! `state.json`, `nodes.json`, `sizes.json`, `settings.json` and, from 8.6 on, `desired.json` as the server
//! responded. Changes: `KEY=VALUE` sets a setting of the cluster, `index:PATTERN:KEY=VALUE` one of indices,
//! `create:NAME:shards=N,replicas=N` creates an index; `+NODE[:KEY=VALUE,...]` joins, `-NODE` is lost, and
//! `shutdown:NODE:remove|restart|replace=NAME` is announced to leave.

use shards::gateway::Stores;
use shards::model::{Roles, ShutdownKind, Version};
use shards::profile::Server;
use shards::reading;
use shards::state::{Source, State};
use shards::what_if::{self, NewIndex, NewNode, NodeShutdown};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(server), Some(directory)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: placements SERVER DIRECTORY [CHANGE]...");
        return ExitCode::from(2);
    };
    match placements(&server, &directory, arguments) {
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
    server: &str,
    directory: &str,
    changes: impl Iterator<Item = String>,
) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
    let file = |name: &str| std::fs::read(format!("{directory}/{name}.json"));
    let mut state = State::read(Source::Bytes(&file("state")?), Version::release(7, 4, 0))?;
    state.read_nodes(Source::Bytes(&file("nodes")?))?;
    state.read_sizes(Source::Bytes(&file("sizes")?))?;
    state.read_settings(Source::Bytes(&file("settings")?))?;
    reading::determine_server(&mut state, Some(&Server::parse(server)?), None)?;
    reading::assumptions(&mut state);
    if let Ok(desired) = file("desired") {
        state.read_desired(Source::Bytes(&desired))?;
    }
    let mut stores = Stores::of(&state.cluster);
    let mut created = Vec::new();
    for change in changes {
        match change.strip_prefix("create:") {
            Some(index) => created.push(new_index(index)?),
            None => apply(&mut state, &change)?,
        }
    }
    let desired = state.desired.take();
    what_if::run_creating(
        &mut state.cluster,
        desired.as_ref(),
        &mut stores,
        0,
        100_000,
        &created,
        &mut |_| (),
    )?;
    let cluster = &state.cluster;
    let rows = cluster.routing.copies().map(|copy| {
        let node = copy.node.map(|node| cluster.node(node).name.as_str());
        let index = &cluster.index(copy.shard.index).name;
        serde_json::json!([index, copy.shard.shard, copy.primary, node])
    });
    Ok(rows.collect())
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

fn new_index(text: &str) -> Result<NewIndex, std::num::ParseIntError> {
    let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
    let numbers = pairs(numbers);
    let number = |key: &str| {
        let given = numbers.iter().find(|(name, _)| name == key);
        given.map_or(Ok(1), |(_, value)| value.parse())
    };
    Ok(NewIndex {
        name: name.to_owned(),
        shards: number("shards")?,
        replicas: number("replicas")?,
    })
}

fn apply(state: &mut State, change: &str) -> Result<(), Box<dyn std::error::Error>> {
    if let Some(rest) = change.strip_prefix("index:") {
        let (pattern, setting) = rest.split_once(':').ok_or("index:PATTERN:KEY=VALUE")?;
        let (key, value) = setting.split_once('=').ok_or("index:PATTERN:KEY=VALUE")?;
        let indices = what_if::matching(&state.cluster, pattern)?;
        state.set_index(&indices, key, value, 0)?;
    } else if let Some(rest) = change.strip_prefix("shutdown:") {
        let (node, kind) = rest.split_once(':').unwrap_or((rest, "remove"));
        let (kind, target) = match kind.split_once('=') {
            Some((_, by)) => (ShutdownKind::Replace, Some(by.to_owned())),
            None if kind == "restart" => (ShutdownKind::Restart, None),
            None => (ShutdownKind::Remove, None),
        };
        let node = node.to_owned();
        what_if::shut_down(&mut state.cluster, &NodeShutdown { node, kind, target })?;
    } else if let Some(rest) = change.strip_prefix('+') {
        let (name, attributes) = rest.split_once(':').unwrap_or((rest, ""));
        let new = NewNode {
            name: name.to_owned(),
            // Whoever lost a node gives that one back.
            id: what_if::awaited(&state.cluster),
            attributes: pairs(attributes),
            roles: Roles::default(),
            disk_bytes: None,
        };
        let version = state.cluster.version;
        what_if::add_node(&mut state.cluster, &new, version)?;
    } else if let Some((key, value)) = change.split_once('=') {
        state.set(key, value)?;
    } else if let Some(node) = change.strip_prefix('-') {
        what_if::remove_node(&mut state.cluster, node)?;
    } else {
        return Err(format!("{change:?} is no change").into());
    }
    Ok(())
}
