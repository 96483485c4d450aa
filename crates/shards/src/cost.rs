//! What a reroute, and what operations on an index cost the master.
//!
//! Times come from a model with six coefficients at most ([`fit`]) for each step and version, fitted to
//! processor time of the real allocation service (`crates/shards/data/measured.csv`, made by
//! `benches/shards/measure.sh`). They are those of the machine that measured: the ratio of two
//! predictions carries over, a millisecond only to a machine alike. Publishing a cluster state, writing
//! it to disk and what nodes do with it come on top, and are not predicted.
//!
//! How many reroutes an operation takes follows from the server's tasks, those of 7.4.0:
//! - create (`MetaDataCreateIndexService`): one reroute in the task; then the new copies report that
//!   they have started (`ShardStateAction`), in batches of what arrived in the meantime, and after each
//!   batch there is a reroute. Replicas begin after their primary has started.
//! - delete (`MetaDataDeleteIndexService`): one reroute.
//! - open (`MetaDataIndexStateService`): one reroute, in which the gateway begins to ask nodes what they
//!   hold of the primaries (`GatewayAllocator`); another when they have answered; then starts as above;
//!   and before replicas are allocated, the same question for them, and another reroute.
//! - close: from 7.2 on all copies are allocated anew, with the steps of open. Before, the copies leave
//!   the routing table: one reroute.

pub mod fit;
mod step;
mod table;

use fit::Size;

pub use fit::Fit;
pub use step::{Step, scans};
pub(crate) use table::COEFFICIENTS;
pub use table::Coefficients;

use crate::profile::Profile;

/// A cluster, as far as the cost depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Data nodes, at least 1.
    pub data_nodes: u32,
    /// Copies of shards, primaries and replicas, of open and closed indices.
    pub copies: u64,
    /// Those of closed indices among them.
    pub closed_copies: u64,
    /// Shards, each with all its copies counted once (primaries), of open and closed indices.
    pub shards: u64,
    /// Indices, open and closed ones, taken to have as many copies and shards each.
    pub indices: u64,
    /// Whether the disk decider adds up relocations: `cluster.routing.allocation.disk.threshold_enabled`
    /// and `include_relocations` are both true (the default). Without, nothing is scanned.
    pub disk_scan: bool,
}

impl Shape {
    /// Copies that this version's routing table holds.
    pub fn routed(&self, profile: &Profile) -> u64 {
        if profile.closed_in_table {
            self.copies
        } else {
            self.copies.saturating_sub(self.closed_copies)
        }
    }

    /// What times depend on with this version.
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

    /// The same cluster with so many copies, and as many by shard and index as before.
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

    /// The same cluster with an open index more.
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

/// The index that is created, deleted, opened or closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexShape {
    /// Primaries.
    pub primaries: u32,
    /// Replicas of each.
    pub replicas: u32,
}

impl IndexShape {
    /// Replicas of each that find a node of their own.
    fn placed_replicas(self, data_nodes: u32) -> u64 {
        u64::from(self.replicas.min(data_nodes.saturating_sub(1)))
    }

    /// Copies that find a node.
    fn placed(self, data_nodes: u32) -> u64 {
        u64::from(self.primaries) * (1 + self.placed_replicas(data_nodes))
    }
}

/// What one step takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prediction {
    /// Processor time of the master, milliseconds.
    pub ms: f64,
    /// By which factor the worst held-back size was off when the model was checked.
    pub held_back_factor: f64,
    /// Whether the cluster is larger, or has more or fewer nodes, than any that was measured.
    pub extrapolated: bool,
}

/// Predicts a step on a cluster.
///
/// # Panics
/// If the coefficients lack a profile's version: a test sees to it that they do not.
pub fn predict(profile: &Profile, step: Step, shape: &Shape) -> Prediction {
    let coefficients = COEFFICIENTS
        .iter()
        .find(|row| row.version == profile.measured && row.step == step)
        .expect("every profile was measured");
    let size = shape.size(profile);
    let fit = if shape.disk_scan {
        coefficients.fit
    } else {
        coefficients.fit.without_walk()
    };
    let mut prediction = Prediction {
        ms: fit.ms(size),
        held_back_factor: coefficients.held_back_factor,
        extrapolated: !(table::COPIES_MIN..=table::COPIES_MAX).contains(&size.copies)
            || !(table::NODES_MIN..=table::NODES_MAX).contains(&shape.data_nodes),
    };
    // 7.2 and 7.3 stand on the code of 7.4, but for the reroute that was still part of starting copies.
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

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Open => "open",
            Self::Close => "close",
        }
    }
}

/// One way an operation may go.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Course {
    /// Reroutes.
    pub reroutes: u64,
    /// Batches of started copies.
    pub start_batches: u64,
    /// Processor time of the master for all of it, milliseconds.
    pub ms: f64,
}

/// What an operation takes until all its copies have started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperationCost {
    /// The operation.
    pub operation: Operation,
    /// Where all copies that recover at once report at once: the fewest reroutes.
    pub least: Course,
    /// Where each copy reports alone and has a reroute to itself: the most.
    pub most: Course,
    /// By which factor the worst held-back size of the steps that it is made of was off.
    pub held_back_factor: f64,
}

/// Primaries that recover at once on a node (`node_initial_primaries_recoveries`).
const PRIMARIES_AT_ONCE: u64 = 4;
/// Replicas that recover at once on a node (`node_concurrent_incoming_recoveries`).
const REPLICAS_AT_ONCE: u64 = 2;

/// What the operations take on a cluster, one after another from the same state.
pub fn operations(profile: &Profile, shape: &Shape, index: IndexShape) -> Vec<OperationCost> {
    Operation::ALL
        .into_iter()
        .map(|which| operation(profile, shape, index, which))
        .collect()
}

/// What one operation takes on a cluster.
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
        Operation::Create => started(profile, &with_index, batches.starts, 0),
        Operation::Open => {
            let grown = if profile.closed_in_table {
                shape
            } else {
                &with_index
            };
            started(profile, grown, batches.starts, batches.answers)
        }
        Operation::Close if !is_one_reroute => {
            started(profile, shape, batches.starts, batches.answers)
        }
        Operation::Close | Operation::Delete => alone(profile, shape),
    };
    OperationCost {
        operation,
        least: course(waves),
        most: course(single),
        held_back_factor: factors.fold(1.0, f64::max),
    }
}

/// How reports of nodes fall into batches.
#[derive(Clone, Copy)]
struct Batches {
    /// Batches of started copies.
    starts: u64,
    /// Batches of answers to the gateway.
    answers: u64,
}

/// One reroute without what it takes away.
fn alone(profile: &Profile, shape: &Shape) -> Course {
    Course {
        reroutes: 1,
        start_batches: 0,
        ms: predict(profile, Step::Delete, shape).ms,
    }
}

/// A reroute with new copies in the table, one for each batch of the gateway's answers, and one for
/// each batch of starts.
fn started(profile: &Profile, shape: &Shape, starts: u64, answers: u64) -> Course {
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

/// Sizes of clusters that were measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredRange {
    /// Fewest copies in the routing table.
    pub copies_min: u64,
    /// Most copies.
    pub copies_max: u64,
    /// Fewest data nodes.
    pub nodes_min: u32,
    /// Most data nodes.
    pub nodes_max: u32,
}

/// Sizes of clusters that were measured.
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
