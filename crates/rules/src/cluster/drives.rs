//! What kind of drives hold a cluster's data.

use crate::cluster::ClusterContext;
use crate::medium::{self, StackMedium};
use crate::wording;
use facts::Evidence;

/// The kind of drives that hold the cluster's data.
pub(crate) enum Drives {
    Flash,
    Rotating,
    /// Cannot be determined, with the reason.
    Unknown(&'static str),
}

/// Determines the kind of drives on all given hosts: one kind for all of them, or unknown.
pub(crate) fn of(cx: &ClusterContext<'_>) -> Drives {
    let mut media = cx.hosts.iter().flat_map(|host| {
        let platform = &host.context.host.platform;
        host.volumes()
            .map(move |volume| medium::of_stack(platform, &volume.stack))
    });
    let Some(first) = media.next() else {
        return Drives::Unknown("the hosts of the nodes were not read");
    };
    let kind = |medium: StackMedium| match medium {
        StackMedium::Flash => Some(true),
        StackMedium::Rotating => Some(false),
        _ => None,
    };
    match kind(first) {
        Some(is_flash) if media.all(|medium| kind(medium) == Some(is_flash)) => {
            if is_flash {
                Drives::Flash
            } else {
                Drives::Rotating
            }
        }
        Some(_) => Drives::Unknown("the nodes' drives are of several kinds, or of an unknown one"),
        None => Drives::Unknown("what the nodes' drives are made of cannot be told"),
    }
}

/// Returns the evidence for the kind of drives, host by host.
pub(crate) fn evidence(cx: &ClusterContext<'_>) -> Vec<Evidence> {
    let volumes = cx.hosts.iter().flat_map(|host| {
        let name = host.name();
        host.volumes().map(move |volume| (name.clone(), volume))
    });
    volumes
        .flat_map(|(name, volume)| {
            wording::medium_evidence(volume)
                .into_iter()
                .map(move |mut evidence| {
                    // A report must not treat the source as a file of this host.
                    evidence.source = format!("host {name}: {}", evidence.source);
                    evidence
                })
        })
        .take(wording::EVIDENCE_MAX)
        .collect()
}
