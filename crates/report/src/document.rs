//! JSON document of `trimtab check --format json`, schema `trimtab.check/1`.

use crate::by_host::ByHost;
use crate::check::{CheckAnswer, CheckReport, CheckedHost, Counts, Suppressed, sorted};
use crate::coverage::Coverage;
use crate::envelope::{Answer, Envelope};
use crate::views::groups::{Filesystems, Key};
use crate::views::stack::dm_types;
use facts::cluster::Flavour;
use facts::host::{BlockDevice, DeviceKind, Mount, Platform, Store, StoreEngine, StoreState};
use facts::{Cluster, Finding, Host, Layer};
use jiff::Timestamp;
use rules::Meeting;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Maximum number of layers in one document; a hostile bundle may mount a deep stack thousands of
/// times. Mounts beyond it have an unknown stack, and a warning says so.
const LAYERS_MAX: usize = 65_536;

/// Result of a check.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CheckResult<'a> {
    /// Findings, most severe first.
    pub findings: Vec<&'a Finding>,
    /// Findings that the configuration accepts.
    pub suppressed: &'a [Suppressed],
    /// Number of findings by severity; suppressed ones do not count.
    pub counts: Counts,
    /// What the check comes to.
    pub answer: CheckAnswer,
    /// How many rules ran, and how many of them had nothing to look at.
    pub coverage: Coverage,
    /// IDs of the rules that ran.
    pub rules_run: &'a [&'a str],
    /// Platform of the host; null if only a cluster was checked, or several hosts.
    pub platform: Option<&'a Platform>,
    /// When the facts were read, RFC 3339 in UTC: the first host's, or the cluster's if only a
    /// cluster was checked.
    pub read_at: Timestamp,
    /// The cluster; left out if none was checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterRow<'a>>,
    /// The hosts, if several were checked; left out otherwise. Findings and skipped checks then name
    /// theirs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostRow<'a>>,
    /// On which of several hosts jobs that keep the disks busy start at the same time, the most hosts first: of each kind
    /// of work the largest meeting within five weeks. Left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub meetings: Vec<MeetingRow<'a>>,
    /// Stores found on the host, and data paths given by hand; of several hosts, see `hosts`.
    pub stores: Vec<StoreRow<'a>>,
    /// Mounts with their stacks, without pseudo filesystems; of several hosts, see `hosts`.
    pub mounts: Vec<MountRow<'a>>,
}

/// Hosts on which jobs start at the same time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MeetingRow<'a> {
    /// What the jobs do: `trim`, `RAID check`, `scrub`, `backup`, `drive self-test`.
    pub work: &'a str,
    /// The hosts, as in `name` of `hosts`.
    pub hosts: &'a [String],
    /// The names of the jobs, each once.
    pub jobs: &'a [String],
    /// Start of the first meeting, RFC 3339 in UTC.
    pub earliest: Timestamp,
    /// End of the first meeting: none of its jobs starts later.
    pub latest: Timestamp,
    /// Whether they certainly meet, whatever random delays they have.
    pub is_certain: bool,
}

/// One of several hosts.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HostRow<'a> {
    /// Its name, as in `host` of findings.
    pub name: &'a str,
    /// Source of its facts.
    pub source: &'a str,
    /// When they were read, RFC 3339 in UTC.
    pub read_at: Timestamp,
    /// How many rules ran on it, and how many of them had nothing to look at.
    pub coverage: Coverage,
    /// Its platform.
    pub platform: &'a Platform,
    /// Its stores.
    pub stores: Vec<StoreRow<'a>>,
    /// Its mounts.
    pub mounts: Vec<MountRow<'a>>,
}

/// A cluster.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ClusterRow<'a> {
    /// Its name; null if unknown.
    pub name: Option<&'a str>,
    /// The URL that was queried.
    pub endpoint: &'a str,
    /// `elasticsearch` or `opensearch`.
    pub engine: &'static str,
    /// Version of the master.
    pub version: String,
    /// When it was queried, RFC 3339 in UTC.
    pub read_at: Timestamp,
    /// Number of nodes; null if unknown, like all counts below.
    pub nodes: Option<u64>,
    /// Nodes that hold shards.
    pub data_nodes: Option<u64>,
    /// Nodes that may be elected master.
    pub master_eligible_nodes: Option<u64>,
    /// Name of the elected master (OpenSearch: cluster manager).
    pub master: Option<&'a str>,
    /// Open indices.
    pub indices_open: Option<u64>,
    /// Closed indices.
    pub indices_closed: Option<u64>,
    /// Shard copies in the routing table.
    pub shards: Option<u64>,
    /// Unassigned shard copies.
    pub shards_unassigned: Option<u64>,
    /// Shard copies that belong to closed indices.
    pub shards_of_closed_indices: Option<u64>,
}

