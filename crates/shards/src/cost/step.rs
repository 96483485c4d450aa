//! The steps whose times are measured and predicted.

/// A step of the master's work whose time was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// A reroute with nothing to do.
    Reroute,
    /// The reroute in the task that creates an index.
    Create,
    /// Copies of a new index reported as started; up to 7.3 with the reroute, from 7.4 on without.
    Start,
    /// The reroute in the task that deletes an index.
    Delete,
}

impl Step {
    /// All steps.
    pub const ALL: [Self; 4] = [Self::Reroute, Self::Create, Self::Start, Self::Delete];

    /// The name in the measurements.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reroute => "reroute",
            Self::Create => "create",
            Self::Start => "start",
            Self::Delete => "delete",
        }
    }

    /// The step with that name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }
}

/// Whether a step of a measured version walks the copies of nodes, so that its time has these terms.
pub fn scans(measured: &str, step: Step) -> bool {
    let mut standing_on = crate::profile::PROFILES
        .iter()
        .filter(|profile| profile.measured == measured);
    standing_on.clone().any(|profile| profile.scans)
        // If the reroute is a separate task, starting copies does not ask any decider.
        && (step != Step::Start || standing_on.all(|profile| !profile.follow_up_reroute))
}
