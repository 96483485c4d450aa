//! Runs the server and the crate side by side, step by step, up to the first difference.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use shards::engine::Engine;

use crate::answer::{Answer, differences};
use crate::driver::Driver;
use crate::generate;
use crate::ours::Ours;
use crate::plan::{Known, Planner, fit};
use crate::rng::Rng;
use crate::seen::Seen;
use crate::spec::{ClusterSpec, IndexSpec, Planned, Script, Settings, Step};
use crate::world::{World, info};

/// The first difference between the two.
#[derive(Debug, Clone)]
pub struct Difference {
    /// Position of the step in the script; `None` for the initial cluster.
    pub at: Option<usize>,
    pub lines: Vec<String>,
}

/// Result of a run.
pub struct Run {
    pub difference: Option<Difference>,
    /// Number of steps on which both sides agreed.
    pub steps: usize,
    /// Whether it ended early because of a bug in the server itself.
    pub server_failed: bool,
}

/// Exception that 7.4.0 throws in every round once more bytes are being relocated to a node than it has
/// free: `DiskThresholdDecider` constructs a `ByteSizeValue` from the difference before checking it.
/// There is then no decision to compare.
const NEGATIVE_FREE: &str = "Values less than -1 bytes are not supported";

/// Names that exist at the current step of a script, and the current settings.
struct Names {
    nodes: BTreeSet<String>,
    /// Whether each index is closed.
    indices: BTreeMap<String, bool>,
    settings: Settings,
}

impl Names {
    fn new(cluster: &ClusterSpec) -> Self {
        let nodes = cluster.nodes.iter();
        let indices = cluster.indices.iter();
        Self {
            nodes: nodes.map(|node| node.id.clone()).collect(),
            indices: indices
                .map(|index| (index.name.clone(), index.closed))
                .collect(),
            settings: cluster.settings.clone(),
        }
    }

    fn known(&self, name: &str) -> Known {
        match self.indices.get(name) {
            Some(true) => Known::Closed,
            Some(false) => Known::Open,
            None if self.nodes.contains(name) => Known::Node,
            None => Known::Nothing,
        }
    }

    /// Whether a step must be skipped because it would leave no node to be master.
    fn is_refused(&self, step: &Step) -> bool {
        matches!(step, Step::NodeLeft { nodes } if nodes.len() >= self.nodes.len())
    }

    fn follow(&mut self, step: &Step) {
        match step {
            Step::NodeLeft { nodes } => self.nodes.retain(|id| !nodes.contains(id)),
            Step::NodeJoined { nodes } => {
                self.nodes.extend(nodes.iter().map(|node| node.id.clone()));
            }
            Step::Create { indices } => {
                let new = indices.iter();
                self.indices
                    .extend(new.map(|index| (index.name.clone(), index.closed)));
            }
            Step::Delete { indices } => self.indices.retain(|name, _| !indices.contains(name)),
            Step::Close { indices } | Step::Open { indices } => {
                let closed = matches!(step, Step::Close { .. });
                for name in indices {
                    self.indices.insert(name.clone(), closed);
                }
            }
            Step::Settings { settings } => self.settings.clone_from(settings),
            _ => {}
        }
    }
}

/// The script for a seed: the initial cluster, with a planner for the steps.
pub fn script(seed: u64) -> (Script, Planner) {
    let mut rng = Rng::new(seed);
    let (cluster, names) = generate::cluster(&mut rng);
    let info = rng.chance(85).then(|| rng.next());
    let planner = Planner::new(rng, names, &cluster);
    let script = Script {
        seed,
        cluster,
        info,
        steps: Vec::new(),
    };
    (script, planner)
}

