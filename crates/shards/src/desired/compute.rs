//! Computing the desired balance (`DesiredBalanceComputer`).

use super::claimed::Claimed;
use super::rules::Rules;
use super::{Assignment, DesiredBalance, disks};
use crate::allocation::Allocation;
use crate::balancer::{self, BalancerState};
use crate::circle::{Circle, place, stir};
use crate::copy::{AllocationStatus, ShardCopy};
use crate::deciders::Deciders;
use crate::model::{Cluster, NumberMap, ShardId};
use crate::nodes::{Change, CopyIndex, RoutingNodes};

/// How a computation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Nothing moves any more.
    Rest,
    /// The same placements, on disks that are as full, come back after this many iterations: a server never comes to an end here, and
    /// publishes what it has whenever something else happens.
    Circle {
        /// Iterations from a placement to its return.
        period: u32,
    },
    /// Not within the iterations that were allowed.
    TooLong,
}

/// A computed balance.
#[derive(Debug, Clone)]
pub struct Computed {
    /// The balance.
    pub balance: DesiredBalance,
    /// Number of times the balancer ran.
    pub iterations: u32,
    /// How it ended.
    pub end: End,
}

/// A copy of the cluster in which all recoveries end at once.
pub(super) struct Simulation {
    pub cluster: Cluster,
    pub nodes: RoutingNodes,
    deciders: Deciders,
    rules: Rules,
    now_nanos: i64,
    /// Whether `cluster.info` holds what the deciders know. The server shows them the simulated sizes and
    /// disks once before each run of the balancer.
    known: Option<Box<crate::model::ClusterInfo>>,
    /// What the balancer knows of the copies, from one run to the next.
    balancer: Option<BalancerState>,
    /// The recovering copies, as [`Self::find_recovering`] left them: some may have started since.
    recovering: Vec<CopyIndex>,
    /// How many of the changes have been looked at for them.
    changes_seen: usize,
    /// Sum over the copies on nodes: equal placements have the same. Kept up to date by [`Self::start`], from
    /// when [`Self::count_places`] was called.
    places: u64,
}

impl Simulation {
    /// A round of the simulation.
    fn round(&mut self) -> Allocation<'_> {
        let mut round = Allocation::new(
            &self.cluster,
            &mut self.nodes,
            &self.deciders,
            self.now_nanos,
        );
        round.simulating = true;
        round
    }

    /// Puts a question to the deciders.
    pub fn ask<T>(&mut self, question: impl FnOnce(&Allocation<'_>) -> T) -> T {
        question(&self.round())
    }

    /// Starts a recovering copy.
    pub fn start(&mut self, handle: CopyIndex) {
        let copy = *self.nodes.copy(handle);
        self.with_simulated_disks(|rules, cluster| disks::start(rules, cluster, &copy));
        if let Some(node) = copy.node {
            self.places = self
                .places
                .wrapping_add(place(copy.shard, copy.primary, node));
        }
        if let Some(from) = copy.relocating {
            self.places = self
                .places
                .wrapping_sub(place(copy.shard, copy.primary, from));
        }
        self.nodes.start(handle);
    }

    /// Sums up where all copies are; none may be recovering.
    fn count_places(&mut self) {
        self.places = 0;
        for &node in self.nodes.order() {
            for (_, copy) in self.nodes.copies_on(node) {
                self.places = self
                    .places
                    .wrapping_add(place(copy.shard, copy.primary, node));
            }
        }
    }

    fn with_simulated_disks(&mut self, change: impl FnOnce(Rules, &mut Cluster)) {
        if let Some(simulated) = &mut self.known {
            let mut info = Some(std::mem::take(&mut **simulated));
            std::mem::swap(&mut self.cluster.info, &mut info);
            change(self.rules, &mut self.cluster);
            std::mem::swap(&mut self.cluster.info, &mut info);
            **simulated = info.unwrap_or_default();
        } else {
            change(self.rules, &mut self.cluster);
        }
    }

    /// Starts all recovering copies, node by node. Returns whether there were any.
    fn start_all(&mut self) -> bool {
        let mut started: Vec<ShardCopy> = Vec::new();
        for node in self.nodes.order().to_vec() {
            // Starting a primary can restart replicas, on this node or another one.
            self.find_recovering();
            let starting = self.nodes.select_on(node, &self.recovering);
            for handle in starting {
                started.push(*self.nodes.copy(handle));
                self.start(handle);
            }
        }
        if let Some(balancer) = &mut self.balancer {
            balancer.follow_starts(&self.nodes, &self.cluster, &started);
        }
        !started.is_empty()
    }

    /// Adds the copies that have been initialized since the last call, and drops those that no longer recover.
    fn find_recovering(&mut self) {
        let log = self.nodes.changes().log();
        let initialized = log[self.changes_seen..]
            .iter()
            .filter_map(|change| match change {
                Change::Initialized(copy) | Change::RelocationStarted { target: copy, .. } => {
                    self.nodes.on_node(copy.node?, copy.shard)
                }
                _ => None,
            });
        self.recovering.extend(initialized);
        self.recovering.sort_unstable();
        self.recovering.dedup();
        self.changes_seen = log.len();
        let nodes = &self.nodes;
        self.recovering
            .retain(|&handle| nodes.is_recovering(handle));
    }

    /// Runs the balancer once.
    fn balance(&mut self) {
        let state = self.balancer.take();
        let mut round = self.round();
        let state = state.unwrap_or_else(|| BalancerState::new(&round));
        let state = balancer::allocate_with(&mut round, state);
        self.balancer = Some(state);
    }

    /// Shows the deciders the sizes and disks as they are in the simulation now.
    fn show_disks(&mut self) {
        if let Some(simulated) = self.known.take() {
            self.cluster.info = Some(*simulated);
        }
        self.deciders.read_disks(&self.cluster);
    }

    fn assignments(&self) -> (NumberMap<ShardId, Assignment>, bool) {
        let mut assignments: NumberMap<ShardId, Assignment> = NumberMap::default();
        for table in self.cluster.routing.tables() {
            for shard in 0..self.cluster.index(table.index).shards {
                let shard = ShardId {
                    index: table.index,
                    shard,
                };
                let mut assignment = Assignment::default();
                for copy in self.nodes.assigned_copies(shard) {
                    assignment.count(copy);
                }
                if assignment.total > 0 {
                    assignments.insert(shard, assignment);
                }
            }
        }
        let mut throttled = false;
        for &handle in self.nodes.unassigned().ignored() {
            let copy = self.nodes.copy(handle);
            let status = copy.unassigned.map(|info| info.last_status);
            throttled |= status == Some(AllocationStatus::DecidersThrottled);
            let assignment = assignments.entry(copy.shard).or_default();
            assignment.total += 1;
            assignment.unassigned += 1;
            assignment.ignored += u32::from(status != Some(AllocationStatus::DecidersNo));
        }
        (assignments, throttled)
    }

    /// A number for the placement of all copies and the free space on all disks; equal ones have the same.
    /// Where disks are full, the simulated space does not follow from the placement alone.
    fn fingerprint(&self) -> u64 {
        let mut sum = self.places;
        if let Some(info) = &self.cluster.info {
            for (salt, usages) in [(1, &info.most), (2, &info.least)] {
                for (node, usage) in usages {
                    let word = stir(u64::from(node.0) << 2 | salt);
                    sum = sum.wrapping_add(stir(word ^ usage.free_bytes.cast_unsigned()));
                }
            }
        }
        sum
    }
}

