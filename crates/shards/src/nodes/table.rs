//! Converts the nodes back into a routing table.

use super::RoutingNodes;
use crate::java::{HashOrder, HppcOrder};
use crate::model::{IndexIndex, IndexTable, RoutingTable, TableOrder};

impl RoutingNodes {
    /// The table after a round (`RoutingTable.Builder.updateNodes`): copies node by node, then the
    /// unassigned ones, then the ignored ones.
    pub(crate) fn to_table(&self, before: &RoutingTable, names: &[&str]) -> RoutingTable {
        let mut tables: Vec<Option<IndexTable>> = vec![None; names.len()];
        let mut arrival = Vec::with_capacity(before.tables().len());
        let unassigned = self.unassigned();
        let on_nodes = self
            .order()
            .iter()
            .flat_map(|&node| self.copies_on(node).map(|(_, copy)| copy))
            .filter(|copy| !copy.is_relocation_target());
        let elsewhere = unassigned.list().iter().chain(unassigned.ignored());
        for copy in on_nodes.chain(elsewhere.map(|&handle| self.copy(handle))) {
            let index = copy.shard.index;
            let table = tables[index.at()].get_or_insert_with(|| {
                arrival.push(index);
                let copies = before.table(index).map_or(0, |table| table.copies.len());
                IndexTable {
                    index,
                    copies: Vec::with_capacity(copies),
                }
            });
            table.copies.push(*copy);
        }
        let order: Vec<IndexIndex> = match before.order {
            TableOrder::Kept => before.tables().iter().map(|table| table.index).collect(),
            TableOrder::Deterministic => {
                let name = |index: IndexIndex| names[index.at()];
                let walked = HashOrder::of(&arrival, name);
                HppcOrder::of_strings(walked.iter().map(|&index| name(index)))
                    .iter()
                    .map(|at| walked[at])
                    .collect()
            }
        };
        let ordered = order.into_iter().filter_map(|index| {
            let mut table = tables[index.at()].take()?;
            match before.order {
                TableOrder::Kept => {
                    let shards = before.table(index)?.shards();
                    table.arrange(shards);
                }
                TableOrder::Deterministic => {
                    let mut arrived = Vec::new();
                    let mut seen = std::collections::HashSet::new();
                    for copy in &table.copies {
                        if seen.insert(copy.shard.shard) {
                            arrived.push(copy.shard.shard);
                        }
                    }
                    table.arrange_as_put(&arrived);
                }
            }
            Some(table)
        });
        RoutingTable::new(ordered.collect(), before.order)
    }
}
