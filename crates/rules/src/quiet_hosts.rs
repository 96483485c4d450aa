//! Runs all rules on hosts as set up by distributions: avoiding false alarms matters more than the
//! number of findings.

use crate::test_host::{
    TestHost, device, hard_disk, no_discards, nvme, partition, sata, virtio, with_discard,
};
use crate::test_jobs::{cron_job, cron_weekly, fstab, fstrim_timer, jobs, timer};
use crate::{Outcome, Selection, run};
use facts::Severity;
use facts::host::{BlockDevice, DeviceKind, Host, Job};

fn outcome(host: TestHost) -> Outcome {
    run(&host.build(), &Selection::default())
}

/// Returns the jobs of a Debian 12 installation with mdadm and man-db.
fn debian_12_jobs() -> Vec<Job> {
    let mut weekly = cron_weekly("man-db", "mandb --quiet");
    weekly.held_back_by = vec!["test -x /usr/sbin/anacron".to_owned()];
    vec![
        fstrim_timer(),
        timer("e2scrub_all.timer", "Sun *-*-* 03:10:00", "e2scrub_all"),
        timer("man-db.timer", "daily", "mandb --quiet"),
        timer("dpkg-db-backup.timer", "daily", "dpkg-db-backup"),
        timer("logrotate.timer", "daily", "logrotate /etc/logrotate.conf"),
        cron_job(
            "/etc/cron.d/mdadm:12",
            "57 0 * * 0",
            "checkarray --cron --all",
        ),
        weekly,
    ]
}

fn virtual_machine(host: &mut Host) {
    host.platform.hypervisor = Some("kvm".to_owned());
}

#[test]
fn a_debian_12_vm_has_nothing_above_an_information() {
    let outcome = outcome(
        TestHost::new()
            .device(virtio("vda"))
            .device(partition("vda1", "vda"))
            .device(partition("vda15", "vda"))
            .mount("/", "vda1", "ext4", "rw,relatime,errors=remount-ro")
            .mount("/boot/efi", "vda15", "vfat", "rw,relatime")
            .with(fstab(&[
                ("/", "errors=remount-ro"),
                ("/boot/efi", "umask=0077"),
            ]))
            .with(jobs(debian_12_jobs()))
            .with(virtual_machine),
    );
    assert!(
        outcome
            .findings
            .iter()
            .all(|f| f.severity == Severity::Info),
        "{:#?}",
        outcome.findings
    );
    let own = [
        "TRIM002", "TRIM003", "TRIM004", "TRIM005", "TRIM006", "TRIM007", "TRIM013",
    ];
    assert!(
        !outcome
            .findings
            .iter()
            .any(|f| own.contains(&f.rule.as_str()) || f.rule.starts_with("SCHED")),
        "{:#?}",
        outcome.findings
    );
}

#[test]
fn a_cloud_image_mounted_with_discard_gets_informations() {
    // Debian's cloud images mount the root filesystem with `discard`, and fstrim.timer is enabled.
    let outcome = outcome(
        TestHost::new()
            .device(virtio("vda"))
            .device(partition("vda1", "vda"))
            .mount("/", "vda1", "ext4", "rw,relatime,discard,errors=remount-ro")
            .with(fstab(&[("/", "rw,discard,errors=remount-ro")]))
            .with(jobs(debian_12_jobs()))
            .with(virtual_machine),
    );
    assert!(outcome.findings.iter().any(|f| f.rule == "TRIM004"));
    assert!(
        outcome
            .findings
            .iter()
            .all(|f| f.severity == Severity::Info)
    );
}

#[test]
fn a_well_kept_store_has_nothing_above_an_information() {
    let outcome = outcome(
        TestHost::new()
            .devices([nvme("nvme0n1"), nvme("nvme1n1")])
            .device(partition("nvme0n1p1", "nvme0n1"))
            .mount("/", "nvme0n1p1", "ext4", "rw,relatime")
            .mount("/data", "nvme1n1", "xfs", "rw,noatime")
            .elasticsearch("/data/es")
            .with(fstab(&[("/", "defaults"), ("/data", "noatime")]))
            .with(jobs(vec![timer(
                "fstrim.timer",
                "Sun *-*-* 03:00:00",
                crate::test_jobs::LISTED_IN,
            )])),
    );
    assert!(
        outcome
            .findings
            .iter()
            .all(|f| f.severity == Severity::Info),
        "{:#?}",
        outcome.findings
    );
}

