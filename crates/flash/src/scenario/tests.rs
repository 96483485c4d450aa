#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)] // rates of numbers far below 2^53

use super::*;
use std::ops::ControlFlow;

use crate::drive::{Device, Drive, Queue};
use crate::filesystem::Reach;
use crate::ftl::{Counters, PowerOn, Settings};
use crate::geometry::Geometry;
use crate::random::Random;
use crate::theory;
use crate::time::Timing;
use crate::workload::database::Pattern;
use crate::workload::rhythm::Rhythm;

/// Elasticsearch and a smaller database on the same drive.
pub(super) const MIXED: [Part; 3] = [
    Part::new(Kind::LUCENE).shares(3.0, 9.0),
    Part::new(Kind::PAGES).shares(1.0, 3.0),
    Part::new(Kind::JOURNAL).shares(1.0, 1.0),
];

fn simulate(scenario: &Scenario) -> Outcome {
    let mut watch = |_: Progress| ControlFlow::Continue(());
    scenario.run(&mut watch).unwrap()
}

fn write_amplification(outcome: &Outcome) -> f64 {
    outcome.total.write_amplification.unwrap()
}

fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    (found / expected - 1.0).abs() <= tolerance
}

/// Single pages anywhere in one file, twice the drive's size per day, so that it settles in a few
/// days.
fn uniform() -> Scenario {
    Scenario {
        drive: DriveSpec {
            pages_per_block: 128,
            over_provisioning: 0.15,
            ..DriveSpec::default()
        },
        fill: 0.8,
        parts: vec![Part::new(Kind::Database {
            pattern: Pattern::Uniform,
            write_bytes: 16 * 1024,
        })],
        bytes_per_day: 2_000_000_000_000,
        warm_up_days: 6,
        days: 3,
        pages_max: 1 << 16,
        ..Scenario::default()
    }
}

/// A mix on a drive of 3.84 TB, half of which is written per day.
fn mixed() -> Scenario {
    Scenario {
        drive: DriveSpec {
            capacity_bytes: 3_840_000_000_000,
            ..DriveSpec::default()
        },
        parts: MIXED.to_vec(),
        bytes_per_day: 1_900_000_000_000,
        warm_up_days: 14,
        days: 28,
        interval_hours: 6,
        pages_max: 1 << 16,
        ..Scenario::default()
    }
}

/// Free space acts as spare area only if the drive knows that it is free.
#[test]
fn free_space_is_spare_area_once_the_drive_knows() {
    let known = 1.15 / 0.8 - 1.0;
    // Pages never written again accumulate in blocks that greedy leaves alone, so the other pages
    // get all of the spare area.
    let unknown = (1.15 - 0.2) / 0.8 - 1.0;
    let used = History::Used { passes: 1 };
    let daily = Trims::Periodic(Schedule::every(1, 0));
    for (history, trims, reach, spare) in [
        (History::Discarded, Trims::Never, Reach::Executed, known),
        (used, Trims::Never, Reach::Executed, unknown),
        (used, daily, Reach::Executed, known),
        (used, daily, Reach::Swallowed, unknown),
        (used, daily, Reach::Ignored, unknown),
    ] {
        let scenario = Scenario {
            history,
            trims,
            reach,
            pages_max: 1 << 17,
            ..uniform()
        };
        let outcome = simulate(&scenario);
        let expected = theory::greedy(spare, 128);
        let found = write_amplification(&outcome);
        // 1,024 blocks: with so little spare area, the one open for moved pages matters.
        assert!(
            close(found, expected, 0.03),
            "{found} {expected} {scenario:?}"
        );
        let untrimmed = outcome.intervals.last().unwrap().free_untrimmed_share;
        let unknown = spare < known;
        assert!((untrimmed > 0.19) == unknown, "{untrimmed}");
    }
}

