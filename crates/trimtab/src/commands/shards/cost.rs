//! `trimtab shards cost`.

use super::args::Cost;
use super::document;
use super::words::{ms, wrapped};
use crate::commands::ssd::table;
use crate::error::CommandError;
use report::{count, grouped};
use schemars::JsonSchema;
use serde::Serialize;
use shards::cost::{
    Course, IndexShape, Operation, OperationCost, Shape, Step, measured_range, operation,
    operations, predict,
};
use shards::profile::{PROFILES, Profile};
use std::process::ExitCode;

/// What a reroute and operations on an index take.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The server asked for: `Elasticsearch 7.4.0`.
    pub server: String,
    /// The version whose code was measured.
    pub measured_version: String,
    /// Copies of shards, closed indices included.
    pub shards: u64,
    /// Those of closed indices.
    pub closed_shards: u64,
    /// Those in the routing table of this version.
    pub routed_shards: u64,
    /// Indices, open and closed, as they were told or taken to be.
    pub indices: u64,
    /// Data nodes.
    pub data_nodes: u32,
    /// Primaries of the index that operations are about.
    pub primaries: u32,
    /// Replicas of each.
    pub replicas: u32,
    /// A reroute with nothing to do.
    pub reroute: RerouteTime,
    /// What operations on the index take.
    pub operations: Vec<OperationRow>,
    /// The same cluster on each version.
    pub versions: Vec<VersionRow>,
    /// The same cluster with `cluster.routing.allocation.disk.include_relocations: false`; null where
    /// that changes nothing: the version does not scan, there is one data node, or it is so already.
    pub without_relocations: Option<Alternative>,
}

/// A reroute.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RerouteTime {
    /// Processor time of the master, milliseconds.
    pub ms: f64,
    /// By which factor the worst held-back size was off when the model was checked.
    pub held_back_factor: f64,
    /// Whether the cluster lies outside the sizes that were measured.
    pub extrapolated: bool,
}

/// An operation, until all copies have started.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OperationRow {
    /// `create`, `delete`, `open`, `close`.
    pub operation: &'static str,
    /// Copies that recover at once report at once.
    pub least: CourseRow,
    /// Each copy reports alone, and has a reroute to itself.
    pub most: CourseRow,
    /// By which factor the worst held-back size of its steps was off when the model was checked.
    pub held_back_factor: f64,
}

/// One way an operation may go.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CourseRow {
    /// Reroutes.
    pub reroutes: u64,
    /// Batches of started copies.
    pub start_batches: u64,
    /// Processor time of the master for all of it, milliseconds.
    pub ms: f64,
}

/// The same cluster on another version.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VersionRow {
    /// `7.4 to 7.5`.
    pub versions: &'static str,
    /// Whether it is the one asked for.
    pub asked: bool,
    /// Copies in its routing table.
    pub routed_shards: u64,
    /// What it takes there.
    #[serde(flatten)]
    pub times: Alternative,
}

/// What it would take instead.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct Alternative {
    /// A reroute, milliseconds.
    pub reroute_ms: f64,
    /// The worst held-back size of a reroute was off by this factor.
    pub reroute_held_back_factor: f64,
    /// Creating the index, with the fewest reroutes, milliseconds.
    pub create_least_ms: f64,
    /// With the most, milliseconds.
    pub create_most_ms: f64,
}

/// Predicts and prints.
///
/// # Errors
/// When standard output cannot be written.
pub fn run(arguments: &Cost) -> Result<ExitCode, CommandError> {
    let (answer, warnings) = answer(arguments);
    let answer = document::Answer::Cost(Box::new(answer));
    super::print("arguments", arguments.format, answer, warnings)?;
    Ok(ExitCode::SUCCESS)
}

fn answer(arguments: &Cost) -> (Answer, Vec<String>) {
    let closed_share = arguments.closed.unwrap_or(0.0);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of at most 100 million"
    )]
    let closed_copies = (arguments.shards as f64 * closed_share).round() as u64;
    let shape = Shape {
        data_nodes: arguments.nodes,
        copies: arguments.shards,
        closed_copies,
        shards: arguments.shards.div_ceil(1 + u64::from(arguments.replicas)),
        indices: arguments.indices.unwrap_or_else(|| {
            let by_index = u64::from(arguments.primaries) * (1 + u64::from(arguments.replicas));
            arguments.shards.div_ceil(by_index)
        }),
        disk_scan: !arguments.without_relocations,
    };
    let index = IndexShape {
        primaries: arguments.primaries,
        replicas: arguments.replicas,
    };
    let profile = arguments.version.profile;
    let reroute = predict(profile, Step::Reroute, &shape);
    let warnings = warnings(arguments, &shape, reroute.extrapolated);
    let answer = Answer {
        server: arguments.version.to_string(),
        measured_version: profile.measured.to_owned(),
        shards: shape.copies,
        closed_shards: closed_copies,
        routed_shards: shape.routed(profile),
        indices: shape.indices,
        data_nodes: shape.data_nodes,
        primaries: index.primaries,
        replicas: index.replicas,
        reroute: RerouteTime {
            ms: reroute.ms,
            held_back_factor: reroute.held_back_factor,
            extrapolated: reroute.extrapolated,
        },
        operations: operations(profile, &shape, index)
            .iter()
            .map(operation_row)
            .collect(),
        versions: PROFILES
            .iter()
            .map(|&other| VersionRow {
                versions: other.versions,
                asked: other == profile,
                routed_shards: shape.routed(other),
                times: alternative(other, &shape, index),
            })
            .collect(),
        without_relocations: (profile.scans && shape.disk_scan && shape.data_nodes > 1).then(
            || {
                let without = Shape {
                    disk_scan: false,
                    ..shape
                };
                alternative(profile, &without, index)
            },
        ),
    };
    (answer, warnings)
}

