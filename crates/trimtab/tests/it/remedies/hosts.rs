//! Hosts whose remedies are applied: the recorded ones, those of the articles, and one for each way in
//! which a trim job can be wrong. And clusters: recorded servers, the sample, and variants of it.

use crate::support::{Tree, recorded, repository, run, stderr};
use crate::{articles, cluster};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// The stores' data on recorded hosts, which have no stores.
const RECORDED: &[(&str, Option<&str>)] = &[
    ("crypt-allows-discards", Some("/mnt/x")),
    ("crypt-drops-discards", Some("/mnt/x")),
    ("debian12-systemd", None),
    ("lvm-linear-thin", None),
    ("nvme-btrfs", Some("/mnt/x")),
    ("nvme-discard-switched-off", Some("/mnt/x")),
    ("nvme-ext4", Some("/mnt/x")),
    ("nvme-xfs", Some("/mnt/x")),
    ("raid0-xfs-discard", Some("/mnt/x")),
    ("raid5-default", Some("/mnt/x")),
    ("scsi-mixed", Some("/mnt/x")),
    ("thin-pool-ignores-discards", Some("/mnt/t")),
];

const MANIFEST: &str = r#"{"schema":"trimtab.bundle/1","tool_version":"recorded","collected_at":"2026-11-21T02:45:00Z","anonymised":false,"complete":false}"#;

/// A host as an unpacked bundle.
pub struct Host {
    pub name: &'static str,
    pub data_path: Option<&'static str>,
    pub directory: tempfile::TempDir,
}

impl Host {
    fn new(name: &'static str, data_path: Option<&'static str>) -> Self {
        Self {
            name,
            data_path,
            directory: tempfile::tempdir().expect("a temporary directory"),
        }
    }

    /// Unpacks a recorded host.
    fn recorded(name: &'static str, data_path: Option<&'static str>) -> Self {
        let host = Self::new(name, data_path);
        unpack(&recorded(name), host.directory.path());
        // Recorded answers of systemd would hide changes of its units.
        let _ = std::fs::remove_file(host.directory.path().join("cmd/systemctl_show"));
        host
    }

    /// Makes a bundle of a tree; `free_bytes` is what statfs says of `/data`.
    fn of_tree(name: &'static str, tree: &Tree, free_bytes: Option<u64>) -> Self {
        let host = Self::new(name, None);
        let directory = host.directory.path();
        copy(Path::new(&tree.path()), &directory.join("root"));
        std::fs::create_dir(directory.join("cmd")).expect("a directory");
        if let Some(free_bytes) = free_bytes {
            let size_bytes = 4 * free_bytes;
            let answer = format!(
                r#"{{"mount_point":"/data","usage":{{"block_bytes":4096,"size_bytes":{size_bytes},"free_bytes":{free_bytes},"available_bytes":{free_bytes}}}}}"#
            );
            std::fs::write(directory.join("cmd/statfs"), answer).expect("a file");
        }
        std::fs::write(directory.join("manifest.json"), MANIFEST).expect("a file");
        host
    }

    /// Makes a bundle of a cluster's answers.
    fn of_cluster(name: &'static str, answers: &Value) -> Self {
        let host = Self::new(name, None);
        std::fs::write(host.directory.path().join("manifest.json"), MANIFEST).expect("a file");
        std::fs::create_dir_all(host.directory.path().join("root/trimtab")).expect("a directory");
        host.set_cluster(answers);
        host
    }

    /// Returns the answers of its cluster, if it is one.
    pub fn cluster(&self) -> Option<Value> {
        let text = std::fs::read(self.directory.path().join("root/trimtab/cluster.json")).ok()?;
        Some(serde_json::from_slice(&text).expect("JSON"))
    }

    /// Replaces the answers of its cluster.
    pub fn set_cluster(&self, answers: &Value) {
        let path = self.directory.path().join("root/trimtab/cluster.json");
        std::fs::write(path, answers.to_string()).expect("a file");
    }

    /// Collects the answers of a recorded server.
    fn of_server(name: &'static str) -> Self {
        let server = cluster::replay(cluster::recorded(name));
        let tree = Tree::new();
        tree.file("proc/self/mountinfo", "");
        let bundle = format!("{}/bundle.tar.zst", tree.path());
        let url = server.url("");
        let output = run(&[
            "collect",
            "--root",
            &tree.path(),
            "--cluster",
            &url,
            "-o",
            &bundle,
        ]);
        assert!(output.status.success(), "{}", stderr(&output));
        let host = Self::new(name, None);
        unpack(&bundle, host.directory.path());
        host
    }

