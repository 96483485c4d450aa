//! What a node's roles let it hold.

/// Roles of a node (`DiscoveryNode.getRoles`), as far as they are known.
///
/// | role | holds |
/// |---|---|
/// | `data` | everything: in Elasticsearch it belongs to every data tier |
/// | `data_content`, `data_hot`, `data_warm`, `data_cold` | what prefers that tier, and what prefers none |
/// | `data_frozen` alone | partially mounted snapshots |
/// | `search` (OpenSearch 2), `warm` (OpenSearch 3) without `data` | mounted snapshots |
///
/// Before 8.0 a cluster state does not list roles; a node of unknown roles counts as `data`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roles(Option<Vec<String>>);

/// Most roles that are kept of a node.
const ROLES_MAX: usize = 16;

impl Roles {
    /// Roles as the server lists them. Those that say nothing about shards are left out.
    pub fn new(mut names: Vec<String>) -> Self {
        names.retain(|name| name.starts_with("data") || matches!(name.as_str(), "search" | "warm"));
        names.sort_unstable();
        names.dedup();
        // The servers know eight of them.
        names.truncate(ROLES_MAX);
        Self(Some(names))
    }

    /// Whether the node has a role; `false` if its roles are not known.
    pub fn has(&self, role: &str) -> bool {
        self.names().iter().any(|name| name == role)
    }

    fn names(&self) -> &[String] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Whether one of the roles can hold shards.
    pub fn hold_shards(&self) -> bool {
        self.0.is_none() || self.has("data") || self.tiers().next().is_some() || self.has_cache()
    }

    /// Whether the node belongs to a data tier.
    pub(crate) fn is_in_tier(&self, tier: &str) -> bool {
        self.0.is_none() || self.has("data") || self.has(tier)
    }

    /// Whether the only data it may hold are partially mounted snapshots
    /// (`DedicatedFrozenNodeAllocationDecider`).
    pub(crate) fn is_frozen_only(&self) -> bool {
        !self.has("data")
            && self.has("data_frozen")
            && self.tiers().all(|tier| tier == "data_frozen")
    }

    /// Whether the only data it may hold are mounted snapshots (`TargetPoolAllocationDecider`).
    pub(crate) fn is_cache_only(&self) -> bool {
        self.has_cache() && !self.has("data") && self.tiers().next().is_none()
    }

    /// Whether mounted snapshots may be on the node (`RoutingPool.REMOTE_CAPABLE`).
    pub(crate) fn may_mount(&self) -> bool {
        self.0.is_none() || self.has_cache()
    }

    fn tiers(&self) -> impl Iterator<Item = &str> {
        let names = self.names().iter().map(String::as_str);
        names.filter(|name| name.starts_with("data_"))
    }

    fn has_cache(&self) -> bool {
        self.has("search") || self.has("warm")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(names: &[&str]) -> Roles {
        Roles::new(names.iter().map(|&name| name.to_owned()).collect())
    }

    #[test]
    fn data_belongs_to_every_tier() {
        for all in [Roles::default(), roles(&["data", "ingest"])] {
            assert!(all.hold_shards() && all.is_in_tier("data_hot"));
            assert!(!all.is_frozen_only() && !all.is_cache_only());
        }
        let hot = roles(&["data_hot", "data_content"]);
        assert!(hot.hold_shards() && hot.is_in_tier("data_hot") && !hot.is_in_tier("data_warm"));
        let none = roles(&["master", "ingest"]);
        assert!(!none.hold_shards() && !none.is_in_tier("data_hot"));
        assert!(!roles(&[]).hold_shards());
    }

    #[test]
    fn some_nodes_hold_only_mounted_snapshots() {
        assert!(roles(&["data_frozen"]).is_frozen_only());
        assert!(!roles(&["data_frozen", "data_cold"]).is_frozen_only());
        assert!(!roles(&["data_frozen", "data"]).is_frozen_only());
        for role in ["search", "warm"] {
            let cache = roles(&[role]);
            assert!(cache.hold_shards() && cache.is_cache_only() && cache.may_mount());
            assert!(!roles(&[role, "data"]).is_cache_only());
        }
        assert!(!roles(&["data"]).may_mount());
        assert!(Roles::default().may_mount());
    }
}
