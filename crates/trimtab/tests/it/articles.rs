//! The hosts described in the articles, rebuilt from what the articles print: the audit must report
//! what their authors found. (sysfs values that the articles do not print are typical of such
//! machines.)

use crate::support::{Tree, findings, report};

fn check_tree(tree: &Tree) -> Vec<String> {
    findings(&report(&["--root", &tree.path()]))
}

fn has(found: &[String], line: &str) -> bool {
    found.iter().any(|known| known.starts_with(line))
}

/// Adds the weekly job of Ubuntu 16.04, as the articles show it.
pub fn ubuntu_1604(tree: &Tree) {
    tree.file(
        "etc/os-release",
        "ID=ubuntu\nVERSION_ID=\"16.04\"\nPRETTY_NAME=\"Ubuntu 16.04.7 LTS\"\n",
    );
    tree.file(
        "etc/crontab",
        "SHELL=/bin/sh\n47 6    * * 7   root    test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.weekly )\n",
    );
    tree.script(
        "etc/cron.weekly/fstrim",
        "#!/bin/sh\n# trim all mounted file systems which support it\n/sbin/fstrim --all || true\n",
    );
    tree.script(
        "etc/cron.weekly/man-db",
        "#!/bin/sh\nexec /usr/bin/mandb --quiet\n",
    );
}

/// "MongoDB slows down every weekend": RAID 0 of eight instance-store drives, XFS mounted with
/// `discard` and `nobarrier`, plus the weekly fstrim.
pub fn mongodb_host() -> Tree {
    let tree = Tree::new();
    ubuntu_1604(&tree);
    tree.file("proc/sys/kernel/osrelease", "4.4.0-1105-aws\n");
    tree.file("sys/class/dmi/id/sys_vendor", "Xen\n");
    tree.file("sys/class/dmi/id/product_name", "HVM domU\n");
    tree.file("sys/class/dmi/id/bios_version", "4.2.amazon\n");
    tree.file(
        "proc/self/mountinfo",
        "20 1 202:1 / / rw,relatime - ext4 /dev/xvda1 rw,discard,data=ordered\n\
         21 20 9:0 / /mnt/data rw,noatime - xfs /dev/md0 rw,attr2,discard,nobarrier,inode64,sunit=1024,swidth=8192,noquota\n",
    );
    tree.disk("xvda", "202:0", 0, None);
    tree.partition("xvda", "xvda1", "202:1");
    let drives: Vec<String> = (0..8).map(|index| format!("nvme{index}n1")).collect();
    for (index, drive) in drives.iter().enumerate() {
        tree.nvme(
            drive,
            &format!("259:{index}"),
            "Amazon EC2 NVMe Instance Storage",
        );
    }
    tree.raid0("md0", "9:0", &drives, 524_288);
    tree.process(
        3000,
        "mongod",
        &["/usr/bin/mongod", "--dbpath", "/mnt/data/mongo"],
    );
    tree
}

#[test]
fn mongodb_on_instance_store() {
    let found = check_tree(&mongodb_host());
    assert!(
        has(&found, "TRIM004 warning /mnt/data md0"),
        "both kinds of TRIM at once: {found:#?}"
    );
    assert!(
        has(&found, "TRIM007 warning /mnt/data"),
        "at an unknown time: {found:#?}"
    );
    assert!(has(&found, "FS005"), "nobarrier: {found:#?}");
    assert!(
        !found
            .iter()
            .any(|line| line.contains("TRIM012") && line.contains("/mnt/data")),
        "{found:#?}"
    );
    assert!(
        !found.iter().any(|line| line.starts_with("SCHED001")),
        "man-db is light: {found:#?}"
    );
}

/// "Is your Elasticsearch trimmed?": RAID 0 of two SSDs, trimmed weekly by cron.
pub fn benchmark_host() -> Tree {
    let tree = Tree::new();
    ubuntu_1604(&tree);
    tree.file("proc/sys/kernel/osrelease", "4.4.0-38-generic\n");
    tree.file(
        "proc/self/mountinfo",
        "21 1 9:0 / /var/lib/elasticsearch rw,noatime - ext4 /dev/md0 rw,stripe=256\n",
    );
    for (drive, number) in [("sda", "8:0"), ("sdb", "8:16")] {
        tree.sata(drive, number, "Samsung SSD 850", "unqueued");
    }
    tree.raid0("md0", "9:0", &["sda".to_owned(), "sdb".to_owned()], 524_288);
    tree.file(
        "etc/elasticsearch/elasticsearch.yml",
        "path.data: /var/lib/elasticsearch\n",
    );
    tree
}

