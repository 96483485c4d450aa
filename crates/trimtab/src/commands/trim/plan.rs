//! Which filesystems are meant, each once, and why one of them must not or cannot be trimmed.

use crate::error::{CommandError, Kind};
use facts::host::{BlockDevice, DeviceKind, DiscardLimits, Mount, Store, StoreState};
use facts::{Finding, Host, Severity, Skipped, Stack};
use rules::Selection;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Filesystems that `--all` takes: local ones of servers that support FITRIM. By name others can be
/// trimmed too, if the kernel agrees.
const LOCAL_TYPES: &[&str] = &["ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2"];

/// Filesystems that know no FITRIM, with the way out.
const WITHOUT_FITRIM: &[(&str, &str)] = &[
    ("zfs", "ZFS trims its pool itself: `zpool trim POOL`"),
    ("zfs_member", "ZFS trims its pool itself: `zpool trim POOL`"),
    ("squashfs", "it never changes, and frees nothing"),
    ("erofs", "it never changes, and frees nothing"),
    ("iso9660", "it never changes, and frees nothing"),
    ("udf", "nothing can be done"),
    ("cramfs", "it never changes, and frees nothing"),
    (
        "ext2",
        "mount it as ext4, which supports FITRIM: the kernel's ext4 driver knows ext2",
    ),
    ("reiserfs", "nothing can be done"),
    (
        "fuseblk",
        "a filesystem in user space, as ntfs-3g, gets no FITRIM; mount it by a kernel driver",
    ),
    ("minix", "nothing can be done"),
    ("hfsplus", "nothing can be done"),
];

/// One filesystem that is to be trimmed.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The mount through which it is trimmed.
    pub mount: &'a Mount,
    /// Other mount points of the same filesystem.
    pub others: Vec<&'a str>,
    /// The layers below; `None` where there is no block device.
    pub stack: Option<Stack<'a>>,
    /// Stores that run on it.
    pub stores: Vec<&'a Store>,
    /// Why it is not trimmed.
    pub refusal: Option<Refusal>,
    /// What is worth knowing, without being a reason.
    pub notes: Vec<String>,
}

/// Why a filesystem is not trimmed.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// One sentence.
    pub reason: String,
    /// A rule's finding that explains it.
    pub finding: Option<Finding>,
    /// Ways out.
    pub hints: Vec<String>,
}

impl Refusal {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            finding: None,
            hints: Vec::new(),
        }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    fn explained_by(finding: &Finding) -> Self {
        Self {
            reason: format!("{}: {}", finding.rule, finding.title),
            finding: Some(finding.clone()),
            hints: Vec::new(),
        }
    }
}

impl Plan<'_> {
    /// The mount point, fit for a terminal.
    pub fn name(&self) -> String {
        report::escape(&self.mount.mount_point).into_owned()
    }

    /// Names of the stores on it.
    pub fn store_names(&self) -> String {
        let mut names: Vec<String> = Vec::new();
        for store in &self.stores {
            let name = report::escape(store.engine.label()).into_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }
}

/// Plans for the mounts that were named, in their order.
///
/// # Errors
/// Where a path is no mount point.
pub fn named<'a>(
    host: &'a Host,
    paths: &[PathBuf],
    force: bool,
) -> Result<Vec<Plan<'a>>, CommandError> {
    let mut plans: Vec<Plan<'a>> = Vec::new();
    for path in paths {
        let mount = mount_at(host, path)?;
        let is_known = |plan: &Plan<'_>| plan.mount.device_number == mount.device_number;
        if !plans.iter().any(is_known) {
            plans.push(plan(host, mount, force));
        }
    }
    Ok(plans)
}

/// Plans for every writable local filesystem on a block device. Those that are refused stay in the
/// list, with their reason.
pub fn all(host: &Host, force: bool) -> Vec<Plan<'_>> {
    let mut plans: Vec<Plan<'_>> = Vec::new();
    for mount in &host.mounts {
        let is_known = plans
            .iter()
            .any(|plan| plan.mount.device_number == mount.device_number);
        if is_known
            || !LOCAL_TYPES.contains(&mount.fs_type.as_str())
            || is_read_only(mount)
            || host.stack_of(mount).is_none()
        {
            continue;
        }
        // The whole filesystem rather than a part of it that is bound elsewhere.
        let whole = host
            .mounts
            .iter()
            .find(|other| other.device_number == mount.device_number && other.root == "/");
        plans.push(plan(host, whole.unwrap_or(mount), force));
    }
    plans
}

