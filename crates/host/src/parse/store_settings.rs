//! Which settings in the configurations of stores are read, and kept in bundles.

/// Relevant settings of Elasticsearch and OpenSearch; none can contain a secret. List items
/// (`node.roles[0]`) count as their list.
const KEPT: [&str; 12] = [
    "path.data",
    "default.path.data",
    "path.conf",
    "default.path.conf",
    "cluster.name",
    "node.name",
    "node.roles",
    "node.master",
    "node.data",
    "bootstrap.memory_lock",
    "index.codec",
    "index.store.type",
];

/// Relevant settings of mongod, by their names in its YAML file; none can contain a secret.
const MONGOD_KEPT: [&str; 14] = [
    "storage.dbPath",
    "storage.engine",
    "storage.directoryPerDB",
    "storage.syncPeriodSecs",
    "storage.journal.enabled",
    "storage.journal.commitIntervalMs",
    "storage.wiredTiger.engineConfig.cacheSizeGB",
    "storage.wiredTiger.engineConfig.journalCompressor",
    "storage.wiredTiger.engineConfig.directoryForIndexes",
    "storage.wiredTiger.collectionConfig.blockCompressor",
    "storage.wiredTiger.indexConfig.prefixCompression",
    "storage.mmapv1.smallFiles",
    "sharding.clusterRole",
    "processManagement.fork",
];

/// Names of mongod's settings before version 2.6, and the YAML names that replaced them (MongoDB
/// manual, "Configuration File Settings and Command-Line Options Mapping").
const MONGOD_LEGACY_NAMES: [(&str, &str); 12] = [
    ("dbpath", "storage.dbPath"),
    ("storageEngine", "storage.engine"),
    ("directoryperdb", "storage.directoryPerDB"),
    ("syncdelay", "storage.syncPeriodSecs"),
    ("journal", "storage.journal.enabled"),
    ("nojournal", "nojournal"),
    ("journalCommitInterval", "storage.journal.commitIntervalMs"),
    (
        "wiredTigerCollectionBlockCompressor",
        "storage.wiredTiger.collectionConfig.blockCompressor",
    ),
    (
        "wiredTigerJournalCompressor",
        "storage.wiredTiger.engineConfig.journalCompressor",
    ),
    (
        "wiredTigerDirectoryForIndexes",
        "storage.wiredTiger.engineConfig.directoryForIndexes",
    ),
    ("configsvr", "configsvr"),
    ("fork", "processManagement.fork"),
];

/// Whether a setting of Elasticsearch or OpenSearch is kept.
pub(crate) fn is_kept(key: &str) -> bool {
    let list = list_of(key);
    KEPT.contains(&list) || list.starts_with("indices.store.throttle.")
}

/// Returns the key without an item number: `path.data` for `path.data[0]`.
pub(crate) fn list_of(key: &str) -> &str {
    key.strip_suffix(']')
        .and_then(|key| key.rsplit_once('['))
        .filter(|(_, number)| number.bytes().all(|b| b.is_ascii_digit()))
        .map_or(key, |(list, _)| list)
}

/// Whether a setting of another store is kept: where its data is.
pub(crate) fn is_kept_for_others(key: &str) -> bool {
    ["data_file_directories", "workdir", "data-dir"].contains(&list_of(key))
}

/// Whether a setting of mongod is kept.
pub(crate) fn is_kept_for_mongod(key: &str) -> bool {
    MONGOD_KEPT.contains(&key)
}

/// Returns the kept setting whose value mongod fetches from a program or a URL, for
/// `storage.dbPath.__exec` and the like (mongod's expansion directives).
pub(crate) fn expanded_mongod_setting(key: &str) -> Option<&str> {
    let (key, _) = key.split_once(".__exec").or(key.split_once(".__rest"))?;
    is_kept_for_mongod(key).then_some(key)
}

/// Returns the YAML name of a setting in the old format; `None` if it is not kept.
pub(crate) fn current_mongod_name(old: &str) -> Option<&'static str> {
    MONGOD_LEGACY_NAMES
        .iter()
        .find(|(name, _)| *name == old)
        .map(|(_, new)| *new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_count_as_their_list() {
        assert!(is_kept("path.data[12]"));
        assert!(is_kept("indices.store.throttle.max_bytes_per_sec"));
        assert!(!is_kept("path.data[x]"));
        assert!(!is_kept("path.data.password"));
        assert!(!is_kept("path.repo"));
        assert!(!is_kept("xpack.security.transport.ssl.keystore.password"));
    }

    #[test]
    fn expansions_are_known_by_the_setting_they_fill() {
        assert_eq!(
            expanded_mongod_setting("storage.dbPath.__rest"),
            Some("storage.dbPath")
        );
        assert_eq!(expanded_mongod_setting("net.tls.__exec"), None);
    }
}
