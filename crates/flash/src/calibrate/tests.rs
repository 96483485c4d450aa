use super::*;
use crate::random::Random;

/// Approximately normal noise, a sum of uniform numbers: mean 0, standard deviation 1.
fn noise(random: &mut Random) -> f64 {
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}

const HOUR_S: f64 = 3600.0;
const GB: f64 = 1e9;
const TB: f64 = 1e12;

/// Throughput of a drive of 1 TB, written at full speed for `drive_writes`, as means of a hundred
/// intervals or more: a byte takes `1 + cost (A - 1)` times as long as on the fresh drive.
fn decay(op: f64, cost: f64, start: Start, drive_writes: f64, noisy: f64) -> (Vec<f64>, Vec<f64>) {
    let curve = theory::over_writes(theory::fifo(op), start, drive_writes + 1.0);
    let mut random = Random::new(5);
    let (mut interval, mut written) = (0.0, 0.0);
    let (mut times, mut values) = (Vec::new(), Vec::new());
    let interval_s = drive_writes * TB / (0.4 * GB) / 100.0;
    while written < drive_writes * TB {
        let before = written;
        for _ in 0..1000 {
            let rate = 1.2 * GB / (1.0 + cost * (curve.at(written / TB) - 1.0));
            written += rate * interval_s / 1000.0;
        }
        times.push((interval + 0.5) * interval_s);
        values.push((written - before) / interval_s * (1.0 + noisy * noise(&mut random)));
        interval += 1.0;
    }
    (times, values)
}

fn known(start: Start) -> Known {
    Known {
        start,
        policy: Policy::Fifo,
        capacity_bytes: None,
        moved_page_cost: None,
    }
}

fn covers(estimate: &Estimate, truth: f64) -> bool {
    estimate.low.is_none_or(|low| low <= truth) && estimate.high.is_none_or(|high| high >= truth)
}

#[test]
fn a_full_slowdown_determines_all_parameters() -> Result<(), CalibrateError> {
    let start = Start::Trimmed { mapped_share: 0.5 };
    let (time_s, value) = decay(0.12, 1.1, start, 4.0, 0.01);
    let series = Series {
        time_s: &time_s,
        value: &value,
        quantity: Quantity::Throughput,
        host_writes: HostWrites::Saturated,
        stamps: Stamps::default(),
    };
    let found = calibrate(&series, &known(start))?;
    assert!(found.r_squared.is_some_and(|r| r > 0.98), "{found:?}");
    for (estimate, truth) in [
        (Some(found.over_provisioning), 0.12),
        (Some(found.capacity_bytes), TB),
        (found.fresh_bytes_per_s, 1.2 * GB),
        (found.moved_page_cost, 1.1),
    ] {
        let estimate = estimate.expect("a throughput");
        assert!(covers(&estimate, truth), "{truth}: {estimate:?}");
    }
    // Known values make the remaining ranges narrower.
    let told = Known {
        capacity_bytes: Some(TB),
        moved_page_cost: Some(1.1),
        ..known(start)
    };
    let sharper = calibrate(&series, &told)?;
    assert_eq!(sharper.verdict, Verdict::Determined);
    assert!(covers(&sharper.over_provisioning, 0.12), "{sharper:?}");
    assert!((sharper.over_provisioning.value / 0.12 - 1.0).abs() < 0.05);
    let width = |e: &Estimate| (e.high.unwrap_or(3.0) / e.low.unwrap_or(0.005)).ln();
    assert!(width(&sharper.over_provisioning) < width(&found.over_provisioning));
    assert!(sharper.capacity_bytes.given);
    Ok(())
}

#[test]
fn a_constant_level_determines_only_the_scale() -> Result<(), CalibrateError> {
    let mut random = Random::new(9);
    let time_s: Vec<f64> = (0..60).map(|hour| f64::from(hour) * HOUR_S).collect();
    for noisy in [0.0, 0.02] {
        let value: Vec<f64> = time_s
            .iter()
            .map(|_| GB * (1.0 + noisy * noise(&mut random)))
            .collect();
        let series = Series {
            time_s: &time_s,
            value: &value,
            quantity: Quantity::Throughput,
            host_writes: HostWrites::Saturated,
            stamps: Stamps::default(),
        };
        for start in [
            Start::Filled { mapped_share: 0.5 },
            Start::Trimmed { mapped_share: 0.5 },
        ] {
            let found = calibrate(&series, &known(start))?;
            assert_eq!(found.verdict, Verdict::ScaleOnly, "{start:?} {found:?}");
            let mean = found.fitted.iter().sum::<f64>() / 60.0;
            assert!((mean / GB - 1.0).abs() < 0.01, "{mean}");
        }
    }
    Ok(())
}

/// Before the drive is full for the first time nothing is collected: the over-provisioning is at
/// least what was written beyond the free capacity, with no upper bound.
#[test]
fn the_beginning_determines_at_most_a_lower_bound() -> Result<(), CalibrateError> {
    let start = Start::Filled { mapped_share: 0.2 };
    for (drive_writes, least) in [(0.6, None), (0.95, Some(0.15))] {
        let (time_s, value) = decay(0.4, 1.1, start, drive_writes, 0.01);
        let series = Series {
            time_s: &time_s,
            value: &value,
            quantity: Quantity::Throughput,
            host_writes: HostWrites::Saturated,
            stamps: Stamps::default(),
        };
        let told = Known {
            capacity_bytes: Some(TB),
            moved_page_cost: Some(1.1),
            ..known(start)
        };
        let found = calibrate(&series, &told)?;
        assert_eq!(found.over_provisioning.high, None, "{found:?}");
        match (least, found.over_provisioning.low) {
            (None, None) => assert_eq!(found.verdict, Verdict::ScaleOnly),
            (Some(least), Some(low)) => {
                assert!((low - least).abs() < 0.02, "{low}");
                assert_eq!(found.verdict, Verdict::Partly);
            }
            (_, low) => panic!("{drive_writes} drive writes: {low:?}"),
        }
        let fresh = found.fresh_bytes_per_s.expect("a throughput");
        assert!((fresh.value / (1.2 * GB) - 1.0).abs() < 0.01);
    }
    Ok(())
}

