//! What a comparison promises.

use super::error::CompareError;

/// Options of a comparison. The defaults keep the share of wrong verdicts well below the usual 5 %, because a
/// comparison that runs every night draws 365 verdicts a year.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Seed of the bootstrap within trials. The same trials and seed always give the same result.
    pub seed: u64,
    /// Share of comparisons of equal systems that may find any metric of a rank different: 0.01. Intervals hold
    /// the true ratio with a confidence of 1 - `alpha` or more. If one set ran after the other on a machine that
    /// drifts, up to four times as many are, as ten trials do not tell how much it drifts.
    pub alpha: f64,
    /// The smallest difference that matters, for *no difference larger than*: 0.03 is 3 %.
    pub margin: f64,
    /// Share of metrics that differ by `margin` and may be said not to: 0.025.
    pub equivalence_alpha: f64,
    /// Probability with which the trials that *cannot tell* asks for give an answer: 0.9.
    pub power: f64,
    /// Whether all sets are taken to spread alike, so that the spread is estimated from all of them: for many variants of
    /// one experiment with few trials each, on the same machine. Three trials of each of seven variants have 14 degrees
    /// of freedom then, and not 2.
    pub pools_spread: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            alpha: 0.01,
            margin: 0.03,
            equivalence_alpha: 0.025,
            power: 0.9,
            pools_spread: false,
        }
    }
}

impl Options {
    /// Returns the first option that makes no sense as an error.
    pub(crate) fn check(&self) -> Result<(), CompareError> {
        let half = "above 0 and below 0.5";
        for (name, value, low, high, expected) in [
            ("alpha", self.alpha, 0.0, 0.5, half),
            ("equivalence_alpha", self.equivalence_alpha, 0.0, 0.5, half),
            ("margin", self.margin, 0.0, 10.0, "above 0 and below 10"),
            ("power", self.power, 0.5, 1.0, "above 0.5 and below 1"),
        ] {
            if !(value > low && value < high) {
                return Err(CompareError::Option {
                    name,
                    expected,
                    found: value,
                });
            }
        }
        Ok(())
    }
}
