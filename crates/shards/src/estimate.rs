//! Cost of a reroute and of index operations on a cluster's master, for its version and others: the result
//! of `trimtab shards cost`.

use crate::cost::{
    Course, EVEN, IndexShape, Operation, OperationCost, Shape, Step, measured_range, operation,
    operations, predict,
};
use crate::profile::{PROFILES, Profile, Server, V7_4, V7_17};
use crate::state::DesiredWork;
use schemars::JsonSchema;
use serde::Serialize;

/// Parameters of the cluster.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The server it runs; `None` to ask for all versions.
    pub server: Option<Server>,
    /// Its size.
    pub size: ClusterSize,
    /// Primaries of the index to create, delete, open and close; by default what each version creates.
    pub primaries: Option<u32>,
    /// Replicas of each primary of that index.
    pub replicas: u32,
    /// What the server told of its desired balance.
    pub desired: Option<DesiredWork>,
}

/// Size of the cluster that is asked about.
#[derive(Debug, Clone, PartialEq)]
pub enum ClusterSize {
    /// A cluster of equal indices and nodes.
    Given {
        /// Shard copies, primaries and replicas, of open and closed indices.
        copies: u64,
        /// Share of the copies that belongs to closed indices, 0 to 1.
        closed_share: f64,
        /// Indices, open and closed; `None` to assume that all are like the index that is created.
        indices: Option<u64>,
        /// Data nodes.
        data_nodes: u32,
        /// Whether the disk decider sums up relocations (`include_relocations`).
        disk_scan: bool,
    },
    /// The size of a cluster that was read.
    Read(Shape),
}

/// Estimated cost of a reroute and of index operations.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CostEstimate {
    /// The server, such as `Elasticsearch 7.4.0`; null if no version was asked for.
    pub server: Option<String>,
    /// The measured version that the estimate is based on; null without a version.
    pub measured_version: Option<String>,
    /// Shard copies, including closed indices.
    pub shards: u64,
    /// Shard copies of closed indices.
    pub closed_shards: u64,
    /// Shard copies in this version's routing table; without a version, with those of closed indices.
    pub routed_shards: u64,
    /// Indices, open and closed, as given or derived.
    pub indices: u64,
    /// Data nodes.
    pub data_nodes: u32,
    /// How much more a walk over the nodes' shards costs than if all nodes had equally many: the sum of
    /// the squares, relative to that.
    pub uneven_factor: f64,
    /// Primaries of the index used for operations; null if they are each version's default.
    pub primaries: Option<u32>,
    /// Replicas of each primary.
    pub replicas: u32,
    /// Whether the cluster is outside the measured range of sizes.
    pub extrapolated: bool,
    /// Reroute with nothing to do; null without a version.
    pub reroute: Option<RerouteTime>,
    /// Cost of each operation on the index; empty without a version.
    pub operations: Vec<OperationRow>,
    /// The same cluster on each version.
    pub versions: Vec<VersionRow>,
    /// The same cluster with `cluster.routing.allocation.disk.include_relocations: false`; null if that
    /// changes nothing, because the version does not scan, there is one data node, or it is already set.
    pub without_relocations: Option<Alternative>,
    /// What the desired balance costs beside the master's queue; null before 8.6, in OpenSearch, and where
    /// the server did not tell.
    pub desired_balance: Option<DesiredCost>,
    /// Reroute times with fewer and more shards, for the chart.
    #[serde(skip)]
    #[schemars(skip)]
    pub growth: Vec<GrowthPoint>,
}

/// What the desired balance has cost this server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DesiredCost {
    /// Computations since the master was elected.
    pub computations: u64,
    /// Mean time of one, on a thread of its own, milliseconds.
    pub computation_ms: f64,
    /// Mean time of the steps towards it per computation, on the master's thread, milliseconds.
    pub reconciliation_ms: f64,
}

impl DesiredCost {
    #[expect(clippy::cast_precision_loss, reason = "means to be read")]
    fn of(work: DesiredWork) -> Self {
        let mean = |ms: u64| ms as f64 / work.computations.max(1) as f64;
        Self {
            computations: work.computations,
            computation_ms: mean(work.computing_ms),
            reconciliation_ms: mean(work.reconciling_ms),
        }
    }
}

/// Cost of a reroute.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RerouteTime {
    /// CPU time on the master, milliseconds.
    pub ms: f64,
    /// Largest factor by which a prediction for a held-out size was off in validation.
    pub held_back_factor: f64,
    /// Whether the cluster is outside the measured range of sizes.
    pub extrapolated: bool,
}

