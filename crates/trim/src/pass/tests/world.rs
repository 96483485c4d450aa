//! A simulated filesystem and drive in simulated time, and passes over them.

use crate::account::{LayerName, Layers};
use crate::child::{TrimError, Trimmed, Trimmer};
use crate::clock::Clock;
use crate::counters::{CounterSource, Sample};
use crate::geometry::{GeometryError, Survey, Walk};
use crate::pace::Settings;
use crate::pass::*;
use crate::probe::{Probe, Reading};
use crate::state::State;
use crate::step::{ByteRange, Cursor, Step, StepBudget};
use crate::stop::{Stop, StopRequest};
use crate::target::{Identity, Target};
use facts::host::DeviceNumber;
use jiff::Timestamp;
use linux::counters::{CounterError, DeviceCounters};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

pub(super) const UNIT: u64 = 4 << 20;

/// Shared state of all the fakes.
#[allow(clippy::struct_excessive_bools)] // switches of a test
pub(super) struct World {
    pub(super) now: Cell<Duration>,
    /// Offset of the wall clock.
    pub(super) wall_off_s: Cell<i64>,
    pub(super) devices: RefCell<BTreeMap<String, DeviceCounters>>,
    /// Whether discards reach the drive.
    pub(super) passes: bool,
    pub(super) counts_discards: bool,
    /// Eighths of each range that are not discarded.
    pub(super) skipped_eighths: u64,
    /// Whether the drive counts anything at all (`queue/iostats`).
    pub(super) counts_reads: bool,
    /// Whether the drive answers its probe.
    pub(super) answers: bool,
    pub(super) housekeeping_runs: Cell<u32>,
    /// Ranges trimmed, in the order of the calls.
    pub(super) calls: RefCell<Vec<ByteRange>>,
    pub(super) stop: Stop,
    pub(super) gone: Cell<bool>,
}

impl World {
    pub(super) fn new() -> Self {
        let devices = ["dm-0", "nvme0n1"]
            .map(|name| (name.to_owned(), DeviceCounters::default()))
            .into();
        Self {
            now: Cell::new(Duration::ZERO),
            wall_off_s: Cell::new(0),
            devices: RefCell::new(devices),
            passes: true,
            counts_discards: true,
            skipped_eighths: 0,
            counts_reads: true,
            answers: true,
            housekeeping_runs: Cell::new(0),
            calls: RefCell::default(),
            stop: Stop::default(),
            gone: Cell::new(false),
        }
    }
}

struct WorldClock(Rc<World>);

impl Clock for WorldClock {
    fn elapsed(&self) -> Duration {
        self.0.now.get()
    }

    fn wall(&self) -> Timestamp {
        let now_s = i64::try_from(self.0.now.get().as_secs()).unwrap();
        Timestamp::from_second(1_800_000_000 + now_s + self.0.wall_off_s.get()).unwrap()
    }

    fn sleep(&self, duration: Duration) {
        // A zero-length sleep would never end.
        let passed = duration.max(Duration::from_micros(1));
        self.0.now.set(self.0.now.get() + passed);
    }
}

/// /proc/diskstats in the format of CentOS 7's kernel 3.10: 14 columns, with discards counted as
/// writes (`part_stat_add(cpu, part, sectors[rw], ...)`, block/blk-core.c, knows two directions
/// only).
fn diskstats_of_3_10(nvme_discarded_bytes: u64, dm_discarded_bytes: u64) -> String {
    let nvme = 598_220_416 + nvme_discarded_bytes / 512;
    let dm = 598_219_008 + dm_discarded_bytes / 512;
    format!(
        "   8       0 sda 38411 16 2319634 30177 812307 92615 29316920 1423360 0 602911 1453001\n   \
         8       1 sda1 1883 0 49152 642 2 0 4096 11 0 573 653\n \
         259       0 nvme0n1 9127713 27 571208512 1402213 4806177 19 {nvme} 2991203 0 1630211 4377450\n \
         253       0 dm-0 9127700 0 571204352 1410020 4806196 0 {dm} 3004411 0 1641872 4414866\n   \
         7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n"
    )
}

struct WorldCounters(Rc<World>);

impl CounterSource for WorldCounters {
    fn sample(&mut self) -> Result<Sample, CounterError> {
        if self.0.gone.get() {
            return Err(CounterError::Gone {
                device: "nvme0n1".to_owned(),
            });
        }
        let mut devices = self.0.devices.borrow().clone();
        if self.0.counts_discards {
            for device in devices.values_mut() {
                if self.0.counts_reads {
                    device.reads = u64::try_from(self.0.now.get().as_millis() / 50).unwrap();
                }
                device.discards.get_or_insert(0);
                device.discarded_bytes.get_or_insert(0);
            }
        } else {
            let names: Vec<String> = devices.keys().cloned().collect();
            let discarded = |name: &str| devices[name].discarded_bytes.unwrap_or(0);
            let text = diskstats_of_3_10(discarded("nvme0n1"), discarded("dm-0"));
            devices = linux::counters::parse_diskstats(&text, &names)?;
        }
        Ok(Sample {
            at: self.0.now.get(),
            devices,
            io_pressure_us: None,
        })
    }
}

