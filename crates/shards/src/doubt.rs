//! Recognises states that the model has misread: it says that nearly no copy may be where it is, and that
//! no other node may have it.
//!
//! No cluster at rest is like that, so a setting means something else to the server than to the model.
//! Full disks are left out: they keep copies from every node, and do so in reality.

use crate::allocation::Allocation;
use crate::copy::ShardCopy;
use crate::deciders::{Deciders, NoReasons, ReasonRecorder, Verdict};
use crate::model::Cluster;
use crate::nodes::{RoutingError, RoutingNodes};
use crate::service;

/// Share of the started copies, in percent, from which on a state counts as misread.
const SHARE_PERCENT: usize = 90;
/// Copies that are looked at one by one, spread over all.
const SAMPLE: usize = 200;
/// Name of the decider that full disks make say no.
const DISK: &str = "disk_threshold";

/// Says why a state cannot have been understood, in one sentence; `None` if nothing speaks against it.
///
/// # Errors
/// If the routing table is inconsistent
pub fn misread(cluster: &Cluster, now_nanos: i64) -> Result<Option<String>, RoutingError> {
    let stuck = service::cannot_remain(cluster, now_nanos)?;
    let started = cluster
        .routing
        .copies()
        .filter(|copy| copy.is_started())
        .count();
    if stuck.is_empty() || stuck.len() * 100 < started * SHARE_PERCENT {
        return Ok(None);
    }
    let mut nodes = RoutingNodes::new(cluster)?;
    let deciders = Deciders::new(cluster, &nodes);
    let round = Allocation::new(cluster, &mut nodes, &deciders, now_nanos);
    let sample: Vec<&ShardCopy> = stuck.iter().step_by(stuck.len().div_ceil(SAMPLE)).collect();
    let reasons: Vec<(&str, String)> = sample
        .iter()
        .filter_map(|copy| homeless(&round, copy))
        .collect();
    if reasons.len() * 100 < sample.len() * SHARE_PERCENT {
        return Ok(None);
    }
    let Some((decider, reason)) = reasons.into_iter().next() else {
        return Ok(None);
    };
    Ok(Some(format!(
        "{} of {} may not stay where they are as this model reads the settings, and no other node may have \
         them (decider {decider}: {reason})",
        units::grouped(stuck.len() as u64),
        units::count(started as u64, "shard"),
    )))
}

/// Which decider keeps a copy from its node and why, if others than full disks keep it from every node.
fn homeless(round: &Allocation<'_>, copy: &ShardCopy) -> Option<(&'static str, String)> {
    let node = copy.node?;
    // Filters of the cluster are set by people, who may well name no node.
    if round.deciders.cluster_fault(node).is_some() {
        return None;
    }
    let mut recorder = ReasonRecorder::new(true);
    let verdict = round.can_remain(copy, node, &mut recorder);
    let decision = recorder.decision(verdict);
    let reason = decision
        .reasons
        .into_iter()
        .find(|reason| reason.verdict == Verdict::No && reason.decider != Some(DISK))?;
    let others = round.cluster.data_nodes.iter();
    let nowhere = others
        .filter(|&&other| other != node)
        .all(|&other| round.can_allocate(copy, other, &mut NoReasons) == Verdict::No);
    nowhere.then(|| {
        (
            reason.decider.unwrap_or("unknown"),
            reason.explanation.unwrap_or_default(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::misread;
    use crate::deciders::fixture::Builder;

    /// Two nodes with a copy each of 10 shards.
    fn cluster() -> Builder {
        let mut builder = Builder::new(3);
        let index = builder.index("i", 10, 1);
        for shard in 0..10 {
            builder.started(index, shard, true, 0);
            builder.started(index, shard, false, 1);
        }
        builder
    }

    #[test]
    fn a_filter_that_no_node_passes_is_told() {
        let mut builder = cluster();
        let settings = &mut builder.cluster.indices[0].settings;
        settings.include.add("_of_a_later_version", "x");
        let found = misread(&builder.build(), 0).unwrap().expect("misread");
        assert!(found.starts_with("20 of 20 shards may not stay"), "{found}");
        assert!(found.contains("decider filter"), "{found}");
        assert!(found.contains("_of_a_later_version"), "{found}");
    }

    #[test]
    fn a_cluster_that_can_move_is_not() {
        assert_eq!(misread(&cluster().build(), 0).unwrap(), None);
        // A filter of the cluster that no node passes is somebody's mistake.
        let mut builder = cluster();
        builder.cluster.settings.require.add("box", "hot");
        assert_eq!(misread(&builder.build(), 0).unwrap(), None);
        // One node is left: ten copies can go there.
        let mut builder = cluster();
        let settings = &mut builder.cluster.indices[0].settings;
        settings.require.add("_name", "name-2");
        assert_eq!(misread(&builder.build(), 0).unwrap(), None);
    }
}
