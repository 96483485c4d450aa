//! What the versions that compute a desired balance do differently.

use crate::model::{Cluster, Version};

/// In which order the reconciler looks at copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MoveOrder {
    /// One from each node in turn.
    Interleaved,
    /// All of a node, then all of the next; a node that gives up a copy goes to the end.
    ByNode,
    /// Like [`MoveOrder::ByNode`]; on each node the indices that data streams write to come first, and last
    /// where balance alone is the reason.
    ByNodeAndStream,
}

/// How the size of a copy is estimated when its start is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartSize {
    /// The known size of the copy, or of the primary for a new replica; 0 for a new primary.
    KnownOrNothing,
    /// The known size of the copy, or of the primary for a new replica; what was expected for a new primary.
    KnownOrExpected,
    /// As the deciders estimate it.
    Estimate,
    /// As the deciders estimate it; what was expected where that fails.
    EstimateOrExpected,
}

/// The rules of one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    /// 8.6: [`MoveOrder::Interleaved`]; 8.11: [`MoveOrder::ByNode`], after `OrderedShardsIterator` was added;
    /// 8.15: [`MoveOrder::ByNodeAndStream`].
    pub order: MoveOrder,
    /// Whether copies that the computation left to others are left alone (8.11 on); 8.6 tries them.
    pub leaves_ignored: bool,
    /// `ClusterInfoSimulator.simulateShardStarted` of 8.6, 8.11, 8.15 and 8.19.
    pub start_size: StartSize,
    /// Whether only recoveries that copy data take space when they are done (8.15 on); before that all do.
    pub reserves_copied_only: bool,
}

impl Rules {
    /// The rules of a master. Versions between those that were read get the rules of the older one.
    pub fn of(cluster: &Cluster) -> Self {
        let from = |minor| cluster.version >= Version::release(8, minor, 0);
        Self {
            order: match () {
                () if from(15) => MoveOrder::ByNodeAndStream,
                () if from(11) => MoveOrder::ByNode,
                () => MoveOrder::Interleaved,
            },
            leaves_ignored: from(11),
            start_size: match () {
                () if from(19) => StartSize::EstimateOrExpected,
                () if from(15) => StartSize::Estimate,
                () if from(11) => StartSize::KnownOrExpected,
                () => StartSize::KnownOrNothing,
            },
            reserves_copied_only: from(15),
        }
    }
}
