//! What all runs of an experiment share.

use super::plan::Plan;
use super::runs::RunError;
use super::settle::Settled;
use super::track::Dialect;
use crate::control_group::GroupLimits;
use crate::disk::Filesystem;
use crate::path_error::at;
use crate::server::{Distribution, Node, NodeOptions};
use crate::workspace::Workspace;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// What a JVM takes beside its heap at the least: code, threads, direct buffers. Elasticsearch 6.8 took 230 MiB.
const BESIDE_HEAP_BYTES: u64 = 192 << 20;
/// What it takes more while it works: compiled code, threads, and the files of its program, which it needs all the time.
const AT_WORK_BYTES: u64 = 80 << 20;
/// Page cache for the index of an experiment that is larger than memory, as a share of the index.
const CACHED_SHARE: u64 = 4;

/// What all runs share.
pub(super) struct Stage<'a> {
    pub(super) plan: &'a Plan,
    pub(super) server: &'a Distribution,
    pub(super) workspace: &'a Workspace,
    pub(super) dialect: Dialect,
    /// Segments that are copied, by whether their codec is `best_compression`.
    pub(super) segments: BTreeMap<bool, (PathBuf, Settled)>,
    /// What the server itself took after its start.
    pub(super) server_bytes: u64,
    /// The server's memory; known once there is an index.
    pub(super) memory_bytes: Option<u64>,
    /// How long the measured queries of the first run took; known after it.
    pub(super) alone_s: Option<f64>,
    /// How many servers were started, for the names of their folders.
    starts: Cell<u32>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(plan: &'a Plan, server: &'a Distribution, workspace: &'a Workspace) -> Self {
        Self {
            plan,
            server,
            workspace,
            dialect: Dialect::of(
                server.product,
                &server.version,
                server.home.join("modules/mapper-extras").is_dir(),
            ),
            segments: BTreeMap::new(),
            server_bytes: 0,
            memory_bytes: None,
            alone_s: None,
            starts: Cell::new(0),
        }
    }

    /// Memory with which a quarter of an index stays in the page cache.
    pub(super) fn memory_for(&self, index_bytes: u64) -> u64 {
        // Pages of the heap that were never touched are not in the server's figure.
        let server_bytes = self
            .server_bytes
            .max(self.plan.heap_bytes + BESIDE_HEAP_BYTES);
        server_bytes + AT_WORK_BYTES + index_bytes / CACHED_SHARE
    }

    pub(super) fn start(
        &self,
        filesystem: &Filesystem,
        limits: Option<GroupLimits>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Node, RunError> {
        self.starts.set(self.starts.get() + 1);
        let run = format!("run-{}", self.starts.get());
        let run = self.workspace.path().join(run);
        fs::create_dir(&run).map_err(at(&run))?;
        Ok(Node::start(
            self.workspace,
            self.server,
            &NodeOptions {
                data: filesystem.path().join("data"),
                run,
                heap_bytes: self.plan.heap_bytes,
                limits,
            },
            is_stopped,
        )?)
    }
}
