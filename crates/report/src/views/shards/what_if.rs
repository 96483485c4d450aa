//! Page of `trimtab shards what-if`: the effects of a change.

use super::phrases::{name, not_understood, span};
use crate::views::phrases::{cell, milliseconds, range, words_if};
use page::chart::{Bar, BarChart, BarPanel, Format};
use page::{Block, Level, List, Page, Section, Table, Tone};
use shards::forecast::{AtDefaultRebalance, Crossed, Forecast, NodeStanding, Standing};
use std::collections::HashMap;

/// Maximum number of nodes that are listed.
const NODES_MAX: usize = 200;

pub(super) fn page(answer: &Forecast, is_brief: bool) -> Page {
    let lead = match &answer.not_understood {
        Some(why) => not_understood(why),
        None => format!("{} {}", verdict(answer), story(answer)),
    };
    let mut page = Page {
        tone: match (answer.worse, health(&answer.after)) {
            _ if answer.not_understood.is_some() => Tone::Level(Level::Error),
            (false, _) => Tone::Strong,
            (true, Health::Red) => Tone::Level(Level::Error),
            (true, _) => Tone::Level(Level::Warning),
        },
        ..Page::new("trimtab shards what-if", lead)
    };
    if answer.changes.is_empty() {
        page.about
            .push("No change was given: this is what the cluster does by itself.".to_owned());
    } else {
        page.push(List::new("Changes", &answer.changes));
    }
    if let Some(rate) = answer.recovery_bytes_per_s.filter(|_| answer.rounds > 0) {
        page.about.push(format!(
            "Times count what the busiest node sends or receives at {} each second \
             (indices.recovery.max_bytes_per_sec), the master's reroutes, and the wait for lost nodes.",
            units::bytes(rate)
        ));
    }
    page.push(standings(answer));
    if !answer.watermarks_crossed.is_empty() {
        let items = answer.watermarks_crossed.iter().map(crossed);
        page.push(List::new("Disk watermarks crossed", items));
    }
    if !is_brief {
        page.extend(pictures(answer));
        page.push(nodes(answer));
    }
    page
}

/// Health of a cluster as defined by its own API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Green,
    Yellow,
    Red,
}

fn health(standing: &Standing) -> Health {
    if standing.unassigned_primaries > 0 {
        Health::Red
    } else if standing.unassigned_replicas > 0 {
        Health::Yellow
    } else {
        Health::Green
    }
}

/// Summarises the final state of the cluster: what is lost comes first.
fn verdict(answer: &Forecast) -> String {
    let (before, after) = (&answer.before, &answer.after);
    let color = match health(after) {
        Health::Green => "Green",
        Health::Yellow => "Yellow",
        Health::Red => "Red",
    };
    let lost = answer.primaries_lost;
    let without_node = after.unassigned_primaries.saturating_sub(lost);
    let mut parts: Vec<String> = [
        (lost, "primary lost", "primaries lost"),
        (without_node, "primary unassigned", "primaries unassigned"),
        (
            after.unassigned_replicas,
            "replica unassigned",
            "replicas unassigned",
        ),
    ]
    .iter()
    .filter(|(number, ..)| *number > 0)
    .map(|(number, one, many)| units::count::counted(*number, one, many))
    .collect();
    let unassigned =
        |standing: &Standing| (standing.unassigned_primaries, standing.unassigned_replicas);
    if parts.is_empty() {
        parts.push("every shard is on a node".to_owned());
    } else if unassigned(before) == unassigned(after) {
        parts.push("as before".to_owned());
    }
    let mut changes = vec![format!("{color}: {}", parts.join(", "))];
    if after.cannot_stay > 0 {
        changes.push(if after.cannot_stay == 1 {
            "1 shard cannot stay where it is, and no node takes it".to_owned()
        } else {
            format!(
                "{} cannot stay where they are, and no node takes them",
                units::count(after.cannot_stay, "shard")
            )
        });
    }
    let full: Vec<&str> = answer
        .watermarks_crossed
        .iter()
        .filter(|crossed| is_full(crossed))
        .map(|crossed| crossed.node.as_str())
        .collect();
    if !full.is_empty() {
        let verb = if full.len() == 1 { "exceeds" } else { "exceed" };
        changes.push(format!(
            "{} {verb} the high disk watermark",
            units::list::list_up_to(&full, 3)
        ));
    }
    format!("{}.", changes.join("; "))
}

