//! Parses a shard copy from the routing table.

use super::json::{Text, shown};
use super::raw::Raw;
use crate::copy::{
    AllocationStatus, CopyState, Reason, RecoverySource, ShardCopy, UNKNOWN_SIZE, UnassignedInfo,
};
use crate::model::ShardId;
use serde::Deserialize;

/// Maximum size of a shard in bytes, so that sums stay within 64 bits.
pub const SHARD_BYTES_MAX: i64 = 1 << 50;

/// A copy as it appears in the state (`ShardRouting.toXContent`).
#[derive(Deserialize)]
#[serde(expecting = "a copy of a shard: an object")]
pub struct RawCopy<'a> {
    #[serde(borrow)]
    state: Text<'a>,
    primary: bool,
    #[serde(borrow, default)]
    node: Option<Text<'a>>,
    #[serde(borrow, default)]
    relocating_node: Option<Text<'a>>,
    shard: u32,
    #[serde(borrow)]
    index: Text<'a>,
    #[serde(default)]
    expected_shard_size_in_bytes: Option<i64>,
    #[serde(borrow, default)]
    recovery_source: Option<RawRecovery<'a>>,
    #[serde(borrow, default)]
    allocation_id: Option<RawAllocation<'a>>,
    #[serde(borrow, default)]
    unassigned_info: Option<RawUnassigned<'a>>,
    #[serde(default)]
    relocation_failure_info: Option<RawRelocationFailures>,
}

#[derive(Deserialize)]
#[serde(expecting = "failed relocations: an object")]
struct RawRelocationFailures {
    #[serde(default)]
    failed_attempts: u32,
}

#[derive(Deserialize)]
#[serde(expecting = "where a copy recovers from: an object")]
struct RawRecovery<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(default)]
    bootstrap_new_history_uuid: bool,
    #[serde(borrow, default, rename = "restoreUUID")]
    restore: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an allocation id: an object with id")]
struct RawAllocation<'a> {
    #[serde(borrow)]
    id: Text<'a>,
    #[serde(borrow, default)]
    relocation_id: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "why a copy is unassigned: an object")]
struct RawUnassigned<'a> {
    #[serde(borrow)]
    reason: Text<'a>,
    #[serde(borrow)]
    at: Text<'a>,
    #[serde(default)]
    failed_attempts: u32,
    #[serde(default)]
    delayed: bool,
    #[serde(borrow, default)]
    allocation_status: Option<Text<'a>>,
    #[serde(borrow, default)]
    last_node: Option<Text<'a>>,
    #[serde(borrow, default)]
    details: Option<Text<'a>>,
}

impl RawUnassigned<'_> {
    /// The node that the copy was last on. OpenSearch and older versions have no field for it, but say in
    /// the details which node left.
    fn last_node(&self) -> Option<&str> {
        let details = self.details.as_ref();
        let of_details = || details?.0.strip_prefix("node_left [")?.strip_suffix(']');
        self.last_node
            .as_ref()
            .map(|Text(id)| &**id)
            .or_else(of_details)
    }
}

impl RawCopy<'_> {
    /// Converts this to a copy of the given shard, or returns a description of what is wrong with it.
    pub fn read(self, raw: &mut Raw, shard: ShardId) -> Result<ShardCopy, String> {
        let name = |raw: &Raw| {
            let index = &raw.indices[shard.index.at()];
            format!("[{}][{}]", shown(&index.name), shard.shard)
        };
        if self.shard != shard.shard || *self.index.0 != raw.indices[shard.index.at()].name {
            return Err(format!(
                "among the copies of {} stands one of [{}][{}]",
                name(raw),
                shown(&self.index.0),
                self.shard
            ));
        }
        let state = match &*self.state.0 {
            "UNASSIGNED" => CopyState::Unassigned,
            "INITIALIZING" => CopyState::Initializing,
            "STARTED" => CopyState::Started,
            "RELOCATING" => CopyState::Relocating,
            other => return Err(format!("a copy of {} is {:?}", name(raw), shown(other))),
        };
        let source = self.recovery_source.as_ref();
        let recovery = source.map(|source| recovery(source, raw)).transpose();
        let recovery =
            recovery.map_err(|found| format!("a copy of {} recovers from {found:?}", name(raw)))?;
        let info = self.unassigned_info.as_ref();
        let unassigned = info.map(|info| unassigned(info, raw)).transpose();
        let unassigned = unassigned.map_err(|found| format!("a copy of {}: {found}", name(raw)))?;
        let expected_bytes = self.expected_shard_size_in_bytes.unwrap_or(UNKNOWN_SIZE);
        if !(UNKNOWN_SIZE..=SHARD_BYTES_MAX).contains(&expected_bytes) {
            return Err(format!(
                "a copy of {} is to have {expected_bytes} bytes",
                name(raw)
            ));
        }
        let node = self.node.map(|Text(id)| raw.node(&id));
        let relocating = self.relocating_node.map(|Text(id)| raw.node(&id));
        let (allocation, relocation) = match self.allocation_id {
            None => (None, None),
            Some(ids) => (
                Some(raw.allocation(&ids.id.0)),
                ids.relocation_id.map(|Text(id)| raw.allocation(&id)),
            ),
        };
        // The server does not keep a reason for active copies either, although some versions print it.
        let active = matches!(state, CopyState::Started | CopyState::Relocating);
        Ok(ShardCopy {
            shard,
            node,
            relocating,
            allocation,
            relocation,
            recovery,
            unassigned: if active { None } else { unassigned },
            expected_bytes,
            failed_relocations: self
                .relocation_failure_info
                .map_or(0, |info| info.failed_attempts),
            state,
            primary: self.primary,
        })
    }
}

