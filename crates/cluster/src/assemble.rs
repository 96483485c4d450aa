//! Converts responses to facts.

use crate::answer::nodes::{FsPath, Node, NodeStats, Responses};
use crate::answers::{Answers, Part, Unanswered};
use facts::cluster::{
    ClusterNode, ClusterSettings, Flavour, IndexCounts, IndexSetting, IndexSettings, NodeDataPath,
    ServerVersion, Setting, SettingOrigin, ShardCounts,
};
use facts::{Cluster, InputError, Skipped};
use std::collections::BTreeMap;

/// Guesses the product from the version: OpenSearch restarted at 1 when Elasticsearch was at 7.
pub(crate) fn flavour_of(version: &ServerVersion) -> Flavour {
    if version.major < 5 {
        Flavour::Opensearch
    } else {
        Flavour::Elasticsearch
    }
}

impl Answers {
    /// Builds the facts.
    ///
    /// # Errors
    /// If no response contains the version, for example in an edited file: nothing can be diagnosed
    /// without it.
    pub fn facts(&self) -> Result<Cluster, InputError> {
        let root = self.root.answer();
        let nodes = self.nodes.answer();
        let routing = self.routing.answer();
        let master = routing.and_then(|routing| routing.master.clone());
        let version_of = |node: &Node| node.version.clone();
        let version = master
            .as_ref()
            .and_then(|id| nodes?.nodes.get(id))
            .and_then(version_of)
            .or_else(|| {
                // OpenSearch may be configured to disguise its version at `/`; its nodes report the
                // true one.
                let first = nodes?.nodes.values().find_map(version_of)?;
                let disguised = root.is_some_and(|root| root.flavour == Flavour::Opensearch);
                (disguised || root.is_none()).then_some(first)
            })
            .or_else(|| root.map(|root| root.version.clone()))
            .ok_or_else(|| {
                InputError::new(&self.endpoint, "a version in one of the answers", "none")
            })?;
        let flavour = root.map_or_else(|| flavour_of(&version), |root| root.flavour);
        let indices = self.indices.answer();
        Ok(Cluster {
            read_at: self.read_at,
            endpoint: self.endpoint.clone(),
            flavour,
            version,
            name: root
                .and_then(|root| root.cluster_name.clone())
                .or_else(|| nodes.and_then(|nodes| nodes.cluster_name.clone())),
            master: master.clone(),
            health: self.health.answer().cloned(),
            nodes: self.cluster_nodes(),
            indices: indices.map(|indices| IndexCounts {
                open: indices.open,
                closed: indices.closed,
                closed_in_routing_table: routing
                    .and_then(|routing| routing.closed)
                    .map(|closed| closed.indices),
                closed_shards_configured: indices.closed_shards_configured,
            }),
            shards: routing.map(|routing| ShardCounts {
                total: routing.total,
                primaries: routing.primaries,
                started: routing.started,
                relocating: routing.relocating,
                initializing: routing.initializing,
                unassigned: routing.unassigned,
                unassigned_reasons: routing.unassigned_reasons.clone(),
                of_closed_indices: routing.closed.map(|closed| closed.copies),
            }),
            desired_balance: self
                .desired_balance
                .as_ref()
                .and_then(Part::answer)
                .cloned(),
            pending_tasks: self.pending_tasks.answer().cloned(),
            master_threads: self.hot_threads.answer().cloned(),
            settings: self.cluster_settings(master.as_deref()),
            index_settings: indices.map(|indices| {
                let mut values: Vec<IndexSetting> = indices
                    .values
                    .iter()
                    .flat_map(|(key, values)| {
                        values.iter().map(move |(value, tally)| IndexSetting {
                            key: key.clone(),
                            value: value.clone(),
                            open: tally.open,
                            closed: tally.closed,
                            example: tally.example.clone(),
                        })
                    })
                    .collect();
                values.sort_by(|a, b| {
                    (&a.key, b.indices(), &a.value).cmp(&(&b.key, a.indices(), &b.value))
                });
                IndexSettings {
                    indices: indices.open.saturating_add(indices.closed),
                    values,
                }
            }),
            skipped: self.skipped(),
        })
    }

    fn cluster_nodes(&self) -> Option<Vec<ClusterNode>> {
        let by_node = self.routing.answer().map(|routing| &routing.by_node);
        let stats = self.node_stats.answer();
        let mut nodes: Vec<ClusterNode> = self
            .nodes
            .answer()?
            .nodes
            .iter()
            .map(|(id, node)| {
                let shards = by_node.map(|counts| counts.get(id).copied().unwrap_or(0));
                cluster_node(
                    id,
                    node,
                    stats.and_then(|stats| stats.nodes.get(id)),
                    shards,
                )
            })
            .collect();
        nodes.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        Some(nodes)
    }