/// Returns a store on bcache, whose own limits promise that discards are taken whatever is below.
fn store_on_bcache(backing: BlockDevice, cache: BlockDevice) -> TestHost {
    let kind = DeviceKind::Bcache {
        backing: Some(backing.name.clone()),
    };
    let top = device("bcache0", kind, &[&backing.name, &cache.name]);
    TestHost::new()
        .devices([backing, cache])
        .device(top)
        .mount("/data", "bcache0", "xfs", "rw,noatime")
        .elasticsearch("/data/es")
        .with(fstab(&[("/data", "noatime")]))
        .with(jobs(vec![fstrim_timer()]))
}

#[test]
fn a_hard_disk_below_bcache_is_no_flash() {
    // Its discards end at bcache: nothing is trimmed, and nothing has to be.
    let disk = || store_on_bcache(hard_disk("sda"), nvme("nvme0n1"));
    let untrimmed = disk().with(jobs(Vec::new()));
    let discarded = disk().with(|host| host.mounts[0].options.push("discard".to_owned()));
    let refusing = disk().with(|host| {
        for device in &mut host.devices {
            device.discard = Some(no_discards());
        }
    });
    for host in [disk(), untrimmed, discarded, refusing] {
        let outcome = outcome(host);
        assert!(outcome.findings.is_empty(), "{:#?}", outcome.findings);
    }
}

#[test]
fn flash_below_bcache_is_judged_and_its_cache_is_not() {
    let silent = || with_discard(sata("sdb"), no_discards());
    let rules = |host: TestHost| -> Vec<String> {
        let findings = outcome(host).findings;
        findings
            .into_iter()
            .map(|f| f.rule + " " + &f.subject)
            .collect()
    };
    let by_cache = rules(store_on_bcache(sata("sda"), silent()));
    assert_eq!(by_cache, ["TRIM007 /data"]);
    let by_backing = rules(store_on_bcache(silent(), nvme("nvme0n1")));
    assert_eq!(by_backing, ["TRIM008 /dev/sdb"]);
}

/// Every text ends up in a terminal, and every command in a root shell.
#[test]
fn hostile_names_do_no_harm() {
    let evil = "/data/\u{1b}[2J'; reboot; '\n%n";
    let mut weekly = cron_weekly("f\u{1b}'; reboot; '", "fstrim --all");
    weekly.name = "cron.weekly/f\u{1b}'; reboot; '".to_owned();
    let outcome = outcome(
        TestHost::new()
            .device(nvme("nvme0n1"))
            .mount(evil, "nvme0n1", "ext4", "rw,discard")
            .elasticsearch(evil)
            .with(fstab(&[(evil, "discard")]))
            .with(jobs(vec![
                fstrim_timer(),
                weekly,
                cron_job("/etc/cron.d/b\u{1b}:1", "47 6 * * 0", "borg create"),
            ])),
    );
    assert!(outcome.findings.len() >= 4, "{:#?}", outcome.findings);
    for finding in &outcome.findings {
        let mut texts = vec![&finding.subject, &finding.title, &finding.why];
        for remedy in &finding.remedy {
            texts.push(&remedy.text);
            texts.extend(&remedy.risk);
            for script in [&remedy.command, &remedy.undo].into_iter().flatten() {
                let script = script.replace('\n', " ");
                assert!(!script.chars().any(char::is_control), "{script:?}");
                // A quote in a name is always escaped, so the text after it remains part of the
                // name.
                for (at, _) in script.match_indices("; reboot") {
                    let before = &script[..at];
                    assert!(
                        before.ends_with(r"'\''") || before.ends_with(r"\'"),
                        "{script}"
                    );
                }
            }
        }
        for text in texts {
            assert!(!text.chars().any(char::is_control), "{text:?}");
        }
    }
}
