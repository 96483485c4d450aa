use super::{Fit, Size};

#[test]
fn units_of_the_coefficients() {
    let at = |fit: Fit, copies, indices, nodes| {
        fit.ms(Size {
            copies,
            shards: copies,
            indices,
            nodes,
        })
    };
    let fit = Fit {
        fixed_ms: 1.0,
        per_thousand_ms: 2.0,
        per_thousand_far_ms: 3.0,
        per_thousand_pairs_ms: 4.0,
        ..Fit::default()
    };
    // 1 + 2 * 10 + 3 * (10 - 6) + 4 * 2,000 * 5 / 1,000
    assert!((at(fit, 10_000, 2000, 5) - 73.0).abs() < 1e-9);
    // 1 + 2 * 5 + 4 * 1
    assert!((at(fit, 5000, 1000, 1) - 15.0).abs() < 1e-9);
    let walk = Fit {
        walk_ms: 10.0,
        walk_far_ms: 30.0,
        ..Fit::default()
    };
    // Short lists; with 6 of 60 nodes a tenth is far: 3^2 / 6 * (9/10 * 10 + 1/10 * 30).
    assert!((at(walk, 3000, 1, 6) - 1.5 * 12.0).abs() < 1e-9);
    // 2,250 copies on each of 6 nodes: half of the near share becomes far because of the list length.
    assert!(
        (at(walk, 13_500, 1, 6) - 13.5 * 13.5 / 6.0 * (0.45 * 10.0 + 0.55 * 30.0)).abs() < 1e-9
    );
    // 12,500 copies per node: all of it is far. 25^2 / 2 * 30.
    assert!((at(walk, 25_000, 1, 2) - 9375.0).abs() < 1e-9);
    // From 60 nodes on, all of it is far as well: 6^2 / 90 * 30.
    assert!((at(walk, 6000, 1, 90) - 12.0).abs() < 1e-9);
    // With one data node nothing is walked.
    assert!(at(walk, 10_000, 1, 1).abs() < 1e-12);
}
