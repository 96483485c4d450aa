//! Converts the nodes back into a routing table.

use super::RoutingNodes;
use crate::model::{IndexTable, RoutingTable};

impl RoutingNodes {
    /// The table after a round (`RoutingTable.Builder.updateNodes`): copies node by node, then the
    /// unassigned ones, then the ignored ones. Indices and shards keep their order: that of the server's
    /// maps gets a new random seed each time, so that it cannot be predicted.
    pub(crate) fn to_table(&self, before: &RoutingTable) -> RoutingTable {
        let mut tables: Vec<Option<IndexTable>> = vec![None; self.shards.len()];
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
                let copies = before.table(index).map_or(0, |table| table.copies.len());
                IndexTable {
                    index,
                    copies: Vec::with_capacity(copies),
                }
            });
            table.copies.push(*copy);
        }
        let ordered = before.tables().iter().filter_map(|before| {
            let mut table = tables[before.index.at()].take()?;
            table.arrange(before.shards());
            Some(table)
        });
        RoutingTable::new(ordered.collect())
    }
}