struct WorldProbe {
    world: Rc<World>,
    asked: Duration,
}

impl Probe for WorldProbe {
    fn label(&self) -> String {
        "4 KiB reads of nvme0n1".to_owned()
    }

    fn drain(&mut self) -> Vec<Reading> {
        let mut readings = Vec::new();
        while self.world.answers && self.asked + Duration::from_millis(50) <= self.world.now.get() {
            self.asked += Duration::from_millis(50);
            readings.push(Reading {
                at: self.asked,
                latency: Duration::from_micros(200),
                failed: false,
                pending: false,
            });
        }
        readings
    }
}

/// `units` adjacent pieces of free space of 4 MiB.
struct WorldWalk {
    units: u64,
    next: u64,
    unsplittable: bool,
    rock_units: u64,
    /// Whether to return the same step forever.
    stuck: bool,
    /// Whether every other step leaves the cursor where it was, as the first part of an extent of XFS does.
    lags: bool,
    /// The cursor, in units.
    at: u64,
    /// A stop that is requested in the middle of the survey.
    stopped: Option<(Stop, StopRequest)>,
}

impl Walk for WorldWalk {
    fn survey(&mut self, _: StepBudget) -> Result<Survey, GeometryError> {
        if let Some((stop, request)) = self.stopped.take() {
            stop.request(request);
            return Err(GeometryError::Stopped);
        }
        Ok(Survey {
            description: "made up".to_owned(),
            free_bytes: self.units * UNIT,
            free_extents: None,
            largest_extent_bytes: None,
            steps: self.units,
            unsplittable: Vec::new(),
            size_bytes: self.units * UNIT,
        })
    }

    fn next_step(&mut self, budget: StepBudget) -> Result<Option<Step>, GeometryError> {
        if self.next >= self.units {
            return Ok(None);
        }
        let wanted = if self.unsplittable {
            self.units.min(self.rock_units)
        } else {
            (budget.free_bytes / UNIT).max(1)
        };
        let taken = wanted.min(self.units - self.next);
        let range = ByteRange {
            start_bytes: self.next * UNIT,
            len_bytes: taken * UNIT,
        };
        if !self.stuck {
            self.next += taken;
            let is_first_part = self.lags && self.at == self.next - taken && self.next < self.units;
            if !is_first_part {
                self.at = self.next;
            }
        }
        Ok(Some(Step {
            range,
            free_extents: Some(taken),
            free_bytes: Some(taken * UNIT),
            unsplittable: self.unsplittable.then(|| "a rock".to_owned()),
        }))
    }

    fn cursor(&self) -> Cursor {
        Cursor {
            next_bytes: self.at * UNIT,
            unallocated_done: false,
        }
    }

    fn minlen_bytes(&self) -> u64 {
        4096
    }
}

pub(super) type Trouble = Box<dyn FnMut(&World, usize) -> Option<TrimError>>;

struct WorldTrimmer {
    world: Rc<World>,
    trouble: Trouble,
}

impl Trimmer for WorldTrimmer {
    fn trim(&mut self, range: ByteRange, minlen_bytes: u64) -> Result<Trimmed, TrimError> {
        assert_eq!(minlen_bytes, 4096);
        let call = self.world.calls.borrow().len();
        if let Some(error) = (self.trouble)(&self.world, call) {
            return Err(error);
        }
        self.world.calls.borrow_mut().push(range);
        // 4 GiB/s, and 100 us per call.
        let took = Duration::from_micros(100) + Duration::from_nanos(range.len_bytes / 4);
        self.world.now.set(self.world.now.get() + took);
        for (name, device) in self.world.devices.borrow_mut().iter_mut() {
            if name == "dm-0" || self.world.passes {
                let taken_bytes =
                    range.len_bytes - range.len_bytes / 8 * self.world.skipped_eighths;
                let bytes = device.discarded_bytes.unwrap_or(0) + taken_bytes;
                device.discarded_bytes = Some(bytes);
                device.discards = Some(device.discards.unwrap_or(0) + 1);
            }
        }
        Ok(Trimmed {
            reported_len_bytes: 7,
            took,
        })
    }
}

struct AlwaysOpen;

impl Gate for AlwaysOpen {
    fn closed(&mut self, _: Timestamp) -> Option<Closed> {
        None
    }
}

