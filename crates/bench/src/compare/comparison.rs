//! The result of a comparison.

use super::environment::EnvironmentDifference;
use super::shift::Design;
use super::trial::Rank;
use facts::series::Better;

/// What comparing sets of trials found.
#[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Report {
    /// Name of the set that the others are compared with.
    pub baseline: String,
    /// A comparison for each contender and metric, in the order of contenders, ranks and keys.
    pub comparisons: Vec<Comparison>,
    /// What could not be compared.
    pub skipped: Vec<NotCompared>,
    /// In what the trials' environments differ.
    pub environment: Vec<EnvironmentDifference>,
    /// What weakens the result as a whole, with a remedy.
    pub notes: Vec<String>,
}

/// One metric of a contender, compared with the baseline.
#[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Comparison {
    /// Name of the contender.
    pub contender: String,
    /// The class of operations.
    pub operation: String,
    /// The metric of it.
    pub metric: String,
    /// Unit of the values.
    pub unit: Option<String>,
    /// Whether higher or lower is better.
    pub better: Better,
    /// The family of metrics that it was tested with.
    pub rank: Rank,
    /// How trials were related.
    pub design: Design,
    /// Trials compared: of the baseline, of the contender.
    pub trials: (usize, usize),
    /// Geometric mean of the baseline's trials.
    pub baseline_value: f64,
    /// Geometric mean of the contender's trials.
    pub contender_value: f64,
    /// How many times the baseline's value the contender's is.
    pub ratio: f64,
    /// The interval of the ratio.
    pub interval: Interval,
    /// How many times as wide the interval is as that of independent trials: above 1 if the order of the trials
    /// lets drift of the machine look like a difference, as one set after the other does.
    pub widening: f64,
    /// Probability of a ratio at least this far from 1 between equal systems, for this metric alone.
    pub p: f64,
    /// Standard deviation from trial to trial, relative: 0.01 is 1 %.
    pub run_to_run_sd: f64,
    /// Standard error of one trial's value as far as the trial itself tells, relative; `None` if trials hold one
    /// value each. If it is as large as `run_to_run_sd`, longer trials help; if it is much smaller, only more
    /// trials do.
    pub within_run_error: Option<f64>,
    /// What that means.
    pub verdict: Verdict,
}

/// An interval of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Share of such intervals that hold the true ratio: 0.99, or more where several metrics were compared.
    pub confidence: f64,
}

/// What a comparison shows.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The systems differ; the interval says by how much.
    Differs {
        /// Whether the difference is also shown to be smaller than the margin.
        within_margin: bool,
    },
    /// The true ratio lies between 1 / (1 + margin) and 1 + margin.
    NoDifferenceLargerThan {
        /// The margin: 0.03 is 3 %.
        margin: f64,
    },
    /// Neither is shown.
    CannotTell {
        /// Number of further trials of each set that would show one of both, if trials keep differing as these
        /// did.
        more_pairs_needed: u32,
        /// The same if these few trials happened to differ less than usual (80 % upper limit).
        more_pairs_at_most: u32,
        /// Whether drift of the machine may be all that these trials show, because one set ran after the other.
        /// Then the numbers are of trials in turns (A B B A), and these trials do not count.
        in_turns: bool,
    },
}

/// Whether a contender is shown to be worse by at least some share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Regression {
    /// The whole interval is worse by at least that: fail.
    Shown,
    /// The contender is shown to be worse, but by at least that much only possibly.
    WorseMaybeByLess,
    /// Nothing is shown, and a regression of that size is possible: too few trials.
    Possible,
    /// The whole interval is better than that.
    RuledOut,
}

impl Comparison {
    /// Returns whether a regression of at least `share` (0.05 is 5 %) is shown: a throughput at most 1 - `share`
    /// times the baseline's, or a latency at least 1 + `share` times.
    ///
    /// With enough trials, a regression of more than `share` is always shown in the end, one of less than it
    /// ruled out. One of exactly that size stays open. To fail on any regression, ask for a `share` of 0.
    pub fn regression(&self, share: f64) -> Regression {
        let Interval { low, high, .. } = self.interval;
        // By how much the contender is worse at the least and at the most.
        let (least, most) = match self.better {
            Better::Higher => (1.0 - high, 1.0 - low),
            Better::Lower => (low - 1.0, high - 1.0),
        };
        let differs = matches!(self.verdict, Verdict::Differs { .. });
        if least >= share && differs {
            Regression::Shown
        } else if most < share {
            Regression::RuledOut
        } else if differs && least > 0.0 {
            Regression::WorseMaybeByLess
        } else {
            Regression::Possible
        }
    }

