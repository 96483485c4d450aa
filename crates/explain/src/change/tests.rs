use super::draw::Draw;
use super::{BreakKind, ChangePoint, segments};
use crate::change::point::DAY_US;
use proptest::prelude::*;

const HOUR_US: i64 = 3_600_000_000;
const NIGHT_US: i64 = 24 * HOUR_US;

fn every(step_us: i64, len: usize) -> Vec<i64> {
    let start = 1_474_000_000_000_000;
    (0..len)
        .map(|index| start + i64::try_from(index).unwrap() * step_us)
        .collect()
}

fn found(values: &[f64]) -> Vec<ChangePoint> {
    segments(&every(NIGHT_US, values.len()), values).changes
}

/// Returns in how many of `runs` series a change is found.
fn alarms(runs: u64, mut series: impl FnMut(&mut Draw) -> Vec<f64>) -> u64 {
    (0..runs)
        .map(|seed| u64::from(!found(&series(&mut Draw::new(seed))).is_empty()))
        .sum()
}

#[test]
fn autocorrelated_noise_has_no_changes() {
    // 2 % is allowed; of 150 series that is 3, and at that rate 7 are reached with probability 0.03.
    for phi in [0.0, 0.5, 0.9, 0.97, 1.0] {
        for len in [200, 600] {
            let alarms = alarms(150, |draw| draw.memory(len, phi));
            assert!(alarms <= 6, "phi {phi}, {len} samples: {alarms} of 150");
        }
    }
    for phi in [0.0, 0.9, 1.0] {
        let alarms = alarms(10, |draw| draw.memory(10_000, phi));
        assert!(alarms <= 1, "phi {phi}: {alarms} of 10");
    }
}

#[test]
fn heavy_tails_and_rounding_cause_no_changes() {
    let heavy = alarms(150, |draw| (0..300).map(|_| draw.heavy()).collect());
    assert!(heavy <= 6, "t3: {heavy}");
    let jumpy = alarms(150, |draw| {
        let mut now = 0.0;
        (0..300)
            .map(|_| {
                now += draw.heavy();
                now
            })
            .collect()
    });
    assert!(jumpy <= 6, "random walk of t3: {jumpy}");
    let rounded = alarms(150, |draw| {
        draw.white(300).iter().map(|value| value.round()).collect()
    });
    assert!(rounded <= 6, "rounded: {rounded}");
    let rare = alarms(150, |draw| {
        (0..300)
            .map(|_| f64::from(u8::from(draw.uniform() < 0.04)))
            .collect()
    });
    assert!(rare <= 6, "rare ones among zeros: {rare}");
}

#[test]
fn slow_drift_beneath_noise_is_not_a_change() {
    let alarms = alarms(60, |draw| {
        let drift = draw.memory(2_000, 0.95);
        drift
            .iter()
            .map(|value| value + 3.0 * draw.normal())
            .collect()
    });
    assert!(alarms <= 5, "{alarms} of 60");
}

#[test]
fn a_step_is_located() {
    for (len, step, near) in [(100, 3.0, 3), (365, 2.0, 6), (2_000, 2.0, 6)] {
        let mut hits = 0;
        for seed in 0..50 {
            let mut draw = Draw::new(seed);
            let at = len / 4 + usize::try_from(seed).unwrap() * len / 100;
            let mut values = draw.white(len);
            for value in &mut values[at..] {
                *value += step;
            }
            let changes = found(&values);
            if let [change] = changes[..] {
                hits += usize::from(change.index.abs_diff(at) <= near);
                assert_eq!(change.kind, BreakKind::Level);
                assert!((change.level_after - change.level_before - step).abs() < 1.2);
            }
        }
        assert!(hits >= 43, "{len} samples, step {step}: {hits} of 50");
    }
}

#[test]
fn a_step_in_autocorrelated_noise_is_found() {
    let sigma = 1.0 / (1.0_f64 - 0.25).sqrt();
    let hits: u64 = (0..50)
        .map(|seed| {
            let mut values = Draw::new(seed).memory(365, 0.5);
            for value in &mut values[150..] {
                *value += 3.0 * sigma;
            }
            u64::from(
                found(&values)
                    .iter()
                    .any(|change| change.index.abs_diff(150) <= 5),
            )
        })
        .sum();
    assert!(hits >= 45, "{hits} of 50");
}

/// Ten levels, with neighbours at least twice the noise apart.
fn ten_levels(draw: &mut Draw, len: usize) -> Vec<f64> {
    let mut level = 0.0_f64;
    let mut values = Vec::with_capacity(len);
    for stretch in 0..10 {
        let before = level;
        while (level - before).abs() < 5.0 {
            level = 40.0 * draw.uniform();
        }
        let until = (stretch + 1) * len / 10;
        while values.len() < until {
            values.push(level + 2.0 * draw.normal());
        }
    }
    values
}

