//! Why sets of trials cannot be compared at all.

use units::escape;

/// An error of [`compare`](super::compare).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CompareError {
    /// There is nothing to compare with.
    #[error("a comparison takes two sets of trials or more, a baseline first; found {found}")]
    TooFewSets {
        /// Number of sets given.
        found: usize,
    },
    /// A set is empty.
    #[error(
        "{}: no trials; each set needs at least one, and one of two sets at least two",
        escape(set)
    )]
    NoTrials {
        /// The set's name.
        set: String,
    },
    /// One run against one run.
    #[error("{}", one_against_one(baseline, contender, *within_error, *is_measured, false_shares))]
    OneAgainstOne {
        /// Name of the baseline.
        baseline: String,
        /// Name of the contender.
        contender: String,
        /// Standard error of a trial's value within the trial, relative.
        within_error: f64,
        /// Whether that is measured in these trials; else it is
        /// [`TYPICAL_WITHIN_ERROR`](super::single::TYPICAL_WITHIN_ERROR).
        is_measured: bool,
        /// Assumed run-to-run standard deviations (relative), each with the share of equal systems that a test
        /// at 5 % on one run each would call different.
        false_shares: Vec<(f64, f64)>,
    },
    /// The same trial was given twice, which would make one run look like two that agree.
    #[error(
        "{} and {} are the same trial ({}); each trial counts once",
        escape(one),
        escape(other),
        escape(id)
    )]
    SameTrial {
        /// What identifies it.
        id: String,
        /// Its name in one place.
        one: String,
        /// Its name in the other.
        other: String,
    },
    /// No metric can be compared.
    #[error("no metric can be compared: {reason}")]
    NothingInCommon {
        /// The first reason, and how many there are.
        reason: String,
    },
    /// An option makes no sense.
    #[error("{name} must lie {expected}, found {found}")]
    Option {
        /// The option.
        name: &'static str,
        /// What is possible.
        expected: &'static str,
        /// Its value.
        found: f64,
    },
}

/// Below this share of false verdicts, the noise within a run is what makes one against one useless.
const LOUD_FALSE_SHARE: f64 = 0.1;

fn one_against_one(
    baseline: &str,
    contender: &str,
    within_error: f64,
    is_measured: bool,
    false_shares: &[(f64, f64)],
) -> String {
    let percent = units::percent;
    let shares: Vec<String> = false_shares
        .iter()
        .map(|(sd, share)| {
            format!(
                "{} of equal systems whose runs differ by {} (standard deviation)",
                percent(*share),
                percent(*sd)
            )
        })
        .collect();
    let noise = if is_measured { "measured" } else { "assumed" };
    let why = if false_shares
        .iter()
        .any(|(_, share)| *share > LOUD_FALSE_SHARE)
    {
        format!(
            "a test at 5 % calls {} different (computed, with {noise} noise within a run of {}), and longer runs make \
             it worse",
            units::list(&shares),
            percent(within_error),
        )
    } else {
        format!(
            "the noise within a run, {}, hides all but large differences",
            percent(within_error)
        )
    };
    format!(
        "one trial of {} against one of {} cannot tell a change from the difference between two trials of the same \
         system: {why}. Run at least three of each, better five, in the order A B B A",
        escape(baseline),
        escape(contender),
    )
}
