//! Unassigned copies that the computation leaves to others.

use crate::copy::{AllocationStatus, ShardCopy, UnassignedInfo};
use crate::model::{NumberMap, ShardId};

/// Copies that earlier allocators claimed, to be recognised whatever their last status is.
pub(super) struct Claimed(NumberMap<ShardId, Vec<ShardCopy>>);

impl Claimed {
    pub fn new(copies: &[ShardCopy]) -> Self {
        let mut claimed: NumberMap<ShardId, Vec<ShardCopy>> = NumberMap::default();
        for copy in copies {
            claimed
                .entry(copy.shard)
                .or_default()
                .push(without_status(copy));
        }
        Self(claimed)
    }

    pub fn contains(&self, copy: &ShardCopy) -> bool {
        let same = |known: &Vec<ShardCopy>| known.contains(&without_status(copy));
        !self.0.is_empty() && self.0.get(&copy.shard).is_some_and(same)
    }
}

fn without_status(copy: &ShardCopy) -> ShardCopy {
    ShardCopy {
        unassigned: copy.unassigned.map(|info| UnassignedInfo {
            last_status: AllocationStatus::NoAttempt,
            ..info
        }),
        ..*copy
    }
}
