//! Which filesystems are meant, each once, and why one of them must not or cannot be trimmed.

use crate::error::{CommandError, Kind};
use facts::host::{Mount, Store, StoreState};
use facts::{Host, Stack};
use rules::{TrimRefusal, TrimRequest};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Filesystems that `--all` takes: local ones of servers that support FITRIM. By name others can be
/// trimmed too, if the kernel agrees.
const LOCAL_TYPES: &[&str] = &["ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "nilfs2"];

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
    pub refusal: Option<TrimRefusal>,
    /// What is worth knowing, without being a reason.
    pub notes: Vec<String>,
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
            || mount.is_filesystem_read_only()
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
    let request = TrimRequest {
        force,
        is_directory: &|path| Path::new(path).is_dir(),
    };
    let verdict = rules::trim_verdict(host, mount, &request);
    Plan {
        mount,
        others,
        stack: host.stack_of(mount),
        stores,
        refusal: verdict.refusal,
        notes: verdict.notes,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use facts::host::{BlockDevice, DeviceKind, DeviceNumber, DiscardLimits, FsUsage, StoreEngine};

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
