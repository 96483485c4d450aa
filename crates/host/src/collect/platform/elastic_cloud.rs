use crate::collect::view::View;
use crate::source::Reader;
use facts::Host;

/// Default data directory of the Elastic Cloud Enterprise installer (option `--host-storage-path`).
const STORAGE: &str = "/mnt/data/elastic";
/// A runner's directory is named after the host's address, and a host has one runner.
const RUNNERS_MAX: usize = 64;
/// Part of the data path of every node: `RUNNER/services/allocator/containers/elasticsearch/...`.
const CONTAINERS: &str = "/services/allocator/containers/";

/// Detects an Elastic Cloud Enterprise host: by the state of its installer, the directory of its
/// runner, or a store whose data is where its allocator puts it. Stores and mounts must have been
/// read before.
pub(crate) fn read(reader: &Reader<'_>, view: &View, host: &mut Host) {
    let by_store = || {
        host.stores
            .iter()
            .flat_map(|store| &store.data_paths)
            .find(|path| path.contains(CONTAINERS))
            .map(|path| format!("data path {path}"))
    };
    host.platform.elastic_cloud_enterprise = by_storage(reader, view).or_else(by_store);
}

fn by_storage(reader: &Reader<'_>, view: &View) -> Option<String> {
    let names = view.list(reader, STORAGE);
    if names.iter().any(|name| name == "bootstrap-state") {
        return Some(format!("{}/bootstrap-state", &STORAGE[1..]));
    }
    names
        .iter()
        .take(RUNNERS_MAX)
        .flat_map(|name| {
            ["runner", "runners"].map(|service| format!("{STORAGE}/{name}/services/{service}"))
        })
        .find(|path| view.exists(reader, path) == Some(true))
        .map(|path| path[1..].to_owned())
}
