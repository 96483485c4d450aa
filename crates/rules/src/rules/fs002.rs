//! # FS002: Btrfs options that hurt a database
//!
//! ## What it finds
//! - `autodefrag` on a store's filesystem
//! - MongoDB's data on Btrfs with copy-on-write
//! - `nodatacow` or `nodatasum` under Elasticsearch or OpenSearch, which gain nothing from it
//!
//! ## Why it hurts
//! `autodefrag` reads and rewrites the blocks around every small random write: made for a
//! desktop's small databases, it multiplies the writes of a large one, and a fault in Linux 5.16 made
//! it rewrite without end. WiredTiger updates its files in place: with copy-on-write every checkpoint
//! scatters them, until sequential reads are random and fsync has long lists of extents to write.
//! Lucene writes its files once, so that copy-on-write costs it next to nothing, and without it the
//! checksums are gone.
//!
//! ## Evidence
//! The mount options and the store. Whether a directory carries the attribute C (`lsattr -d`) is not
//! among the facts: the rule says so.
//!
//! ## Remedy
//! `mount -o remount,noautodefrag MOUNT`. For MongoDB XFS is what its makers recommend; on Btrfs
//! `chattr +C` on the empty data directory, before the data is copied in.
//!
//! ## Risk
//! Files without copy-on-write have no checksums and are not compressed; after a crash a Btrfs
//! RAID 1 cannot tell which copy is right.
//!
//! ## When it is silent
//! On other filesystems and without a store.
//!
//! ## References
//! - btrfs(5), autodefrag and nodatacow; chattr(1), attribute C
//! - MongoDB manual: Production Notes, Kernel and File Systems

use crate::context::Context;
use crate::outcome::Outcome;
use crate::rule::{Check, Needs, Rule};
use crate::shell::{operand, quote};
use crate::volume::Volume;
use crate::{finding, wording};
use facts::host::{Mount, StoreEngine};
use facts::{Finding, Remedy, Severity};

pub(crate) const RULE: Rule = Rule {
    id: "FS002",
    title: "Btrfs options that hurt a database",
    source: include_str!("fs002.rs"),
    check: Check::Host(Needs::Stores, check),
};

fn check(cx: &Context<'_>, out: &mut Outcome) {
    let volumes = cx
        .volumes
        .iter()
        .filter(|volume| volume.mount.fs_type == "btrfs" && !volume.stores.is_empty());
    for volume in volumes {
        let mount = volume.mount;
        if mount.has_option("autodefrag") {
            out.findings.push(autodefrag(volume));
        }
        let without_cow = ["nodatacow", "nodatasum"]
            .into_iter()
            .find(|option| mount.has_option(option));
        let mongodb_paths: Vec<&str> = volume
            .stores
            .iter()
            .filter(|store| store.engine == StoreEngine::Mongodb)
            .flat_map(|store| &store.data_paths)
            .map(String::as_str)
            .collect();
        let writes_once = volume.stores.iter().all(|store| store.engine.is_lucene());
        match (without_cow, mongodb_paths.first()) {
            (Some("nodatacow"), Some(_)) => {}
            (_, Some(path)) => out.findings.push(copy_on_write(volume, path)),
            (Some(option), None) if writes_once => {
                out.findings.push(without_checksums(volume, option));
            }
            _ => {}
        }
    }
}

fn autodefrag(volume: &Volume<'_>) -> Finding {
    let mut finding = finding::about_volume(
        &RULE,
        Severity::Warning,
        volume,
        format!("autodefrag rewrites around {}", wording::data_of(volume)),
    );
    finding.why =
        "Every small random write makes Btrfs read and rewrite what lies around it. That \
                   multiplies the writes of a large database, at times of its own choosing."
            .into();
    let point = operand(&volume.mount.mount_point);
    finding.add_remedy(
        Remedy::command(
            "Switch it off, in /etc/fstab as well.",
            format!("mount -o remount,noautodefrag {point}"),
        )
        .risk("None known; files that fragment can be defragmented by hand in a quiet period.")
        .undo(format!("mount -o remount,autodefrag {point}")),
    );
    finding
}

fn copy_on_write(volume: &Volume<'_>, path: &str) -> Finding {
    let mut finding = finding::about_volume(
        &RULE,
        Severity::Warning,
        volume,
        "MongoDB's files fragment on Btrfs with copy-on-write",
    );
    finding.why =
        "WiredTiger updates its files in place, and Btrfs writes every update elsewhere: \
                   the files fall into ever more extents, sequential reads become random, and \
                   fsync has more and more metadata to write. Whether the directory has the \
                   attribute C, which would prevent it, was not read: look first."
            .into();
    finding.remedy = vec![
        Remedy::command(
            "Look first: a C among the attributes means that new files are not copied on write.",
            format!("lsattr -d {}", operand(path)),
        ),
        Remedy::advice(
            "Best, move the data to XFS, which MongoDB's makers recommend for WiredTiger.",
        ),
        recreate_without_cow(volume.mount, path),
    ];
    finding
}

