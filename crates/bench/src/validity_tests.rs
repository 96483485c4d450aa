use super::look::drift;
use super::*;
use crate::driver::{ErrorClass, OwnLateness};
use std::time::Duration;

fn late(us: u64) -> OwnLateness {
    OwnLateness {
        p99_ns: us * 1_000,
        lost: 0.0,
    }
}

/// A trial against which nothing speaks, with everything measured.
fn clean() -> Observed {
    Observed {
        measured: Duration::from_mins(10),
        classes: vec![ClassObserved {
            name: "search".to_owned(),
            samples: 60_000,
            errors: 0,
            errors_by_class: Vec::new(),
            highest_percentile: 99.9,
            p99_latency_us: 20_000,
            lateness: Some(late(300)),
            block_means_us: (0..60)
                .map(|block| 5_000.0 + f64::from(block % 7) * 100.0)
                .collect(),
        }],
        jobs: Some(Vec::new()),
        trim_debt: Some(TrimDebt {
            written_bytes: 1 << 30,
            is_at_least: false,
            free_bytes: 100 << 30,
        }),
        cpu: Some(CpuObserved {
            foreign: Some(0.01),
            steal: 0.0,
            driver: 0.2,
            idle: 0.4,
        }),
        other_processes: Vec::new(),
        throttled: Some(Duration::ZERO),
        read_bytes: Some(5 << 30),
        start: Start::Cold,
        unwanted_cache_hits: Some(0),
        clock_step_s: Some(0.001),
        frequency: Some(FrequencyObserved {
            governor_before: Some("performance".to_owned()),
            governor_after: Some("performance".to_owned()),
            thermal_throttles: Some(0),
            lowest_share: Some(1.0),
        }),
        other_stores: Some(Vec::new()),
        relocating_shards: Some(0.0),
        merges: Some(Merges {
            share: 0.3,
            usual_share: 0.35,
        }),
        end: Some(End::Behind {
            planned: Duration::from_mins(10),
            took: Duration::from_secs(602),
        }),
    }
}

fn found(change: impl FnOnce(&mut Observed)) -> Judgement {
    let mut observed = clean();
    change(&mut observed);
    judge(&observed, &Limits::default())
}

#[test]
fn a_clean_trial_is_valid_and_wholly_checked() {
    assert_eq!(found(|_| ()), Judgement::default());
    let warm = found(|observed| {
        observed.start = Start::Warm;
        observed.read_bytes = Some(1 << 20);
    });
    assert!(warm.is_valid(), "{warm:?}");
}

#[test]
fn each_defect_is_found_alone_and_has_a_remedy() {
    type Change = fn(&mut Observed);
    let defects: [(Check, Change); 26] = [
        (Check::ScheduledJob, |o| {
            o.jobs = Some(vec![JobWithin {
                name: "fstrim.timer".to_owned(),
                start: "2026-11-23 00:41".to_owned(),
                is_proven: false,
                free_in: Some(Duration::from_mins(40)),
            }]);
        }),
        (Check::TrimDebt, |o| {
            o.trim_debt = Some(TrimDebt {
                written_bytes: 30 << 30,
                is_at_least: false,
                free_bytes: 100 << 30,
            });
        }),
        (Check::TrimDebt, |o| {
            o.trim_debt = Some(TrimDebt {
                written_bytes: 30 << 30,
                is_at_least: true,
                free_bytes: 100 << 30,
            });
        }),
        (Check::LateDriver, |o| {
            o.classes[0].lateness = Some(late(5_000));
        }),
        (Check::LateDriver, |o| {
            o.classes[0].p99_latency_us = 2_000_000;
            o.classes[0].lateness = Some(late(96_000));
        }),
        (Check::LateDriver, |o| {
            o.classes[0].lateness = Some(OwnLateness {
                lost: 0.06,
                ..late(0)
            });
        }),
        (Check::ForeignCpu, |o| {
            o.cpu.as_mut().unwrap().foreign = Some(0.3);
        }),
        (Check::BusyDriver, |o| o.cpu.as_mut().unwrap().idle = 0.01),
        (Check::Steal, |o| o.cpu.as_mut().unwrap().steal = 0.1),
        (Check::Throttled, |o| {
            o.throttled = Some(Duration::from_mins(1));
        }),
        (Check::ColdWithoutReads, |o| o.read_bytes = Some(0)),
        (Check::ColdWithoutReads, |o| o.read_bytes = Some(20 << 10)),
        (Check::WarmWithReads, |o| o.start = Start::Warm),
        (Check::RequestCache, |o| o.unwanted_cache_hits = Some(1)),
        (Check::ClockStep, |o| o.clock_step_s = Some(-3.0)),
        (Check::Frequency, |o| {
            o.frequency.as_mut().unwrap().governor_after = Some("powersave".to_owned());
        }),
        (Check::FewSamples, |o| o.classes[0].samples = 4_602),
        (Check::Drift, |o| {
            for (at, block) in o.classes[0].block_means_us.iter_mut().enumerate() {
                *block += 50.0 * f64::from(u32::try_from(at).unwrap());
            }
        }),
        (Check::Errors, |o| o.classes[0].errors = 100),
        (Check::OtherStore, |o| {
            o.other_stores = Some(vec!["MongoDB".to_owned()]);
        }),
        (Check::Relocations, |o| o.relocating_shards = Some(2.0)),
        (Check::Merges, |o| o.merges.as_mut().unwrap().share = 0.9),
        (Check::Merges, |o| o.merges.as_mut().unwrap().share = 0.1),
        (Check::Incomplete, |o| o.end = Some(End::Overloaded)),
        (Check::Incomplete, |o| {
            o.end = Some(End::Behind {
                planned: Duration::from_secs(10),
                took: Duration::from_secs(27),
            });
        }),
        (Check::Incomplete, |o| {
            o.end = Some(End::Failed("no space left".to_owned()));
        }),
    ];
    for (check, change) in defects {
        let judgement = found(change);
        let checks: Vec<Check> = judgement
            .reasons
            .iter()
            .map(|reason| reason.check)
            .collect();
        assert_eq!(checks, [check], "{judgement:?}");
        assert!(judgement.reasons[0].remedy.ends_with('.'), "{judgement:?}");
    }
}