    /// Whether the contender is shown to be better (`Some(true)`) or worse.
    pub fn is_better(&self) -> Option<bool> {
        matches!(self.verdict, Verdict::Differs { .. }).then_some(match self.better {
            Better::Higher => self.ratio > 1.0,
            Better::Lower => self.ratio < 1.0,
        })
    }
}

impl Report {
    /// Returns the comparisons of primary metrics that show a regression of at least `share`, as
    /// [`Comparison::regression`] says. What could not be compared is among [`skipped`](Self::skipped) and
    /// [`notes`](Self::notes) and must be looked at as well; [`Report::appeared`] are regressions of any size.
    pub fn regressions(&self, share: f64) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(move |comparison| {
            comparison.rank == Rank::Primary && comparison.regression(share) == Regression::Shown
        })
    }

    /// Returns the primary metrics, such as error rates, that were 0 and are not any more.
    pub fn appeared(&self) -> impl Iterator<Item = &NotCompared> {
        self.skipped
            .iter()
            .filter(|one| one.rank == Rank::Primary && one.shows == Shows::Appeared)
    }
}

/// A metric that was not compared.
#[derive(Debug, Clone, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct NotCompared {
    /// Name of the contender.
    pub contender: String,
    /// The class of operations.
    pub operation: String,
    /// The metric of it.
    pub metric: String,
    /// The family of metrics that it belongs to.
    pub rank: Rank,
    /// What that says all the same.
    pub shows: Shows,
    /// Why, with the values if they are the reason.
    pub reason: String,
}

/// What a metric without a ratio says of the sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shows {
    /// It is 0 in all trials of both sets.
    Same,
    /// It is 0 in all trials of the baseline and above 0 in all of the contender's, which is worse, and too many
    /// trials for chance.
    Appeared,
    /// Nothing.
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comparison(better: Better, low: f64, high: f64) -> Comparison {
        let differs = low > 1.0 || high < 1.0;
        Comparison {
            contender: "b".to_owned(),
            operation: "bulk".to_owned(),
            metric: "throughput".to_owned(),
            unit: None,
            better,
            rank: Rank::Primary,
            design: Design::Sets,
            trials: (5, 5),
            baseline_value: 1.0,
            contender_value: (low * high).sqrt(),
            ratio: (low * high).sqrt(),
            interval: Interval {
                low,
                high,
                confidence: 0.99,
            },
            widening: 1.0,
            p: 0.5,
            run_to_run_sd: 0.01,
            within_run_error: None,
            verdict: if differs {
                Verdict::Differs {
                    within_margin: false,
                }
            } else {
                Verdict::CannotTell {
                    more_pairs_needed: 1,
                    more_pairs_at_most: 2,
                    in_turns: false,
                }
            },
        }
    }

    #[test]
    fn a_regression_is_shown_only_if_the_whole_interval_is_that_bad() {
        for (better, low, high, expected) in [
            (Better::Higher, 0.90, 0.94, Regression::Shown),
            (Better::Higher, 0.93, 0.97, Regression::WorseMaybeByLess),
            (Better::Higher, 0.93, 1.01, Regression::Possible),
            (Better::Higher, 0.96, 0.99, Regression::RuledOut),
            (Better::Higher, 1.10, 1.20, Regression::RuledOut),
            (Better::Lower, 1.06, 1.20, Regression::Shown),
            (Better::Lower, 1.02, 1.20, Regression::WorseMaybeByLess),
            (Better::Lower, 0.99, 1.20, Regression::Possible),
            (Better::Lower, 0.90, 0.94, Regression::RuledOut),
        ] {
            let found = comparison(better, low, high).regression(0.05);
            assert_eq!(found, expected, "{better:?} {low} {high}");
        }
        // Asked for any regression, an interval that touches 1 shows none.
        assert_eq!(
            comparison(Better::Higher, 0.9, 1.0).regression(0.0),
            Regression::Possible
        );
    }

    #[test]
    fn better_depends_on_the_metric() {
        assert_eq!(comparison(Better::Higher, 1.1, 1.2).is_better(), Some(true));
        assert_eq!(comparison(Better::Lower, 1.1, 1.2).is_better(), Some(false));
        assert_eq!(comparison(Better::Lower, 0.9, 1.2).is_better(), None);
    }
}