/// Under uniform writes a drive scaled to an eighth behaves like the full-size one; a drive of
/// terabytes with files and trims behaves similarly at a thousandth and at a four-thousandth.
#[test]
fn scaling_keeps_write_amplification() {
    let full = Scenario {
        drive: DriveSpec {
            capacity_bytes: 2 << 30,
            ..uniform().drive
        },
        bytes_per_day: 4 << 30,
        pages_max: 1 << 20,
        ..uniform()
    };
    let eighth = Scenario {
        pages_max: 1 << 14,
        ..full.clone()
    };
    let (full, eighth) = (simulate(&full), simulate(&eighth));
    assert!(!full.scale.is_scaled() && close(eighth.scale.factor, 8.0, 1e-9));
    let (expected, found) = (write_amplification(&full), write_amplification(&eighth));
    assert!(close(found, expected, 0.02), "{found} {expected}");
    let (expected, found) = (full.total, eighth.total);
    let (expected, found) = (
        expected.sustained_mb_s.unwrap(),
        found.sustained_mb_s.unwrap(),
    );
    assert!(close(found, expected, 0.02), "{found} {expected}");
    assert!(close(
        eighth.written_bytes as f64,
        full.written_bytes as f64,
        0.03
    ));

    let ends = |pages_max| {
        let scenario = Scenario {
            trims: Trims::Periodic(Schedule::WEEKLY),
            pages_max,
            ..mixed()
        };
        let outcome = simulate(&scenario);
        let cycle = outcome.cycle(&scenario.drive).unwrap();
        let ends = [cycle.after, cycle.before].map(|point| point.write_amplification.unwrap());
        (
            ends,
            cycle.throughput_fall().unwrap(),
            outcome.trims[0].seconds,
        )
    };
    let (coarse, fine) = (ends(1 << 16), ends(1 << 18));
    for (coarse, fine) in coarse.0.iter().zip(fine.0) {
        assert!(close(*coarse, fine, 0.12), "{coarse} {fine}");
    }
    assert!((coarse.1 - fine.1).abs() < 0.05, "{} {}", coarse.1, fine.1);
    assert!(close(coarse.2, fine.2, 0.15), "{} {}", coarse.2, fine.2);
}

/// The value computed from counters, compared with a drive under full load.
#[test]
fn sustained_throughput_matches_a_saturated_drive() {
    let spec = DriveSpec {
        pages_per_block: 256,
        ..DriveSpec::default()
    };
    for (timing, name) in [
        (Timing::TLC, "dies"),
        (
            Timing {
                bus_mb_s: 60.0,
                ..Timing::MLC
            },
            "channels",
        ),
        (
            Timing {
                link_mb_s: Some(100.0),
                ..Timing::SLC
            },
            "link",
        ),
    ] {
        let pages = 1 << 16;
        let geometry = Geometry::new(pages, 0.2, spec.pages_per_block, spec.page_bytes).unwrap();
        let aged = PowerOn::Aged { passes: 4 };
        let mut drive = Drive::new(Settings::new(geometry), aged, &timing).unwrap();
        let mut queue = Queue::closed(1024);
        let mut random = Random::new(7);
        let written: Vec<u32> = (0..4 * pages)
            .map(|_| random.below_u32(u32::try_from(pages).unwrap()))
            .collect();
        drive.write_pages(&mut queue, &written);
        let measured = written.len() as f64 * f64::from(spec.page_bytes)
            / 1e6
            / (queue.drained_ns() as f64 / 1e9);
        let computed = sustained_mb_s(
            &drive.counters(),
            &timing,
            spec.page_bytes,
            spec.pages_per_block,
            1,
        )
        .unwrap();
        assert!(
            close(measured, computed, 0.08),
            "{name}: {measured} {computed}"
        );
    }
    let idle = sustained_mb_s(&Counters::default(), &Timing::TLC, 4096, 256, 1);
    assert_eq!(idle, None);
}

/// The more often the drive learns about free space, the less it moves; a swallowed trim has no
/// effect.
#[test]
fn more_frequent_trims_move_fewer_pages() {
    let amplification = |trims, reach| {
        let outcome = simulate(&Scenario {
            trims,
            reach,
            ..mixed()
        });
        (write_amplification(&outcome), outcome)
    };
    let weekly = Trims::Periodic(Schedule::WEEKLY);
    let daily = Trims::Periodic(Schedule::every(1, 6));
    let (never, _) = amplification(Trims::Never, Reach::Executed);
    let (by_week, outcome) = amplification(weekly, Reach::Executed);
    let (by_day, _) = amplification(daily, Reach::Executed);
    let (online, online_outcome) = amplification(Trims::Online, Reach::Executed);
    assert!(
        never > by_week && by_week > 1.5 * by_day && by_day > online,
        "{never} {by_week} {by_day} {online}"
    );
    let untrimmed = online_outcome
        .intervals
        .iter()
        .map(|interval| interval.free_untrimmed_share);
    assert!(untrimmed.fold(0.0, f64::max) < 1e-12);
    // The two weeks before the series count for the day of the week.
    let hours: Vec<u32> = outcome.trims.iter().map(|pass| pass.hour).collect();
    assert_eq!(hours, [150, 318, 486, 654]);
    let cycle = outcome.cycle(&mixed().drive).unwrap();
    assert_eq!(cycle.cycles, 3);
    assert!(cycle.throughput_fall().unwrap() > 0.3);

    let (swallowed, outcome) = amplification(daily, Reach::Swallowed);
    assert!(close(swallowed, never, 1e-12), "{swallowed} {never}");
    assert!(
        outcome.trims[0].bytes > 1_000_000_000_000,
        "the host believes"
    );
    assert_eq!(outcome.trims[0].released_bytes, 0);
}

