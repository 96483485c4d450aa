//! Result and page of `trimtab plan`.

use crate::envelope::{Answer, Envelope};
use page::{Block, Commands, Page, Section, Table, Tone};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// A slot for each node.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlanAnswer {
    /// Probability that at least two nodes trim at once in a week without slots, if all start within `delay_s` of the
    /// same moment, at random.
    pub overlap_with_delay: f64,
    /// Random delay of a timer that all nodes have, in seconds: `RandomizedDelaySec=`.
    pub delay_s: f64,
    /// How long the longest pass takes, in seconds; after that it ends, and goes on a week later.
    pub pass_s: f64,
    /// Time zone of all slots.
    pub zone: String,
    /// What is trimmed on each node; `null` if it was not named.
    pub mount: Option<String>,
    /// The nodes, in the order in which they were named.
    pub nodes: Vec<PlannedNode>,
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

impl Answer for PlanAnswer {
    const SCHEMA: &'static str = "trimtab.plan/1";
    const TITLE: &'static str = "trimtab plan";
}

/// Name of the drop-ins.
const FILE: &str = "trimtab-plan.conf";
/// Nodes named in the first sentence.
const NAMED_MAX: usize = 3;

/// Builds the page. In a document the commands of all nodes are shown, otherwise those of the first.
pub fn page(answer: &Envelope<PlanAnswer>, is_document: bool) -> Page {
    let plan = &answer.result;
    let mut page = Page {
        title: "trimtab plan".to_owned(),
        lead: lead(plan),
        tone: Tone::Strong,
        about: vec![format!(
            "Nothing was changed; trimtab {}",
            answer.tool_version
        )],
        ..Page::default()
    };
    let mut table = Table::new(&["<node", "<slot", "<next", "<OnCalendar="]);
    for node in &plan.nodes {
        table.row([
            node.name.clone(),
            node.slot.clone(),
            node.next.clone(),
            node.calendar.clone(),
        ]);
    }
    page.push(Block::Table(table));
    let Some(mount) = &plan.mount else {
        page.push(Block::text(
            "With --mount MOUNT, the commands that set up trimtab's own timer on each node follow.",
        ));
        return page;
    };
    let shown = if is_document { plan.nodes.len() } else { 1 };
    let mut section = Section::new("To set it up");
    section.push(Block::text(
        "The commands need the packaged units trimtab-trim@.timer and trimtab-trim@.service. They replace \
         TRIMTAB_TRIM_OPTIONS: add what yours had, such as --max-latency or --probe. What else trims this filesystem has \
         to be switched off: `trimtab check` names it, with the command.",
    ));
    for node in plan.nodes.iter().take(shown) {
        section.push(Commands {
            title: format!("on {}:", node.name),
            lines: commands(plan, node, mount),
        });
    }
    if shown < plan.nodes.len() {
        section.push(Block::text("-o plan.md writes those of all nodes."));
    }
    section.push(Commands {
        title: "To take it back, on any of them:".to_owned(),
        lines: undo(mount),
    });
    page.push(Block::Section(section));
    page
}

fn lead(plan: &PlanAnswer) -> String {
    let pass = units::seconds(plan.pass_s);
    let slots: Vec<String> = plan
        .nodes
        .iter()
        .take(NAMED_MAX)
        .map(|node| format!("{} {}", node.name, node.slot))
        .collect();
    let more = plan.nodes.len() - slots.len();
    let more = if more > 0 {
        format!(", and {more} more")
    } else {
        String::new()
    };
    let slots = format!("{}{more} ({})", slots.join(", "), plan.zone);
    let count = plan.nodes.len();
    if count < 2 {
        return format!("One node needs no slot of its own, and gets {slots}.");
    }
    let overlap = units::share::score(plan.overlap_with_delay);
    format!(
        "With these slots, never do two of {count} nodes trim at once: {slots}. With a timer's random delay of {}, at \
         least two do in {overlap} of all weeks, if a pass takes {pass}.",
        units::seconds(plan.delay_s),
    )
}

/// The commands that set up the timer on one node. Their files sort after `override.conf`, which `systemctl edit` writes,
/// so that they take precedence.
fn commands(plan: &PlanAnswer, node: &PlannedNode, mount: &str) -> String {
    let mount = rules::shell::quote(mount);
    let options = format!(
        "--window {} --tz {} --deadline {}",
        node.window,
        plan.zone,
        units::duration::argument(Duration::from_secs_f64(plan.pass_s))
    );
    format!(
        "unit=\"trimtab-trim@$(systemd-escape --path {mount})\"\n\
         sudo mkdir -p \"/etc/systemd/system/$unit.timer.d\" \"/etc/systemd/system/$unit.service.d\"\n\
         printf '%s\\n' '[Timer]' 'OnCalendar=' 'OnCalendar={}' 'AccuracySec=1s' 'RandomizedDelaySec=0' |\n  \
         sudo tee \"/etc/systemd/system/$unit.timer.d/{FILE}\"\n\
         printf '%s\\n' '[Service]' 'Environment=\"TRIMTAB_TRIM_OPTIONS={options}\"' |\n  \
         sudo tee \"/etc/systemd/system/$unit.service.d/{FILE}\"\n\
         sudo systemctl daemon-reload\n\
         sudo systemctl enable \"$unit.timer\"\n\
         sudo systemctl restart \"$unit.timer\"",
        node.calendar
    )
}

/// Takes back what [`commands`] has done.
fn undo(mount: &str) -> String {
    let mount = rules::shell::quote(mount);
    format!(
        "unit=\"trimtab-trim@$(systemd-escape --path {mount})\"\n\
         sudo systemctl disable --now \"$unit.timer\"\n\
         sudo rm \"/etc/systemd/system/$unit.timer.d/{FILE}\" \"/etc/systemd/system/$unit.service.d/{FILE}\"\n\
         sudo systemctl daemon-reload"
    )
}