fn warnings(arguments: &Cost, shape: &Shape, extrapolated: bool) -> Vec<String> {
    let mut warnings: Vec<String> = arguments.version.warning.iter().cloned().collect();
    if extrapolated {
        let (least, most, nodes_least, nodes_most) = measured_range();
        warnings.push(format!(
            "Measured were {} to {} shards in the routing table on {nodes_least} to {nodes_most} data \
             nodes; this cluster has {} on {}: the model is drawn out to it, and may be off by \
             much more than where it was checked (docs/shards.md).",
            grouped(least),
            grouped(most),
            grouped(shape.routed(arguments.version.profile)),
            shape.data_nodes,
        ));
    }
    warnings
}

fn operation_row(cost: &OperationCost) -> OperationRow {
    OperationRow {
        operation: cost.operation.name(),
        least: course_row(&cost.least),
        most: course_row(&cost.most),
        held_back_factor: cost.held_back_factor,
    }
}

fn course_row(course: &Course) -> CourseRow {
    CourseRow {
        reroutes: course.reroutes,
        start_batches: course.start_batches,
        ms: course.ms,
    }
}

fn alternative(profile: &Profile, shape: &Shape, index: IndexShape) -> Alternative {
    let reroute = predict(profile, Step::Reroute, shape);
    let create = operation(profile, shape, index, Operation::Create);
    Alternative {
        reroute_ms: reroute.ms,
        reroute_held_back_factor: reroute.held_back_factor,
        create_least_ms: create.least.ms,
        create_most_ms: create.most.ms,
    }
}

/// The answer for people.
pub fn text(answer: &Answer) -> String {
    let closed = match answer.closed_shards {
        0 => String::new(),
        closed => format!(", {} of them of closed indices", grouped(closed)),
    };
    let mut text = wrapped(
        "",
        &format!(
            "{}: {}{closed}, in {} {}, on {}",
            answer.server,
            count(answer.shards, "shard"),
            grouped(answer.indices),
            if answer.indices == 1 {
                "index"
            } else {
                "indices"
            },
            count(answer.data_nodes, "data node"),
        ),
    );
    if answer.closed_shards > 0 {
        let word = if answer.routed_shards == answer.shards {
            "Closed indices stay in the routing table of this version (from 7.2 on)."
        } else {
            "Closed indices are not in the routing table of this version (before 7.2)."
        };
        text += &wrapped("", word);
    }
    text += "\n";
    text += &table::text(
        &["", "reroutes", "master's time", "right within\na factor of"],
        &operation_table(answer),
        1,
    );
    text += "\n";
    text += &wrapped(
        "",
        &format!(
            "The index has {} with {} each, and the time is until all have started: from the fewest \
             reroutes (shards that recover at once report at once) to the most (each reports alone). \
             It is a sum of what the master computes, one step after the other; the other changes of \
             the cluster wait for it.",
            count(answer.primaries, "primary shard"),
            count(answer.replicas, "replica"),
        ),
    );
    text += "\nThe same cluster on other versions:\n";
    text += &table::text(
        &[
            "version",
            "shards\nrouted",
            "a reroute\ntakes",
            "right within\na factor of",
            "creating the\nindex takes",
        ],
        &version_table(answer),
        1,
    );
    text += "\n";
    text += &wrapped(
        "",
        &format!(
            "Processor time on the machine that measured {}. The factor is that of the worst of the \
             sizes that were held back when the model was checked. On another machine all times are \
             longer or shorter, and their ratios stay: compare them with each other.",
            answer.measured_version,
        ),
    );
    text
}

fn operation_table(answer: &Answer) -> Vec<Vec<String>> {
    let first = vec![
        "reroute, nothing to do".to_owned(),
        "1".to_owned(),
        ms(answer.reroute.ms),
        factor(answer.reroute.held_back_factor),
    ];
    let others = answer.operations.iter().map(|row| {
        vec![
            format!("{} an index", row.operation),
            from_to(
                &row.least.reroutes.to_string(),
                &row.most.reroutes.to_string(),
            ),
            from_to(&ms(row.least.ms), &ms(row.most.ms)),
            factor(row.held_back_factor),
        ]
    });
    std::iter::once(first).chain(others).collect()
}

fn version_table(answer: &Answer) -> Vec<Vec<String>> {
    let cells = |name: String, routed: u64, times: &Alternative| {
        vec![
            name,
            grouped(routed),
            ms(times.reroute_ms),
            factor(times.reroute_held_back_factor),
            from_to(&ms(times.create_least_ms), &ms(times.create_most_ms)),
        ]
    };
    let mut rows = Vec::new();
    for row in &answer.versions {
        let mark = if row.asked { " (this)" } else { "" };
        let name = format!("{}{mark}", row.versions);
        rows.push(cells(name, row.routed_shards, &row.times));
        if let Some(times) = answer.without_relocations.as_ref().filter(|_| row.asked) {
            let name = "  include_relocations: false".to_owned();
            rows.push(cells(name, row.routed_shards, times));
        }
    }
    rows
}

fn factor(held_back: f64) -> String {
    format!("{held_back:.1}")
}

fn from_to(least: &str, most: &str) -> String {
    if least == most {
        least.to_owned()
    } else {
        format!("{least} to {most}")
    }
}