#[test]
fn the_series_adds_up() {
    let rhythm = Rhythm::daily(14, 0.1).unwrap();
    let scenario = Scenario {
        rhythm,
        interval_hours: 5,
        days: 3,
        warm_up_days: 1,
        ..mixed()
    };
    let outcome = simulate(&scenario);
    assert_eq!(
        outcome.intervals.len(),
        15,
        "72 hours by 5, the last one shorter"
    );
    let mut hour = 0;
    let mut host_pages = 0;
    for interval in &outcome.intervals {
        assert_eq!(interval.hour, hour);
        hour += interval.hours;
        host_pages += interval.counters.host_pages;
        let wanted: f64 = (interval.hour..hour)
            .map(|hour| rhythm.factor(hour.into()) * 1.9e12 / 24.0)
            .sum();
        assert!(close(interval.wanted_bytes as f64, wanted, 1e-6));
        assert!(interval.live_share + interval.free_untrimmed_share <= 1.0 + 1e-12);
        assert!(!interval.throttled);
    }
    assert_eq!(hour, 72);
    assert_eq!(host_pages, outcome.counters.host_pages);
    let wanted: u64 = outcome
        .intervals
        .iter()
        .map(|interval| interval.wanted_bytes)
        .sum();
    assert!(close(outcome.written_bytes as f64, wanted as f64, 0.06));
    assert!(outcome.erases.0 >= outcome.erases.1);
    let all = outcome.mean(0..15, &scenario.drive);
    assert_eq!(all.write_amplification, outcome.total.write_amplification);
}

/// An overloaded drive does what it can.
#[test]
fn excessive_load_is_throttled_to_sustained_throughput() {
    let scenario = Scenario {
        bytes_per_day: 100_000_000_000_000,
        warm_up_days: 1,
        days: 2,
        queue_depth: 512,
        ..uniform()
    };
    let outcome = simulate(&scenario);
    assert!(outcome.intervals.iter().all(|interval| interval.throttled));
    let mb_s = outcome.written_bytes as f64 / 1e6 / (2.0 * 86_400.0);
    assert!(
        close(mb_s, outcome.total.sustained_mb_s.unwrap(), 0.1),
        "{mb_s} {:?}",
        outcome.total
    );
}

#[test]
fn an_array_wears_like_a_drive_and_scales_in_speed() {
    let array = |drives: u32| {
        let spec = DriveSpec {
            drives,
            capacity_bytes: 1_000_000_000_000 / u64::from(drives),
            ..uniform().drive
        };
        simulate(&Scenario {
            drive: spec,
            ..uniform()
        })
        .total
    };
    let (one, four) = (array(1), array(4));
    let found = four.write_amplification.unwrap() / one.write_amplification.unwrap();
    assert!(close(found, 1.0, 0.04), "{found}");
    let faster = four.sustained_mb_s.unwrap() / one.sustained_mb_s.unwrap();
    assert!(close(faster, 4.0, 0.05), "{faster}");
}

#[test]
fn the_same_seed_gives_the_same_outcome() {
    let scenario = |seed| Scenario {
        trims: Trims::Periodic(Schedule::every(2, 4)),
        reads: 0.5,
        days: 5,
        warm_up_days: 0,
        seed,
        ..mixed()
    };
    assert_eq!(simulate(&scenario(3)), simulate(&scenario(3)));
    assert_ne!(
        simulate(&scenario(3)).counters,
        simulate(&scenario(4)).counters
    );
    assert!(
        simulate(&scenario(3))
            .intervals
            .iter()
            .all(|interval| interval.reads.is_some())
    );
}

