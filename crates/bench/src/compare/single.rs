//! What one run against one run is worth.

use super::distribution::{normal_quantile, normal_tail};

/// Run-to-run standard deviations, relative, for which a refusal states its figure. Runs on one quiet machine
/// typically differ by this much.
pub const RUN_TO_RUN_SDS: [f64; 2] = [0.01, 0.02];

/// The error of a trial's mean within the trial that is assumed if trials hold one value each: 300 seconds whose
/// values vary by 5 % with an autocorrelation of 0.5, so that three of them tell as much as one independent one.
pub const TYPICAL_WITHIN_ERROR: f64 = 0.005;

/// Returns the share of pairs of single runs of equal systems that a test at 5 % calls different if it knows
/// only the noise within the runs.
///
/// Runs differ from the system's mean by a normal deviate of `run_to_run_sd` and another of `within_error`
/// (both relative), and the test compares the difference with 1.96 of the latter alone, so it is wrong with
/// probability 2 Φ(-1.96 w / √(s² + w²)). Longer runs make `within_error` smaller and the test worse. With the
/// noise assumed in [`TYPICAL_WITHIN_ERROR`], that is 38 % of runs that differ by 1 % between runs, 64 % by 2 %.
/// On simulated runs, Latte's test calls 38 to 42 % and 64 to 65 % different (`cargo run --release -p bench
/// --example equal`).
pub fn single_run_false_share(run_to_run_sd: f64, within_error: f64) -> f64 {
    let all = run_to_run_sd.hypot(within_error);
    if all > 0.0 {
        2.0 * normal_tail(normal_quantile(0.025) * within_error / all)
    } else {
        0.05
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_runs_are_worse() {
        // √3 times as long an effective noise each: 60, 300 and 1,200 s of 5 % noise with phi 0.5.
        let share = |seconds: f64| single_run_false_share(0.01, 0.05 * (3.0 / seconds).sqrt());
        assert!((share(300.0) - 0.3808).abs() < 1e-3);
        assert!(share(60.0) < share(300.0) && share(300.0) < share(1_200.0));
        // Runs that do not differ are judged right.
        assert!((single_run_false_share(0.0, 0.01) - 0.05).abs() < 1e-12);
        assert!((single_run_false_share(0.01, 0.0) - 1.0).abs() < 1e-12);
        assert!((single_run_false_share(0.0, 0.0) - 0.05).abs() < 1e-12);
    }
}
