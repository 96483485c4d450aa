//! Runs the benchmark on a filesystem of the experiment's own: trimmed once, and trimmed before each run.

use super::effect::{Effect, effect};
use super::workload::{Iteration, Workload, WorkloadError};
use crate::disk::{DiskError, Filesystem};
use crate::place::Place;
use crate::program::{ProgramError, run_program};
use crate::variant::{FilesystemKind, Variant};
use crate::workspace::Workspace;
use bench::path_error::{PathError, at};
use facts::host::{DriveWrites, MediaWrites};
use flash::scenario::{Latency, RunsOutcome, ScenarioError, Watch};
use linux::folder::Folder;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use thiserror::Error;

/// Other data on the drive, which is never touched, as a share of the filesystem's free space.
const OTHERS_SHARE: u64 = 50;
/// Files of the benchmark, likewise.
const FILES_SHARE: u64 = 30;
/// Their file.
const OTHERS: &str = "others";
/// Blocks in which other data is written.
const OTHERS_BLOCK: usize = 1 << 20;

/// When the filesystem is trimmed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trims {
    /// Before the first run only.
    Once,
    /// Before each run.
    BeforeEach,
}

impl Trims {
    /// Both, in the order in which they are tried.
    pub const ALL: [Self; 2] = [Self::Once, Self::BeforeEach];

    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Once => "one trim before the first run",
            Self::BeforeEach => "a trim before each run",
        }
    }

    fn is_before(self, run: u32) -> bool {
        run == 0 || self == Self::BeforeEach
    }
}

/// What trims: a program and its arguments, after which the mount point is put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trimmer {
    /// For people: `fstrim`, `trimtab trim`.
    pub name: &'static str,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<&'static str>,
}

/// The experiment.
#[derive(Debug)]
pub struct Plan {
    /// Where.
    pub place: Place,
    /// Runs of each arm: ten in the articles.
    pub iterations: u32,
    /// What trims.
    pub trimmer: Trimmer,
    /// Threads that write.
    pub threads: u32,
    /// Seed of everything random.
    pub seed: u64,
}

/// What an experiment is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Making the filesystem, and writing other data to it.
    Make,
    /// Trimming.
    Trim,
    /// Writing and deleting.
    Write,
}

/// Is told what happens.
pub trait Runs {
    /// A step of run `number` (from 0) of an arm begins.
    fn step(&mut self, trims: Trims, number: u32, step: Step);

    /// What the drive itself counts; `None` if it does not tell.
    fn drive_writes(&mut self, device: &Path) -> Option<DriveWrites>;
}

/// One run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ArmRun {
    /// What the benchmark measured.
    pub measured: Iteration,
    /// Length of the trim before it; `null` without one.
    pub trim_s: Option<f64>,
    /// Bytes discarded by that trim; `null` if the kernel does not count them.
    pub trimmed_bytes: Option<u64>,
    /// What the drive wrote to its medium for each byte that it was given; `null` if it does not tell.
    pub write_amplification: Option<f64>,
}

/// The runs with one way to trim.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Arm {
    /// When it was trimmed.
    pub trims: Trims,
    /// The runs, in order.
    pub runs: Vec<ArmRun>,
}

/// An experiment and its result.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Outcome {
    /// What it was run on.
    pub drive: Drive,
    /// What trimmed: `fstrim`, `trimtab trim`; `null` on the simulated drive.
    pub trimmer: Option<String>,
    /// The arms that were run to their end.
    pub arms: Vec<Arm>,
    /// What trims change; `null` if not both arms were run to their end.
    pub effect: Option<Effect>,
}

impl Outcome {
    /// Compares the arms.
    pub fn new(drive: Drive, trimmer: Option<String>, arms: Vec<Arm>) -> Self {
        let throughput = |trims| -> Option<Vec<f64>> {
            let arm = arms.iter().find(|arm| arm.trims == trims)?;
            Some(arm.runs.iter().map(|run| run.measured.mb_s).collect())
        };
        let both = throughput(Trims::Once).zip(throughput(Trims::BeforeEach));
        Self {
            drive,
            trimmer,
            effect: both.and_then(|(once, each)| effect(&once, &each)),
            arms,
        }
    }
}