#[test]
fn what_was_not_measured_is_unchecked() {
    let judgement = judge(&Observed::default(), &Limits::default());
    assert!(judgement.is_valid());
    // A start of any kind needs no reads to be known.
    let known = [Check::ColdWithoutReads, Check::WarmWithReads];
    let unchecked: Vec<Check> = Check::ALL
        .into_iter()
        .filter(|check| !known.contains(check))
        .collect();
    assert_eq!(judgement.unchecked, unchecked);
    let cold = judge(
        &Observed {
            start: Start::Cold,
            ..Observed::default()
        },
        &Limits::default(),
    );
    assert!(cold.unchecked.contains(&Check::ColdWithoutReads));
    // Of a server that is no known store, only other processes' time cannot be told.
    let unknown = found(|o| o.cpu.as_mut().unwrap().foreign = None);
    assert_eq!(unknown.unchecked, [Check::ForeignCpu]);
}

#[test]
fn percentiles_need_the_published_numbers_of_samples() {
    // MLPerf's LoadGen and the table of Meeker, Hahn and Escobar: 459 for p99 at 99 % confidence.
    assert_eq!(samples_needed(99.0), 459);
    assert_eq!(samples_needed(99.9), 4_603);
    assert_eq!(samples_needed(90.0), 44);
    assert_eq!(samples_needed(0.0), 1);
    assert!(samples_needed(100.0) > 1_000_000);
}

#[test]
fn foreign_names_are_escaped() {
    let judgement = found(|o| {
        o.other_stores = Some(vec!["x\u{1b}[31m\nforged".to_owned()]);
        o.classes[0].name = "s\u{7}".to_owned();
        o.classes[0].errors = 900;
    });
    assert_eq!(judgement.reasons.len(), 2);
    assert!(
        judgement
            .reasons
            .iter()
            .all(|reason| !reason.found.contains(char::is_control))
    );
}

/// Level noise is not told as drift: white noise, and an AR(1) of 0.5 as merges and garbage collections make.
#[test]
fn level_noise_is_no_drift() {
    let mut state = 19_u64;
    let mut uniform = move || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[allow(clippy::cast_precision_loss)]
        let value = (z >> 11) as f64 / (1_u64 << 53) as f64;
        value
    };
    let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let trials = 1_000;
    // The fewer blocks, the worse they show how much they resemble each other: 1.5, 2.9 and 0.3 % in 2,000 other trials.
    for (blocks, kept, limit) in [(60, 0.5, 30), (24, 0.5, 48), (24, 0.0, 12)] {
        let mut drifting = 0;
        for _ in 0..trials {
            let mut noise = 0.0;
            let blocks: Vec<f64> = (0..blocks)
                .map(|_| {
                    noise = kept * noise + normal();
                    5_000.0 * (1.0 + 0.15 * noise)
                })
                .collect();
            drifting += drift(&blocks, "x", &Limits::default()).unwrap().len();
        }
        assert!(drifting < limit, "{drifting} of {trials}, {blocks} blocks");
    }
}

#[test]
fn what_went_wrong_comes_first_and_says_how() {
    let judgement = found(|o| {
        o.cpu.as_mut().unwrap().foreign = Some(0.9);
        o.other_processes = [
            ("rustc", 0.5),
            ("cc\u{1b}", 0.3),
            ("ld", 0.06),
            ("sh", 0.04),
        ]
        .map(|(name, share)| (name.to_owned(), share))
        .to_vec();
        o.classes[0].samples = 0;
        o.classes[0].errors = 150;
        o.classes[0].errors_by_class =
            vec![(ErrorClass::Connect, 40), (ErrorClass::Status4xx, 110)];
    });
    let checks: Vec<Check> = judgement
        .reasons
        .iter()
        .map(|reason| reason.check)
        .collect();
    // More time would bring more errors, not samples.
    assert_eq!(checks, [Check::Errors, Check::ForeignCpu]);
    assert_eq!(
        judgement.reasons[0].found,
        "150 of 150 operations of search failed (no connection 40, status 4xx 110)"
    );
    assert!(judgement.reasons[0].remedy.contains("with curl"));
    assert_eq!(
        judgement.reasons[1].found,
        "other processes used 90 % of the CPU time (rustc 50 %, cc\\u{1b} 30 %, ld 6 %)"
    );
}

#[test]
fn too_few_samples_say_how_long_to_measure() {
    let judgement = found(|o| {
        o.classes[0].highest_percentile = 99.0;
        o.classes[0].samples = 100;
    });
    assert_eq!(judgement.reasons[0].remedy, "Measure 5 times as long.");
}
