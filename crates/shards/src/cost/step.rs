//! Steps of the master's work whose times are measured and predicted.

/// A step of the master's work whose time was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Reroute with nothing to do.
    Reroute,
    /// Reroute in the task that creates an index.
    Create,
    /// Copies of a new index are reported as started; includes the reroute up to 7.3.
    Start,
    /// Reroute in the task that deletes an index.
    Delete,
}

impl Step {
    /// All steps.
    pub const ALL: [Self; 4] = [Self::Reroute, Self::Create, Self::Start, Self::Delete];

    /// The step's name in the measurements.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reroute => "reroute",
            Self::Create => "create",
            Self::Start => "start",
            Self::Delete => "delete",
        }
    }
}
