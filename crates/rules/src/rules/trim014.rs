//! # TRIM014: the trim plan is not in effect
//!
//! ## What it finds
//! Where a host differs from what `trimtab plan --apply` has written on it: a timer that is off or that
//! other drop-ins override, a file that somebody changed or put back, a run that was killed half-way, or
//! a filesystem that had no complete pass for 15 days.
//!
//! ## Why it hurts
//! The plan ended whatever else trimmed the filesystem. Where its own pass does not run, or never
//! finishes, nothing trims it, and the drives slow down; where its slot was changed, nodes may trim at
//! the same time again.
//!
//! ## Evidence
//! Each difference, as `trimtab plan --status` has it.
//!
//! ## Remedy
//! Write the plan again with the options that it had: a file that is right already is not touched. If
//! passes never finish, give them more time: a longer `--pass` or `--window`, or `--every day`.
//!
//! ## Risk
//! As of the plan: `trimtab plan --undo` takes all of it back, byte for byte.
//!
//! ## When it is silent
//! On a host without a plan, and on one that keeps it. A job that trims the filesystem again, which
//! an upgrade may bring back, is TRIM007's and SCHED002's. Bundles do not have the plan: with a timer of
//! trimtab's in one, it is reported as skipped.
//!
//! ## References
//! TRIM002 on drives that nothing trims, TRIM007 on unpaced trims; docs/plan.md.

use crate::context::Context;
use crate::finding;
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::shell::printable;
use crate::wording;
use facts::host::Job;
use facts::{Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM014",
    title: "the trim plan is not in effect",
    source: include_str!("trim014.rs"),
    check: Check::Host(Needs::Nothing, check),
};

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let Some(plan) = &cx.host.trim_plan else {
        let mut jobs = cx.host.jobs.iter().flatten();
        if jobs.any(is_ours) {
            let why =
                "trimtab trims here, but a bundle does not record whether its plan is in effect";
            out.skip(RULE.id, why, Some("the host itself"));
        }
        return;
    };
    if plan.drift.is_empty() {
        return;
    }
    let mounts: Vec<String> = plan.mount_points.iter().map(|at| printable(at)).collect();
    let mut finding = finding::about_host(
        &RULE,
        Severity::Warning,
        "trimtab plan",
        format!(
            "the trim plan for {} is not in effect",
            wording::list(&mounts)
        ),
    );
    "The plan stopped whatever trimmed this data before. If its own trim does not run or never finishes, nothing trims \
     it, and writes slow down."
        .clone_into(&mut finding.why);
    for drift in plan.drift.iter().take(wording::EVIDENCE_MAX) {
        finding.add_evidence("trimtab plan --status", printable(drift));
    }
    let commands: Vec<String> = plan.commands.iter().map(|line| printable(line)).collect();
    finding.add_remedy(Remedy::command(
        "Apply the plan again; if passes never finish, use a longer --pass or --window.",
        commands.join("\n"),
    ));
    out.findings.push(finding);
}

fn is_ours(job: &Job) -> bool {
    let timer = job.timer.as_ref();
    timer.is_some_and(|timer| timer.unit.starts_with("trimtab-trim@"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::{TestHost, only};
    use crate::test_jobs::{jobs, timer};
    use facts::host::TrimPlan;

    fn outcome(drift: &[&str]) -> Outcome {
        let plan = TrimPlan {
            mount_points: vec!["/data".to_owned()],
            drift: drift.iter().map(|&line| line.to_owned()).collect(),
            commands: vec!["sudo trimtab plan --apply /data".to_owned()],
        };
        TestHost::new()
            .with(|host| host.trim_plan = Some(plan))
            .check(&RULE)
    }

    #[test]
    fn each_difference_is_evidence_and_the_plans_own_call_the_remedy() {
        let outcome = outcome(&[
            "trimtab-trim@data.timer is not active.",
            "/data has had no complete pass since 2026-11-01.",
        ]);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.title, "the trim plan for /data is not in effect");
        assert_eq!(finding.evidence.len(), 2);
        let command = finding.remedy[0].command.as_deref();
        assert_eq!(command, Some("sudo trimtab plan --apply /data"));
    }

    #[test]
    fn a_plan_that_is_kept_is_no_finding() {
        assert!(outcome(&[]).findings.is_empty());
        assert!(TestHost::new().check(&RULE).findings.is_empty());
    }

    #[test]
    fn a_bundle_of_a_host_that_trimtab_trims_does_not_tell() {
        let timer = timer("trimtab-trim@data.timer", "Tue 01:00", "trimtab trim /data");
        let host = || TestHost::new().with(jobs(vec![timer.clone()]));
        let outcome = host().check(&RULE);
        assert_eq!(outcome.skipped.len(), 1, "{outcome:?}");
        let looked = host().with(|host| host.trim_plan = Some(TrimPlan::default()));
        assert!(looked.check(&RULE).skipped.is_empty());
    }
}
