//! Clusters built in memory for the tests of the rules.

use crate::{Check, ClusterContext, Outcome, Rule};
use facts::cluster::{
    ClusterNode, ClusterSettings, Flavour, IndexCounts, IndexSetting, IndexSettings, MasterThreads,
    NodeDataPath, PendingTasks, Setting, SettingOrigin, SettingValue, ShardCounts,
};
use facts::{Cluster, Host};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Returns a node with these roles: 16 GiB of heap, 100 copies, and a half-full disk of 1 TiB.
pub fn node(name: &str, roles: &[&str]) -> ClusterNode {
    let data = roles.iter().any(|role| role.starts_with("data"));
    ClusterNode {
        id: format!("id-{name}"),
        name: name.to_owned(),
        host: None,
        ip: None,
        version: None,
        roles: roles.iter().map(|&role| role.to_owned()).collect(),
        master_eligible: roles.contains(&"master") || roles.contains(&"cluster_manager"),
        voting_only: roles.contains(&"voting_only"),
        data,
        attributes: BTreeMap::new(),
        heap_max_bytes: Some(16 << 30),
        heap_used_bytes: Some(8 << 30),
        jvm_version: None,
        java_agents: Vec::new(),
        shards: Some(if data { 100 } else { 0 }),
        disk_total_bytes: Some(1 << 40),
        disk_available_bytes: Some(1 << 39),
        data_paths: vec![NodeDataPath {
            path: Some("/data/es".to_owned()),
            mount: Some("/data (/dev/nvme0n1)".to_owned()),
            fs_type: Some("xfs".to_owned()),
            total_bytes: 1 << 40,
            available_bytes: 1 << 39,
        }],
    }
}

/// Returns a node that holds data and is master-eligible, which is the default.
pub fn data_node(name: &str) -> ClusterNode {
    node(name, &["data", "ingest", "master"])
}

/// Returns the node with a disk of this size and free space, in bytes.
pub fn disk(mut node: ClusterNode, total_bytes: u64, available_bytes: u64) -> ClusterNode {
    node.disk_total_bytes = Some(total_bytes);
    node.disk_available_bytes = Some(available_bytes);
    for path in &mut node.data_paths {
        path.total_bytes = total_bytes;
        path.available_bytes = available_bytes;
    }
    node
}

/// A cluster under construction: `TestCluster::new().version("7.4.0").shards(25_000)`.
pub struct TestCluster {
    cluster: Cluster,
}

impl TestCluster {
    /// Creates Elasticsearch 7.17.28 named `logs` with three nodes of all roles, 300 shards, no
    /// pending tasks, no busy threads and no settings.
    pub fn new() -> Self {
        let cluster = Cluster {
            // 2026-11-18T12:00:00Z, a Wednesday.
            read_at: Timestamp::from_second(1_794_916_800).expect("in range"),
            endpoint: "http://es-1:9200".to_owned(),
            flavour: Flavour::Elasticsearch,
            version: "7.17.28".parse().expect("a version"),
            name: Some("logs".to_owned()),
            master: Some("id-es-1".to_owned()),
            health: None,
            nodes: Some(Vec::new()),
            indices: Some(IndexCounts {
                open: 100,
                closed: 0,
                closed_in_routing_table: Some(0),
                closed_shards_configured: 0,
            }),
            shards: None,
            desired_balance: None,
            pending_tasks: Some(PendingTasks {
                total: 0,
                tasks: Vec::new(),
                kinds: Vec::new(),
            }),
            master_threads: Some(MasterThreads {
                source: facts::cluster::ThreadSource::HotThreads,
                interval_ms: Some(500),
                threads: Vec::new(),
            }),
            settings: Some(ClusterSettings::default()),
            index_settings: Some(IndexSettings {
                indices: 100,
                values: Vec::new(),
            }),
            skipped: Vec::new(),
        };
        Self { cluster }
            .nodes(["es-1", "es-2", "es-3"].map(data_node))
            .shards(300)
    }

    /// Sets Elasticsearch with this version.
    pub fn version(self, version: &str) -> Self {
        self.server(Flavour::Elasticsearch, version)
    }

    /// Sets OpenSearch with this version.
    pub fn opensearch(self, version: &str) -> Self {
        self.server(Flavour::Opensearch, version)
    }

    fn server(self, flavour: Flavour, version: &str) -> Self {
        let version = version.parse().expect("a version");
        self.with(|cluster| {
            cluster.flavour = flavour;
            cluster.version = version;
        })
    }

