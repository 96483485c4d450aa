//! Slots of a cluster's nodes.

use page::{Commands, Page, Table};
use schemars::JsonSchema;
use serde::Serialize;

/// A slot for each node.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NodesPlan {
    /// Probability that at least two nodes trim at once in a week without slots, if all start within `delay_s` of the
    /// same moment, at random.
    pub overlap_with_delay: f64,
    /// Random delay of a timer that all nodes have, in seconds: `RandomizedDelaySec=`.
    pub delay_s: f64,
    /// When the nodes trim as things are; `null` if their hosts were not read.
    pub today: Option<TrimsToday>,
    /// The arguments of the call, quoted for a shell.
    #[serde(skip)]
    pub command: String,
    /// Whether mount points are among them.
    #[serde(skip)]
    pub has_mounts: bool,
    /// How long the longest pass takes, in seconds; after that it ends, and goes on a week later.
    pub pass_s: f64,
    /// Time zone of all slots.
    pub zone: String,
    /// The nodes, in the order in which they were named; with several filesystems, each node once for each of them.
    pub nodes: Vec<PlannedNode>,
}

/// When hosts trim as their jobs are.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TrimsToday {
    /// Number of hosts whose jobs are known.
    pub hosts: u64,
    /// Probability that at least two of them trim at once in a week, the one after the next, if a pass takes `pass_s`.
    pub overlap: f64,
    /// Whether delays that were drawn once are among them: then two hosts meet every week or never.
    pub is_delay_fixed: bool,
    /// The jobs that trim.
    pub jobs: Vec<String>,
}

/// A node and its slot.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlannedNode {
    /// Its name.
    pub name: String,
    /// When it trims, every week: `Tue 01:00`.
    pub slot: String,
    /// The same for systemd's `OnCalendar=`.
    pub calendar: String,
    /// The same for `trimtab trim --window`.
    pub window: String,
    /// The day on which it begins next: `2026-12-01`.
    pub next: String,
}

/// Nodes and mounts named in the first sentence.
pub(super) const NAMED_MAX: usize = 3;

pub(super) fn page(plan: &NodesPlan) -> Page {
    let mut page = Page::new("trimtab plan", slots_lead(plan));
    page.push(slots(plan));
    let mount = if plan.has_mounts { "" } else { " MOUNT" };
    page.push(Commands::new(
        "to do it, on each node (without --apply it shows what would be changed there):",
        format!("sudo trimtab plan --apply {}{mount}", plan.command),
    ));
    page
}

pub(super) fn slots(plan: &NodesPlan) -> Table {
    let mut table = Table::new(&["<node", "<slot", "<next", "<OnCalendar="]);
    for node in &plan.nodes {
        table.row([
            node.name.clone(),
            node.slot.clone(),
            node.next.clone(),
            node.calendar.clone(),
        ]);
    }
    table
}

/// Names the first slots and counts the others: `db1 Tue 01:00, db2 Tue 02:00, and 7 more (UTC)`.
pub(super) fn first_slots<'a>(
    all: impl Iterator<Item = (String, &'a PlannedNode)>,
    zone: &str,
) -> String {
    let all: Vec<String> = all
        .map(|(name, node)| format!("{name} {}", node.slot))
        .collect();
    let more = match all.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let named = &all[..all.len().min(NAMED_MAX)];
    format!("{}{more} ({zone})", named.join(", "))
}

pub(super) fn slots_lead(plan: &NodesPlan) -> String {
    let pass = units::seconds(plan.pass_s);
    let nodes = plan.nodes.iter();
    let named = first_slots(nodes.map(|node| (node.name.clone(), node)), &plan.zone);
    let count = plan.nodes.len();
    if count < 2 {
        return format!("One node needs no slot of its own, and gets {named}.");
    }
    let slots = format!(
        "With these slots, no two of the {count} nodes ever trim at the same time: {named}."
    );
    let Some(today) = &plan.today else {
        let overlap = units::share::score(plan.overlap_with_delay);
        return format!(
            "{slots} With a timer's random delay of {}, at least two do in {overlap} of all weeks, if a pass takes {pass}.",
            units::seconds(plan.delay_s),
        );
    };
    let known = if today.hosts == count as u64 {
        String::new()
    } else {
        format!(" of the {} whose jobs are known", today.hosts)
    };
    if today.jobs.is_empty() {
        return format!("{slots} As things are, no job trims them.");
    }
    let overlap = units::share::score(today.overlap);
    let (often, always) = if today.is_delay_fixed {
        (
            format!("with a probability of {overlap}"),
            ", and then every week, since a delay that was drawn once stays",
        )
    } else {
        (format!("in {overlap} of all weeks"), "")
    };
    format!(
        "As things are, at least two{known} trim at the same time {often}, if a pass takes {pass} ({}){always}. {slots}",
        units::list(&today.jobs),
    )
}
