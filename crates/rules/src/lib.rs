//! Facts in, findings out; one file per rule. A rule never reads the host.

mod catalogue;
mod context;
mod discard_path;
mod discard_remedy;
mod disk_jobs;
mod fstab_edit;
#[cfg(test)]
mod hostile_hosts;
mod medium;
#[cfg(test)]
mod ordinary_hosts;
mod pace;
#[cfg(test)]
mod quiet_hosts;
mod rules;
pub mod shell;
#[cfg(test)]
mod test_host;
#[cfg(test)]
mod test_jobs;
mod times;
mod trim_jobs;
mod trim_remedy;
mod trim_state;
mod trimming;
mod volumes;
mod wording;

pub use catalogue::{Rule, all, find};
pub use context::{Context, Outcome};
pub use trimming::{TrimSchedule, Trimming, trimming};

use facts::{Host, Skipped};

/// Which rules run.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Rule ids or prefixes (`TRIM`); empty selects all.
    pub select: Vec<String>,
    /// Rule ids or prefixes left out.
    pub ignore: Vec<String>,
}

impl Selection {
    /// Whether a rule runs.
    pub fn includes(&self, id: &str) -> bool {
        let named = |patterns: &[String]| {
            patterns
                .iter()
                .any(|pattern| id.starts_with(pattern.as_str()))
        };
        (self.select.is_empty() || named(&self.select)) && !named(&self.ignore)
    }
}

/// Runs the selected rules over a host. Findings come most severe first, then by rule and subject.
pub fn run(host: &Host, selection: &Selection) -> Outcome {
    let context = Context::new(host);
    let mut outcome = Outcome::default();
    for rule in all().iter().filter(|rule| selection.includes(rule.id)) {
        outcome.rules_run.push(rule.id);
        // Without mounts, silence of a rule about mounts would look like health.
        if host.mounts.is_empty() && !rule.id.starts_with("SCHED") {
            let needs = "proc/self/mountinfo and sys/block";
            outcome
                .skipped
                .push(Skipped::new(rule.id, "no mounts are known", Some(needs)));
            continue;
        }
        (rule.check)(&context, &mut outcome);
    }
    outcome
        .findings
        .sort_by(|a, b| (b.severity, &a.rule, &a.subject).cmp(&(a.severity, &b.rule, &b.subject)));
    outcome
}
