//! The fit to made-up times and to measured ones.

use proptest::prelude::*;
use shards::cost::{COEFFICIENTS, Fit, MeasuredRange, Size, Step, measured_range};

use super::fitting::{
    BASE, Fitted, HeldBack, Measured, fit_all, hold_back, read_csv, shortest, worst_factor,
};

const MEASURED: &str = include_str!("../../data/measured.csv");

fn size(copies: u64, nodes: u32) -> Size {
    Size {
        copies,
        shards: copies,
        indices: copies / 5,
        nodes,
    }
}

fn row(version: &str, step: Step, size: Size, cpu_ms: f64) -> Measured {
    Measured {
        version: version.to_owned(),
        step,
        size,
        closed_indices: 0,
        cpu_ms,
    }
}

fn shapes() -> [Size; 10] {
    let many = |copies, nodes| Size {
        shards: copies / 2,
        indices: copies / 10,
        ..size(copies, nodes)
    };
    [
        size(1000, 2),
        size(2500, 2),
        size(5000, 2),
        size(10_000, 2),
        size(2500, 10),
        size(10_000, 10),
        many(10_000, 10),
        size(25_000, 10),
        many(5000, 40),
        many(20_000, 40),
    ]
}

fn rows(version: &str, step: Step, truth: Fit) -> Vec<Measured> {
    let time = |&size: &Size| row(version, step, size, truth.ms(size));
    shapes().iter().map(time).collect()
}

fn of<'f>(fitted: &'f [Fitted], version: &str) -> &'f Fit {
    let found = fitted.iter().find(|fitted| fitted.version == version);
    &found.expect("fitted").fit
}

#[test]
fn the_table_matches_a_fresh_fit() {
    let rows = shortest(&read_csv(MEASURED).unwrap());
    let held = hold_back(&rows);
    let fitted = fit_all(&rows);
    assert_eq!(fitted.len(), COEFFICIENTS.len());
    for (found, coefficients) in fitted.iter().zip(COEFFICIENTS) {
        assert_eq!(
            (found.version.as_str(), found.step),
            (coefficients.version, coefficients.step)
        );
        for row in &rows {
            let ratio = found.fit.ms(row.size) / coefficients.fit.ms(row.size);
            assert!(
                (ratio - 1.0).abs() < 2e-3,
                "{coefficients:?} is not {found:?}"
            );
        }
        let of = |held: &&HeldBack| {
            held.version == coefficients.version && held.step == coefficients.step
        };
        let worst = worst_factor(held.iter().filter(of)).unwrap();
        assert!(
            (worst - coefficients.held_back_factor).abs() < 0.006,
            "{coefficients:?}: {worst}"
        );
    }
    // Every measurement was predicted exactly once, from the other sizes.
    assert_eq!(held.len(), rows.len());
    let MeasuredRange {
        copies_min: least,
        copies_max: most,
        nodes_min: nodes_least,
        nodes_max: nodes_most,
    } = measured_range();
    for row in &rows {
        assert!((least..=most).contains(&row.size.copies));
        assert!((nodes_least..=nodes_most).contains(&row.size.nodes));
    }
}

#[test]
fn held_out_sizes_are_predicted_accurately() {
    let rows = shortest(&read_csv(MEASURED).unwrap());
    let held = hold_back(&rows);
    let met = held.iter().filter(|held| held.factor() <= 1.5).count();
    assert!(met * 100 >= held.len() * 97, "{met} of {}", held.len());
    assert!(worst_factor(&held).unwrap() <= 1.7);
}

#[test]
fn a_negative_slope_becomes_zero() {
    // Times decrease with size, so the best non-negative fit is a constant.
    let rows = [
        row("7.17.28", Step::Reroute, size(1000, 2), 10.0),
        row("7.17.28", Step::Reroute, size(2000, 2), 5.0),
        row("7.17.28", Step::Reroute, size(4000, 2), 2.5),
    ];
    let fitted = fit_all(&rows);
    let fit = of(&fitted, "7.17.28");
    // Minimizes (x/10-1)^2 + (x/5-1)^2 + (x/2.5-1)^2: x = (.1+.2+.4)/(.01+.04+.16).
    assert!((fit.fixed_ms - 0.7 / 0.21).abs() < 1e-9);
    assert!(
        fit.coefficients()[1..]
            .iter()
            .all(|rest| rest.abs() < 1e-12)
    );
}

#[test]
fn a_walking_version_is_the_base_plus_the_walk() {
    let base = Fit {
        fixed_ms: 0.5,
        per_thousand_ms: 1.0,
        per_thousand_far_ms: 2.0,
        per_thousand_pairs_ms: 0.25,
        ..Fit::default()
    };
    let walk = Fit {
        walk_ms: 9.0,
        walk_far_ms: 27.0,
        ..base
    };
    let mut all = rows(BASE, Step::Reroute, base);
    all.extend(rows("7.4.0", Step::Reroute, walk));
    let fitted = fit_all(&all);
    assert_eq!(fitted.len(), 2);
    for (found, truth) in of(&fitted, "7.4.0")
        .coefficients()
        .iter()
        .zip(walk.coefficients())
    {
        assert!((found - truth).abs() < 1e-6, "{fitted:?}");
    }
    // Without measurements of the base version nothing can be fitted.
    assert!(fit_all(&rows("7.4.0", Step::Reroute, walk)).is_empty());
}