/// A read-only bind mount of a writable filesystem carries both words, and its filesystem can be
/// trimmed.
fn is_read_only(mount: &Mount) -> bool {
    mount.is_read_only() && !mount.has_option("rw")
}

/// The mount whose mount point a path is.
fn mount_at<'a>(host: &'a Host, path: &Path) -> Result<&'a Mount, CommandError> {
    let shown = report::escape(&path.display().to_string()).into_owned();
    let absolute = std::fs::canonicalize(path).map_err(|error| {
        CommandError::new(Kind::Usage, format!("{shown}: {error}"))
            .hint("name the directory on which a filesystem is mounted; `findmnt` lists them")
    })?;
    let text = absolute.to_str().ok_or_else(|| {
        CommandError::new(Kind::Usage, format!("{shown}: the name is not valid UTF-8"))
    })?;
    // Of several mounts over one point the last hides the others.
    if let Some(mount) = host.mounts.iter().rfind(|mount| mount.mount_point == text) {
        return Ok(mount);
    }
    if let Some(fs_type) = pseudo_type(text) {
        return Err(CommandError::new(
            Kind::Refused,
            format!("{shown}: {fs_type} has no drive below: nothing to trim"),
        ));
    }
    if let Some(device) = host.device_by_path(text) {
        let on_it = host.mounts.iter().find(|mount| {
            host.device_of(mount)
                .is_some_and(|top| top.name == device.name)
        });
        let error = CommandError::new(
            Kind::Refused,
            format!("{shown} is a device: a trim works on a mounted filesystem"),
        );
        return Err(match on_it {
            Some(mount) => error.hint(format!(
                "it is mounted on {}: {}",
                report::escape(&mount.mount_point),
                trim_it(&mount.mount_point)
            )),
            None => error.hint("mount it first; nothing of it is mounted here"),
        });
    }
    let error = CommandError::new(Kind::Refused, format!("{shown} is no mount point"));
    Err(match host.mount_of_path(text) {
        Some(mount) => error.hint(format!(
            "it lies on {}: {}",
            report::escape(&mount.mount_point),
            trim_it(&mount.mount_point)
        )),
        None => error.hint("`findmnt` lists mount points"),
    })
}

/// The command that trims what is mounted there.
fn trim_it(mount_point: &str) -> String {
    format!("trimtab trim {}", rules::shell::quote(mount_point))
}

/// Type of what is mounted at a path, of the filesystems that are no facts (tmpfs, proc).
fn pseudo_type(mount_point: &str) -> Option<String> {
    let text = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let (mounts, _) = host::storage::mountinfo::parse(&text);
    mounts
        .into_iter()
        .rfind(|mount| mount.mount_point == mount_point)
        .map(|mount| mount.fs_type)
}

fn plan<'a>(host: &'a Host, mount: &'a Mount, force: bool) -> Plan<'a> {
    let same: Vec<&Mount> = host
        .mounts
        .iter()
        .filter(|other| other.device_number == mount.device_number)
        .collect();
    let stores = stores_on(host, mount)
        .into_iter()
        .filter(|store| store.state != StoreState::Configured)
        .collect();
    let others = same
        .iter()
        .filter(|other| other.id != mount.id)
        .map(|other| other.mount_point.as_str())
        .collect();
    let mut plan = Plan {
        mount,
        others,
        stack: host.stack_of(mount),
        stores,
        refusal: None,
        notes: Vec::new(),
    };
    let mut notes = Vec::new();
    plan.refusal = judge(host, &plan, force, &mut notes);
    plan.notes = notes;
    plan
}

