//! The plan as a playbook: each host plans for itself, as one of the same peers.

use super::args::{Plan, words};
use super::slots;
use crate::error::CommandError;
use jiff::Timestamp;
use report::views::plan::playbook;

/// Returns the playbook; `remarks` stand in its head.
///
/// # Errors
/// When no peers or mount points are named, or there are more than slots.
pub fn of(arguments: &Plan, remarks: &[String], now: Timestamp) -> Result<String, CommandError> {
    let usage = |message: &str| {
        CommandError::usage(message)
            .hint("for example trimtab plan --fstab /data --peers es1,es2,es3 --format ansible")
    };
    if arguments.apply || arguments.undo || arguments.status {
        return Err(usage(
            "--format ansible: it only prints a playbook, which then applies and undoes plans",
        ));
    }
    if arguments.peers.is_empty() || arguments.node.is_some() {
        return Err(usage(
            "--format ansible: expected --peers, whose names are those of the inventory, and no --node",
        ));
    }
    if arguments.mounts.is_empty() {
        return Err(usage(
            "--format ansible: expected the mount points, the same on each node",
        ));
    }
    let nodes = slots::of_nodes(arguments, now)?;
    Ok(playbook(&nodes, remarks, &words(arguments)))
}
