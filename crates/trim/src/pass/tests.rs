//! Whole passes over a made-up filesystem and drive, in made-up time.

use super::*;
use crate::account::LayerName;
use crate::child::{TrimError, Trimmed};
use crate::counters::{CounterError, DeviceCounters, Sample};
use crate::geometry::GeometryError;
use crate::probe::Reading;
use crate::range::{ByteRange, Cursor, StepBudget};
use crate::stop::StopRequest;
use crate::target::{Identity, TargetError};
use facts::host::DeviceNumber;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

const UNIT: u64 = 4 << 20;

/// What everything below looks at.
#[allow(clippy::struct_excessive_bools)] // switches of a test
struct World {
    now: Cell<Duration>,
    /// How far the wall clock is off.
    wall_off_s: Cell<i64>,
    devices: RefCell<BTreeMap<String, DeviceCounters>>,
    /// Whether discards get as far as the drive.
    passes: bool,
    counts_discards: bool,
    /// Of each range, so much is not discarded.
    passed_over_eighths: u64,
    /// Whether the drive counts anything at all (`queue/iostats`).
    counts_reads: bool,
    /// Whether the drive answers its probe.
    answers: bool,
    tended: Cell<u32>,
    /// Bytes trimmed, in the order of the calls.
    calls: RefCell<Vec<ByteRange>>,
    stop: Stop,
    gone: Cell<bool>,
}

impl World {
    fn new() -> Self {
        let devices = ["dm-0", "nvme0n1"]
            .map(|name| (name.to_owned(), DeviceCounters::default()))
            .into();
        Self {
            now: Cell::new(Duration::ZERO),
            wall_off_s: Cell::new(0),
            devices: RefCell::new(devices),
            passes: true,
            counts_discards: true,
            passed_over_eighths: 0,
            counts_reads: true,
            answers: true,
            tended: Cell::new(0),
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
        // A sleep of nothing would never end.
        let passed = duration.max(Duration::from_micros(1));
        self.0.now.set(self.0.now.get() + passed);
    }
}

/// /proc/diskstats in the form of CentOS 7's kernel 3.10: 14 columns, with discards among the writes
/// (`part_stat_add(cpu, part, sectors[rw], ...)`, block/blk-core.c, knows two directions only).
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

struct WorldWatch(Rc<World>);

impl Watch for WorldWatch {
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
            devices = crate::counters::parse_diskstats(&text, &names)?;
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

/// `units` pieces of free space of 4 MiB, one beside the other.
struct WorldWalk {
    units: u64,
    next: u64,
    unsplittable: bool,
    rock_units: u64,
    /// Hands the same step out for ever.
    stuck: bool,
}

impl Walk for WorldWalk {
    fn survey(&mut self, _: StepBudget) -> Result<Survey, GeometryError> {
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
        }
        Ok(Some(Step {
            range,
            free_extents: Some(taken),
            free_bytes: Some(taken * UNIT),
            largest_extent_bytes: Some(UNIT),
            unsplittable: self.unsplittable.then(|| "a rock".to_owned()),
        }))
    }

    fn observed(&mut self, _: Option<u64>) {}

    fn cursor(&self) -> Cursor {
        Cursor {
            next_bytes: self.next * UNIT,
            unallocated_done: false,
        }
    }