#[derive(Default)]
struct RecordedEvents(Vec<Event>);

impl Progress for RecordedEvents {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

/// A test pass; tests change its fields before running it.
pub(super) struct Trial {
    pub(super) world: Rc<World>,
    pub(super) state: State,
    pub(super) units: u64,
    pub(super) unsplittable: bool,
    pub(super) rock_units: u64,
    pub(super) stuck: bool,
    pub(super) lags: bool,
    /// Requests a stop in the middle of the survey.
    pub(super) stop_in_survey: Option<StopRequest>,
    pub(super) options: Options,
    pub(super) gate: Box<dyn Gate>,
    pub(super) trouble: Trouble,
    pub(super) target: Target,
    _directory: tempfile::TempDir,
}

impl Trial {
    pub(super) fn new(world: World) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let state =
            State::open(directory.path().join("state"), directory.path().join("run")).unwrap();
        Self {
            world: Rc::new(world),
            state,
            units: 64,
            unsplittable: false,
            rock_units: u64::MAX,
            stuck: false,
            lags: false,
            stop_in_survey: None,
            options: Options {
                settings: Settings {
                    max_latency: None,
                    stall: Duration::from_millis(50),
                    rate_bytes_per_s: None,
                    step_bytes_max: 1 << 30,
                    ..Settings::default()
                },
                accept_stall: None,
                quiet: Duration::from_secs(3),
                deadline: None,
                settle_timeout: Duration::from_secs(5),
            },
            gate: Box::new(AlwaysOpen),
            trouble: Box::new(|_, _| None),
            target: Target {
                mount_point: PathBuf::from("/data"),
                mount_id: 1,
                identity: Identity {
                    device: DeviceNumber {
                        major: 253,
                        minor: 0,
                    },
                    uuid: Some("11111111-2222-3333-4444-555555555555".to_owned()),
                    fs_type: "xfs".to_owned(),
                },
                device_path: PathBuf::from("/dev/dm-0"),
            },
            _directory: directory,
        }
    }

    pub(super) fn key(&self) -> String {
        self.target.identity.key()
    }

    pub(super) fn run(&mut self) -> (Outcome, Vec<Event>) {
        let resume = self.state.checkpoint(&self.key()).unwrap();
        let layers = Layers {
            layers: [("dm-0", 0, false), ("nvme0n1", 1, true)]
                .map(|(device, depth, is_leaf)| LayerName {
                    device: device.to_owned(),
                    depth,
                    is_leaf,
                    is_mapped: false,
                })
                .into(),
        };
        let clock = WorldClock(Rc::clone(&self.world));
        let next = resume.as_ref().map_or(0, |at| at.cursor.next_bytes / UNIT);
        let mut recorded = RecordedEvents::default();
        let outcome = run(
            Parts {
                target: &self.target,
                layers: &layers,
                walk: Box::new(WorldWalk {
                    units: self.units,
                    next,
                    stuck: self.stuck,
                    lags: self.lags,
                    at: next,
                    unsplittable: self.unsplittable,
                    rock_units: self.rock_units,
                    stopped: self
                        .stop_in_survey
                        .take()
                        .map(|request| (self.world.stop.clone(), request)),
                }),
                resume,
                trimmer: Box::new(WorldTrimmer {
                    world: Rc::clone(&self.world),
                    trouble: std::mem::replace(&mut self.trouble, Box::new(|_, _| None)),
                }),
                watch: Box::new(WorldCounters(Rc::clone(&self.world))),
                probes: vec![Box::new(WorldProbe {
                    world: Rc::clone(&self.world),
                    asked: self.world.now.get(),
                })],
                clock: &clock,
                state: &self.state,
                stop: self.world.stop.clone(),
                gate: std::mem::replace(&mut self.gate, Box::new(AlwaysOpen)),
                run_housekeeping: Box::new(|| {
                    self.world
                        .housekeeping_runs
                        .set(self.world.housekeeping_runs.get() + 1);
                    Ok(())
                }),
            },
            &self.options,
            &mut recorded,
        );
        (outcome, recorded.0)
    }

    /// Runs a pass that fails; returns the reason, and whether a later call can resume.
    pub(super) fn fail(&mut self) -> (String, bool) {
        match self.run().0.ended {
            Ended::Failed { reason, resumable } => (reason, resumable),
            ended => panic!("{ended:?}"),
        }
    }

    /// Asserts that every piece of free space was trimmed once and in order.
    pub(super) fn assert_all_trimmed_once(&self) {
        let mut next = 0;
        for range in self.world.calls.borrow().iter() {
            assert_eq!(range.start_bytes, next);
            next = range.end_bytes();
        }
        assert_eq!(next, self.units * UNIT);
    }
}
