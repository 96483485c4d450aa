//! CPU cost of a reroute and of index operations on the master.
//!
//! Times come from a model with at most six coefficients ([`Fit`]) per step and version, fitted to CPU
//! times of the real allocation service (`crates/shards/data/measured.csv`, produced by
//! `benches/shards/measure.sh`). They apply to the machine that was measured: the ratio of two
//! predictions carries over to other machines, absolute milliseconds only to similar ones. Publishing a
//! cluster state, writing it to disk and processing it on the nodes come on top and are not predicted.
//!
//! The number of reroutes per operation follows from the server's tasks, those of 7.4.0:
//! - create (`MetaDataCreateIndexService`): one reroute in the task. Then the new copies are reported as
//!   started (`ShardStateAction`), batched with whatever arrived in the meantime, and a reroute follows
//!   each batch. Replicas begin after their primary has started.
//! - delete (`MetaDataDeleteIndexService`): one reroute.
//! - open (`MetaDataIndexStateService`): one reroute, in which the gateway begins to fetch the nodes'
//!   store information for the primaries (`GatewayAllocator`); another one when it has arrived; then
//!   starts as above; and before replicas are allocated, the same fetch for them and another reroute.
//! - close: from 7.2 on, all copies are reallocated with the same steps as for open. Before, the copies
//!   leave the routing table: one reroute.

mod formula;
mod step;
mod table;

pub use formula::{Fit, Size, TERMS, terms};
pub use step::Step;
pub use table::{COEFFICIENTS, Coefficients};

use crate::profile::Profile;
use schemars::JsonSchema;
use serde::Serialize;

/// Size of a cluster, as far as the cost depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Data nodes, at least 1.
    pub data_nodes: u32,
    /// Shard copies, primaries and replicas, of open and closed indices.
    pub copies: u64,
    /// Shard copies that belong to closed indices.
    pub closed_copies: u64,
    /// Shards, each counted once with all its copies (primaries), of open and closed indices.
    pub shards: u64,
    /// Indices, open and closed, assumed to have equal numbers of copies and shards.
    pub indices: u64,
    /// Whether the disk decider sums up relocations: `cluster.routing.allocation.disk.threshold_enabled`
    /// and `include_relocations` are both true (the default). Otherwise nothing is scanned.
    pub disk_scan: bool,
    /// How unevenly the copies are spread over the nodes, see [`uneven_permille`]; [`EVEN`] if they are
    /// not.
    pub uneven_permille: u32,
}

/// [`Shape::uneven_permille`] of nodes with equal numbers of copies.
pub const EVEN: u32 = 1_000;

/// The sum of the squares of the nodes' copies, in thousandths of what it is if all have equally many. For
/// each copy its node's copies are walked, so this is what a walk grows by.
pub fn uneven_permille(copies_by_node: impl Iterator<Item = u64> + Clone) -> u32 {
    let nodes = copies_by_node.clone().count() as u128;
    let all: u128 = copies_by_node.clone().map(u128::from).sum();
    let squares: u128 = copies_by_node.map(|copies| u128::from(copies).pow(2)).sum();
    if all == 0 {
        return EVEN;
    }
    let permille = squares.saturating_mul(nodes * u128::from(EVEN)) / all.saturating_mul(all);
    u32::try_from(permille).unwrap_or(u32::MAX).max(EVEN)
}

impl Shape {
    /// Copies in this version's routing table.
    pub fn routed(&self, profile: &Profile) -> u64 {
        if profile.closed_in_table {
            self.copies
        } else {
            self.copies.saturating_sub(self.closed_copies)
        }
    }

    /// Model inputs for this version.
    fn size(&self, profile: &Profile) -> Size {
        let copies = self.routed(profile);
        let of_routed = |all: u64| {
            let routed = u128::from(all) * u128::from(copies) / u128::from(self.copies.max(1));
            u64::try_from(routed).unwrap_or(u64::MAX)
        };
        Size {
            copies,
            shards: of_routed(self.shards),
            indices: of_routed(self.indices),
            nodes: self.data_nodes,
        }
    }

