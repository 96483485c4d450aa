//! `GET /_cluster/state/master_node,routing_table`, without mappings. A large cluster has a hundred
//! thousand shard copies, so they are counted while parsing.

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// Maximum number of distinct names counted: more than there are nodes or reasons.
const NAMES_MAX: usize = 10_000;

/// The elected master and counts of shard copies.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Routing {
    /// Id of the elected master.
    pub master: Option<String>,
    /// All shard copies.
    pub total: u64,
    /// Primaries among them.
    pub primaries: u64,
    /// In state `STARTED`.
    pub started: u64,
    /// In state `RELOCATING`.
    pub relocating: u64,
    /// In state `INITIALIZING`.
    pub initializing: u64,
    /// In state `UNASSIGNED`.
    pub unassigned: u64,
    /// Unassigned copies by reason.
    pub unassigned_reasons: BTreeMap<String, u64>,
    /// Copies by id of the node they are on.
    pub by_node: BTreeMap<String, u64>,
    /// Copies of closed indices, if it was known which indices are closed.
    pub closed: Option<ClosedRouting>,
}

/// The part of the routing table that belongs to closed indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClosedRouting {
    /// Closed indices in the routing table.
    pub indices: u64,
    /// Shard copies of these indices.
    pub copies: u64,
}

impl Routing {
    /// Counts the copies in a response. `closed` holds the names of the closed indices, if known.
    pub(crate) fn parse(
        body: &[u8],
        closed: Option<&HashSet<String>>,
    ) -> Result<Self, serde_json::Error> {
        let mut routing = Self {
            closed: closed.map(|_| ClosedRouting::default()),
            ..Self::default()
        };
        let mut deserializer = serde_json::Deserializer::from_slice(body);
        Walk {
            routing: &mut routing,
            closed,
            level: Level::State,
        }
        .deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(routing)
    }

    fn copy(&mut self, copy: &Copy<'_>) -> Result<(), String> {
        self.total += 1;
        self.primaries += u64::from(copy.primary);
        let state = match copy.state.as_ref() {
            "STARTED" => &mut self.started,
            "RELOCATING" => &mut self.relocating,
            "INITIALIZING" => &mut self.initializing,
            "UNASSIGNED" => &mut self.unassigned,
            other => return Err(format!("unknown state of a shard, {other:.40}")),
        };
        *state += 1;
        let bump = |counts: &mut BTreeMap<String, u64>, name: &str| {
            if let Some(count) = counts.get_mut(name) {
                *count += 1;
            } else if counts.len() < NAMES_MAX {
                counts.insert(name.to_owned(), 1);
            }
        };
        if let Some(node) = &copy.node {
            bump(&mut self.by_node, node);
        }
        if copy.state == "UNASSIGNED"
            && let Some(info) = &copy.unassigned_info
        {
            bump(&mut self.unassigned_reasons, &info.reason);
        }
        Ok(())
    }
}

/// One shard copy.
#[derive(Deserialize)]
struct Copy<'a> {
    #[serde(borrow)]
    state: Cow<'a, str>,
    primary: bool,
    #[serde(borrow, default)]
    node: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    unassigned_info: Option<Info<'a>>,
}

#[derive(Deserialize)]
struct Info<'a> {
    #[serde(borrow)]
    reason: Cow<'a, str>,
}

/// A level of nesting in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// The whole response.
    State,
    /// `{"indices": {...}}`.
    Table,
    /// `{"INDEX": {"shards": {"0": [...]}}}`.
    Indices,
    /// Shard copies at any depth below an index: `{"shards": {"0": [{...}]}}`.
    Copies,
}