fn judge(host: &Host, plan: &Plan<'_>, force: bool, notes: &mut Vec<String>) -> Option<Refusal> {
    let mount = plan.mount;
    if let Some((name, way_out)) = WITHOUT_FITRIM
        .iter()
        .find(|(name, _)| *name == mount.fs_type)
    {
        return Some(Refusal::new(format!("{name} does not support FITRIM")).hint(*way_out));
    }
    let Some(stack) = &plan.stack else {
        return Some(
            Refusal::new(format!(
                "no block device of this host is below it ({} from {})",
                report::escape(&mount.fs_type),
                report::escape(&mount.source)
            ))
            .hint("trim it on the host that has the drives"),
        );
    };
    if is_read_only(mount) {
        return Some(
            Refusal::new("it is mounted read-only: nothing is freed there").hint(
                "the kernel would trim it, but a read-only mount may hold an image or a \
                       filesystem with errors; mount it writable first",
            ),
        );
    }
    if !Path::new(&mount.mount_point).is_dir() {
        let whole = plan.others.iter().find(|point| Path::new(point).is_dir());
        let refusal = Refusal::new("a single file is mounted there, not a directory");
        return Some(match whole {
            Some(point) => refusal.hint(format!(
                "the same filesystem is mounted on {}: {}",
                report::escape(point),
                trim_it(point)
            )),
            None => refusal,
        });
    }
    let outcome = rules_on(host, mount);
    let finding = |id: &str| outcome.findings.iter().find(|finding| finding.rule == id);
    if takes_discards(stack, 0) == Some(false) {
        let explained = ["TRIM001", "TRIM009", "TRIM010"]
            .into_iter()
            .find_map(finding);
        return Some(explained.map_or_else(|| nothing_to_trim(stack), Refusal::explained_by));
    }
    if let Some(finding) = finding("TRIM008") {
        if is_lost_everywhere(stack, finding) {
            return Some(Refusal::explained_by(finding));
        }
        notes.push(format!(
            "TRIM008: {}; the other drives below do get the discards",
            finding.title
        ));
    }
    for finding in outcome.findings.iter().filter(|f| f.rule == "TRIM010") {
        let text = format!("TRIM010: {}", finding.title);
        if finding.severity == Severity::Info {
            notes.push(text);
        } else if force {
            notes.push(format!("{text} (--force)"));
        } else {
            return Some(Refusal::explained_by(finding).hint("--force trims it all the same"));
        }
    }
    for skipped in &outcome.skipped {
        notes.push(skipped_words(skipped));
    }
    None
}

fn skipped_words(skipped: &Skipped) -> String {
    let needs = skipped
        .needs
        .as_ref()
        .map_or(String::new(), |needs| format!(" (needs {needs})"));
    format!("{}: not known, {}{needs}", skipped.what, skipped.why)
}

/// Stores whose data lies on a filesystem, through any of its mounts.
fn stores_on<'a>(host: &'a Host, mount: &Mount) -> Vec<&'a Store> {
    let by_mount = host.stores_by_mount();
    let indices: BTreeSet<usize> = host
        .mounts
        .iter()
        .filter(|other| other.device_number == mount.device_number)
        .filter_map(|other| by_mount.get(&other.id))
        .flatten()
        .copied()
        .collect();
    let stores = indices.into_iter();
    stores.filter_map(|index| host.stores.get(index)).collect()
}

/// The rules that say whether discards get through, on one filesystem alone.
pub fn rules_on(host: &Host, mount: &Mount) -> rules::Outcome {
    let mut alone = host.clone();
    alone
        .mounts
        .retain(|other| other.device_number == mount.device_number);
    let on_it = stores_on(host, mount);
    // With one mount alone every store would seem to lie on it.
    alone.stores.retain(|store| on_it.contains(&store));
    let select = ["TRIM001", "TRIM008", "TRIM009", "TRIM010"];
    rules::run(
        &alone,
        &Selection {
            select: select.map(str::to_owned).to_vec(),
            ignore: Vec::new(),
        },
    )
}

/// Whether the layer at `index` takes discards; a partition has its disk's queue.
fn takes_discards(stack: &Stack<'_>, index: usize) -> Option<bool> {
    let device = stack.layers[index].device;
    if let (DeviceKind::Partition { .. }, None) = (&device.kind, device.discard) {
        let mut below = stack.below(index).map(|layer| accepts(layer.device));
        return below.next().flatten();
    }
    accepts(device)
}

