//! # TRIM011: LVM issues no discards when volumes are removed or reduced
//!
//! ## What it finds
//! A filesystem on an LVM volume above drives that take discards, with `devices/issue_discards` at
//! its default 0.
//!
//! ## Why it hurts
//! After `lvremove`, `lvreduce` or `pvmove` the extents are free in the volume group, and the drives
//! are not told: dead data stays on flash until the extents are used again. It matters where volumes
//! or snapshots are resized or removed as a routine.
//!
//! It does **not** concern fstrim or online discard: both pass through LVM volumes with either
//! setting (measured on a linear volume). It does not concern thin volumes either, whose blocks go
//! back to their pool; the pool's own `--discards` mode decides there.
//!
//! ## Evidence
//! `lvmconfig devices/issue_discards`, and the limits of the drives.
//!
//! ## Remedy
//! For one command: add `--config devices/issue_discards=1` to lvremove, lvreduce or pvmove. For all of them:
//! `issue_discards = 1` in the `devices` section of /etc/lvm/lvm.conf.
//!
//! ## Risk
//! With `issue_discards` on, `vgcfgrestore` brings a removed volume back empty: an `lvremove` cannot
//! be undone any more.
//!
//! ## When it is silent
//! Without LVM below a mount, on thin volumes, with `issue_discards` on, where the drives take no discards.
//!
//! ## References
//! - lvm.conf(5) and the comment on `devices/issue_discards` in /etc/lvm/lvm.conf; lvmconfig(8)
//! - Elastic blog: `Is your Elasticsearch TRIMmed?`

use crate::context::Context;
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::volume::Volume;
use crate::{discard_path, finding, volumes};
use facts::host::BlockDevice;
use facts::{Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "TRIM011",
    title: "LVM issues no discards when volumes are removed or reduced",
    source: include_str!("trim011.rs"),
    check: Check::Host(Needs::Devices, check),
};

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let on_lvm: Vec<(&Volume<'_>, &BlockDevice)> = volumes::trimmable(cx)
        .filter_map(|volume| Some((volume, logical_volume(volume)?)))
        .filter(|(volume, _)| drive_that_takes(volume).is_some())
        .collect();
    let Some(&(volume, device)) = on_lvm
        .iter()
        .find(|(volume, _)| !volume.stores.is_empty())
        .or_else(|| on_lvm.first())
    else {
        return;
    };
    match cx.host.lvm_issue_discards {
        Some(true) => return,
        None => {
            out.skip(
                RULE.id,
                "there are LVM volumes, and LVM's configuration was not read",
                Some("etc/lvm/lvm.conf or the output of `lvmconfig`"),
            );
            return;
        }
        Some(false) => {}
    }
    let mut finding = finding::about_volume(
        &RULE,
        Severity::Info,
        volume,
        "LVM tells the drives nothing when volumes are removed or reduced",
    );
    finding.subject = "/etc/lvm/lvm.conf".into();
    // The setting is host-wide; the finding belongs to a mount only if there is no other.
    if on_lvm.len() > 1 {
        finding.mount_point = None;
        finding.device = None;
        finding.evidence.clear();
    } else {
        finding.device = Some(device.name.clone());
    }
    finding.why = why(cx);
    finding.add_evidence("lvmconfig: devices/issue_discards", 0);
    finding.evidence.extend(
        drive_that_takes(volume)
            .into_iter()
            .flat_map(|drive| discard_path::limits_of(drive).into_iter().take(1)),
    );
    finding.remedy = vec![
        Remedy::advice(
            "If you remove volumes only occasionally, add `--config devices/issue_discards=1` to \
             that lvremove, lvreduce or pvmove.",
        )
        .risk("The removed volume cannot be brought back by vgcfgrestore."),
        Remedy::command(
            "If you remove or resize volumes routinely, set it for all of them.",
            "cp -a /etc/lvm/lvm.conf /etc/lvm/lvm.conf.before-issue-discards\n\
             sed -i 's/^[[:space:]]*#*[[:space:]]*issue_discards[[:space:]]*=.*/\\t\
             issue_discards = 1/' /etc/lvm/lvm.conf\nlvmconfig devices/issue_discards",
        )
        .risk(
            "vgcfgrestore can no longer undo an lvremove or lvreduce: the data is gone. Removing a \
             large volume takes longer and stalls other work on the drives.",
        )
        .undo("cp -a /etc/lvm/lvm.conf.before-issue-discards /etc/lvm/lvm.conf"),
    ];
    out.findings.push(finding);
}