/// Walks down to the copies of each shard.
struct Walk<'a> {
    routing: &'a mut Routing,
    closed: Option<&'a HashSet<String>>,
    level: Level,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.level {
            Level::State | Level::Table | Level::Indices => deserializer.deserialize_map(self),
            Level::Copies => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a part of a cluster state")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut known = self.level != Level::State;
        while let Some(key) = map.next_key::<String>()? {
            let level = match (self.level, key.as_str()) {
                (Level::State, "master_node" | "cluster_manager_node") => {
                    self.routing.master = map.next_value()?;
                    known = true;
                    continue;
                }
                (Level::State, "routing_table") => Level::Table,
                (Level::Table, "indices") => Level::Indices,
                (Level::Indices | Level::Copies, _) => Level::Copies,
                (Level::State | Level::Table, _) => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            known = true;
            let before = self.routing.total;
            map.next_value_seed(Walk {
                routing: &mut *self.routing,
                closed: self.closed,
                level,
            })?;
            let copies = self.routing.total - before;
            if self.level == Level::Indices
                && let Some(closed) = &mut self.routing.closed
                && self.closed.is_some_and(|names| names.contains(&key))
            {
                closed.indices += 1;
                closed.copies += copies;
            }
        }
        if known {
            Ok(())
        } else {
            Err(A::Error::custom("neither a master nor a routing table"))
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut copies: A) -> Result<(), A::Error> {
        while let Some(copy) = copies.next_element::<Copy<'de>>()? {
            self.routing.copy(&copy).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATE: &str = r#"{"cluster_name":"c","master_node":"A","routing_table":{"indices":{
        "open":{"shards":{"0":[
            {"state":"STARTED","primary":true,"node":"A"},
            {"state":"RELOCATING","primary":false,"node":"B","relocating_node":"A"}],
        "1":[{"state":"INITIALIZING","primary":true,"node":"B",
                "unassigned_info":{"reason":"INDEX_CREATED"}},
            {"state":"UNASSIGNED","primary":false,"node":null,
                "unassigned_info":{"reason":"NODE_LEFT","at":"x"}}]}},
        "shut":{"shards":{"0":[{"state":"STARTED","primary":true,"node":"A"}]}}}}}"#;

    #[test]
    fn copies_are_counted_by_state_and_node() {
        let closed = HashSet::from(["shut".to_owned(), "not-in-the-table".to_owned()]);
        let routing = Routing::parse(STATE.as_bytes(), Some(&closed)).unwrap();
        assert_eq!(
            routing,
            Routing {
                master: Some("A".to_owned()),
                total: 5,
                primaries: 3,
                started: 2,
                relocating: 1,
                initializing: 1,
                unassigned: 1,
                unassigned_reasons: BTreeMap::from([("NODE_LEFT".to_owned(), 1)]),
                by_node: BTreeMap::from([("A".to_owned(), 2), ("B".to_owned(), 2)]),
                closed: Some(ClosedRouting {
                    indices: 1,
                    copies: 1
                }),
            }
        );
        assert_eq!(Routing::parse(STATE.as_bytes(), None).unwrap().closed, None);
    }

    #[test]
    fn a_cluster_without_indices_has_no_routing_table() {
        for body in [
            r#"{"master_node":"A"}"#,
            r#"{"cluster_manager_node":"A","routing_table":{}}"#,
            r#"{"cluster_manager_node":"A","routing_table":{"indices":{}}}"#,
        ] {
            let routing = Routing::parse(body.as_bytes(), None).unwrap();
            assert_eq!((routing.total, routing.master.as_deref()), (0, Some("A")));
        }
    }

    #[test]
    fn a_truncated_response_is_an_error() {
        for (at, _) in STATE.char_indices() {
            assert!(
                Routing::parse(&STATE.as_bytes()[..at], None).is_err(),
                "{at}"
            );
        }
        for body in [
            "{}",
            r#"{"routing_table":{"indices":{"a":{"shards":{"0":[{"state":"GONE","primary":true}]}}}}}"#,
            r#"{"routing_table":{"indices":{"a":{"shards":{"0":[{"state":"STARTED"}]}}}}}"#,
            r#"{"routing_table":{"indices":{"a":1}}}"#,
            r#"{"routing_table":[]}"#,
        ] {
            assert!(Routing::parse(body.as_bytes(), None).is_err(), "{body}");
        }
    }
}