/// Summarises what recovers on the way, and how long that takes.
fn story(answer: &Forecast) -> String {
    let counted = |number: u64, one: &str, many: &str| units::count::counted(number, one, many);
    let size = |bytes: u64| match (answer.of_unknown_size, bytes) {
        (0, bytes) => units::bytes(bytes),
        (_, 0) => "of unknown size".to_owned(),
        (_, bytes) => format!("at least {}", units::bytes(bytes)),
    };
    let mut parts = Vec::new();
    if answer.promoted > 0 {
        parts.push(counted(
            answer.promoted,
            "replica is promoted to primary",
            "replicas are promoted to primaries",
        ));
    }
    if answer.primaries_recovered > 0 {
        parts.push(format!(
            "{} from disk or start empty",
            counted(
                answer.primaries_recovered,
                "primary recovers",
                "primaries recover"
            )
        ));
    }
    if answer.replicas_recovered > 0 {
        parts.push(format!(
            "{} from their primaries ({})",
            counted(
                answer.replicas_recovered,
                "replica recovers",
                "replicas recover"
            ),
            size(answer.replica_bytes)
        ));
    }
    if let Some(reroutes) = answer.circle_reroutes {
        parts.push(format!(
            "shards move from node to node without end: every {} they are where they were before; {} would \
             do",
            units::count(reroutes, "reroute"),
            counted(answer.moves_needed, "move", "moves")
        ));
    } else if answer.moved > 0 {
        let needed = match answer.moves_needed {
            needed if needed < answer.moved => {
                format!("; {} would do", units::grouped(needed))
            }
            _ => String::new(),
        };
        parts.push(format!(
            "{} from node to node ({}{needed})",
            counted(answer.moved, "shard moves", "shards move"),
            size(answer.moved_bytes)
        ));
    }
    if parts.is_empty() {
        parts.push("nothing moves".to_owned());
    }
    let mut story = units::list::capitalised(&parts.join("; "));
    if answer.rounds > 0 && answer.circle_reroutes.is_none() {
        story.push_str(", in ");
        let rounds = units::count(answer.rounds, "round");
        let duration = answer
            .duration_s
            .map(|seconds| format!("about {} ({rounds})", span(seconds)));
        story.push_str(&duration.unwrap_or(rounds));
    }
    if !answer.quiet && answer.circle_reroutes.is_none() {
        story.push_str("; the cluster is not at rest yet");
    }
    story.push('.');
    if answer.converges == Some(false) {
        story.push_str(
            " The computation of the desired balance never comes to its end: the master goes on with what it \
             has whenever something else happens.",
        );
    }
    if let Some(other) = &answer.at_default_rebalance {
        story.push(' ');
        story.push_str(&at_default(other));
    }
    story
}

/// What the default of a setting would bring: the rule ES011 says more.
fn at_default(other: &AtDefaultRebalance) -> String {
    let end = words_if(!other.quiet, ", and still no rest");
    format!(
        "With cluster_concurrent_rebalance at its default of 2 instead of {}: {}, in {}{end} (ES011: no \
         restart).",
        other.set,
        units::count::counted(other.moved, "move", "moves"),
        units::count(other.rounds, "round"),
    )
}

fn is_full(crossed: &Crossed) -> bool {
    matches!(crossed.after, "above high" | "above flood stage")
}

fn crossed(crossed: &Crossed) -> String {
    let shown = |percent: Option<f64>| {
        let words = percent.map(|percent| format!(" ({} used)", used(percent)));
        words.unwrap_or_default()
    };
    format!(
        "{}: {}{}, then {}{}",
        name(&crossed.node),
        crossed.before.unwrap_or("not there"),
        shown(crossed.before_used_percent),
        crossed.after,
        shown(crossed.after_used_percent)
    )
}

fn standings(answer: &Forecast) -> Table {
    let mut table = Table::new(&["<", "before", "after"]);
    let mut row = |name: &str, value: &dyn Fn(&Standing) -> String| {
        table.row([name.to_owned(), value(&answer.before), value(&answer.after)]);
    };
    let ends = |ends: Option<[String; 2]>| cell(ends, |[least, most]| range(&least, &most));
    let grouped = units::grouped;
    row("version", &|standing| standing.server.clone());
    row("data nodes", &|standing| {
        grouped(standing.data_nodes as u64)
    });
    row("shards in the routing table", &|standing| {
        grouped(standing.routed_shards)
    });
    row("unassigned primaries", &|standing| {
        grouped(standing.unassigned_primaries)
    });
    row("unassigned replicas", &|standing| {
        grouped(standing.unassigned_replicas)
    });
    row("shards that cannot stay where they are", &|standing| {
        grouped(standing.cannot_stay)
    });
    row("shards per node", &|standing| {
        ends(standing.shards_per_node.map(|range| range.map(grouped)))
    });
    row("data per node", &|standing| {
        ends(standing.bytes_per_node.map(|range| range.map(units::bytes)))
    });
    row("fullest disk per node, used", &|standing| {
        ends(standing.disk_used_percent.map(|range| range.map(used)))
    });
    row("a reroute takes the master", &|standing| {
        milliseconds(standing.reroute_ms)
    });
    table
}