/// Runs a script. With a planner, the steps are planned on the go and recorded in the script.
pub fn run(
    driver: &mut Driver,
    script: &mut Script,
    mut planner: Option<&mut Planner>,
    seen: &mut Seen,
) -> Run {
    seen.cluster(&script.cluster);
    let mut world = World::new(script.seed, &script.cluster);
    let mut names = Names::new(&script.cluster);
    let first = world.at_first();
    let differs = |at, lines| Run {
        difference: Some(Difference { at, lines }),
        steps: at.unwrap_or(0),
        server_failed: false,
    };
    let mut answer = match driver.cluster(&script.cluster, &first) {
        Ok(answer) => answer,
        Err(thrown) => return differs(None, server_threw(&thrown.error, &thrown.stack)),
    };
    // Both engines, which must agree.
    let mut sides = [
        ("scan", Engine::scan as fn() -> Engine),
        ("incremental", Engine::incremental),
    ]
    .map(|(name, engine)| {
        (
            name,
            Ours::new(&script.cluster, &answer.order, &first, engine),
        )
    });
    for (name, ours) in &mut sides {
        if let Some(lines) = without_panic(|| compare(&answer, ours)) {
            return differs(None, with_name(lines, name));
        }
    }
    let mut changed = true;
    let mut steps = 0;
    for at in 0.. {
        if let Some(planner) = &mut planner {
            match planner.next(&answer, changed) {
                Some(due) => script.steps.push(due),
                None => break,
            }
        }
        let Some(due) = script.steps.get(at) else {
            break;
        };
        let Some(step) = fit(&due.step, &answer, &|name| names.known(name)) else {
            continue;
        };
        if names.is_refused(&step) {
            continue;
        }
        seen.step(&step);
        names.follow(&step);
        world.follow(&answer);
        let mut with = world.attached(due, at, &answer);
        // Paths belong to copies, so the first reading needs existing copies.
        if at == 0 && with.info.is_none() {
            with.info = script.info.map(|seed| info(seed, &answer));
        }
        let next = match driver.step(&step, &with) {
            Ok(next) => next,
            Err(thrown) if thrown.error.contains(NEGATIVE_FREE) => {
                return Run {
                    difference: None,
                    steps,
                    server_failed: true,
                };
            }
            Err(thrown) => return differs(Some(at), server_threw(&thrown.error, &thrown.stack)),
        };
        for (name, ours) in &mut sides {
            let made = without_panic(|| match ours.step(&step, &with, &next.order) {
                Ok(()) => compare(&next, ours),
                Err(error) => Some(vec![format!("ours refused the step: {error}")]),
            });
            if let Some(lines) = made {
                return differs(Some(at), with_name(lines, name));
            }
        }
        seen.state(&next);
        changed = !next.same_copies(&answer);
        answer = next;
        steps += 1;
    }
    Run {
        difference: None,
        steps,
        server_failed: false,
    }
}

/// Turns a panic in our code into a difference, so that it is reported and shrunk and the next cluster
/// still runs.
fn without_panic(of: impl FnOnce() -> Option<Vec<String>>) -> Option<Vec<String>> {
    catch_unwind(AssertUnwindSafe(of)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Some(vec![format!(
            "ours panicked: {}",
            text.unwrap_or("without words")
        )])
    })
}

fn with_name(mut lines: Vec<String>, engine: &str) -> Vec<String> {
    lines.push(format!("(engine: {engine})"));
    lines
}

fn server_threw(error: &str, stack: &[String]) -> Vec<String> {
    let mut lines = vec![format!("the server threw {error}")];
    lines.extend(stack.iter().map(|frame| format!("  {frame}")));
    lines
}

fn compare(server: &Answer, ours: &mut Ours) -> Option<Vec<String>> {
    let first = ours.answer();
    ours.adopt_trimmed(server);
    let lines = match first.and_then(|_| ours.answer()) {
        Ok(ours) => differences(server, &ours),
        Err(error) => vec![format!("our table is broken: {error}")],
    };
    (!lines.is_empty()).then_some(lines)
}