#[test]
fn ten_levels_have_nine_changes() {
    for (len, seeds) in [(1_000, 20), (10_000, 5), (100_000, 1)] {
        for seed in 0..seeds {
            let changes = found(&ten_levels(&mut Draw::new(seed), len));
            let at: Vec<usize> = changes.iter().map(|change| change.index).collect();
            assert_eq!(at.len(), 9, "{len} samples, seed {seed}: {at:?}");
            for (stretch, index) in at.iter().enumerate() {
                // A step of 2.5 sigma is misplaced by more than 8 in about one of ten thousand.
                let right = (stretch + 1) * len / 10;
                assert!(
                    index.abs_diff(right) <= 8,
                    "{len} samples, seed {seed}: {at:?}"
                );
            }
        }
    }
}

#[test]
fn many_levels_are_all_found() {
    for len in [6_000, 40_000] {
        let mut draw = Draw::new(4);
        let values: Vec<f64> = (0..len)
            .map(|index| [0.0, 9.0, 3.0][index * 40 / len % 3] + draw.normal())
            .collect();
        let changes = found(&values);
        assert_eq!(changes.len(), 39, "{len} samples");
        for (stretch, change) in changes.iter().enumerate() {
            let right = ((stretch + 1) * len).div_ceil(40);
            // A step of 3 sigma is misplaced by more than 5 in about one of a hundred thousand.
            assert!(
                change.index.abs_diff(right) <= 5,
                "{len} samples: {change:?}"
            );
        }
    }
}

#[test]
fn onset_of_a_decline_is_a_slope_change() {
    let mut slopes = 0;
    for seed in 0..40 {
        let mut draw = Draw::new(seed);
        let values: Vec<f64> = (0..365)
            .map(|night| 100.0 - 0.2 * (f64::from(night) - 180.0).max(0.0) + 2.0 * draw.normal())
            .collect();
        let changes = found(&values);
        if let [change] = changes[..]
            && change.kind == BreakKind::Slope
            && change.index.abs_diff(180) <= 25
        {
            slopes += 1;
            assert!(change.slope_before_per_day.abs() < 0.05);
            assert!((change.slope_after_per_day + 0.2).abs() < 0.05);
        }
    }
    assert!(slopes >= 36, "{slopes} of 40");
}

#[test]
fn a_linear_trend_is_not_a_change() {
    let alarms = alarms(60, |draw| {
        let noise = draw.white(365);
        noise
            .iter()
            .enumerate()
            .map(|(night, value)| value + 0.1 * night as f64)
            .collect()
    });
    assert!(alarms <= 3, "{alarms} of 60");
}

#[test]
fn slopes_follow_time_not_index() {
    // A straight line in time, sampled hourly at first and daily then: it bends by index, but not by time.
    let mut times: Vec<i64> = every(HOUR_US, 400);
    let resumed = times[399];
    times.extend((1..200).map(|day| resumed + day * NIGHT_US));
    for seed in 0..20 {
        let mut draw = Draw::new(seed);
        let values: Vec<f64> = times
            .iter()
            .map(|time| (time - times[0]) as f64 / DAY_US + draw.normal())
            .collect();
        let segments = segments(&times, &values);
        assert!(segments.changes.is_empty(), "seed {seed}: {segments:?}");
        assert!((segments.segments[0].slope_per_day - 1.0).abs() < 0.02);
    }
}

#[test]
fn spikes_are_not_changes() {
    for seed in 0..30 {
        let mut draw = Draw::new(seed);
        let mut values = draw.white(365);
        for at in [40, 41, 42, 160, 250, 251, 252, 253] {
            values[at] += 60.0;
        }
        assert_eq!(found(&values), [], "seed {seed}");
    }
}

#[test]
fn short_or_constant_series_have_no_changes() {
    assert_eq!(found(&[]), []);
    assert_eq!(found(&[1.0, 2.0, 9.0]), []);
    assert_eq!(found(&[0.0, 0.0, 0.0, 0.0, 5.0, 5.0, 5.0, 5.0, 5.0]), []);
    assert_eq!(found(&[3.5; 500]), []);
    let mut spiked = [3.5; 500];
    spiked[77] = 1e9;
    assert_eq!(found(&spiked), []);
    assert_eq!(segments(&[], &[]).segments, []);
    let one = segments(&[5], &[2.0]);
    assert!((one.segments[0].at(99) - 2.0).abs() < 1e-12);
}

#[test]
fn a_step_without_noise_is_found() {
    let mut values = vec![3.0; 60];
    values[30..].fill(8.0);
    let changes = found(&values);
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0].index, 30);
    assert!((changes[0].level_before - 3.0).abs() < 1e-9);
    assert!((changes[0].level_after - 8.0).abs() < 1e-9);
}

#[test]
fn recent_changes_are_provisional_until_they_age() {
    let mut values = Draw::new(3).white(200);
    for value in &mut values[100..] {
        *value += 12.0;
    }
    let young = found(&values[..110]);
    assert!(young.iter().all(|change| change.provisional), "{young:?}");
    let old = found(&values[..140]);
    assert!(old.len() == 1 && !old[0].provisional, "{old:?}");
}

