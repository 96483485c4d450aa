//! Parses `_cluster/state` into [`Raw`].

use super::copies::RawCopy;
use super::json::{Each, Fields, Flatten, Object, Text, shard_number, shown, skip};
use super::raw::{Raw, RawNode, RawProgress};
use crate::model::{IndexIndex, IndexState, ShardId, Stream};
use serde::Deserialize;
use serde::de::{Error, MapAccess};

impl<'de> Fields<'de> for Raw {
    const WHAT: &'static str = "a cluster state: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "cluster_name" => self.name = map.next_value::<Option<String>>()?,
            "master_node" | "cluster_manager_node" => {
                let id = map.next_value::<Option<String>>()?;
                self.master = id.or(self.master.take());
            }
            "nodes" => {
                self.part("nodes")?;
                map.next_value_seed(Object(&mut Nodes(self)))?;
            }
            "metadata" => {
                self.part("metadata")?;
                map.next_value_seed(Object(&mut Metadata(self)))?;
            }
            "routing_table" => {
                self.part("routing_table")?;
                map.next_value_seed(Object(&mut Routing(self)))?;
            }
            "snapshots" => map.next_value_seed(Object(&mut Progress(self, false)))?,
            "restore" => map.next_value_seed(Object(&mut Progress(self, true)))?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

struct Nodes<'r>(&'r mut Raw);

impl<'de> Fields<'de> for Nodes<'_> {
    const WHAT: &'static str = "nodes by id: an object";
    fn field<A: MapAccess<'de>>(&mut self, id: &str, map: &mut A) -> Result<(), A::Error> {
        let number = self.0.node(id);
        if self.0.nodes[number.at()].listed {
            return Err(A::Error::custom(format!(
                "node {} is listed twice",
                shown(id)
            )));
        }
        let node = &mut self.0.nodes[number.at()];
        node.listed = true;
        map.next_value_seed(Object(node))?;
        self.0.listed_nodes.push(number);
        Ok(())
    }
}

impl<'de> Fields<'de> for RawNode {
    const WHAT: &'static str = "a node: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "name" => self.name = map.next_value()?,
            "transport_address" => self.transport_address = map.next_value()?,
            "roles" => self.roles = map.next_value()?,
            "version" => self.version = map.next_value()?,
            "attributes" => {
                self.attributes = map.next_value()?;
            }
            _ => skip(map)?,
        }
        Ok(())
    }
}

struct Metadata<'r>(&'r mut Raw);

impl<'de> Fields<'de> for Metadata<'_> {
    const WHAT: &'static str = "metadata: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        match name {
            "indices" => {
                self.0.part("metadata.indices")?;
                map.next_value_seed(Object(&mut Indices(self.0)))
            }
            "data_stream" => map.next_value_seed(Object(&mut Streams(self.0))),
            _ => skip(map),
        }
    }
}

/// `{"data_stream": {NAME: {"indices": [...]}}, "data_stream_aliases": ...}`
struct Streams<'r>(&'r mut Raw);

impl<'de> Fields<'de> for Streams<'_> {
    const WHAT: &'static str = "data streams: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        if name == "data_stream" {
            map.next_value_seed(Object(&mut StreamsByName(self.0)))
        } else {
            skip(map)
        }
    }
}

struct StreamsByName<'r>(&'r mut Raw);

impl<'de> Fields<'de> for StreamsByName<'_> {
    const WHAT: &'static str = "data streams by name: an object";
    fn field<A: MapAccess<'de>>(&mut self, _: &str, map: &mut A) -> Result<(), A::Error> {
        map.next_value_seed(Object(&mut OneStream(self.0)))
    }
}

struct OneStream<'r>(&'r mut Raw);

impl<'de> Fields<'de> for OneStream<'_> {
    const WHAT: &'static str = "a data stream: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        if name != "indices" {
            return skip(map);
        }
        let mut last = None;
        let mut take = |index: RawIndexName| {
            if let Some(earlier) = last.replace(index.name) {
                self.0.streams.insert(earlier, Stream::Backing);
            }
            Ok(())
        };
        map.next_value_seed(Each::new(&mut take))?;
        // The stream writes to the last one.
        if let Some(last) = last {
            self.0.streams.insert(last, Stream::WriteIndex);
        }
        Ok(())
    }
}

struct Indices<'r>(&'r mut Raw);

impl<'de> Fields<'de> for Indices<'_> {
    const WHAT: &'static str = "indices by name: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let index = self.0.index(name);
        if std::mem::replace(&mut self.0.indices[index.at()].listed, true) {
            return Err(A::Error::custom(format!(
                "index {} is in the metadata twice",
                shown(name)
            )));
        }
        map.next_value_seed(Object(&mut IndexMetadata(self.0, index)))?;
        if let Some(error) = &self.0.indices[index.at()].settings.error {
            return Err(A::Error::custom(format!("index {}: {error}", shown(name))));
        }
        Ok(())
    }
}

struct IndexMetadata<'r>(&'r mut Raw, IndexIndex);

