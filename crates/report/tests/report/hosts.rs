//! Hosts and clusters with their findings, built by hand.

use facts::host::{
    BlockDevice, DeviceKind, DeviceNumber, DiscardLimits, DmTarget, FsUsage, Mount, Platform,
    Store, StoreEngine, StoreState,
};
use facts::{Cluster, Evidence, Finding, Host, Remedy, Severity, Skipped};
use jiff::Timestamp;
use report::{CheckReport, CheckedHost, RuleInfo, Suppressed};

/// A report that owns its data.
#[derive(Debug)]
pub struct Case {
    pub host: Host,
    /// Further hosts, with their names.
    pub others: Vec<(String, Host)>,
    pub cluster: Option<Cluster>,
    /// Whether only the cluster was checked.
    pub without_host: bool,
    pub findings: Vec<Finding>,
    pub suppressed: Vec<Suppressed>,
    pub skipped: Vec<Skipped>,
    pub rules_run: Vec<&'static str>,
    pub docs: Vec<RuleInfo>,
    pub warnings: Vec<String>,
    pub meetings: rules::Meetings,
}

impl Case {
    fn hosts(&self) -> Vec<CheckedHost<'_>> {
        if self.without_host {
            return Vec::new();
        }
        let name = self.host.platform.host_name.clone();
        let first = CheckedHost {
            name: name.unwrap_or_else(|| "this host".to_owned()),
            source: "live".to_owned(),
            host: &self.host,
        };
        let others = self.others.iter().map(|(name, host)| CheckedHost {
            name: name.clone(),
            source: format!("bundle {name}.tar.zst"),
            host,
        });
        std::iter::once(first).chain(others).collect()
    }

    pub fn report(&self) -> CheckReport<'_> {
        CheckReport {
            hosts: self.hosts(),
            cluster: self.cluster.as_ref(),
            findings: &self.findings,
            suppressed: &self.suppressed,
            skipped: &self.skipped,
            rules_run: &self.rules_run,
            rule_docs: &self.docs,
            source: "live".to_owned(),
            meetings: self.meetings.clone(),
            tool_version: "0.1.0".to_owned(),
            generated_at: "2026-11-03T07:12:00Z".parse().unwrap(),
            warnings: &self.warnings,
        }
    }

    pub fn of(
        name: &str,
        mut devices: Vec<BlockDevice>,
        mounts: Vec<Mount>,
        stores: Vec<Store>,
    ) -> Self {
        devices.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            host: Host {
                read_at: "2026-11-03T07:11:59Z".parse::<Timestamp>().unwrap(),
                platform: Platform {
                    host_name: Some(name.to_owned()),
                    distribution: Some("debian".to_owned()),
                    distribution_version: Some("12".to_owned()),
                    kernel_release: Some("6.1.0-13-amd64".to_owned()),
                    uptime_s: Some(439_200.5),
                    ..Platform::default()
                },
                devices,
                mounts,
                stores,
                jobs: Some(Vec::new()),
                ..Host::default()
            },
            others: Vec::new(),
            cluster: None,
            without_host: false,
            findings: Vec::new(),
            suppressed: Vec::new(),
            skipped: Vec::new(),
            rules_run: vec!["FS001", "TRIM001", "TRIM003", "TRIM008"],
            docs: vec![RuleInfo {
                id: "TRIM001".to_owned(),
                title: "discards are lost in the stack".to_owned(),
                is_about_cluster: false,
                help_markdown: "# TRIM001\n\nNames the first layer that drops them.\n".to_owned(),
            }],
            warnings: Vec::new(),
            meetings: rules::Meetings::default(),
        }
    }
}

const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

pub fn device(name: &str, number: (u32, u32), kind: DeviceKind, below: &[&str]) -> BlockDevice {
    BlockDevice {
        name: name.to_owned(),
        number: DeviceNumber {
            major: number.0,
            minor: number.1,
        },
        sysfs_path: format!("sys/block/{name}"),
        size_bytes: Some(2 * TIB),
        kind,
        below: below.iter().map(|&name| name.to_owned()).collect(),
        discard: None,
        io_limits: None,
        rotational: Some(false),
        read_only: Some(false),
        counters: None,
    }
}

