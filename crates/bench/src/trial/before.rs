//! What a trial finds before it starts: the server's place on the host, its drives, and the environment.

use super::server::Identity;
use crate::host::reading::Watched;
use facts::host::{Host, Mount, Store, StoreEngine, StoreState};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The server on this host.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Place {
    /// Counters to read.
    pub watched: Watched,
    /// Whether the server is on another host, whose figures are not seen.
    pub is_elsewhere: bool,
    /// Mount points of the data, for display.
    pub mount_points: Vec<String>,
    /// Other stores with data on the same drives; `None` if the server's drives are not known.
    pub other_stores: Option<Vec<String>>,
    /// Whether the filesystems tell drives of freed blocks all the time, so that discards are no sign of a trim.
    pub discards_online: bool,
    /// The environment.
    pub environment: BTreeMap<String, String>,
}

/// Finds the server of `identity` on the host. A server elsewhere, or one that cannot be told from others, has no
/// drives to watch.
pub fn place(host: &Host, identity: &Identity, is_local: bool) -> Place {
    let mut place = Place {
        watched: Watched {
            driver: Some(std::process::id()),
            ..Watched::default()
        },
        environment: environment(host, identity, is_local),
        ..Place::default()
    };
    if !is_local {
        place.is_elsewhere = true;
        return place;
    }
    let stores = stores_of(host, identity);
    if stores.is_empty() {
        return place;
    }
    place.watched.server = stores.iter().filter_map(|store| store.pid).collect();
    let mut drives = BTreeSet::new();
    let mut mounts: Vec<&Mount> = Vec::new();
    for path in stores.iter().flat_map(|store| &store.data_paths) {
        if let Some(mount) = host.mount_of_path(path)
            && !mounts.iter().any(|known| std::ptr::eq(*known, mount))
        {
            mounts.push(mount);
        }
    }
    for mount in &mounts {
        place.mount_points.push(mount.mount_point.clone());
        place.discards_online |= discards_online(mount);
        if let Some(stack) = host.stack_of(mount) {
            drives.extend(stack.leaves().map(|device| device.name.clone()));
        }
    }
    if !drives.is_empty() {
        place.other_stores = Some(others(host, &stores, &drives));
    }
    of_mounts(host, &mounts, &mut place.environment);
    place.watched.drives = drives.into_iter().collect();
    place
}

/// Whether a filesystem tells its drives of freed blocks all the time. Btrfs does so by default since 6.2, if they
/// accept discards.
pub fn discards_online(mount: &Mount) -> bool {
    mount.has_option("discard") || (mount.fs_type == "btrfs" && !mount.has_option("nodiscard"))
}

/// The stores with the process ids of the cluster's nodes, or the only one of its kind that runs here.
fn stores_of<'h>(host: &'h Host, identity: &Identity) -> Vec<&'h Store> {
    let running = || {
        host.stores.iter().filter(|store| {
            store.state == StoreState::Running
                && matches!(
                    store.engine,
                    StoreEngine::Elasticsearch | StoreEngine::Opensearch
                )
        })
    };
    let is_node = |store: &&Store| store.pid.is_some_and(|pid| identity.pids.contains(&pid));
    let by_pid: Vec<&Store> = running().filter(is_node).collect();
    if !by_pid.is_empty() {
        return by_pid;
    }
    // In a container its process id is another one. Something that listens here, but does not say who it is, need not
    // be the store.
    let all: Vec<&Store> = running().collect();
    if all.len() == 1 && identity.nodes == 1 {
        all
    } else {
        Vec::new()
    }
}