    fn minlen_bytes(&self) -> u64 {
        4096
    }
}

type Trouble = Box<dyn FnMut(&World, usize) -> Option<TrimError>>;

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
        // 4 GiB/s, and 100 us a call.
        let took = Duration::from_micros(100) + Duration::from_nanos(range.len_bytes / 4);
        self.world.now.set(self.world.now.get() + took);
        for (name, device) in self.world.devices.borrow_mut().iter_mut() {
            if name == "dm-0" || self.world.passes {
                let taken_bytes =
                    range.len_bytes - range.len_bytes / 8 * self.world.passed_over_eighths;
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

#[derive(Default)]
struct Heard(Vec<Event>);

impl Progress for Heard {
    fn event(&mut self, event: &Event) {
        self.0.push(event.clone());
    }
}

/// A pass of a test; its fields are changed before it runs.
struct Trial {
    world: Rc<World>,
    state: State,
    units: u64,
    unsplittable: bool,
    rock_units: u64,
    stuck: bool,
    options: Options,
    gate: Box<dyn Gate>,
    trouble: Trouble,
    target: Target,
    _directory: tempfile::TempDir,
}

impl Trial {
    fn new(world: World) -> Self {
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
            options: Options {
                settings: Settings {
                    max_latency: None,
                    stall: Duration::from_millis(50),
                    rate_bytes_per_s: None,
                    accept_stall: None,
                    step_bytes_max: 1 << 30,
                    ..Settings::default()
                },
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

    fn key(&self) -> String {
        self.target.identity.key()
    }

    fn run(&mut self) -> (Outcome, Vec<Event>) {
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
        let mut heard = Heard::default();
        let outcome = run(
            Parts {
                target: &self.target,
                layers: &layers,
                walk: Box::new(WorldWalk {
                    units: self.units,
                    next: resume.as_ref().map_or(0, |at| at.cursor.next_bytes / UNIT),
                    stuck: self.stuck,
                    unsplittable: self.unsplittable,
                    rock_units: self.rock_units,
                }),
                resume,
                trimmer: Box::new(WorldTrimmer {
                    world: Rc::clone(&self.world),
                    trouble: std::mem::replace(&mut self.trouble, Box::new(|_, _| None)),
                }),
                watch: Box::new(WorldWatch(Rc::clone(&self.world))),
                probes: vec![Box::new(WorldProbe {
                    world: Rc::clone(&self.world),
                    asked: self.world.now.get(),
                })],
                clock: &clock,
                state: &self.state,
                stop: self.world.stop.clone(),
                gate: std::mem::replace(&mut self.gate, Box::new(AlwaysOpen)),
                tend: Box::new(|| {
                    self.world.tended.set(self.world.tended.get() + 1);
                    Ok(())
                }),
            },
            &self.options,
            &mut heard,
        );
        (outcome, heard.0)
    }

    /// Every piece of free space, in order and each once.
    fn assert_all_trimmed_once(&self) {
        let mut next = 0;
        for range in self.world.calls.borrow().iter() {
            assert_eq!(range.start_bytes, next);
            next = range.end_bytes();
        }
        assert_eq!(next, self.units * UNIT);
    }
}

#[test]
fn a_pass_visits_everything_once_and_leaves_no_checkpoint() {
    let mut trial = Trial::new(World::new());
    let (outcome, events) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    trial.assert_all_trimmed_once();
    let bytes = trial.units * UNIT;
    assert_eq!(outcome.progress.visited_bytes, bytes);
    assert_eq!(outcome.progress.free_bytes, bytes);
    assert_eq!(outcome.progress.discarded.0["nvme0n1"], bytes);
    assert!(outcome.measurable);
    assert_eq!(trial.state.checkpoint(&trial.key()).unwrap(), None);
    assert!(matches!(events[0], Event::Measuring { .. }));
    assert!(matches!(events[1], Event::Begins { .. }));
}

#[test]
fn a_signal_in_the_kernel_loses_no_step() {
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|world, call| {
        (call == 2).then(|| {
            world.stop.request(StopRequest::Signal(15));
            TrimError::Stopped
        })
    });
    let (outcome, _) = trial.run();
    assert_eq!(outcome.ended, Ended::Signal(15));
    let done: u64 = trial.world.calls.borrow().iter().map(|c| c.len_bytes).sum();
    let checkpoint = trial.state.checkpoint(&trial.key()).unwrap().unwrap();
    assert_eq!(checkpoint.cursor.next_bytes, done);
    assert_eq!(checkpoint.steps, 2);

    let world = Rc::get_mut(&mut trial.world).unwrap();
    world.stop = Stop::default();
    let (outcome, events) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    trial.assert_all_trimmed_once();
    assert!(events.iter().any(
        |event| matches!(event, Event::Begins { resumed_bytes, .. } if *resumed_bytes == done)
    ));
    // Both sittings are counted.
    assert_eq!(outcome.progress.visited_bytes, trial.units * UNIT);
    assert_eq!(outcome.progress.free_bytes, trial.units * UNIT);
    assert_eq!(outcome.progress.discarded.0["nvme0n1"], trial.units * UNIT);
}

#[test]
fn cancel_drops_the_checkpoint() {
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|world, call| {
        if call == 2 {
            world.stop.request(StopRequest::Cancel);
        }
        None
    });
    let (outcome, _) = trial.run();
    assert_eq!(outcome.ended, Ended::Cancelled);
    assert_eq!(trial.state.checkpoint(&trial.key()).unwrap(), None);
}

#[test]
fn a_stack_that_swallows_discards_ends_the_pass() {
    let mut world = World::new();
    world.passes = false;
    let mut trial = Trial::new(world);
    let (outcome, _) = trial.run();
    let Ended::Swallowed(swallowed) = outcome.ended else {
        panic!("{:?}", outcome.ended)
    };
    assert_eq!(swallowed.device.as_deref(), Some("dm-0"));
    assert_eq!(swallowed.passed_bytes, 0);
    // The next pass begins anew: nothing of this one arrived.
    assert_eq!(trial.state.checkpoint(&trial.key()).unwrap(), None);
    assert!(swallowed.taken_bytes < trial.units * UNIT);
}

#[test]
fn the_deadline_counts_the_clock_that_never_jumps() {
    let mut trial = Trial::new(World::new());
    trial.options.deadline = Some(Duration::from_secs(4));
    trial.options.settings.rate_bytes_per_s = Some(UNIT);
    trial.trouble = Box::new(|world, call| {
        world
            .wall_off_s
            .set(if call == 0 { 86_400 } else { -86_400 });
        None
    });
    let (outcome, _) = trial.run();
    let Ended::Stopped { reason } = outcome.ended else {
        panic!("{:?}", outcome.ended)
    };
    assert!(reason.contains("deadline"), "{reason}");
    assert!(trial.state.checkpoint(&trial.key()).unwrap().is_some());
    let slept = trial.world.now.get();
    assert!(slept < Duration::from_secs(30), "{slept:?}");
}

struct OpenAfter(Timestamp);

impl Gate for OpenAfter {
    fn closed(&mut self, now: Timestamp) -> Option<Closed> {
        (now < self.0).then(|| Closed {
            reason: "outside of --window".to_owned(),
            opens_at: Some(self.0),
        })
    }
}

#[test]
fn a_pass_waits_for_its_window() {
    let mut trial = Trial::new(World::new());
    let opens_at = Timestamp::from_second(1_800_003_600).unwrap();
    trial.gate = Box::new(OpenAfter(opens_at));
    let (outcome, events) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    assert!(trial.world.now.get() >= Duration::from_hours(1));
    // The guardian is looked after in the meantime as well.
    assert!(trial.world.tended.get() > 1000);
    let waits = events.iter().filter(
        |event| matches!(event, Event::Waiting { reason, .. } if reason == "outside of --window"),
    );
    assert_eq!(waits.count(), 1);
}

struct ClosesAt(Timestamp);

impl Gate for ClosesAt {
    fn closed(&mut self, now: Timestamp) -> Option<Closed> {
        (now >= self.0).then(|| Closed {
            reason: "the window has closed".to_owned(),
            opens_at: None,
        })
    }
}

#[test]
fn a_window_that_closes_stops_the_pass_resumably() {
    let mut trial = Trial::new(World::new());
    trial.options.settings.rate_bytes_per_s = Some(UNIT);
    trial.gate = Box::new(ClosesAt(Timestamp::from_second(1_800_000_010).unwrap()));
    let (outcome, _) = trial.run();
    assert!(matches!(outcome.ended, Ended::Stopped { .. }));
    let checkpoint = trial.state.checkpoint(&trial.key()).unwrap().unwrap();
    assert!(checkpoint.cursor.next_bytes > 0);
    assert!(checkpoint.cursor.next_bytes < trial.units * UNIT);
}

#[test]
fn what_cannot_be_split_wants_a_word() {
    let mut trial = Trial::new(World::new());
    trial.units = 1024;
    trial.unsplittable = true;
    let (outcome, events) = trial.run();
    let Ended::Stopped { reason } = outcome.ended else {
        panic!("{:?}", outcome.ended)
    };
    assert!(
        reason.contains("a rock") && reason.contains("--accept-stall 2s"),
        "{reason}"
    );
    assert!(trial.world.calls.borrow().is_empty());
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Unsplittable { .. }))
    );