fn accepts(device: &BlockDevice) -> Option<bool> {
    device.discard.and_then(DiscardLimits::accepts)
}

fn nothing_to_trim(stack: &Stack<'_>) -> Refusal {
    let top = stack.top();
    Refusal::new(format!(
        "{} takes no discards: there is nothing to trim",
        report::escape(&top.dev_path())
    ))
    .hint(
        "a hard disk, and many a network or virtual disk, has no use for discards; `trimtab check` \
         says where they are lost in between",
    )
}

/// Whether no drive at all gets discards: each refuses them, or lies below the layer at fault.
fn is_lost_everywhere(stack: &Stack<'_>, finding: &Finding) -> bool {
    let fault = finding.device.as_deref();
    let is_below_fault = |mut index: usize| {
        loop {
            if Some(stack.layers[index].device.name.as_str()) == fault {
                return true;
            }
            match stack.layers[index].above {
                Some(above) => index = above,
                None => return false,
            }
        }
    };
    stack
        .layers
        .iter()
        .enumerate()
        .filter(|(_, layer)| layer.is_leaf)
        .all(|(index, layer)| accepts(layer.device) == Some(false) || is_below_fault(index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use facts::host::{DeviceNumber, DmTarget, FsUsage, StoreEngine};

    fn device(name: &str, minor: u32, max_bytes: u64, below: &[&str]) -> BlockDevice {
        BlockDevice {
            name: name.to_owned(),
            number: DeviceNumber { major: 253, minor },
            sysfs_path: format!("sys/block/{name}"),
            size_bytes: Some(1 << 30),
            kind: DeviceKind::VirtioBlk { serial: None },
            below: below.iter().map(|&name| name.to_owned()).collect(),
            discard: Some(DiscardLimits {
                granularity_bytes: Some(512),
                max_bytes: Some(max_bytes),
                max_hw_bytes: Some(max_bytes),
            }),
            io_limits: None,
            rotational: Some(false),
            read_only: Some(false),
            counters: None,
        }
    }

    fn mount(id: u64, minor: u32, point: &str, root: &str, options: &str) -> Mount {
        Mount {
            id,
            device_number: DeviceNumber { major: 253, minor },
            root: root.to_owned(),
            mount_point: point.to_owned(),
            fs_type: "ext4".to_owned(),
            source: "/dev/vda".to_owned(),
            options: options.split(',').map(str::to_owned).collect(),
            usage: Some(FsUsage::default()),
            geometry: None,
        }
    }

    /// Mount points that are directories everywhere.
    fn host(mounts: Vec<Mount>, devices: Vec<BlockDevice>) -> Host {
        Host {
            mounts,
            devices,
            ..Host::default()
        }
    }

    #[test]
    fn bind_mounts_are_one_filesystem_and_the_whole_of_it_is_taken() {
        let mut gone = mount(4, 9, "/etc", "/", "rw");
        gone.source = "/dev/vdz".to_owned();
        let host = host(
            vec![
                mount(1, 1, "/usr", "/part", "rw"),
                mount(2, 1, "/", "/", "rw"),
                mount(3, 2, "/tmp", "/", "ro"),
                gone,
            ],
            vec![device("vda", 1, 4096, &[]), device("vdb", 2, 4096, &[])],
        );
        let plans = all(&host, false);
        assert_eq!(plans.len(), 1, "read-only and without a device: left out");
        assert_eq!(plans[0].mount.mount_point, "/");
        assert_eq!(plans[0].others, ["/usr"]);
        assert_eq!(plans[0].refusal, None);
        let named = named(&host, &["/usr".into(), "/".into()], false).unwrap();
        assert_eq!(named.len(), 1);
        assert_eq!(named[0].mount.mount_point, "/usr");
    }

    #[test]
    fn a_read_only_filesystem_is_refused_and_a_read_only_bind_mount_is_not() {
        let host = host(
            vec![
                mount(1, 1, "/", "/", "ro"),
                mount(2, 2, "/tmp", "/", "ro,relatime,rw"),
            ],
            vec![device("vda", 1, 4096, &[]), device("vdb", 2, 4096, &[])],
        );
        let plans = named(&host, &["/".into(), "/tmp".into()], true).unwrap();
        let reason = &plans[0].refusal.as_ref().unwrap().reason;
        assert!(reason.contains("read-only"), "{reason}");
        assert_eq!(plans[1].refusal, None);
    }

    #[test]
    fn a_device_that_takes_nothing_is_refused_with_a_rule_where_one_speaks() {
        let mut crypt = device("dm-0", 3, 0, &["vda"]);
        crypt.kind = DeviceKind::DeviceMapper {
            name: Some("c".to_owned()),
            uuid: Some("CRYPT-LUKS2-0-c".to_owned()),
            targets: Some(vec![DmTarget {
                start_sectors: 0,
                len_sectors: 1 << 20,
                target_type: "crypt".to_owned(),
                devices: vec![DeviceNumber {
                    major: 253,
                    minor: 1,
                }],
                options: Vec::new(),
                cipher: None,
                chunk_bytes: None,
                stripes: None,
            }]),
        };
        let mut disk = device("vdb", 2, 0, &[]);
        disk.rotational = Some(true);
        let mut host = host(
            vec![mount(1, 3, "/", "/", "rw"), mount(2, 2, "/tmp", "/", "rw")],
            vec![crypt, device("vda", 1, 4096, &[]), disk],
        );
        host.platform.cloud = Some(facts::host::Cloud::Other);
        let plans = named(&host, &["/".into(), "/tmp".into()], true).unwrap();
        let refusal = plans[0].refusal.as_ref().unwrap();
        assert!(refusal.reason.starts_with("TRIM001: "), "{refusal:?}");
        assert!(!refusal.finding.as_ref().unwrap().remedy.is_empty());
        let refusal = plans[1].refusal.as_ref().unwrap();
        assert!(refusal.reason.contains("nothing to trim"), "{refusal:?}");
    }

    #[test]
    fn trim010_is_refused_unless_forced() {
        let mut host = host(
            vec![mount(1, 1, "/", "/", "rw")],
            vec![device("vda", 1, 4096, &[])],
        );
        host.platform.elastic_cloud_enterprise = Some("/mnt/data/elastic".to_owned());
        let refused = named(&host, &["/".into()], false).unwrap();
        let refusal = refused[0].refusal.as_ref().unwrap();
        assert!(refusal.reason.starts_with("TRIM010: "), "{refusal:?}");
        assert!(refusal.hints.iter().any(|hint| hint.contains("--force")));
        let forced = named(&host, &["/".into()], true).unwrap();
        assert_eq!(forced[0].refusal, None);
        assert!(forced[0].notes.iter().any(|note| note.contains("--force")));
    }

    #[test]
    fn a_running_store_counts_and_a_configured_one_does_not() {
        let store = |state| Store {
            engine: StoreEngine::Elasticsearch,
            version: None,
            state,
            pid: None,
            data_paths: vec!["/var/lib/es".to_owned()],
            paths_from: String::new(),
            settings: Vec::new(),
        };
        let mut host = host(
            vec![mount(1, 1, "/", "/", "rw")],
            vec![device("vda", 1, 4096, &[])],
        );
        host.stores = vec![store(StoreState::Configured)];
        assert!(
            named(&host, &["/".into()], false).unwrap()[0]
                .stores
                .is_empty()
        );
        host.stores = vec![store(StoreState::Running)];
        let plans = named(&host, &["/".into()], false).unwrap();
        assert_eq!(plans[0].store_names(), "Elasticsearch");
    }

    #[test]
    fn paths_that_are_no_mount_points_are_refused_with_the_way_out() {
        let host = host(
            vec![mount(1, 1, "/", "/", "rw")],
            vec![device("vda", 1, 4096, &[])],
        );
        let refused = |path: &str| named(&host, &[path.into()], false).unwrap_err();
        let error = refused("/usr");
        assert!(error.hints[0].contains("trimtab trim /"), "{error}");
        assert!(refused("/proc").message.contains("proc has no drive"));
        assert!(refused("/no/such/place").message.contains("/no/such/place"));
    }
}
