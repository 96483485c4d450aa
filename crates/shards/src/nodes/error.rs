//! Why a routing table, or a step on it, is refused.

/// A routing table, or a wish, that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RoutingError {
    /// Two copies of one shard on one node.
    #[error("two copies of [{index}][{shard}] on node {node}: a node holds at most one")]
    TwoOnNode {
        /// Index, by name.
        index: String,
        /// Shard number.
        shard: u32,
        /// Node, by id.
        node: String,
    },
    /// A shard with no primary, or more than one.
    #[error("[{index}][{shard}] has {found} primaries: exactly one is expected")]
    Primaries {
        /// Index, by name.
        index: String,
        /// Shard number.
        shard: u32,
        /// How many there are.
        found: usize,
    },
    /// An index that is listed twice, or has a shard twice, or lacks most of its shards.
    #[error(
        "the routing table lists {found} shards of [{index}], of which there are {expected}: \
         one of them twice, or not nearly all"
    )]
    Shards {
        /// Index, by name.
        index: String,
        /// How many it has by its metadata.
        expected: u32,
        /// How many groups of copies there are.
        found: usize,
    },
    /// A replica recovers though its primary is on no node.
    #[error("a copy of [{index}][{shard}] recovers from its primary, which is unassigned")]
    NoPrimary {
        /// Index, by name.
        index: String,
        /// Shard number.
        shard: u32,
    },
    /// A table that names what the cluster does not have.
    #[error("the routing table names {what}, which the cluster does not have")]
    Unknown {
        /// What it names.
        what: String,
    },
    /// A copy whose fields contradict each other.
    #[error("a copy of [{index}][{shard}] is {state:?} but has {what}")]
    Broken {
        /// Index, by name.
        index: String,
        /// Shard number.
        shard: u32,
        /// Its state.
        state: crate::copy::CopyState,
        /// What contradicts it.
        what: &'static str,
    },
    /// A round over a table with copies on a node that is not, or no longer, a data node.
    #[error(
        "copies are on node {node}, which is no data node of the cluster now: \
         tell of nodes that left before the next round"
    )]
    DeadNode {
        /// Node, by id.
        node: String,
    },
    /// A step on a copy that is not there or not in the right state.
    #[error("cannot {wish} [{index}][{shard}]: {why}")]
    Refused {
        /// What was to be done.
        wish: &'static str,
        /// Index, by name.
        index: String,
        /// Shard number.
        shard: u32,
        /// Why not.
        why: String,
    },
}