    trial.options.settings.accept_stall = Some(Duration::from_secs(2));
    assert_eq!(trial.run().0.ended, Ended::Complete);
    trial.assert_all_trimmed_once();
}

#[test]
fn what_the_kernel_passed_over_is_told_of_xfs() {
    for (eighths, fs_type, told) in [(1, "xfs", true), (0, "xfs", false), (1, "ext4", false)] {
        let mut world = World::new();
        world.passed_over_eighths = eighths;
        let mut trial = Trial::new(world);
        trial.target.identity.fs_type = fs_type.to_owned();
        let (outcome, events) = trial.run();
        assert_eq!(outcome.ended, Ended::Complete);
        let said = events.iter().any(
            |event| matches!(event, Event::Warning(text) if text.contains("32.0 MiB were not discarded")),
        );
        assert_eq!(said, told, "{fs_type} {eighths}: {events:?}");
    }
}

#[test]
fn a_walk_that_does_not_advance_ends() {
    let mut trial = Trial::new(World::new());
    trial.stuck = true;
    let (outcome, _) = trial.run();
    let Ended::Failed { reason, resumable } = outcome.ended else {
        panic!("{:?}", outcome.ended)
    };
    assert!(reason.contains("lead nowhere"), "{reason}");
    assert!(!resumable);
    assert_eq!(trial.world.calls.borrow().len(), 1);
}

