//! Stores of which only the data paths matter, by their configuration if they do not run.

use super::config;
use super::found::{Found, Paths};
use crate::collect::view::View;
use crate::parse::{store_config, store_settings as settings};
use crate::source::Reader;
use crate::unread::Unread;
use facts::Skipped;
use facts::host::{StoreEngine, StoreState};

/// A store with its configuration file in YAML.
pub(super) struct Product {
    name: &'static str,
    /// Configuration files of the packages.
    files: &'static [&'static str],
    /// The setting with the data paths: a list or one.
    setting: &'static str,
    /// Data path if the setting is not there, by the packages; `None` if there is none to rely on.
    default: Option<&'static str>,
}

/// `scylla.yaml` (`data_file_directories`, default of its packages), Cassandra's `cassandra.yaml` as the Debian and
/// the Red Hat package install it, and etcd's configuration file (`--config-file`, `data-dir`).
pub(super) const PRODUCTS: [Product; 3] = [
    Product {
        name: "ScyllaDB",
        files: &["/etc/scylla/scylla.yaml"],
        setting: "data_file_directories",
        default: Some("/var/lib/scylla/data"),
    },
    Product {
        name: "Cassandra",
        files: &[
            "/etc/cassandra/cassandra.yaml",
            "/etc/cassandra/conf/cassandra.yaml",
        ],
        setting: "data_file_directories",
        default: Some("/var/lib/cassandra/data"),
    },
    Product {
        name: "etcd",
        files: &["/etc/etcd/etcd.conf.yml", "/etc/etcd/etcd.yaml"],
        setting: "data-dir",
        default: None,
    },
];

impl Product {
    /// The store.
    pub(super) fn engine(&self) -> StoreEngine {
        StoreEngine::Other(self.name.to_owned())
    }

    /// Returns the store if its configuration is there. The caller reports what cannot be read.
    pub(super) fn configured(
        &self,
        reader: &Reader<'_>,
        view: &View,
        skipped: &mut Vec<Skipped>,
    ) -> (Vec<Found>, Option<(String, Unread)>) {
        let (mut found, mut unread) = (Vec::new(), None);
        for file in self.files {
            match config::read(reader, view, file, skipped) {
                Ok(config) => found.push(self.found(view, &config)),
                Err(Unread::NotFound) => {}
                Err(error) => {
                    unread.get_or_insert((file[1..].to_owned(), error));
                }
            }
        }
        (found, unread)
    }

    fn found(&self, view: &View, config: &config::Config) -> Found {
        let is_path = |(key, _): &&(String, String)| settings::list_of(key) == self.setting;
        let given: Vec<String> = (config.settings.iter())
            .filter(is_path)
            .map(|(_, value)| value.clone())
            .filter(|value| !value.is_empty())
            .collect();
        // ScyllaDB's own directory, below which its data is.
        let below = store_config::value(&config.settings, "workdir")
            .filter(|_| given.is_empty())
            .map(|workdir| format!("{workdir}/data"));
        let (paths, from) = match (given.is_empty(), below, self.default) {
            (false, ..) => (given, format!("{}: {}", config.file, self.setting)),
            (true, Some(below), _) => (vec![below], format!("{}: workdir", config.file)),
            (true, None, Some(default)) => (
                vec![default.to_owned()],
                format!("default of {}", self.name),
            ),
            (true, None, None) => (Vec::new(), String::new()),
        };
        let paths = if paths.is_empty() || paths.iter().any(|path| !path.starts_with('/')) {
            Paths::unknown(
                format!("{}: {} names no absolute path", config.file, self.setting),
                false,
            )
        } else {
            Paths::Known { paths, from }
        };
        Found {
            engine: self.engine(),
            version: None,
            state: StoreState::Configured,
            pid: None,
            view: view.clone(),
            paths,
            settings: Vec::new(),
            config_file: Some(config.file.clone()),
        }
    }
}
