use crate::simulate::{
    Noise, Null, RIGHT_CLASS, Sawtooth, SpikeTrain, fifty_jobs, four_jobs, seconds, zone,
};
use crate::testing::at;
use jiff::civil::{Weekday, date};
use jiff::tz::TimeZone;
use std::collections::BTreeMap;

fn local(at_us: i64, zone: &TimeZone) -> jiff::Zoned {
    at(at_us).to_zoned(zone.clone())
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = f64::from(u32::try_from(values.len()).expect("few"));
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

/// Lag-one autocorrelation.
fn lag_one(values: &[f64]) -> f64 {
    let (mean, sigma) = moments(values);
    let count = f64::from(u32::try_from(values.len()).expect("few"));
    values
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean))
        .sum::<f64>()
        / (count * sigma * sigma)
}

#[test]
fn curves_depend_only_on_the_seed() {
    let sawtooth = Sawtooth::default();
    assert_eq!(sawtooth.simulate(7), sawtooth.simulate(7));
    assert_ne!(sawtooth.simulate(7).series, sawtooth.simulate(8).series);
}

#[test]
fn a_year_of_sawtooth_has_52_resets_on_sundays_at_06_47_local() {
    let sawtooth = Sawtooth::default();
    let made = sawtooth.simulate(1);
    assert_eq!(made.truth.resets_us.len(), 52);
    for &reset_us in &made.truth.resets_us {
        let at = local(reset_us, &sawtooth.zone);
        assert_eq!(at.weekday(), Weekday::Sunday);
        assert_eq!((at.hour(), at.minute()), (6, 47));
    }
    // Nine of ten of 365 nights, with four standard deviations of a binomial on either side.
    assert!((306..=351).contains(&made.series.times_us.len()));
    assert!(
        made.series
            .times_us
            .windows(2)
            .all(|pair| pair[0] < pair[1])
    );
    assert!(made.series.times_us.iter().all(|&at| {
        let at = local(at, &sawtooth.zone);
        (1..3).contains(&at.hour())
    }));
}

#[test]
fn noiseless_sawtooth_falls_12_percent_a_week_and_resets() {
    let made = Sawtooth {
        noise: 0.0,
        missing: 0.0,
        ..Sawtooth::default()
    }
    .simulate(3);
    let (times_us, values) = (&made.series.times_us, &made.series.values);
    for index in 1..values.len() {
        let has_reset = made
            .truth
            .resets_us
            .iter()
            .any(|&at| times_us[index - 1] < at && at <= times_us[index]);
        let change = values[index] - values[index - 1];
        if has_reset {
            // Monday's run is 18 to 20 hours old: 12 % of a thousand over 168 hours.
            let age_hours = (1_000.0 - values[index]) / 120.0 * 168.0;
            assert!((17.0..21.3).contains(&age_hours), "{age_hours}");
            assert!(change > 90.0);
        } else {
            let slope_per_week =
                change / seconds(times_us[index] - times_us[index - 1]) * 604_800.0;
            assert!((slope_per_week + 120.0).abs() < 1e-6);
        }
    }
}

#[test]
fn a_daily_reset_ends_the_weekly_pattern() {
    let made = Sawtooth {
        first_day: date(2016, 9, 1),
        days: 90,
        noise: 0.0,
        missing: 0.0,
        daily_from: Some(date(2016, 10, 17)),
        ..Sawtooth::default()
    }
    .simulate(1);
    let zone = zone("Europe/Berlin");
    let late: Vec<f64> = (0..made.series.values.len())
        .filter(|&index| local(made.series.times_us[index], &zone).date() > date(2016, 10, 18))
        .map(|index| made.series.values[index])
        .collect();
    assert!(late.len() > 30);
    assert!(late.iter().all(|&value| value > 1_000.0 - 120.0 / 7.0));
}

#[test]
fn every_day_has_one_spike_at_its_local_time_and_nothing_else_is_raised() {
    let train = SpikeTrain {
        amplitude_sigmas: 1_000.0,
        ..SpikeTrain::default()
    };
    let made = train.simulate(5);
    assert_eq!(made.series.values.len(), 365 * 288);
    assert_eq!(made.truth.spikes_us.len(), 365);
    let raised: Vec<i64> = (0..made.series.values.len())
        .filter(|&index| made.series.values[index] > 500.0)
        .map(|index| made.series.times_us[index])
        .collect();
    assert_eq!(raised, made.truth.spikes_us);
    for &at in &raised {
        let at = local(at, &train.zone);
        assert_eq!((at.hour(), at.minute()), (3, 10));
    }
}

