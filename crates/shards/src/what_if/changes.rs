//! Changes to a cluster, made before it is simulated.

use crate::deciders::simple_match;
use crate::model::{
    Cluster, DiskUsage, Index, IndexIndex, IndexSettings, IndexState, Node, NodeIndex, Product,
    Roles, ShardId, Shutdown, ShutdownKind, Version,
};
use crate::nodes::RoutingError;
use crate::service;

/// A node to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewNode {
    /// The node's name.
    pub name: String,
    /// Its id, if it was in the cluster before: it comes back with its data. Otherwise the name serves.
    pub id: Option<String>,
    /// Node attributes.
    pub attributes: Vec<(String, String)>,
    /// Its roles; unknown ones are those of a node that holds everything.
    pub roles: Roles,
    /// Size of its disk in bytes; by default the median of the other nodes.
    pub disk_bytes: Option<i64>,
}

/// A change cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// There is no such node.
    #[error("no node is called {asked:?}; nodes are {known}")]
    NoSuchNode {
        /// The requested name or id.
        asked: String,
        /// The first few existing names.
        known: String,
    },
    /// Several nodes have this name.
    #[error("{0:?} is the name of more than one node: give its id")]
    Ambiguous(String),
    /// A node with this name already exists.
    #[error("a node called {0:?} is there already")]
    NodeExists(String),
    /// The server has no API to announce shutdowns.
    #[error(
        "{0} cannot be told that a node shuts down; to empty it, set \
         cluster.routing.allocation.exclude._name"
    )]
    NoShutdownApi(String),
    /// An index with this name already exists.
    #[error("an index called {0:?} is there already")]
    IndexExists(String),
    /// There is no open index with this name.
    #[error("no open index matches {0:?}")]
    NoSuchIndex(String),
    /// The routing table is inconsistent.
    #[error(transparent)]
    Routing(#[from] RoutingError),
}

/// The id of the node that left and that unassigned copies were on, if it is one.
pub fn awaited(cluster: &Cluster) -> Option<String> {
    let copies = cluster.routing.copies();
    let mut left = copies.filter_map(|copy| copy.unassigned?.last_node);
    let node = left.find(|node| !cluster.node(*node).present)?;
    left.all(|other| other == node || cluster.node(other).present)
        .then(|| cluster.node(node).id.clone())
}

/// Adds a data node, which takes copies from the next reroute on. It is empty, unless it has the id of a
/// node that has left.
///
/// # Errors
/// If a node with this name or id exists
///
/// # Panics
/// With more than 2^32 nodes
pub fn add_node(cluster: &mut Cluster, new: &NewNode, version: Version) -> Result<(), ChangeError> {
    let id = new.id.as_ref().unwrap_or(&new.name);
    let taken = |node: &Node| {
        node.present && (node.name == new.name || node.id == new.name || node.id == *id)
    };
    if cluster.nodes.iter().any(taken) {
        return Err(ChangeError::NodeExists(new.name.clone()));
    }
    let absent = cluster.nodes.iter().position(|node| node.id == *id);
    let number = absent.unwrap_or(cluster.nodes.len());
    let number = NodeIndex(u32::try_from(number).expect("fewer than 2^32 nodes"));
    let version = cluster
        .nodes
        .iter()
        .filter(|node| node.present)
        .map(|node| node.version)
        .max()
        .unwrap_or(version);
    let node = Node {
        id: id.clone(),
        attributes: new.attributes.iter().cloned().collect(),
        roles: new.roles.clone(),
        data: new.roles.hold_shards(),
        // No other node has its name as address: it is on a host of its own.
        ..Node::new(new.name.clone(), version)
    };
    match absent {
        Some(at) => cluster.nodes[at] = node,
        None => cluster.nodes.push(node),
    }
    cluster.data_nodes.push(number);
    let Some(info) = &mut cluster.info else {
        return Ok(());
    };
    let mut sizes: Vec<i64> = info.most.values().map(|usage| usage.total_bytes).collect();
    sizes.sort_unstable();
    if let Some(total_bytes) = new.disk_bytes.or(sizes.get(sizes.len() / 2).copied()) {
        let usage = DiskUsage {
            path: Some(info.path(&format!("the disk of {}", new.name))),
            total_bytes,
            free_bytes: total_bytes,
        };
        info.least.insert(number, usage);
        info.most.insert(number, usage);
    }
    Ok(())
}

