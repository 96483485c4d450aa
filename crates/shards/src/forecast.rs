//! State of a cluster before and after a change, and whether it gets worse: the result of `trimtab shards
//! what-if`.

use crate::copy::{RecoverySource, ShardCopy};
use crate::cost::{Shape, Step, predict, uneven_permille};
use crate::deciders::{Join, matches};
use crate::desired::DesiredBalance;
use crate::doubt;
use crate::gateway::Stores;
use crate::model::{Cluster, Filters, IndexState, ShutdownKind};
use crate::nodes::RoutingError;
use crate::profile::Server;
use crate::service;
use crate::state::{State, StateError};
use crate::what_if::{
    self, ChangeError, ClusterSummary, Course, Level, NewIndex, NewNode, NodeShutdown,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Changes to apply together, in this order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Cluster settings; an empty value resets a setting.
    pub settings: Vec<(String, String)>,
    /// Nodes to add.
    pub added: Vec<NewNode>,
    /// Nodes that fail, by name or id.
    pub removed: Vec<String>,
    /// Nodes that are announced to shut down.
    pub shut_down: Vec<NodeShutdown>,
    /// Patterns of open indices to close.
    pub closed: Vec<String>,
    /// Settings of indices: pattern, key, value; an empty value resets a setting.
    pub index_settings: Vec<(String, String, String)>,
    /// Indices to create.
    pub created: Vec<NewIndex>,
    /// The version afterwards, for the cost of a reroute.
    pub to_server: Option<Server>,
}

/// Why a forecast is not possible.
#[derive(Debug, thiserror::Error)]
pub enum ForecastError {
    /// The server would reject a setting.
    #[error(transparent)]
    Setting(StateError),
    /// A change cannot be applied.
    #[error(transparent)]
    Change(ChangeError),
    /// The routing table is inconsistent.
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

/// Predicted effects of a change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Forecast {
    /// Descriptions of the changes, in the order in which they were applied.
    pub changes: Vec<String>,
    /// Rounds in which something happened: a reroute, after which all recovering copies have started.
    pub rounds: u32,
    /// Whether the cluster stabilized within the limit on rounds.
    pub quiet: bool,
    /// After how many reroutes the shards are where they were before, if they go round in a circle: the
    /// cluster then never comes to rest. Null otherwise.
    pub circle_reroutes: Option<u32>,
    /// Whether the server's computation of the desired balance comes to its end; null before 8.6 and in
    /// OpenSearch, which have none.
    pub converges: Option<bool>,
    /// Shards that moved between nodes.
    pub moved: u64,
    /// Their total size in bytes, as far as known.
    pub moved_bytes: u64,
    /// Moves that would have sufficed to give each node as many shards of each index as it has in the end.
    pub moves_needed: u64,
    /// What happens with `cluster_concurrent_rebalance` at its default of 2; null unless it is higher and
    /// the version's balancer goes astray then.
    pub at_default_rebalance: Option<AtDefaultRebalance>,
    /// Replicas that recovered from their primary.
    pub replicas_recovered: u64,
    /// Their total size in bytes, as far as known.
    pub replica_bytes: u64,
    /// Primaries that recovered from disk.
    pub primaries_recovered: u64,
    /// Replicas promoted to primary.
    pub promoted: u64,
    /// Shards among these whose size is not known.
    pub of_unknown_size: u64,
    /// Primaries whose data no present node has.
    pub primaries_lost: u64,
    /// Estimated time until the cluster is stable, from and to, in seconds: what the nodes send and
    /// receive at `recovery_bytes_per_s`, the master's reroutes, and the wait for lost nodes. Null if sizes
    /// are not known or recoveries are not limited.
    pub duration_s: Option<[f64; 2]>,
    /// Limit on what a node sends or receives (`indices.recovery.max_bytes_per_sec`), bytes per second;
    /// null if there is none.
    pub recovery_bytes_per_s: Option<u64>,
    /// Why the state cannot have been understood, so that the forecast means nothing; null if nothing
    /// speaks against it.
    pub not_understood: Option<String>,
    /// State before the change.
    pub before: Standing,
    /// State after the change.
    pub after: Standing,
    /// Nodes whose fullest disk crossed a watermark.
    pub watermarks_crossed: Vec<Crossed>,
    /// Whether the cluster got worse; if so, the exit code is 1.
    pub worse: bool,
    /// Limits of the forecast.
    #[serde(skip)]
    #[schemars(skip)]
    pub warnings: Vec<String>,
}

