//! Calibration finds the spare area of simulated drives, whose truth is known.

use flash::calibrate::{Estimate, HostWrites, Known, Policy, Quantity, Series, Verdict, calibrate};
use flash::ftl::Collection;
use flash::random::Random;
use flash::theory::Start;

use crate::transient::{PAGES_PER_BLOCK, STEP, simulate};

const DRIVE_BYTES: f64 = 4e12;

fn near(estimate: &Estimate, truth: f64, tolerance: f64) {
    let off = estimate.value / truth - 1.0;
    assert!(off.abs() < tolerance, "{truth}: {estimate:?}");
    let (low, high) = (
        estimate.low.expect("a range"),
        estimate.high.expect("a range"),
    );
    assert!((low..=high).contains(&truth), "{truth}: {estimate:?}");
}

fn known(start: Start) -> Known {
    Known {
        start,
        policy: Policy::Greedy {
            pages_per_block: PAGES_PER_BLOCK,
        },
        capacity_bytes: None,
        moved_page_cost: None,
    }
}

/// A week after a trim, as SMART would tell it: media writes by host writes, every so many hours, at a
/// steady rate. Neither the capacity nor the spare area are given.
#[test]
fn a_week_of_write_amplification() {
    let start = Start::Trimmed { mapped_share: 0.5 };
    for op in [0.07, 0.12, 0.28] {
        let value = simulate(op, Collection::Greedy, start, 80);
        let week_s = 7.0 * 86_400.0;
        let interval_s = week_s / 80.0;
        let time_s: Vec<f64> = (0..80).map(|i| (f64::from(i) + 0.5) * interval_s).collect();
        let series = Series {
            time_s: &time_s,
            value: &value,
            quantity: Quantity::WriteAmplification,
            host_writes: HostWrites::Rate(DRIVE_BYTES * STEP / interval_s),
        };
        let found = calibrate(&series, &known(start)).expect("a series");
        println!(
            "{op}: {:?} {:?} R2 {:?}",
            found.over_provisioning, found.capacity_bytes, found.r_squared
        );
        assert_eq!(found.verdict, Verdict::Determined);
        assert!(found.r_squared.is_some_and(|r| r > 0.99));
        near(&found.over_provisioning, op, 0.05);
        near(&found.capacity_bytes, DRIVE_BYTES, 0.03);
    }
}

/// A fresh drive written at full speed: the time of an interval is made from what was programmed and
/// read in it, with 2 % of noise. Program 600 us, read 60 us; a host page is programmed, a moved one read
/// and programmed: 1.1 host pages.
#[test]
fn throughput_of_a_drive_filled_at_full_speed() {
    let (op, start) = (0.15, Start::Filled { mapped_share: 0.4 });
    let amplification = simulate(op, Collection::Greedy, start, 100);
    let mut random = Random::new(4);
    let interval_bytes = DRIVE_BYTES * STEP;
    let dies = 64.0;
    let page_bytes = 16_384.0;
    let fresh = dies * page_bytes / 600e-6;
    let (mut now_s, mut time_s, mut value) = (0.0, Vec::new(), Vec::new());
    for a in amplification {
        let page_us = 600.0 * a + 60.0 * (a - 1.0);
        let jitter = 1.0 + 0.04 * (random.unit() - 0.5) * 3f64.sqrt();
        let interval_s = interval_bytes / page_bytes * page_us * 1e-6 / dies * jitter;
        time_s.push(now_s + 0.5 * interval_s);
        value.push(interval_bytes / interval_s);
        now_s += interval_s;
    }
    let series = Series {
        time_s: &time_s,
        value: &value,
        quantity: Quantity::Throughput,
        host_writes: HostWrites::Saturated,
    };
    let told = Known {
        capacity_bytes: Some(DRIVE_BYTES),
        ..known(start)
    };
    let found = calibrate(&series, &told).expect("a series");
    println!(
        "{:?} {:?} {:?} R2 {:?}",
        found.over_provisioning, found.moved_page_cost, found.fresh_bytes_per_s, found.r_squared
    );
    assert_eq!(found.verdict, Verdict::Determined);
    near(&found.over_provisioning, op, 0.10);
    near(&found.fresh_bytes_per_s.expect("a throughput"), fresh, 0.03);
    near(&found.moved_page_cost.expect("a throughput"), 1.1, 0.15);
}