#[test]
fn progress_is_reported_and_runs_can_be_cancelled() {
    let scenario = Scenario {
        days: 4,
        warm_up_days: 1,
        ..mixed()
    };
    let mut reports = Vec::new();
    scenario
        .run(&mut |progress| {
            reports.push(progress);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(reports[0].loading);
    assert!(reports.is_sorted_by_key(|progress| (!progress.loading, progress.done)));
    assert!(
        reports
            .iter()
            .all(|progress| progress.done <= progress.total)
    );
    let last = reports.last().unwrap();
    assert_eq!((last.done, last.total), (120, 120));
    for after in [0, reports.len() / 2, reports.len() - 1] {
        let mut count = 0;
        let outcome = scenario.run(&mut |_| {
            count += 1;
            if count > after {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert_eq!(outcome, Err(ScenarioError::Cancelled));
        assert_eq!(count, after + 1);
    }
}

#[test]
fn invalid_input_is_rejected() {
    type Change = fn(&mut Scenario);
    let changes: [(&str, Change); 20] = [
        ("the fill is 0,", |s| s.fill = 0.0),
        ("the fill is NaN", |s| s.fill = f64::NAN),
        ("the number of workloads is 0", |s| s.parts.clear()),
        ("weight is -1", |s| s.parts[0].weight = -1.0),
        ("space is 0", |s| s.parts[0].space = 0.0),
        ("the largest request is 100", |s| s.request_bytes = 100),
        ("the largest discard is 0", |s| s.discard_bytes = 0),
        ("reads by write is inf", |s| s.reads = f64::INFINITY),
        ("expected 1 or more", |s| s.days = 0),
        ("expected 1 or more", |s| s.interval_hours = 0),
        ("the queue depth is 1000000", |s| s.queue_depth = 1_000_000),
        ("every 0 days at 0 h", |s| {
            s.trims = Trims::Periodic(Schedule::every(0, 0));
        }),
        ("every 1 days at 24 h", |s| {
            s.trims = Trims::Periodic(Schedule::every(1, 24));
        }),
        ("simulated pages by drive is 100", |s| s.pages_max = 100),
        ("the number of drives is 0", |s| s.drive.drives = 0),
        ("over-provisioning is 0", |s| {
            s.drive.over_provisioning = 0.0;
        }),
        ("bytes per page or pages per block is 0", |s| {
            s.drive.page_bytes = 0;
        }),
        ("dies is 0", |s| s.drive.timing.dies = 0),
        ("100.8 % of the drive", |s| {
            s.parts = vec![Part::new(Kind::LUCENE)];
            s.fill = 0.993;
        }),
        ("0 by 5 bytes", |s| {
            s.parts = vec![Part::new(Kind::Segments {
                flush_bytes: 5,
                segment_bytes_max: 0,
                indices: 3,
            })];
        }),
    ];
    for (expected, change) in changes {
        let mut scenario = mixed();
        change(&mut scenario);
        let error = scenario
            .run(&mut |_| ControlFlow::Continue(()))
            .unwrap_err();
        assert!(error.to_string().contains(expected), "{error} / {expected}");
    }
}

#[test]
fn the_tenth_run_is_slower_without_a_trim() {
    let runs = |trim_every, reach| {
        let mut watch = |_: Progress| ControlFlow::Continue(());
        let runs = Runs {
            trim_every,
            reach,
            ..Runs::default()
        };
        runs.run(&mut watch).unwrap()
    };
    let without = runs(None, Reach::Executed);
    let each = runs(Some(1), Reach::Executed);
    assert_eq!((without.runs.len(), each.runs.len()), (10, 10));
    assert_eq!(without.runs[0], each.runs[0]);
    assert!(without.last_by_first() < 0.9, "{}", without.last_by_first());
    assert!(each.last_by_first() > 0.97, "{}", each.last_by_first());
    let untrimmed = |outcome: &RunsOutcome| outcome.runs[9].free_untrimmed_share;
    assert!(untrimmed(&without) > 0.4 && untrimmed(&each) < 1e-12);
    // A trim before every fourth run restores the fifth and the ninth.
    let fourth = runs(Some(4), Reach::Executed);
    assert!(fourth.runs[4].trimmed && fourth.runs[4].mb_s > 1.03 * without.runs[4].mb_s);
    assert_eq!(fourth.runs[3], without.runs[3]);
    let swallowed = runs(Some(1), Reach::Swallowed);
    assert!(close(
        swallowed.last_by_first(),
        without.last_by_first(),
        0.02
    ));
}
