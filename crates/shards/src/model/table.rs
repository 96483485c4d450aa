//! The routing table (`RoutingTable`, `IndexRoutingTable`, `IndexShardRoutingTable`).

use super::{IndexIndex, ShardId};
use crate::copy::ShardCopy;

/// The copies of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexTable {
    /// The index.
    pub index: IndexIndex,
    /// The copies, grouped by shard: shards in the order in which the server iterates over them, copies
    /// in the order of the shard's list. A relocating copy appears once, as the source.
    pub copies: Vec<ShardCopy>,
}

impl IndexTable {
    /// The copies of each shard, in order.
    pub fn groups(&self) -> impl Iterator<Item = &[ShardCopy]> {
        self.copies.chunk_by(|a, b| a.shard == b.shard)
    }

    /// The copies of one shard, in order; empty if the shard does not exist.
    pub fn group(&self, shard: u32) -> &[ShardCopy] {
        self.groups()
            .find(|group| group[0].shard.shard == shard)
            .unwrap_or_default()
    }

    /// The primary of a shard, in any state.
    pub fn primary(&self, shard: u32) -> Option<&ShardCopy> {
        self.group(shard).iter().find(|copy| copy.primary)
    }

    /// The shard numbers, in order.
    pub(crate) fn shards(&self) -> impl Iterator<Item = u32> + '_ {
        self.groups().map(|group| group[0].shard.shard)
    }

    /// Reorders the copies by shard, the shards in the given order; the order within a shard is
    /// unchanged. Shards not listed come last.
    pub(crate) fn arrange(&mut self, order: impl Iterator<Item = u32>) {
        let mut ranks: Vec<u32> = Vec::new();
        for (rank, shard) in (0..).zip(order) {
            let shard = shard as usize;
            if ranks.len() <= shard {
                ranks.resize(shard + 1, u32::MAX);
            }
            ranks[shard] = rank;
        }
        self.copies.sort_by_key(|copy| {
            let shard = copy.shard.shard;
            (
                ranks.get(shard as usize).copied().unwrap_or(u32::MAX),
                shard,
            )
        });
    }
}

/// Location of every copy, by index.
#[derive(Debug, Clone, Default)]
pub struct RoutingTable {
    tables: Vec<IndexTable>,
    /// Position in `tables` per index.
    places: Vec<Option<u32>>,
}

impl RoutingTable {
    /// Creates a table of these indices in this order.
    ///
    /// # Panics
    /// With more than 2^32 indices
    pub fn new(tables: Vec<IndexTable>) -> Self {
        let mut table = Self {
            tables,
            places: Vec::new(),
        };
        table.index_places();
        table
    }

    /// All indices in the order of `indicesRouting()`, which also determines the order of the nodes'
    /// lists and of the balancer's indices.
    pub fn tables(&self) -> &[IndexTable] {
        &self.tables
    }

    /// The table of one index, if it is routed.
    pub fn table(&self, index: IndexIndex) -> Option<&IndexTable> {
        self.tables.get(self.place(index)?)
    }

    /// Position of an index in [`RoutingTable::tables`], if it is routed.
    pub fn place(&self, index: IndexIndex) -> Option<usize> {
        let place = (*self.places.get(index.at())?)?;
        Some(place as usize)
    }

    /// All copies in order.
    pub fn copies(&self) -> impl Iterator<Item = &ShardCopy> {
        self.tables.iter().flat_map(|table| &table.copies)
    }

    /// Applies edits one after the other: adds or replaces an index (`Some`) or removes it (`None`)
    /// (`RoutingTable.builder(table)`, `add`, `remove`). New indices come last.
    pub(crate) fn edited(self, edits: Vec<(IndexIndex, Option<IndexTable>)>) -> Self {
        let mut tables: Vec<Option<IndexTable>> = self.tables.into_iter().map(Some).collect();
        let mut places = self.places;
        for (index, edit) in edits {
            if places.len() <= index.at() {
                places.resize(index.at() + 1, None);
            }
            match (edit, places[index.at()]) {
                (Some(table), Some(place)) => tables[place as usize] = Some(table),
                (Some(table), None) => {
                    places[index.at()] =
                        Some(u32::try_from(tables.len()).expect("fewer than 2^32 indices"));
                    tables.push(Some(table));
                }
                (None, Some(place)) => {
                    tables[place as usize] = None;
                    places[index.at()] = None;
                }
                (None, None) => {}
            }
        }
        Self::new(tables.into_iter().flatten().collect())
    }

    /// Replaces the copies of a shard in place; does nothing if the shard does not exist.
    pub(crate) fn set_group(&mut self, shard: ShardId, copies: impl Iterator<Item = ShardCopy>) {
        let Some(place) = self.place(shard.index) else {
            return;
        };
        let table = &mut self.tables[place].copies;
        let is_of = |copy: &ShardCopy| copy.shard.shard == shard.shard;
        if let Some(from) = table.iter().position(is_of) {
            let len = table[from..].iter().take_while(|copy| is_of(copy)).count();
            table.splice(from..from + len, copies);
        }
    }

    fn index_places(&mut self) {
        self.places.clear();
        for (place, table) in self.tables.iter().enumerate() {
            let at = table.index.at();
            if self.places.len() <= at {
                self.places.resize(at + 1, None);
            }
            self.places[at] = Some(u32::try_from(place).expect("fewer than 2^32 indices"));
        }
    }
}