#[test]
fn a_drive_that_goes_away_is_named() {
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|world, call| {
        world.gone.set(call == 3);
        None
    });
    let (outcome, _) = trial.run();
    let Ended::Failed { reason, resumable } = outcome.ended else {
        panic!("{:?}", outcome.ended)
    };
    assert!(reason.contains("nvme0n1 is gone"), "{reason}");
    assert!(resumable);
}

#[test]
fn another_filesystem_on_the_mount_point_ends_it() {
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|_, call| {
        (call == 3).then(|| {
            TrimError::Target(TargetError::Changed {
                mount_point: "/data".to_owned(),
                expected: "xfs 1111".to_owned(),
                found: "ext4 2222".to_owned(),
            })
        })
    });
    let (outcome, _) = trial.run();
    let Ended::Failed { reason, .. } = outcome.ended else {
        panic!("{:?}", outcome.ended)
    };
    assert!(reason.contains("ext4 2222"), "{reason}");
}

#[test]
fn a_state_directory_that_fails_ends_it() {
    let mut trial = Trial::new(World::new());
    let directory = trial.state.state_dir.clone();
    trial.options.settings.rate_bytes_per_s = Some(UNIT);
    trial.trouble = Box::new(move |_, call| {
        if call == 1 {
            std::fs::remove_dir_all(&directory).unwrap();
        }
        None
    });
    let (outcome, _) = trial.run();
    let Ended::Failed { reason, resumable } = outcome.ended else {
        panic!("{:?}", outcome.ended)
    };
    assert!(reason.contains("checkpoint"), "{reason}");
    assert!(resumable);
}

#[test]
fn a_child_that_shows_a_signal_first_has_not_failed() {
    // systemd sends SIGTERM to the whole control group.
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|world, call| {
        (call == 2).then(|| {
            world.stop.request(StopRequest::Signal(15));
            TrimError::Died("killed by SIGTERM".to_owned())
        })
    });
    assert_eq!(trial.run().0.ended, Ended::Signal(15));
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|_, _| Some(TrimError::Died("killed by SIGKILL".to_owned())));
    let Ended::Failed { reason, resumable } = trial.run().0.ended else {
        panic!("somebody killed it");
    };
    assert!(reason.contains("SIGKILL") && resumable, "{reason}");
}

#[test]
fn a_drive_that_counts_nothing_swallows_nothing() {
    let mut world = World::new();
    world.counts_reads = false;
    world.passes = false;
    let mut trial = Trial::new(world);
    let (outcome, events) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    assert!(events.iter().any(
        |event| matches!(event, Event::Warning(text) if text.contains("nvme0n1") && text.contains("iostats"))
    ));
    // Not known, rather than nothing.
    assert_eq!(outcome.progress.discarded.0.get("nvme0n1"), None);
}

#[test]
fn drives_that_do_not_answer_are_not_trimmed_blindly() {
    let mut world = World::new();
    world.answers = false;
    let mut trial = Trial::new(world);
    let Ended::Stopped { reason } = trial.run().0.ended else {
        panic!("there was nothing to judge by");
    };
    assert!(reason.contains("too few"), "{reason}");
    assert!(trial.world.calls.borrow().is_empty());
}

#[test]
fn steps_that_are_alike_are_announced_once() {
    let mut trial = Trial::new(World::new());
    trial.unsplittable = true;
    // 128 MiB, as a block group of ext4: above the stall that is aimed at, and allowed.
    trial.rock_units = 32;
    trial.units = 640;
    let (outcome, events) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    let announced = events
        .iter()
        .filter(|event| matches!(event, Event::Unsplittable { .. }));
    assert!((1..=2).contains(&announced.count()));
}

#[test]
fn an_unsupported_call_is_not_worth_another_try() {
    let mut trial = Trial::new(World::new());
    trial.trouble = Box::new(|_, _| {
        Some(TrimError::Kernel(std::io::Error::from_raw_os_error(
            rustix::io::Errno::OPNOTSUPP.raw_os_error(),
        )))
    });
    let (outcome, _) = trial.run();
    assert!(matches!(
        outcome.ended,
        Ended::Failed {
            resumable: false,
            ..
        }
    ));
}

#[test]
fn kernels_that_do_not_count_discards_are_trimmed_all_the_same() {
    let mut world = World::new();
    world.counts_discards = false;
    let mut trial = Trial::new(world);
    let (outcome, _) = trial.run();
    assert_eq!(outcome.ended, Ended::Complete);
    trial.assert_all_trimmed_once();
    assert!(
        !outcome.measurable,
        "bytes among the writes are no bytes discarded"
    );
    assert!(outcome.progress.discarded.0.is_empty());
    assert_eq!(outcome.progress.visited_bytes, trial.units * UNIT);
}