/// Course of the same change with `cluster_concurrent_rebalance` at its default.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AtDefaultRebalance {
    /// The value that is set; -1 for no limit.
    pub set: i32,
    /// Rounds in which something happens.
    pub rounds: u32,
    /// Whether the cluster comes to rest.
    pub quiet: bool,
    /// Shards that move between nodes.
    pub moved: u64,
    /// Moves that would suffice.
    pub moves_needed: u64,
}

/// State of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Standing {
    /// The server it runs.
    pub server: String,
    /// Live data nodes.
    pub data_nodes: usize,
    /// Shards in the routing table.
    pub routed_shards: u64,
    /// Unassigned primaries.
    pub unassigned_primaries: u64,
    /// Unassigned replicas.
    pub unassigned_replicas: u64,
    /// Shards that the deciders do not allow to remain where they are; in a stable cluster, those that no
    /// node accepts.
    pub cannot_stay: u64,
    /// Fewest and most shards on a node; null without nodes.
    pub shards_per_node: Option<[u64; 2]>,
    /// Fewest and most bytes on a node, as far as sizes are known; null without nodes.
    pub bytes_per_node: Option<[u64; 2]>,
    /// Usage of the emptiest and the fullest disk, percent; null if disks are not known.
    pub disk_used_percent: Option<[f64; 2]>,
    /// Time of a reroute with nothing to do: CPU time on the master, milliseconds.
    pub reroute_ms: f64,
    /// The data nodes.
    pub nodes: Vec<NodeStanding>,
}

/// State of a data node.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NodeStanding {
    /// The node's name.
    pub name: String,
    /// Shards on the node.
    pub shards: u64,
    /// Their total size in bytes, as far as known.
    pub bytes: u64,
    /// Usage of its fullest disk, percent.
    pub disk_used_percent: Option<f64>,
}

/// A node that crossed a watermark.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Crossed {
    /// The node's name.
    pub node: String,
    /// Level before: `below low`, `above low`, `above high` or `above flood stage`; null if the node did
    /// not exist.
    pub before: Option<&'static str>,
    /// Level after.
    pub after: &'static str,
    /// Usage of its fullest disk before, percent.
    pub before_used_percent: Option<f64>,
    /// Usage of its fullest disk after, percent.
    pub after_used_percent: Option<f64>,
}

impl Forecast {
    /// Applies the changes and runs rounds until the cluster is stable, at most `rounds_max`. `watch` sees
    /// the course after each round.
    ///
    /// # Errors
    /// If a change cannot be applied or the routing table is inconsistent; the cluster is then unusable.
    pub fn of(
        state: &mut State,
        server: &Server,
        changes: &Changes,
        now_nanos: i64,
        rounds_max: u32,
        watch: &mut dyn FnMut(&Course),
    ) -> Result<Self, ForecastError> {
        let not_understood = doubt::misread(&state.cluster, now_nanos)?;
        let before = what_if::summary(&state.cluster);
        let before_row = standing(&state.cluster, &before, server, now_nanos)?;
        let mut stores = Stores::of(&state.cluster);
        let to_server = changes.to_server.as_ref();
        let mut warnings: Vec<String> = to_server
            .and_then(|server| server.warning.clone())
            .into_iter()
            .collect();
        let descriptions = apply_changes(changes, state, server, now_nanos, &mut warnings)?;
        let desired: Option<DesiredBalance> = state.desired.take();
        let cluster = &mut state.cluster;
        let created = &changes.created;
        let at_default_rebalance =
            at_default_rebalance(cluster, &stores, now_nanos, rounds_max, created)?;
        let mut course = what_if::run_creating(
            cluster,
            desired.as_ref(),
            &mut stores,
            now_nanos,
            rounds_max,
            created,
            watch,
        )?;
        match &at_default_rebalance {
            Some(other) if !course.quiet => course.moves_needed = other.moves_needed,
            Some(other) if other.quiet => {
                course.moves_needed = course.moves_needed.min(other.moves_needed);
            }
            _ => {}
        }
        let after = what_if::summary(cluster);
        let after_row = standing(cluster, &after, to_server.unwrap_or(server), now_nanos)?;
        if course.of_unknown_size > 0 {
            warnings.push(format!(
                "The size of {} is unknown; byte counts leave them out.",
                units::count(course.of_unknown_size, "shard")
            ));
        }
        Ok(Self {
            changes: descriptions,
            rounds: course.rounds,
            quiet: course.quiet,
            circle_reroutes: course.circle_reroutes,
            converges: course.converges,
            moved: course.moved,
            moves_needed: course.moves_needed,
            at_default_rebalance,
            moved_bytes: course.moved_bytes,
            replicas_recovered: course.replicas_recovered,
            replica_bytes: course.replica_bytes,
            primaries_recovered: course.primaries_recovered,
            promoted: course.promoted,
            of_unknown_size: course.of_unknown_size,
            primaries_lost: primaries_lost(cluster, &stores),
            duration_s: duration_s(cluster, &course, after_row.reroute_ms),
            recovery_bytes_per_s: cluster.settings.recovery_bytes_per_s,
            not_understood,
            watermarks_crossed: crossed(cluster, &before, &after),
            worse: is_worse(&course, &before, &after)
                || after_row.cannot_stay > before_row.cannot_stay,
            before: before_row,
            after: after_row,
            warnings,
        })
    }
}

