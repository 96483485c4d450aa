//! Errors about a routing table, or about an operation on it.

/// A routing table or an operation is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RoutingError {
    /// Two copies of one shard on one node.
    #[error("two copies of [{index}][{shard}] on node {node}: a node holds at most one")]
    TwoOnNode {
        /// Index name.
        index: String,
        /// Shard number.
        shard: u32,
        /// Node id.
        node: String,
    },
    /// A shard without a primary, or with more than one.
    #[error("[{index}][{shard}] has {found} primaries: exactly one is expected")]
    Primaries {
        /// Index name.
        index: String,
        /// Shard number.
        shard: u32,
        /// Number of primaries found.
        found: usize,
    },
    /// An index that is listed twice, has a shard twice, or lacks most of its shards.
    #[error(
        "the routing table lists {found} shards of [{index}], of which there are {expected}: \
         one of them twice, or not nearly all"
    )]
    Shards {
        /// Index name.
        index: String,
        /// Number of shards in the metadata.
        expected: u32,
        /// Number of shards found in the table.
        found: usize,
    },
    /// A replica is recovering although its primary is not assigned.
    #[error("a copy of [{index}][{shard}] recovers from its primary, which is unassigned")]
    NoPrimary {
        /// Index name.
        index: String,
        /// Shard number.
        shard: u32,
    },
    /// The table refers to something that the cluster does not have.
    #[error("the routing table names {what}, which the cluster does not have")]
    Unknown {
        /// What it refers to.
        what: String,
    },
    /// A copy whose fields contradict each other.
    #[error("a copy of [{index}][{shard}] is {state:?} but has {what}")]
    Broken {
        /// Index name.
        index: String,
        /// Shard number.
        shard: u32,
        /// Its state.
        state: crate::copy::CopyState,
        /// What contradicts it.
        what: &'static str,
    },
    /// The table has copies on a node that is not, or no longer, a data node.
    #[error(
        "copies are on node {node}, which is no data node of the cluster now: \
         tell of nodes that left before the next round"
    )]
    DeadNode {
        /// Node id.
        node: String,
    },
    /// A copy that is to start does not exist or is in the wrong state.
    #[error("cannot start [{index}][{shard}]: {why}")]
    CannotStart {
        /// Index name.
        index: String,
        /// Shard number.
        shard: u32,
        /// The reason.
        why: String,
    },
}