/// An oscillating throughput is not a slowdown.
#[test]
fn oscillation_is_unexplained() -> Result<(), CalibrateError> {
    let time_s: Vec<f64> = (0..100).map(|hour| f64::from(hour) * HOUR_S).collect();
    let value: Vec<f64> = time_s
        .iter()
        .map(|t| GB * (1.0 + 0.5 * (t / HOUR_S * 0.4).sin()))
        .collect();
    let series = Series {
        time_s: &time_s,
        value: &value,
        quantity: Quantity::Throughput,
        host_writes: HostWrites::Rate(GB),
        stamps: Stamps::default(),
    };
    let found = calibrate(&series, &known(Start::Filled { mapped_share: 0.5 }))?;
    assert_eq!(found.verdict, Verdict::Unexplained, "{found:?}");
    Ok(())
}

/// Seconds and bytes are just units: changing them does not change the over-provisioning.
#[test]
fn units_do_not_matter() -> Result<(), CalibrateError> {
    let start = Start::Trimmed { mapped_share: 0.4 };
    let curve = theory::over_writes(theory::fifo(0.15), start, 3.0);
    let mut found = Vec::new();
    for (unit_s, bytes) in [(1.0, 1.0), (86_400.0, 1e12)] {
        let time_s: Vec<f64> = (0..90).map(|i| f64::from(i) / 30.0 * unit_s).collect();
        let value: Vec<f64> = (0..90).map(|i| curve.at(f64::from(i) / 30.0)).collect();
        let series = Series {
            time_s: &time_s,
            value: &value,
            quantity: Quantity::WriteAmplification,
            host_writes: HostWrites::Rate(bytes / unit_s),
            stamps: Stamps::default(),
        };
        let calibration = calibrate(&series, &known(start))?;
        assert_eq!(calibration.verdict, Verdict::Determined, "{calibration:?}");
        found.push((
            calibration.over_provisioning.value,
            calibration.capacity_bytes.value / bytes,
        ));
    }
    assert!((found[0].0 / found[1].0 - 1.0).abs() < 1e-3, "{found:?}");
    assert!((found[0].1 / found[1].1 - 1.0).abs() < 1e-3, "{found:?}");
    assert!((found[0].0 / 0.15 - 1.0).abs() < 0.02, "{found:?}");
    assert!((found[0].1 - 1.0).abs() < 0.02, "{found:?}");
    Ok(())
}

#[test]
fn invalid_input_is_rejected() {
    let time_s: Vec<f64> = (0..10).map(f64::from).collect();
    let value = [2.0; 10];
    let series = Series {
        time_s: &time_s,
        value: &value,
        quantity: Quantity::WriteAmplification,
        host_writes: HostWrites::Rate(1.0),
        stamps: Stamps::default(),
    };
    let start = Start::Filled { mapped_share: 0.5 };
    let said = |series: &Series, known: &Known| match calibrate(series, known) {
        Ok(found) => panic!("{found:?}"),
        Err(error) => error.to_string(),
    };
    let short = Series {
        time_s: &time_s[..3],
        value: &value[..3],
        ..series
    };
    assert_eq!(
        said(&short, &known(start)),
        "3 times and 3 values, expected as many of both, 8 at least"
    );
    let mut backwards = time_s.clone();
    backwards[4] = 1.0;
    assert_eq!(
        said(
            &Series {
                time_s: &backwards,
                ..series
            },
            &known(start)
        ),
        "point 4: the time is 1, expected a number above the one before"
    );
    let mut low = value;
    low[9] = 0.5;
    assert_eq!(
        said(
            &Series {
                value: &low,
                ..series
            },
            &known(start)
        ),
        "point 9: the write amplification is 0.5, expected 1 or more"
    );
    assert_eq!(
        said(
            &Series {
                host_writes: HostWrites::Saturated,
                stamps: Stamps::default(),
                ..series
            },
            &known(start)
        ),
        "a series of write amplification needs the rate of the host's writes"
    );
    assert_eq!(
        said(
            &Series {
                host_writes: HostWrites::Rate(f64::NAN),
                stamps: Stamps::default(),
                ..series
            },
            &known(start)
        ),
        "the host's write rate is NaN, expected above 0"
    );
    assert_eq!(
        said(
            &series,
            &Known {
                capacity_bytes: Some(0.0),
                ..known(start)
            }
        ),
        "the capacity is 0, expected above 0"
    );
    assert_eq!(
        said(&series, &known(Start::Filled { mapped_share: 1.5 })),
        "the share of the capacity in use at the start is 1.5, expected 0 to 1"
    );
    let policy = Policy::Greedy { pages_per_block: 0 };
    assert_eq!(
        said(
            &series,
            &Known {
                policy,
                ..known(start)
            }
        ),
        "pages per block is 0, expected 1 or more"
    );
}