/// What happens with `cluster_concurrent_rebalance` at its default, where a higher value leads astray.
fn at_default_rebalance(
    cluster: &Cluster,
    stores: &Stores,
    now_nanos: i64,
    rounds_max: u32,
    created: &[NewIndex],
) -> Result<Option<AtDefaultRebalance>, ChangeError> {
    const DEFAULT: i32 = 2;
    let set = cluster.settings.cluster_concurrent_rebalance;
    if (0..=DEFAULT).contains(&set) || !cluster.balancing().has_stale_weights() {
        return Ok(None);
    }
    let (mut cluster, mut stores) = (cluster.clone(), stores.clone());
    cluster.settings.cluster_concurrent_rebalance = DEFAULT;
    let course = what_if::run_creating(
        &mut cluster,
        None,
        &mut stores,
        now_nanos,
        rounds_max,
        created,
        &mut |_| (),
    )?;
    Ok(Some(AtDefaultRebalance {
        set,
        rounds: course.rounds,
        quiet: course.quiet,
        moved: course.moved,
        moves_needed: course.moves_needed,
    }))
}

/// Primaries that are unassigned and whose data no present node has.
fn primaries_lost(cluster: &Cluster, stores: &Stores) -> u64 {
    let lost = cluster.routing.copies().filter(|copy| {
        copy.primary
            && copy.is_unassigned()
            && copy.recovery == Some(RecoverySource::ExistingStore)
            && !stores.has_any(copy.shard)
    });
    lost.count() as u64
}

/// Estimates the time until the cluster is stable, seconds, from and to.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(crate) fn duration_s(cluster: &Cluster, course: &Course, reroute_ms: f64) -> Option<[f64; 2]> {
    let rate = cluster.settings.recovery_bytes_per_s?;
    if course.of_unknown_size > 0 {
        return None;
    }
    let other = course.waited_nanos as f64 / 1e9 + f64::from(course.rounds) * reroute_ms / 1e3;
    Some(
        course
            .busiest_bytes
            .map(|bytes| bytes as f64 / rate as f64 + other),
    )
}