    /// Returns a copy, to apply a remedy to.
    pub fn copy(&self) -> Self {
        let host = Self::new(self.name, self.data_path);
        copy(self.directory.path(), &host.directory.path().join("copy"));
        let inner = host.directory.path().join("copy");
        for entry in std::fs::read_dir(&inner).expect("a directory") {
            let entry = entry.expect("an entry");
            std::fs::rename(entry.path(), host.directory.path().join(entry.file_name()))
                .expect("a rename");
        }
        host
    }
}

fn unpack(bundle: &str, to: &Path) {
    let file = std::fs::File::open(bundle).expect("a bundle");
    let decoder = zstd::stream::Decoder::new(file).expect("zstd");
    tar::Archive::new(decoder).unpack(to).expect("a bundle");
}

fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp")
        .arg("-a")
        .args([from, to])
        .status()
        .expect("cp");
    assert!(status.success());
}

/// Debian 12's timer.
fn fstrim_timer(tree: &Tree, is_enabled: bool) {
    tree.file(
        "usr/lib/systemd/system/fstrim.timer",
        "[Unit]\nDescription=Discard unused filesystem blocks once a week\n\
         ConditionVirtualization=!container\n[Timer]\nOnCalendar=weekly\nAccuracySec=1h\n\
         Persistent=true\nRandomizedDelaySec=6000\n[Install]\nWantedBy=timers.target\n",
    );
    tree.file(
        "usr/lib/systemd/system/fstrim.service",
        "[Unit]\nDescription=Discard unused blocks on filesystems from /etc/fstab\n[Service]\n\
         Type=oneshot\nExecStart=/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo --verbose \
         --quiet-unsupported\n",
    );
    if is_enabled {
        tree.file(
            "etc/systemd/system/timers.target.wants/fstrim.timer",
            "[Timer]\nOnCalendar=weekly\n",
        );
    }
}

/// A host with Elasticsearch on /data, on an NVMe drive of its own, and systemd.
fn elasticsearch(fs_type: &str, options: &str, fstab_options: Option<&str>) -> Tree {
    let tree = Tree::new();
    tree.file(
        "etc/os-release",
        "ID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
    );
    tree.file("proc/sys/kernel/osrelease", "6.1.0-25-amd64\n");
    // sd_booted(3).
    tree.file("run/systemd/system/README", "");
    tree.file("etc/crontab", "SHELL=/bin/sh\n");
    tree.file(
        "proc/self/mountinfo",
        &format!(
            "21 1 259:0 / / rw,relatime - ext4 /dev/nvme0n1 rw\n\
             22 21 259:1 / /data rw,noatime - {fs_type} /dev/nvme1n1 {options}\n"
        ),
    );
    tree.nvme("nvme0n1", "259:0", "INTEL SSDPE2KX040T8");
    tree.nvme("nvme1n1", "259:1", "INTEL SSDPE2KX040T8");
    let line = fstab_options
        .map(|options| format!("/dev/nvme1n1 /data {fs_type} {options} 0 2\n"))
        .unwrap_or_default();
    tree.file(
        "etc/fstab",
        &format!("/dev/nvme0n1 / ext4 defaults 0 1\n{line}"),
    );
    tree.file(
        "etc/elasticsearch/elasticsearch.yml",
        "path.data: /data/es\n",
    );
    tree
}

/// The host with three bind mounts of /data in fstab, one of them of the type that fstrim skips.
fn bound_in_fstab(fs_type: &str) -> Tree {
    let tree = elasticsearch(fs_type, "rw", None);
    let mut fstab =
        format!("/dev/nvme0n1 / ext4 defaults 0 1\nUUID=4f2e /data {fs_type} noatime 0 2\n");
    let mut mountinfo = format!(
        "21 1 259:0 / / rw,relatime - ext4 /dev/nvme0n1 rw\n\
         22 21 259:1 / /data rw,noatime - {fs_type} /dev/nvme1n1 rw\n"
    );
    for (id, name, bind_type) in [
        (23, "es", "auto"),
        (24, "log", fs_type),
        (25, "tmp", "none"),
    ] {
        let _ = writeln!(fstab, "/data/{name} /srv/{name} {bind_type} bind 0 0");
        let _ = writeln!(
            mountinfo,
            "{id} 21 259:1 /{name} /srv/{name} rw,noatime - {fs_type} /dev/nvme1n1 rw"
        );
    }
    tree.file("etc/fstab", &fstab);
    tree.file("proc/self/mountinfo", &mountinfo);
    tree
}