/// Finds a node by name or id.
///
/// # Errors
/// If there is none, or several have the name
pub(crate) fn find_node(cluster: &Cluster, asked: &str) -> Result<NodeIndex, ChangeError> {
    let present = || {
        (0..)
            .map(NodeIndex)
            .zip(&cluster.nodes)
            .filter(|(_, node)| node.present)
    };
    if let Some((number, _)) = present().find(|(_, node)| node.id == asked) {
        return Ok(number);
    }
    let mut named = present().filter(|(_, node)| node.name == asked);
    match (named.next(), named.next()) {
        (Some((number, _)), None) => Ok(number),
        (Some(_), Some(_)) => Err(ChangeError::Ambiguous(asked.to_owned())),
        (None, _) => {
            let first = present().take(8).map(|(_, node)| node.name.as_str());
            Err(ChangeError::NoSuchNode {
                asked: asked.to_owned(),
                known: first.collect::<Vec<_>>().join(", "),
            })
        }
    }
}

/// A node that is announced to shut down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeShutdown {
    /// Its name or id.
    pub node: String,
    /// What is to become of it.
    pub kind: ShutdownKind,
    /// The name of the node that takes over, where it is replaced.
    pub target: Option<String>,
}

/// Announces that a node shuts down, as `PUT _nodes/NODE/shutdown` does: a node that leaves is emptied, one
/// that restarts keeps its copies.
///
/// # Errors
/// If there is no such node, or the server has no such API
pub fn shut_down(cluster: &mut Cluster, down: &NodeShutdown) -> Result<(), ChangeError> {
    let has_api =
        cluster.product == Product::Elasticsearch && cluster.version >= Version::release(7, 13, 0);
    if !has_api {
        return Err(ChangeError::NoShutdownApi(format!(
            "{} {}",
            cluster.product, cluster.version
        )));
    }
    let node = find_node(cluster, &down.node)?;
    cluster.shutdowns.retain(|other| other.node != node);
    cluster.shutdowns.push(Shutdown {
        node,
        kind: down.kind,
        target: down.target.clone(),
        delay_nanos: None,
    });
    Ok(())
}

/// Removes a node as if it had failed: its copies are lost. To drain a node first, exclude it with the
/// setting `cluster.routing.allocation.exclude._name` instead.
///
/// # Errors
/// If there is no such node
pub fn remove_node(cluster: &mut Cluster, asked: &str) -> Result<NodeIndex, ChangeError> {
    let number = find_node(cluster, asked)?;
    cluster.nodes[number.at()].present = false;
    cluster.data_nodes.retain(|&node| node != number);
    if let Some(info) = &mut cluster.info {
        info.least.remove(&number);
        info.most.remove(&number);
    }
    Ok(number)
}

/// The open indices whose names match a pattern with `*`.
///
/// # Errors
/// If none matches
pub fn matching(cluster: &Cluster, pattern: &str) -> Result<Vec<IndexIndex>, ChangeError> {
    let matching: Vec<IndexIndex> = (0..)
        .map(IndexIndex)
        .zip(&cluster.indices)
        .filter(|(_, index)| index.state == IndexState::Open && simple_match(pattern, &index.name))
        .map(|(number, _)| number)
        .collect();
    if matching.is_empty() {
        return Err(ChangeError::NoSuchIndex(pattern.to_owned()));
    }
    Ok(matching)
}

/// Closes all open indices whose names match a pattern with `*`. Returns their number.
///
/// # Errors
/// If none matches
pub fn close(cluster: &mut Cluster, pattern: &str, now_nanos: i64) -> Result<usize, ChangeError> {
    let matching = matching(cluster, pattern)?;
    for &index in &matching {
        service::close_index(cluster, index, now_nanos);
    }
    Ok(matching.len())
}

/// An index to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIndex {
    /// The index's name.
    pub name: String,
    /// Number of primaries.
    pub shards: u32,
    /// Replicas of each.
    pub replicas: u32,
}

/// Creates an index as the server does without a template: from 8.0 on Elasticsearch prefers nodes of the
/// tier `data_content` for it (`DataTier.DataTierSettingProvider`).
///
/// # Errors
/// If an index with this name exists
pub fn create(cluster: &mut Cluster, new: &NewIndex, now_nanos: i64) -> Result<(), ChangeError> {
    if cluster.index_by_name(&new.name).is_some() {
        return Err(ChangeError::IndexExists(new.name.clone()));
    }
    let mut settings = IndexSettings {
        creation_date: now_nanos / 1_000_000,
        ..IndexSettings::default()
    };
    if cluster.product == Product::Elasticsearch && cluster.version >= Version::release(8, 0, 0) {
        settings.tier_preference.push("data_content".to_owned());
    }
    let index = Index {
        settings,
        ..Index::new(new.name.clone(), new.shards, new.replicas)
    };
    let index = service::create_index(cluster, index, now_nanos);
    if let Some(info) = &mut cluster.info {
        for shard in 0..new.shards {
            let shard = ShardId { index, shard };
            info.set_size_bytes(shard, true, 0);
            info.set_size_bytes(shard, false, 0);
        }
    }
    Ok(())
}
