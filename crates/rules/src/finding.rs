//! Findings about volumes and hosts, still without their explanations.

use crate::rule::Rule;
use crate::volume::Volume;
use crate::{shell, wording};
use facts::host::{BlockDevice, Mount};
use facts::{Finding, Severity};

/// Creates a finding about a volume, without its explanation.
pub(crate) fn about_volume(
    rule: &Rule,
    severity: Severity,
    volume: &Volume<'_>,
    title: impl Into<String>,
) -> Finding {
    about_mount(rule, severity, volume.mount, volume.stack.top(), title)
}

/// Creates a finding about one mount of a device, without its explanation.
pub(crate) fn about_mount(
    rule: &Rule,
    severity: Severity,
    mount: &Mount,
    device: &BlockDevice,
    title: impl Into<String>,
) -> Finding {
    Finding {
        mount_point: Some(mount.mount_point.clone()),
        device: Some(device.name.clone()),
        evidence: vec![wording::mount_evidence(mount)],
        ..about_host(rule, severity, &mount.mount_point, title)
    }
}

/// Creates a finding about a layer below a volume, without its explanation.
pub(crate) fn about_layer(
    rule: &Rule,
    severity: Severity,
    volume: &Volume<'_>,
    device: &BlockDevice,
    title: impl Into<String>,
) -> Finding {
    Finding {
        subject: shell::printable(&device.dev_path()),
        device: Some(device.name.clone()),
        ..about_volume(rule, severity, volume, title)
    }
}

/// Returns [`Severity::Warning`] if the condition holds, otherwise [`Severity::Info`].
pub(crate) fn warning_if(holds: bool) -> Severity {
    if holds {
        Severity::Warning
    } else {
        Severity::Info
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

/// Sorts findings by descending severity, then by rule and subject.
pub(crate) fn sort(findings: &mut [Finding]) {
    findings
        .sort_by(|a, b| (b.severity, &a.rule, &a.subject).cmp(&(a.severity, &b.rule, &b.subject)));
}
