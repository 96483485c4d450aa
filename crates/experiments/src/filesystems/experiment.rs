//! One run after the other: a filesystem is made, a server started on it, documents written, sizes taken, and queries
//! sent to a server that starts cold.

use super::plan::{HEAP_BYTES, Plan};
use super::run::{Queried, RunTrial, VariantRun};
use super::runs::{RunError, Runs, Step, whole};
use super::settle::{Settled, settle};
use super::stage::Stage;
use super::track::{INGEST_PER_S, Queries, documents_written};
use crate::control_group::{ControlGroup, GroupLimits};
use crate::disk::{DATA, Filesystem};
use crate::server::{Distribution, Node};
use crate::variant::Variant;
use crate::workspace::Workspace;
use bench::path_error::at;
use linux::folder::Folder;

/// What a JVM takes beside its heap at the least: code, threads, direct buffers. Elasticsearch 6.8 took 200 MiB.
const BESIDE_HEAP_BYTES: u64 = 128 << 20;
/// What it takes in addition while it works: compiled code, threads, and the files of its program, which it needs all the time.
const AT_WORK_BYTES: u64 = 80 << 20;
/// What it may take while it starts.
const START_BYTES: u64 = 2 << 30;
/// The share of an index that stays in a page cache that is too small for it.
const CACHED_SHARE: u64 = 8;
/// What it takes in addition while documents are written: without, it read its own program again and again, and answered
/// nothing. Elasticsearch 6.8 took 90 MiB more after an ingest than after its start.
const INGEST_BYTES: u64 = 96 << 20;
/// A server fails with this share of a filesystem left: it makes files of many megabytes, and removes them again.
const FULL_SHARE: u64 = 20;

/// Runs all of the plan in the workspace, and hands each run that is complete to `done`.
///
/// # Errors
/// Of the run that could not be ended. What it had made is in the workspace.
pub fn run(
    plan: &Plan,
    server: &Distribution,
    workspace: &Workspace,
    runs: &mut dyn Runs,
    done: &mut dyn FnMut(VariantRun),
) -> Result<(), RunError> {
    let mut all = Stage::new(plan, server, workspace);
    for (number, variant) in plan.order().into_iter().enumerate() {
        let mut one = One {
            all: &mut all,
            number,
            variant,
        };
        done(one.run(runs)?);
    }
    Ok(())
}

/// One run of one variant.
pub(super) struct One<'e, 'a> {
    pub(super) all: &'e mut Stage<'a>,
    pub(super) number: usize,
    pub(super) variant: Variant,
}

impl One<'_, '_> {
    fn run(&mut self, runs: &mut dyn Runs) -> Result<VariantRun, RunError> {
        self.step(runs, Step::Make)?;
        let plan = self.all.plan;
        let disk = plan.place.disk(self.all.workspace)?;
        let mut filesystem = Filesystem::make(self.all.workspace, disk, self.variant)?;
        let mut trials = Vec::new();
        let settled = self.fill(&filesystem, &mut trials, runs)?;
        if plan.same_segments && !trials.is_empty() {
            // The first variant gets a copy as well: what a server writes lies differently.
            filesystem = filesystem.remade(self.all.workspace)?;
            self.fill(&filesystem, &mut trials, runs)?;
        }
        // Space that XFS has allocated ahead, and files whose removal waits, are given back at the latest now.
        filesystem.unmount()?;
        filesystem.mount()?;
        let filesystem_bytes = filesystem.written_bytes()?;
        let compsize_bytes = filesystem.compsize_bytes();
        let read_ahead_bytes = filesystem.read_ahead_bytes();
        if plan.larger_than_memory {
            self.all
                .cache_bytes
                .get_or_insert(little_cache(settled.store_bytes));
        }
        let mut queries = Queries {
            name: "",
            request_cache: false,
            warm_up: plan.warm_up_queries,
            measured: plan.queries,
            pause: plan.pause,
            rate_per_s: None,
            reads_everything: plan.larger_than_memory,
            ingest_requests: None,
            documents: settled.documents,
        };
        for what in Queried::QUERIES {
            queries.name = what.label();
            queries.request_cache = what == Queried::QueryCached;
            if what == Queried::QueryWhileIngesting {
                // Documents come half as long again as the first run's queries took without, the same for all variants.
                let seconds = self.all.alone_s.unwrap_or(1.0).clamp(1.0, 86_400.0);
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                // clamped above
                let seconds = (1.5 * seconds).ceil() as u64;
                queries.ingest_requests = Some(seconds * INGEST_PER_S);
            }
            let trial = self.query(&mut filesystem, what, &queries, runs)?;
            self.all.alone_s.get_or_insert(trial.trial.measured_s());
            trials.push(trial);
        }
        runs.step(self.number, self.variant, Step::Remove);
        filesystem.release()?;
        Ok(VariantRun {
            variant: self.variant.to_string(),
            filesystem_bytes,
            compsize_bytes,
            store_bytes: settled.store_bytes,
            documents: settled.documents,
            segments: settled.segments,
            read_ahead_bytes,
            cache_bytes: self.all.cache_bytes,
            trials,
        })
    }

