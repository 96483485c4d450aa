//! The routing table (`RoutingTable`, `IndexRoutingTable`, `IndexShardRoutingTable`).

use super::{IndexIndex, ShardId};
use crate::copy::ShardCopy;
use crate::java::HppcOrder;

/// Order of the indices of a table after it has been rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableOrder {
    /// Unchanged; new indices come last. For states of live clusters, whose maps get a new random seed
    /// each time, so that their order cannot be predicted.
    #[default]
    Kept,
    /// The order of the server's maps with `-Dhppc.bitmixer=DETERMINISTIC`.
    Deterministic,
}

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

    /// [`IndexTable::arrange`] in the order of a map into which the shards were inserted in the given
    /// order.
    pub(crate) fn arrange_as_put(&mut self, shards: &[u32]) {
        let order = HppcOrder::of_numbers(shards.iter().copied());
        self.arrange(order.iter().map(|at| shards[at]));
    }
}

/// Location of every copy, by index.
#[derive(Debug, Clone, Default)]
pub struct RoutingTable {
    tables: Vec<IndexTable>,
    /// Position in `tables` per index.
    places: Vec<Option<u32>>,
    /// How a rebuilt table is ordered.
    pub order: TableOrder,
}

impl RoutingTable {
    /// Creates a table of these indices in this order.
    ///
    /// # Panics
    /// With more than 2^32 indices
    pub fn new(tables: Vec<IndexTable>, order: TableOrder) -> Self {
        let mut table = Self {
            tables,
            places: Vec::new(),
            order,
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
    /// (`RoutingTable.builder(table)`, `add`, `remove`).
    pub(crate) fn edited(
        self,
        edits: Vec<(IndexIndex, Option<IndexTable>)>,
        names: &[&str],
    ) -> Self {
        // All indices are inserted into a new map, which by itself can change the order.
        let names_now = self.tables.iter().map(|table| names[table.index.at()]);
        let mut walked = HppcOrder::of_strings(names_now);
        let mut tables: Vec<Option<IndexTable>> = self.tables.into_iter().map(Some).collect();
        let mut places = self.places;
        for (index, edit) in edits {
            if places.len() <= index.at() {
                places.resize(index.at() + 1, None);
            }
            let place = places[index.at()];
            match (edit, place) {
                (Some(table), Some(place)) => tables[place as usize] = Some(table),
                (Some(table), None) => {
                    places[index.at()] =
                        Some(u32::try_from(tables.len()).expect("fewer than 2^32 indices"));
                    tables.push(Some(table));
                    walked.insert_hash(crate::java::string_hash(names[index.at()]));
                }
                (None, Some(place)) => {
                    tables[place as usize] = None;
                    places[index.at()] = None;
                    walked.remove(place as usize);
                }
                (None, None) => {}
            }
        }
        let tables = match self.order {
            TableOrder::Kept => tables.into_iter().flatten().collect(),
            TableOrder::Deterministic => walked.iter().filter_map(|at| tables[at].take()).collect(),
        };
        Self::new(tables, self.order)
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

    /// Appends a new index; the order must be [`TableOrder::Kept`].
    pub(crate) fn append(&mut self, table: IndexTable) {
        debug_assert_eq!(self.order, TableOrder::Kept);
        let at = table.index.at();
        if self.places.len() <= at {
            self.places.resize(at + 1, None);
        }
        self.places[at] = Some(u32::try_from(self.tables.len()).expect("fewer than 2^32 indices"));
        self.tables.push(table);
    }

    /// Removes an index; the order must be [`TableOrder::Kept`].
    pub(crate) fn take_out(&mut self, index: IndexIndex) {
        debug_assert_eq!(self.order, TableOrder::Kept);
        if let Some(place) = self.place(index) {
            self.tables.remove(place);
            self.places[index.at()] = None;
            for table in &self.tables[place..] {
                if let Some(place) = &mut self.places[table.index.at()] {
                    *place -= 1;
                }
            }
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
