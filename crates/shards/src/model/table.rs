//! The routing table (`RoutingTable`, `IndexRoutingTable`, `IndexShardRoutingTable`).

use super::{IndexIndex, ShardId};
use crate::copy::ShardCopy;
use crate::java::HppcOrder;

/// In which order the indices of a table are walked once it has been rebuilt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TableOrder {
    /// As before; what is new comes last. For states of live clusters, whose maps are seeded anew each
    /// time and so have no order that could be foretold.
    #[default]
    Kept,
    /// As the server's maps have it when it runs with `-Dhppc.bitmixer=DETERMINISTIC`.
    Deterministic,
}

/// The copies of one index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexTable {
    /// The index.
    pub index: IndexIndex,
    /// Its copies, those of one shard side by side: shards in the order in which the server walks
    /// them, copies of a shard in the order of its list. A relocating copy appears once, as source.
    pub copies: Vec<ShardCopy>,
}

impl IndexTable {
    /// The copies of each shard, in order.
    pub fn groups(&self) -> impl Iterator<Item = &[ShardCopy]> {
        self.copies.chunk_by(|a, b| a.shard == b.shard)
    }

    /// The copies of one shard, in order; empty if there is no such shard.
    pub fn group(&self, shard: u32) -> &[ShardCopy] {
        self.groups()
            .find(|group| group[0].shard.shard == shard)
            .unwrap_or_default()
    }

    /// The primary of a shard, in whatever state.
    pub fn primary(&self, shard: u32) -> Option<&ShardCopy> {
        self.group(shard).iter().find(|copy| copy.primary)
    }

    /// Its shards in order.
    pub(crate) fn shards(&self) -> impl Iterator<Item = u32> + '_ {
        self.groups().map(|group| group[0].shard.shard)
    }

    /// Puts the copies of each shard side by side, the shards in this order; within a shard the order
    /// stays. Shards that are not named come last.
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

    /// [`IndexTable::arrange`], as a map of numbers has the shards that were put into it in this order.
    pub(crate) fn arrange_as_put(&mut self, shards: &[u32]) {
        let order = HppcOrder::of_numbers(shards.iter().copied());
        self.arrange(order.iter().map(|at| shards[at]));
    }
}

/// Where every copy is, index by index.
#[derive(Debug, Clone, Default)]
pub struct RoutingTable {
    tables: Vec<IndexTable>,
    /// Per index its place in `tables`.
    places: Vec<Option<u32>>,
    /// How a rebuilt table is ordered.
    pub order: TableOrder,
}

impl RoutingTable {
    /// A table of these indices in this order.
    ///
    /// # Panics
    /// With more than 2^32 indices.
    pub fn new(tables: Vec<IndexTable>, order: TableOrder) -> Self {
        let mut table = Self {
            tables,
            places: Vec::new(),
            order,
        };
        table.index_places();
        table
    }

    /// All indices in the order of `indicesRouting()`, which is also the order in which nodes get
    /// their lists and the balancer its indices.
    pub fn tables(&self) -> &[IndexTable] {
        &self.tables
    }

    /// The table of one index, if it is routed.
    pub fn table(&self, index: IndexIndex) -> Option<&IndexTable> {
        self.tables.get(self.place(index)?)
    }

    /// The place of an index in [`RoutingTable::tables`], if it is routed.
    pub fn place(&self, index: IndexIndex) -> Option<usize> {
        let place = (*self.places.get(index.at())?)?;
        Some(place as usize)
    }

    /// All copies in order.
    pub fn copies(&self) -> impl Iterator<Item = &ShardCopy> {
        self.tables.iter().flat_map(|table| &table.copies)
    }

    /// The table with some indices added or replaced (`Some`) or taken out (`None`), one after the other
    /// (`RoutingTable.builder(table)`, `add`, `remove`).
    pub(crate) fn edited(
        self,
        edits: Vec<(IndexIndex, Option<IndexTable>)>,
        names: &[&str],
    ) -> Self {
        // All are put into a new map, which alone can change the order.
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

    /// Gives a shard other copies, in place; for a shard that is not there nothing is done.
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

    /// Puts a new index at the end; the order must be [`TableOrder::Kept`].
    pub(crate) fn append(&mut self, table: IndexTable) {
        debug_assert_eq!(self.order, TableOrder::Kept);
        let at = table.index.at();
        if self.places.len() <= at {
            self.places.resize(at + 1, None);
        }
        self.places[at] = Some(u32::try_from(self.tables.len()).expect("fewer than 2^32 indices"));
        self.tables.push(table);
    }

    /// Takes an index out; the order must be [`TableOrder::Kept`].
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