/// Other running stores with data on one of the drives.
fn others(host: &Host, own: &[&Store], drives: &BTreeSet<String>) -> Vec<String> {
    let shares = |other: &&Store| {
        !own.iter().any(|store| std::ptr::eq(*store, *other))
            && other.state == StoreState::Running
            && other.data_paths.iter().any(|path| {
                let stack = host
                    .mount_of_path(path)
                    .and_then(|mount| host.stack_of(mount));
                stack.is_some_and(|stack| stack.leaves().any(|leaf| drives.contains(&leaf.name)))
            })
    };
    let name = |other: &Store| match other.pid {
        Some(pid) => format!("{} (process {pid})", other.engine.label()),
        None => other.engine.label().to_owned(),
    };
    host.stores.iter().filter(shares).map(name).collect()
}

/// What must be the same in trials that are compared.
fn environment(host: &Host, identity: &Identity, is_local: bool) -> BTreeMap<String, String> {
    let platform = &host.platform;
    let of_host = |key: &str| host_key(key, is_local);
    let mut found = BTreeMap::new();
    let mut put = |key: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            found.insert(key.to_owned(), value);
        }
    };
    put(&of_host("host"), platform.host_name.clone());
    put(&of_host("kernel"), platform.kernel_release.clone());
    put(&of_host("distribution"), platform.distribution_name.clone());
    put("server", identity.server.clone());
    put(
        "nodes",
        (identity.nodes > 0).then(|| identity.nodes.to_string()),
    );
    let list = |values: Vec<String>| values.join(", ");
    put("java", Some(list(identity.java.iter().cloned().collect())));
    put(
        "heap",
        Some(list(
            identity
                .heap_bytes
                .iter()
                .map(|bytes| units::bytes(*bytes))
                .collect(),
        )),
    );
    found
}

fn of_mounts(host: &Host, mounts: &[&Mount], environment: &mut BTreeMap<String, String>) {
    let mut put = |key: &str, values: BTreeSet<String>| {
        if !values.is_empty() {
            let values: Vec<String> = values.into_iter().collect();
            environment.insert(key.to_owned(), values.join("; "));
        }
    };
    let each = |value: &dyn Fn(&Mount) -> Option<String>| {
        mounts.iter().filter_map(|mount| value(mount)).collect()
    };
    put("filesystem", each(&|mount| Some(mount.fs_type.clone())));
    put(
        "mount options",
        each(&|mount| Some(mount.options.join(","))),
    );
    put(
        "drives",
        each(&|mount| {
            let stack = host.stack_of(mount)?;
            let names = stack.leaves().map(|leaf| {
                leaf.model()
                    .map_or_else(|| leaf.name.clone(), str::to_owned)
            });
            Some(names.collect::<Vec<_>>().join(", "))
        }),
    );
}

/// A property of this host, which is the driver's alone if the server is elsewhere.
pub fn host_key(key: &str, is_local: bool) -> String {
    if is_local {
        key.to_owned()
    } else {
        format!("driver's {key}")
    }
}

/// What the kernel is set to, below a root directory.
pub fn kernel_settings(root: &Path) -> BTreeMap<String, String> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let mut found = BTreeMap::new();
    if let Some(text) = read("sys/kernel/mm/transparent_hugepage/enabled")
        && let Some(chosen) = text
            .split_whitespace()
            .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
    {
        found.insert("transparent huge pages".to_owned(), chosen.to_owned());
    }
    if let Some(text) = read("proc/cpuinfo") {
        let lines = || text.lines().filter_map(|line| line.split_once(':'));
        let model = lines().find(|(key, _)| key.trim() == "model name");
        let count = lines().filter(|(key, _)| key.trim() == "processor").count();
        if let Some((_, model)) = model {
            found.insert("cpus".to_owned(), format!("{count} x {}", model.trim()));
        }
    }
    if let Some(text) = read("proc/meminfo")
        && let Some(line) = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))
        && let Some(kilobytes) = line
            .split_whitespace()
            .next()
            .and_then(|number| number.parse::<u64>().ok())
    {
        found.insert(
            "memory".to_owned(),
            units::bytes(kilobytes.saturating_mul(1024)),
        );
    }
    found
}