#[test]
fn a_start_step_with_a_reroute_is_the_sum_of_both() {
    let one = Fit {
        per_thousand_ms: 1.0,
        ..Fit::default()
    };
    let walk = Fit {
        per_thousand_ms: 2.0,
        walk_ms: 10.0,
        walk_far_ms: 10.0,
        ..Fit::default()
    };
    let mut all = rows(BASE, Step::Reroute, one);
    all.extend(rows(BASE, Step::Start, one));
    all.extend(rows("7.1.1", Step::Start, walk));
    // From 7.4 on the reroute is not part of the step, and nothing is walked.
    all.extend(rows("7.4.0", Step::Start, one));
    let fitted = fit_all(&all);
    let fit = of(&fitted, "7.1.1");
    assert!((fit.per_thousand_ms - 2.0).abs() < 1e-6 && (fit.walk_ms - 10.0).abs() < 1e-6);
    assert!((of(&fitted, "7.4.0").per_thousand_ms - 1.0).abs() < 1e-6);
}

#[test]
fn a_held_out_size_does_not_affect_its_prediction() {
    // Exactly linear, except for one size that took twice as long.
    let line = |copies: u64| 1.0 + f64::from(u32::try_from(copies).unwrap()) / 1000.0;
    let mut rows: Vec<Measured> = [1000, 2000, 3000, 4000]
        .map(|copies| row("7.17.28", Step::Reroute, size(copies, 2), line(copies)))
        .into();
    rows[3].cpu_ms *= 2.0;
    let held = hold_back(&rows);
    let last = held.iter().find(|held| held.size.copies == 4000).unwrap();
    assert!((last.ratio - 0.5).abs() < 1e-9, "{held:?}");
    assert!((worst_factor(&held).unwrap() - 2.0).abs() < 1e-9);
    assert_eq!(worst_factor(&[]), None);
}

#[test]
fn the_shortest_of_repeated_measurements_counts() {
    let at = |step, size, ms| row("7.4.0", step, size, ms);
    let (small, large) = (size(1000, 2), size(2500, 2));
    let mut rows = vec![
        at(Step::Reroute, small, 5.0),
        at(Step::Reroute, large, 20.0),
        at(Step::Create, small, 8.0),
        at(Step::Reroute, large, 80.0),
        at(Step::Reroute, small, 1.0),
        at(Step::Reroute, small, 50.0),
    ];
    // The same size, but a different cluster.
    rows.push(Measured {
        closed_indices: 7,
        ..rows[2].clone()
    });
    let times: Vec<f64> = shortest(&rows).iter().map(|row| row.cpu_ms).collect();
    for (found, expected) in times.iter().zip([1.0, 20.0, 8.0, 8.0]) {
        assert!((found - expected).abs() < 1e-9, "{times:?}");
    }
    assert_eq!(times.len(), 4);
}

#[test]
fn invalid_measurements_name_their_line() {
    let head =
        "version,operation,nodes,closed_indices,primaries,replicas,routed_copies,cpu_ms_median\n";
    let one = |line: &str| read_csv(&format!("# head\n{head}{line}\n"));
    let read = one("7.4.0,start,2,3,5,1,1000,1.5").unwrap();
    assert_eq!((read[0].step, read[0].closed_indices), (Step::Start, 3));
    // 1,000 copies, ten per index.
    assert_eq!(read[0].size.indices, 100);
    for (line, expected) in [
        ("7.4.0,reroute,2,0,5,0,1000", "8 values"),
        ("7.4.0,open,2,0,5,0,1000,1", "reroute, create"),
        ("7.4.0,reroute,0,0,5,0,1000,1", "nodes"),
        ("7.4.0,reroute,2,x,5,0,1000,1", "closed indices"),
        ("7.4.0,reroute,2,0,0,0,1000,1", "primaries"),
        ("7.4.0,reroute,2,0,5,-1,1000,1", "replicas"),
        ("7.4.0,reroute,2,0,5,0,-5,1", "copies"),
        ("7.4.0,reroute,2,0,5,0,1000,inf", "milliseconds"),
        ("7.4.0,reroute,2,0,5,0,1000,0", "milliseconds"),
    ] {
        let error = one(line).unwrap_err();
        assert_eq!(error.line, 3, "{error}");
        assert!(error.expected.contains(expected), "{error}");
    }
    let missing = read_csv("version,operation\n").unwrap_err();
    assert!(missing.expected.contains("nodes"), "{missing}");
    assert!(read_csv("").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn coefficients_are_recovered(
        linear in (0.0..10.0f64, 0.01..10.0f64, 0.01..10.0f64, 0.01..1.0f64),
        walk in (0.01..100.0f64, 0.01..100.0f64),
    ) {
        let base = Fit {
            fixed_ms: linear.0,
            per_thousand_ms: linear.1,
            per_thousand_far_ms: linear.2,
            per_thousand_pairs_ms: linear.3,
            ..Fit::default()
        };
        let truth = Fit { walk_ms: walk.0, walk_far_ms: walk.1, ..base };
        let mut all = rows(BASE, Step::Reroute, base);
        all.extend(rows("6.8.23", Step::Reroute, truth));
        let fitted = fit_all(&all);
        for at in [size(500, 2), size(100_000, 3), size(7000, 100)] {
            let ratio = of(&fitted, "6.8.23").ms(at) / truth.ms(at);
            prop_assert!((ratio - 1.0).abs() < 1e-3, "{:?} {:?}", fitted, truth);
        }
    }

    #[test]
    fn coefficients_are_never_negative(
        times in proptest::collection::vec(0.001..1e6f64, 20),
    ) {
        let sizes = shapes();
        let all: Vec<Measured> = times
            .iter()
            .enumerate()
            .map(|(at, &ms)| {
                let version = if at < 10 { BASE } else { "7.1.1" };
                row(version, Step::Delete, sizes[at % 10], ms)
            })
            .collect();
        for fitted in fit_all(&all) {
            prop_assert!(fitted.fit.coefficients().iter().all(|&coefficient| coefficient >= 0.0));
            prop_assert!(fitted.fit.ms(size(7000, 4)).is_finite());
        }
    }
}
