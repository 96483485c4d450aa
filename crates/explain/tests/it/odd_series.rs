//! Series of which something once overflowed, or asked for more memory than there is.

use crate::testing::{DAY_US, HOUR_US, START_US, cron, made, only, series};
use std::f64::consts::TAU;

#[test]
fn tiny_values_whose_squares_vanish_have_no_pattern() {
    let times_us = (0..20).map(|day| START_US + day * DAY_US).collect();
    let mut values = vec![0.0; 20];
    (values[5], values[12]) = (2e-162, 2e-162);
    assert!(!only(series(times_us, values), &[]).sentence.is_empty());
}

#[test]
fn a_wave_of_a_few_days_is_fitted_to_these_days() {
    for (days, from, len, size) in [
        (25, 9.56, 3.72, 18.3),
        (28, 5.45, 3.76, 12.9),
        (24, 7.0, 3.5, 15.0),
        (40, 20.2, 3.6, 16.0),
    ] {
        for seed in 0..6 {
            let wave = |since_us: i64| {
                let day = since_us as f64 / DAY_US as f64;
                let is_on = (from..from + len).contains(&day);
                100.0
                    + if is_on {
                        2.0 * size * (TAU * day).cos()
                    } else {
                        0.0
                    }
            };
            let verdict = only(made(days * 48, HOUR_US / 2, seed, wave), &[]);
            assert!(!verdict.sentence.is_empty());
        }
    }
}

#[test]
fn a_change_is_from_and_to_what_was_measured() {
    // Each falls to zero, stays there and jumps.
    for (fall_per_day, jump_day, seed) in [(15.0, 12, 1), (20.0, 6, 2), (20.0, 6, 3), (20.0, 6, 4)]
    {
        let value = |since_us: i64| {
            let day = since_us as f64 / DAY_US as f64;
            if since_us < jump_day * DAY_US {
                100.0 - fall_per_day * day
            } else {
                100.0
            }
        };
        let mut history = made(480, HOUR_US, seed, value);
        for value in &mut history.values {
            *value = value.max(0.0);
        }
        let verdict = only(history, &[]);
        let levels = (verdict.changes.iter()).flat_map(|one| [one.level_before, one.level_after]);
        let levels: Vec<f64> = levels.flatten().collect();
        assert!(!levels.is_empty(), "{}", verdict.sentence);
        assert!(levels.iter().all(|level| *level >= 0.0), "{levels:?}");
        assert!(!verdict.sentence.contains("e-"), "{}", verdict.sentence);
    }
}

#[test]
fn the_gap_between_the_first_and_the_last_possible_time_is_no_common_one() {
    let times_us = vec![-377_705_023_201_000_000, 253_402_207_200_999_999];
    let verdict = only(series(times_us, vec![1.0, 2.0]), &[]);
    assert!(!verdict.sentence.is_empty());
}

#[test]
fn bursts_of_microseconds_need_no_bin_for_each_microsecond() {
    for seed in 0..40_u64 {
        let mut random = stream(seed);
        let mut at_us = START_US;
        let times_us: Vec<i64> = (0..16 + seed % 60)
            .map(|_| {
                let max_us = if random() < 0.6 { 9.0 } else { 1e12 };
                at_us += 1 + (random() * max_us) as i64;
                at_us
            })
            .collect();
        let values = times_us
            .iter()
            .map(|_| 10.0_f64.powf(random() * 300.0 - 200.0))
            .collect();
        let series = series(times_us, values);
        let job = cron(
            "job",
            ["47 6 * * 7", "30 3 * * *", "0 0 1 * *"][seed as usize % 3],
            &series,
        );
        assert!(!only(series, &[job]).sentence.is_empty());
    }
}

/// Numbers from 0 to 1 (xorshift64*, Vigna 2016).
fn stream(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
