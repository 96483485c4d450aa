//! A cluster before and after a change, and whether it is worse off: the answer of `trimtab shards what-if`.

use crate::copy::ShardCopy;
use crate::cost::{Shape, Step, predict};
use crate::deciders::{Join, matches};
use crate::gateway::Stores;
use crate::model::{Cluster, Filters, IndexState};
use crate::nodes::RoutingError;
use crate::profile::Server;
use crate::reading::decisions_note;
use crate::service;
use crate::state::{State, StateError};
use crate::what_if::{self, ChangeError, Course, Level, NewNode, Picture};
use schemars::JsonSchema;
use serde::Serialize;

/// What is changed, all at once, in this order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Settings of the cluster; an empty value takes one back.
    pub settings: Vec<(String, String)>,
    /// Nodes that are added.
    pub added: Vec<NewNode>,
    /// Nodes that die, by name or id.
    pub removed: Vec<String>,
    /// Patterns of the open indices that are closed.
    pub closed: Vec<String>,
    /// The version afterwards, for what a reroute takes.
    pub to_server: Option<Server>,
}

/// Why there is no forecast.
#[derive(Debug, thiserror::Error)]
pub enum ForecastError {
    /// A setting that the server would refuse.
    #[error(transparent)]
    Setting(StateError),
    /// A change that cannot be made.
    #[error(transparent)]
    Change(ChangeError),
    /// The routing table contradicts itself.
    #[error(transparent)]
    Routing(#[from] RoutingError),
}

impl From<ChangeError> for ForecastError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Routing(error) => Self::Routing(error),
            other => Self::Change(other),
        }
    }
}

/// What a change would bring.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Forecast {
    /// The changes, in words, in the order in which they were made.
    pub changes: Vec<String>,
    /// Rounds in which something was begun: a reroute, then all that recover have started.
    pub rounds: u32,
    /// Whether the cluster came to rest within the limit of rounds.
    pub quiet: bool,
    /// Shards that move from node to node.
    pub moved: u64,
    /// Their size, bytes, as far as it is known.
    pub moved_bytes: u64,
    /// Replicas that recover from their primary.
    pub replicas_recovered: u64,
    /// Their size, bytes, as far as it is known.
    pub replica_bytes: u64,
    /// Primaries that recover from disk.
    pub primaries_recovered: u64,
    /// Replicas that become primaries.
    pub promoted: u64,
    /// Shards among all these whose size is not known.
    pub of_unknown_size: u64,
    /// The cluster before.
    pub before: Standing,
    /// The cluster after.
    pub after: Standing,
    /// Nodes whose fullest disk stands elsewhere by the watermarks.
    pub watermarks_crossed: Vec<Crossed>,
    /// Whether the cluster is worse off: the exit code is 1 then.
    pub worse: bool,
    /// What limits the forecast.
    #[serde(skip)]
    #[schemars(skip)]
    pub warnings: Vec<String>,
}

/// A cluster as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Standing {
    /// What it runs.
    pub server: String,
    /// Live data nodes.
    pub data_nodes: usize,
    /// Shards in the routing table.
    pub routed_shards: u64,
    /// Primaries on no node.
    pub unassigned_primaries: u64,
    /// Replicas on no node.
    pub unassigned_replicas: u64,
    /// Shards that cannot stay where they are, by the deciders: at rest, those that no node takes.
    pub cannot_stay: u64,
    /// Fewest and most shards of a node; null without nodes.
    pub shards_per_node: Option<[u64; 2]>,
    /// Fewest and most bytes of a node, as far as sizes are known; null without nodes.
    pub bytes_per_node: Option<[u64; 2]>,
    /// Use of the emptiest and fullest disk, percent; null where disks were not told.
    pub disk_used_percent: Option<[f64; 2]>,
    /// A reroute with nothing to do, processor time of the master, milliseconds.
    pub reroute_ms: f64,
    /// Each data node.
    pub nodes: Vec<NodeStanding>,
}

/// A data node.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NodeStanding {
    /// Its name.
    pub name: String,
    /// Its shards.
    pub shards: u64,
    /// Their bytes, as far as sizes are known.
    pub bytes: u64,
    /// Use of its fullest disk, percent.
    pub disk_used_percent: Option<f64>,
}

