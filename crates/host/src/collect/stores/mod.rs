//! Stores that run or are configured on the host, and where their data is.
//!
//! A store is recognized by its process, or by its configuration file if it is not running. Its
//! data paths come from its command line, its configuration, or its default; if these cannot be
//! read, the paths are unknown and that is reported: nothing is guessed.

mod config;
mod container;
mod elastic;
mod found;
mod mongo;
mod others;
mod processes;
mod version;

use crate::collect::options::Options;
use crate::collect::platform::read_elastic_cloud_enterprise;
use crate::collect::view::View;
use crate::parse::store_process::{self, JavaRole, Process, Role};
use crate::source::Reader;
use crate::unread::Unread;
use facts::host::{Store, StoreEngine, StoreState};
use facts::{Host, Skipped};
use found::{Found, Paths};

/// More stores than run on any real host.
const RUNNING_MAX: usize = 500;
/// Maximum number of data paths of all stores together.
const DATA_PATHS_MAX: usize = 1000;

/// Reads stores. Mounts must have been read before: symbolic links are followed only on mounts that
/// respond.
pub(crate) fn read(reader: &Reader<'_>, options: &Options, host: &mut Host) {
    let view = View::of_host(host);
    let mut skipped = Vec::new();
    let running = running(reader, host, &view, &mut skipped);
    let is_unknown = |skipped: &Skipped| skipped.what == processes::WHAT;
    host.running_stores_unknown = running.is_empty() && skipped.iter().any(is_unknown);
    let configured = configured(reader, &view, &running, &mut skipped);
    for found in running.into_iter().chain(configured) {
        let store = resolve_paths(reader, host, &view, found, &mut skipped);
        let is_known = store.state == StoreState::Configured
            && host
                .stores
                .iter()
                .any(|other| other.engine == store.engine && other.data_paths == store.data_paths);
        // A store that is only configured and has no data is of no interest.
        if !is_known && (store.state == StoreState::Running || !store.data_paths.is_empty()) {
            host.stores.push(store);
        }
    }
    add_unconfigured(reader, &view, host);
    for path in &reader.data_paths(&options.data_paths) {
        add_given_path(reader, &view, path, host, &mut skipped);
    }
    read_elastic_cloud_enterprise(reader, &view, host);
    host.skipped.append(&mut skipped);
}

fn running(
    reader: &Reader<'_>,
    host: &Host,
    host_view: &View,
    skipped: &mut Vec<Skipped>,
) -> Vec<Found> {
    let processes = processes::list(reader, skipped);
    let launchers: Vec<&Process> = processes
        .iter()
        .filter(|process| process.role() == Some(Role::Java(JavaRole::ElasticsearchLauncher)))
        .collect();
    let mut stores = Vec::new();
    for process in &processes {
        let Some(role) = process.role() else {
            continue;
        };
        if role == Role::Java(JavaRole::ElasticsearchLauncher) {
            continue;
        }
        if stores.len() >= RUNNING_MAX {
            let why = format!("at most {RUNNING_MAX} are looked at");
            skipped.push(Skipped::new("further running stores", why, None));
            break;
        }
        let view = container::view(reader, host, host_view, process.pid);
        let (view, barrier) = match view {
            Ok(view) => (view, None),
            Err(barrier) => (host_view.clone(), Some(barrier)),
        };
        let mut found = match role {
            // If its files cannot be accessed, its version, settings and paths are unknown.
            _ if barrier.is_some() => other(reader, view, process, role),
            Role::Java(JavaRole::Elasticsearch) => {
                let launcher = launcher_of(reader, process, &launchers);
                elastic::PRODUCTS[0].running(reader, view, process, launcher, skipped)
            }
            Role::Java(JavaRole::Opensearch) => {
                elastic::PRODUCTS[1].running(reader, view, process, None, skipped)
            }
            Role::Mongod => mongo::running(reader, view, process, skipped),
            Role::Java(_) | Role::Other(_) => other(reader, view, process, role),
        };
        if let Some(why) = barrier {
            found.paths = Paths::unknown(why, true);
        }
        stores.push(found);
    }
    stores
}

/// Returns the launcher if it is the parent of a server.
fn launcher_of<'p>(
    reader: &Reader<'_>,
    server: &Process,
    launchers: &[&'p Process],
) -> Option<&'p Process> {
    if launchers.is_empty() {
        return None;
    }
    let status = reader.text(&format!("proc/{}/status", server.pid)).ok()?;
    let parent = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))?
        .trim()
        .parse::<u32>()
        .ok()?;
    launchers
        .iter()
        .copied()
        .find(|launcher| launcher.pid == parent)
}

