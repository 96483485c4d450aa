use super::simulation::{
    Disk, FIFO, IDEAL, IMPOSSIBLE, PARALLEL, PER_COMMAND, PLAN, Plan, Run, World, run, untrimmed,
};
use super::*;
use linux::counters::DeviceCounters;
use proptest::prelude::*;

const SEEDS: std::ops::Range<u64> = 1..5;
const STALL_S: f64 = 0.05;

fn pass(disk: Disk, utilisation: f64, seed: u64, plan: Plan) -> Run {
    run(
        &mut World::new(disk, utilisation, seed),
        Settings::default(),
        plan,
    )
}

/// Checks the guarantee: the mean is within its budget and p99 at most three times the untrimmed
/// level (or 2 ms above it), or the pass gave up.
fn keeps_its_promise(run: &Run, disk: Disk, utilisation: f64, seed: u64) {
    let (_, p99_s) = untrimmed(disk, utilisation, seed, 300.0);
    let limit_s = (3.0 * p99_s).max(p99_s + 2e-3);
    if run.gave_up.is_none() {
        assert!(run.mean_s <= run.mean_budget_s, "seed {seed}: {run:?}");
        assert!(run.p99_s <= limit_s, "seed {seed}: {limit_s} {run:?}");
    }
    assert!(run.largest_pause <= PAUSE_MAX, "seed {seed}: {run:?}");
    // The probe must have measured what the store experienced.
    let probed = run.seen.unwrap();
    let ratio = probed.mean.as_secs_f64() / run.mean_s;
    assert!((0.6..1.6).contains(&ratio), "seed {seed}: {ratio} {run:?}");
}

fn over_the_stall(run: &Run) -> usize {
    run.locked_s.iter().filter(|&&s| s > STALL_S).count()
}

#[test]
fn drive_that_serves_one_request_at_a_time() {
    let plan = Plan {
        longest_s: 300.0,
        ..PLAN
    };
    for utilisation in [0.05, 0.3, 0.6] {
        for seed in SEEDS {
            let run = pass(FIFO, utilisation, seed, plan);
            keeps_its_promise(&run, FIFO, utilisation, seed);
            assert_eq!(run.gave_up, None, "seed {seed}");
            assert!(
                over_the_stall(&run) <= 3 + run.locked_s.len() / 1000,
                "{run:?}"
            );
            // Discards may use what the reads leave of the mean's budget; a tenth of the time is
            // well below that at any of these loads.
            assert!(
                run.duty >= 0.1,
                "seed {seed}: {} {:?}",
                run.duty,
                run.reasons
            );
        }
    }
}

#[test]
fn drive_that_takes_50_ms_per_command() {
    for utilisation in [0.05, 0.3] {
        for seed in SEEDS {
            let run = pass(PER_COMMAND, utilisation, seed, PLAN);
            keeps_its_promise(&run, PER_COMMAND, utilisation, seed);
            assert!(!run.locked_s.is_empty());
            // One command at a time, except for the first few steps.
            let several = run.locked_s.iter().filter(|&&s| s > 0.08).count();
            assert!(several <= 3, "seed {seed}: {:?}", run.locked_s);
        }
    }
}

#[test]
fn a_drive_with_parallel_queues() {
    for utilisation in [0.05, 0.3, 0.6] {
        for seed in SEEDS {
            let run = pass(PARALLEL, utilisation, seed, PLAN);
            keeps_its_promise(&run, PARALLEL, utilisation, seed);
            assert!(run.complete, "seed {seed}: {:?}", run.reasons);
            assert!(
                over_the_stall(&run) <= 3 + run.locked_s.len() / 1000,
                "seed {seed}"
            );
        }
    }
}

#[test]
fn ideal_drive_is_kept_busy() {
    for utilisation in [0.05, 0.6] {
        for seed in SEEDS {
            let run = pass(IDEAL, utilisation, seed, PLAN);
            keeps_its_promise(&run, IDEAL, utilisation, seed);
            assert!(run.complete);
            assert!(
                run.duty >= 0.6,
                "seed {seed}: {} {:?}",
                run.duty,
                run.reasons
            );
            assert_eq!(over_the_stall(&run), 0);
        }
    }
}

