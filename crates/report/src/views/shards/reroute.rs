//! Page of `trimtab shards reroute`: what the next reroute does, and why.

use super::phrases::{name, not_understood, span};
use crate::views::phrases::{cell, milliseconds, words_if};
use page::{Block, Level, List, Page, Table, Tone};
use shards::explanation::{DecisionRow, DesiredExplanation, NodeGain, NodeRow, RerouteExplanation};
use std::fmt::Write as _;

/// Maximum number of nodes listed per decision.
const NODES_MAX: usize = 8;
/// Maximum columns of an index name.
const INDEX_COLUMNS_MAX: usize = 60;

pub(super) fn page(answer: &RerouteExplanation) -> Page {
    let lead = match (&answer.not_understood, &answer.desired) {
        (Some(why), _) => not_understood(why),
        (None, Some(desired)) => format!("{} {}", wanted(desired), lead(answer)),
        (None, None) => lead(answer),
    };
    let mut page = Page {
        tone: if answer.not_understood.is_some() {
            Tone::Level(Level::Error)
        } else {
            Tone::Strong
        },
        about: vec![format!(
            "{}: {} on {}; a reroute takes the master about {}",
            answer.server,
            units::count(answer.routed_shards, "shard"),
            units::count(answer.data_nodes, "data node"),
            milliseconds(answer.reroute_ms)
        )],
        ..Page::new("trimtab shards reroute", lead)
    };
    if let Some(desired) = &answer.desired {
        page.about.push(basis(desired));
        page.extend(held(desired));
    }
    page.extend(gains(answer));
    page.extend(answer.decisions.iter().map(shown));
    if answer.left_out > 0 {
        page.push(Block::text(format!(
            "{} not shown (--limit).",
            units::count(answer.left_out, "more decision")
        )));
    }
    page
}

/// Says how many shards are not where the desired balance has them, and when they will be.
fn wanted(desired: &DesiredExplanation) -> String {
    let share = |part: u64| {
        let whole = desired.assigned.max(1);
        #[expect(clippy::cast_precision_loss, reason = "a share to be read")]
        units::percent(part as f64 / whole as f64)
    };
    let mut text = match desired.elsewhere {
        0 => "Every shard is on a node where it is wanted.".to_owned(),
        some => {
            let verb = if some == 1 { "is" } else { "are" };
            format!(
                "{} of {} ({}) {verb} not on a node where the desired balance has {}",
                units::grouped(some),
                units::count(desired.assigned, "shard"),
                share(some),
                if some == 1 { "it" } else { "them" }
            )
        }
    };
    if desired.elsewhere > 0 {
        let time = desired
            .duration_s
            .map_or_else(String::new, |seconds| format!(", about {}", span(seconds)));
        let end = match desired.elsewhere_in_the_end {
            0 => format!(
                "; all will be, in {}{time}.",
                units::count(desired.rounds, "round")
            ),
            left if left == desired.elsewhere => "; nothing lets them go there.".to_owned(),
            left => format!(
                "; {} of them will not get there: all others in {}{time}.",
                units::grouped(left),
                units::count(desired.rounds, "round")
            ),
        };
        text.push_str(&end);
    }
    if !desired.converges {
        text.push_str(
            " The computation of the desired balance never comes to its end: the same placements come back.",
        );
    }
    text
}

/// What the desired balance is based on.
fn basis(desired: &DesiredExplanation) -> String {
    match desired.agrees {
        Some([same, all]) => format!(
            "the server told the desired balance; this model wants the same nodes for {} of {}",
            units::grouped(same),
            units::count(all, "shard")
        ),
        None => "the desired balance is computed from the present placement (pass the answer of \
                 _internal/desired_balance with --desired for the server's own)"
            .to_owned(),
    }
}

/// What holds the shards that are elsewhere.
fn held(desired: &DesiredExplanation) -> Option<Table> {
    if desired.held.is_empty() && desired.moving == 0 && desired.next == 0 {
        return None;
    }
    let mut table = Table::new(&["shards", "<are elsewhere and", "<for example"]);
    let mut row = |number: u64, what: String, example: &str| {
        if number > 0 {
            table.row([units::grouped(number), what, example.to_owned()]);
        }
    };
    row(desired.moving, "are on their way".to_owned(), "-");
    row(desired.next, "move in the next reroute".to_owned(), "-");
    for held in &desired.held {
        let what = match (held.decision, held.decider) {
            ("THROTTLE", Some(decider)) => format!("wait ({decider})"),
            (_, Some(decider)) => format!("are refused ({decider})"),
            (_, None) => "wait for another shard".to_owned(),
        };
        row(held.shards, what, &held.example);
    }
    Some(table)
}