/// Builds a store that is known by its process and, if it is on the command line, its data path.
fn other(reader: &Reader<'_>, view: View, process: &Process, role: Role) -> Found {
    let engine = match role {
        Role::Java(JavaRole::Elasticsearch | JavaRole::ElasticsearchLauncher) => {
            StoreEngine::Elasticsearch
        }
        Role::Java(JavaRole::Opensearch) => StoreEngine::Opensearch,
        Role::Mongod => StoreEngine::Mongodb,
        Role::Java(JavaRole::Other(name)) | Role::Other(name) => {
            StoreEngine::Other(name.to_owned())
        }
    };
    let options = store_process::data_options(engine.label());
    let given = process.option(options).map(|value| {
        // CockroachDB: `path=/srv,attrs=ssd`.
        value
            .split(',')
            .next()
            .unwrap_or(value)
            .trim_start_matches("path=")
    });
    let directory = reader.link(&format!("proc/{}/cwd", process.pid)).ok();
    let paths = match given.map(|path| elastic::absolute(path, directory.as_deref())) {
        Some(Some(path)) => Paths::Known {
            paths: vec![path],
            from: format!("command line: {}", options.join(", ")),
        },
        Some(None) => Paths::unknown("relative to an unknown directory".to_owned(), true),
        None => Paths::unknown("not on its command line".to_owned(), false),
    };
    Found {
        engine,
        version: None,
        state: StoreState::Running,
        pid: Some(process.pid),
        view,
        paths,
        settings: Vec::new(),
        config_file: None,
    }
}

fn configured(
    reader: &Reader<'_>,
    view: &View,
    running: &[Found],
    skipped: &mut Vec<Skipped>,
) -> Vec<Found> {
    let mut stores = Vec::new();
    let products = elastic::PRODUCTS
        .iter()
        .map(|product| {
            (
                product.engine.clone(),
                product.configured(reader, view, skipped),
            )
        })
        .collect::<Vec<_>>();
    let mongodb = mongo::configured(reader, view, skipped);
    let others: Vec<_> = others::PRODUCTS
        .iter()
        // A running one may have said where its data is.
        .filter(|product| {
            !running
                .iter()
                .any(|store| store.is_known(&product.engine()))
        })
        .map(|product| (product.engine(), product.configured(reader, view, skipped)))
        .collect();
    for (engine, (found, unread)) in products
        .into_iter()
        .chain([(StoreEngine::Mongodb, mongodb)])
        .chain(others)
    {
        // For a running store, the file that it was started with has already been reported.
        let runs = running.iter().any(|store| store.engine == engine);
        if let Some((file, unread)) = unread
            && !runs
        {
            let needs = (unread == Unread::Denied).then_some("root");
            let what = format!("configuration of {}", engine.label());
            skipped.push(Skipped::new(what, format!("{file}: {unread}"), needs));
        }
        stores.extend(found.into_iter().filter(|store| {
            !running
                .iter()
                .any(|other| other.view.is_host() && other.config_file == store.config_file)
        }));
    }
    stores
}

/// Returns the name of a store in reports.
fn label(engine: &StoreEngine, pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("data path of {} (process {pid})", engine.label()),
        None => format!("data path of {}", engine.label()),
    }
}

/// Resolves symbolic links, and translates paths in containers to host paths.
fn resolve_paths(
    reader: &Reader<'_>,
    host: &Host,
    host_view: &View,
    found: Found,
    skipped: &mut Vec<Skipped>,
) -> Store {
    let what = label(&found.engine, found.pid);
    let (paths, paths_from) = match found.paths {
        Paths::Known { paths, from } => (paths, from),
        Paths::Unknown { why, needs } => {
            skipped.push(Skipped::new(&what, &why, Some(needs)));
            (Vec::new(), why)
        }
    };
    let mut data_paths: Vec<String> = Vec::new();
    let taken: usize = host.stores.iter().map(|store| store.data_paths.len()).sum();
    for (index, path) in paths.into_iter().enumerate() {
        if taken + index >= DATA_PATHS_MAX {
            let why = format!("at most {DATA_PATHS_MAX} data paths are looked at");
            skipped.push(Skipped::new(&what, why, None));
            break;
        }
        let resolved = match found.view.resolve(reader, &path) {
            Ok(resolved) => resolved,
            Err(unread) => {
                skipped.push(Skipped::new(&what, format!("{path}: {unread}"), None));
                continue;
            }
        };
        if let Some(why) = resolved.unfinished {
            let what = format!("symbolic links of {path}");
            skipped.push(Skipped::new(what, why, None));
        }
        let path = if found.view.is_host() {
            resolved.path
        } else if let Some(path) = found.view.translate(&resolved.path, host_view) {
            path
        } else {
            let why = format!(
                "{} is in a container, on no mount of the host",
                resolved.path
            );
            skipped.push(Skipped::new(&what, why, Some("--data-path")));
            continue;
        };
        if found.state == StoreState::Configured && host_view.exists(reader, &path) == Some(false) {
            let why = format!("{path} is configured ({paths_from}) and does not exist");
            skipped.push(Skipped::new(&what, why, None));
            continue;
        }
        report_unknown_mount(host, &path, skipped);
        if !data_paths.contains(&path) {
            data_paths.push(path);
        }
    }
    Store {
        engine: found.engine,
        version: found.version,
        state: found.state,
        pid: found.pid,
        data_paths,
        paths_from,
        settings: found.settings,
    }
}