#[test]
fn an_impossible_drive_is_given_up() {
    for seed in SEEDS {
        let run = pass(IMPOSSIBLE, 0.3, seed, PLAN);
        let reason = run.gave_up.expect("gave up");
        assert!(reason.starts_with("the smallest steps"), "{reason}");
        assert!(run.locked_s.len() <= 10, "{:?}", run.locked_s);
    }
}

#[test]
fn unsplittable_large_extents_are_handled() {
    let plan = Plan {
        split: false,
        ..PLAN
    };
    for seed in SEEDS {
        let run = pass(PARALLEL, 0.3, seed, plan);
        keeps_its_promise(&run, PARALLEL, 0.3, seed);
        assert!(run.complete || run.gave_up.is_some(), "{:?}", run.reasons);
    }
}

#[test]
fn busy_store_is_waited_for() {
    // Three minutes at twice the load, which the drive can barely serve, then back to normal.
    let plan = Plan {
        longest_s: 600.0,
        ..PLAN
    };
    let mut world = World::new(PARALLEL, 0.45, 3);
    world.surge = Some((40.0, 220.0, 2.1));
    let settings = Settings::default();
    let run = run(&mut world, settings, plan);
    assert_eq!(run.gave_up, None);
    assert!(run.complete, "{:?}", run.reasons);
    let waited = run
        .reasons
        .keys()
        .any(|r| r.contains("nothing was trimmed"));
    assert!(waited, "{:?}", run.reasons);
}

#[test]
fn pass_gives_up_on_a_store_that_stays_busy() {
    let mut world = World::new(PARALLEL, 0.45, 3);
    world.surge = Some((40.0, 1e9, 2.1));
    let settings = Settings {
        patience: Duration::from_mins(2),
        ..Settings::default()
    };
    let run = run(&mut world, settings, PLAN);
    let reason = run.gave_up.expect("gave up");
    assert!(reason.starts_with("busy by itself for 2 min"), "{reason}");
}

#[test]
fn without_a_probe_await_and_locked_time_limit_the_pass() {
    let plan = Plan {
        probe: false,
        longest_s: 300.0,
        ..PLAN
    };
    for seed in 1..3 {
        let run = pass(IDEAL, 0.3, seed, plan);
        assert!(run.bytes > 1 << 30, "{run:?}");
        assert_eq!(over_the_stall(&run), 0);
        // Without a probe, only diskstats shows that reads suffer.
        let hurt = pass(IMPOSSIBLE, 0.3, seed, plan);
        assert!(hurt.locked_s.len() < 30, "{:?}", hurt.reasons);
        let reason = hurt.gave_up.expect("gave up");
        assert!(reason.starts_with("the smallest steps"), "{reason}");
    }
}

#[test]
fn rate_limit_is_kept() {
    let rate = 64 << 20;
    let settings = Settings {
        rate_bytes_per_s: Some(rate),
        ..Settings::default()
    };
    let plan = Plan {
        longest_s: 120.0,
        ..PLAN
    };
    let run = run(&mut World::new(IDEAL, 0.3, 1), settings, plan);
    #[allow(clippy::cast_precision_loss)] // a rate
    let seen = run.bytes as f64 / run.took_s / rate as f64;
    assert!((0.7..=1.01).contains(&seen), "{seen}");
}

fn reading(at_ms: u64, latency_us: u64) -> Reading {
    Reading {
        at: Duration::from_millis(at_ms),
        latency: Duration::from_micros(latency_us),
        failed: false,
        pending: false,
    }
}

fn quiet(mean_us: u64) -> QuietLevel {
    QuietLevel {
        mean: Duration::from_micros(mean_us),
        p50: Duration::from_micros(mean_us),
        p99: Duration::from_micros(5 * mean_us),
        readings: 300,
    }
}

#[test]
fn budgets_are_described() {
    let settings = Settings {
        rate_bytes_per_s: Some(500 << 20),
        ..Settings::default()
    };
    let probes = vec![
        ("nvme0n1".to_owned(), quiet(2000)),
        ("x".to_owned(), quiet(80)),
    ];
    let controller = Controller::new(settings, probes, &[]);
    assert_eq!(
        controller.budgets(),
        [
            "nvme0n1: mean at most 4 ms (quiet 2 ms), 99 of 100 below 30 ms (quiet 10 ms)",
            "x: mean at most 1.08 ms (quiet 80 us), 99 of 100 below 2.4 ms (quiet 400 us)",
            "space being discarded is locked for at most 50 ms at a time",
            "at most 500 MiB/s are discarded",
        ]
    );
    assert_eq!(controller.budget(2), Duration::ZERO);
}

