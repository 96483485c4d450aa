//! Predicts what reroutes cost this cluster's master, with the model from the `shards` crate, which
//! was fitted to measurements of the servers' own code.

use super::ClusterContext;
use facts::Cluster;
use facts::cluster::{ServerVersion, ShardCounts};
use shards::cost::{
    EVEN, IndexShape, Operation, OperationCost, Prediction, Shape, Step, operation, predict,
};
use shards::profile::{Profile, V6_8, V7_0, V7_2, V7_4, V7_6};

/// Copies per index in the measured clusters, used if this cluster does not report its indices.
const COPIES_BY_INDEX: u64 = 5;

/// Returns the allocation profile of this version if its reroutes scan; `None` if they do not, or
/// if it is older than the measured versions.
pub(crate) fn scanning(version: &ServerVersion) -> Option<&'static Profile> {
    match (version.major, version.minor) {
        (6, 8..) => Some(&V6_8),
        (7, 0..=1) => Some(&V7_0),
        (7, 2..=3) => Some(&V7_2),
        (7, 4..=5) => Some(&V7_4),
        _ => None,
    }
}

/// Returns the number of copies assigned to nodes: those are scanned.
pub(crate) fn assigned(shards: &ShardCounts) -> u64 {
    shards.total.saturating_sub(shards.unassigned)
}

/// Predicts times for a cluster, in milliseconds of the master's CPU time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Model {
    profile: &'static Profile,
    shape: Shape,
}

impl Model {
    /// Creates the model of a cluster with its current routing table and the scan; `None` if its version does not scan,
    /// if it has fewer than two data nodes, or if it did not tell enough.
    pub fn of(cx: &ClusterContext<'_>) -> Option<Self> {
        let profile = scanning(cx.elasticsearch()?)?;
        let shards = cx.cluster.shards.as_ref()?;
        let data_nodes = cx.cluster.data_nodes().count() as u64;
        (data_nodes > 1).then(|| Self::new(cx, profile, shards, data_nodes))
    }

    fn new(
        cx: &ClusterContext<'_>,
        profile: &'static Profile,
        shards: &ShardCounts,
        data_nodes: u64,
    ) -> Self {
        let copies = assigned(shards);
        let indices = cx.cluster.indices.as_ref().map(|indices| {
            let closed = indices.closed_in_routing_table.unwrap_or(0);
            indices.open.saturating_add(closed)
        });
        Self {
            profile,
            shape: Shape {
                data_nodes: u32::try_from(data_nodes).unwrap_or(u32::MAX),
                copies,
                // The count is the whole routing table, so nothing is subtracted.
                closed_copies: 0,
                shards: shards.primaries,
                indices: indices.unwrap_or(copies / COPIES_BY_INDEX),
                disk_scan: true,
                uneven_permille: EVEN,
            },
        }
    }

    /// Returns the number of copies in its routing table that are assigned to nodes.
    pub fn copies(&self) -> u64 {
        self.shape.copies
    }

    /// Returns the model without the scan, as with `include_relocations: false`.
    pub fn without_scan(self) -> Self {
        let mut other = self;
        other.shape.disk_scan = false;
        other
    }

    /// Returns the model of the same cluster on another version.
    pub fn on(self, profile: &'static Profile) -> Self {
        Self { profile, ..self }
    }

    /// Returns the model with this many copies in the routing table, and the same number of copies
    /// per index.
    pub fn with_copies(self, copies: u64) -> Self {
        Self {
            shape: self.shape.with_copies(copies),
            ..self
        }
    }

    /// Predicts a reroute that finds nothing to do.
    pub fn reroute(&self) -> Prediction {
        predict(self.profile, Step::Reroute, &self.shape)
    }

    /// Predicts creating an index with the default number of primaries and replicas.
    pub fn creation(&self) -> OperationCost {
        operation(
            self.profile,
            &self.shape,
            self.new_index(),
            Operation::Create,
        )
    }