fn report_unknown_mount(host: &Host, path: &str, skipped: &mut Vec<Skipped>) {
    if host.mount_of_path(path).is_none() {
        let what = format!("mount of {path}");
        skipped.push(Skipped::new(
            what,
            "it lies on no mount that is known",
            None,
        ));
    }
}

/// Data directories of packages, with file names that only the store itself creates.
const PACKAGE_DATA: [(&str, &str, &[&str]); 12] = [
    (
        "Elasticsearch",
        "/var/lib/elasticsearch",
        &["nodes", "_state"],
    ),
    ("OpenSearch", "/var/lib/opensearch", &["nodes", "_state"]),
    (
        "MongoDB",
        "/var/lib/mongodb",
        &["WiredTiger", "storage.bson"],
    ),
    ("MongoDB", "/var/lib/mongo", &["WiredTiger", "storage.bson"]),
    ("PostgreSQL", "/var/lib/pgsql/data", &["PG_VERSION"]),
    ("MySQL", "/var/lib/mysql", &["ibdata1"]),
    ("ClickHouse", "/var/lib/clickhouse", &["metadata"]),
    ("Kafka", "/var/lib/kafka", &["meta.properties"]),
    ("Kafka", "/var/lib/kafka/data", &["meta.properties"]),
    ("etcd", "/var/lib/etcd", &["member"]),
    ("Prometheus", "/var/lib/prometheus/metrics2", &["wal"]),
    ("Prometheus", "/var/lib/prometheus/data", &["wal"]),
];

/// Adds a store if its data is in the default location of a package but nothing else of it was
/// found.
fn add_unconfigured(reader: &Reader<'_>, view: &View, host: &mut Host) {
    for (name, path, files) in PACKAGE_DATA {
        let engine = StoreEngine::of_label(name);
        if host.stores.iter().any(|store| store.engine == engine) {
            continue;
        }
        let Ok(resolved) = view.resolve(reader, path) else {
            continue;
        };
        let is_taken = host
            .stores
            .iter()
            .any(|store| store.data_paths.contains(&resolved.path));
        let file = files
            .iter()
            .map(|file| format!("{}/{file}", resolved.path))
            .find(|file| view.exists(reader, file) == Some(true));
        if let Some(file) = file
            && !is_taken
        {
            host.stores.push(Store {
                engine,
                version: None,
                state: StoreState::Configured,
                pid: None,
                data_paths: vec![resolved.path],
                paths_from: format!("data found: {}", &file[1..]),
                settings: Vec::new(),
            });
        }
    }
}

/// Adds a data path supplied by the user.
fn add_given_path(
    reader: &Reader<'_>,
    view: &View,
    path: &str,
    host: &mut Host,
    skipped: &mut Vec<Skipped>,
) {
    let what = format!("--data-path {path}");
    if !path.starts_with('/') {
        skipped.push(Skipped::new(
            what,
            "the path is not absolute",
            Some("a path from /"),
        ));
        return;
    }
    let resolved = match view.resolve(reader, path) {
        Ok(resolved) => resolved,
        Err(unread) => {
            skipped.push(Skipped::new(what, unread.to_string(), None));
            return;
        }
    };
    match view.exists(reader, &resolved.path) {
        Some(true) => {}
        Some(false) => {
            skipped.push(Skipped::new(what, "nothing is there", None));
            host.missing_data_paths.push(path.to_owned());
            return;
        }
        None => {
            let is_mount_point = host
                .mounts
                .iter()
                .any(|mount| mount.mount_point == resolved.path);
            if !is_mount_point {
                let why = "whether it exists was not recorded; taken to be where its path says";
                skipped.push(Skipped::new(&what, why, None));
            }
        }
    }
    if let Some(why) = resolved.unfinished {
        skipped.push(Skipped::new(&what, why, None));
    }
    let is_known = host
        .stores
        .iter()
        .any(|store| store.data_paths.contains(&resolved.path));
    if is_known {
        return;
    }
    report_unknown_mount(host, &resolved.path, skipped);
    host.stores.push(Store {
        engine: StoreEngine::DataPath,
        version: None,
        state: StoreState::Given,
        pid: None,
        data_paths: vec![resolved.path],
        paths_from: "--data-path".to_owned(),
        settings: Vec::new(),
    });
}

#[cfg(test)]
mod tests;
