//! Results and pages of `trimtab livefix`.

use super::phrases::{milliseconds, range};
use crate::envelope::{Answer, Envelope};
use livefix::{Change, Need, NodeStatus, Process, Role, Status};
use page::{Block, Commands, Facts, Page, Section, Table};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// A result about the live fix; `kind` is its type.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LivefixAnswer {
    /// A cluster.
    Cluster(Box<Status>),
    /// A process.
    Process(Process),
    /// An installation.
    Install(Edited),
    /// A removal.
    Uninstall(Edited),
}

/// Changes of a configuration directory.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Edited {
    /// The server's version; `null` if it is not known.
    pub version: Option<String>,
    /// Whether the files were changed, or would be.
    pub is_done: bool,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// Options of the call, quoted for a shell.
    #[serde(skip)]
    pub command: String,
}

impl Answer for LivefixAnswer {
    const SCHEMA: &'static str = "trimtab.livefix/1";
    const TITLE: &'static str = "trimtab livefix";
    const JSON_SCHEMA: &'static str = include_str!("../../schemas/livefix.json");
}

/// Builds the page of a result.
pub fn page(answer: &Envelope<LivefixAnswer>) -> Page {
    let source = answer.source.as_str();
    let mut page = match &answer.result {
        LivefixAnswer::Cluster(status) => of_cluster(status),
        LivefixAnswer::Process(process) => of_process(process),
        LivefixAnswer::Install(edited) => of_edit(edited, source, true),
        LivefixAnswer::Uninstall(edited) => of_edit(edited, source, false),
    };
    page.about = vec![format!("Source: {source}; trimtab {}", answer.tool_version)];
    page.cautions.clone_from(&answer.warnings);
    page
}

fn of_cluster(status: &Status) -> Page {
    let mut page = Page::new("trimtab livefix", lead(status));
    if let Some(nodes) = &status.nodes {
        let mut table = Table::new(&["<node", "<version", "<role", "<live fix"]);
        for node in nodes {
            table.row([
                node.name.clone(),
                node.version.clone().unwrap_or_else(|| "unknown".to_owned()),
                role(node).to_owned(),
                has_fix(node).to_owned(),
            ]);
        }
        page.push(table);
    }
    page.push(figures(status));
    let missing = status.without_agent();
    if !missing.is_empty() {
        let mut section = Section::new("To install it");
        let names: Vec<&str> = missing.iter().map(|node| node.name.as_str()).collect();
        section.push(Commands::new(
            format!("on {}:", units::list(&names)),
            "sudo trimtab livefix install --config /etc/elasticsearch --yes",
        ));
        section.push(Block::text(format!(
            "Then restart one after the other, each when the one before has joined again, the master last: {}.",
            units::list(&names)
        )));
        page.push(section);
    }
    page
}

fn lead(status: &Status) -> String {
    match status.need {
        Need::NotNeeded => {
            return format!("{} does not need the live fix.", status.server);
        }
        Need::NotTried => {
            return format!(
                "The live fix was not tested on {}: it is for Elasticsearch 6.8 to 7.5.",
                status.server
            );
        }
        Need::Needed => {}
    }
    let Some(nodes) = &status.nodes else {
        return format!(
            "{} needs the live fix. The cluster did not report its nodes.",
            status.server
        );
    };
    let eligible = nodes.iter().filter(|node| node.role != Role::Other).count() as u64;
    let missing = status.without_agent().len() as u64;
    let eligible = units::count(eligible, "master-eligible node");
    let where_it_is = match missing {
        0 => format!("The live fix is loaded on {eligible}."),
        missing => format!(
            "The live fix is missing on {} of {eligible}.",
            units::count::grouped(missing)
        ),
    };
    match (&status.with_scan, &status.with_fix) {
        (Some(scan), Some(fix)) => format!(
            "{where_it_is} A reroute takes the master {} with it, and {} without.",
            milliseconds(fix.reroute_ms),
            milliseconds(scan.reroute_ms)
        ),
        _ => format!(
            "{where_it_is} Its effect cannot be predicted: reroutes do not scan here (one data node, or a setting), \
             or the cluster did not report its shards and settings."
        ),
    }
}

