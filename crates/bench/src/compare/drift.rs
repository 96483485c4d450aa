//! What drift of the machine makes of the error of a difference.
//!
//! Trials that are near in time resemble each other, for whatever the machine does that day lasts longer than a
//! trial. If one set ran after the other, that looks like a difference between them, and it makes the spread
//! within each look smaller than it is: with a correlation of 0.8 from trial to trial, the standard error of ten
//! trials against ten is 2.7 times as large as independent trials would have it.
//!
//! The logarithms are taken as an autoregressive process of the first order about the mean of their set. Trials
//! `d` steps apart have the correlation φ^d. Given φ, the order of the trials alone says by what factor the error
//! is too small: for trials in turns (A B B A) by none, whatever φ is. What φ is, ten trials do not tell: its
//! estimate has a standard error of 0.3 and is too low by (1 + 4φ) / n (Kendall 1954). So nothing is estimated.
//! Each φ counts as much as it is probable after the data (Bayesian model averaging, Hoeting et al. 1999), by the
//! restricted likelihood, which knows that two means were taken out (Harville 1974). Visible correlation makes a
//! large φ more probable and the interval wider. Where none is visible, the interval narrows to that of independent
//! trials as their number grows.
//!
//! `cargo run --release -p bench --example equal -- 2000 one-after-the-other` measures what that holds.

use super::batch_means::as_f64;

/// Coefficients that are tried, at equal distances between 0 and 1.
const COEFFICIENTS: usize = 20;
/// Probability, before the data, that trials are independent; otherwise all coefficients are as probable. Calibrated
/// on equal sets of 3 to 40 trials one after the other: 4.5 % of them are called different at the most, with
/// coefficients of up to 0.97. At 0.7 it is 5 %. At 0, ten independent trials of each find a difference of 2.5
/// standard deviations in 73 %, and not in 90 %.
const INDEPENDENCE: f64 = 0.6;
/// Below this factor, another order of the trials would not help.
const FACTOR_MIN: f64 = 1.1;

/// A trial in the order of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ordered {
    /// When it started, in microseconds.
    pub started_us: i64,
    /// Of which set it is.
    pub is_contender: bool,
    /// The logarithm of its value.
    pub log: f64,
}

/// By how much the standard error of a difference may be larger than that of independent trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Drift {
    /// Probability that trials are independent.
    independence: f64,
    /// If they are not: factors of the standard error, from 1 up, each with its probability.
    factors: [(f64, f64); COEFFICIENTS],
}

impl Drift {
    /// Trials that are independent, or whose order is not known.
    #[expect(clippy::cast_precision_loss, reason = "20")]
    pub(crate) const NONE: Self = Self {
        independence: 1.0,
        factors: [(1.0, 1.0 / COEFFICIENTS as f64); COEFFICIENTS],
    };

    /// Returns the drift that trials allow, in the order in which they ran.
    pub(crate) fn of(trials: &[Ordered]) -> Self {
        let order = Order::new(trials);
        let Some(logs) = order.centred(trials) else {
            return Self::NONE;
        };
        let mut drift = Self::NONE;
        let mut largest = 1.0_f64;
        let independent = order.ln_likelihood(&logs, 0.0);
        let mut ln_likelihoods = [0.0; COEFFICIENTS];
        let mut coefficient = 0.5;
        for ((factor, _), ln_likelihood) in drift.factors.iter_mut().zip(&mut ln_likelihoods) {
            let phi = coefficient / as_f64(COEFFICIENTS);
            // A larger coefficient never counts less, so that more correlation never narrows an interval.
            largest = largest.max(order.factor(phi).unwrap_or(1.0));
            *factor = largest;
            *ln_likelihood = order.ln_likelihood(&logs, phi);
            coefficient += 1.0;
        }
        // Relative to the largest, because the exponential of the rest may be 0.
        let most = ln_likelihoods.iter().copied().fold(independent, f64::max);
        let likelihoods = ln_likelihoods.map(|one| (one - most).exp());
        let sum: f64 = likelihoods.iter().sum();
        let if_independent = INDEPENDENCE * (independent - most).exp();
        let otherwise = (1.0 - INDEPENDENCE) * sum / as_f64(COEFFICIENTS);
        drift.independence = if_independent / (if_independent + otherwise);
        for ((_, probability), likelihood) in drift.factors.iter_mut().zip(likelihoods) {
            *probability = if sum > 0.0 { likelihood / sum } else { 0.0 };
        }
        drift
    }

    /// Whether the order of the trials lets drift look like a difference.
    pub(crate) fn is_possible(&self) -> bool {
        self.largest() > FACTOR_MIN
    }

    /// Returns a probability that depends on the factor of the standard error, averaged over factors.
    pub(crate) fn mean(&self, at: impl Fn(f64) -> f64) -> f64 {
        if self.largest() <= 1.0 {
            return at(1.0);
        }
        self.independence * at(1.0) + (1.0 - self.independence) * self.mean_if_dependent(at)
    }

