//! Elasticsearch and OpenSearch: where a node stores its data.

use super::config::{self, Config};
use super::found::{Found, Paths};
use super::version;
use crate::collect::view::View;
use crate::parse::store_process::Process;
use crate::parse::{store_config, store_settings as settings};
use crate::source::Reader;
use crate::unread::Unread;
use facts::Skipped;
use facts::host::{StoreEngine, StoreState};
use std::iter;

/// One of the two products; OpenSearch is a fork of Elasticsearch 7 with the same layout.
#[derive(Debug)]
pub(crate) struct Product {
    pub(crate) engine: StoreEngine,
    /// Name used in its files: `etc/NAME/NAME.yml`, `lib/NAME-1.0.jar`.
    pub(crate) name: &'static str,
    /// Prefix of its Java system properties.
    property: &'static str,
    /// Names of its Debian packages.
    packages: &'static [&'static str],
}

pub(crate) const PRODUCTS: [Product; 2] = [
    Product {
        engine: StoreEngine::Elasticsearch,
        name: "elasticsearch",
        property: "es",
        packages: &["elasticsearch", "elasticsearch-oss"],
    },
    Product {
        engine: StoreEngine::Opensearch,
        name: "opensearch",
        property: "opensearch",
        packages: &["opensearch"],
    },
];

impl Product {
    fn file_name(&self) -> String {
        format!("{}.yml", self.name)
    }

    fn version(&self, reader: &Reader<'_>, view: &View, home: Option<&str>) -> Option<String> {
        let home = home?;
        version::from_jar(reader, view, home, self.name)
            .or_else(|| version::from_directory(home, self.name))
            .or_else(|| {
                let is_package = home.strip_prefix("/usr/share/") == Some(self.name);
                is_package.then(|| version::from_dpkg(reader, view, self.packages))?
            })
    }

    /// Returns a running node. `launcher` is the process that started it, if that is
    /// Elasticsearch's own (8.4 and later): only the launcher's command line contains the paths and
    /// settings.
    pub(crate) fn running(
        &self,
        reader: &Reader<'_>,
        view: View,
        process: &Process,
        launcher: Option<&Process>,
        skipped: &mut Vec<Skipped>,
    ) -> Found {
        let command_lines: Vec<&Process> = launcher.into_iter().chain([process]).collect();
        let given = given_settings(self.property, &command_lines);
        let property = |name: &str| {
            let name = format!("{}.{name}", self.property);
            command_lines
                .iter()
                .find_map(|process| process.property(&name))
        };
        let home = property("path.home").or_else(|| process.module_path()?.strip_suffix("/lib"));
        if property("path.home").is_none() {
            let why = "the process that started it has ended: settings given with -E are not known";
            let what = format!("command line of {} (process {})", self.name, process.pid);
            skipped.push(Skipped::new(what, why, None));
        }
        let working_directory = reader
            .link(&format!("proc/{}/cwd", process.pid))
            .ok()
            // The start script first changes to path.home.
            .or_else(|| home.map(str::to_owned));
        let file = property("config")
            .map(str::to_owned)
            .or_else(|| {
                let directory = property("path.conf")
                    .or_else(|| store_config::value(&given, "path.conf"))
                    .or_else(|| store_config::value(&given, "default.path.conf"))?;
                Some(format!("{directory}/{}", self.file_name()))
            })
            .or_else(|| match property("distribution.type") {
                Some("deb" | "rpm") => Some(format!("/etc/{}/{}", self.name, self.file_name())),
                _ => Some(format!("{}/config/{}", home?, self.file_name())),
            })
            .and_then(|file| absolute(&file, working_directory.as_deref()));
        let config = match &file {
            Some(file) => config::read(reader, &view, file, skipped),
            None => Err(Unread::Failed("its place is not known".to_owned())),
        };
        // A tree may lack the file that the host has, and with it the paths.
        let config = config.map_err(|unread| match unread {
            Unread::NotFound if !reader.is_whole() => Unread::NotRecorded,
            unread => unread,
        });
        // In the versions that have one, a package default is on the command line.
        let paths = self.paths(&config, &given, home, working_directory.as_deref(), false);
        let paths = match paths {
            Err(Unknown::Config(unread)) => {
                let file = file.unwrap_or_else(|| self.file_name());
                let file = view.at(&file);
                Paths::unknown(format!("{file}: {unread}"), unread == Unread::Denied)
            }
            Err(Unknown::Value(why)) => Paths::unknown(why, false),
            Ok((paths, from)) => Paths::Known { paths, from },
        };
        let version = self.version(reader, &view, home);
        let mut settings = config
            .as_ref()
            .map_or_else(|_| Vec::new(), |config| config.settings.clone());
        let config_file = config.ok().map(|config| config.file);
        store_config::override_with(&mut settings, given);
        let mut settings = shown(settings);
        settings.extend(process.heap());
        Found {
            engine: self.engine.clone(),
            version,
            state: StoreState::Running,
            pid: Some(process.pid),
            view,
            paths,
            settings,
            config_file,
        }
    }

