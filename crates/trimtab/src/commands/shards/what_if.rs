//! `trimtab shards what-if`.

use super::args::WhatIf;
use super::document;
use super::load::{self, Loaded};
use super::words::{cut, ms, wrapped};
use crate::commands::ssd::numbers::bytes;
use crate::commands::ssd::table;
use crate::error::{CommandError, Kind};
use report::{count, grouped};
use schemars::JsonSchema;
use serde::Serialize;
use shards::copy::ShardCopy;
use shards::cost::{Shape, Step, predict};
use shards::deciders::{Join, matches};
use shards::gateway::Stores;
use shards::model::{Cluster, Filters, IndexState};
use shards::nodes::RoutingError;
use shards::profile::Server;
use shards::service;
use shards::what_if::{self, ChangeError, Course, Level, Picture};
use std::process::ExitCode;

/// What a change would bring.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
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
}

/// A cluster as it stands.
#[derive(Debug, Serialize, JsonSchema)]
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
    pub nodes: Vec<NodeRow>,
}

/// A data node.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NodeRow {
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
#[derive(Debug, Serialize, JsonSchema)]
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

/// Changes the model and prints.
///
/// # Errors
/// When the cluster cannot be read, or a change cannot be made.
pub fn run(arguments: &WhatIf) -> Result<ExitCode, CommandError> {
    let mut loaded = load::load(&arguments.cluster)?;
    if let Some(server) = &arguments.to_version {
        let notes = server.warning.clone().into_iter();
        for note in notes.chain(load::decisions_note(server)) {
            note_once(&mut loaded.warnings, note);
        }
    }
    let answer = answer(arguments, &mut loaded)?;
    let worse = answer.worse;
    if answer.of_unknown_size > 0 {
        loaded.warnings.push(format!(
            "The size of {} is not known: bytes are of the others.",
            count(answer.of_unknown_size, "shard")
        ));
    }
    super::print(
        &loaded.source,
        arguments.format,
        document::Answer::WhatIf(Box::new(answer)),
        loaded.warnings,
    )?;
    Ok(if worse {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

fn note_once(warnings: &mut Vec<String>, note: String) {
    if !warnings.contains(&note) {
        warnings.push(note);
    }
}

fn answer(arguments: &WhatIf, loaded: &mut Loaded) -> Result<Answer, CommandError> {
    let server = loaded.server.clone();
    let before = what_if::picture(&loaded.state.cluster);
    let now_nanos = loaded.now_nanos;
    let before_row = standing(&loaded.state.cluster, &before, &server, now_nanos)
        .map_err(|error| load::misfit(&loaded.source, &error))?;
    let mut stores = Stores::of(&loaded.state.cluster);
    let changes = change(arguments, loaded)?;
    let cluster = &mut loaded.state.cluster;
    let course = what_if::run(cluster, &mut stores, now_nanos, arguments.rounds)
        .map_err(|error| load::misfit(&loaded.source, &error))?;
    let after = what_if::picture(cluster);
    let after_server = arguments.to_version.as_ref().unwrap_or(&server);
    let after_row = standing(cluster, &after, after_server, now_nanos)
        .map_err(|error| load::misfit(&loaded.source, &error))?;
    let crossed = crossed(cluster, &before, &after);
    let worse =
        is_worse(&course, &before, &after) || after_row.cannot_stay > before_row.cannot_stay;
    Ok(Answer {
        changes,
        rounds: course.rounds,
        quiet: course.quiet,
        moved: course.moved,
        moved_bytes: course.moved_bytes,
        replicas_recovered: course.replicas_recovered,
        replica_bytes: course.replica_bytes,
        primaries_recovered: course.primaries_recovered,
        promoted: course.promoted,
        of_unknown_size: course.of_unknown_size,
        before: before_row,
        after: after_row,
        watermarks_crossed: crossed,
        worse,
    })
}

/// Makes the changes; each in words.
fn change(arguments: &WhatIf, loaded: &mut Loaded) -> Result<Vec<String>, CommandError> {
    let mut changes = Vec::new();
    let settings = arguments.set.iter();
    loaded
        .state
        .set_all(settings.map(|(key, value)| (key.as_str(), value.as_str())))
        .map_err(|error| {
            let error = error.to_string();
            CommandError::new(Kind::Usage, format!("--set: {}", report::escape(&error)))
        })?;
    for note in std::mem::take(&mut loaded.state.warnings) {
        note_once(&mut loaded.warnings, note);
    }
    for (key, value) in &arguments.set {
        changes.push(format!("{key} = {value}"));
    }
    let source = &loaded.source;
    let cluster = &mut loaded.state.cluster;
    for node in &arguments.add_node {
        what_if::add_node(cluster, node, loaded.server.version)
            .map_err(|error| refused(source, &error))?;
        changes.push(format!("node {} is added", node.name));
    }
    for (key, value) in &arguments.set {
        if matches_no_node(cluster, key, value) {
            loaded
                .warnings
                .push(format!("{key} = {value} matches none of the data nodes."));
        }
    }
    for node in &arguments.remove_node {
        what_if::remove_node(cluster, node).map_err(|error| refused(source, &error))?;
        changes.push(format!("node {node} is taken away"));
    }
    for pattern in &arguments.close {
        let closed = what_if::close(cluster, pattern, loaded.now_nanos)
            .map_err(|error| refused(source, &error))?;
        let indices = if closed == 1 { "index" } else { "indices" };
        changes.push(format!(
            "{} {indices} closed ({pattern})",
            grouped(closed as u64)
        ));
    }
    if let Some(server) = &arguments.to_version {
        changes.push(format!("{server} in place of {}", loaded.server));
    }
    Ok(changes)
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

fn refused(source: &str, error: &ChangeError) -> CommandError {
    match error {
        ChangeError::Routing(error) => load::misfit(source, error),
        _ => CommandError::new(Kind::Usage, report::escape(&error.to_string())),
    }
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
    let nodes: Vec<NodeRow> = picture
        .nodes
        .iter()
        .map(|load| NodeRow {
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

/// The answer for people.
pub fn text(answer: &Answer) -> String {
    let mut text = String::new();
    if answer.changes.is_empty() {
        text += &wrapped("", "Nothing is changed: the cluster goes on by itself.");
    }
    for change in &answer.changes {
        text += &wrapped("- ", change);
    }
    text += "\n";
    text += &wrapped("", &story(answer));
    text += "\n";
    text += &table::text(&["", "before", "after"], &rows(answer), 1);
    if !answer.watermarks_crossed.is_empty() {
        text += "\n";
    }
    for crossed in &answer.watermarks_crossed {
        let percent =
            |used: Option<f64>| used.map_or(String::new(), |used| format!(" ({used:.0} % used)"));
        let before = crossed.before.unwrap_or("not there");
        text += &wrapped(
            "watermark: ",
            &format!(
                "{}: {before}{}, then {}{}",
                cut(&crossed.node, 40),
                percent(crossed.before_used_percent),
                crossed.after,
                percent(crossed.after_used_percent)
            ),
        );
    }
    text
}

fn story(answer: &Answer) -> String {
    let mut parts = Vec::new();
    if answer.moved > 0 {
        parts.push(format!(
            "{} from node to node ({})",
            if answer.moved == 1 {
                "1 shard moves".to_owned()
            } else {
                format!("{} shards move", grouped(answer.moved))
            },
            size(answer.moved_bytes)
        ));
    }
    if answer.promoted > 0 {
        parts.push(format!(
            "{} promoted to primary",
            count(answer.promoted, "replica")
        ));
    }
    if answer.primaries_recovered > 0 {
        parts.push(format!(
            "{} from disk or empty",
            verb(
                answer.primaries_recovered,
                "primary recovers",
                "primaries recover"
            )
        ));
    }
    if answer.replicas_recovered > 0 {
        parts.push(format!(
            "{} from their primaries ({})",
            verb(
                answer.replicas_recovered,
                "replica recovers",
                "replicas recover"
            ),
            size(answer.replica_bytes)
        ));
    }
    if parts.is_empty() {
        parts.push("Nothing moves".to_owned());
    }
    let end = if answer.quiet {
        "then the cluster is at rest"
    } else {
        "and the cluster is not at rest yet"
    };
    format!(
        "{}; {end}, after {}.",
        parts.join("; "),
        count(answer.rounds, "round")
    )
}

fn verb(number: u64, one: &str, many: &str) -> String {
    format!(
        "{} {}",
        grouped(number),
        if number == 1 { one } else { many }
    )
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn size(number: u64) -> String {
    bytes(number as f64)
}

fn rows(answer: &Answer) -> Vec<Vec<String>> {
    let row = |name: &str, value: &dyn Fn(&Standing) -> String| {
        vec![name.to_owned(), value(&answer.before), value(&answer.after)]
    };
    let from_to = |range: Option<[String; 2]>| match range {
        None => "-".to_owned(),
        Some([least, most]) if least == most => least,
        Some([least, most]) => format!("{least} to {most}"),
    };
    vec![
        row("version", &|standing| standing.server.clone()),
        row("data nodes", &|standing| {
            grouped(standing.data_nodes as u64)
        }),
        row("shards in the routing table", &|standing| {
            grouped(standing.routed_shards)
        }),
        row("  unassigned primaries", &|standing| {
            grouped(standing.unassigned_primaries)
        }),
        row("  unassigned replicas", &|standing| {
            grouped(standing.unassigned_replicas)
        }),
        row("  that cannot stay where they are", &|standing| {
            grouped(standing.cannot_stay)
        }),
        row("shards per node", &|standing| {
            from_to(standing.shards_per_node.map(|range| range.map(grouped)))
        }),
        row("bytes of shards per node", &|standing| {
            from_to(standing.bytes_per_node.map(|range| range.map(size)))
        }),
        row("fullest disk per node, used", &|standing| {
            from_to(
                standing
                    .disk_used_percent
                    .map(|range| range.map(|used| format!("{used:.0} %"))),
            )
        }),
        row("a reroute takes the master", &|standing| {
            ms(standing.reroute_ms)
        }),
    ]
}
