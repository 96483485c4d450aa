//! What data tiers and nodes of a special kind leave to each index.

use std::collections::HashMap;

use crate::model::{Cluster, IndexIndex, IndexSettings, Node, NodeIndex};

/// Which nodes the indices' tier preferences and special nodes leave to them, computed once per round.
#[derive(Debug, Default)]
pub(super) struct Tiers {
    /// Class per index; 0 if it may be on every live data node.
    classes: Vec<u32>,
    /// Per class but 0, the nodes that the index may be on.
    allowed: Vec<Vec<bool>>,
}

/// What of an index's settings decides.
#[derive(PartialEq, Eq, Hash)]
struct Class<'a> {
    preference: &'a [String],
    partial_snapshot: bool,
    remote_snapshot: bool,
}

impl<'a> Class<'a> {
    fn of(settings: &'a IndexSettings) -> Self {
        Self {
            preference: &settings.tier_preference,
            partial_snapshot: settings.partial_snapshot,
            remote_snapshot: settings.remote_snapshot,
        }
    }
}

impl Tiers {
    pub(super) fn new(cluster: &Cluster) -> Self {
        let mut known: HashMap<Class<'_>, u32> = HashMap::new();
        let mut tiers = Self::default();
        for index in &cluster.indices {
            let class = *known.entry(Class::of(&index.settings)).or_insert_with(|| {
                let allowed = allowed(cluster, &index.settings);
                let everywhere = cluster.data_nodes.iter().all(|node| allowed[node.at()]);
                if everywhere {
                    return 0;
                }
                tiers.allowed.push(allowed);
                u32::try_from(tiers.allowed.len()).expect("fewer than 2^32 indices")
            });
            tiers.classes.push(class);
        }
        tiers
    }

    /// Whether no index is kept from any live data node.
    pub(super) fn limit_nothing(&self) -> bool {
        self.allowed.is_empty()
    }

    pub(super) fn allows(&self, index: IndexIndex, node: NodeIndex) -> bool {
        match self.classes[index.at()].checked_sub(1) {
            None => true,
            Some(class) => self.allowed[class as usize][node.at()],
        }
    }
}

fn allowed(cluster: &Cluster, settings: &IndexSettings) -> Vec<bool> {
    let tier = available(cluster, &settings.tier_preference);
    let fits = |node: &Node| {
        in_tier(settings, tier, node)
            && !frozen_fault(settings, node)
            && !pool_fault(settings, node)
    };
    cluster.nodes.iter().map(fits).collect()
}

/// The first of the preferred tiers that has a node (`preferredAvailableTier`).
pub(super) fn available<'a>(cluster: &Cluster, preference: &'a [String]) -> Option<&'a str> {
    let has_node = |tier: &&str| {
        let mut nodes = cluster.nodes.iter().filter(|node| node.is_live_data());
        nodes.any(|node| node.roles.is_in_tier(tier))
    };
    preference.iter().map(String::as_str).find(has_node)
}

/// Number of live data nodes that an index may be on.
pub(crate) fn nodes_of(cluster: &Cluster, settings: &IndexSettings) -> usize {
    let allowed = allowed(cluster, settings);
    let nodes = cluster.data_nodes.iter();
    nodes.filter(|node| allowed[node.at()]).count()
}

pub(super) fn in_tier(settings: &IndexSettings, tier: Option<&str>, node: &Node) -> bool {
    // OpenSearch has no tiers; what its nodes with a cache may hold is up to the pool.
    settings.tier_preference.is_empty()
        || node.roles.is_cache_only()
        || tier.is_some_and(|tier| node.roles.is_in_tier(tier))
}

pub(super) fn frozen_fault(settings: &IndexSettings, node: &Node) -> bool {
    node.roles.is_frozen_only() && !settings.partial_snapshot
}

pub(super) fn pool_fault(settings: &IndexSettings, node: &Node) -> bool {
    if settings.remote_snapshot {
        !node.roles.may_mount()
    } else {
        node.roles.is_cache_only()
    }
}