/// The host with the units of `packaging/` enabled for /data.
pub fn with_packaged_timer() -> Host {
    let tree = elasticsearch("xfs", "rw", Some("noatime"));
    for unit in ["trimtab-trim@.service", "trimtab-trim@.timer"] {
        let text = std::fs::read_to_string(repository().join("packaging").join(unit));
        let text = text.expect("a packaged unit");
        tree.file(&format!("usr/lib/systemd/system/{unit}"), &text);
    }
    tree.link(
        "etc/systemd/system/timers.target.wants/trimtab-trim@data.timer",
        "/usr/lib/systemd/system/trimtab-trim@.timer",
    );
    Host::of_tree("packaged timer", &tree, None)
}

/// As Ubuntu 16.04 has it.
fn weekly_fstrim(tree: &Tree) {
    tree.script("etc/cron.weekly/fstrim", "#!/bin/sh\n/sbin/fstrim --all\n");
    tree.file(
        "etc/crontab",
        "47 6 * * 7 root run-parts --report /etc/cron.weekly\n",
    );
}

/// Takes systemd away.
fn with_cron(tree: Tree) -> Tree {
    let systemd = Path::new(&tree.path()).join("run/systemd");
    std::fs::remove_dir_all(systemd).expect("a directory");
    tree
}

fn made() -> Vec<Host> {
    let mut hosts = Vec::new();
    let mut add = |name, tree: &Tree| hosts.push(Host::of_tree(name, tree, None));
    add(
        "untrimmed, systemd",
        &elasticsearch("xfs", "rw", Some("noatime")),
    );
    add(
        "untrimmed, ext4, cron",
        &with_cron(elasticsearch("ext4", "rw", Some("noatime"))),
    );
    let tree = elasticsearch("xfs", "rw", Some("noatime"));
    tree.file(
        "etc/cron.d/backup",
        "10 3 * * 0 root restic backup /srv\n30 3 * * 6 root restic check /srv\n",
    );
    add("untrimmed, backups on Sunday and Saturday", &tree);

    let tree = elasticsearch("ext4", "rw", Some("noatime"));
    fstrim_timer(&tree, false);
    add("timer not enabled", &tree);
    let tree = elasticsearch("ext4", "rw", Some("noatime"));
    fstrim_timer(&tree, true);
    add("timer at its default, ext4", &tree);
    let tree = elasticsearch("xfs", "rw", Some("noatime"));
    fstrim_timer(&tree, true);
    add("timer at its default, XFS", &tree);
    let tree = elasticsearch("xfs", "rw", None);
    fstrim_timer(&tree, true);
    add("not in fstab", &tree);
    let tree = elasticsearch("ext4", "rw", Some("noatime,X-fstrim.notrim"));
    fstrim_timer(&tree, true);
    add("notrim in fstab", &tree);
    let tree = elasticsearch("ext4", "rw,discard", Some("noatime,discard"));
    fstrim_timer(&tree, true);
    add("discard and a timer, ext4", &tree);
    let tree = elasticsearch("xfs", "rw,discard", None);
    weekly_fstrim(&tree);
    add("discard not in fstab, and cron.weekly", &tree);

    let tree = elasticsearch("ext4", "rw", Some("noatime"));
    tree.file(
        "etc/crontab",
        "SHELL=/bin/sh\n0 3 * * 0 root /sbin/fstrim /data\n",
    );
    add("a crontab line", &with_cron(tree));
    let tree = elasticsearch("ext4", "rw", Some("noatime"));
    weekly_fstrim(&tree);
    add("cron.weekly", &with_cron(tree));
    let tree = elasticsearch("ext4", "rw", Some("noatime"));
    weekly_fstrim(&tree);
    fstrim_timer(&tree, true);
    add("cron.weekly and a timer", &tree);
    let tree = elasticsearch("ext4", "rw", Some("noatime"));
    fstrim_timer(&tree, true);
    tree.file(
        "etc/systemd/system/fstrim.timer.d/override.conf",
        "[Timer]\nOnCalendar=\nOnCalendar=Sun 03:00\nRandomizedDelaySec=0\nAccuracySec=1min\n",
    );
    tree.file("etc/cron.d/backup", "0 3 * * 0 root restic backup /srv\n");
    add("timer beside a backup", &tree);
    let tree = bound_in_fstab("xfs");
    fstrim_timer(&tree, true);
    add("bind mounts in fstab", &tree);
    let tree = bound_in_fstab("btrfs");
    tree.file(
        "etc/cron.d/trim",
        "0 3 * * 0 root /sbin/fstrim /data\n0 3 * * 3 root /sbin/fstrim /srv/log\n",
    );
    add(
        "two mounts of a filesystem, each trimmed by cron",
        &with_cron(tree),
    );

    let tree = elasticsearch("ext4", "rw,discard", Some("noatime,discard"));
    tree.file(
        "proc/self/mountinfo",
        "22 1 8:0 / /data rw,noatime - ext4 /dev/sda rw,discard\n",
    );
    tree.sata("sda", "8:0", "Samsung SSD 850", "unqueued");
    add("discard on unqueued SATA", &tree);

    let tree = elasticsearch("xfs", "rw", Some("noatime"));
    tree.file(
        "proc/self/mountinfo",
        "22 1 259:1 / /data rw - xfs /dev/nvme1n1 rw\n",
    );
    tree.file("proc/uptime", "864000.00 864000.00\n");
    // 4 TiB in ten days.
    tree.file(
        "sys/devices/pci0000:00/0000:00:1e.0/nvme/nvme1/nvme1n1/stat",
        "0 0 0 0 1 0 8589934592 0 0 0 0 0 0 0 0 0 0\n",
    );
    fstrim_timer(&tree, true);
    hosts.push(Host::of_tree("too rarely", &tree, Some(1 << 40)));
    hosts
}