/// A node that crosses a watermark.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Crossed {
    /// Its name.
    pub node: String,
    /// `below low`, `above low`, `above high`, `above flood stage`; null where it was not there.
    pub before: Option<&'static str>,
    /// The same afterwards.
    pub after: &'static str,
    /// Use of its fullest disk before, percent.
    pub before_used_percent: Option<f64>,
    /// The same afterwards.
    pub after_used_percent: Option<f64>,
}

impl Forecast {
    /// Makes the changes, and rounds until nothing happens any more, `rounds_max` at most.
    ///
    /// # Errors
    /// If a change cannot be made, or the routing table contradicts itself; the cluster is lost then.
    pub fn of(
        state: &mut State,
        server: &Server,
        changes: &Changes,
        now_nanos: i64,
        rounds_max: u32,
    ) -> Result<Self, ForecastError> {
        let before = what_if::picture(&state.cluster);
        let before_row = standing(&state.cluster, &before, server, now_nanos)?;
        let mut stores = Stores::of(&state.cluster);
        let to_server = changes.to_server.as_ref();
        let mut warnings: Vec<String> = to_server
            .and_then(|server| server.warning.clone())
            .into_iter()
            .chain(to_server.and_then(decisions_note))
            .collect();
        let told = make(changes, state, server, now_nanos, &mut warnings)?;
        let cluster = &mut state.cluster;
        let course = what_if::run(cluster, &mut stores, now_nanos, rounds_max)?;
        let after = what_if::picture(cluster);
        let after_row = standing(cluster, &after, to_server.unwrap_or(server), now_nanos)?;
        if course.of_unknown_size > 0 {
            warnings.push(format!(
                "The size of {} is unknown; byte counts leave them out.",
                units::count(course.of_unknown_size, "shard")
            ));
        }
        Ok(Self {
            changes: told,
            rounds: course.rounds,
            quiet: course.quiet,
            moved: course.moved,
            moved_bytes: course.moved_bytes,
            replicas_recovered: course.replicas_recovered,
            replica_bytes: course.replica_bytes,
            primaries_recovered: course.primaries_recovered,
            promoted: course.promoted,
            of_unknown_size: course.of_unknown_size,
            watermarks_crossed: crossed(cluster, &before, &after),
            worse: is_worse(&course, &before, &after)
                || after_row.cannot_stay > before_row.cannot_stay,
            before: before_row,
            after: after_row,
            warnings,
        })
    }
}

/// Makes the changes; each in words.
fn make(
    changes: &Changes,
    state: &mut State,
    server: &Server,
    now_nanos: i64,
    warnings: &mut Vec<String>,
) -> Result<Vec<String>, ForecastError> {
    let mut told = Vec::new();
    let settings = changes.settings.iter();
    state
        .set_all(settings.map(|(key, value)| (key.as_str(), value.as_str())))
        .map_err(ForecastError::Setting)?;
    warnings.append(&mut state.warnings);
    for (key, value) in &changes.settings {
        told.push(format!("{key} = {value}"));
    }
    let cluster = &mut state.cluster;
    for node in &changes.added {
        what_if::add_node(cluster, node, server.version)?;
        told.push(format!("node {} added", node.name));
    }
    for (key, value) in &changes.settings {
        if matches_no_node(cluster, key, value) {
            warnings.push(format!("{key} = {value} matches none of the data nodes."));
        }
    }
    for node in &changes.removed {
        what_if::remove_node(cluster, node)?;
        told.push(format!("node {node} removed"));
    }
    for pattern in &changes.closed {
        let closed = what_if::close(cluster, pattern, now_nanos)?;
        let indices = units::count::counted(closed as u64, "index", "indices");
        told.push(format!("{indices} closed ({pattern})"));
    }
    if let Some(to_server) = &changes.to_server {
        told.push(format!("version {server} replaced by {to_server}"));
    }
    Ok(told)
}