    /// Returns configured installations: the packages, and tarballs unpacked below /usr/share and
    /// /opt, each with its configuration file. The caller reports what cannot be read.
    pub(crate) fn configured(
        &self,
        reader: &Reader<'_>,
        view: &View,
        skipped: &mut Vec<Skipped>,
    ) -> (Vec<Found>, Option<(String, Unread)>) {
        let of_package = format!("/usr/share/{}", self.name);
        let mut homes = vec![(format!("/etc/{}", self.name), of_package.clone(), true)];
        let unpacked = view.list(reader, "/opt").into_iter();
        let unpacked = unpacked.filter(|name| name.starts_with(self.name));
        for home in iter::once(of_package).chain(unpacked.map(|name| format!("/opt/{name}"))) {
            homes.push((format!("{home}/config"), home, false));
        }
        let mut found = Vec::new();
        let mut unread = None;
        for (directory, home, is_package) in homes {
            let file = format!("{directory}/{}", self.file_name());
            let config = match config::read(reader, view, &file, skipped) {
                Ok(config) => Ok(config),
                Err(Unread::NotFound) => continue,
                Err(error @ Unread::Malformed(_)) => Err(error),
                Err(error) => {
                    unread.get_or_insert((file[1..].to_owned(), error));
                    continue;
                }
            };
            let paths = match self.paths(&config, &[], Some(&home), Some(&home), is_package) {
                Ok((paths, from)) => Paths::Known { paths, from },
                Err(Unknown::Config(error)) => Paths::unknown(error.to_string(), false),
                Err(Unknown::Value(why)) => Paths::unknown(why, false),
            };
            let (settings, config_file) = config.map_or_else(
                |_| (Vec::new(), Some(file[1..].to_owned())),
                |config| (shown(config.settings), Some(config.file)),
            );
            found.push(Found {
                engine: self.engine.clone(),
                version: self.version(reader, view, Some(&home)),
                state: StoreState::Configured,
                pid: None,
                view: view.clone(),
                paths,
                settings,
                config_file,
            });
        }
        (found, unread)
    }

    /// Returns the data paths and where they come from: the command line overrides the file, which
    /// overrides the default of 5.x packages, which overrides path.home/data.
    fn paths(
        &self,
        config: &Result<Config, Unread>,
        given: &[(String, String)],
        home: Option<&str>,
        working_directory: Option<&str>,
        is_package: bool,
    ) -> Result<(Vec<String>, String), Unknown> {
        let on_command_line = list(given, "path.data")?;
        let (values, from) = if let Some(values) = on_command_line {
            (values, "command line: path.data".to_owned())
        } else {
            let (settings, file) = match config {
                Ok(config) => (config.settings.as_slice(), Some(&config.file)),
                // A node without a configuration file runs with the defaults.
                Err(Unread::NotFound) => (&[][..], None),
                Err(unread) => return Err(Unknown::Config(unread.clone())),
            };
            if let Some(values) = list(settings, "path.data")? {
                let file = file.map_or("configuration", String::as_str);
                (values, format!("{file}: path.data"))
            } else if let Some(values) = list(given, "default.path.data")? {
                (values, "command line: default.path.data".to_owned())
            } else if is_package {
                let path = format!("/var/lib/{}", self.name);
                (vec![path], "default of the package".to_owned())
            } else {
                let home = home.ok_or_else(|| {
                    Unknown::Value("neither path.data nor path.home is known".to_owned())
                })?;
                (
                    vec![format!("{home}/data")],
                    "default: path.home/data".to_owned(),
                )
            }
        };
        let mut settings = config
            .as_ref()
            .map_or_else(|_| Vec::new(), |config| config.settings.clone());
        store_config::override_with(&mut settings, given.to_vec());
        let mut paths = Vec::with_capacity(values.len());
        for value in values {
            let path = store_config::expand(&value, &settings).map_err(|placeholder| {
                Unknown::Value(format!(
                    "{from} has {placeholder}, whose value is not known"
                ))
            })?;
            let path = absolute(&path, working_directory).ok_or_else(|| {
                Unknown::Value(format!("{from} is relative to an unknown directory"))
            })?;
            paths.push(path);
        }
        Ok((paths, from))
    }
}

/// Why data paths are unknown.
enum Unknown {
    /// The configuration could not be read.
    Config(Unread),
    /// The configuration was read, but is not sufficient.
    Value(String),
}

fn list(settings: &[(String, String)], key: &str) -> Result<Option<Vec<String>>, Unknown> {
    store_config::list(settings, key).map_err(|error| Unknown::Value(error.to_string()))
}

/// Returns the settings on the command lines: system properties of 1.x and 2.x (`-Des.path.data=`),
/// then server arguments, which override them.
fn given_settings(prefix: &str, processes: &[&Process]) -> Vec<(String, String)> {
    let mut given = Vec::new();
    for process in processes {
        store_config::override_with(&mut given, process.prefixed_properties(prefix));
        store_config::override_with(&mut given, process.settings());
    }
    given
}

/// Returns the settings that rules use, without paths; lists are joined by commas.
fn shown(settings: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut shown: Vec<(String, String)> = Vec::new();
    for (key, value) in settings {
        let list = settings::list_of(&key);
        if !settings::is_kept(list) || list.contains("path.") {
            continue;
        }
        match shown.last_mut() {
            Some((name, joined)) if name == list && key != list => {
                joined.push(',');
                joined.push_str(&value);
            }
            _ => shown.push((list.to_owned(), value)),
        }
    }
    shown
}

/// Makes a path absolute; `None` if it is relative and the working directory is unknown.
pub(crate) fn absolute(path: &str, working_directory: Option<&str>) -> Option<String> {
    if path.starts_with('/') {
        return Some(path.to_owned());
    }
    let directory = working_directory.filter(|directory| directory.starts_with('/'))?;
    Some(format!("{}/{path}", directory.trim_end_matches('/')))
}