fn takes(mut device: BlockDevice, max_bytes: u64, max_hw_bytes: u64) -> BlockDevice {
    device.discard = Some(DiscardLimits {
        granularity_bytes: Some(512),
        max_bytes: Some(max_bytes),
        max_hw_bytes: Some(max_hw_bytes),
    });
    device
}

pub fn nvme(index: u32, model: &str) -> BlockDevice {
    let kind = DeviceKind::Nvme {
        model: Some(model.to_owned()),
        firmware: None,
        serial: None,
        transport: Some("pcie".to_owned()),
    };
    // 2 TiB less a sector, as reported by the NVMe driver.
    let max = 2_199_023_255_040;
    takes(
        device(&format!("nvme{index}n1"), (259, index), kind, &[]),
        max,
        max,
    )
}

fn mapping(index: u32, name: &str, target_type: &str, below: &[&str]) -> BlockDevice {
    let kind = DeviceKind::DeviceMapper {
        name: Some(name.to_owned()),
        uuid: None,
        targets: Some(vec![DmTarget {
            start_sectors: 0,
            len_sectors: 2 * TIB / 512,
            target_type: target_type.to_owned(),
            devices: Vec::new(),
            options: Vec::new(),
            chunk_bytes: None,
            stripes: None,
        }]),
    };
    device(&format!("dm-{index}"), (253, index), kind, below)
}

pub fn mount(id: u64, number: (u32, u32), mount_point: &str, fs_type: &str, source: &str) -> Mount {
    Mount {
        id,
        device_number: DeviceNumber {
            major: number.0,
            minor: number.1,
        },
        root: "/".to_owned(),
        mount_point: mount_point.to_owned(),
        fs_type: fs_type.to_owned(),
        source: source.to_owned(),
        options: vec!["rw".to_owned(), "relatime".to_owned()],
        usage: Some(FsUsage {
            block_bytes: 4096,
            size_bytes: 2000 * GIB,
            free_bytes: 760 * GIB,
            available_bytes: 760 * GIB,
        }),
        geometry: None,
        read_ahead_bytes: None,
        fstab_line: None,
    }
}

fn store(engine: StoreEngine, version: &str, path: &str) -> Store {
    Store {
        engine,
        version: Some(version.to_owned()),
        state: StoreState::Running,
        pid: Some(4711),
        data_paths: vec![path.to_owned()],
        paths_from: "etc/elasticsearch/elasticsearch.yml".to_owned(),
        settings: vec![("index.codec".to_owned(), "best_compression".to_owned())],
    }
}

pub fn finding(rule: &str, severity: Severity, subject: &str, title: &str, why: &str) -> Finding {
    Finding {
        rule: rule.to_owned(),
        severity,
        subject: subject.to_owned(),
        mount_point: None,
        host: None,
        cluster: None,
        device: None,
        title: title.to_owned(),
        why: why.to_owned(),
        evidence: Vec::new(),
        remedy: Vec::new(),
    }
}

/// The recommended fix of a timer: a multi-line command with a here document.
fn timer_finding() -> Finding {
    Finding {
        evidence: vec![
            Evidence::new("systemctl show fstrim.timer: UnitFileState", "disabled"),
            Evidence::new("systemctl show fstrim.timer: ActiveState", "inactive"),
        ],
        remedy: vec![
            Remedy::command(
                "Choose the hour first, then start the timer.",
                "mkdir -p /etc/systemd/system/fstrim.timer.d\n\
                 cat >/etc/systemd/system/fstrim.timer.d/when.conf <<'EOF'\n\
                 [Timer]\n\
                 OnCalendar=\n\
                 OnCalendar=Sun 03:30\n\
                 EOF\n\
                 systemctl daemon-reload\n\
                 systemctl enable --now fstrim.timer",
            )
            .risk("The first pass is overdue and will take long; start it in a quiet period.")
            .undo("systemctl disable --now fstrim.timer"),
        ],
        ..finding(
            "TRIM003",
            Severity::Warning,
            "fstrim.timer",
            "fstrim.timer is installed but not enabled",
            "Nothing starts it, so no filesystem of this host is ever trimmed by it.",
        )
    }
}

