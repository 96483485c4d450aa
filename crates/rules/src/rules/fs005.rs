//! # FS005: write barriers are switched off
//!
//! ## What it finds
//! A filesystem mounted with `nobarrier`, `barrier=0` or `barrier=none`; and an XFS line with either
//! word in /etc/fstab on Linux 4.19 and later, where XFS refuses it.
//!
//! ## Why it hurts
//! The filesystem no longer flushes the drive's volatile write cache at commits and fsync. After a
//! power failure the journal may have been written before what it describes: the filesystem, or the
//! store's translog and journal, is corrupt, on all replicas at once if they share the power.
//! On drives with power-loss protection the flush costs next to nothing, so nothing is gained.
//!
//! ## Evidence
//! The mount options; the lines of /etc/fstab.
//!
//! ## Remedy
//! ext4: `mount -o remount,barrier=1 MOUNT`; Btrfs: `mount -o remount,barrier MOUNT`; others: take
//! the option out of /etc/fstab and mount again.
//!
//! ## Risk
//! On drives without power-loss protection fsync becomes slower, because it then really flushes the cache.
//!
//! ## When it is silent
//! With barriers, the default everywhere. Whether a battery backs the cache cannot be seen from here:
//! the severity stays, and the finding says so.
//!
//! ## References
//! - ext4(5), barrier; btrfs(5), barrier; xfs(5), removed mount options
//! - MongoDB article on iostat, whose hosts had `nobarrier`

use crate::context::Context;
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::shell::{operand, printable};
use crate::volume::Volume;
use crate::{finding, fstab_edit, wording};
use facts::host::{FstabEntry, Mount};
use facts::{Evidence, Finding, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "FS005",
    title: "write barriers are switched off",
    source: include_str!("fs005.rs"),
    check: Check::Host(Needs::Mounts, check),
};

/// Linux version from which XFS no longer supports `barrier` and `nobarrier`.
const XFS_WITHOUT_OPTION: (u32, u32) = (4, 19);

fn check(cx: &Context<'_>, out: &mut Outcome) {
    for volume in cx.volumes_in_time() {
        if volume.mount.is_read_only() && !volume.mount.has_option("rw") {
            continue;
        }
        if let Some(option) = barriers_off(volume.mount) {
            out.findings.push(mounted(cx, volume, option));
        }
    }
    if cx
        .host
        .platform
        .kernel_version()
        .is_some_and(|version| version >= XFS_WITHOUT_OPTION)
    {
        let entries = cx.host.fstab.iter().flatten();
        for entry in entries.take_while(|_| !cx.budget.is_used_up()) {
            let option = entry
                .options
                .iter()
                .find(|option| matches!(option.as_str(), "barrier" | "nobarrier"));
            if let (Some(option), "xfs") = (option, entry.fs_type.as_str()) {
                out.findings.push(refused(cx, entry, option));
            }
        }
    }
}

/// Returns the option that switches barriers off, if the last option about them does.
fn barriers_off(mount: &Mount) -> Option<&str> {
    let option = mount.options.iter().rev().find(|option| {
        let key = option.split('=').next();
        matches!(key, Some("barrier" | "nobarrier"))
    })?;
    matches!(
        option.as_str(),
        "nobarrier" | "barrier=0" | "barrier=none" | "barrier=off"
    )
    .then_some(option.as_str())
}

fn mounted(cx: &Context<'_>, volume: &Volume<'_>, option: &str) -> Finding {
    let mount = volume.mount;
    let severity = if volume.stores.is_empty() {
        Severity::Warning
    } else {
        Severity::Error
    };
    let mut finding = finding::about_volume(
        &RULE,
        severity,
        volume,
        format!(
            "{option}: a power failure can corrupt {}",
            wording::data_of(volume)
        ),
    );
    finding.why = "Commits and fsync no longer flush the drive's volatile write cache, so after a \
                   power failure what was confirmed may be missing and the journal may describe \
                   what was never written. Only a cache backed by a battery or capacitors makes \
                   that safe, which trimtab cannot see; with such a cache the flush costs next to \
                   nothing anyway."
        .into();
    if mount.fs_type == "xfs" {
        finding.why.push_str(
            " XFS has refused the option since Linux 4.19: with it in /etc/fstab this mount fails after \
             a kernel upgrade.",
        );
    }
    let in_fstab = fstab_edit::entry_of(cx.host, mount)
        .filter(|entry| entry.options.iter().any(|word| word == option));
    if let Some(entry) = in_fstab {
        let source = format!("etc/fstab:{}", entry.line);
        finding.add_evidence(source, option);
    }
    let words = match mount.fs_type.as_str() {
        "ext3" | "ext4" => Some(("barrier=1", "barrier=0")),
        "btrfs" | "xfs" => Some(("barrier", "nobarrier")),
        _ => None,
    };
    let remedy = match words {
        Some((on, off)) => switch_on(cx, mount, option, in_fstab, on, off),
        None => Remedy::advice("Remove the option from /etc/fstab and mount the filesystem again."),
    };
    finding.add_remedy(remedy.risk(
        "Without power-loss protection, fsync becomes slower, because it then \
            really flushes the cache.",
    ));
    finding
}

