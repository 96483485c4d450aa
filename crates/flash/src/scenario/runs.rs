//! A benchmark run repeatedly on the same drive.
//!
//! Each run writes files as fast as the drive takes them, and deletes them at the end. Without
//! trims in between, later runs find a drive that still holds the deleted data of earlier ones;
//! with a trim before each run, every run finds the drive in the same state.

use std::collections::BTreeSet;

use super::host_io::{HostIo, TrimIo};
use super::outcome::{difference, point};
use super::simulation::{drives, pages_of, reach, report_progress};
use super::{
    DriveSpec, History, Latency, Part, Point, Scale, Scenario, ScenarioError, Watch, load,
    out_of_bounds,
};
use crate::drive::Queue;
use crate::filesystem::{self, Filesystem, Reach};
use crate::time;
use crate::workload::{Operation, Workload};

/// A benchmark and its repetitions.
#[derive(Debug, Clone, PartialEq)]
pub struct Runs {
    /// The drives.
    pub drive: DriveSpec,
    /// Static data on the drive, as a share of the capacity; it is never overwritten. 0 to below 1.
    pub others: f64,
    /// Size of a run's files, as a share of the capacity; above 0, and with `others` below 1.
    pub fill: f64,
    /// Bytes written by a run, as a share of the capacity, above 0; includes writing the files'
    /// initial data.
    pub written: f64,
    /// The workloads of a run.
    pub parts: Vec<Part>,
    /// Number of runs.
    pub runs: u32,
    /// Trims before every n-th run, starting with the first: 1 is before each, 7 before every
    /// seventh. `None`: only before the first.
    pub trim_every: Option<u32>,
    /// What happens to discards on their way to the drive.
    pub reach: Reach,
    /// State of the drives at the start.
    pub history: History,
    /// Maximum request size, in bytes.
    pub request_bytes: u64,
    /// Number of requests in flight at any time.
    pub queue_depth: u32,
    /// Maximum number of simulated pages.
    pub pages_max: u32,
    /// Seed for all random numbers; every run derives its own.
    pub seed: u64,
}

impl Default for Runs {
    /// Ten runs of [`Part::MONGODB`] on a drive with 7 % over-provisioning, half of which holds
    /// other data. Each run's files take up to 30 % of the drive, and it writes twice that. One
    /// trim before the first run.
    fn default() -> Self {
        Self {
            drive: DriveSpec::default(),
            others: 0.5,
            fill: 0.3,
            written: 0.6,
            parts: Part::MONGODB.to_vec(),
            runs: 10,
            trim_every: None,
            reach: Reach::default(),
            history: History::default(),
            request_bytes: 128 * 1024,
            queue_depth: 32,
            pages_max: 1 << 17,
            seed: 1,
        }
    }
}

/// One run of the benchmark.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Whether a trim preceded it.
    pub trimmed: bool,
    /// Bytes written.
    pub written_bytes: u64,
    /// Duration.
    pub seconds: f64,
    /// Throughput, in megabytes (10^6 bytes) per second.
    pub mb_s: f64,
    /// Write amplification and latencies.
    pub point: Point,
    /// Free pages for which the drives held data when the run began, as a share of the drives.
    pub free_untrimmed_share: f64,
}

/// Results of all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunsOutcome {
    /// The scale of the simulation.
    pub scale: Scale,
    /// The runs, in order.
    pub runs: Vec<Run>,
}

impl RunsOutcome {
    /// Throughput of the last run relative to the first: 0.6 is a drop of 40 %.
    pub fn last_by_first(&self) -> f64 {
        match (self.runs.first(), self.runs.last()) {
            (Some(first), Some(last)) => last.mb_s / first.mb_s,
            _ => 1.0,
        }
    }
}

/// File number of the static data; the runs' files have higher numbers.
const STATIC_FILE: u32 = 0;