pub fn healthy() -> Case {
    let partition = DeviceKind::Partition {
        start_bytes: Some(1 << 20),
    };
    Case::of(
        "es1",
        vec![
            nvme(0, "SAMSUNG MZQL21T9HCJR-00A07"),
            device("nvme0n1p1", (259, 9), partition, &["nvme0n1"]),
        ],
        vec![mount(21, (259, 9), "/", "ext4", "/dev/nvme0n1p1")],
        vec![store(
            StoreEngine::Opensearch,
            "2.11.0",
            "/var/lib/opensearch",
        )],
    )
}

pub fn crypt() -> Case {
    let mut case = Case::of(
        "db1",
        vec![
            nvme(0, "QEMU NVMe Ctrl"),
            takes(mapping(0, "c0", "crypt", &["nvme0n1"]), 0, 0),
        ],
        vec![mount(28, (253, 0), "/mnt/data", "xfs", "/dev/mapper/c0")],
        vec![store(
            StoreEngine::Elasticsearch,
            "7.4.2",
            "/mnt/data/elasticsearch",
        )],
    );
    case.findings = vec![
        Finding {
            mount_point: Some("/mnt/data".to_owned()),
            device: Some("dm-0".to_owned()),
            evidence: vec![
                Evidence::new("sys/block/dm-0/queue/discard_max_bytes", 0),
                Evidence::new("sys/block/nvme0n1/queue/discard_max_bytes", 2_199_023_255_040_u64),
                Evidence::new("device-mapper table of c0", "crypt, without allow_discards"),
            ],
            remedy: vec![
                Remedy::command(
                    "Let the mapping pass discards. It stays open and the filesystem stays mounted.",
                    "cryptsetup refresh --allow-discards --persistent c0",
                )
                .risk(
                    "Which blocks are free becomes visible on the drive, and with it how full the \
                     volume is; its content stays secret.",
                )
                .undo("cryptsetup refresh --persistent c0"),
                Remedy::advice("With LUKS1, add `discard` to the volume's line in /etc/crypttab."),
            ],
            ..finding(
                "TRIM001",
                Severity::Error,
                "/dev/dm-0",
                "dm-crypt drops every discard",
                "dm-crypt was set up without allow_discards, so no trim reaches the drive below. \
                 The drive takes every block for used, copies dead data about, and its writes slow \
                 down week by week.",
            )
        },
        Finding {
            mount_point: Some("/mnt/data".to_owned()),
            ..finding(
                "TRIM012",
                Severity::Info,
                "/dev/nvme0n1",
                "support is advertised but cannot be proven from here",
                "A virtual disk: its host may ignore discards.",
            )
        },
        timer_finding(),
    ];
    case.skipped = vec![
        Skipped::new("SCHED001", "no crontab could be read", Some("root")),
        Skipped::new("SCHED002", "no crontab could be read", Some("root")),
        Skipped::new("FS004", "XFS did not tell its geometry", None),
    ];
    case
}