fn why(cx: &Context<'_>) -> String {
    let mut why = "Extents freed by lvremove, lvreduce or pvmove are not discarded, so their dead \
        data stays on the drives until the extents are used again. This does not affect fstrim and \
        online discard, which pass through LVM either way."
        .to_owned();
    let mut devices = cx.host.devices.iter();
    if devices.any(|device| discard_path::has_target(device, "snapshot")) {
        why.push_str(" This host has LVM snapshots, which are removed sooner or later.");
    }
    if cx.host.devices.iter().any(discard_path::is_thin_pool) {
        why.push_str(
            " Nor does it affect thin volumes: their blocks go back to the pool, whose own discard \
             mode decides.",
        );
    }
    why
}

/// Returns the topmost LVM volume of a stack, unless a thin pool is below it: blocks freed by a
/// thin volume go back to the pool.
fn logical_volume<'a>(volume: &Volume<'a>) -> Option<&'a BlockDevice> {
    let layers = &volume.stack.layers;
    if layers.iter().any(|l| discard_path::is_thin_pool(l.device)) {
        return None;
    }
    volume
        .stack
        .layers
        .iter()
        .map(|layer| layer.device)
        .find(|device| {
            device
                .dm_uuid()
                .is_some_and(|uuid| uuid.starts_with("LVM-"))
        })
}

fn drive_that_takes<'a>(volume: &Volume<'a>) -> Option<&'a BlockDevice> {
    volume
        .stack
        .leaves()
        .find(|leaf| discard_path::takes_discards(leaf) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;

    fn lvm(setting: Option<bool>, drive: BlockDevice) -> TestHost {
        let name = drive.name.clone();
        TestHost::new()
            .device(drive)
            .device(lvm_linear("dm-0", "vg-lin", &[&name]))
            .mount("/mnt/x", "dm-0", "xfs", "rw")
            .with(|host| host.lvm_issue_discards = setting)
    }

    #[test]
    fn off_above_drives_that_take_discards_is_an_information() {
        let outcome = lvm(Some(false), nvme("nvme0n1")).check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Info);
        assert_eq!(finding.mount_point.as_deref(), Some("/mnt/x"));
        assert!(
            finding
                .why
                .contains("does not affect fstrim and online discard")
        );
        assert!(
            finding.remedy[1]
                .risk
                .as_deref()
                .is_some_and(|risk| risk.contains("vgcfgrestore"))
        );
    }

    #[test]
    fn on_or_pointless_is_silent() {
        assert_eq!(
            lvm(Some(true), nvme("nvme0n1")).check(&RULE),
            Outcome::default()
        );
        assert_eq!(
            lvm(Some(false), hard_disk("sda")).check(&RULE),
            Outcome::default()
        );
        let without_lvm = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/", "nvme0n1", "ext4", "rw")
            .with(|host| host.lvm_issue_discards = Some(false));
        assert_eq!(without_lvm.check(&RULE), Outcome::default());
    }

    #[test]
    fn an_unread_configuration_is_reported_as_skipped() {
        let outcome = lvm(None, nvme("nvme0n1")).check(&RULE);
        assert_eq!(outcome.findings, []);
        assert_eq!(outcome.skipped.len(), 1);
    }

    #[test]
    fn a_thin_volume_is_not_concerned() {
        let outcome = TestHost::new()
            .device(nvme("nvme0n1"))
            .device(thin_pool(
                "dm-3",
                "vg-pool-tpool",
                "nvme0n1",
                "nvme0n1",
                &[],
            ))
            .device(thin("dm-4", "vg-thin", "dm-3"))
            .mount("/mnt/t", "dm-4", "ext4", "rw")
            .with(|host| host.lvm_issue_discards = Some(false))
            .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }

    #[test]
    fn several_volumes_make_it_the_hosts_matter() {
        let outcome = lvm(Some(false), nvme("nvme0n1"))
            .device(lvm_linear("dm-1", "vg-b", &["nvme0n1"]))
            .mount("/mnt/b", "dm-1", "xfs", "rw")
            .check(&RULE);
        assert_eq!(only(&outcome).mount_point, None);
    }
}