/// Cost of an operation until all copies have started.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OperationRow {
    /// `create`, `delete`, `open`, `close`.
    pub operation: &'static str,
    /// Best case: copies that recover concurrently are reported together.
    pub least: Course,
    /// Worst case: each copy is reported separately and causes its own reroute.
    pub most: Course,
    /// Largest factor by which a prediction for a held-out size was off in validation, over the
    /// operation's steps.
    pub held_back_factor: f64,
}

/// The same cluster on another version.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct VersionRow {
    /// The versions, such as `7.4 to 7.5`.
    pub versions: &'static str,
    /// Whether this is the requested version.
    pub asked: bool,
    /// Copies in its routing table.
    pub routed_shards: u64,
    /// Primaries of the index that is created.
    pub primaries: u32,
    /// The times on this version.
    #[serde(flatten)]
    pub times: Alternative,
}

/// Times under different conditions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Alternative {
    /// A reroute, milliseconds.
    pub reroute_ms: f64,
    /// Largest factor by which a prediction of a reroute for a held-out size was off.
    pub reroute_held_back_factor: f64,
    /// Creating the index, with the fewest reroutes, milliseconds.
    pub create_least_ms: f64,
    /// Creating the index, with the most reroutes, milliseconds.
    pub create_most_ms: f64,
}

/// Reroute time of the same cluster with a different number of shards, and the same number per index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrowthPoint {
    /// Shard copies, including closed indices.
    pub shards: u64,
    /// A reroute, milliseconds.
    pub reroute_ms: f64,
    /// The same with `include_relocations: false`; `None` if that changes nothing.
    pub without_relocations_ms: Option<f64>,
    /// The same on the latest measured version; `None` if that is the requested version.
    pub latest_ms: Option<f64>,
}

/// Number of steps on the chart, up to twice the shards.
const GROWTH_STEPS: u64 = 40;

impl Question {
    fn shape(&self) -> Shape {
        let (copies, closed_share, indices, data_nodes, disk_scan) = match &self.size {
            ClusterSize::Read(shape) => return *shape,
            ClusterSize::Given {
                copies,
                closed_share,
                indices,
                data_nodes,
                disk_scan,
            } => (*copies, *closed_share, *indices, *data_nodes, *disk_scan),
        };
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of what was asked for"
        )]
        let closed_copies = (copies as f64 * closed_share).round() as u64;
        let copies_by_shard = 1 + u64::from(self.replicas);
        let like = self.server.as_ref().map_or(&V7_17, |server| server.profile);
        let copies_by_index = u64::from(self.index(like).primaries) * copies_by_shard;
        Shape {
            data_nodes,
            copies,
            closed_copies,
            shards: copies.div_ceil(copies_by_shard),
            indices: indices.unwrap_or_else(|| copies.div_ceil(copies_by_index.max(1))),
            disk_scan,
            uneven_permille: EVEN,
        }
    }

    /// The index to create on a version.
    fn index(&self, profile: &Profile) -> IndexShape {
        IndexShape {
            primaries: self.primaries.unwrap_or(profile.default_primaries),
            replicas: self.replicas,
        }
    }
}

impl CostEstimate {
    /// Estimates the costs for the given cluster.
    pub fn of(question: &Question) -> Self {
        let shape = question.shape();
        let asked = question.server.as_ref().map(|server| server.profile);
        let reroute = asked.map(|profile| predict(profile, Step::Reroute, &shape));
        let scans = asked.is_some_and(|profile| profile.scans);
        let without = (scans && shape.disk_scan && shape.data_nodes > 1).then_some(Shape {
            disk_scan: false,
            ..shape
        });
        Self {
            server: question.server.as_ref().map(Server::to_string),
            measured_version: asked.map(|profile| profile.measured.to_owned()),
            shards: shape.copies,
            closed_shards: shape.closed_copies,
            routed_shards: asked.map_or(shape.copies, |profile| shape.routed(profile)),
            indices: shape.indices,
            data_nodes: shape.data_nodes,
            uneven_factor: f64::from(shape.uneven_permille) / f64::from(EVEN),
            primaries: asked
                .map(|profile| question.index(profile).primaries)
                .or(question.primaries),
            replicas: question.replicas,
            extrapolated: reroute.map_or_else(
                || {
                    let mut profiles = PROFILES.iter();
                    profiles.all(|other| predict(other, Step::Reroute, &shape).extrapolated)
                },
                |reroute| reroute.extrapolated,
            ),
            reroute: reroute.map(|reroute| RerouteTime {
                ms: reroute.ms,
                held_back_factor: reroute.held_back_factor,
                extrapolated: reroute.extrapolated,
            }),
            operations: asked.map_or(Vec::new(), |profile| {
                let rows = operations(profile, &shape, question.index(profile));
                rows.iter().map(OperationRow::of).collect()
            }),
            versions: PROFILES
                .iter()
                .map(|&other| VersionRow {
                    versions: other.versions,
                    asked: Some(other) == asked,
                    routed_shards: shape.routed(other),
                    primaries: question.index(other).primaries,
                    times: Alternative::of(other, &shape, question.index(other)),
                })
                .collect(),
            without_relocations: without.as_ref().zip(asked).map(|(without, profile)| {
                Alternative::of(profile, without, question.index(profile))
            }),
            desired_balance: question.desired.map(DesiredCost::of),
            growth: growth(asked.unwrap_or(&V7_4), &shape, without.as_ref()),
        }
    }