impl<'de> Fields<'de> for IndexMetadata<'_> {
    const WHAT: &'static str = "an index: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let index = &mut self.0.indices[self.1.at()];
        match name {
            "state" => {
                let Text(state) = map.next_value()?;
                index.state = Some(match &*state {
                    "open" => IndexState::Open,
                    "close" | "closed" => IndexState::Closed,
                    other => {
                        let other = shown(other);
                        return Err(A::Error::custom(format!(
                            "index {}: expected open or close, found {other:?}",
                            shown(&index.name)
                        )));
                    }
                });
            }
            "settings" => map.next_value_seed(Flatten {
                name: &mut String::new(),
                sink: &mut index.settings,
            })?,
            "in_sync_allocations" => map.next_value_seed(Object(&mut InSync(self.0, self.1)))?,
            _ => skip(map)?,
        }
        Ok(())
    }
}

struct InSync<'r>(&'r mut Raw, IndexIndex);

impl<'de> Fields<'de> for InSync<'_> {
    const WHAT: &'static str = "allocation ids by shard: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let shard = shard_number(name)?;
        let mut ids = Vec::new();
        let mut take = |Text(id): Text<'de>| {
            ids.push(self.0.allocation(&id));
            Ok(())
        };
        map.next_value_seed(Each::new(&mut take))?;
        self.0.indices[self.1.at()].in_sync.push((shard, ids));
        Ok(())
    }
}

struct Routing<'r>(&'r mut Raw);

impl<'de> Fields<'de> for Routing<'_> {
    const WHAT: &'static str = "a routing table: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        if name == "indices" {
            map.next_value_seed(Object(&mut Routed(self.0)))
        } else {
            skip(map)
        }
    }
}

struct Routed<'r>(&'r mut Raw);

impl<'de> Fields<'de> for Routed<'_> {
    const WHAT: &'static str = "routed indices by name: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let index = self.0.index(name);
        if std::mem::replace(&mut self.0.indices[index.at()].routed, true) {
            return Err(A::Error::custom(format!(
                "index {} is in the routing table twice",
                shown(name)
            )));
        }
        self.0.routed_indices.push(index);
        map.next_value_seed(Object(&mut RoutedIndex(self.0, index)))
    }
}

struct RoutedIndex<'r>(&'r mut Raw, IndexIndex);

impl<'de> Fields<'de> for RoutedIndex<'_> {
    const WHAT: &'static str = "the table of an index: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        if name == "shards" {
            map.next_value_seed(Object(&mut Shards(self.0, self.1)))
        } else {
            skip(map)
        }
    }
}

struct Shards<'r>(&'r mut Raw, IndexIndex);

impl<'de> Fields<'de> for Shards<'_> {
    const WHAT: &'static str = "copies by shard: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let shard = ShardId {
            index: self.1,
            shard: shard_number(name)?,
        };
        let raw = &mut *self.0;
        let before = raw.indices[self.1.at()].copies.len();
        // A duplicate further down is detected once the whole table is read.
        if raw.indices[self.1.at()]
            .copies
            .last()
            .is_some_and(|copy| copy.shard == shard)
        {
            return Err(A::Error::custom(format!(
                "shard [{}][{}] is in the routing table twice",
                shown(&raw.indices[self.1.at()].name),
                shard.shard
            )));
        }
        let mut take = |copy: RawCopy<'de>| {
            let copy = copy.read(raw, shard)?;
            raw.indices[shard.index.at()].copies.push(copy);
            Ok(())
        };
        map.next_value_seed(Each::new(&mut take))?;
        if raw.indices[self.1.at()].copies.len() == before {
            return Err(A::Error::custom(format!(
                "shard [{}][{}] has no copy",
                shown(&raw.indices[self.1.at()].name),
                shard.shard
            )));
        }
        Ok(())
    }
}

struct Progress<'r>(&'r mut Raw, bool);

impl<'de> Fields<'de> for Progress<'_> {
    const WHAT: &'static str = "running snapshots or restores: an object";
    fn field<A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        if name != "snapshots" {
            return skip(map);
        }
        let target = if self.1 {
            &mut self.0.restoring
        } else {
            &mut self.0.snapshots
        };
        let mut take = |entry: RawEntry| {
            target.extend(entry.shards.into_iter().map(|shard| RawProgress {
                index: shard.index.name,
                shard: shard.shard,
                node: shard.node,
                completed: matches!(
                    shard.state.as_str(),
                    "SUCCESS" | "FAILED" | "FAILURE" | "MISSING"
                ),
            }));
            Ok(())
        };
        map.next_value_seed(Each::new(&mut take))
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a running snapshot or restore: an object")]
struct RawEntry {
    #[serde(default)]
    shards: Vec<RawProgressShard>,
}

#[derive(Deserialize)]
#[serde(expecting = "a shard of a snapshot or restore: an object")]
struct RawProgressShard {
    index: RawIndexName,
    shard: u32,
    state: String,
    #[serde(default)]
    node: Option<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "an index: an object with index_name")]
struct RawIndexName {
    #[serde(rename = "index_name")]
    name: String,
}