/// Converts the recovery source, or returns its unknown name.
fn recovery(source: &RawRecovery<'_>, raw: &mut Raw) -> Result<RecoverySource, String> {
    Ok(match &*source.kind.0 {
        "EMPTY_STORE" => RecoverySource::EmptyStore,
        "EXISTING_STORE" if source.bootstrap_new_history_uuid => RecoverySource::ForcedStalePrimary,
        "EXISTING_STORE" => RecoverySource::ExistingStore,
        "PEER" => RecoverySource::Peer,
        "LOCAL_SHARDS" => RecoverySource::LocalShards,
        "SNAPSHOT" => {
            // Before 7.0 responses had no uuid for restores: all are treated as the same one.
            let uuid = source.restore.as_ref().map_or("", |Text(uuid)| uuid);
            RecoverySource::Snapshot(raw.restores.number(uuid).0)
        }
        other => return Err(shown(other)),
    })
}

fn unassigned(info: &RawUnassigned<'_>, raw: &mut Raw) -> Result<UnassignedInfo, String> {
    let reason = match &*info.reason.0 {
        "INDEX_CREATED" => Reason::IndexCreated,
        "CLUSTER_RECOVERED" => Reason::ClusterRecovered,
        "INDEX_REOPENED" => Reason::IndexReopened,
        "DANGLING_INDEX_IMPORTED" => Reason::DanglingIndexImported,
        "NEW_INDEX_RESTORED" => Reason::NewIndexRestored,
        "EXISTING_INDEX_RESTORED" => Reason::ExistingIndexRestored,
        "REPLICA_ADDED" => Reason::ReplicaAdded,
        "ALLOCATION_FAILED" => Reason::AllocationFailed,
        "NODE_LEFT" => Reason::NodeLeft,
        "REROUTE_CANCELLED" => Reason::RerouteCancelled,
        "REINITIALIZED" => Reason::Reinitialized,
        "REALLOCATED_REPLICA" => Reason::ReallocatedReplica,
        "PRIMARY_FAILED" => Reason::PrimaryFailed,
        "FORCED_EMPTY_PRIMARY" => Reason::ForcedEmptyPrimary,
        "MANUAL_ALLOCATION" => Reason::ManualAllocation,
        "INDEX_CLOSED" => Reason::IndexClosed,
        // 7.16 has nodes that are expected to return; 7.4 only knows that they left.
        "NODE_RESTARTING" => {
            let warning =
                "copies wait for a node that restarts (7.16 and later): taken for one that left";
            if !raw.warnings.iter().any(|known| known == warning) {
                raw.warnings.push(warning.to_owned());
            }
            Reason::NodeLeft
        }
        other => return Err(format!("reason {:?} is not known", shown(other))),
    };
    let status = match info
        .allocation_status
        .as_ref()
        .map(|Text(status)| &**status)
    {
        // Nodes that have yet to report what they hold will have done so by the next round.
        None | Some("no_attempt" | "fetching_shard_data") => AllocationStatus::NoAttempt,
        Some("deciders_no" | "no") => AllocationStatus::DecidersNo,
        Some("no_valid_shard_copy") => AllocationStatus::NoValidShardCopy,
        Some("deciders_throttled" | "throttled") => AllocationStatus::DecidersThrottled,
        Some("delayed_allocation") => AllocationStatus::DelayedAllocation,
        Some(other) => return Err(format!("allocation status {:?} is not known", shown(other))),
    };
    let at_nanos = time(&info.at.0).ok_or_else(|| {
        format!(
            "expected a time like 2019-10-01T12:34:56.789Z, found {:?}",
            shown(&info.at.0)
        )
    })?;
    Ok(UnassignedInfo {
        reason,
        failed_allocations: info.failed_attempts,
        at_nanos,
        delayed: info.delayed,
        last_status: status,
        last_node: info.last_node().map(|id| raw.node(id)),
    })
}

/// Parses a UTC time as the server prints it; nanoseconds since 1970.
fn time(text: &str) -> Option<i64> {
    let time: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(time.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times_of_the_server() {
        // date -u -d 2019-10-01T12:34:56 +%s
        assert_eq!(
            time("2019-10-01T12:34:56.789Z"),
            Some(1_569_933_296_789_000_000)
        );
        assert_eq!(
            time("2020-02-29T00:00:00Z"),
            Some(1_582_934_400_000_000_000)
        );
        assert_eq!(time("1970-01-01T00:00:00.000Z"), Some(0));
        for text in [
            "",
            "T",
            "2019-10-01",
            "2019-13-01T00:00:00Z",
            "2019-10-01T00:00:00",
            "2019-10-01T00:00:00.+1Z",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