/// A store.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StoreRow<'a> {
    /// `elasticsearch`, `opensearch`, `mongodb`, `data_path`, or `other`.
    pub engine: &'static str,
    /// Display name of the engine.
    pub name: &'a str,
    /// Version, if files reveal it.
    pub version: Option<&'a str>,
    /// Whether it is running.
    pub state: StoreState,
    /// Process ID, if running.
    pub pid: Option<u32>,
    /// Absolute paths of its data.
    pub data_paths: &'a [String],
    /// Where the data paths were found.
    pub paths_from: &'a str,
    /// Settings that rules use, as written.
    pub settings: BTreeMap<&'a str, &'a str>,
}

/// A mount and its stack.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct MountRow<'a> {
    /// Mount point.
    pub mount_point: &'a str,
    /// Filesystem type.
    pub fs_type: &'a str,
    /// Source as mounted.
    pub source: &'a str,
    /// Size in bytes; null if statfs was not called or did not answer.
    pub size_bytes: Option<u64>,
    /// Free bytes, including root's reserve.
    pub free_bytes: Option<u64>,
    /// Bytes free for everyone, without root's reserve.
    pub available_bytes: Option<u64>,
    /// Mount and superblock options.
    pub options: &'a [String],
    /// Stores whose data is on it: 0-based indices into `result.stores`.
    pub stores: Vec<usize>,
    /// Its layers in the order in which a tree is drawn; null if no block device is known.
    pub stack: Option<Vec<LayerRow<'a>>>,
}

/// One layer of a stack.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct LayerRow<'a> {
    /// Kernel name.
    pub device: &'a str,
    /// Usual path of the device node.
    pub dev_path: String,
    /// `partition`, `nvme`, `scsi`, `virtio_blk`, `xen`, `mmc`, `network`, `loop`, `md`,
    /// `device_mapper`, `zram`, `bcache`, `other`, or `unknown` (sysfs was not read).
    pub kind: &'static str,
    /// Details that the kind leaves open: RAID level, device-mapper target types, driver, or a loop
    /// device's file.
    pub detail: Option<String>,
    /// 0 for the mounted device.
    pub depth: usize,
    /// Whether the layer was listed before in this stack; the layers below it are listed there.
    pub repeated: bool,
    /// Model as reported by the drive.
    pub model: Option<&'a str>,
    /// Size in bytes.
    pub size_bytes: Option<u64>,
    /// `queue/rotational`; always 1 on loop, virtio and SCSI disks, whatever they are made of.
    pub rotational: Option<bool>,
    /// Discard limits of its queue; null for a partition, which has its disk's.
    pub discard: Option<DiscardRow>,
    /// Rules whose findings blame this layer.
    pub at_fault: Vec<&'a str>,
}

/// Discard limits of a request queue.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
pub struct DiscardRow {
    /// `discard_granularity`; not evidence of support.
    pub granularity_bytes: Option<u64>,
    /// `discard_max_bytes`; 0 means that discards are refused.
    pub max_bytes: Option<u64>,
    /// `discard_max_hw_bytes`.
    pub max_hw_bytes: Option<u64>,
}

/// Renders a report as an indented JSON document with a trailing newline.
pub fn json(report: &CheckReport<'_>) -> String {
    CheckResult::envelope(report).json()
}

impl Answer for CheckResult<'_> {
    const SCHEMA: &'static str = "trimtab.check/1";
    const TITLE: &'static str = "trimtab check";
    const JSON_SCHEMA: &'static str = include_str!("../schemas/check.json");
}

