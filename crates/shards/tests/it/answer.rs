//! A cluster state as reported by both sides; the line formats are those of
//! lab/shards/versions/Versions.java.

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
    pub order: Order,
}

/// A copy on a node, parsed from its line.
#[derive(Debug, Clone)]
pub struct Copy {
    pub index: String,
    pub shard: u32,
    pub node: String,
    state: String,
}

impl Copy {
    pub fn is_active(&self) -> bool {
        self.state != "INITIALIZING"
    }
}

/// Splits "index[shard] P STATE ..." into index, shard and state.
fn head(line: &str) -> (&str, u32, &str) {
    let parse = || {
        let (index, rest) = line.split_once('[')?;
        let (shard, rest) = rest.split_once("] ")?;
        Some((index, shard.parse().ok()?, rest.split(' ').nth(1)?))
    };
    parse().unwrap_or_else(|| panic!("an answer's line is not of the form agreed: {line}"))
}

impl Answer {
    pub fn copies(&self) -> impl Iterator<Item = Copy> + '_ {
        self.nodes.iter().flat_map(|(node, lines)| {
            lines.iter().map(move |line| {
                let (index, shard, state) = head(line);
                Copy {
                    index: index.to_owned(),
                    shard,
                    node: node.clone(),
                    state: state.to_owned(),
                }
            })
        })
    }

    /// Whether both states have the same copies on the same nodes in the same states.
    pub fn same_copies(&self, other: &Self) -> bool {
        self.nodes == other.nodes && self.unassigned == other.unassigned
    }
}
