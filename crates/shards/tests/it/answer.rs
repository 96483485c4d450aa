//! A cluster state as reported by both sides; the line formats are described in
//! lab/shards/src/Answer.java.

use serde::Deserialize;

/// Iteration order of the server's maps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Order {
    pub data_nodes: Vec<String>,
    /// Each index with its shard numbers.
    pub indices: Vec<(String, Vec<u32>)>,
}

/// A cluster state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Each node's id with its copies.
    pub nodes: Vec<(String, Vec<String>)>,
    pub unassigned: Vec<String>,
    pub in_sync: Vec<String>,
    pub order: Order,
}

/// A copy on a node, parsed from its line.
#[derive(Debug, Clone)]
pub struct Copy {
    pub index: String,
    pub shard: u32,
    pub node: String,
    pub primary: bool,
    pub state: String,
    pub id: u64,
}

impl Copy {
    pub fn is_active(&self) -> bool {
        self.state != "INITIALIZING"
    }
}

/// Splits "index[shard] P ..." into index, shard, whether primary, and the rest.
fn head(line: &str) -> (&str, u32, bool, &str) {
    let parse = || {
        let (index, rest) = line.split_once('[')?;
        let (shard, rest) = rest.split_once("] ")?;
        let (kind, rest) = rest.split_once(' ')?;
        Some((index, shard.parse().ok()?, kind == "P", rest))
    };
    parse().unwrap_or_else(|| panic!("an answer's line is not of the form agreed: {line}"))
}

/// Index and shard of a line.
pub fn shard_of(line: &str) -> (&str, u32) {
    let (index, shard, ..) = head(line);
    (index, shard)
}

impl Answer {
    pub fn copies(&self) -> impl Iterator<Item = Copy> + '_ {
        self.nodes.iter().flat_map(|(node, lines)| {
            lines.iter().map(move |line| {
                let (index, shard, primary, rest) = head(line);
                let (state, _) = rest.split_once(' ').unwrap_or((rest, ""));
                let id = line.rsplit_once('#').and_then(|(_, id)| id.parse().ok());
                Copy {
                    index: index.to_owned(),
                    shard,
                    node: node.clone(),
                    primary,
                    state: state.to_owned(),
                    id: id.unwrap_or_else(|| panic!("no allocation id in {line}")),
                }
            })
        })
    }

    /// Whether both states have the same copies on the same nodes in the same states.
    pub fn same_copies(&self, other: &Self) -> bool {
        self.nodes == other.nodes && self.unassigned == other.unassigned
    }
}

/// Differences between two lists: a few lines of each, from the first that differs.
fn lists(what: &str, server: &[String], ours: &[String], found: &mut Vec<String>) {
    const SHOWN: usize = 6;
    if server == ours {
        return;
    }
    let at = server
        .iter()
        .zip(ours)
        .position(|(a, b)| a != b)
        .unwrap_or(server.len().min(ours.len()));
    found.push(format!(
        "{what}: {} lines, ours {}; from place {at} on",
        server.len(),
        ours.len()
    ));
    for (side, lines) in [("server", server), ("  ours", ours)] {
        for line in lines.iter().skip(at).take(SHOWN) {
            found.push(format!("  {side} {line}"));
        }
        if lines.len() <= at {
            found.push(format!("  {side} (ends)"));
        }
    }
}

/// The server's unassigned list in a canonical order: adjacent identical replicas of a shard are sorted,
/// since their order is meaningless.
fn settled(lines: &[String]) -> Vec<String> {
    let mut lines = lines.to_vec();
    for run in lines.chunk_by_mut(|a, b| shard_of(a) == shard_of(b) && !head(a).2 && !head(b).2) {
        run.sort();
    }
    lines
}

/// Descriptions of all differences; empty if the states are equal.
pub fn differences(server: &Answer, ours: &Answer) -> Vec<String> {
    let mut found = Vec::new();
    let ids = |answer: &Answer| -> Vec<String> {
        answer.nodes.iter().map(|(id, _)| id.clone()).collect()
    };
    lists("order of the nodes", &ids(server), &ids(ours), &mut found);
    for (node, lines) in &server.nodes {
        if let Some((_, other)) = ours.nodes.iter().find(|(id, _)| id == node) {
            lists(&format!("copies on {node}"), lines, other, &mut found);
        }
    }
    lists(
        "unassigned",
        &settled(&server.unassigned),
        &settled(&ours.unassigned),
        &mut found,
    );
    lists("in sync", &server.in_sync, &ours.in_sync, &mut found);
    lists(
        "order of the data nodes",
        &server.order.data_nodes,
        &ours.order.data_nodes,
        &mut found,
    );
    let indices = |order: &Order| -> Vec<String> {
        order
            .indices
            .iter()
            .map(|(index, shards)| format!("{index} {shards:?}"))
            .collect()
    };
    lists(
        "order of the indices",
        &indices(&server.order),
        &indices(&ours.order),
        &mut found,
    );
    found
}