    /// The same cluster with `copies` copies in total, and the same number per shard and index.
    #[must_use]
    pub fn with_copies(&self, copies: u64) -> Self {
        let as_many = |all: u64| {
            let share = u128::from(all) * u128::from(copies) / u128::from(self.copies.max(1));
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        Self {
            copies,
            closed_copies: as_many(self.closed_copies),
            shards: as_many(self.shards),
            indices: as_many(self.indices),
            ..*self
        }
    }

    /// The same cluster with one more open index.
    #[must_use]
    pub fn grown(&self, index: IndexShape) -> Self {
        let copies = u64::from(index.primaries) * (1 + u64::from(index.replicas));
        Self {
            copies: self.copies.saturating_add(copies),
            shards: self.shards.saturating_add(index.primaries.into()),
            indices: self.indices.saturating_add(1),
            ..*self
        }
    }
}

/// The index to create, delete, open or close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexShape {
    /// Primaries.
    pub primaries: u32,
    /// Replicas of each primary.
    pub replicas: u32,
}

impl IndexShape {
    /// Replicas of each primary that find a node of their own.
    fn placed_replicas(self, data_nodes: u32) -> u64 {
        u64::from(self.replicas.min(data_nodes.saturating_sub(1)))
    }

    /// Copies that find a node.
    fn placed(self, data_nodes: u32) -> u64 {
        u64::from(self.primaries) * (1 + self.placed_replicas(data_nodes))
    }
}

/// Predicted cost of one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// CPU time on the master, milliseconds.
    pub ms: f64,
    /// Largest factor by which a prediction for a held-out size was off in validation.
    pub held_back_factor: f64,
    /// Whether the cluster is outside the measured range of copies or nodes.
    pub extrapolated: bool,
}

/// Predicts the cost of a step on a cluster.
///
/// # Panics
/// If there are no coefficients for the profile's version; a test ensures that there are.
pub fn predict(profile: &Profile, step: Step, shape: &Shape) -> Prediction {
    let coefficients = COEFFICIENTS
        .iter()
        .find(|row| row.version == profile.measured && row.step == step)
        .expect("every profile was measured");
    let size = shape.size(profile);
    let rest_ms = coefficients.fit.without_walk().ms(size);
    let walk_ms = if shape.disk_scan {
        let even_ms = coefficients.fit.ms(size) - rest_ms;
        even_ms * f64::from(shape.uneven_permille) / f64::from(EVEN)
    } else {
        0.0
    };
    let mut prediction = Prediction {
        ms: rest_ms + walk_ms,
        held_back_factor: coefficients.held_back_factor,
        extrapolated: !(table::COPIES_MIN..=table::COPIES_MAX).contains(&size.copies)
            || !(table::NODES_MIN..=table::NODES_MAX).contains(&shape.data_nodes),
    };
    // 7.2 and 7.3 share the code of 7.4, except that the reroute was still part of starting copies.
    let measured_without = crate::profile::PROFILES
        .iter()
        .any(|other| other.measured == profile.measured && other.follow_up_reroute);
    if step == Step::Start && !profile.follow_up_reroute && measured_without {
        let reroute = predict(profile, Step::Reroute, shape);
        prediction.ms += reroute.ms;
        prediction.held_back_factor = prediction.held_back_factor.max(reroute.held_back_factor);
    }
    prediction
}

/// An operation on an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Create it.
    Create,
    /// Delete it.
    Delete,
    /// Open it.
    Open,
    /// Close it.
    Close,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 4] = [Self::Create, Self::Delete, Self::Open, Self::Close];

    /// The operation's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Open => "open",
            Self::Close => "close",
        }
    }
}

/// One possible course of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "CourseRow")]
pub struct Course {
    /// Number of reroutes.
    pub reroutes: u64,
    /// Number of batches of started copies.
    pub start_batches: u64,
    /// Total CPU time on the master, milliseconds.
    pub ms: f64,
}

/// Cost of an operation until all its copies have started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperationCost {
    /// The operation.
    pub operation: Operation,
    /// Best case: all copies that recover concurrently are reported together, which gives the fewest
    /// reroutes.
    pub least: Course,
    /// Worst case: each copy is reported separately and causes its own reroute.
    pub most: Course,
    /// Largest factor by which a prediction for a held-out size was off, over the operation's steps.
    pub held_back_factor: f64,
}

/// Concurrent recoveries of primaries per node (`node_initial_primaries_recoveries`).
const PRIMARIES_AT_ONCE: u64 = 4;
/// Concurrent recoveries of replicas per node (`node_concurrent_incoming_recoveries`).
const REPLICAS_AT_ONCE: u64 = 2;