impl<'a> CheckResult<'a> {
    /// Builds the document of a report.
    pub fn envelope(report: &'a CheckReport<'a>) -> Envelope<Self> {
        let host = report.host_or_none();
        let findings = sorted(report.findings);
        let (mounts, mut without_stack) = mounts(host, &findings);
        let mut hosts = Vec::new();
        if report.hosts.len() > 1 {
            let by_host = report.by_host();
            for checked in &report.hosts {
                let (row, without) = HostRow::of(&by_host, checked);
                hosts.push(row);
                without_stack += without;
            }
        }
        let mut warnings = report.warnings.to_vec();
        if without_stack > 0 {
            warnings.push(format!(
                "the stacks of {without_stack} mounts are left out: more than {LAYERS_MAX} layers"
            ));
        }
        let meetings = report.meetings.meetings.iter();
        let result = Self {
            findings,
            suppressed: report.suppressed,
            counts: report.counts(),
            answer: report.answer(),
            coverage: report.coverage(),
            rules_run: report.rules_run,
            platform: report.only_host().map(|checked| &checked.host.platform),
            read_at: match (report.hosts.as_slice(), report.cluster) {
                ([host, ..], _) => host.host.read_at,
                ([], Some(cluster)) => cluster.read_at,
                ([], None) => host.read_at,
            },
            hosts,
            meetings: meetings.map(MeetingRow::of).collect(),
            cluster: report.cluster.map(ClusterRow::of),
            stores: host.stores.iter().map(StoreRow::of).collect(),
            mounts,
        };
        Envelope {
            skipped: report.skipped.to_vec(),
            warnings,
            ..Envelope::new(
                report.tool_version.clone(),
                report.generated_at,
                report.source.clone(),
                result,
            )
        }
    }
}

impl<'a> MeetingRow<'a> {
    fn of(meeting: &'a Meeting) -> Self {
        Self {
            work: meeting.work,
            hosts: &meeting.hosts,
            jobs: &meeting.jobs,
            earliest: meeting.earliest,
            latest: meeting.latest,
            is_certain: meeting.is_certain,
        }
    }
}

impl<'a> HostRow<'a> {
    /// Returns a host, and the number of its mounts whose stack is left out.
    fn of(by_host: &ByHost<'_, 'a>, checked: &'a CheckedHost<'a>) -> (Self, usize) {
        let host = checked.host;
        let findings = sorted(by_host.findings(&checked.name).iter().copied());
        let (mounts, without_stack) = mounts(host, &findings);
        let row = Self {
            name: &checked.name,
            source: &checked.source,
            read_at: host.read_at,
            coverage: by_host.coverage(&checked.name),
            platform: &host.platform,
            stores: host.stores.iter().map(StoreRow::of).collect(),
            mounts,
        };
        (row, without_stack)
    }
}

impl<'a> ClusterRow<'a> {
    fn of(cluster: &'a Cluster) -> Self {
        let is_known = cluster.nodes.is_some();
        let number = |nodes: usize| is_known.then_some(nodes as u64);
        let indices = cluster.indices.as_ref();
        let shards = cluster.shards.as_ref();
        Self {
            name: cluster.name.as_deref(),
            endpoint: &cluster.endpoint,
            engine: match cluster.flavour {
                Flavour::Elasticsearch => "elasticsearch",
                Flavour::Opensearch => "opensearch",
            },
            version: cluster.version.to_string(),
            read_at: cluster.read_at,
            nodes: cluster.nodes.as_ref().map(|nodes| nodes.len() as u64),
            data_nodes: number(cluster.data_nodes().count()),
            master_eligible_nodes: number(cluster.master_eligible_nodes().count()),
            master: cluster.master_node().map(|node| node.name.as_str()),
            indices_open: indices.map(|indices| indices.open),
            indices_closed: indices.map(|indices| indices.closed),
            shards: shards.map(|shards| shards.total),
            shards_unassigned: shards.map(|shards| shards.unassigned),
            shards_of_closed_indices: shards.and_then(|shards| shards.of_closed_indices),
        }
    }
}

impl<'a> StoreRow<'a> {
    fn of(store: &'a Store) -> Self {
        let engine = match store.engine {
            StoreEngine::Elasticsearch => "elasticsearch",
            StoreEngine::Opensearch => "opensearch",
            StoreEngine::Mongodb => "mongodb",
            StoreEngine::Other(_) => "other",
            StoreEngine::DataPath => "data_path",
        };
        Self {
            engine,
            name: store.engine.label(),
            version: store.version.as_deref(),
            state: store.state,
            pid: store.pid,
            data_paths: &store.data_paths,
            paths_from: &store.paths_from,
            settings: store
                .settings
                .iter()
                .map(|(key, value)| (key.as_str(), value.as_str()))
                .collect(),
        }
    }
}

