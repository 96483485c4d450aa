//! Findings about volumes and hosts, still without their explanations.

use crate::rule::Rule;
use crate::volume::Volume;
use crate::{shell, wording};
use facts::{Finding, Severity};

/// Creates a finding about a volume, without its explanation.
pub(crate) fn about_volume(
    rule: &Rule,
    severity: Severity,
    volume: &Volume<'_>,
    title: impl Into<String>,
) -> Finding {
    Finding {
        rule: rule.id.to_owned(),
        severity,
        subject: wording::mount_point(volume),
        mount_point: Some(volume.mount.mount_point.clone()),
        host: None,
        cluster: None,
        device: Some(volume.stack.top().name.clone()),
        title: title.into(),
        why: String::new(),
        evidence: vec![wording::mount_evidence(volume)],
        remedy: Vec::new(),
    }
}

/// Creates a finding about a job or unit of the host.
pub(crate) fn about_host(
    rule: &Rule,
    severity: Severity,
    subject: &str,
    title: impl Into<String>,
) -> Finding {
    Finding {
        rule: rule.id.to_owned(),
        severity,
        subject: shell::printable(subject),
        mount_point: None,
        host: None,
        cluster: None,
        device: None,
        title: title.into(),
        why: String::new(),
        evidence: Vec::new(),
        remedy: Vec::new(),
    }
}
