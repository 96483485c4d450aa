//! Counts of running recoveries per node (`RoutingNodes.Recoveries`).

use super::{CopyIndex, Recoveries, RoutingError, RoutingNodes};
use crate::copy::{RecoverySource, ShardCopy};
use crate::model::Cluster;

impl RoutingNodes {
    /// Counts a recovery found in the table; its source is the table's primary, in any state.
    pub(super) fn initial_recovery(
        &mut self,
        cluster: &Cluster,
        copy: &ShardCopy,
        primary: &ShardCopy,
    ) -> Result<(), RoutingError> {
        if copy.recovery == Some(RecoverySource::Peer) && primary.node.is_none() {
            return Err(RoutingError::NoPrimary {
                index: cluster.index(copy.shard.index).name.clone(),
                shard: copy.shard.shard,
            });
        }
        self.count_recovery(copy, 1, Some(*primary));
        Ok(())
    }

    pub(super) fn add_recovery(&mut self, handle: CopyIndex) {
        let copy = *self.copy(handle);
        let primary = self.peer_primary(&copy);
        self.count_recovery(&copy, 1, primary);
    }

    pub(super) fn remove_recovery(&mut self, copy: &ShardCopy) {
        let primary = self.peer_primary(copy);
        self.count_recovery(copy, -1, primary);
    }

    fn count_recovery(&mut self, copy: &ShardCopy, how_many: i32, primary: Option<ShardCopy>) {
        debug_assert!(copy.is_initializing());
        let Some(node) = copy.node else { return };
        let is_from_disk = copy.primary && copy.recovery != Some(RecoverySource::Peer);
        if self.first_recoveries.is_some() && is_from_disk {
            return;
        }
        self.counts_of(copy)[node.at()].incoming += how_many;
        if copy.recovery != Some(RecoverySource::Peer) {
            return;
        }
        let feeding = primary.and_then(|primary| primary.node);
        debug_assert!(feeding.is_some(), "peer recovery without a primary");
        let Some(feeding) = feeding else { return };
        self.counts_of(copy)[feeding.at()].outgoing += how_many;
        if let (true, true, Some(from)) = (how_many < 0, copy.primary, copy.relocating) {
            // The primary has arrived: recovering replicas now use its new node as the source.
            let replicas: Vec<ShardCopy> = self
                .assigned_copies(copy.shard)
                .filter(|other| {
                    !other.primary
                        && other.is_initializing()
                        && other.recovery == Some(RecoverySource::Peer)
                })
                .copied()
                .collect();
            for replica in &replicas {
                let counts = self.counts_of(replica);
                counts[from.at()].outgoing -= 1;
                counts[node.at()].outgoing += 1;
            }
        }
    }

    /// The counts that a copy's recovery is part of.
    fn counts_of(&mut self, copy: &ShardCopy) -> &mut [Recoveries] {
        match &mut self.first_recoveries {
            Some(first) if copy.is_of_new_index() && !copy.primary => first,
            _ => &mut self.recoveries,
        }
    }

    /// The primary that is the source of a peer recovery (`findAssignedPrimaryIfPeerRecovery`): an active
    /// one, else one that is not a relocation target, else any.
    fn peer_primary(&self, copy: &ShardCopy) -> Option<ShardCopy> {
        if copy.recovery != Some(RecoverySource::Peer) {
            return None;
        }
        let mut found: Option<ShardCopy> = None;
        for other in self
            .assigned_copies(copy.shard)
            .filter(|other| other.primary)
        {
            if other.is_active() {
                return Some(*other);
            }
            if found.is_none_or(|before| before.relocating.is_some()) {
                found = Some(*other);
            }
        }
        found
    }
}