    /// The same without the benefit that trials may be independent: for the claim that systems are alike, which
    /// needs more proof. With it, that claim would be wrong in up to 9 %.
    pub(crate) fn mean_if_dependent(&self, at: impl Fn(f64) -> f64) -> f64 {
        if self.largest() <= 1.0 {
            return at(1.0);
        }
        self.factors
            .iter()
            .map(|(factor, probability)| probability * at(*factor))
            .sum()
    }

    fn largest(&self) -> f64 {
        self.factors[COEFFICIENTS - 1].0
    }
}

/// The sets of trials in time, and the steps between them.
struct Order {
    is_contender: Vec<bool>,
    /// Steps from each trial to the next.
    lags: Vec<f64>,
    /// Number of trials of the baseline and of the contender.
    counts: (f64, f64),
}

impl Order {
    /// A step is the median distance of trials. Nearer ones count as one step apart: their own noise does not
    /// know how near they are.
    fn new(trials: &[Ordered]) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "to a microsecond for 285 years")]
        let distances: Vec<f64> = trials
            .windows(2)
            .map(|two| two[1].started_us.saturating_sub(two[0].started_us) as f64)
            .collect();
        let mut sorted = distances.clone();
        sorted.sort_by(f64::total_cmp);
        let step = sorted
            .get(sorted.len() / 2)
            .map_or(1.0, |step| step.max(1.0));
        let contenders = trials.iter().filter(|trial| trial.is_contender).count();
        Self {
            is_contender: trials.iter().map(|trial| trial.is_contender).collect(),
            lags: distances
                .iter()
                .map(|distance| (distance / step).max(1.0))
                .collect(),
            counts: (as_f64(trials.len() - contenders), as_f64(contenders)),
        }
    }

    /// Returns the logarithms without the means of their sets; `None` if nothing is left to compare.
    fn centred(&self, trials: &[Ordered]) -> Option<Vec<f64>> {
        if self.counts.0 < 1.0 || self.counts.1 < 1.0 || self.counts.0 + self.counts.1 < 3.0 {
            return None;
        }
        let sum = |of_contender: bool| -> f64 {
            let of_set = trials.iter().filter(|one| one.is_contender == of_contender);
            of_set.map(|one| one.log).sum()
        };
        let means = (sum(false) / self.counts.0, sum(true) / self.counts.1);
        let mean = |is_contender: bool| if is_contender { means.1 } else { means.0 };
        Some(
            trials
                .iter()
                .map(|one| one.log - mean(one.is_contender))
                .collect(),
        )
    }

    /// Returns by what factor the standard error is larger than independent trials would have it, if the
    /// correlation is `phi` from step to step: the root of the variance of the difference of means by the
    /// variance that the spread within the sets is expected to show for it.
    fn factor(&self, phi: f64) -> Option<f64> {
        let (a, b) = self.counts;
        let difference = self.variance(
            phi,
            |is_contender| if is_contender { 1.0 / b } else { -1.0 / a },
        );
        // Expected variance within a set, as a share of that of a trial.
        let within = |of_contender: bool, count: f64| {
            let sum = self.variance(phi, |is_contender| f64::from(is_contender == of_contender));
            (count > 1.0).then(|| (count - sum / count) / (count - 1.0))
        };
        let expected = match (within(false, a), within(true, b)) {
            (Some(of_a), Some(of_b)) => {
                let pooled = ((a - 1.0) * of_a + (b - 1.0) * of_b) / (a + b - 2.0);
                // Welch's and Student's error, which are the same for sets of the same size.
                (of_a / a + of_b / b).min(pooled * (1.0 / a + 1.0 / b))
            }
            (Some(common), None) | (None, Some(common)) => common * (1.0 / a + 1.0 / b),
            (None, None) => return None,
        };
        Some((difference / expected).sqrt())
    }

    /// Returns the variance of a weighted sum of the trials, each of which has a variance of 1.
    fn variance(&self, phi: f64, weight: impl Fn(bool) -> f64) -> f64 {
        let mut weights = self.is_contender.iter().map(|one| weight(*one));
        let Some(mut last) = weights.next() else {
            return 0.0;
        };
        // What the trials so far have in common with the next.
        let mut carried = 0.0;
        let mut sum = last * last;
        for (now, lag) in weights.zip(&self.lags) {
            carried = phi.powf(*lag) * (carried + last);
            sum += now * now + 2.0 * now * carried;
            last = now;
        }
        sum
    }

    /// Returns the logarithm of the restricted likelihood of `phi`, but for a constant, with the variance of a
    /// trial at its best (Harville 1974): of `y` about the means of two sets, by generalised least squares.
    fn ln_likelihood(&self, y: &[f64], phi: f64) -> f64 {
        let row = |at: usize| {
            let of_contender = f64::from(self.is_contender[at]);
            [1.0 - of_contender, of_contender, y[at]]
        };
        // Sums of products of what is new in each trial: of the sets' indicators and the value.
        let mut products = [[0.0; 3]; 3];
        let mut ln_determinant = 0.0;
        for at in 0..y.len() {
            let mut new = row(at);
            if at > 0 {
                let correlation = phi.powf(self.lags[at - 1]);
                let variance = 1.0 - correlation * correlation;
                ln_determinant += variance.ln();
                for (now, before) in new.iter_mut().zip(row(at - 1)) {
                    *now = (*now - correlation * before) / variance.sqrt();
                }
            }
            for (sums, one) in products.iter_mut().zip(new) {
                for (sum, other) in sums.iter_mut().zip(new) {
                    *sum += one * other;
                }
            }
        }
        let squares: f64 = y.iter().map(|value| value * value).sum();
        if squares <= 0.0 {
            // Trials that all agree tell nothing of φ.
            return 0.0;
        }
        let [[aa, ab, ay], [_, bb, by], [.., yy]] = products;
        let determinant = aa * bb - ab * ab;
        let explained = (bb * ay * ay - 2.0 * ab * ay * by + aa * by * by) / determinant;
        let share = ((yy - explained) / squares).max(f64::EPSILON);
        let freedom = self.counts.0 + self.counts.1 - 2.0;
        -0.5 * (ln_determinant + determinant.ln() + freedom * share.ln())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Trials at these times, the contender's marked by `B`.
    fn trials(order: &str, times: &[i64], logs: &[f64]) -> Vec<Ordered> {
        let sets = order.chars().zip(times).zip(logs);
        sets.map(|((set, time), log)| Ordered {
            started_us: *time,
            is_contender: set == 'B',
            log: *log,
        })
        .collect()
    }

    fn each_step(order: &str, logs: &[f64]) -> Vec<Ordered> {
        let times: Vec<i64> = (0..).take(order.len()).collect();
        trials(order, &times, logs)
    }

    fn order(of: &str) -> Order {
        Order::new(&each_step(of, &vec![0.0; of.len()]))
    }

    fn mean_factor(trials: &[Ordered]) -> f64 {
        Drift::of(trials).mean(|factor| factor)
    }

    /// By the matrix of correlations, element by element.
    #[test]
    fn the_factor_is_that_of_the_matrix() {
        for of in ["AAABBB", "AAABB", "AABBBBAA", "BAAAAA"] {
            for phi in [0.2, 0.7, 0.95_f64] {
                let sets: Vec<char> = of.chars().collect();
                let places = |set: char| -> Vec<usize> {
                    (0..sets.len()).filter(|at| sets[*at] == set).collect()
                };
                let (a, b) = (places('A'), places('B'));
                let correlation = |one: usize, other: usize| phi.powf(as_f64(one.abs_diff(other)));
                let sum = |rows: &[usize], columns: &[usize]| -> f64 {
                    rows.iter()
                        .flat_map(|row| columns.iter().map(|column| correlation(*row, *column)))
                        .sum::<f64>()
                        / as_f64(rows.len() * columns.len())
                };
                let difference = sum(&a, &a) + sum(&b, &b) - 2.0 * sum(&a, &b);
                // E s² = n / (n - 1) (1 - the mean correlation).
                let within = |set: &[usize]| {
                    let n = as_f64(set.len());
                    (set.len() > 1).then(|| n / (n - 1.0) * (1.0 - sum(set, set)))
                };
                let (n, m) = (as_f64(a.len()), as_f64(b.len()));
                let expected = match (within(&a), within(&b)) {
                    (Some(of_a), Some(of_b)) => f64::min(
                        of_a / n + of_b / m,
                        ((n - 1.0) * of_a + (m - 1.0) * of_b) / (n + m - 2.0) * (1.0 / n + 1.0 / m),
                    ),
                    (one, other) => one.or(other).unwrap() * (1.0 / n + 1.0 / m),
                };
                let found = order(of).factor(phi).unwrap();
                let expected = (difference / expected).sqrt();
                assert!(
                    (found / expected - 1.0).abs() < 1e-9,
                    "{of} {phi}: {found} {expected}"
                );
            }
        }
    }

    /// Three trials, and one of the other set so much later that it tells nothing: two contrasts, (y₁ - y₃) / √2
    /// and (y₁ - 2 y₂ + y₃) / √6, are independent with variances of 1 - φ² and 1 - 4φ/3 + φ²/3.
    #[test]
    fn the_likelihood_is_that_of_the_contrasts() {
        let logs = [0.3, -0.4, 0.6, 5.0];
        let trials = trials("AAAB", &[0, 1, 2, 100_000], &logs);
        let order = Order::new(&trials);
        let centred = order.centred(&trials).unwrap();
        let expected = |phi: f64| {
            let squares = (
                (logs[0] - logs[2]).powi(2) / 2.0,
                (logs[0] - 2.0 * logs[1] + logs[2]).powi(2) / 6.0,
            );
            let variances = (1.0 - phi * phi, 1.0 - 4.0 * phi / 3.0 + phi * phi / 3.0);
            let sum = squares.0 / variances.0 + squares.1 / variances.1;
            -0.5 * f64::ln(variances.0 * variances.1) - sum.ln()
        };
        for phi in [0.3, 0.6, 0.9] {
            let found = order.ln_likelihood(&centred, phi) - order.ln_likelihood(&centred, 0.0);
            let expected = expected(phi) - expected(0.0);
            assert!((found - expected).abs() < 1e-9, "{phi}: {found} {expected}");
        }
    }

    #[test]
    fn one_set_after_the_other_is_uncertain_and_turns_are_not() {
        let logs: Vec<f64> = (0..12_u32).map(|at| f64::from(at * 7 % 12)).collect();
        for (order, is_possible) in [
            ("AAAAAABBBBBB", true),
            ("BBBBBBBBBBBA", true),
            ("AAABBBAAABBB", true),
            ("ABBAABBAABBA", false),
            ("ABABABABABAB", false),
            ("AABBAABBAABB", false),
        ] {
            let drift = Drift::of(&each_step(order, &logs));
            assert_eq!(drift.is_possible(), is_possible, "{order} {drift:?}");
        }
    }

    #[test]
    fn a_slow_wave_widens_more_than_a_fast_one() {
        let slow = [1.0, 2.0, 3.0, 4.0, 5.0, 5.0, 4.0, 3.0, 2.0, 1.0];
        let fast = [3.0, 1.0, 5.0, 2.0, 4.0, 2.0, 5.0, 1.0, 4.0, 3.0];
        let of = |logs: &[f64]| mean_factor(&each_step("AAAAABBBBB", logs));
        assert!(of(&slow) > 1.2 * of(&fast), "{} {}", of(&slow), of(&fast));
        assert!(of(&fast) > 1.0);
    }

    #[test]
    fn many_trials_without_memory_are_nearly_independent() {
        let noise = |count: usize| -> f64 {
            let mut random = crate::random::Random::numbered(3, 1);
            let logs: Vec<f64> = (0..2 * count).map(|_| random.open_normal()).collect();
            let order = "A".repeat(count) + &"B".repeat(count);
            mean_factor(&each_step(&order, &logs)) - 1.0
        };
        assert!(
            noise(200) < 0.1 && noise(5) > noise(200),
            "{} {}",
            noise(5),
            noise(200)
        );
    }

    #[test]
    fn a_break_between_sets_leaves_them_nothing_in_common() {
        let logs = [1.0, 3.0, 2.0, 2.0, 4.0, 1.0];
        let of = |times: &[i64]| {
            let trials = trials("AAABBB", times, &logs);
            Order::new(&trials).factor(0.8).unwrap()
        };
        let near = of(&[0, 10, 20, 30, 40, 50]);
        assert!(of(&[0, 10, 20, 5_000, 5_010, 5_020]) > 1.2 * near);
        // Trials that follow at once are no nearer than others.
        assert!((of(&[0, 10, 20, 21, 31, 41]) - near).abs() < 1e-12);
    }

    #[test]
    fn trials_that_agree_and_too_few_trials_show_no_drift() {
        let drift = Drift::of(&each_step("AAAABBBB", &[1.0; 8]));
        assert!(
            (drift.independence - INDEPENDENCE).abs() < 1e-12,
            "{drift:?}"
        );
        assert_eq!(Drift::of(&each_step("AB", &[1.0, 2.0])), Drift::NONE);
        assert_eq!(Drift::of(&[]), Drift::NONE);
    }

    proptest! {
        #[test]
        fn no_interval_becomes_narrower(
            sets in prop::collection::vec((any::<bool>(), 1_i64..1_000, -9.0_f64..9.0), 0..30),
        ) {
            let mut now = 0;
            let trials: Vec<Ordered> = sets.into_iter().map(|(is_contender, step, log)| {
                now += step;
                Ordered { started_us: now, is_contender, log }
            }).collect();
            let drift = Drift::of(&trials);
            prop_assert!((0.0..=1.0).contains(&drift.independence), "{drift:?}");
            let sum: f64 = drift.factors.iter().map(|(_, probability)| probability).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9, "{drift:?}");
            prop_assert!(drift.factors.iter().all(|(factor, _)| *factor >= 1.0), "{drift:?}");
            prop_assert!(drift.mean(|factor| factor) <= drift.largest() + 1e-9);
        }
    }
}