fn lead(answer: &RerouteExplanation) -> String {
    let will = [
        (answer.allocated, "puts", "on a node"),
        (answer.moved, "moves", "that cannot stay where they are"),
        (answer.rebalanced, "moves", "for balance"),
    ];
    let will: Vec<String> = will
        .iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, verb, end)| {
            let end = if *number == 1 {
                end.replace("they are", "it is")
            } else {
                (*end).to_owned()
            };
            format!("{verb} {} {end}", units::count(*number, "shard"))
        })
        .collect();
    let mut lead = if will.is_empty() {
        "The next reroute has nothing to do.".to_owned()
    } else {
        format!("The next reroute {}.", units::list(&will))
    };
    match answer.unassigned {
        0 => {}
        1 => lead.push_str(" 1 shard stays unassigned."),
        many => {
            let _ = write!(lead, " {} stay unassigned.", units::count(many, "shard"));
        }
    }
    match answer.stuck {
        0 => {}
        1 => lead.push_str(" 1 shard must leave its node, but no other node can take it now."),
        many => {
            let _ = write!(
                lead,
                " {} must leave their nodes, but no other node can take them now.",
                units::count(many, "shard")
            );
        }
    }
    if let Some(node) = crowded(answer) {
        lead.push(' ');
        lead.push_str(&crowding(node, answer));
    }
    lead
}

/// Returns the node above the low watermark that gets more than its share of the new primaries.
fn crowded(answer: &RerouteExplanation) -> Option<&NodeGain> {
    let share = answer
        .new_primaries
        .div_ceil(answer.data_nodes.max(1) as u64);
    let above = answer.nodes.iter().filter(|node| node.watermark.is_some());
    above
        .filter(|node| node.new_primaries > share)
        .max_by_key(|node| node.new_primaries)
}

fn crowding(node: &NodeGain, answer: &RerouteExplanation) -> String {
    let fewest = answer.nodes.iter().map(|node| node.shards).min();
    let why = words_if(
        fewest == Some(node.shards),
        ", because it has the fewest shards",
    );
    format!(
        "{} gets {} of {} new primaries although it is above the low watermark{why}: empty primaries may \
         go there up to the high one. index.routing.allocation.total_shards_per_node spreads them.",
        name(&node.node),
        node.new_primaries,
        answer.new_primaries
    )
}

/// Shows what the nodes get, those that get most first; `None` if no node gets anything.
fn gains(answer: &RerouteExplanation) -> Option<Table> {
    let mut nodes: Vec<&NodeGain> = answer.nodes.iter().collect();
    nodes.sort_by_key(|node| std::cmp::Reverse((node.new_primaries, node.gets)));
    if nodes
        .iter()
        .all(|node| node.gets == 0 && node.new_primaries == 0)
    {
        return None;
    }
    let new = answer.new_primaries > 0;
    let mut columns = vec![
        "<node",
        "shards",
        "disk used",
        "<above watermark",
        "gets now",
    ];
    columns.extend(new.then_some("new primaries in all"));
    let mut table = Table::new(&columns);
    for node in nodes.iter().take(NODES_MAX) {
        let used = node.used_percent.map(|used| format!("{used:.1} %"));
        let mut row = vec![
            name(&node.node).into_owned(),
            units::grouped(node.shards),
            used.unwrap_or_else(|| "unknown".to_owned()),
            cell(node.watermark, |above| above.replace('_', " ")),
            units::grouped(node.gets),
        ];
        row.extend(new.then(|| units::grouped(node.new_primaries)));
        table.row(row);
    }
    Some(table)
}

/// Lists a decision with the deciders' results for each node.
fn shown(row: &DecisionRow) -> List {
    let kind = if row.primary { "primary" } else { "replica" };
    let what = match (&row.from, &row.to) {
        (Some(from), Some(to)) => format!("moves from {} to {}", name(from), name(to)),
        (None, Some(to)) => format!("goes to {}", name(to)),
        (Some(from), None) => format!("stays on {}", name(from)),
        (None, None) => "stays unassigned".to_owned(),
    };
    let mut items: Vec<String> = row.nodes.iter().take(NODES_MAX).map(node).collect();
    let left_out = row.nodes.len() - items.len();
    if left_out > 0 {
        items.push(format!(
            "{} (--format json shows all)",
            units::count(left_out, "more node")
        ));
    }
    let title = format!(
        "[{}][{}] {kind} {what}: {}",
        units::cut(&row.index, INDEX_COLUMNS_MAX),
        row.shard,
        row.why
    );
    List { title, items }
}

fn node(row: &NodeRow) -> String {
    let mut item = format!("{}: {}", name(&row.node), row.outcome.replace('_', " "));
    if let Some(weight) = row.weight {
        let _ = write!(item, ", weight {}", units::number(f64::from(weight)));
    }
    for decider in &row.deciders {
        let name = decider.decider.unwrap_or("ignored");
        let why = decider
            .explanation
            .as_deref()
            .unwrap_or("it failed there just now");
        let _ = write!(item, "; {} {name}: {why}", decider.decision);
    }
    item
}
