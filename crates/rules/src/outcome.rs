use facts::{Finding, Skipped};

/// The result of running rules.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// Findings.
    pub findings: Vec<Finding>,
    /// Rules, or parts of rules, that could not be evaluated.
    pub skipped: Vec<Skipped>,
    /// Ids of the rules that ran.
    pub rules_run: Vec<&'static str>,
}

impl Outcome {
    /// Records that a rule, or a part of one, could not be evaluated; see [`Skipped::new`].
    pub(crate) fn skip(
        &mut self,
        what: impl Into<String>,
        why: impl Into<String>,
        needs: Option<&str>,
    ) {
        self.skipped.push(Skipped::new(what, why, needs));
    }

    /// Names the host of all findings and skipped rules.
    pub(crate) fn set_host(&mut self, name: &str) {
        for finding in &mut self.findings {
            finding.host = Some(name.to_owned());
        }
        for skipped in &mut self.skipped {
            skipped.host = Some(name.to_owned());
        }
    }
}