    fn cluster_settings(&self, master: Option<&str>) -> Option<ClusterSettings> {
        let settings = self.settings.answer()?;
        // The defaults come from the node that responded, mixed with its configuration file; but
        // the master's settings are what counts.
        let file = master
            .and_then(|id| self.nodes.answer()?.nodes.get(id))
            .map(|node| &node.settings.0);
        let mut values: BTreeMap<String, Setting> = BTreeMap::new();
        let layers = [
            (Some(&settings.defaults.0), SettingOrigin::Default),
            (file, SettingOrigin::NodeFile),
            (Some(&settings.persistent.0), SettingOrigin::Persistent),
            (Some(&settings.transient.0), SettingOrigin::Transient),
        ];
        for (layer, origin) in layers {
            for (key, value) in layer.into_iter().flatten() {
                let setting = Setting {
                    value: value.clone(),
                    origin,
                };
                values.insert(key.clone(), setting);
            }
        }
        Some(ClusterSettings { values })
    }

    fn skipped(&self) -> Vec<Skipped> {
        fn of<T>(what: &str, part: &Part<T>) -> Option<Skipped> {
            let Unanswered { why, needs } = part.unanswered()?;
            Some(Skipped::new(
                format!("cluster: {what}"),
                why.as_str(),
                needs.as_deref(),
            ))
        }
        let mut skipped: Vec<Skipped> = [
            of("name and version", &self.root),
            of("nodes", &self.nodes),
            of("disks and heaps of nodes", &self.node_stats),
            of("health", &self.health),
            of("indices and their settings", &self.indices),
            of("master and routing table", &self.routing),
            of("pending tasks", &self.pending_tasks),
            of("cluster settings", &self.settings),
            of("hot threads of the master", &self.hot_threads),
            self.desired_balance
                .as_ref()
                .and_then(|part| of("desired balance", part)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let heads = [
            ("nodes", self.nodes.answer().map(|nodes| nodes.responses)),
            (
                "disks and heaps of nodes",
                self.node_stats.answer().map(|stats| stats.responses),
            ),
        ];
        for (what, responses) in heads {
            if let Some(Responses { total, failed }) = responses
                && failed > 0
            {
                skipped.push(Skipped::new(
                    format!("cluster: {what}, {failed} of {total}"),
                    "these nodes did not answer the one that asked them",
                    Some("nodes that answer"),
                ));
            }
        }
        skipped
    }
}

fn cluster_node(
    id: &str,
    node: &Node,
    stats: Option<&NodeStats>,
    shards: Option<u64>,
) -> ClusterNode {
    let has = |role: &str| node.roles.iter().any(|known| known == role);
    // Searchable snapshots are on nodes with the role `search` (OpenSearch) or `data_frozen`.
    let is_data = |role: &String| {
        role == "data" || role.starts_with("data_") || role == "search" || role == "warm"
    };
    let mut roles = node.roles.clone();
    roles.sort();
    let mut data_paths: Vec<NodeDataPath> = Vec::new();
    for path in stats.iter().flat_map(|stats| &stats.fs.data) {
        data_paths.extend(data_path(path));
    }
    let total = stats.map(|stats| stats.fs.total).unwrap_or_default();
    ClusterNode {
        id: id.to_owned(),
        name: node.name.clone(),
        host: node.host.clone(),
        ip: node.ip.clone(),
        version: node.version.clone(),
        master_eligible: has("master") || has("cluster_manager"),
        voting_only: has("voting_only"),
        data: roles.iter().any(is_data),
        roles,
        attributes: node.attributes.clone(),
        heap_max_bytes: node.jvm.mem.heap_max_in_bytes,
        heap_used_bytes: stats.and_then(|stats| stats.jvm.mem.heap_used_in_bytes),
        jvm_version: node.jvm.version.clone(),
        java_agents: node.jvm.agent_names().map(str::to_owned).collect(),
        shards,
        disk_total_bytes: size(total.total_in_bytes),
        disk_available_bytes: size(total.available_in_bytes),
        data_paths,
    }
}

fn data_path(path: &FsPath) -> Option<NodeDataPath> {
    Some(NodeDataPath {
        path: path.path.clone(),
        mount: path.mount.clone(),
        fs_type: path.fs_type.clone(),
        total_bytes: size(path.total_in_bytes)?,
        available_bytes: size(path.available_in_bytes)?,
    })
}

/// Returns a size; negative if the JVM could not determine it.
fn size(bytes: Option<i64>) -> Option<u64> {
    u64::try_from(bytes?).ok()
}