/// Enables barriers by a remount, and in fstab if that switches them off.
fn switch_on(
    cx: &Context<'_>,
    mount: &Mount,
    option: &str,
    in_fstab: Option<&FstabEntry>,
    on: &str,
    off: &str,
) -> Remedy {
    let point = operand(&mount.mount_point);
    let remount = format!("mount -o remount,{on} {point}");
    let undo = format!("mount -o remount,{off} {point}");
    match in_fstab {
        Some(entry) => {
            let (edit, undo_edit) = fstab_edit::remove_option(cx.host, entry.line, option);
            Remedy::command(
                format!(
                    "Switch barriers on again, now and in line {} of /etc/fstab.",
                    entry.line
                ),
                format!("{edit} && {remount}"),
            )
            .undo(format!("{undo_edit} && {undo}"))
        }
        None => Remedy::command(
            "Switch barriers on again, and remove the option wherever this mount is defined.",
            remount,
        )
        .undo(undo),
    }
}

fn refused(cx: &Context<'_>, entry: &FstabEntry, option: &str) -> Finding {
    let volume = cx
        .volumes
        .iter()
        .find(|volume| volume.mount.mount_point == entry.mount_point);
    let mut finding = finding::about_host(
        &RULE,
        Severity::Warning,
        &entry.mount_point,
        format!(
            "XFS refuses `{option}`: the next mount of {} fails",
            printable(&entry.mount_point)
        ),
    );
    finding.mount_point = volume.map(|volume| volume.mount.mount_point.clone());
    finding.device = volume.map(|volume| volume.stack.top().name.clone());
    finding.why =
        "XFS removed barrier and nobarrier in Linux 4.19, and a mount with an option that \
                   it does not know fails; a boot without a `nofail` mount stops there."
            .into();
    finding.evidence = vec![
        Evidence::new(format!("etc/fstab:{}", entry.line), entry.options.join(",")),
        Evidence::new(
            "proc/sys/kernel/osrelease",
            cx.host.platform.kernel_release.as_deref().unwrap_or(""),
        ),
    ];
    let (edit, undo) = fstab_edit::remove_option(cx.host, entry.line, option);
    let text = format!("Remove `{option}` from line {} of /etc/fstab.", entry.line);
    finding.add_remedy(Remedy::command(text, edit).undo(undo));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;

    fn on(fs_type: &str, options: &str) -> TestHost {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", fs_type, options)
    }

    fn entry(options: &str) -> FstabEntry {
        FstabEntry {
            line: 4,
            spec: "/dev/nvme0n1".to_owned(),
            mount_point: "/data".to_owned(),
            fs_type: "xfs".to_owned(),
            options: options.split(',').map(str::to_owned).collect(),
        }
    }

    #[test]
    fn an_error_on_a_stores_mount_and_a_warning_elsewhere() {
        let outcome = on("ext4", "rw,barrier=0").check(&RULE);
        assert_eq!(only(&outcome).severity, Severity::Warning);
        let outcome = on("ext4", "rw,nobarrier")
            .elasticsearch("/data/es")
            .check(&RULE);
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Error);
        assert_eq!(
            finding.remedy[0].command.as_deref(),
            Some("mount -o remount,barrier=1 /data")
        );
    }

    #[test]
    fn fstab_is_fixed_as_well() {
        let outcome = on("ext4", "rw,nobarrier")
            .with(|host| {
                let fs_type = "ext4".to_owned();
                let entry = entry("noatime,nobarrier");
                host.fstab = Some(vec![FstabEntry { fs_type, ..entry }]);
            })
            .check(&RULE);
        let remedy = &only(&outcome).remedy[0];
        let command = remedy.command.as_deref().expect("a command");
        assert!(command.starts_with("sed -i.before-line-4 -E '4s/,nobarrier"));
        assert!(command.ends_with("&& mount -o remount,barrier=1 /data"));
        assert_eq!(
            remedy.undo.as_deref(),
            Some(
                "mv /etc/fstab.before-line-4 /etc/fstab && systemctl daemon-reload && \
                 mount -o remount,barrier=0 /data"
            )
        );
    }

    #[test]
    fn the_last_option_is_in_effect() {
        assert_eq!(
            on("ext4", "rw,nobarrier,barrier=1").check(&RULE).findings,
            []
        );
        assert_eq!(on("ext4", "rw,barrier=1").check(&RULE).findings, []);
        assert_eq!(on("ext4", "rw,relatime").check(&RULE).findings, []);
        assert_eq!(on("ext4", "ro,nobarrier").check(&RULE).findings, []);
    }

    #[test]
    fn xfs_rejects_the_option_on_new_kernels() {
        let with = |kernel: &str| {
            on("xfs", "rw,relatime")
                .with(|host| {
                    host.fstab = Some(vec![entry("defaults,nobarrier")]);
                    host.platform.kernel_release = Some(kernel.to_owned());
                })
                .check(&RULE)
        };
        let outcome = with("6.1.0-40-amd64");
        assert_eq!(only(&outcome).mount_point.as_deref(), Some("/data"));
        assert!(
            only(&outcome)
                .evidence
                .contains(&Evidence::new("etc/fstab:4", "defaults,nobarrier"))
        );
        assert_eq!(with("4.4.0-21-generic").findings, []);
    }
}