impl Runs {
    /// Simulates all runs.
    ///
    /// # Errors
    /// If the runs cannot be simulated, or `watch` cancels them.
    pub fn run(&self, watch: &mut Watch<'_>) -> Result<RunsOutcome, ScenarioError> {
        if !(self.others >= 0.0 && self.others + self.fill < 1.0) {
            return Err(out_of_bounds(
                "what others and a run hold",
                format!("{} and {}", self.others, self.fill),
                "together below 1, the drive",
            ));
        }
        if !(self.written > 0.0 && self.written <= 1000.0) {
            return Err(out_of_bounds(
                "what a run writes, by capacity,",
                self.written,
                "above 0, and at most 1000",
            ));
        }
        if self.trim_every == Some(0) {
            return Err(out_of_bounds("runs from trim to trim", 0, "1 or more"));
        }
        // The settings shared with a scenario, for its checks and for building workloads.
        let mut scenario = Scenario {
            drive: self.drive,
            history: self.history,
            fill: self.fill,
            parts: self.parts.clone(),
            request_bytes: self.request_bytes,
            queue_depth: self.queue_depth,
            pages_max: self.pages_max,
            ..Scenario::default()
        };
        scenario.check()?;
        let scale = Scale::new(&self.drive, self.pages_max)?;
        let reach = reach(self.reach, &self.drive.timing);
        let drives = drives(&self.drive, &scale, self.history, reach, self.seed)?;
        let pages = drives.pages();
        let page_bytes = self.drive.page_bytes;
        let mut filesystem = Filesystem::new(filesystem::Settings {
            reach,
            dirty: self.history != History::Discarded,
            seed: self.seed,
            ..filesystem::Settings::new(pages)
        });
        let mut host_io = HostIo {
            drives,
            queue: Queue::closed(self.queue_depth as usize),
            request_pages: pages_of(self.request_bytes, page_bytes),
            discard_pages: pages_of(scenario.discard_bytes, page_bytes),
            done_ns: 0,
        };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // shares of a u32
        let (others, written) = (
            (f64::from(pages) * self.others) as u32,
            (f64::from(pages) * self.written).max(1.0) as u64,
        );
        filesystem.create(STATIC_FILE)?;
        filesystem.append(STATIC_FILE, others, &mut host_io)?;
        let mut runs = Vec::new();
        for index in 0..self.runs {
            let trimmed = index % self.trim_every.unwrap_or(u32::MAX) == 0;
            if trimmed {
                trim(&mut filesystem, &mut host_io);
            }
            scenario.seed = self.seed.wrapping_add(u64::from(index) << 32);
            let mut watch = |done: u64| {
                let done = u64::from(index) * 1000 + done * 1000 / written;
                report_progress(watch, false, done, u64::from(self.runs) * 1000)
            };
            let mut workload = load::mix(&scenario, &scale, pages)?;
            let single_run = SingleRun {
                filesystem: &mut filesystem,
                host_io: &mut host_io,
                written,
            };
            let run = single_run.run(&mut workload, &scale, &self.drive, &mut watch)?;
            runs.push(Run { trimmed, ..run });
        }
        Ok(RunsOutcome { scale, runs })
    }
}

fn trim(filesystem: &mut Filesystem, host_io: &mut HostIo) {
    let at_ns = host_io.idle_ns();
    let mut trim_io = TrimIo { host_io, at_ns };
    filesystem.trim(&mut trim_io);
    let done_ns = trim_io.at_ns;
    host_io.queue.pause_until(done_ns);
}

/// Simulates one run.
struct SingleRun<'a> {
    filesystem: &'a mut Filesystem,
    host_io: &'a mut HostIo,
    /// Pages to be written.
    written: u64,
}

impl SingleRun<'_> {
    #[allow(clippy::cast_precision_loss)] // a rate
    fn run(
        self,
        workload: &mut dyn Workload,
        scale: &Scale,
        drive: &DriveSpec,
        watch: &mut dyn FnMut(u64) -> Result<(), ScenarioError>,
    ) -> Result<Run, ScenarioError> {
        let Self {
            filesystem,
            host_io,
            written,
        } = self;
        let begin_ns = host_io.idle_ns();
        host_io.queue.pause_until(begin_ns);
        host_io.drives.device().recorder_mut().restart();
        let before = host_io.drives.counters();
        let pages = f64::from(filesystem.settings().pages);
        let free_untrimmed = f64::from(filesystem.space().free_untrimmed_pages) / pages;
        let mut files = BTreeSet::new();
        let mut done = 0;
        let mut next_report = 0;
        while done < written {
            let operation = with_file_offset(workload.next(), STATIC_FILE + 1);
            match operation {
                Operation::Create { file } => {
                    files.insert(file);
                }
                Operation::Delete { file } => {
                    files.remove(&file);
                }
                _ => {}
            }
            filesystem.apply(operation, host_io)?;
            done += u64::from(operation.written_pages());
            if done >= next_report {
                watch(done.min(written))?;
                next_report = done + 4096;
            }
        }
        let end_ns = host_io.idle_ns();
        for file in files {
            filesystem.delete(file, host_io)?;
        }
        let counters = difference(&host_io.drives.counters(), &before);
        let writes = host_io.drives.recorder().histogram(time::Kind::Write);
        let bytes = counters.host_pages * u64::from(drive.page_bytes);
        // The real drive writes more in a longer time, by the same factor.
        let seconds = (end_ns - begin_ns) as f64 / 1e9;
        Ok(Run {
            trimmed: false,
            written_bytes: scale.true_bytes(bytes),
            seconds: seconds * scale.factor,
            mb_s: bytes as f64 / 1e6 / seconds,
            point: Point {
                writes: Latency::of(&writes),
                ..point(&counters, drive, scale)
            },
            free_untrimmed_share: free_untrimmed,
        })
    }
}

/// The same operation with a higher file number.
fn with_file_offset(operation: Operation, by: u32) -> Operation {
    let mut operation = operation;
    match &mut operation {
        Operation::Create { file }
        | Operation::Append { file, .. }
        | Operation::Overwrite { file, .. }
        | Operation::Read { file, .. }
        | Operation::Delete { file } => *file += by,
    }
    operation
}
