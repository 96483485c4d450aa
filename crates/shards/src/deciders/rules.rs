//! What the deciders of a version do differently, as read in the versions named.

use crate::model::{Cluster, Product, Version};

/// Which recoveries count as taking space on their way to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arriving {
    /// Relocations, at their estimated size (7.4 to 8.3).
    Relocations,
    /// Relocations, at their estimated size or else the expected one (8.5 to 8.11).
    RelocationsOrExpected,
    /// All that copy data, at the larger of both sizes (8.15 on).
    Copied,
}

/// The rules of one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent differences between versions"
)]
pub(crate) struct Rules {
    /// Whether disks count with a single data node, and a node without free space takes nothing; shares are
    /// turned into bytes first (8.0 and 8.4 on; in 7.17 by setting).
    pub disks_in_bytes: bool,
    /// Whether a single data node is spared from watermarks (before 8.0).
    pub spares_single_node: bool,
    /// See [`Arriving`].
    pub arriving: Arriving,
    /// Whether a replica of unknown size is taken to be as large as its primary (8.15 on).
    pub replica_like_primary: bool,
    /// Whether a copy that failed to move too often stays (8.6 on).
    pub counts_relocations: bool,
    /// Whether nodes without an attribute count as one more value of it (before 7.17), and a moving copy is
    /// taken off its old value.
    pub absence_is_a_value: bool,
    /// Whether a shard may move while another of its copies does, as long as all are active (8.11 on).
    pub active_is_enough: bool,
    /// Whether the simulation moves two copies at a time at most, whatever the setting (8.11 on).
    pub simulates_few: bool,
    /// Whether the rules of a node's replacement are relaxed when steps are made (8.11 on).
    pub relaxes_replacement: bool,
}

impl Rules {
    /// The rules of a master. Versions between those that were read get the rules of the older one, and
    /// OpenSearch those of 7.10, from which it comes.
    pub fn of(cluster: &Cluster) -> Self {
        let version = match cluster.product {
            Product::Elasticsearch => cluster.version,
            Product::OpenSearch => Version::release(7, 4, 0),
        };
        let from = |major, minor| version >= Version::release(major, minor, 0);
        Self {
            disks_in_bytes: from(8, 4),
            spares_single_node: !from(8, 0),
            arriving: match () {
                () if from(8, 15) => Arriving::Copied,
                () if from(8, 5) => Arriving::RelocationsOrExpected,
                () => Arriving::Relocations,
            },
            replica_like_primary: from(8, 15),
            counts_relocations: from(8, 6),
            absence_is_a_value: !from(7, 17),
            active_is_enough: from(8, 11),
            simulates_few: from(8, 11),
            relaxes_replacement: from(8, 11),
        }
    }
}
