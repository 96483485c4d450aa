//! # FS003: every read writes an access time
//!
//! ## What it finds
//! A store's mount with `strictatime`, that is with neither `noatime` nor `relatime` in force.
//!
//! ## Why it hurts
//! Each read of a file marks its inode dirty and has it written: searches turn into metadata writes
//! and journal commits, on flash as well as on disks.
//!
//! ## Evidence
//! The options of the mount in `/proc/self/mountinfo`: the kernel shows `noatime` or `relatime`, and
//! neither of them where access times are strict.
//!
//! ## Remedy
//! `mount -o remount,noatime MOUNT`, and `noatime` in /etc/fstab.
//!
//! ## Risk
//! Programs that look at access times (tmpwatch, some mail readers) no longer see reads; no store
//! does.
//!
//! ## When it is silent
//! With `noatime`; with `relatime`, the kernel's default, which writes at most once a day per file;
//! with `lazytime`, which keeps access times in memory for a day; on read-only mounts.
//!
//! ## References
//! - mount(8), strictatime, relatime, noatime and lazytime
//! - MongoDB manual: Production Notes, on noatime

use crate::context::Context;
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::shell::{operand, printable};
use crate::{finding, fstab_edit};
use facts::host::{BlockDevice, Mount, Store, StoreEngine};
use facts::{Finding, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "FS003",
    title: "every read writes an access time",
    source: include_str!("fs003.rs"),
    check: Check::Host(Needs::Stores, check),
};

fn check(cx: &Context<'_>, out: &mut Outcome) {
    // Access times depend on the mount that a path goes through, not on the filesystem, so bind
    // mounts are checked separately here.
    let devices = cx.host.device_index();
    for mount in &cx.host.mounts {
        let stores = cx.stores_on(mount);
        let Some(device) = devices.of(mount) else {
            continue;
        };
        if !stores.is_empty() && is_strict(mount) {
            out.findings.push(about(cx, mount, device, stores[0]));
        }
    }
}

fn is_strict(mount: &Mount) -> bool {
    let has = |option| mount.has_option(option);
    // Without rw, the options are not the kernel's, or the mount is read-only.
    has("rw")
        && !["ro", "noatime", "relatime", "lazytime"]
            .into_iter()
            .any(has)
}

fn about(cx: &Context<'_>, mount: &Mount, device: &BlockDevice, store: &Store) -> Finding {
    let point = operand(&mount.mount_point);
    let remount = format!("mount -o remount,noatime {point}");
    let undo = format!("mount -o remount,strictatime {point}");
    let text = "Mount without access times";
    let remedy = match fstab_edit::entry_of(cx.host, mount) {
        Some(entry) => {
            let (edit, undo_edit) = if entry.options.iter().any(|option| option == "strictatime") {
                fstab_edit::replace_option(cx.host, entry.line, "strictatime", "noatime")
            } else {
                fstab_edit::append_option(cx.host, entry.line, "noatime")
            };
            Remedy::command(
                format!("{text}, now and by line {} of /etc/fstab.", entry.line),
                format!("{edit} && {remount}"),
            )
            .undo(format!("{undo_edit} && {undo}"))
        }
        None => Remedy::command(
            format!("{text}. Put noatime wherever this mount is defined, too."),
            remount,
        )
        .undo(undo),
    };
    let title = match store.engine {
        StoreEngine::DataPath => {
            "every read below the given data path writes an access time".to_owned()
        }
        ref engine => format!(
            "every read of {}'s files writes an access time",
            printable(engine.label())
        ),
    };
    let mut finding = finding::about_mount(&RULE, Severity::Warning, mount, device, title);
    "Neither noatime nor relatime is set. Each read marks an inode dirty, so that searches cause \
     metadata writes and journal commits."
        .clone_into(&mut finding.why);
    finding.add_remedy(remedy.risk(
        "Programs that rely on access times no longer see reads; no store relies \
                        on them.",
    ));
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;

    fn on(options: &str) -> Outcome {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "ext4", options)
            .elasticsearch("/data/es")
            .check(&RULE)
    }

    #[test]
    fn strict_access_times_are_a_warning() {
        let outcome = on("rw,nodiratime");
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.remedy[0].command.as_deref(),
            Some("mount -o remount,noatime /data")
        );
    }

    #[test]
    fn fstab_is_fixed_as_well() {
        let command = |options: &str| {
            let outcome = TestHost::new()
                .device(nvme("nvme0n1"))
                .mount("/data", "nvme0n1", "ext4", "rw")
                .elasticsearch("/data/es")
                .with(crate::test_jobs::fstab(&[("/data", options)]))
                .check(&RULE);
            only(&outcome).remedy[0].command.clone().expect("a command")
        };
        let replaced = command("nofail,strictatime");
        assert!(
            replaced.contains("1s/([,[:blank:]])strictatime"),
            "{replaced}"
        );
        assert!(replaced.ends_with("&& mount -o remount,noatime /data"));
        assert!(command("nofail").contains(",noatime/' /etc/fstab"));
    }

    #[test]
    fn the_kernels_defaults_are_fine() {
        for options in ["rw,relatime", "rw,noatime", "rw,lazytime", "ro", "defaults"] {
            assert_eq!(on(options), Outcome::default(), "{options}");
        }
    }

    #[test]
    fn only_a_stores_mount_counts() {
        let outcome = TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/home", "nvme0n1", "ext4", "rw")
            .check(&RULE);
        assert_eq!(outcome, Outcome::default());
    }
}
