//! A fitted parameter and its range.

/// A fitted parameter, and how well the series determines it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The best value.
    pub value: f64,
    /// The lower end of the 95 % range; `None` if it is open down to the search bound.
    pub low: Option<f64>,
    /// The upper end of the 95 % range; `None` if it is open up to the search bound.
    pub high: Option<f64>,
    /// Whether it was given rather than fitted.
    pub given: bool,
}

impl Estimate {
    /// Whether the range has both ends.
    pub fn is_determined(&self) -> bool {
        self.low.is_some() && self.high.is_some()
    }

    /// Whether the range has neither end.
    pub fn is_open(&self) -> bool {
        self.low.is_none() && self.high.is_none()
    }

    pub(super) fn given(value: f64) -> Self {
        Self {
            value,
            low: Some(value),
            high: Some(value),
            given: true,
        }
    }
}