    /// Sets exactly these nodes.
    pub fn nodes(self, nodes: impl IntoIterator<Item = ClusterNode>) -> Self {
        let nodes = nodes.into_iter().collect();
        self.with(|cluster| cluster.nodes = Some(nodes))
    }

    /// Sets this many nodes of all roles.
    pub fn data_nodes(self, number: usize) -> Self {
        self.nodes((1..=number).map(|n| data_node(&format!("es-{n}"))))
    }

    /// Sets this many shard copies, all started, none of a closed index.
    pub fn shards(self, total: u64) -> Self {
        self.with(|cluster| {
            cluster.shards = Some(ShardCounts {
                total,
                primaries: total,
                started: total,
                relocating: 0,
                initializing: 0,
                unassigned: 0,
                unassigned_reasons: BTreeMap::new(),
                of_closed_indices: Some(0),
            });
        })
    }

    /// Makes this many of the copies belong to closed indices, one each.
    pub fn closed(self, copies: u64) -> Self {
        self.with(|cluster| {
            if let Some(shards) = &mut cluster.shards {
                shards.of_closed_indices = Some(copies);
            }
            cluster.indices = Some(IndexCounts {
                open: 100,
                closed: copies,
                closed_in_routing_table: Some(copies),
                closed_shards_configured: copies,
            });
        })
    }

    /// Adds a cluster setting.
    pub fn setting(self, origin: SettingOrigin, key: &str, value: &str) -> Self {
        let setting = Setting {
            value: SettingValue::One(value.to_owned()),
            origin,
        };
        self.with(|cluster| {
            let settings = cluster.settings.get_or_insert_default();
            settings.values.insert(key.to_owned(), setting);
        })
    }

    /// Adds a setting that this many of the 100 open indices have.
    pub fn index_setting(self, key: &str, value: &str, open: u64) -> Self {
        let setting = IndexSetting {
            key: key.to_owned(),
            value: value.to_owned(),
            open,
            closed: 0,
            example: "logs-1".to_owned(),
        };
        self.with(|cluster| {
            let settings = cluster.index_settings.get_or_insert_default();
            settings.values.push(setting);
        })
    }

    /// Applies any other change.
    pub fn with(mut self, change: impl FnOnce(&mut Cluster)) -> Self {
        change(&mut self.cluster);
        self
    }

    /// Returns the cluster.
    pub fn build(self) -> Cluster {
        self.cluster
    }

    /// Runs one rule on this cluster, without any host.
    pub fn check(self, rule: &Rule) -> Outcome {
        self.check_with(rule, &[])
    }

    /// Runs one rule on this cluster and these hosts.
    pub fn check_with(self, rule: &Rule, hosts: &[&Host]) -> Outcome {
        let Check::Cluster(check) = rule.check else {
            panic!("{} is about a host", rule.id);
        };
        let mut outcome = Outcome::default();
        check(&ClusterContext::new(&self.cluster, hosts), &mut outcome);
        outcome
    }
}

/// Asserts what must hold for all findings: that they are complete, fit for every report format,
/// and have unique subjects.
pub fn assert_well_formed(outcome: &Outcome) {
    let subjects: BTreeSet<&str> = outcome
        .findings
        .iter()
        .map(|finding| finding.subject.as_str())
        .collect();
    assert_eq!(
        subjects.len(),
        outcome.findings.len(),
        "{:#?}",
        outcome.findings
    );
    for finding in &outcome.findings {
        let words = format!("{finding:#?}");
        assert_eq!(finding.cluster.as_deref(), Some("logs"), "{words}");
        assert!(
            !finding.title.is_empty() && !finding.title.ends_with('.'),
            "{words}"
        );
        assert!(finding.title.chars().count() <= 120, "{words}");
        assert!(finding.why.ends_with('.'), "{words}");
        assert!(!finding.evidence.is_empty(), "{words}");
        assert!(!finding.remedy.is_empty(), "{words}");
        for remedy in &finding.remedy {
            assert!(remedy.text.ends_with('.'), "{words}");
            // Commands that edit timers are long, and never wrapped.
            let commands = remedy
                .command
                .iter()
                .filter(|command| command.starts_with("curl"));
            let lines = commands.flat_map(|command| command.lines());
            for line in lines {
                assert!(line.chars().count() <= 78, "{line:?} in {words}");
            }
        }
    }
    for skip in &outcome.skipped {
        assert!(!skip.why.is_empty() && !skip.why.ends_with('.'), "{skip:?}");
    }
}