/// Removes from a script whatever is not needed to reproduce the difference: later steps, indices, nodes,
/// earlier steps, settings. Uses at most `budget` runs.
pub fn shrink(
    driver: &mut Driver,
    script: &mut Script,
    difference: &mut Difference,
    mut budget: usize,
) {
    let mut attempt = |candidate: Script, script: &mut Script, difference: &mut Difference| {
        if budget == 0 {
            return false;
        }
        budget -= 1;
        let mut candidate = candidate;
        let found = run(driver, &mut candidate, None, &mut Seen::default()).difference;
        match found {
            // Following a different difference would be misleading.
            Some(found) if same_kind(&found, difference) => {
                if let Some(at) = found.at {
                    candidate.steps.truncate(at + 1);
                }
                *script = candidate;
                *difference = found;
                true
            }
            _ => false,
        }
    };
    if let Some(at) = difference.at {
        script.steps.truncate(at + 1);
    }
    // Remove halves first, then quarters, down to single items.
    let remove: [fn(&mut Script, usize, usize) -> usize; 3] = [
        |script, from, to| cut(&mut script.cluster.indices, from, to),
        |script, from, to| {
            let last = script.steps.len().saturating_sub(1);
            cut(&mut script.steps, from, to.min(last))
        },
        |script, from, to| {
            let keys: Vec<String> = script.cluster.settings.keys().cloned().collect();
            let keys = &keys[from.min(keys.len())..to.min(keys.len())];
            for key in keys {
                script.cluster.settings.remove(key);
            }
            keys.len()
        },
    ];
    for way in remove {
        let mut size = 1 << 10;
        while size > 0 {
            let mut from = 0;
            loop {
                let mut candidate = script.clone();
                if way(&mut candidate, from, from + size) == 0 {
                    break;
                }
                if !attempt(candidate, script, difference) {
                    from += size;
                }
            }
            size /= 2;
        }
    }
    for at in (0..script.cluster.nodes.len()).rev() {
        let mut candidate = script.clone();
        let gone = candidate.cluster.nodes.remove(at).id;
        candidate
            .cluster
            .indices
            .retain(|index| !lies_on(index, &gone));
        if !candidate.cluster.nodes.is_empty() {
            attempt(candidate, script, difference);
        }
    }
}

fn cut<T>(list: &mut Vec<T>, from: usize, to: usize) -> usize {
    let (from, to) = (from.min(list.len()), to.min(list.len()));
    list.drain(from..to.max(from)).count()
}

fn lies_on(index: &IndexSpec, node: &str) -> bool {
    let copies = index.shards.iter().flatten().flatten();
    copies
        .flat_map(|copy| copy.node.iter().chain(&copy.to))
        .any(|id| id == node)
}

fn same_kind(a: &Difference, b: &Difference) -> bool {
    let kind = |difference: &Difference| {
        let first = difference.lines.first().map_or("", String::as_str);
        first
            .split([' ', ':'])
            .take(2)
            .collect::<Vec<_>>()
            .join(" ")
    };
    kind(a) == kind(b)
}

fn place(difference: &Difference) -> String {
    difference
        .at
        .map_or("as given".to_owned(), |at| format!("after step {at}"))
}

/// A one-line summary of a difference.
pub fn in_short(script: &Script, difference: &Difference) -> String {
    let first = difference.lines.first().map_or("", String::as_str);
    format!(
        "SEED={} differs {}: {first}",
        script.seed,
        place(difference)
    )
}

/// A full report of a difference.
pub fn report(script: &Script, difference: &Difference) -> String {
    let mut text = format!("SEED={} COUNT=1 make test-shards\n", script.seed);
    let mut names = Names::new(&script.cluster);
    let upto = difference.at.map_or(0, |at| at + 1);
    for planned in script.steps.iter().take(upto) {
        names.follow(&planned.step);
    }
    let _ = writeln!(
        text,
        "{} nodes, {} indices; settings {:?}",
        script.cluster.nodes.len(),
        script.cluster.indices.len(),
        names.settings
    );
    if script.cluster.nodes.len() <= 6 {
        for node in &script.cluster.nodes {
            let (id, data, version) = (&node.id, node.data, &node.version);
            let _ = writeln!(
                text,
                "  node {id} {} {} {} data={data} {version} {:?}",
                node.name, node.host, node.address, node.attributes
            );
        }
    }
    if script.cluster.indices.len() <= 6 {
        for index in &script.cluster.indices {
            let (name, closed) = (&index.name, index.closed);
            let _ = writeln!(text, "  index {name} closed={closed} {:?}", index.settings);
        }
    }
    for (at, planned) in script.steps.iter().enumerate().take(upto) {
        let _ = writeln!(text, "  step {at}: {}", brief(planned));
    }
    let _ = writeln!(text, "differs {}:", place(difference));
    for line in &difference.lines {
        let _ = writeln!(text, "  {line}");
    }
    text
}

fn brief(planned: &Planned) -> String {
    const SHOWN: usize = 300;
    let mut text = format!("{:?}", planned.step);
    if text.chars().count() > SHOWN {
        text = text.chars().take(SHOWN).collect::<String>() + "...";
    }
    let info = if planned.info.is_some() {
        ", disks read anew"
    } else {
        ""
    };
    let pending = planned.pending_percent;
    format!(
        "{text}{info}{}",
        if pending > 0 { ", fetches pending" } else { "" }
    )
}
