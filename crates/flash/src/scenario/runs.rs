//! A benchmark that is run again and again on the same drive.
//!
//! Each run writes files and deletes them in the end, as fast as the drive takes them. Without a trim
//! between, a later run finds a drive that still holds what the runs before have deleted; with a trim
//! before each, every run finds the same drive.

use std::collections::BTreeSet;

use super::outcome::{difference, point};
use super::simulation::{drives, pages_of, reach, tell};
use super::wire::{Aside, Wire};
use super::{
    DriveSpec, History, Latency, Part, Point, Scale, Scenario, ScenarioError, Watch, load,
    out_of_bounds,
};
use crate::drive::Queue;
use crate::filesystem::{self, Filesystem, Reach};
use crate::time;
use crate::workload::{Operation, Workload};

/// A benchmark, run by run.
#[derive(Debug, Clone, PartialEq)]
pub struct Runs {
    /// The drives.
    pub drive: DriveSpec,
    /// Data of others, by capacity: it lies there from the begin, and nobody writes it. 0 to below 1.
    pub others: f64,
    /// What a run's files hold, by capacity; above 0, with `others` below 1.
    pub fill: f64,
    /// What a run writes, by capacity, above 0; its files' data is written first, and counts.
    pub written: f64,
    /// Who writes in a run.
    pub parts: Vec<Part>,
    /// How many.
    pub runs: u32,
    /// A trim before each so-many-th run, from the first on: 1 is before each, 7 before every seventh.
    /// `None`: before the first only.
    pub trim_every: Option<u32>,
    /// What becomes of discards.
    pub reach: Reach,
    /// What the drives were before.
    pub history: History,
    /// Largest request, in bytes.
    pub request_bytes: u64,
    /// Requests under way all the time.
    pub queue_depth: u32,
    /// Pages that are simulated at most.
    pub pages_max: u32,
    /// Seed of all that is drawn; every run draws its own.
    pub seed: u64,
}

impl Default for Runs {
    /// Ten runs of [`Part::MONGODB`] on a drive with 7 % spare of which half is used for other things:
    /// each run's files hold up to 30 % of the drive, and it writes twice that. One trim before the first.
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

/// One run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// A trim came before it.
    pub trimmed: bool,
    /// Written, in bytes.
    pub written_bytes: u64,
    /// How long it took.
    pub seconds: f64,
    /// Written by the time that it took, in megabytes (10^6 bytes) a second.
    pub mb_s: f64,
    /// Write amplification, latencies.
    pub point: Point,
    /// Free pages that the drives held data for when it began, by pages of the drives.
    pub free_untrimmed_share: f64,
}

/// What came of all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunsOutcome {
    /// How it was scaled.
    pub scale: Scale,
    /// In order.
    pub runs: Vec<Run>,
}

impl RunsOutcome {
    /// Throughput of the last run by that of the first. 0.6 is a fall by 40 %.
    pub fn last_by_first(&self) -> f64 {
        match (self.runs.first(), self.runs.last()) {
            (Some(first), Some(last)) => last.mb_s / first.mb_s,
            _ => 1.0,
        }
    }
}

/// The file of the others' data; those of the runs come behind it.
const OTHERS: u32 = 0;

impl Runs {
    /// Runs them all.
    ///
    /// # Errors
    /// What cannot be simulated; cancelled by `watch`.
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
        // What a run has in common with a scenario, and its bounds.
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
        let mut wire = Wire {
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
        filesystem.create(OTHERS, 0)?;
        filesystem.append(OTHERS, others, &mut wire)?;
        let mut runs = Vec::new();
        for index in 0..self.runs {
            let trimmed = index % self.trim_every.unwrap_or(u32::MAX) == 0;
            if trimmed {
                trim(&mut filesystem, &mut wire);
            }
            scenario.seed = self.seed.wrapping_add(u64::from(index) << 32);
            let mut watch = |done: u64| {
                let done = u64::from(index) * 1000 + done * 1000 / written;
                tell(watch, false, done, u64::from(self.runs) * 1000)
            };
            let mut workload = load::mix(&scenario, &scale, pages)?;
            let once = Once {
                filesystem: &mut filesystem,
                wire: &mut wire,
                written,
            };
            let run = once.run(&mut workload, &scale, &self.drive, &mut watch)?;
            runs.push(Run { trimmed, ..run });
        }
        Ok(RunsOutcome { scale, runs })
    }
}

/// When everything is done that was asked for.
fn rest_ns(wire: &Wire) -> u64 {
    let members = wire.drives.members().iter();
    let idle = members.map(|drive| drive.clock().idle_ns()).max();
    idle.unwrap_or(0).max(wire.queue.drained_ns())
}

fn trim(filesystem: &mut Filesystem, wire: &mut Wire) {
    let all = 0..filesystem.settings().pages;
    let at_ns = rest_ns(wire);
    let mut aside = Aside { wire, at_ns };
    filesystem.trim(all, 1, &mut aside);
    let done_ns = aside.at_ns;
    wire.queue.pause_until(done_ns);
}

/// One run.
struct Once<'a> {
    filesystem: &'a mut Filesystem,
    wire: &'a mut Wire,
    /// Pages.
    written: u64,
}

impl Once<'_> {
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
            wire,
            written,
        } = self;
        let begin_ns = rest_ns(wire);
        wire.queue.pause_until(begin_ns);
        wire.drives.device().recorder_mut().restart(begin_ns);
        let before = wire.drives.counters();
        let pages = f64::from(filesystem.settings().pages);
        let free_untrimmed = f64::from(filesystem.space().free_untrimmed_pages) / pages;
        let mut files = BTreeSet::new();
        let mut done = 0;
        let mut told = 0;
        while done < written {
            let operation = behind(workload.next(), OTHERS + 1);
            match operation {
                Operation::Create { file, .. } => {
                    files.insert(file);
                }
                Operation::Delete { file } => {
                    files.remove(&file);
                }
                _ => {}
            }
            filesystem.apply(operation, wire)?;
            done += u64::from(operation.written_pages());
            if done >= told {
                watch(done.min(written))?;
                told = done + 4096;
            }
        }
        let end_ns = rest_ns(wire);
        for file in files {
            filesystem.delete(file, wire)?;
        }
        let counters = difference(&wire.drives.counters(), &before);
        let writes = wire.drives.recorder().histogram(time::Kind::Write);
        let bytes = counters.host_pages * u64::from(drive.page_bytes);
        // The true drive writes as many times more in as many times longer.
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

/// The same on files with higher numbers.
fn behind(operation: Operation, by: u32) -> Operation {
    let mut operation = operation;
    match &mut operation {
        Operation::Create { file, .. }
        | Operation::Append { file, .. }
        | Operation::Overwrite { file, .. }
        | Operation::Read { file, .. }
        | Operation::Delete { file } => *file += by,
    }
    operation
}