fn used(percent: f64) -> String {
    units::percent(percent / 100.0)
}

/// Nodes drawn at most: those that change most.
const PICTURED_MAX: usize = 30;

/// Shards and data of each node, before and after.
fn pictures(answer: &Forecast) -> Vec<BarChart> {
    let find = |nodes: &[NodeStanding], name: &str, value: &dyn Fn(&NodeStanding) -> u64| {
        let node = nodes.iter().find(|node| node.name == name);
        node.map_or(0, value)
    };
    let (before, after) = (&answer.before.nodes, &answer.after.nodes);
    let mut names = names(answer);
    names.sort_unstable();
    let change = |name: &str| {
        let shards = |nodes| find(nodes, name, &|node| node.shards);
        shards(before).abs_diff(shards(after))
    };
    let left_out = names.len().saturating_sub(PICTURED_MAX);
    if left_out > 0 {
        names.sort_by_key(|name| std::cmp::Reverse(change(name)));
        names.truncate(PICTURED_MAX);
    }
    let full = |name: &str| {
        let mut crossed = answer.watermarks_crossed.iter();
        crossed.any(|crossed| crossed.node == name && is_full(crossed))
    };
    let chart = |title: &str, format: Format, value: &dyn Fn(&NodeStanding) -> u64| {
        let panel = |when: &str, nodes: &[NodeStanding], marks: bool| {
            let bar = |name: &&str| {
                let value = find(nodes, name, value);
                Bar {
                    label: self::name(name).into_owned(),
                    #[expect(clippy::cast_precision_loss, reason = "lengths of bars")]
                    value: value as f64,
                    // All digits of a count, where a number would be rounded.
                    text: match format {
                        Format::Number => units::grouped(value),
                        _ => String::new(),
                    },
                    marked: marks && full(name),
                }
            };
            BarPanel {
                name: when.to_owned(),
                bars: names.iter().map(bar).collect(),
            }
        };
        BarChart {
            title: match left_out {
                0 => title.to_owned(),
                _ => format!("{title}, of the {PICTURED_MAX} nodes that change most"),
            },
            x_label: String::new(),
            format,
            mark_label: if names.iter().any(|name| full(name)) {
                "above the high watermark afterwards".to_owned()
            } else {
                String::new()
            },
            panels: vec![panel("before", before, false), panel("after", after, true)],
        }
    };
    let mut charts = vec![chart("Shards by node", Format::Number, &|node| node.shards)];
    if before.iter().chain(after).any(|node| node.bytes > 0) {
        charts.push(chart("Data by node", Format::Bytes, &|node| node.bytes));
    }
    charts
}

fn by_name(standing: &Standing) -> HashMap<&str, &NodeStanding> {
    let nodes = standing.nodes.iter();
    nodes.map(|node| (node.name.as_str(), node)).collect()
}

/// The names of the nodes before, then of those that are new.
fn names(answer: &Forecast) -> Vec<&str> {
    let before = by_name(&answer.before);
    let after = answer.after.nodes.iter();
    let new = after.filter(|node| !before.contains_key(node.name.as_str()));
    let all = answer.before.nodes.iter().chain(new);
    all.map(|node| node.name.as_str()).collect()
}

/// Lists each node before and after.
fn nodes(answer: &Forecast) -> Section {
    let mut section = Section::new("Data nodes");
    let (before, after) = (by_name(&answer.before), by_name(&answer.after));
    let mut names = names(answer);
    let left_out = names.len().saturating_sub(NODES_MAX);
    names.truncate(NODES_MAX);
    let mut table = Table::new(&[
        "<node",
        "shards before",
        "shards after",
        "data before",
        "data after",
        "disk before",
        "disk after",
    ]);
    for name in names {
        let pair = [before.get(name), after.get(name)];
        let cell = |value: &dyn Fn(&NodeStanding) -> Option<String>| {
            pair.map(|node| node.and_then(|node| value(node)).unwrap_or("-".to_owned()))
        };
        let shards = cell(&|node| Some(units::grouped(node.shards)));
        let data = cell(&|node| Some(units::bytes(node.bytes)));
        let disk = cell(&|node| node.disk_used_percent.map(used));
        let name = [name.to_owned()].into_iter();
        table.row(name.chain(shards).chain(data).chain(disk));
    }
    section.push(table);
    if left_out > 0 {
        section.push(Block::aside(format!(
            "{} (--format json shows all)",
            units::count(left_out, "more node")
        )));
    }
    section
}