/// Computes where all copies should be.
///
/// `nodes` are the copies before the round for a prediction of what the server computes from it, or after
/// the gateway allocator for the balance that it soon has. `ignored` are unassigned copies that the gateway
/// allocator left alone or took care of. The balance before is where it begins.
///
/// # Panics
/// With 2^32 iterations, of which there are always fewer.
pub fn compute(
    cluster: &Cluster,
    nodes: &RoutingNodes,
    ignored: &[ShardCopy],
    previous: &DesiredBalance,
    now_nanos: i64,
) -> Computed {
    let nodes = nodes.clone();
    let cluster = cluster.clone();
    let mut simulation = Simulation {
        rules: Rules::of(&cluster),
        deciders: Deciders::new(&cluster, &nodes),
        known: Some(Box::new(cluster.info.clone().unwrap_or_default())),
        cluster,
        nodes,
        now_nanos,
        balancer: None,
        recovering: Vec::new(),
        changes_seen: 0,
        places: 0,
    };
    if simulation.nodes.order().is_empty() {
        return Computed {
            balance: DesiredBalance {
                assignments: NumberMap::default(),
                converged: true,
            },
            iterations: 0,
            end: End::Rest,
        };
    }
    let claimed = Claimed::new(ignored);
    simulation.recovering = simulation.nodes.initializing();
    simulation.changes_seen = simulation.nodes.changes().log().len();
    simulation.start_all();
    simulation.apply(previous, &claimed);
    simulation.count_places();
    let copies = simulation.cluster.routing.copies().count();
    let most = u32::try_from(copies)
        .unwrap_or(u32::MAX)
        .saturating_mul(4)
        .max(1000);
    let mut circle = Circle::default();
    let mut iterations = 0;
    let end = loop {
        if iterations > 0 {
            simulation.nodes.reset_ignored();
            simulation.set_aside(&claimed);
        }
        simulation.show_disks();
        simulation.balance();
        let changed = simulation.start_all();
        iterations += 1;
        if !changed {
            break End::Rest;
        }
        if let Some(period) = circle.follow(simulation.fingerprint()) {
            break End::Circle { period };
        }
        if iterations >= most {
            break End::TooLong;
        }
    };
    let (assignments, throttled) = simulation.assignments();
    Computed {
        balance: DesiredBalance {
            assignments,
            converged: end == End::Rest && !throttled,
        },
        iterations,
        end,
    }
}

impl Simulation {
    /// Ignores claimed copies again after all ignored ones have become unassigned.
    fn set_aside(&mut self, claimed: &Claimed) {
        let handles = self.nodes.drain_unassigned();
        for handle in handles {
            if claimed.contains(self.nodes.copy(handle)) {
                self.nodes.ignore(handle, AllocationStatus::NoAttempt);
            } else {
                self.nodes.keep(handle);
            }
        }
    }
}