    /// Limits of the estimate: a version approximated by another one, or a cluster outside the measured
    /// range.
    pub fn warnings(&self, server: Option<&Server>) -> Vec<String> {
        let mut warnings: Vec<String> = server
            .and_then(|server| server.warning.clone())
            .into_iter()
            .collect();
        if self.extrapolated {
            let range = measured_range();
            warnings.push(format!(
                "The model was measured with {} to {} in the routing table on {} to {}; this cluster has \
                 {} on {}. That is an extrapolation and may be far off (docs/shards.md).",
                units::grouped(range.copies_min),
                units::count(range.copies_max, "shard"),
                range.nodes_min,
                units::count(range.nodes_max, "data node"),
                units::grouped(self.routed_shards),
                units::grouped(self.data_nodes.into()),
            ));
        }
        warnings
    }
}

impl OperationRow {
    fn of(cost: &OperationCost) -> Self {
        Self {
            operation: cost.operation.name(),
            least: cost.least,
            most: cost.most,
            held_back_factor: cost.held_back_factor,
        }
    }
}

impl Alternative {
    fn of(profile: &Profile, shape: &Shape, index: IndexShape) -> Self {
        let reroute = predict(profile, Step::Reroute, shape);
        let create = operation(profile, shape, index, Operation::Create);
        Self {
            reroute_ms: reroute.ms,
            reroute_held_back_factor: reroute.held_back_factor,
            create_least_ms: create.least.ms,
            create_most_ms: create.most.ms,
        }
    }
}

