//! The gateway's decision on one unassigned copy.

use crate::copy::{AllocationIndex, AllocationStatus};
use crate::model::NodeIndex;

/// Decision on one unassigned copy (`AllocateUnassignedDecision`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// The gateway leaves it to the balancer.
    NotTaken,
    /// Place the copy on this node; for a primary, with the allocation id of the data there.
    Yes(NodeIndex, Option<AllocationIndex>),
    /// Do not place the copy in this round.
    No(AllocationStatus),
}
