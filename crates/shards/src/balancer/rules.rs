//! What the generations of the balancer do differently, as data by product and version.

use crate::introsort::Partition;
use crate::model::{Balancing, Cluster, Product, Version};

/// The differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent differences between versions"
)]
pub(super) struct Rules {
    /// How a copy to rebalance is found, and what becomes of a throttled one.
    pub relocation: Relocation,
    /// Whether a node without a free place (`total_shards_per_node`) is skipped for the rest of the round
    /// once a throttled copy is to go there.
    pub skips_full_nodes: bool,
    /// Whether a node replaces the one found so far only if it is lighter, in explanations too, which look
    /// at the heavier ones as well.
    pub only_lighter: bool,
    /// Write load and bytes in the weights.
    pub loads: Option<LoadRules>,
    /// Whether a round ends with the first relocation, and does not relocate at all once copies have been
    /// placed.
    pub one_at_a_time: bool,
    /// How nodes and indices are sorted: as in the Lucene that the server comes with.
    pub partition: Partition,
    /// Whether the map of the model's nodes is created with room for all of them, which changes its order.
    pub has_sized_map: bool,
    /// OpenSearch's own rules.
    pub open: Option<OpenRules>,
}

/// How a copy to rebalance is found, and what becomes of a throttled one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relocation {
    /// The shard with the lowest number, if the two nodes are closer afterwards. A throttled one moves in
    /// the model, but counts as a failure.
    Weighed,
    /// The shard with the highest number, if the nodes differ by more than one copy. A throttled one moves
    /// in the model and counts as a failure, so that the sorted weights of the two nodes are stale.
    Stale,
    /// As before, but a throttled one counts as a success.
    Followed,
}

/// Which bytes count, and how the weight is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoadRules {
    pub bytes: Bytes,
    /// Whether the share of the index is added last, which rounds differently.
    pub index_last: bool,
    /// Whether partially mounted snapshots have no bytes.
    pub partial_is_free: bool,
    /// Whether that holds for the least difference worth a move too.
    pub partial_moves_free: bool,
}

/// The bytes of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bytes {
    /// The forecast.
    Forecast,
    /// The forecast, or what was measured if there is none.
    ForecastOrMeasured,
    /// The larger of the two.
    Larger,
}

/// OpenSearch's own rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenRules {
    /// Of what the average number of copies per node is taken.
    pub average: Average,
}

/// Of what the average number of copies per node is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Average {
    /// Of the copies that the metadata asks for.
    Metadata,
    /// Of the copies in the model.
    Model,
    /// Of those, rounded down.
    ModelRounded,
}

impl Rules {
    pub fn of(cluster: &Cluster) -> Rules {
        let version = cluster.version;
        let from = |major, minor| version >= Version::release(major, minor, 0);
        let balancing = cluster.balancing();
        let is_elasticsearch = cluster.product == Product::Elasticsearch;
        let loads = is_elasticsearch && from(8, 6);
        let has_new_lucene = from(7, 17) || (!is_elasticsearch && from(2, 0));
        Rules {
            relocation: match balancing {
                Balancing::WeightDelta => Relocation::Weighed,
                Balancing::StaleWeights | Balancing::OpenSearch => Relocation::Stale,
                Balancing::WriteLoad => Relocation::Followed,
            },
            skips_full_nodes: is_elasticsearch && !from(7, 10),
            only_lighter: !is_elasticsearch || from(8, 0),
            loads: loads.then(|| LoadRules {
                bytes: if from(8, 12) {
                    Bytes::Larger
                } else if from(8, 7) {
                    Bytes::ForecastOrMeasured
                } else {
                    Bytes::Forecast
                },
                index_last: from(9, 2),
                partial_is_free: from(8, 13),
                partial_moves_free: from(8, 16),
            }),
            one_at_a_time: is_elasticsearch && from(9, 2),
            partition: if has_new_lucene {
                Partition::Thirds
            } else {
                Partition::Halves
            },
            has_sized_map: is_elasticsearch && from(8, 7),
            open: (!is_elasticsearch).then(|| OpenRules {
                average: if from(2, 16) {
                    Average::ModelRounded
                } else if from(2, 7) {
                    Average::Model
                } else {
                    Average::Metadata
                },
            }),
        }
    }
}