/// Whether it is a filter of the cluster that stands for no data node: it keeps none out (exclude), or
/// all (include, require).
fn matches_no_node(cluster: &Cluster, key: &str, value: &str) -> bool {
    let Some(rest) = key.strip_prefix("cluster.routing.allocation.") else {
        return false;
    };
    let (attribute, join) = match rest.split_once('.') {
        Some(("include" | "exclude", attribute)) => (attribute, Join::Or),
        Some(("require", attribute)) => (attribute, Join::And),
        _ => return false,
    };
    let mut filters = Filters::default();
    filters.add(attribute, value);
    // An empty value takes a setting back, and so does null.
    !filters.is_empty()
        && value != "null"
        && !cluster
            .data_nodes
            .iter()
            .any(|&node| matches(&filters, join, cluster.node(node)))
}

/// What a reroute takes on it.
pub fn reroute_ms(cluster: &Cluster, picture: &Picture, server: &Server) -> f64 {
    let closed = |copy: &&ShardCopy| cluster.index(copy.shard.index).state == IndexState::Closed;
    let shape = Shape {
        data_nodes: u32::try_from(picture.nodes.len())
            .unwrap_or(u32::MAX)
            .max(1),
        // Closed indices may stand in the metadata alone.
        copies: picture.routed,
        closed_copies: cluster.routing.copies().filter(closed).count() as u64,
        shards: cluster.routing.copies().filter(|copy| copy.primary).count() as u64,
        indices: cluster.routing.tables().len() as u64,
        disk_scan: cluster.settings.disk_threshold_enabled && cluster.settings.include_relocations,
    };
    predict(server.profile, Step::Reroute, &shape).ms
}

fn standing(
    cluster: &Cluster,
    picture: &Picture,
    server: &Server,
    now_nanos: i64,
) -> Result<Standing, RoutingError> {
    let nodes: Vec<NodeStanding> = picture
        .nodes
        .iter()
        .map(|load| NodeStanding {
            name: cluster.node(load.node).name.clone(),
            shards: load.copies,
            bytes: load.bytes,
            disk_used_percent: load.used_percent,
        })
        .collect();
    let used: Vec<f64> = nodes
        .iter()
        .filter_map(|node| node.disk_used_percent)
        .collect();
    let fullest = used.iter().copied().reduce(f64::max);
    let emptiest = used.iter().copied().reduce(f64::min);
    Ok(Standing {
        cannot_stay: service::cannot_remain(cluster, now_nanos)?.len() as u64,
        server: server.to_string(),
        data_nodes: nodes.len(),
        routed_shards: picture.routed,
        unassigned_primaries: picture.unassigned_primaries,
        unassigned_replicas: picture.unassigned_replicas,
        shards_per_node: range(nodes.iter().map(|node| node.shards)),
        bytes_per_node: range(nodes.iter().map(|node| node.bytes)),
        disk_used_percent: emptiest.zip(fullest).map(|(least, most)| [least, most]),
        reroute_ms: reroute_ms(cluster, picture, server),
        nodes,
    })
}

fn range(values: impl Iterator<Item = u64> + Clone) -> Option<[u64; 2]> {
    Some([values.clone().min()?, values.max()?])
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Free => "below low",
        Level::Low => "above low",
        Level::High => "above high",
        Level::Flood => "above flood stage",
    }
}

fn crossed(cluster: &Cluster, before: &Picture, after: &Picture) -> Vec<Crossed> {
    let mut rows = Vec::new();
    for now in &after.nodes {
        let then = before.nodes.iter().find(|node| node.node == now.node);
        let level_then = then.and_then(|node| node.level);
        let Some(level) = now
            .level
            .filter(|&level| level != level_then.unwrap_or(Level::Free))
        else {
            continue;
        };
        rows.push(Crossed {
            node: cluster.node(now.node).name.clone(),
            before: level_then.map(word),
            after: word(level),
            before_used_percent: then.and_then(|node| node.used_percent),
            after_used_percent: now.used_percent,
        });
    }
    rows
}

fn is_worse(course: &Course, before: &Picture, after: &Picture) -> bool {
    let high = |picture: &Picture, node| {
        let load = picture.nodes.iter().find(|load| load.node == node);
        load.and_then(|load| load.level)
            .is_some_and(|level| level >= Level::High)
    };
    !course.quiet
        || after.unassigned_primaries > before.unassigned_primaries
        || after.unassigned_replicas > before.unassigned_replicas
        || after
            .nodes
            .iter()
            .any(|load| high(after, load.node) && !high(before, load.node))
}

#[cfg(test)]
mod tests;
