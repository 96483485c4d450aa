//! Reads `_stats?level=shards` and `_cat/shards`: shard sizes, and on which path they are.

use super::answer::{Answer, ErrorAnswer};
use super::copies::SHARD_BYTES_MAX;
use super::json::{self, Fields, Object, Source, Text, once, shard_number, shown, skip};
use super::nodes::node_numbers;
use super::{State, StateError};
use crate::model::{IndexIndex, NodeIndex, PathIndex, ShardId};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt;

/// Reads either response.
pub fn read(state: &mut State, source: Source<'_>) -> Result<(), StateError> {
    let indices = state.cluster.indices.iter().zip(0..);
    let mut sizes = Sizes {
        indices: indices
            .map(|(index, at)| (index.name.clone(), IndexIndex(at)))
            .collect(),
        nodes: node_numbers(&state.cluster),
        paths: HashMap::new(),
        state,
        seen: false,
        error: ErrorAnswer::default(),
    };
    sizes.state.cluster.info.get_or_insert_default();
    json::parse(source, "sizes of shards", Either(&mut sizes))?;
    std::mem::take(&mut sizes.error).refuse("sizes of shards")?;
    if sizes.seen {
        Ok(())
    } else {
        Err(StateError::Contradiction(
            "sizes of shards: expected _stats?level=shards or _cat/shards?bytes=b&format=json, found \
             neither"
                .to_owned(),
        ))
    }
}

struct Sizes<'s> {
    state: &'s mut State,
    indices: HashMap<String, IndexIndex>,
    nodes: HashMap<String, NodeIndex>,
    paths: HashMap<String, PathIndex>,
    seen: bool,
    error: ErrorAnswer,
}

impl Sizes<'_> {
    fn shard(&self, index: &str, shard: u32) -> Option<ShardId> {
        let index = *self.indices.get(index)?;
        (shard < self.state.cluster.index(index).shards).then_some(ShardId { index, shard })
    }

    fn size(&mut self, shard: ShardId, primary: bool, bytes: i64) -> Result<(), String> {
        if !(0..=SHARD_BYTES_MAX).contains(&bytes) {
            return Err(format!("a shard has {bytes} bytes"));
        }
        let info = self.state.cluster.info.get_or_insert_default();
        info.set_size_bytes(shard, primary, bytes);
        Ok(())
    }

    fn path(&mut self, shard: ShardId, node: &str, path: &str) {
        let Some(&node) = self.nodes.get(node) else {
            return;
        };
        let info = self.state.cluster.info.get_or_insert_default();
        let number = if let Some(&number) = self.paths.get(path) {
            number
        } else {
            let number = info.path(path);
            self.paths.insert(path.to_owned(), number);
            number
        };
        let table = self.state.cluster.routing.table(shard.index);
        for copy in table
            .map(|table| table.group(shard.shard))
            .unwrap_or_default()
        {
            if copy.node == Some(node) {
                info.set_data_path(copy, number);
            }
        }
    }
}

/// An array of rows, or an object of indices.
struct Either<'a, 's>(&'a mut Sizes<'s>);

impl<'de> DeserializeSeed<'de> for Either<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Either<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("_stats?level=shards (an object) or _cat/shards?bytes=b&format=json (an array)")
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let mut stats = Stats(self.0);
        let mut answer = Answer::new(&mut stats);
        Object(&mut answer).visit_map(map)?;
        let error = answer.error;
        self.0.error = error;
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.seen = true;
        while let Some(row) = seq.next_element::<Row<'de>>()? {
            self.0.row(&row).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a row of _cat/shards: an object")]
struct Row<'a> {
    #[serde(borrow)]
    index: Text<'a>,
    #[serde(borrow)]
    shard: Text<'a>,
    #[serde(borrow)]
    prirep: Text<'a>,
    #[serde(borrow, default)]
    store: Option<Text<'a>>,
}

impl Sizes<'_> {
    fn row(&mut self, row: &Row<'_>) -> Result<(), String> {
        // Unassigned copies have no size.
        let Some(Text(store)) = &row.store else {
            return Ok(());
        };
        let shard = &row.shard.0;
        let shard = shard
            .parse()
            .map_err(|_| format!("expected the number of a shard, found {:?}", shown(shard)))?;
        let bytes = store.parse().map_err(|_| {
            format!(
                "expected bytes (ask with bytes=b), found {:?}",
                shown(store)
            )
        })?;
        if let Some(shard) = self.shard(&row.index.0, shard) {
            self.size(shard, row.prirep.0 == "p", bytes)?;
        }
        Ok(())
    }
}

struct Stats<'a, 's>(&'a mut Sizes<'s>);

impl<'de> Fields<'de> for Stats<'_, '_> {
    const WHAT: &'static str = "_stats?level=shards: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        if name != "indices" {
            return skip(map);
        }
        once(&mut self.0.seen, "indices")?;
        map.next_value_seed(Object(&mut Indices(self.0)))
    }
}

struct Indices<'a, 's>(&'a mut Sizes<'s>);

impl<'de> Fields<'de> for Indices<'_, '_> {
    const WHAT: &'static str = "indices by name: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let name = name.to_owned();
        map.next_value_seed(Object(&mut OneIndex(self.0, name)))
    }
}

struct OneIndex<'a, 's>(&'a mut Sizes<'s>, String);

impl<'de> Fields<'de> for OneIndex<'_, '_> {
    const WHAT: &'static str = "the statistics of an index: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        if name == "shards" {
            map.next_value_seed(Object(&mut Shards(self.0, &self.1)))
        } else {
            skip(map)
        }
    }
}

struct Shards<'a, 's, 'n>(&'a mut Sizes<'s>, &'n str);

impl<'de> Fields<'de> for Shards<'_, '_, '_> {
    const WHAT: &'static str = "the statistics of shards: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let number = shard_number(name)?;
        let copies = map.next_value::<Vec<RawShard<'de>>>()?;
        let Some(shard) = self.0.shard(self.1, number) else {
            return Ok(());
        };
        for copy in copies {
            if let Some(bytes) = copy.store.and_then(|store| store.size_in_bytes) {
                self.0
                    .size(shard, copy.routing.primary, bytes)
                    .map_err(A::Error::custom)?;
            }
            if let (Some(Text(node)), Some(path)) = (&copy.routing.node, &copy.shard_path) {
                self.0.path(shard, node, &path.data_path.0);
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(expecting = "the statistics of a copy: an object")]
struct RawShard<'a> {
    #[serde(borrow)]
    routing: RawRouting<'a>,
    #[serde(default)]
    store: Option<RawStore>,
    #[serde(borrow, default)]
    shard_path: Option<RawShardPath<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "where a copy is: an object")]
struct RawRouting<'a> {
    primary: bool,
    #[serde(borrow, default)]
    node: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "the size of a copy: an object")]
struct RawStore {
    #[serde(default)]
    size_in_bytes: Option<i64>,
}

#[derive(Deserialize)]
#[serde(expecting = "the path of a copy: an object")]
struct RawShardPath<'a> {
    #[serde(borrow)]
    data_path: Text<'a>,
}
