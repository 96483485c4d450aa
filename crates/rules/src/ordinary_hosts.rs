//! Runs all rules on ordinary hosts without a store and checks the exact findings.

use crate::test_host::*;
use crate::test_jobs::{cron_job, fstab, fstrim_timer, jobs};
use crate::{Selection, run};
use facts::Severity::{self, Info, Warning};
use facts::host::{Cloud, DeviceKind, DeviceNumber, Host, Mount};

fn findings(host: TestHost) -> Vec<(String, Severity)> {
    let outcome = run(&host.build(), &Selection::default());
    outcome
        .findings
        .into_iter()
        .map(|finding| (finding.rule, finding.severity))
        .collect()
}

fn expect(host: TestHost, expected: &[(&str, Severity)]) {
    let expected: Vec<(String, Severity)> = expected
        .iter()
        .map(|&(rule, severity)| (rule.to_owned(), severity))
        .collect();
    assert_eq!(findings(host), expected);
}

/// Adds a mount without a block device, or another mount of the same filesystem.
fn also_mounted(host: &mut Host, mount_point: String, change: impl FnOnce(&mut Mount)) {
    let mut mount = host.mounts[0].clone();
    mount.id = 1000 + host.mounts.len() as u64;
    mount.mount_point = mount_point;
    change(&mut mount);
    host.mounts.push(mount);
}

fn without_device(fs_type: &'static str, source: &'static str) -> impl FnOnce(&mut Mount) {
    move |mount| {
        mount.device_number = DeviceNumber {
            major: 0,
            minor: 77,
        };
        mount.fs_type = fs_type.to_owned();
        mount.source = source.to_owned();
    }
}

fn laptop(allows_discards: bool) -> TestHost {
    let root = lvm_linear("dm-1", "vg-root", &["dm-0"]);
    TestHost::new()
        .device(nvme("nvme0n1"))
        .devices([
            partition("nvme0n1p1", "nvme0n1"),
            partition("nvme0n1p2", "nvme0n1"),
            partition("nvme0n1p3", "nvme0n1"),
        ])
        .device(crypt("dm-0", "luks", "nvme0n1p3", allows_discards))
        .device(if allows_discards {
            root
        } else {
            with_discard(root, no_discards())
        })
        .mount("/", "dm-1", "ext4", "rw,relatime,errors=remount-ro")
        .mount("/boot", "nvme0n1p2", "ext4", "rw,relatime")
        .mount("/boot/efi", "nvme0n1p1", "vfat", "rw,relatime")
        .with(fstab(&[
            ("/", "errors=remount-ro"),
            ("/boot", "defaults"),
            ("/boot/efi", "umask=0077"),
        ]))
        .with(jobs(vec![fstrim_timer()]))
        .with(|host| host.lvm_issue_discards = Some(false))
}

#[test]
fn a_laptop_with_luks_and_lvm() {
    expect(laptop(true), &[("TRIM011", Info)]);
    expect(laptop(false), &[("TRIM001", Warning), ("TRIM011", Info)]);
}

#[test]
fn a_cloud_vm_with_a_network_disk_and_an_instance_store() {
    let host = TestHost::new()
        .device(with_discard(
            nvme_model("nvme0n1", "Amazon Elastic Block Store"),
            no_discards(),
        ))
        .device(nvme_model("nvme1n1", "Amazon EC2 NVMe Instance Storage"))
        .device(partition("nvme0n1p1", "nvme0n1"))
        .mount("/", "nvme0n1p1", "xfs", "rw,noatime")
        .mount("/mnt", "nvme1n1", "ext4", "rw,relatime")
        .with(fstab(&[("/", "defaults"), ("/mnt", "nofail")]))
        .with(jobs(vec![fstrim_timer()]))
        .with(|host| {
            host.platform.cloud = Some(Cloud::Aws);
            host.platform.hypervisor = Some("kvm".to_owned());
        });
    expect(host, &[]);
}