#[test]
fn max_latency_applies_to_the_drive_probe_only() {
    let settings = Settings {
        max_latency: Some(Duration::from_millis(7)),
        ..Settings::default()
    };
    let probes = vec![("a".to_owned(), quiet(500)), ("b".to_owned(), quiet(500))];
    let controller = Controller::new(settings, probes, &[]);
    assert_eq!(controller.budget(0), Duration::from_millis(7));
    assert_eq!(controller.probes[0].p99_budget, Duration::from_millis(21));
    assert_eq!(controller.budget(1), Duration::from_micros(1500));
}

#[test]
fn a_quiet_level_needs_answers() {
    let mut readings: Vec<Reading> = (0..7).map(|i| reading(i * 50, 100)).collect();
    assert_eq!(Controller::quiet_level(&readings), None);
    readings.extend((7..100).map(|i| reading(i * 50, 100)));
    readings.push(reading(6000, 9000));
    let level = Controller::quiet_level(&readings).unwrap();
    assert_eq!(level.readings, 101);
    // (100 * 100 us + 9 ms) / 101; the median within a bucket of 6 %.
    assert_eq!(level.mean.as_micros(), 188);
    assert!((100..=106).contains(&level.p50.as_micros()));
    assert!((100..=106).contains(&level.p99.as_micros()));
    for reading in &mut readings {
        reading.failed = true;
    }
    assert_eq!(Controller::quiet_level(&readings), None);
}

#[test]
fn hanging_read_holds_up_the_pass() {
    let probes = vec![("sda".to_owned(), quiet(500))];
    let mut controller = Controller::new(Settings::default(), probes, &[]);
    assert_eq!(controller.next(Duration::ZERO), Action::Go);
    let hung = Reading {
        pending: true,
        ..reading(0, 40_000)
    };
    controller.read(0, &[hung]);
    let Action::Wait { reason, .. } = controller.next(Duration::from_millis(40)) else {
        panic!("a step beside a hung read");
    };
    assert_eq!(
        reason,
        "sda: no answer for 40 ms (limit 7.5 ms); nothing was trimmed yet"
    );
    assert_eq!(controller.seen(0).unwrap().readings, 1);
    controller.read(0, &[]);
    assert_eq!(controller.next(Duration::from_millis(50)), Action::Go);
}

#[test]
fn closed_window_time_does_not_count_as_busy() {
    let probes = vec![("sda".to_owned(), quiet(500))];
    let mut controller = Controller::new(Settings::default(), probes, &[]);
    let hung = Reading {
        pending: true,
        ..reading(0, 40_000)
    };
    controller.read(0, &[hung]);
    let closes = controller.next(Duration::from_secs(1));
    assert!(matches!(closes, Action::Wait { .. }), "{closes:?}");
    // The next night it is busy again, or still.
    controller.rested();
    let opens = controller.next(Duration::from_hours(20));
    assert!(matches!(opens, Action::Wait { .. }), "{opens:?}");
    let later = controller.next(Duration::from_hours(21));
    assert!(matches!(later, Action::GiveUp { .. }), "{later:?}");
}

#[test]
fn failed_requests_brake_but_do_not_count_as_latency() {
    let probes = vec![("sda".to_owned(), quiet(500))];
    let mut controller = Controller::new(Settings::default(), probes, &[]);
    let failed: Vec<Reading> = (0..10)
        .map(|i| Reading {
            failed: true,
            ..reading(i * 50, 10)
        })
        .collect();
    controller.read(0, &failed);
    let Action::Wait { reason, .. } = controller.next(Duration::from_secs(1)) else {
        panic!("a step while all requests fail")
    };
    assert!(
        reason.starts_with("sda: the last 10 requests failed"),
        "{reason}"
    );
    assert_eq!(controller.seen(0), None, "no request took any time");
}