    /// Predicts creating this version's default index on a server that keeps lists as 7.6 does.
    pub fn creation_with_fix(&self) -> OperationCost {
        operation(&V7_6, &self.shape, self.new_index(), Operation::Create)
    }

    /// Returns the default index of this version.
    pub fn new_index(&self) -> IndexShape {
        IndexShape {
            primaries: self.profile.default_primaries,
            replicas: 1,
        }
    }

    /// Returns the measured version that the model is based on.
    pub fn measured_version(&self) -> &'static str {
        self.profile.measured
    }
}

/// Predicted times of the master's thread, in milliseconds on the machine that measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RerouteCost {
    /// A reroute that finds nothing to do.
    pub reroute_ms: f64,
    /// Creating an index with the version's defaults: with the fewest reroutes, and with the most.
    pub create_ms: (f64, f64),
}

/// Predicts what reroutes cost a cluster that scans all shards, and what they would cost with lists as 7.6 keeps them.
/// `None` if it does not scan, or if the cluster did not tell enough.
pub fn scan_cost(cluster: &Cluster) -> Option<(RerouteCost, RerouteCost)> {
    let cx = ClusterContext::new(cluster, &[]);
    let settings = cluster.settings.as_ref()?;
    if !settings.disk_threshold_enabled() || !settings.include_relocations() {
        return None;
    }
    let model = Model::of(&cx)?;
    let cost = |reroute: Prediction, creation: OperationCost| RerouteCost {
        reroute_ms: reroute.ms,
        create_ms: (creation.least.ms, creation.most.ms),
    };
    Some((
        cost(model.reroute(), model.creation()),
        cost(model.on(&V7_6).reroute(), model.creation_with_fix()),
    ))
}

/// Formats a predicted time in milliseconds with two digits, which is as precise as a prediction
/// gets.
pub(crate) fn format_ms(ms: f64) -> String {
    if ms < 10.0 {
        return units::seconds((ms * 10.0).round() / 10.0 / 1e3);
    }
    // 7,219 is rounded to 7,200.
    let scale = 10_f64.powf(ms.log10().floor() - 1.0);
    units::seconds((ms / scale).round() * scale / 1e3)
}

