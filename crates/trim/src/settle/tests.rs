use super::*;
use jiff::Timestamp;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const MIB: u64 = 1 << 20;

/// A drive whose discards complete at set times.
#[derive(Default)]
struct World {
    now: Cell<Duration>,
    samples_taken: Cell<u32>,
    /// Time and size of each completion.
    completions: RefCell<Vec<(Duration, u64)>>,
    /// Requests count as in flight until this time.
    in_flight_until: Cell<Duration>,
    counts_discards: Cell<bool>,
    /// Whether others write all the time.
    others_write: Cell<bool>,
    gone_at: Cell<Option<Duration>>,
    /// Whether there is an md RAID0 above, which counts no discards.
    below_md: Cell<bool>,
}

impl Clock for World {
    fn elapsed(&self) -> Duration {
        self.now.get()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn sleep(&self, duration: Duration) {
        assert!(!duration.is_zero());
        self.now.set(self.now.get() + duration);
    }
}

struct FakeCounters(Rc<World>);

impl CounterSource for FakeCounters {
    fn sample(&mut self) -> Result<Sample, CounterError> {
        let world = &self.0;
        world.samples_taken.set(world.samples_taken.get() + 1);
        let now = world.now.get();
        if world.gone_at.get().is_some_and(|at| now >= at) {
            return Err(CounterError::Gone {
                device: "sda".to_owned(),
            });
        }
        let (mut discards, mut bytes) = (0, 0);
        for &(at, size) in world.completions.borrow().iter() {
            if at <= now {
                discards += 1;
                bytes += size;
            }
        }
        let counts = world.counts_discards.get();
        let others = if world.others_write.get() {
            u64::try_from(now.as_micros()).unwrap() * 4096
        } else {
            0
        };
        let sda = DeviceCounters {
            discards: counts.then_some(discards),
            discarded_bytes: counts.then_some(bytes),
            written_bytes: others + if counts { 0 } else { bytes },
            in_flight: u64::from(now < world.in_flight_until.get()),
            ..DeviceCounters::default()
        };
        let mut devices: BTreeMap<String, DeviceCounters> = [("sda".to_owned(), sda)].into();
        if world.below_md.get() {
            let md0 = DeviceCounters {
                discards: Some(0),
                discarded_bytes: Some(0),
                ..DeviceCounters::default()
            };
            devices.insert("md0".to_owned(), md0);
        }
        Ok(Sample {
            at: now,
            devices,
            io_pressure_us: None,
        })
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

struct Trial {
    world: Rc<World>,
    settler: Settler,
    stop: Stop,
    timeout: Duration,
}

impl Trial {
    fn new() -> Self {
        let world = World::default();
        world.counts_discards.set(true);
        Self {
            world: Rc::new(world),
            settler: Settler::new(),
            stop: Stop::default(),
            timeout: Duration::from_mins(1),
        }
    }

    /// Makes a call that returns after `call`; completions are at times since the start of the
    /// call.
    fn step(
        &mut self,
        call: Duration,
        completions: &[(Duration, u64)],
        free_bytes: Option<u64>,
    ) -> Result<(Settled, Duration), CounterError> {
        let before = FakeCounters(Rc::clone(&self.world)).sample()?;
        let began = self.world.now.get();
        self.world
            .completions
            .borrow_mut()
            .extend(completions.iter().map(|&(at, bytes)| (began + at, bytes)));
        self.world.now.set(began + call);
        let expect = Expect {
            top: vec![
                if self.world.below_md.get() {
                    "md0"
                } else {
                    "sda"
                }
                .to_owned(),
            ],
            leaves: vec!["sda".to_owned()],
            free_bytes,
            quiet_in_flight: 0,
            timeout: self.timeout,
        };
        let world = Rc::clone(&self.world);
        let settled = self.settler.settle(
            &mut FakeCounters(Rc::clone(&self.world)),
            &*world,
            &self.stop,
            &before,
            &expect,
        )?;
        let waited = self.world.now.get().saturating_sub(began + call);
        Ok((settled, waited))
    }
}

#[test]
fn discards_done_within_the_call_are_not_waited_for() {
    let mut trial = Trial::new();
    let (settled, waited) = trial
        .step(ms(30), &[(ms(10), 5 * MIB), (ms(29), MIB)], Some(6 * MIB))
        .unwrap();
    assert_eq!(settled.discarded_bytes, Some(6 * MIB));
    assert_eq!(settled.took, Duration::ZERO);
    assert!(!settled.timed_out);
    assert_eq!(waited, Duration::ZERO);
}

#[test]
fn throttled_discards_are_waited_for_although_nothing_is_in_flight() {
    // 20 per second, as a cgroup's io.max lets them through.
    let mut trial = Trial::new();
    for _ in 0..5 {
        let completions: Vec<_> = (1..=20).map(|i| (ms(50 * i), MIB)).collect();
        let (settled, waited) = trial.step(ms(2), &completions, Some(20 * MIB)).unwrap();
        assert_eq!(settled.discarded_bytes, Some(20 * MIB));
        assert!(
            (990..=1020).contains(&settled.took.as_millis()),
            "{settled:?}"
        );
        // The bytes show it, so no time is lost.
        assert!(waited <= settled.took + ms(1));
    }
}

#[test]
fn drive_counters_are_used_if_the_raid_does_not_count() {
    let mut trial = Trial::new();
    trial.world.below_md.set(true);
    for _ in 0..3 {
        // Longer than the longest quiet time, which is all that a wait without counters would last.
        let completions: Vec<_> = (1..=30).map(|i| (ms(100 * i), MIB)).collect();
        let (settled, waited) = trial.step(ms(2), &completions, Some(30 * MIB)).unwrap();
        assert_eq!(settled.discarded_bytes, Some(30 * MIB));
        assert!(
            (2980..=3020).contains(&settled.took.as_millis()),
            "{settled:?}"
        );
        assert!(waited <= settled.took + QUIET_MAX);
        assert!(!settled.timed_out);
        trial.world.now.set(trial.world.now.get() + QUIET_MAX);
    }
}

#[test]
fn missing_bytes_cost_a_few_gaps() {
    let mut trial = Trial::new();
    for step in 0..10 {
        let completions: Vec<_> = (1..=10).map(|i| (ms(50 * i), MIB)).collect();
        // The eleventh MiB is busy.
        let (settled, waited) = trial.step(ms(2), &completions, Some(11 * MIB)).unwrap();
        assert_eq!(settled.discarded_bytes, Some(10 * MIB), "step {step}");
        assert!(!settled.timed_out);
        // Longer than a gap of 50 ms, and not much longer than half a second.
        let quiet = waited.saturating_sub(settled.took);
        assert!(
            quiet > ms(100) && quiet <= ms(520),
            "step {step}: {quiet:?}"
        );
    }
}

#[test]
fn quick_drives_are_not_waited_for_long() {
    let mut trial = Trial::new();
    let mut waited_last = Duration::ZERO;
    for _ in 0..12 {
        let completions: Vec<_> = (1..=10).map(|i| (ms(i), MIB)).collect();
        let (settled, waited) = trial.step(ms(2), &completions, Some(11 * MIB)).unwrap();
        assert_eq!(settled.discarded_bytes, Some(10 * MIB));
        waited_last = waited;
    }
    assert!(waited_last <= ms(50), "{waited_last:?}");
}

#[test]
fn nothing_to_discard_soon_costs_little_time() {
    // ext4, trimmed before.
    let mut trial = Trial::new();
    let waits: Vec<Duration> = (0..100)
        .map(|_| trial.step(ms(1), &[], Some(128 * MIB)).unwrap().1)
        .collect();
    assert!(waits[99] <= ms(22), "{:?}", waits[99]);
    assert!(waits.iter().sum::<Duration>() < Duration::from_secs(4));
}

#[test]
fn a_late_completion_makes_the_next_waits_longer() {
    let mut trial = Trial::new();
    for _ in 0..20 {
        trial.step(ms(1), &[], Some(MIB)).unwrap();
    }
    assert_eq!(trial.settler.quiet(), QUIET_MIN);
    // The drive has become slow: the first completion comes after the wait.
    let (settled, _) = trial.step(ms(1), &[(ms(300), MIB)], Some(2 * MIB)).unwrap();
    assert_eq!(settled.discarded_bytes, Some(0));
    trial.world.sleep(ms(500));
    for _ in 0..6 {
        trial.step(ms(1), &[(ms(300), MIB)], Some(2 * MIB)).unwrap();
        trial.world.sleep(ms(500));
    }
    let (settled, _) = trial.step(ms(1), &[(ms(300), MIB)], Some(2 * MIB)).unwrap();
    assert_eq!(settled.discarded_bytes, Some(MIB));
}

#[test]
fn a_request_in_flight_is_waited_for() {
    let mut trial = Trial::new();
    for _ in 0..20 {
        trial.step(ms(1), &[], Some(MIB)).unwrap();
    }
    let began = trial.world.now.get();
    trial.world.in_flight_until.set(began + ms(900));
    let (settled, _) = trial.step(ms(1), &[(ms(900), MIB)], Some(2 * MIB)).unwrap();
    assert_eq!(settled.discarded_bytes, Some(MIB));
    assert!(
        (890..930).contains(&settled.took.as_millis()),
        "{settled:?}"
    );
}

#[test]
fn requests_of_others_are_waited_for_at_most_the_longest_quiet_time() {
    let mut trial = Trial::new();
    trial.world.in_flight_until.set(Duration::from_hours(1));
    let (settled, waited) = trial.step(ms(1), &[(ms(5), MIB)], Some(2 * MIB)).unwrap();
    assert!(!settled.timed_out);
    assert!(waited <= QUIET_MAX + ms(30), "{waited:?}");
}

#[test]
fn more_bytes_than_expected_does_not_end_the_wait() {
    // A kernel that discards overlapping extents whole, and returns early.
    let mut trial = Trial::new();
    let completions: Vec<_> = (1..=40).map(|i| (ms(4 * i), 3 * MIB)).collect();
    trial.step(ms(1), &completions, Some(10 * MIB)).unwrap();
    let (settled, _) = trial.step(ms(1), &completions, Some(60 * MIB)).unwrap();
    assert_eq!(settled.discarded_bytes, Some(120 * MIB));
}

#[test]
fn timeout_is_not_an_error() {
    let mut trial = Trial::new();
    trial.timeout = ms(700);
    let completions: Vec<_> = (1..=100).map(|i| (ms(20 * i), MIB)).collect();
    let (settled, waited) = trial.step(ms(1), &completions, Some(100 * MIB)).unwrap();
    assert!(settled.timed_out);
    assert!((700..730).contains(&waited.as_millis()), "{waited:?}");
}

#[test]
fn a_stop_ends_the_wait() {
    let mut trial = Trial::new();
    trial.stop.request(crate::stop::StopRequest::Signal(15));
    let (settled, waited) = trial.step(ms(1), &[(ms(90), MIB)], Some(MIB)).unwrap();
    assert!(settled.timed_out);
    assert_eq!(waited, Duration::ZERO);
}

#[test]
fn without_discard_counters_writes_must_stand_still() {
    let mut trial = Trial::new();
    trial.world.counts_discards.set(false);
    trial.world.in_flight_until.set(ms(200));
    let completions: Vec<_> = (1..=10).map(|i| (ms(20 * i), MIB)).collect();
    let (settled, _) = trial.step(ms(1), &completions, Some(10 * MIB)).unwrap();
    assert_eq!(settled.discarded_bytes, None);
    assert!(
        (195..240).contains(&settled.took.as_millis()),
        "{settled:?}"
    );
    // On a busy store they never do.
    trial.world.others_write.set(true);
    let (settled, waited) = trial.step(ms(1), &[], Some(10 * MIB)).unwrap();
    assert!(!settled.timed_out);
    assert!(waited <= QUIET_MAX + ms(30), "{waited:?}");
}

#[test]
fn removed_device_is_an_error() {
    let mut trial = Trial::new();
    trial.world.gone_at.set(Some(ms(40)));
    let error = trial.step(ms(1), &[(ms(90), MIB)], Some(MIB)).unwrap_err();
    assert!(matches!(error, CounterError::Gone { .. }));
}

#[test]
fn waiting_takes_few_samples() {
    let mut trial = Trial::new();
    trial
        .step(ms(1), &[(Duration::from_millis(450), MIB)], Some(MIB))
        .unwrap();
    assert!(
        trial.world.samples_taken.get() < 60,
        "{}",
        trial.world.samples_taken.get()
    );
}