/// The attribute only applies to files created after it was set, so the data is copied into a new
/// directory.
fn recreate_without_cow(mount: &Mount, path: &str) -> Remedy {
    let text = "Or stop mongod and copy its data into a new directory that has the attribute C \
                from the start.";
    let risk = "MongoDB is down meanwhile, and the data is there twice. Without copy-on-write \
                there are no checksums and no compression, and snapshots bring it back for each \
                block once.";
    let trimmed = path.trim_end_matches('/');
    if trimmed == mount.mount_point.trim_end_matches('/') || trimmed.is_empty() {
        // The root of a mount cannot be renamed.
        return Remedy::advice(format!(
            "{text} The data path is the mount point itself: use a directory below it, and change \
             storage.dbPath."
        ))
        .risk(risk);
    }
    let new = quote(trimmed);
    let old = quote(&format!("{trimmed}.cow"));
    let aside = quote(&format!("{trimmed}.nocow"));
    Remedy::command(
        text,
        format!(
            "systemctl stop mongod &&\nmv {new} {old} &&\nmkdir {new} &&\nchattr +C {new} &&\n\
             chown --reference={old} {new} &&\nchmod --reference={old} {new} &&\n\
             cp -a --reflink=never {old}/. {new}/ &&\nsystemctl start mongod"
        ),
    )
    .risk(risk)
    .undo(format!(
        "systemctl stop mongod &&\nmv {new} {aside} &&\nmv {old} {new} &&\nsystemctl start mongod"
    ))
}

fn without_checksums(volume: &Volume<'_>, option: &str) -> Finding {
    let mut finding = finding::about_volume(
        &RULE,
        Severity::Info,
        volume,
        format!("{option} costs {} its checksums", wording::data_of(volume)),
    );
    finding.why = "Lucene writes its files once and never changes them, so copy-on-write costs it \
                   next to nothing. Without it Btrfs keeps no checksums, compresses nothing, and \
                   cannot tell the good copy from the bad one in a RAID 1."
        .into();
    let point = operand(&volume.mount.mount_point);
    finding.add_remedy(
        Remedy::command(
            "Take the option out of /etc/fstab and mount again. Files written so far stay without \
             checksums until they are rewritten.",
            format!("mount -o remount,datacow,datasum {point}"),
        )
        .undo(format!("mount -o remount,{option} {point}")),
    );
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::*;

    fn on(options: &str, engine: StoreEngine, path: &str) -> Outcome {
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount("/data", "nvme0n1", "btrfs", options)
            .store(engine, "7.0.5", path)
            .check(&RULE)
    }

    #[test]
    fn autodefrag_is_a_warning() {
        let outcome = on("rw,autodefrag", StoreEngine::Elasticsearch, "/data/es");
        let finding = only(&outcome);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(
            finding.remedy[0].command.as_deref(),
            Some("mount -o remount,noautodefrag /data")
        );
    }

    #[test]
    fn mongodb_with_copy_on_write_is_copied_into_a_new_directory() {
        let outcome = on("rw", StoreEngine::Mongodb, "/data/mongo db");
        let finding = only(&outcome);
        assert_eq!(
            finding.remedy[0].command.as_deref(),
            Some("lsattr -d '/data/mongo db'")
        );
        let command = finding.remedy[2].command.as_deref().expect("a command");
        assert!(
            command.contains("chattr +C '/data/mongo db' &&\n"),
            "{command}"
        );
        assert!(
            command.contains("cp -a --reflink=never '/data/mongo db.cow'/. "),
            "{command}"
        );
    }

    #[test]
    fn a_mount_point_is_not_renamed() {
        let outcome = on("rw", StoreEngine::Mongodb, "/data/");
        assert_eq!(only(&outcome).remedy[2].command, None);
    }

    #[test]
    fn nodatacow_suits_mongodb_and_not_lucene() {
        assert_eq!(
            on("rw,nodatasum,nodatacow", StoreEngine::Mongodb, "/data/m").findings,
            []
        );
        let outcome = on("rw,nodatasum,nodatacow", StoreEngine::Opensearch, "/data/o");
        assert_eq!(only(&outcome).severity, Severity::Info);
    }

    #[test]
    fn plain_btrfs_under_lucene_is_silent() {
        let outcome = on("rw,noatime", StoreEngine::Elasticsearch, "/data/es");
        assert_eq!(outcome, Outcome::default());
    }
}