#[test]
fn firm_changes_survive_further_samples() {
    // A step up, a step down, a decline; extended sample by sample from 120 to 400.
    let (mut pairs, mut lost) = (0, Vec::new());
    for seed in 0..20 {
        let mut draw = Draw::new(seed);
        let phi = if seed % 2 == 0 { 0.0 } else { 0.5 };
        let values: Vec<f64> = draw
            .memory(400, phi)
            .into_iter()
            .enumerate()
            .map(|(night, noise)| {
                let night = night as f64;
                let level = if (90.0..210.0).contains(&night) {
                    5.0
                } else {
                    0.0
                };
                level - 0.1 * (night - 300.0).max(0.0) + noise
            })
            .collect();
        let mut before: Vec<ChangePoint> = Vec::new();
        for len in (120..=400).step_by(2) {
            for len in [len, len + 1].into_iter().filter(|len| *len <= 400) {
                let now = found(&values[..len]);
                for firm in before.iter().filter(|change| !change.provisional) {
                    pairs += 1;
                    let tolerance = if firm.kind == BreakKind::Level { 4 } else { 20 };
                    if !now
                        .iter()
                        .any(|change| change.index.abs_diff(firm.index) <= tolerance)
                    {
                        lost.push((seed, len, firm.index));
                    }
                }
                before = now;
            }
        }
    }
    assert!(pairs > 5_000, "{pairs}");
    assert!(lost.is_empty(), "{} of {pairs}: {lost:?}", lost.len());
}

#[test]
fn changes_in_long_series_are_located_to_the_sample() {
    let mut values = Draw::new(8).white(60_000);
    for value in &mut values[33_333..] {
        *value += 8.0;
    }
    let changes = found(&values);
    assert_eq!(changes.len(), 1, "{changes:?}");
    assert_eq!(changes[0].index, 33_333);
}

/// Two steps in noise.
fn steps(seed: u64) -> Vec<f64> {
    let mut values = Draw::new(seed).white(150);
    for (index, value) in values.iter_mut().enumerate() {
        *value += match index {
            0..50 => 0.0,
            50..100 => 6.0,
            _ => -3.0,
        };
    }
    values
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn units_do_not_matter(
        seed in 0_u64..1000,
        shift in -1e6..1e6_f64,
        scale in prop::sample::select(vec![1e-9, -0.3, 7.0, 1e12]),
        start_us in -1_000_000_000_000_000_i64..4_000_000_000_000_000,
        step_us in 1_i64..NIGHT_US,
    ) {
        let values = steps(seed);
        let plain = found(&values);
        let other: Vec<f64> = values.iter().map(|value| (value + shift) * scale).collect();
        let times: Vec<i64> = (0..150).map(|index| start_us + index * step_us).collect();
        let moved = segments(&times, &other).changes;
        prop_assert_eq!(plain.len(), moved.len());
        for (plain, moved) in plain.iter().zip(&moved) {
            prop_assert_eq!(plain.index, moved.index);
            prop_assert_eq!(plain.kind, moved.kind);
            prop_assert!((plain.gain_nats - moved.gain_nats).abs() < 1e-3);
            let level = (plain.level_after + shift) * scale;
            prop_assert!((level - moved.level_after).abs() < 1e-4 * scale.abs() * (1.0 + shift.abs() * 1e-3));
        }
    }

    #[test]
    fn negated_values_have_the_same_changes(seed in 0_u64..1000) {
        let values = steps(seed);
        let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
        let (plain, mirrored) = (found(&values), found(&mirrored));
        prop_assert_eq!(plain.len(), mirrored.len());
        for (plain, mirrored) in plain.iter().zip(&mirrored) {
            prop_assert_eq!(plain.index, mirrored.index);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_input_gives_ordered_segments(
        values in prop::collection::vec(
            prop_oneof![
                prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
                -3.0..3.0_f64,
                prop::sample::select(vec![0.0, 1.0, f64::MAX, f64::MIN]),
            ],
            0..200,
        ),
        times in prop::collection::vec(any::<i64>(), 0..200),
        sorted in any::<bool>(),
        even in any::<bool>(),
    ) {
        let mut times = times;
        if sorted {
            times.sort_unstable();
        }
        if even {
            times = every(HOUR_US, values.len());
        }
        let cut = segments(&times, &values);
        let len = times.len().min(values.len());
        prop_assert_eq!(cut.segments.len(), if len == 0 { 0 } else { cut.changes.len() + 1 });
        let mut from = 0;
        for segment in &cut.segments {
            prop_assert_eq!(segment.from, from);
            prop_assert!(segment.to > segment.from);
            from = segment.to;
        }
        prop_assert_eq!(from, len);
        for (change, segment) in cut.changes.iter().zip(cut.segments.iter().skip(1)) {
            prop_assert_eq!(change.index, segment.from);
        }
    }
}