/// Reroute times from few shards up to twice as many as the cluster has.
fn growth(profile: &Profile, shape: &Shape, without: Option<&Shape>) -> Vec<GrowthPoint> {
    let ms = |profile: &Profile, shape: &Shape| predict(profile, Step::Reroute, shape).ms;
    let point = |copies| GrowthPoint {
        shards: copies,
        reroute_ms: ms(profile, &shape.with_copies(copies)),
        without_relocations_ms: without.map(|other| ms(profile, &other.with_copies(copies))),
        latest_ms: (*profile != V7_17).then(|| ms(&V7_17, &shape.with_copies(copies))),
    };
    let most = shape.copies.saturating_mul(2);
    let mut copies: Vec<u64> = (1..=GROWTH_STEPS)
        .map(|step| {
            let part = u128::from(most) * u128::from(step) / u128::from(GROWTH_STEPS);
            u64::try_from(part).unwrap_or(u64::MAX)
        })
        .filter(|&copies| copies > 0)
        .collect();
    copies.dedup();
    copies.into_iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(version: &str, copies: u64) -> Question {
        Question {
            server: Some(Server::parse(version).unwrap()),
            size: given(copies, 0.0, None),
            primaries: Some(5),
            replicas: 1,
            desired: None,
        }
    }

    fn given(copies: u64, closed_share: f64, indices: Option<u64>) -> ClusterSize {
        ClusterSize::Given {
            copies,
            closed_share,
            indices,
            data_nodes: 4,
            disk_scan: true,
        }
    }

    fn reroute_ms(estimate: &CostEstimate) -> f64 {
        estimate.reroute.as_ref().unwrap().ms
    }

    #[test]
    fn without_a_version_all_are_answered_for() {
        let estimate = CostEstimate::of(&Question {
            server: None,
            primaries: None,
            ..question("7.4.0", 20_000)
        });
        assert_eq!((estimate.server, estimate.reroute), (None, None));
        assert_eq!(estimate.versions.len(), PROFILES.len());
        assert!(estimate.versions.iter().all(|row| !row.asked));
        // Each version creates the index of its defaults, as `check` has it.
        let primaries = estimate.versions.iter().map(|row| row.primaries);
        assert_eq!(primaries.collect::<Vec<_>>(), [5, 1, 1, 1, 1, 1]);
        assert_eq!(estimate.indices, 10_000);
    }

    #[test]
    fn uneven_nodes_cost_more_where_copies_are_walked() {
        let even = question("7.4.0", 20_000);
        let estimate = |version: &str, uneven_permille| {
            CostEstimate::of(&Question {
                size: ClusterSize::Read(Shape {
                    uneven_permille,
                    ..even.shape()
                }),
                ..question(version, 20_000)
            })
        };
        let ms = |version, permille| reroute_ms(&estimate(version, permille));
        let (walk, rest) = (ms("7.4.0", 1_000), ms("7.6.0", 1_000));
        // All copies on one of four nodes: four times the walk.
        assert!((ms("7.4.0", 4_000) - 4.0 * walk).abs() < 4.0 * rest);
        assert!((ms("7.17.28", 4_000) - ms("7.17.28", 1_000)).abs() < 1e-9);
        assert!((estimate("7.4.0", 4_000).uneven_factor - 4.0).abs() < 1e-9);
    }

    #[test]
    fn shares_and_indices_are_resolved() {
        let estimate = CostEstimate::of(&Question {
            size: given(50_000, 0.9, None),
            ..question("7.1.1", 50_000)
        });
        // Ten copies per index; before 7.2 those of closed indices are not in the table.
        assert_eq!((estimate.indices, estimate.closed_shards), (5_000, 45_000));
        assert_eq!(estimate.routed_shards, 5_000);
        let given = CostEstimate::of(&Question {
            size: given(50_000, 0.0, Some(7)),
            ..question("7.4.0", 50_000)
        });
        assert_eq!((given.indices, given.routed_shards), (7, 50_000));
    }

    #[test]
    fn the_alternative_is_only_given_if_it_differs() {
        let without = |question: &Question| CostEstimate::of(question).without_relocations;
        let here = without(&question("7.4.0", 20_000)).unwrap();
        let shape = |change: fn(&mut Shape)| {
            let mut shape = question("7.4.0", 20_000).shape();
            change(&mut shape);
            Question {
                size: ClusterSize::Read(shape),
                ..question("7.4.0", 20_000)
            }
        };
        let set = CostEstimate::of(&shape(|shape| shape.disk_scan = false));
        assert!((here.reroute_ms - reroute_ms(&set)).abs() < 1e-9);
        assert_eq!(set.without_relocations, None);
        assert_eq!(without(&question("7.17.28", 20_000)), None);
        assert_eq!(without(&shape(|shape| shape.data_nodes = 1)), None);
    }

    #[test]
    fn growth_passes_through_the_estimate() {
        for copies in [1, 3, 25_000, 100_000_000] {
            let estimate = CostEstimate::of(&question("7.4.0", copies));
            let here = estimate.growth.iter().find(|point| point.shards == copies);
            let here = here.expect("the cluster is among the points");
            assert!((here.reroute_ms - reroute_ms(&estimate)).abs() <= 1e-9 * here.reroute_ms);
            assert_eq!(
                here.without_relocations_ms,
                estimate.without_relocations.map(|times| times.reroute_ms)
            );
            let shards = estimate.growth.iter().map(|point| point.shards);
            assert!(shards.is_sorted_by(|a, b| a < b), "{copies}");
            assert_eq!(estimate.growth.last().unwrap().shards, 2 * copies);
        }
        let latest = CostEstimate::of(&question("7.17.28", 100));
        assert!(latest.growth.iter().all(|point| point.latest_ms.is_none()));
    }

    #[test]
    fn unmeasured_versions_and_sizes_cause_warnings() {
        let warnings = |version, copies| {
            let question = question(version, copies);
            CostEstimate::of(&question).warnings(question.server.as_ref())
        };
        assert!(warnings("7.4.0", 25_000).is_empty());
        let far = warnings("7.4.0", 1_000_000).join("; ");
        assert!(
            far.contains("1,000 to 25,000 shards") && far.contains("1,000,000 on 4"),
            "{far}"
        );
        assert_eq!(warnings("8.11.0", 25_000).len(), 1);
    }
}