#[test]
fn tail_between_steps_is_learnt_within_bounds() {
    let budget_after = |slow_us: u64| {
        let probes = vec![("sda".to_owned(), quiet(500))];
        let mut controller = Controller::new(Settings::default(), probes, &[]);
        let first = controller.probes[0].p99_budget;
        for i in 0..1000 {
            let micros = if i % 40 == 0 { slow_us } else { 500 };
            controller.read(0, &[reading(i * 50, micros)]);
            controller.next(Duration::from_millis(i * 50));
        }
        controller.probes[0].p99_budget.as_secs_f64() / first.as_secs_f64()
    };
    // One read in 40 is this slow without any step.
    assert!(
        (0.99..1.01).contains(&budget_after(600)),
        "nothing to learn"
    );
    let learnt = budget_after(4000);
    assert!((1.3..2.0).contains(&learnt), "{learnt}");
    assert!((1.99..2.01).contains(&budget_after(500_000)), "bounded");
}

#[test]
fn store_recovers_soon_after_an_outage() {
    // A store's probe: two requests per second.
    let probes = vec![("store".to_owned(), quiet(2000))];
    let mut controller = Controller::new(Settings::default(), probes, &[]);
    let mut now_ms = 0;
    let mut ask = |controller: &mut Controller, micros: u64| {
        now_ms += 500;
        controller.read(0, &[reading(now_ms, micros)]);
        controller.next(Duration::from_millis(now_ms))
    };
    for _ in 0..40 {
        assert_eq!(ask(&mut controller, 2000), Action::Go);
    }
    for _ in 0..30 {
        ask(&mut controller, 10_000_000);
    }
    let back = (0..240).find(|_| ask(&mut controller, 2000) == Action::Go);
    // Within a minute of simulated time.
    assert!(back.is_some_and(|readings| readings < 120), "{back:?}");
}

#[test]
fn pressure_from_others_vetoes_but_own_pressure_does_not() {
    let sample = |at_ms: u64, us: u64| Sample {
        at: Duration::from_millis(at_ms),
        io_pressure_us: Some(us),
        ..Sample::default()
    };
    let quiet_samples = [sample(0, 0), sample(10_000, 500_000)];
    let mut controller = Controller::new(Settings::default(), Vec::new(), &quiet_samples);
    assert_eq!(
        controller.budgets()[1],
        "a pause while others wait for I/O more than 25 % of the time"
    );
    let step = StepOutcome {
        began: Duration::from_millis(10_100),
        settled: Duration::from_millis(10_600),
        locked: Duration::from_millis(10),
        discarded_bytes: Some(1 << 20),
        free_bytes: Some(1 << 20),
        free_extents: Some(1),
        timed_out: false,
    };
    controller.sample(&sample(10_000, 500_000));
    controller.finished(&step);
    // Half a second of waiting in the last second, all of it caused by the step.
    controller.sample(&sample(11_000, 1_000_000));
    assert_eq!(controller.next(Duration::from_secs(11)), Action::Go);
    controller.sample(&sample(12_000, 1_500_000));
    let Action::Wait { reason, .. } = controller.next(Duration::from_secs(12)) else {
        panic!("no veto");
    };
    assert!(
        reason.starts_with("tasks wait for I/O 50 % of the time"),
        "{reason}"
    );
}

#[test]
fn stalls_are_predicted_from_what_was_measured() {
    let mut controller = Controller::new(Settings::default(), Vec::new(), &[]);
    assert_eq!(controller.predicted_stall(1 << 30, 1), None);
    for extents in 1..=20u64 {
        let bytes = (extents * extents) << 20;
        controller.finished(&StepOutcome {
            began: Duration::from_secs(extents),
            settled: Duration::from_secs(extents + 1),
            // 2 ms per extent, 1 ms per MiB.
            locked: Duration::from_millis(2 * extents + extents * extents),
            discarded_bytes: Some(bytes),
            free_bytes: Some(bytes),
            free_extents: Some(extents),
            timed_out: false,
        });
    }
    let predicted = controller
        .predicted_stall(1 << 30, 100)
        .unwrap()
        .as_secs_f64();
    // 1.024 s + 0.2 s, and a margin of 30 %.
    assert!((1.55..1.65).contains(&predicted), "{predicted}");
    // The largest step had 400 MiB: the time for 7 GiB cannot be predicted.
    assert_eq!(controller.predicted_stall(7 << 30, 1), None);
}

