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

    /// Looks up a step by name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }
}

/// Whether a step of a measured version walks the nodes' copies, so that its time includes these terms.
pub fn scans(measured: &str, step: Step) -> bool {
    let mut standing_on = crate::profile::PROFILES
        .iter()
        .filter(|profile| profile.measured == measured);
    standing_on.clone().any(|profile| profile.scans)
        // If the reroute is a separate task, starting copies does not consult any decider.
        && (step != Step::Start || standing_on.all(|profile| !profile.follow_up_reroute))
}