/// Costs of all operations on a cluster, each starting from the same state.
pub fn operations(profile: &Profile, shape: &Shape, index: IndexShape) -> Vec<OperationCost> {
    Operation::ALL
        .into_iter()
        .map(|which| operation(profile, shape, index, which))
        .collect()
}

/// Cost of one operation on a cluster.
pub fn operation(
    profile: &Profile,
    shape: &Shape,
    index: IndexShape,
    operation: Operation,
) -> OperationCost {
    let nodes = u64::from(shape.data_nodes.max(1));
    let primaries = u64::from(index.primaries);
    let replicas = primaries * index.placed_replicas(shape.data_nodes);
    let waves = Batches {
        starts: primaries.div_ceil(PRIMARIES_AT_ONCE * nodes)
            + replicas.div_ceil(REPLICAS_AT_ONCE * nodes),
        answers: 1 + u64::from(replicas > 0),
    };
    let single = Batches {
        starts: index.placed(shape.data_nodes),
        answers: primaries + if replicas > 0 { primaries } else { 0 },
    };
    let with_index = shape.grown(index);
    let is_one_reroute = match operation {
        Operation::Delete => true,
        Operation::Close => !profile.closed_in_table,
        Operation::Create | Operation::Open => false,
    };
    let steps: &[Step] = if is_one_reroute {
        &[Step::Delete]
    } else if profile.follow_up_reroute {
        &[Step::Create, Step::Start, Step::Reroute]
    } else {
        &[Step::Create, Step::Start]
    };
    let factors = steps
        .iter()
        .map(|&step| predict(profile, step, shape).held_back_factor);
    let course = |batches: Batches| match operation {
        Operation::Create => reroutes_with_starts(profile, &with_index, batches.starts, 0),
        Operation::Open => {
            let grown = if profile.closed_in_table {
                shape
            } else {
                &with_index
            };
            reroutes_with_starts(profile, grown, batches.starts, batches.answers)
        }
        Operation::Close if !is_one_reroute => {
            reroutes_with_starts(profile, shape, batches.starts, batches.answers)
        }
        Operation::Close | Operation::Delete => reroute_after_removal(profile, shape),
    };
    OperationCost {
        operation,
        least: course(waves),
        most: course(single),
        held_back_factor: factors.fold(1.0, f64::max),
    }
}

/// Number of batches in which the nodes' reports arrive.
#[derive(Clone, Copy)]
struct Batches {
    /// Batches of started copies.
    starts: u64,
    /// Batches of the nodes' responses to the gateway.
    answers: u64,
}

/// One reroute after copies have left the routing table.
fn reroute_after_removal(profile: &Profile, shape: &Shape) -> Course {
    Course {
        reroutes: 1,
        start_batches: 0,
        ms: predict(profile, Step::Delete, shape).ms,
    }
}

/// A reroute with new copies in the table, one more per batch of the gateway's responses, and one per
/// batch of starts.
fn reroutes_with_starts(profile: &Profile, shape: &Shape, starts: u64, answers: u64) -> Course {
    let ms = |step| predict(profile, step, shape).ms;
    let each_start = if profile.follow_up_reroute {
        ms(Step::Start) + ms(Step::Reroute)
    } else {
        ms(Step::Start)
    };
    #[expect(clippy::cast_precision_loss, reason = "batches are few")]
    let time = ms(Step::Create) + answers as f64 * ms(Step::Create) + starts as f64 * each_start;
    Course {
        reroutes: 1 + answers + starts,
        start_batches: starts,
        ms: time,
    }
}

/// Range of cluster sizes that were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredRange {
    /// Fewest copies in the routing table.
    pub copies_min: u64,
    /// Most copies in the routing table.
    pub copies_max: u64,
    /// Fewest data nodes.
    pub nodes_min: u32,
    /// Most data nodes.
    pub nodes_max: u32,
}

/// Returns the range of cluster sizes that were measured.
pub const fn measured_range() -> MeasuredRange {
    MeasuredRange {
        copies_min: table::COPIES_MIN,
        copies_max: table::COPIES_MAX,
        nodes_min: table::NODES_MIN,
        nodes_max: table::NODES_MAX,
    }
}

#[cfg(test)]
mod tests;