/// Applies the changes and returns a description of each.
fn apply_changes(
    changes: &Changes,
    state: &mut State,
    server: &Server,
    now_nanos: i64,
    warnings: &mut Vec<String>,
) -> Result<Vec<String>, ForecastError> {
    let mut descriptions = Vec::new();
    let settings = changes.settings.iter();
    state
        .set_all(settings.map(|(key, value)| (key.as_str(), value.as_str())))
        .map_err(ForecastError::Setting)?;
    warnings.append(&mut state.warnings);
    for (key, value) in &changes.settings {
        descriptions.push(format!("{key} = {value}"));
    }
    let cluster = &mut state.cluster;
    for node in &changes.added {
        what_if::add_node(cluster, node, server.version)?;
        descriptions.push(format!("node {} added", node.name));
    }
    for (key, value) in &changes.settings {
        if matches_no_node(cluster, key, value) {
            warnings.push(format!("{key} = {value} matches none of the data nodes."));
        }
    }
    for down in &changes.shut_down {
        what_if::shut_down(cluster, down)?;
        let node = &down.node;
        descriptions.push(match (&down.kind, &down.target) {
            (_, Some(target)) => format!("node {node} to be replaced by {target}"),
            (ShutdownKind::Restart, _) => format!("node {node} to be restarted"),
            _ => format!("node {node} to be removed"),
        });
    }
    for node in &changes.removed {
        what_if::remove_node(cluster, node)?;
        descriptions.push(format!("node {node} removed"));
    }
    for pattern in &changes.closed {
        let closed = what_if::close(cluster, pattern, now_nanos)?;
        let indices = units::count::counted(closed as u64, "index", "indices");
        descriptions.push(format!("{indices} closed ({pattern})"));
    }
    for (pattern, key, value) in &changes.index_settings {
        let indices = what_if::matching(&state.cluster, pattern)?;
        state
            .set_index(&indices, key, value, now_nanos)
            .map_err(ForecastError::Setting)?;
        let counted = units::count::counted(indices.len() as u64, "index", "indices");
        descriptions.push(format!("{key} = {value} on {counted} ({pattern})"));
    }
    for index in &changes.created {
        descriptions.push(format!(
            "index {} created: {}, {} of each",
            index.name,
            units::count::counted(u64::from(index.shards), "primary", "primaries"),
            units::count(index.replicas, "replica")
        ));
    }
    if let Some(to_server) = &changes.to_server {
        descriptions.push(format!("{server} replaced by {to_server}"));
    }
    Ok(descriptions)
}

/// Whether the setting is a cluster-level filter that matches no data node, so that it rejects no node
/// (exclude) or all nodes (include, require).
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
    // An empty value or null resets a setting.
    !filters.is_empty()
        && value != "null"
        && !cluster
            .data_nodes
            .iter()
            .any(|&node| matches(&filters, join, cluster.node(node)))
}

/// Time of a reroute on the cluster.
pub fn reroute_ms(cluster: &Cluster, summary: &ClusterSummary, server: &Server) -> f64 {
    predict(server.profile, Step::Reroute, &shape(cluster, summary)).ms
}

/// Size of the cluster, as far as the cost depends on it.
pub fn shape(cluster: &Cluster, summary: &ClusterSummary) -> Shape {
    let closed = |copy: &&ShardCopy| cluster.index(copy.shard.index).state == IndexState::Closed;
    Shape {
        data_nodes: u32::try_from(summary.nodes.len())
            .unwrap_or(u32::MAX)
            .max(1),
        // Closed indices may exist in the metadata only.
        copies: summary.routed,
        closed_copies: cluster.routing.copies().filter(closed).count() as u64,
        shards: cluster.routing.copies().filter(|copy| copy.primary).count() as u64,
        indices: cluster.routing.tables().len() as u64,
        disk_scan: cluster.settings.disk_threshold_enabled && cluster.settings.include_relocations,
        uneven_permille: uneven_permille(summary.nodes.iter().map(|node| node.copies)),
    }
}

fn standing(
    cluster: &Cluster,
    summary: &ClusterSummary,
    server: &Server,
    now_nanos: i64,
) -> Result<Standing, RoutingError> {
    let nodes: Vec<NodeStanding> = summary
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
        routed_shards: summary.routed,
        unassigned_primaries: summary.unassigned_primaries,
        unassigned_replicas: summary.unassigned_replicas,
        shards_per_node: range(nodes.iter().map(|node| node.shards)),
        bytes_per_node: range(nodes.iter().map(|node| node.bytes)),
        disk_used_percent: emptiest.zip(fullest).map(|(least, most)| [least, most]),
        reroute_ms: reroute_ms(cluster, summary, server),
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

fn crossed(cluster: &Cluster, before: &ClusterSummary, after: &ClusterSummary) -> Vec<Crossed> {
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

fn is_worse(course: &Course, before: &ClusterSummary, after: &ClusterSummary) -> bool {
    let high = |summary: &ClusterSummary, node| {
        let load = summary.nodes.iter().find(|load| load.node == node);
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
