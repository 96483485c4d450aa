//! What all runs of an experiment share.

use super::plan::{HEAP_BYTES, Plan};
use super::runs::RunError;
use super::settle::Settled;
use super::track::Dialect;
use crate::control_group::GroupLimits;
use crate::disk::Filesystem;
use crate::server::{Distribution, Node, NodeOptions};
use crate::workspace::Workspace;
use bench::path_error::at;
use linux::folder::Folder;
use std::cell::Cell;
use std::collections::BTreeMap;

/// What all runs share.
pub(super) struct Stage<'a> {
    pub(super) plan: &'a Plan,
    pub(super) server: &'a Distribution,
    pub(super) workspace: &'a Workspace,
    pub(super) dialect: Dialect,
    /// Segments that are copied, by whether their codec is `best_compression`.
    pub(super) segments: BTreeMap<bool, (Folder, Settled)>,
    /// Page cache of a server with little memory; known once there is an index. The same for all variants, whatever
    /// their compression leaves.
    pub(super) cache_bytes: Option<u64>,
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
            cache_bytes: None,
            alone_s: None,
            starts: Cell::new(0),
        }
    }

    pub(super) fn start(
        &self,
        filesystem: &Filesystem,
        limits: Option<GroupLimits>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Node, RunError> {
        self.starts.set(self.starts.get() + 1);
        let name = format!("run-{}", self.starts.get());
        let workspace = self.workspace.folder();
        let run = workspace.make_folder(&name, 0o755);
        let run = run.map_err(at(&workspace.join(&name)))?;
        let data = filesystem.data();
        let data = data.map_err(at(filesystem.path()))?;
        Ok(Node::start(
            self.workspace,
            self.server,
            &NodeOptions {
                data: &data,
                run: &run,
                heap_bytes: HEAP_BYTES,
                limits,
            },
            is_stopped,
        )?)
    }
}