#[test]
fn bare_metal_with_a_mirror_of_ssds_and_striped_nvme() {
    let host = TestHost::new()
        .devices([sata("sda"), sata("sdb"), nvme("nvme0n1"), nvme("nvme1n1")])
        .devices([partition("sda1", "sda"), partition("sdb1", "sdb")])
        .device(md("md0", "raid1", &["sda1", "sdb1"]))
        .device(md("md1", "raid0", &["nvme0n1", "nvme1n1"]))
        .mount("/", "md0", "ext4", "rw,relatime")
        .mount("/data", "md1", "xfs", "rw,noatime,sunit=1024,swidth=2048")
        .with(fstab(&[("/", "defaults"), ("/data", "noatime")]))
        .with(jobs(vec![
            fstrim_timer(),
            cron_job(
                "/etc/cron.d/mdadm:12",
                "57 0 * * 0",
                "checkarray --cron --all",
            ),
        ]));
    expect(host, &[]);
}

#[test]
fn a_backup_server_of_hard_disks() {
    let names = ["sda", "sdb", "sdc", "sdd"];
    let host = TestHost::new()
        .devices(names.map(hard_disk))
        .device(with_discard(md("md0", "raid6", &names), no_discards()))
        .device(with_discard(
            crypt("dm-0", "backup", "md0", false),
            no_discards(),
        ))
        .mount(
            "/backup",
            "dm-0",
            "xfs",
            "rw,noatime,sunit=1024,swidth=2048",
        )
        .with(fstab(&[("/backup", "noatime")]))
        .with(jobs(vec![
            fstrim_timer(),
            cron_job(
                "/etc/cron.d/mdadm:12",
                "57 0 * * 0",
                "checkarray --cron --all",
            ),
            cron_job(
                "/etc/cron.d/backup:1",
                "0 3 * * *",
                "rsync -a host:/ /backup",
            ),
        ]));
    expect(host, &[]);
}

#[test]
fn a_raspberry_pi() {
    let card = |refuses: bool| {
        let mut card = nvme("mmcblk0");
        card.kind = DeviceKind::Mmc;
        if refuses {
            card.discard = Some(no_discards());
        }
        TestHost::new()
            .device(card)
            .device(partition("mmcblk0p1", "mmcblk0"))
            .device(partition("mmcblk0p2", "mmcblk0"))
            .mount("/", "mmcblk0p2", "ext4", "rw,noatime")
            .mount("/boot/firmware", "mmcblk0p1", "vfat", "rw,relatime")
            .with(fstab(&[("/", "noatime"), ("/boot/firmware", "defaults")]))
            .with(jobs(vec![fstrim_timer()]))
    };
    expect(card(false), &[]);
    // Nothing can be done about a card without an erase command.
    expect(card(true), &[("TRIM001", Info)]);
}

#[test]
fn containers_and_filesystems_without_a_block_device() {
    let host = TestHost::new()
        .device(nvme("nvme0n1"))
        .mount("/", "nvme0n1", "ext4", "rw,relatime")
        .with(fstab(&[("/", "defaults")]))
        .with(jobs(vec![fstrim_timer()]))
        .with(|host| {
            let merged = "/var/lib/docker/overlay2/f00/merged".to_owned();
            also_mounted(host, merged, without_device("overlay", "overlay"));
            also_mounted(host, "/tank".to_owned(), without_device("zfs", "tank"));
            let share = without_device("nfs4", "filer:/share");
            also_mounted(host, "/share".to_owned(), share);
        });
    expect(host, &[]);
}

#[test]
fn a_kubernetes_node_with_hundreds_of_bind_mounts() {
    let host = TestHost::new()
        .devices([virtio("vda"), virtio("vdb")])
        .mount("/", "vda", "ext4", "rw,relatime")
        .mount(
            "/var/lib/kubelet/plugins/csi/globalmount",
            "vdb",
            "xfs",
            "rw",
        )
        .with(fstab(&[("/", "defaults")]))
        .with(jobs(vec![fstrim_timer()]))
        .with(|host| {
            host.platform.hypervisor = Some("kvm".to_owned());
            for pod in 0..300 {
                let point = format!("/var/lib/kubelet/pods/{pod}/volumes/subpath");
                also_mounted(host, point, |mount| {
                    mount.root = format!("/var/lib/{pod}");
                    if pod % 2 == 0 {
                        mount.options.insert(0, "ro".to_owned());
                    }
                });
            }
        });
    expect(host, &[("TRIM012", Info), ("TRIM012", Info)]);
}