/// What the experiment was run on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", content = "path", rename_all = "snake_case")]
pub enum Drive {
    /// A device of the user's.
    Device(String),
    /// A loop device, whose discards punch holes in a file.
    Image(String),
    /// The simulated drive.
    Model,
}

/// Why the experiment ended early.
#[derive(Debug, Error)]
pub enum RunError {
    /// The device or the filesystem.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// It takes no discards.
    #[error("{} accepts no discards: there is nothing to trim", units::escape(&.0.to_string_lossy()))]
    NoDiscards(PathBuf),
    /// The trim.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The benchmark.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The simulation.
    #[error(transparent)]
    Model(#[from] ScenarioError),
}

/// Runs both arms on one device after the other, each from a device that was discarded as a whole, and returns those that
/// were run to their end.
///
/// # Errors
/// Of the run that failed.
pub fn run(
    plan: &Plan,
    workspace: &Workspace,
    stop: &AtomicBool,
    runs: &mut dyn Runs,
    done: &mut dyn FnMut(Arm),
) -> Result<(), RunError> {
    for trims in Trims::ALL {
        runs.step(trims, 0, Step::Make);
        let disk = plan.place.disk(workspace)?;
        if !disk.accepts_discards()? {
            return Err(RunError::NoDiscards(disk.path().to_owned()));
        }
        let variant = Variant {
            filesystem: FilesystemKind::Ext4,
            compression: None,
            best_compression: false,
            read_ahead_128k: false,
        };
        let filesystem = Filesystem::make(workspace, disk, variant)?;
        let free_bytes = filesystem.space()?.free_bytes;
        write_others(
            filesystem.root(),
            free_bytes * OTHERS_SHARE / 100,
            plan.seed,
            stop,
        )?;
        let mut measured = Vec::new();
        for number in 0..plan.iterations {
            let mut run = ArmRun {
                measured: Iteration::default(),
                trim_s: None,
                trimmed_bytes: None,
                write_amplification: None,
            };
            if trims.is_before(number) {
                runs.step(trims, number, Step::Trim);
                let before = filesystem.disk().counters()?.discarded_bytes;
                let begun = Instant::now();
                filesystem.verify_path()?;
                trim(&plan.trimmer, filesystem.path())?;
                run.trim_s = Some(begun.elapsed().as_secs_f64());
                let after = filesystem.disk().counters()?.discarded_bytes;
                run.trimmed_bytes = after
                    .zip(before)
                    .map(|(after, before)| after.saturating_sub(before));
            }
            runs.step(trims, number, Step::Write);
            let workload = Workload {
                files_bytes: free_bytes * FILES_SHARE / 100,
                threads: plan.threads,
                seed: plan.seed.wrapping_add(u64::from(number)),
            };
            let device = filesystem.disk().path().to_owned();
            let before = runs.drive_writes(&device);
            run.measured = workload.run(filesystem.root(), stop)?;
            let after = runs.drive_writes(&device);
            run.write_amplification = before
                .zip(after)
                .and_then(|(before, after)| write_amplification(&before, &after));
            measured.push(run);
        }
        filesystem.release()?;
        done(Arm {
            trims,
            runs: measured,
        });
    }
    Ok(())
}

/// Both arms on the simulated drive.
///
/// # Errors
/// If it is stopped.
pub fn of_model(iterations: u32, seed: u64, watch: &mut Watch<'_>) -> Result<Vec<Arm>, RunError> {
    Trims::ALL
        .into_iter()
        .map(|trims| {
            let outcome = flash::scenario::Runs {
                runs: iterations,
                seed,
                trim_every: (trims == Trims::BeforeEach).then_some(1),
                ..flash::scenario::Runs::default()
            }
            .run(watch)?;
            Ok(Arm {
                trims,
                runs: of_outcome(&outcome),
            })
        })
        .collect()
}

fn of_outcome(outcome: &RunsOutcome) -> Vec<ArmRun> {
    let runs = outcome.runs.iter();
    runs.map(|run| {
        let seconds = |us: fn(&Latency) -> f64| run.point.writes.as_ref().map_or(0.0, us) / 1e6;
        ArmRun {
            measured: Iteration {
                written_bytes: run.written_bytes,
                seconds: run.seconds,
                mb_s: run.mb_s,
                p50_s: seconds(|latency| latency.p50_us),
                p99_s: seconds(|latency| latency.p99_us),
                max_s: seconds(|latency| latency.max_us),
            },
            trim_s: None,
            trimmed_bytes: None,
            write_amplification: run.point.write_amplification,
        }
    })
    .collect()
}

/// What a drive wrote to its flash between two readings for each byte that it was given.
#[allow(clippy::cast_precision_loss)] // a ratio
fn write_amplification(before: &DriveWrites, after: &DriveWrites) -> Option<f64> {
    let (given, written) = match (before.media?, after.media?) {
        (MediaWrites::Bytes(before_bytes), MediaWrites::Bytes(after_bytes)) => (
            after.host_bytes?.checked_sub(before.host_bytes?)?,
            after_bytes.checked_sub(before_bytes)?,
        ),
        (
            MediaWrites::Pages {
                for_hosts: hosts_before,
                on_its_own: own_before,
            },
            MediaWrites::Pages {
                for_hosts: hosts_after,
                on_its_own: own_after,
            },
        ) => {
            let hosts = hosts_after.checked_sub(hosts_before)?;
            (hosts, hosts + own_after.checked_sub(own_before)?)
        }
        _ => return None,
    };
    (given > 0).then(|| written as f64 / given as f64)
}

fn trim(trimmer: &Trimmer, mount: &Path) -> Result<(), ProgramError> {
    let arguments = trimmer.arguments.iter().map(AsRef::as_ref);
    let program = trimmer.program.to_string_lossy();
    run_program(&program, "util-linux", arguments.chain([mount.as_os_str()]))?;
    Ok(())
}

/// Writes data that stays.
fn write_others(folder: &Folder, bytes: u64, seed: u64, stop: &AtomicBool) -> Result<(), RunError> {
    use std::io::Write;
    let path = folder.join(OTHERS);
    let mut file = folder.make_file(OTHERS).map_err(at(&path))?;
    let mut block = vec![0_u8; OTHERS_BLOCK];
    let mut random = super::workload::Random::new(seed);
    for word in block.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next().to_le_bytes());
    }
    for number in 0..bytes / OTHERS_BLOCK as u64 {
        if stop.load(Ordering::Relaxed) {
            return Err(WorkloadError::Stopped.into());
        }
        // A drive that compresses or finds duplicates sees none.
        block[..8].copy_from_slice(&number.to_le_bytes());
        file.write_all(&block).map_err(at(&path))?;
    }
    Ok(file.sync_all().map_err(at(&path))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trims::effect;
    use std::ops::ControlFlow;

    #[test]
    fn drives_count_bytes_or_pages() {
        let writes = |host_bytes, media| DriveWrites {
            host_bytes: Some(host_bytes),
            media: Some(media),
            ..DriveWrites::default()
        };
        let bytes = |host, media| writes(host, MediaWrites::Bytes(media));
        assert_eq!(
            write_amplification(&bytes(1_000, 3_000), &bytes(2_000, 4_500)),
            Some(1.5)
        );
        // Nothing was written, a counter went back.
        assert_eq!(write_amplification(&bytes(5, 5), &bytes(5, 9)), None);
        assert_eq!(write_amplification(&bytes(5, 5), &bytes(9, 4)), None);
        let pages = |for_hosts, on_its_own| {
            writes(
                0,
                MediaWrites::Pages {
                    for_hosts,
                    on_its_own,
                },
            )
        };
        assert_eq!(
            write_amplification(&pages(100, 50), &pages(300, 150)),
            Some(1.5)
        );
        assert_eq!(write_amplification(&pages(1, 1), &bytes(2, 2)), None);
    }

    #[test]
    fn the_simulated_drive_falls_without_trims_and_stays_with_them() {
        let arms = of_model(10, 1, &mut |_| ControlFlow::Continue(())).unwrap();
        let throughput = |trims| -> Vec<f64> {
            let arm = arms.iter().find(|arm| arm.trims == trims).unwrap();
            arm.runs.iter().map(|run| run.measured.mb_s).collect()
        };
        let (once, each) = (throughput(Trims::Once), throughput(Trims::BeforeEach));
        assert_eq!((once.len(), each.len()), (10, 10));
        let effect = effect(&once, &each).unwrap();
        assert!(effect.high < 0.9, "{effect:?}");
        assert!((each[9] / each[0] - 1.0).abs() < 0.05, "{each:?}");
    }
}