    /// Puts documents on the filesystem: written by a server, or copied.
    pub(super) fn fill(
        &mut self,
        filesystem: &Filesystem,
        trials: &mut Vec<RunTrial>,
        runs: &mut dyn Runs,
    ) -> Result<Settled, RunError> {
        let codec = self.variant.best_compression;
        if let Some((segments, settled)) = self.all.segments.get(&codec) {
            let settled = settled.clone();
            self.step(runs, Step::Copy)?;
            let data = data_in(filesystem)?;
            copy(segments, &data, filesystem)?;
            return Ok(settled);
        }
        let mut node = self.start(filesystem, None, runs)?;
        self.step(runs, Step::Ingest)?;
        let plan = self.all.plan;
        let track = self.all.dialect.ingest(plan.documents, codec);
        let ingested = self.trial(&track, &mut node, Queried::Ingest, 0, runs);
        trials.push(ingested.map_err(|error| unless_full(filesystem, error))?);
        self.step(runs, Step::Settle)?;
        let settled = settle(node.endpoint(), || runs.is_stopped());
        let settled = settled.map_err(|error| unless_full(filesystem, error.into()))?;
        node.stop()?;
        let written = documents_written(plan.documents);
        // A document that the server refuses changes no size; a filesystem that is full refuses most.
        if settled.documents < written - written / 1_000 {
            let missing = RunError::Documents {
                found: settled.documents,
                written,
            };
            return Err(unless_full(filesystem, missing));
        }
        if plan.same_segments {
            self.step(runs, Step::Copy)?;
            let name = format!("segments-{}", self.number);
            let workspace = self.all.workspace.folder();
            let segments = workspace.make_folder(&name, 0o700);
            let segments = segments.map_err(at(&workspace.join(&name)))?;
            copy(&data_in(filesystem)?, &segments, filesystem)?;
            self.all.segments.insert(codec, (segments, settled.clone()));
        }
        Ok(settled)
    }

    /// Starts a server that has `cache_bytes` of page cache beside what it takes itself. That differs from start to start,
    /// so that the limit is set when it is known.
    pub(super) fn start_with_cache(
        &self,
        filesystem: &Filesystem,
        cache_bytes: u64,
        runs: &mut dyn Runs,
    ) -> Result<Node, RunError> {
        let limits = |bytes| GroupLimits {
            memory_bytes: Some(bytes),
            cpus: None,
        };
        let node = self.start(filesystem, Some(limits(HEAP_BYTES + START_BYTES)), runs)?;
        // Pages of the heap that were never touched are not in the server's figure.
        let server_bytes = self.all.workspace.memory_bytes()?;
        let server_bytes = server_bytes.max(HEAP_BYTES + BESIDE_HEAP_BYTES);
        let limits = limits(server_bytes + AT_WORK_BYTES + cache_bytes);
        ControlGroup::create(self.all.workspace.path(), &limits)?;
        Ok(node)
    }

    /// Queries a server that starts cold.
    fn query(
        &self,
        filesystem: &mut Filesystem,
        what: Queried,
        queries: &Queries,
        runs: &mut dyn Runs,
    ) -> Result<RunTrial, RunError> {
        // The page cache of a filesystem ends with its mount; dropping caches under a server that has its segments
        // mapped does not.
        filesystem.unmount()?;
        filesystem.mount()?;
        let before = filesystem.disk().counters()?.read_bytes;
        let mut node = match self.all.cache_bytes {
            Some(cache_bytes) => {
                let ingest_bytes = queries.ingest_requests.map_or(0, |_| INGEST_BYTES);
                self.start_with_cache(filesystem, cache_bytes + ingest_bytes, runs)?
            }
            None => self.start(filesystem, None, runs)?,
        };
        self.step(runs, Step::Query)?;
        let read_bytes = filesystem.disk().counters()?.read_bytes;
        let read_bytes = read_bytes.saturating_sub(before);
        let track = self.all.dialect.query(queries);
        let trial = self.trial(&track, &mut node, what, read_bytes, runs);
        let trial = trial.map_err(|error| unless_full(filesystem, error))?;
        node.stop()?;
        Ok(trial)
    }

    pub(super) fn step(&self, runs: &mut dyn Runs, step: Step) -> Result<(), RunError> {
        if runs.is_stopped() {
            return Err(RunError::Stopped);
        }
        runs.step(self.number, self.variant, step);
        Ok(())
    }

    pub(super) fn start(
        &self,
        filesystem: &Filesystem,
        limits: Option<GroupLimits>,
        runs: &mut dyn Runs,
    ) -> Result<Node, RunError> {
        self.step(runs, Step::Start)?;
        self.all.start(filesystem, limits, &|| runs.is_stopped())
    }

    fn trial(
        &self,
        track: &str,
        node: &mut Node,
        what: Queried,
        start_read_bytes: u64,
        runs: &mut dyn Runs,
    ) -> Result<RunTrial, RunError> {
        let into = &self.all.plan.into;
        let into = into.join(self.variant.to_string()).join(what.id());
        let (folder, trial) = whole(runs, track, node, &into)?;
        Ok(RunTrial {
            what,
            folder: folder.display().to_string(),
            start_read_bytes,
            trial,
        })
    }
}

/// The folder of a server's data.
fn data_in(filesystem: &Filesystem) -> Result<Folder, RunError> {
    let data = filesystem.data();
    Ok(data.map_err(at(&filesystem.path().join(DATA)))?)
}

/// Copies a server's files, which it may have made as it liked: no more than the filesystem can hold.
fn copy(from: &Folder, to: &Folder, filesystem: &Filesystem) -> Result<(), RunError> {
    let most = filesystem.space()?.len_bytes;
    Ok(from.copy_into(to, most).map_err(at(to.path()))?)
}

/// Page cache that is too small for what queries of all fields use of an index.
pub(super) fn little_cache(index_bytes: u64) -> u64 {
    index_bytes / CACHED_SHARE
}

/// The error, unless what is behind it is a full filesystem, which servers answer in many ways.
fn unless_full(filesystem: &Filesystem, error: RunError) -> RunError {
    match filesystem.space() {
        Ok(space)
            if space.free_bytes < space.len_bytes / FULL_SHARE
                && !matches!(error, RunError::Stopped) =>
        {
            RunError::Full {
                free_bytes: space.free_bytes,
                len_bytes: space.len_bytes,
            }
        }
        _ => error,
    }
}