#[test]
fn few_small_discards_give_no_prediction() {
    let mut controller = Controller::new(Settings::default(), Vec::new(), &[]);
    for step in 0..10 {
        assert_eq!(controller.predicted_stall(512 << 30, 1), None);
        // 51 ms and 55 ms do not show that 2 MiB take 300 ms.
        assert_eq!(controller.predicted_stall(2 << 20, 1), None, "{step}");
        controller.finished(&StepOutcome {
            began: Duration::from_secs(step),
            settled: Duration::from_secs(step) + Duration::from_millis(53),
            locked: Duration::from_millis(51 + step % 5),
            discarded_bytes: Some(16 << (10 + step % 6)),
            free_bytes: Some(16 << (10 + step % 6)),
            free_extents: Some(1),
            timed_out: false,
        });
    }
    assert_eq!(controller.predicted_stall(512 << 30, 1), None);
    assert!(controller.predicted_stall(16 << 10, 1).is_some());
}

fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0u64..200_000).prop_map(Duration::from_micros),
        any::<u64>().prop_map(Duration::from_nanos),
        Just(Duration::MAX),
        Just(Duration::ZERO),
    ]
}

#[derive(Debug, Clone)]
enum Input {
    Read(usize, Vec<Reading>),
    Sample(Sample),
    Finished(StepOutcome),
    Next(Duration),
}

fn any_input() -> impl Strategy<Value = Input> {
    let reading = (any_duration(), any_duration(), any::<bool>(), any::<bool>()).prop_map(
        |(at, latency, failed, pending)| Reading {
            at,
            latency,
            failed,
            pending,
        },
    );
    let sample = (any_duration(), any::<[u64; 3]>(), any::<Option<u64>>()).prop_map(
        |(at, [reads, read_ms, in_flight], io_pressure_us)| Sample {
            at,
            devices: [(
                "sda".to_owned(),
                DeviceCounters {
                    reads,
                    read_ms,
                    in_flight,
                    ..DeviceCounters::default()
                },
            )]
            .into(),
            io_pressure_us,
        },
    );
    let outcome = (
        [any_duration(), any_duration(), any_duration()],
        any::<[Option<u64>; 3]>(),
        any::<bool>(),
    )
        .prop_map(
            |([began, settled, locked], [discarded_bytes, free_bytes, free_extents], timed_out)| {
                StepOutcome {
                    began,
                    settled,
                    locked,
                    discarded_bytes,
                    free_bytes,
                    free_extents,
                    timed_out,
                }
            },
        );
    prop_oneof![
        (0usize..4, prop::collection::vec(reading, 0..20)).prop_map(|(i, r)| Input::Read(i, r)),
        sample.prop_map(Input::Sample),
        outcome.prop_map(Input::Finished),
        any_duration().prop_map(Input::Next),
    ]
}

proptest! {
    #[test]
    fn no_input_breaks_the_controller(
        inputs in prop::collection::vec(any_input(), 0..120),
        levels in prop::collection::vec((any_duration(), any_duration()), 0..3),
        stall in any_duration(),
        rate in any::<Option<u64>>(),
        step_bytes_max in any::<u64>(),
        max_latency in prop::option::of(any_duration()),
    ) {
        let settings = Settings {
            max_latency,
            stall,
            rate_bytes_per_s: rate,
            step_bytes_max,
            patience: Duration::from_mins(1),
        };
        let probes = levels
            .into_iter()
            .map(|(mean, p99)| {
                ("x".to_owned(), QuietLevel { mean, p50: mean, p99, readings: 9 })
            })
            .collect();
        let samples: Vec<Sample> = inputs
            .iter()
            .filter_map(|input| match input {
                Input::Sample(sample) => Some(sample.clone()),
                _ => None,
            })
            .collect();
        let mut controller = Controller::new(settings, probes, &samples);
        for input in inputs {
            match input {
                Input::Read(probe, readings) => controller.read(probe, &readings),
                Input::Sample(sample) => controller.sample(&sample),
                Input::Finished(outcome) => controller.finished(&outcome),
                Input::Next(now) => {
                    if let Action::Wait { pause, reason } = controller.next(now) {
                        prop_assert!(pause <= PAUSE_MAX && pause > Duration::ZERO);
                        prop_assert!(!reason.is_empty());
                    }
                }
            }
            let budget = controller.step_budget();
            prop_assert!(budget.free_bytes >= 1 && budget.free_extents >= 1);
            prop_assert!(budget.free_bytes <= step_bytes_max.max(1));
            let _ = controller.predicted_stall(u64::MAX, u64::MAX);
            let _ = (controller.seen(0), controller.budgets());
        }
    }
}
