//! The server's state after a step, as lab/shards/desired/common/Told.java writes it.

use serde_json::Value;

/// A copy.
#[derive(Debug, Clone)]
pub struct Copy {
    pub primary: bool,
    pub state: String,
    pub node: Option<String>,
    pub to: Option<String>,
    pub id: Option<u64>,
    pub relocation: Option<u64>,
    pub source: Option<String>,
    pub expected: i64,
    pub reason: Option<String>,
    pub status: Option<String>,
    pub failures: u32,
    pub last: Option<String>,
    pub failed_moves: u32,
}

/// Where the copies of a shard should be: nodes, total, unassigned, ignored.
pub type Wanted = (Vec<String>, u32, u32, u32);

/// An index: its name, and the copies of each shard.
pub type Table = (String, Vec<Vec<Copy>>);

#[derive(Debug, Clone)]
pub struct Told {
    pub data_nodes: Vec<String>,
    pub routed: Vec<String>,
    pub indices: Vec<Table>,
    pub desired: Vec<((String, u32), Wanted)>,
    pub converged: bool,
    pub iterations: u32,
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn word(value: &Value) -> String {
    text(value).expect("a string")
}

fn count(value: &Value) -> u32 {
    u32::try_from(value.as_u64().expect("a number")).expect("small")
}

impl Copy {
    fn read(value: &Value) -> Self {
        let at = list(value);
        Self {
            primary: at[0].as_bool().expect("a flag"),
            state: word(&at[1]),
            node: text(&at[2]),
            to: text(&at[3]),
            id: at[4].as_u64(),
            relocation: at[5].as_u64(),
            source: text(&at[6]),
            expected: at[7].as_i64().expect("a number"),
            reason: text(&at[8]),
            status: text(&at[9]),
            failures: count(&at[10]),
            last: text(&at[11]),
            failed_moves: count(&at[12]),
        }
    }
}

impl Told {
    pub fn read(value: &Value) -> Self {
        let words = |key: &str| list(&value[key]).iter().map(word).collect();
        let table = |value: &Value| {
            let shards = list(&value[1]).iter();
            let copies = shards.map(|shard| list(shard).iter().map(Copy::read).collect());
            (word(&value[0]), copies.collect())
        };
        let wanted = |value: &Value| {
            let nodes = list(&value[2]).iter().map(word).collect();
            let key = (word(&value[0]), count(&value[1]));
            (
                key,
                (nodes, count(&value[3]), count(&value[4]), count(&value[5])),
            )
        };
        let mut desired: Vec<_> = list(&value["desired"]).iter().map(wanted).collect();
        desired.sort();
        Self {
            data_nodes: words("data_nodes"),
            routed: words("routed"),
            indices: list(&value["indices"]).iter().map(table).collect(),
            desired,
            converged: value["converged"].as_bool().expect("a flag"),
            iterations: count(&value["iterations"]),
        }
    }

    /// All copies, each with its index and shard.
    pub fn copies(&self) -> impl Iterator<Item = (&str, u32, &Copy)> {
        self.indices.iter().flat_map(|(index, shards)| {
            (0..).zip(shards).flat_map(move |(shard, copies)| {
                copies.iter().map(move |copy| (index.as_str(), shard, copy))
            })
        })
    }
}