fn role(node: &NodeStatus) -> &'static str {
    match node.role {
        Role::Master => "master",
        Role::MasterEligible => "master-eligible",
        Role::Other => "other",
    }
}

fn has_fix(node: &NodeStatus) -> &'static str {
    match (node.has_agent, node.role, node.need) {
        (true, ..) => "loaded",
        (false, Role::Other, _) | (false, _, Need::NotNeeded) => "not needed",
        (false, _, Need::NotTried) => "not tried",
        (false, _, Need::Needed) => "missing",
    }
}

fn figures(status: &Status) -> Facts {
    let mut facts = Facts::default();
    if let (Some(scan), Some(fix)) = (&status.with_scan, &status.with_fix) {
        for (label, predicted) in [("without", scan), ("with", fix)] {
            let least = milliseconds(predicted.create_least_ms);
            let most = milliseconds(predicted.create_most_ms);
            let words = format!(
                "{} a reroute, {} to create an index (predicted)",
                milliseconds(predicted.reroute_ms),
                range(&least, &most)
            );
            facts.push(label, words);
        }
    }
    if let Some(waiting) = status.waiting {
        let words = match waiting.tasks {
            0 => "no task waits for the master".to_owned(),
            tasks => format!(
                "{} for the master, the first for {}",
                units::count::counted(tasks, "task waits", "tasks wait"),
                units::duration(Duration::from_millis(waiting.longest_ms))
            ),
        };
        facts.push("now", words);
    }
    facts
}

fn of_process(process: &Process) -> Page {
    let server = match &process.version {
        Some(version) => format!("Elasticsearch {version}"),
        None => "Elasticsearch of an unknown version".to_owned(),
    };
    let words: &str = match (process.need, &process.jar) {
        (_, Some(jar)) => &format!(
            ", has loaded the live fix from {jar}. Its log says whether it is active (search for livefix)."
        ),
        (Some(Need::Needed), None) => ", lacks the live fix.",
        (Some(Need::NotNeeded), None) => ", does not need the live fix.",
        (Some(Need::NotTried), None) => ": the live fix was not tested on it.",
        (None, None) => ", runs without the live fix.",
    };
    Page::new(
        "trimtab livefix",
        format!("Process {}, {server}{words}", process.pid),
    )
}

fn of_edit(edited: &Edited, config: &str, is_install: bool) -> Page {
    let files = units::count(edited.changes.len() as u64, "file");
    let lead = match (edited.is_done, is_install) {
        (false, true) => format!(
            "Nothing was changed. To install the live fix for Elasticsearch {}, {files} in {config} would be:",
            edited.version.as_deref().unwrap_or_default()
        ),
        (false, false) => {
            format!("Nothing was changed. To remove the live fix, {files} in {config} would be:")
        }
        (true, true) => {
            "The live fix is installed, and active once the node is restarted.".to_owned()
        }
        (true, false) => {
            "The live fix is removed, and inactive once the node is restarted.".to_owned()
        }
    };
    let mut page = Page::new("trimtab livefix", lead);
    let changes = edited.changes.iter();
    page.push(Facts::of(
        changes.map(|change| (&change.name, &change.what)),
    ));
    let word = if is_install { "install" } else { "uninstall" };
    if edited.is_done {
        page.push(Commands::new(
            "when it is this node's turn, the elected master last:",
            "systemctl restart elasticsearch",
        ));
        if is_install {
            page.push(Commands::new(
                "what it says of itself, and where it is missing:",
                "journalctl -u elasticsearch | grep trimtab-livefix\ntrimtab livefix status http://localhost:9200",
            ));
            page.push(Commands::new(
                "to remove it:",
                format!("sudo trimtab livefix uninstall {} --yes", edited.command),
            ));
        }
    } else {
        page.push(Commands::new(
            "to do it:",
            format!("sudo trimtab livefix {word} {} --yes", edited.command),
        ));
    }
    page
}