/// Returns clusters: the sample, with 25,000 shards on two nodes of 7.4.0, variants, and the servers.
fn clusters() -> Vec<Host> {
    let sample = std::fs::read(repository().join("samples/cluster/trimtab/cluster.json"));
    let sample: Value = serde_json::from_slice(&sample.expect("the sample")).expect("JSON");
    let with = |name, change: &dyn Fn(&mut Value)| {
        let mut answers = sample.clone();
        change(&mut answers);
        Host::of_cluster(name, &answers)
    };
    let mut all = vec![
        Host::of_cluster("sample cluster", &sample),
        with("sample at the default limit", &|answers| {
            answers["settings"]["answer"]["persistent"] = json!({});
        }),
        with("sample with little heap", &|answers| {
            for node in ["id-es1", "id-es2"] {
                let heap = &mut answers["nodes"]["answer"]["nodes"][node]["jvm"]["mem"];
                heap["heap_max_in_bytes"] = json!(512 << 20);
            }
        }),
        with("few shards and no relocations", &|answers| {
            let routing = &mut answers["routing"]["answer"];
            for key in ["total", "started"] {
                routing[key] = json!(400);
            }
            routing["primaries"] = json!(200);
            routing["by_node"] = json!({"id-es1": 200, "id-es2": 200});
            answers["settings"]["answer"]["persistent"] =
                json!({"cluster.routing.allocation.disk.include_relocations": "false"});
        }),
        with("settings that fight the disk", &|answers| {
            for (key, value) in [
                ("index.refresh_interval", "1s"),
                ("index.translog.durability", "async"),
                ("index.merge.scheduler.auto_throttle", "false"),
            ] {
                answers["indices"]["answer"]["values"][key] =
                    json!({value: {"open": 12500, "closed": 0, "example": "logs-0000"}});
            }
        }),
        with("the disk decider is off", &|answers| {
            answers["root"]["answer"]["version"] = json!("7.17.28");
            answers["settings"]["answer"]["transient"] =
                json!({"cluster.routing.allocation.disk.threshold_enabled": "false"});
        }),
    ];
    all.extend(cluster::SERVERS.map(Host::of_server));
    all
}

pub fn all() -> Vec<Host> {
    let recorded = RECORDED
        .iter()
        .map(|&(name, data_path)| Host::recorded(name, data_path));
    let articles = [
        ("MongoDB article", articles::mongodb_host()),
        ("benchmark article", articles::benchmark_host()),
        ("CentOS 7", articles::centos_7_host()),
        (
            "Elastic Cloud Enterprise",
            articles::cloud_enterprise_host(),
        ),
    ];
    let articles = articles
        .iter()
        .map(|(name, tree)| Host::of_tree(name, tree, None));
    recorded
        .chain(articles)
        .chain(made())
        .chain(clusters())
        .collect()
}