pub fn md8() -> Case {
    let mut devices: Vec<BlockDevice> = (0..8).map(|i| nvme(i, "INTEL SSDPE2KX040T8")).collect();
    let names: Vec<String> = devices.iter().map(|d| d.name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let kind = DeviceKind::Md {
        level: Some("raid0".to_owned()),
        chunk_bytes: Some(512 << 10),
        raid_disks: Some(8),
        array_state: Some("clean".to_owned()),
        sync_action: None,
    };
    devices.push(takes(device("md0", (9, 0), kind, &names), 1 << 31, 1 << 31));
    let mut case = Case::of(
        "mongo3",
        devices,
        vec![mount(30, (9, 0), "/data", "xfs", "/dev/md0")],
        vec![store(StoreEngine::Mongodb, "4.2.3", "/data/db")],
    );
    case.findings = vec![Finding {
        mount_point: Some("/data".to_owned()),
        device: Some("md0".to_owned()),
        evidence: vec![
            Evidence::new("proc/self/mountinfo:30", "rw,noatime,discard,attr2"),
            Evidence::new("etc/cron.weekly/fstrim", "/sbin/fstrim --all || true"),
        ],
        remedy: vec![Remedy::command(
            "Keep the periodic trim, and mount without `discard`.",
            "mount -o remount,nodiscard /data",
        )],
        ..finding(
            "TRIM004",
            Severity::Warning,
            "/data",
            "mounted with discard and trimmed every week as well",
            "Every freed block is discarded twice.",
        )
    }];
    case
}

pub fn thin_pool() -> Case {
    let mut case = Case::of(
        "kvm7",
        vec![
            nvme(0, "Micron_7450_MTFDKBG960TFR"),
            nvme(1, "Micron_7450_MTFDKBG960TFR"),
            takes(
                mapping(0, "vg-pool_tmeta", "linear", &["nvme0n1"]),
                GIB,
                GIB,
            ),
            takes(
                mapping(1, "vg-pool_tdata", "linear", &["nvme0n1", "nvme1n1"]),
                GIB,
                GIB,
            ),
            takes(
                mapping(2, "vg-pool-tpool", "thin-pool", &["dm-0", "dm-1"]),
                GIB,
                0,
            ),
            takes(mapping(3, "vg-es", "thin", &["dm-2"]), GIB, 0),
        ],
        vec![mount(40, (253, 3), "/srv/es", "ext4", "/dev/mapper/vg-es")],
        vec![store(StoreEngine::Elasticsearch, "8.11.1", "/srv/es/nodes")],
    );
    case.findings = vec![Finding {
        mount_point: Some("/srv/es".to_owned()),
        device: Some("dm-2".to_owned()),
        evidence: vec![Evidence::new(
            "sys/block/dm-2/queue/discard_max_hw_bytes",
            0,
        )],
        remedy: vec![Remedy::command(
            "Let the pool pass discards down.",
            "lvchange --discards passdown vg/pool",
        )],
        ..finding(
            "TRIM008",
            Severity::Warning,
            "/dev/mapper/vg-pool-tpool",
            "the thin pool takes discards and passes none down",
            "fstrim reports success, and nothing is freed on the drives.",
        )
    }];
    case
}

/// 30 mounts on one drive, one finding on one of them, no store.
pub fn many_mounts() -> Case {
    let mut devices = vec![nvme(0, "INTEL SSDPE2KX040T8")];
    let mut mounts = Vec::new();
    for index in 1..=30_u32 {
        let name = format!("nvme0n1p{index}");
        let kind = DeviceKind::Partition { start_bytes: None };
        devices.push(device(&name, (259, 100 + index), kind, &["nvme0n1"]));
        mounts.push(mount(
            u64::from(index),
            (259, 100 + index),
            &format!("/vol/{index:02}"),
            "ext4",
            &format!("/dev/{name}"),
        ));
    }
    let mut case = Case::of("files2", devices, mounts, Vec::new());
    case.findings = vec![Finding {
        mount_point: Some("/vol/17".to_owned()),
        evidence: vec![Evidence::new("etc/fstab", "no line for /vol/17")],
        remedy: vec![Remedy::advice(
            "Add it to /etc/fstab, or trim it with `fstrim /vol/17`.",
        )],
        ..finding(
            "TRIM006",
            Severity::Warning,
            "/vol/17",
            "the trim job does not reach this mount",
            "fstrim reads /etc/fstab and stops there.",
        )
    }];
    case.suppressed = vec![Suppressed {
        finding: Finding {
            mount_point: Some("/vol/03".to_owned()),
            ..finding(
                "FS003",
                Severity::Info,
                "/vol/03",
                "access times are updated on reads",
                "",
            )
        },
        reason: "mail spool, needs them".to_owned(),
    }];
    case.warnings =
        vec!["suppression of FS999 in /etc/trimtab/trimtab.toml names no rule".to_owned()];
    case
}

/// A node in the form in which facts are serialised.
fn node(name: &str, available_bytes: u64) -> serde_json::Value {
    serde_json::json!({
        "id": format!("id-{name}"),
        "name": name,
        "roles": ["data", "ingest", "master"],
        "master_eligible": true,
        "voting_only": false,
        "data": true,
        "attributes": {},
        "shards": 12_500,
        "disk_total_bytes": TIB,
        "disk_available_bytes": available_bytes,
        "data_paths": [],
    })
}

/// Two nodes of Elasticsearch 7.4.0 with 25,000 shards; es-2 is nearly full.
pub fn es740() -> Cluster {
    serde_json::from_value(serde_json::json!({
        "read_at": "2026-11-03T07:11:59Z",
        "endpoint": "http://es-1:9200",
        "flavour": "elasticsearch",
        "version": "7.4.0",
        "name": "logs",
        "master": "id-es-1",
        "nodes": [node("es-1", TIB / 2), node("es-2", TIB / 20)],
        "indices": {
            "open": 1_000, "closed": 4_000,
            "closed_in_routing_table": 4_000, "closed_shards_configured": 20_000,
        },
        "shards": {
            "total": 25_000, "primaries": 25_000, "started": 24_990, "relocating": 0,
            "initializing": 0, "unassigned": 10, "unassigned_reasons": {"NODE_LEFT": 10},
            "of_closed_indices": 20_000,
        },
        "skipped": [],
    }))
    .expect("a cluster")
}

/// A finding about that cluster.
pub fn about_cluster(rule: &str, severity: Severity, subject: &str, title: &str) -> Finding {
    Finding {
        cluster: Some("logs".to_owned()),
        evidence: vec![
            Evidence::new("GET /: version.number", "7.4.0"),
            Evidence::new(
                "GET /_cluster/settings: cluster.routing.allocation.disk.include_relocations",
                "true (not set)",
            ),
        ],
        remedy: vec![
            Remedy::command(
                "Switch it off until the upgrade.",
                "curl -X PUT http://es-1:9200/_cluster/settings \\\n  \
                 -H 'Content-Type: application/json' -d '{\"persistent\": {\n  \
                 \"cluster.routing.allocation.disk.include_relocations\": false}}'",
            )
            .risk("Relocations may repeat.")
            .undo(
                "curl -X PUT http://es-1:9200/_cluster/settings \\\n  \
                 -H 'Content-Type: application/json' -d '{\"persistent\": {\n  \
                 \"cluster.routing.allocation.disk.include_relocations\": null}}'",
            ),
        ],
        ..finding(
            rule,
            severity,
            subject,
            title,
            "The master asks for each shard its node for all of its shards.",
        )
    }
}

/// A cluster alone, without a host.
pub fn cluster() -> Case {
    Case {
        cluster: Some(es740()),
        without_host: true,
        findings: vec![
            about_cluster(
                "ES001",
                Severity::Error,
                "cluster logs",
                "every reroute scans all shards: about 7.2 s of the master's time",
            ),
            about_cluster(
                "ES006",
                Severity::Warning,
                "node es-2",
                "above the high watermark: 51.2 GiB of 1.0 TiB left",
            ),
        ],
        skipped: vec![Skipped::new(
            "ES010",
            "no host of the cluster was read: trims of several are compared",
            Some("bundles of the nodes' hosts"),
        )],
        rules_run: vec!["ES001", "ES006", "ES010"],
        ..Case::of("unused", Vec::new(), Vec::new(), Vec::new())
    }
}

/// A host and the cluster that its node belongs to.
pub fn host_and_cluster() -> Case {
    let mut case = crypt();
    case.cluster = Some(es740());
    case.findings.extend(cluster().findings);
    case.rules_run.extend(["ES001", "ES006"]);
    case
}

pub fn all() -> Vec<(&'static str, Case)> {
    vec![
        ("healthy", healthy()),
        ("crypt", crypt()),
        ("md8", md8()),
        ("thin_pool", thin_pool()),
        ("many_mounts", many_mounts()),
        ("cluster", cluster()),
        ("host_and_cluster", host_and_cluster()),
    ]
}

/// Two hosts: one with lost discards, one without findings and without `/sys`.
pub fn fleet() -> Case {
    let mut case = crypt();
    for finding in &mut case.findings {
        finding.host = Some("db1".to_owned());
    }
    case.suppressed.clear();
    case.host.platform.host_name = Some("db1".to_owned());
    let mut other = case.host.clone();
    other.platform.host_name = Some("db2".to_owned());
    other.devices.clear();
    case.others = vec![("db2".to_owned(), other)];
    case.skipped = without_sysfs().map(|skipped| skipped.on("db2")).to_vec();
    case
}

/// Twelve hosts whose discards are lost, but for two; one of these has an error of its own.
pub fn large_fleet() -> Case {
    let mut case = fleet();
    let names: Vec<String> = (1..=12).map(|number| format!("db{number:02}")).collect();
    let of_first = std::mem::take(&mut case.findings);
    let mut barrier = of_first[0].clone();
    "FS005".clone_into(&mut barrier.rule);
    "nobarrier: a power failure can corrupt Elasticsearch's data".clone_into(&mut barrier.title);
    "Commits no longer flush the drive's cache.".clone_into(&mut barrier.why);
    barrier.remedy = vec![Remedy::command(
        "Switch barriers on again.",
        "mount -o remount,barrier /mnt/data",
    )];
    for name in &names[..10] {
        for finding in &of_first {
            let mut finding = finding.clone();
            finding.host = Some(name.clone());
            finding.severity = finding.severity.min(Severity::Warning);
            finding.title = finding.title.replace("dm-0", &format!("dm-{}", name.len()));
            case.findings.push(finding);
        }
    }
    barrier.host = Some("db12".to_owned());
    barrier.severity = Severity::Error;
    case.findings.push(barrier);
    let host = case.host.clone();
    case.host.platform.host_name = Some(names[0].clone());
    let others = names[1..].iter().map(|name| {
        let mut host = host.clone();
        host.platform.host_name = Some(name.clone());
        (name.clone(), host)
    });
    case.others = others.collect();
    for skipped in &mut case.skipped {
        skipped.host = Some("db11".to_owned());
    }
    let at = |text: &str| text.parse().unwrap();
    case.meetings = rules::Meetings {
        meetings: vec![rules::Meeting {
            work: "trim",
            hosts: names[..11].to_vec(),
            jobs: vec!["fstrim.timer".to_owned()],
            earliest: at("2026-11-09T00:00:00Z"),
            latest: at("2026-11-09T01:40:00Z"),
            when: "Mon 2026-11-09 00:00 to 01:40 (UTC)".to_owned(),
            is_certain: false,
        }],
        hosts_compared: 12,
        have_stores: true,
        hosts_unknown: 1,
        compared_until: None,
    };
    case
}

/// An image of which most is missing.
pub fn blind() -> Case {
    let mut case = healthy();
    case.host.devices.clear();
    case.skipped = without_sysfs().to_vec();
    case
}

fn without_sysfs() -> [Skipped; 3] {
    ["FS001", "TRIM001", "TRIM008"]
        .map(|rule| Skipped::new(rule, "no block devices are known", Some("sys/block")))
}
