//! MongoDB: where mongod stores its data.

use super::config::{self, Config};
use super::elastic::absolute;
use super::found::{Found, Paths};
use super::version;
use crate::collect::view::View;
use crate::parse::store_process::{MONGOD_OPTIONS, MONGOD_SWITCHES, Process};
use crate::parse::{store_config, store_settings as settings};
use crate::source::Reader;
use crate::unread::Unread;
use facts::Skipped;
use facts::host::{StoreEngine, StoreState};

/// Configuration files of the packages: mongodb-org's, and that of Debian and of 2.4.
const CONFIG_FILES: [&str; 2] = ["/etc/mongod.conf", "/etc/mongodb.conf"];

/// Debian packages that contain mongod.
const PACKAGES: [&str; 5] = [
    "mongodb-org-server",
    "mongodb-enterprise-server",
    "mongodb-server-core",
    "mongodb-server",
    "percona-server-mongodb-server",
];

/// Returns a running mongod.
pub(crate) fn running(
    reader: &Reader<'_>,
    view: View,
    process: &Process,
    skipped: &mut Vec<Skipped>,
) -> Found {
    let mut given: Vec<(String, String)> = MONGOD_SWITCHES
        .iter()
        .filter(|(switch, _, _)| process.has_switch(switch))
        .map(|(_, key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    given.extend(MONGOD_OPTIONS.iter().filter_map(|(option, key)| {
        Some(((*key).to_owned(), process.option(&[option])?.to_owned()))
    }));
    let forked_by_option = store_config::value(&given, "processManagement.fork") == Some("true");
    let working_directory = reader.link(&format!("proc/{}/cwd", process.pid)).ok();
    // A mongod that forks resolves its paths and then changes to /.
    let start_directory = |forked: bool| working_directory.as_deref().filter(|_| !forked);
    let config = process.option(&["--config", "-f"]).map(|file| {
        let Some(path) = absolute(file, start_directory(forked_by_option)) else {
            let why = "relative to an unknown directory".to_owned();
            return (file.to_owned(), Err(Unread::Failed(why)));
        };
        let config = config::read(reader, &view, &path, skipped);
        (view.at(&path), config)
    });
    let mut settings = match &config {
        Some((_, Ok(config))) => config.settings.clone(),
        _ => Vec::new(),
    };
    let on_command_line = store_config::value(&given, "storage.dbPath").is_some();
    store_config::override_with(&mut settings, given);
    let forked = store_config::value(&settings, "processManagement.fork") == Some("true");
    let paths = match &config {
        Some((file, Err(unread))) if !on_command_line => {
            Paths::unknown(format!("{file}: {unread}"), *unread == Unread::Denied)
        }
        _ => {
            let from = match &config {
                _ if on_command_line => "command line: --dbpath".to_owned(),
                Some((file, _)) => format!("{file}: storage.dbPath"),
                None => String::new(),
            };
            paths(&settings, from, start_directory(forked))
        }
    };
    let program = reader.link(&format!("proc/{}/exe", process.pid)).ok();
    let program = program
        .as_deref()
        .or(process.arguments.first().map(String::as_str));
    Found {
        engine: StoreEngine::Mongodb,
        version: program.and_then(|program| version(reader, &view, program)),
        state: StoreState::Running,
        pid: Some(process.pid),
        paths,
        settings: shown(settings),
        config_file: config.and_then(|(_, config)| Some(config.ok()?.file)),
        view,
    }
}

/// Returns a mongod that is configured by a package's file. The caller reports what cannot be read.
pub(crate) fn configured(
    reader: &Reader<'_>,
    view: &View,
    skipped: &mut Vec<Skipped>,
) -> (Vec<Found>, Option<(String, Unread)>) {
    let mut found = Vec::new();
    let mut unread = None;
    for path in CONFIG_FILES {
        let (paths, config) = match config::read(reader, view, path, skipped) {
            Ok(config) => {
                let from = format!("{}: storage.dbPath", config.file);
                (paths(&config.settings, from, None), config)
            }
            Err(Unread::NotFound) => continue,
            Err(Unread::Malformed(why)) => {
                let config = Config {
                    file: path[1..].to_owned(),
                    settings: Vec::new(),
                };
                (Paths::unknown(why, false), config)
            }
            Err(error) => {
                unread.get_or_insert((path[1..].to_owned(), error));
                continue;
            }
        };
        found.push(Found {
            engine: StoreEngine::Mongodb,
            version: version(reader, view, "/usr/bin/mongod"),
            state: StoreState::Configured,
            pid: None,
            view: view.clone(),
            paths,
            settings: shown(config.settings),
            config_file: Some(config.file),
        });
    }
    (found, unread)
}

/// Returns the data path: as configured, or mongod's default.
fn paths(settings: &[(String, String)], from: String, start_directory: Option<&str>) -> Paths {
    let is_fetched = |(key, _): &(String, String)| {
        settings::expanded_mongod_setting(key) == Some("storage.dbPath")
    };
    let Some(path) = store_config::value(settings, "storage.dbPath") else {
        if settings.iter().any(is_fetched) {
            return Paths::unknown(format!("{from} is fetched from elsewhere"), false);
        }
        let is_config_server =
            store_config::value(settings, "sharding.clusterRole") == Some("configsvr");
        let path = if is_config_server {
            "/data/configdb"
        } else {
            "/data/db"
        };
        return Paths::Known {
            paths: vec![path.to_owned()],
            from: "default of mongod".to_owned(),
        };
    };
    match absolute(path, start_directory) {
        Some(path) => Paths::Known {
            paths: vec![path],
            from,
        },
        None => Paths::unknown(format!("{from} is relative to an unknown directory"), false),
    }
}

fn version(reader: &Reader<'_>, view: &View, program: &str) -> Option<String> {
    if let Some(version) = version::from_directory(program, "mongodb") {
        return Some(version);
    }
    matches!(program, "mongod" | "/usr/bin/mongod")
        .then(|| version::from_dpkg(reader, view, &PACKAGES))?
}

/// Returns the settings that rules use.
fn shown(settings: Vec<(String, String)>) -> Vec<(String, String)> {
    settings
        .into_iter()
        .filter(|(key, _)| settings::is_kept_for_mongod(key) && key != "storage.dbPath")
        .collect()
}
