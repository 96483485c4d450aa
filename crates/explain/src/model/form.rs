//! The waveforms that a pattern may have.

/// A waveform over one period, with mean 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Form {
    /// Rises from -1/2 to 1/2 and falls back at phase 0.
    Sawtooth,
    /// 1 for a fraction of the period from phase 0 on, then 0.
    Box {
        /// That fraction, 0 to 1.
        duty: f64,
    },
    /// A sum of harmonics, each a sine and a cosine.
    Wave,
}

impl Form {
    /// Returns the value at a phase of 0 to 1.
    pub fn at(self, phase: f64) -> f64 {
        match self {
            Self::Sawtooth => phase - 0.5,
            Self::Box { duty } => f64::from(phase < duty) - duty,
            Self::Wave => (std::f64::consts::TAU * phase).cos(),
        }
    }

    /// Returns the fraction of the period that it occupies.
    pub fn duty(self) -> f64 {
        match self {
            Self::Box { duty } => duty,
            Self::Sawtooth | Self::Wave => 1.0,
        }
    }

    /// Returns the direction of the values at its onset, given the sign of its amplitude: 1 up, -1 down.
    pub fn jump(self, amplitude: f64) -> f64 {
        match self {
            Self::Sawtooth => -amplitude.signum(),
            Self::Box { .. } | Self::Wave => amplitude.signum(),
        }
    }
}