#[test]
fn elasticsearch_benchmark_machine() {
    let found = check_tree(&benchmark_host());
    assert!(
        has(&found, "TRIM007 warning /var/lib/elasticsearch"),
        "{found:#?}"
    );
    assert!(!has(&found, "TRIM002"), "it is trimmed: {found:#?}");
    assert!(!has(&found, "TRIM001"), "{found:#?}");
}

/// The article's caveats: CentOS 7 ships the timer disabled; LVM; dm-crypt.
pub fn centos_7_host() -> Tree {
    let tree = Tree::new();
    tree.file(
        "etc/os-release",
        "ID=\"centos\"\nVERSION_ID=\"7\"\nPRETTY_NAME=\"CentOS Linux 7 (Core)\"\n",
    );
    tree.file("proc/sys/kernel/osrelease", "3.10.0-1160.el7.x86_64\n");
    tree.file("etc/crontab", "SHELL=/bin/bash\n");
    tree.file(
        "etc/cron.d/0hourly",
        "01 * * * * root run-parts /etc/cron.hourly\n",
    );
    tree.file(
        "usr/lib/systemd/system/fstrim.timer",
        "[Unit]\nDescription=Discard unused blocks once a week\n[Timer]\nOnCalendar=weekly\nAccuracySec=1h\nPersistent=true\n[Install]\nWantedBy=multi-user.target\n",
    );
    tree.file(
        "usr/lib/systemd/system/fstrim.service",
        "[Service]\nType=oneshot\nExecStart=/usr/sbin/fstrim -a\n",
    );
    tree.file(
        "proc/self/mountinfo",
        "21 1 253:0 / /var/lib/elasticsearch rw,noatime - xfs /dev/mapper/vg-data rw\n",
    );
    tree.sata("sda", "8:0", "INTEL SSDSC2BB48", "unqueued");
    tree.device_mapper(
        "dm-0",
        "253:0",
        "vg-data",
        "LVM-abcdefghijabcdefghijabcdefghijab0123456789012345678901234567890123",
        &["sda"],
    );
    tree.file("etc/lvm/lvm.conf", "devices {\n\tissue_discards = 0\n}\n");
    tree.process(
        4000,
        "java",
        &[
            "/usr/bin/java",
            "-Xms4g",
            "-Des.path.home=/usr/share/elasticsearch",
            "-Des.path.conf=/etc/elasticsearch",
            "org.elasticsearch.bootstrap.Elasticsearch",
        ],
    );
    tree.file(
        "etc/elasticsearch/elasticsearch.yml",
        "path.data: /var/lib/elasticsearch\n",
    );
    tree.file("usr/share/elasticsearch/lib/elasticsearch-6.8.23.jar", "");
    tree
}

#[test]
fn elasticsearch_on_centos_7() {
    let found = check_tree(&centos_7_host());
    assert!(
        has(&found, "TRIM003 warning"),
        "the timer is there and disabled: {found:#?}"
    );
    assert!(has(&found, "TRIM011 info"), "{found:#?}");
    assert!(!has(&found, "TRIM002"), "TRIM003 covers it: {found:#?}");
}

/// "On Elastic Cloud Enterprise hosts avoid trimming by hand."
pub fn cloud_enterprise_host() -> Tree {
    let tree = Tree::new();
    ubuntu_1604(&tree);
    tree.file("proc/sys/kernel/osrelease", "5.4.0-100-generic\n");
    tree.file(
        "proc/self/mountinfo",
        "21 1 259:0 / /mnt/data rw,noatime - xfs /dev/nvme0n1 rw\n",
    );
    tree.nvme("nvme0n1", "259:0", "INTEL SSDPE2KX040T8");
    tree.file(
        "mnt/data/elastic/bootstrap-state/bootstrap-secrets.json",
        "",
    );
    tree.file(
        "mnt/data/elastic/192.168.1.10/services/runner/runner.conf",
        "",
    );
    tree
}

#[test]
fn elastic_cloud_enterprise() {
    assert!(
        has(&check_tree(&cloud_enterprise_host()), "TRIM010 warning"),
        "{:#?}",
        check_tree(&cloud_enterprise_host())
    );
}