/// Formats a range such as `3.6 s to 14 s`, or a single time if both ends read the same.
pub(crate) fn format_ms_range(least_ms: f64, most_ms: f64) -> String {
    let (least, most) = (format_ms(least_ms), format_ms(most_ms));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

/// Describes the accuracy of a prediction: `within a factor of 1.4 on the machine that measured`.
pub(crate) fn describe_accuracy(prediction: &Prediction) -> String {
    format!(
        "within a factor of {} on the machine that measured",
        units::number((prediction.held_back_factor * 10.0).round() / 10.0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_cluster::TestCluster;
    use shards::profile::V7_17;

    fn model(version: &str, copies: u64, nodes: u64) -> Model {
        let cluster = TestCluster::new().version(version).shards(copies).build();
        let profile = scanning(&cluster.version).expect("a version that scans");
        let shards = cluster.shards.as_ref().expect("shards");
        Model::new(&ClusterContext::new(&cluster, &[]), profile, shards, nodes)
    }

    #[test]
    fn predictions_match_measured_clusters() {
        // Rows of crates/shards/data/measured.csv.
        for (version, copies, nodes, measured_ms) in [
            ("6.8.23", 25_000, 2, 8_600.0),
            ("7.1.1", 10_000, 2, 750.0),
            ("7.4.0", 2_500, 10, 7.7),
            ("7.5.2", 25_000, 10, 1_540.0),
        ] {
            let factor = model(version, copies, nodes).reroute().ms / measured_ms;
            assert!((0.5..=2.0).contains(&factor), "{version}: {factor}");
        }
    }

    #[test]
    fn it_grows_with_shards_and_shrinks_with_nodes() {
        let ms = |copies, nodes| model("7.4.0", copies, nodes).reroute().ms;
        let mut before = 0.0;
        for copies in [1, 10, 1_000, 2_500, 4_000, 9_999, 24_000, 26_000, 1_000_000] {
            assert!(ms(copies, 2) > before, "{copies}");
            before = ms(copies, 2);
        }
        assert!(ms(25_000, 10) < ms(25_000, 2) / 3.0);
    }

    #[test]
    fn remedies_reduce_the_cost() {
        let here = model("7.4.0", 25_000, 2);
        let ms = here.reroute().ms;
        for better in [
            here.without_scan(),
            here.on(&V7_6),
            here.on(&V7_17),
            here.with_copies(2_500),
        ] {
            assert!(better.reroute().ms < ms / 10.0, "{better:?}");
        }
        // A quarter of the work, or a little more, with the same number of copies per index.
        let half = here.with_copies(12_500);
        assert_eq!(half.shape.indices, here.shape.indices / 2);
        assert!((3.0..=4.5).contains(&(ms / half.reroute().ms)));
    }

    #[test]
    fn the_prediction_matches_a_reported_cluster() {
        // 60,000 shards on 10 nodes: about 15,000 ms on another machine, far outside the measured
        // range.
        let prediction = model("7.4.0", 60_000, 10).reroute();
        assert!(prediction.extrapolated);
        let factor = 15_000.0 / prediction.ms;
        assert!((0.5..=2.0).contains(&factor), "{factor}");
    }

    #[test]
    fn the_default_index_depends_on_the_version() {
        let primaries = |version| model(version, 1_000, 3).new_index().primaries;
        assert_eq!((primaries("6.8.23"), primaries("7.0.0")), (5, 1));
        // The task's own reroute, one after the primary has started, one after the replica has
        // started.
        let creation = model("7.4.0", 1_000, 3).creation();
        assert_eq!((creation.least.reroutes, creation.most.reroutes), (3, 3));
    }

    #[test]
    fn a_cluster_that_scans_has_a_cost_with_and_without() {
        let of =
            |version: &str| scan_cost(&TestCluster::new().version(version).shards(25_000).build());
        let (with_scan, with_lists) = of("6.8.23").expect("it scans");
        assert!(with_lists.reroute_ms < with_scan.reroute_ms / 30.0);
        assert!(with_lists.create_ms.1 < with_scan.create_ms.1 / 10.0);
        assert_eq!(of("7.6.0"), None);
        let off = TestCluster::new().version("7.4.0").shards(25_000).setting(
            facts::cluster::SettingOrigin::Persistent,
            "cluster.routing.allocation.disk.include_relocations",
            "false",
        );
        assert_eq!(scan_cost(&off.build()), None);
    }

    #[test]
    fn extreme_inputs_give_finite_times() {
        for copies in [0, u64::MAX] {
            for nodes in [0, u64::MAX] {
                let model = model("6.8.23", copies, nodes);
                let (reroute, creation) = (model.reroute(), model.creation());
                for ms in [reroute.ms, creation.least.ms, creation.most.ms] {
                    assert!(ms.is_finite() && ms >= 0.0, "{model:?}");
                    assert!(!format_ms(ms).is_empty());
                }
            }
        }
    }

    #[test]
    fn times_have_two_digits() {
        for (ms, expected) in [
            (0.0, "0 s"),
            (3.24, "3.2 ms"),
            (9.97, "10 ms"),
            (383.0, "380 ms"),
            (996.0, "1 s"),
            (7_219.0, "7.2 s"),
            (14_438.0, "14 s"),
            (99_000.0, "1 min 39 s"),
            (120_000.0, "2 min"),
            (7_200_000.0, "2 h"),
        ] {
            assert_eq!(format_ms(ms), expected);
        }
        assert_eq!(format_ms_range(3_600.0, 14_438.0), "3.6 s to 14 s");
        assert_eq!(format_ms_range(14_400.0, 14_438.0), "14 s");
    }
}