/// Returns every mount, and the number of mounts whose stack exceeded [`LAYERS_MAX`].
fn mounts<'a>(host: &'a Host, findings: &[&'a Finding]) -> (Vec<MountRow<'a>>, usize) {
    let filesystems = Filesystems::of(host);
    let mut stores = host.stores_by_mount();
    let mut blame = Blame::default();
    for finding in findings {
        if let Some(device) = finding.device.as_deref() {
            let mount_point = finding.mount_point.as_deref();
            let key = mount_point.map(|point| filesystems.key_of_mount_point(point));
            let rules = blame.0.entry((key, device)).or_default();
            if !rules.contains(&finding.rule.as_str()) {
                rules.push(&finding.rule);
            }
        }
    }
    let mut layers = 0;
    let mut without_stack = 0;
    let row = |mount: &'a Mount| {
        let key = filesystems.key_of(mount);
        let mut stack = None;
        if let Some(device) = filesystems.devices.of(mount) {
            if layers < LAYERS_MAX {
                let found = host.stack_below(device).layers;
                layers += found.len();
                stack = Some(found.iter().map(|layer| blame.layer(layer, key)).collect());
            } else {
                without_stack += 1;
            }
        }
        let stores = stores.remove(&mount.id).unwrap_or_default();
        MountRow {
            mount_point: &mount.mount_point,
            fs_type: &mount.fs_type,
            source: &mount.source,
            size_bytes: mount.usage.map(|usage| usage.size_bytes),
            free_bytes: mount.usage.map(|usage| usage.free_bytes),
            available_bytes: mount.usage.map(|usage| usage.available_bytes),
            options: &mount.options,
            stores: stores.into_iter().collect(),
            stack,
        }
    };
    let rows = host.mounts.iter().map(row).collect();
    (rows, without_stack)
}

/// The rules that blame a device: below one filesystem, or, with `None`, anywhere.
#[derive(Default)]
struct Blame<'a>(HashMap<(Option<Key<'a>>, &'a str), Vec<&'a str>>);

impl<'a> Blame<'a> {
    fn layer(&self, layer: &Layer<'a>, key: Key<'a>) -> LayerRow<'a> {
        let device = layer.device;
        let mut at_fault: Vec<&str> = Vec::new();
        for place in [Some(key), None] {
            let rules = self.0.get(&(place, device.name.as_str()));
            for rule in rules.into_iter().flatten() {
                if !at_fault.contains(rule) {
                    at_fault.push(rule);
                }
            }
        }
        let (kind, detail) = kind(device);
        LayerRow {
            device: &device.name,
            dev_path: device.dev_path(),
            kind,
            detail,
            depth: layer.depth,
            repeated: layer.repeated,
            model: device.model(),
            size_bytes: device.size_bytes,
            rotational: device.rotational,
            discard: device.discard.map(|limits| DiscardRow {
                granularity_bytes: limits.granularity_bytes,
                max_bytes: limits.max_bytes,
                max_hw_bytes: limits.max_hw_bytes,
            }),
            at_fault,
        }
    }
}

/// Returns the name of a kind, and the details that it leaves open.
fn kind(device: &BlockDevice) -> (&'static str, Option<String>) {
    match &device.kind {
        DeviceKind::Partition { .. } => ("partition", None),
        DeviceKind::Nvme { transport, .. } => ("nvme", transport.clone()),
        DeviceKind::Scsi { transport, .. } => (
            "scsi",
            serde_json::to_value(transport)
                .ok()
                .and_then(|word| word.as_str().map(str::to_owned)),
        ),
        DeviceKind::VirtioBlk { .. } => ("virtio_blk", None),
        DeviceKind::Xen => ("xen", None),
        DeviceKind::Mmc => ("mmc", None),
        DeviceKind::Network { driver } => ("network", Some(driver.clone())),
        DeviceKind::Loop { backing_file } => ("loop", backing_file.clone()),
        DeviceKind::Md { level, .. } => ("md", level.clone()),
        DeviceKind::DeviceMapper { .. } => ("device_mapper", dm_types(device)),
        DeviceKind::Zram => ("zram", None),
        DeviceKind::Bcache { .. } => ("bcache", None),
        DeviceKind::Other => ("other", None),
        DeviceKind::Unseen => ("unknown", None),
    }
}