#[test]
fn noise_has_the_documented_moments() {
    let null = |noise| {
        Null {
            first_day: date(2025, 1, 1),
            zone: TimeZone::UTC,
            samples: 100_000,
            step_s: 60,
            noise,
            daily_wave_sigmas: None,
        }
        .simulate(11)
        .series
        .values
    };
    for (noise, phi) in [
        (Noise::White, 0.0),
        (Noise::Ar1 { phi: 0.5 }, 0.5),
        (Noise::Ar1 { phi: 0.97 }, 0.97),
    ] {
        let values = null(noise);
        let (mean, sigma) = moments(&values);
        // The mean of n samples has the variance (1+phi)/(1-phi)/n; the bound is five standard deviations.
        let bound = 5.0 * ((1.0 + phi) / (1.0 - phi) / 1e5_f64).sqrt();
        assert!((mean - 100.0).abs() < bound, "{noise:?}: {mean}");
        assert!((sigma - 1.0).abs() < bound, "{noise:?}: {sigma}");
        assert!((lag_one(&values) - phi).abs() < 0.02, "{noise:?}");
    }
    let walk = null(Noise::RandomWalk);
    let steps: Vec<f64> = walk.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (mean, sigma) = moments(&steps);
    assert!(mean.abs() < 0.02 && (sigma - 1.0).abs() < 0.02);
    assert!(lag_one(&steps).abs() < 0.02);
}

#[test]
fn the_daily_wave_follows_the_local_day_over_a_clock_change() {
    let berlin = zone("Europe/Berlin");
    let null = Null {
        first_day: date(2025, 3, 20),
        zone: berlin.clone(),
        samples: 24 * 20,
        step_s: 3_600,
        noise: Noise::White,
        daily_wave_sigmas: Some(1e6),
    };
    let made = null.simulate(2).series;
    let mut by_hour: BTreeMap<i8, Vec<f64>> = BTreeMap::new();
    for (&at, &value) in made.times_us.iter().zip(&made.values) {
        by_hour
            .entry(local(at, &berlin).hour())
            .or_default()
            .push(value);
    }
    for values in by_hour.values() {
        // The wave is a million times the noise: any difference within an hour of the day is noise.
        assert!(moments(values).1 < 10.0);
    }
}

#[test]
fn four_jobs_run_on_their_calendars() {
    let zone = zone("Europe/Berlin");
    let from = "2025-01-01T00:00:00Z".parse().expect("a time");
    let until = "2026-01-01T00:00:00Z".parse().expect("a time");
    let jobs = four_jobs(from, until, &zone);
    let counts: Vec<usize> = jobs.iter().map(|job| job.runs.len()).collect();
    // 2025 has 52 Sundays, 365 nights, 53 Wednesdays, 12 first Sundays.
    assert_eq!(counts, vec![52, 52, 365, 53, 12]);
    assert_eq!(jobs[0].name, RIGHT_CLASS[0]);
    assert_eq!(jobs[1].name, RIGHT_CLASS[1]);
    assert!(jobs.iter().all(|job| job.unknown.is_empty()));
    assert!(jobs[4].runs.iter().all(|run| {
        let at = run.earliest.to_zoned(zone.clone());
        at.weekday() == Weekday::Sunday && at.day() <= 7
    }));
}

#[test]
fn of_fifty_jobs_only_the_culprit_runs_at_03_10() {
    let zone = zone("Europe/Berlin");
    let from = "2025-01-01T00:00:00Z".parse().expect("a time");
    let until = "2025-03-01T00:00:00Z".parse().expect("a time");
    let jobs = fifty_jobs(1, from, until, &zone, "culprit");
    assert_eq!(jobs.len(), 50);
    for job in &jobs {
        let at_ten_past_three = job.runs.iter().any(|run| {
            let at = run.earliest.to_zoned(zone.clone());
            (at.hour(), at.minute()) == (3, 10)
        });
        assert_eq!(at_ten_past_three, job.name == "culprit", "{}", job.name);
    }
}
