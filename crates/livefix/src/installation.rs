//! A server's configuration folder, and the files that the fix changes in it.

use crate::need::{Need, need};
use crate::options::{EditError, agent_jar, with_agent, without_agent};
use edits::{Change, ChangeError, Contents, Entry, Root};
use facts::cluster::{Flavour, LIVE_FIX_JAR, ServerVersion};
use linux::regular_file;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Options of the JVM.
const OPTIONS_NAME: &str = "jvm.options";
/// The same as it was before.
const BACKUP_NAME: &str = "jvm.options.before-trimtab-livefix";
/// Where packages install the server.
const PACKAGE_HOME: &str = "/usr/share/elasticsearch";
/// No options are as long.
const OPTIONS_BYTES_MAX: u64 = 1 << 20;
/// The agent has 190 KB.
const JAR_BYTES_MAX: u64 = 16 << 20;

/// Why the fix is not installed or removed.
#[derive(Debug, Error)]
pub enum InstallError {
    /// A file or folder cannot be read, or is not what it should be.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// No jar of the server was found.
    #[error(
        "the server's version is not known: no lib/elasticsearch-VERSION.jar in {}",
        homes.iter().map(|home| home.display().to_string()).collect::<Vec<_>>().join(" or ")
    )]
    NoVersion {
        /// Where it was looked for.
        homes: Vec<PathBuf>,
    },
    /// The version does not need it.
    #[error(
        "Elasticsearch {version} does not need the live fix: 7.6 and later keep lists of the shards instead of scanning"
    )]
    NotNeeded {
        /// The version.
        version: ServerVersion,
    },
    /// The version is too old.
    #[error("the live fix was not tested on Elasticsearch {version}: expected 6.8 to 7.5")]
    NotTried {
        /// The version.
        version: ServerVersion,
    },
    /// The options cannot be edited.
    #[error("{}: {error}", path.display())]
    Edit {
        /// The file.
        path: PathBuf,
        /// Why.
        error: EditError,
    },
    /// The options do not name the agent.
    #[error("{}: the live fix is not in it", path.display())]
    NotInstalled {
        /// The file.
        path: PathBuf,
    },
}

/// A server's configuration folder.
#[derive(Debug)]
pub struct Installation {
    folder: Root,
    /// Where its version was looked for.
    homes: Vec<PathBuf>,
    /// Its version; `None` if it is not known.
    pub version: Option<ServerVersion>,
}

impl Installation {
    /// Opens a configuration folder, such as `/etc/elasticsearch`. The version is that of the jar in `home`, by default
    /// the folder above `config` or where packages install the server.
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn open(config: &Path, home: Option<&Path>) -> Result<Self, InstallError> {
        let path = fs::canonicalize(config).map_err(at(config))?;
        let above = path.parent().map(Path::to_owned);
        let homes: Vec<PathBuf> = match home {
            Some(home) => vec![home.to_owned()],
            None => above
                .into_iter()
                .chain([PathBuf::from(PACKAGE_HOME)])
                .collect(),
        };
        Ok(Self {
            folder: Root::open(path).map_err(at(config))?,
            version: homes.iter().find_map(|home| version_in(&home.join("lib"))),
            homes,
        })
    }

    /// The folder, as an absolute path without links.
    pub fn config(&self) -> &Path {
        self.folder.path()
    }

    /// Makes changes, all or none.
    ///
    /// # Errors
    /// If a file cannot be written or removed, or is not any more what it was when the changes were planned.
    pub fn apply(&self, changes: &[Change]) -> Result<(), ChangeError> {
        edits::apply(&self.folder, changes)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.config().join(name)
    }

    fn read(&self, name: &str, most_bytes: u64) -> Result<Option<Contents>, InstallError> {
        let contents = self.folder.read_file(name, most_bytes);
        contents.map_err(at(&self.path(name)))
    }

    fn options(&self) -> Result<Contents, InstallError> {
        let missing = || at(&self.path(OPTIONS_NAME))(io::Error::other("there is no such file"));
        self.read(OPTIONS_NAME, OPTIONS_BYTES_MAX)?
            .ok_or_else(missing)
    }

    fn edit_error(&self, error: EditError) -> InstallError {
        InstallError::Edit {
            path: self.path(OPTIONS_NAME),
            error,
        }
    }

    /// Where the agent is put.
    fn jar(&self) -> String {
        self.path(LIVE_FIX_JAR).to_string_lossy().into_owned()
    }

    /// Returns the changes that install the agent, whose jar is `jar`. The jar comes first: a server with an option for
    /// a jar that is not there does not start.
    ///
    /// # Errors
    /// If the version does not need it or is not known, or it is there already, or the options cannot be read or edited.
    pub fn install(&self, jar: &Path) -> Result<Vec<Change>, InstallError> {
        let Some(version) = self.version.clone() else {
            let homes = self.homes.clone();
            return Err(InstallError::NoVersion { homes });
        };
        match need(Flavour::Elasticsearch, &version) {
            Need::Needed => {}
            Need::NotNeeded => return Err(InstallError::NotNeeded { version }),
            Need::NotTried => return Err(InstallError::NotTried { version }),
        }
        let agent = read_jar(jar)?;
        let before = self.options()?;
        let after = with_agent(&before.bytes, &self.jar());
        let after = after.map_err(|error| self.edit_error(error))?;
        Ok(vec![
            Change {
                name: LIVE_FIX_JAR.to_owned(),
                what: format!("written, {}", units::bytes(agent.len() as u64)),
                before: self.read(LIVE_FIX_JAR, JAR_BYTES_MAX)?.map(Entry::File),
                // The server runs as another user.
                after: Some(Entry::File(Contents::readable(agent, &before))),
            },
            Change {
                name: BACKUP_NAME.to_owned(),
                what: format!("written, a copy of {OPTIONS_NAME}"),
                before: self.read(BACKUP_NAME, OPTIONS_BYTES_MAX)?.map(Entry::File),
                after: Some(Entry::File(before.clone())),
            },
            Change {
                name: OPTIONS_NAME.to_owned(),
                what: format!("added at its end: -javaagent:{}", self.jar()),
                after: Some(Entry::File(before.with_bytes(after))),
                before: Some(Entry::File(before)),
            },
        ])
    }

    /// Returns the changes that remove the agent: the options as they were, byte for byte; if they were edited since,
    /// without the agent's lines.
    ///
    /// # Errors
    /// If it is not there, or the options cannot be read.
    pub fn uninstall(&self) -> Result<Vec<Change>, InstallError> {
        let now = self.options()?;
        let without = without_agent(&now.bytes).map_err(|error| self.edit_error(error))?;
        let without = without.ok_or_else(|| InstallError::NotInstalled {
            path: self.path(OPTIONS_NAME),
        })?;
        let original = self.read(BACKUP_NAME, OPTIONS_BYTES_MAX)?;
        let is_unedited = original.as_ref().is_some_and(|original| {
            with_agent(&original.bytes, &self.jar()).is_ok_and(|written| written == *now.bytes)
        });
        let (bytes, what) = match &original {
            Some(original) if is_unedited => (original.bytes.to_vec(), "restored, byte for byte"),
            _ => (
                without,
                "without the lines of the live fix; your later changes stay",
            ),
        };
        // A jar somewhere else is not ours to remove.
        let is_ours = agent_jar(&String::from_utf8_lossy(&now.bytes)) == Some(self.jar().as_str());
        let mut changes = vec![Change {
            name: OPTIONS_NAME.to_owned(),
            what: what.to_owned(),
            after: Some(Entry::File(now.with_bytes(bytes))),
            before: Some(Entry::File(now)),
        }];
        let jar = self.read(LIVE_FIX_JAR, JAR_BYTES_MAX)?.filter(|_| is_ours);
        for (name, before) in [(BACKUP_NAME, original), (LIVE_FIX_JAR, jar)] {
            if before.is_some() {
                changes.push(Change {
                    name: name.to_owned(),
                    what: "removed".to_owned(),
                    before: before.map(Entry::File),
                    after: None,
                });
            }
        }
        Ok(changes)
    }
}

/// The version of the server whose jars are in a folder, by its own jar's name.
pub(crate) fn version_in(lib: &Path) -> Option<ServerVersion> {
    let names = fs::read_dir(lib).ok()?.flatten();
    let mut versions = names.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix("elasticsearch-")?.strip_suffix(".jar")?;
        // elasticsearch-core-7.4.2.jar is another one.
        version.parse::<ServerVersion>().ok()
    });
    versions.next()
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> InstallError + '_ {
    move |error| InstallError::File {
        path: path.to_owned(),
        error,
    }
}

fn read_jar(path: &Path) -> Result<Vec<u8>, InstallError> {
    let mut bytes = Vec::new();
    let file = regular_file::open(path).map_err(at(path))?;
    file.take(JAR_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(at(path))?;
    if bytes.len() as u64 > JAR_BYTES_MAX {
        let limit = units::bytes(JAR_BYTES_MAX);
        let message = format!("expected a jar of at most {limit}, found more");
        return Err(at(path)(io::Error::other(message)));
    }
    // What a jar, which is a zip archive, begins with.
    if !bytes.starts_with(b"PK") {
        return Err(at(path)(io::Error::other(
            "expected a jar, found something else",
        )));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::attributes::testing::{ACL, acl_for, get, impossible, set};
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Server {
        folder: tempfile::TempDir,
    }

    impl Server {
        fn new(version: &str, options: &[u8]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in ["lib", "config"] {
                fs::create_dir(folder.path().join(name)).unwrap();
            }
            for jar in [
                format!("elasticsearch-core-{version}.jar"),
                format!("elasticsearch-{version}.jar"),
            ] {
                fs::write(folder.path().join("lib").join(jar), "").unwrap();
            }
            fs::write(folder.path().join("config/jvm.options"), options).unwrap();
            fs::write(folder.path().join("agent.jar"), "PK agent").unwrap();
            Self { folder }
        }

        fn config(&self) -> PathBuf {
            fs::canonicalize(self.folder.path().join("config")).unwrap()
        }

        fn open(&self) -> Installation {
            Installation::open(&self.config(), None).unwrap()
        }

        fn install(&self) -> Result<Vec<Change>, InstallError> {
            self.open().install(&self.folder.path().join("agent.jar"))
        }

        fn options(&self) -> Vec<u8> {
            fs::read(self.config().join("jvm.options")).unwrap()
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(self.config()).unwrap().flatten();
            let names = entries.map(|entry| entry.file_name().into_string().unwrap());
            let mut names: Vec<String> = names.collect();
            names.sort();
            names
        }
    }

    #[test]
    fn what_is_installed_is_removed_byte_for_byte() {
        // No line break at the end, and a mode that is not the default.
        let original = b"## heap\n-Xms1g\r\n-Xmx1g";
        let server = Server::new("7.4.2", original);
        let options = server.config().join("jvm.options");
        fs::set_permissions(&options, fs::Permissions::from_mode(0o660)).unwrap();
        let changes = server.install().unwrap();
        assert_eq!(server.options(), original, "planning changes nothing");
        server.open().apply(&changes).unwrap();
        let written = String::from_utf8(server.options()).unwrap();
        let jar = server.config().join(LIVE_FIX_JAR);
        assert!(
            written.ends_with(&format!("-javaagent:{}\n", jar.display())),
            "{written}"
        );
        assert_eq!(fs::read(&jar).unwrap(), b"PK agent");
        assert_eq!(
            fs::metadata(&jar).unwrap().permissions().mode() & 0o777,
            0o644
        );
        let backup = server.config().join(BACKUP_NAME);
        assert_eq!(
            fs::metadata(backup).unwrap().permissions().mode() & 0o777,
            0o660
        );
        assert_eq!(
            fs::metadata(&options).unwrap().permissions().mode() & 0o777,
            0o660
        );
        assert!(matches!(server.install(), Err(InstallError::Edit { .. })));
        server
            .open()
            .apply(&server.open().uninstall().unwrap())
            .unwrap();
        assert_eq!(server.options(), original);
        assert_eq!(server.names(), ["jvm.options"]);
        assert!(matches!(
            server.open().uninstall(),
            Err(InstallError::NotInstalled { .. })
        ));
    }

    /// A server that runs as another user may be let in by an ACL only.
    #[test]
    fn the_acl_and_other_attributes_stay() {
        let server = Server::new("6.8.23", b"-Xms1g\n");
        let options = server.config().join(OPTIONS_NAME);
        if !set(&options, ACL, &acl_for(4711)) || !set(&options, "user.note", b"kept") {
            return;
        }
        let has_all = |name: &str| {
            let path = server.config().join(name);
            assert_eq!(get(&path, ACL), Some(acl_for(4711)), "{name}");
            assert_eq!(
                get(&path, "user.note").as_deref(),
                Some(&b"kept"[..]),
                "{name}"
            );
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o640, "{name}");
        };
        server.open().apply(&server.install().unwrap()).unwrap();
        has_all(OPTIONS_NAME);
        has_all(BACKUP_NAME);
        assert_eq!(get(&server.config().join(LIVE_FIX_JAR), ACL), None);
        server
            .open()
            .apply(&server.open().uninstall().unwrap())
            .unwrap();
        has_all(OPTIONS_NAME);
        assert_eq!(server.options(), b"-Xms1g\n");
    }

    #[test]
    fn an_attribute_that_cannot_be_kept_changes_nothing() {
        let server = Server::new("6.8.23", b"-Xms1g\n");
        let mut changes = server.install().unwrap();
        let Some(Entry::File(options)) = &mut changes[2].after else {
            panic!("expected a file");
        };
        options.attributes = impossible();
        let error = server.open().apply(&changes).unwrap_err().to_string();
        assert!(error.contains("nonsense.note"), "{error}");
        assert!(error.contains("nothing was changed"), "{error}");
        assert_eq!(server.options(), b"-Xms1g\n");
        assert_eq!(server.names(), ["jvm.options"]);
    }

    #[test]
    fn later_changes_of_others_stay() {
        let server = Server::new("6.8.23", b"-Xms1g\n");
        server.open().apply(&server.install().unwrap()).unwrap();
        let mut edited = server.options();
        edited.extend(b"-Xmx2g\n");
        fs::write(server.config().join("jvm.options"), edited).unwrap();
        server
            .open()
            .apply(&server.open().uninstall().unwrap())
            .unwrap();
        assert_eq!(server.options(), b"-Xms1g\n-Xmx2g\n");
        assert_eq!(server.names(), ["jvm.options"]);
    }

    #[test]
    fn versions_that_do_not_need_it_are_refused() {
        for (version, needs) in [
            ("7.6.0", "does not need"),
            ("6.7.0", "not tested"),
            ("5.6.16", "not tested"),
        ] {
            let error = Server::new(version, b"").install().unwrap_err().to_string();
            assert!(error.contains(needs), "{error}");
        }
    }

    #[test]
    fn what_others_manage_is_refused() {
        let server = Server::new("7.4.2", b"");
        let options = server.config().join("jvm.options");
        fs::rename(&options, server.config().join("real")).unwrap();
        symlink("real", &options).unwrap();
        let error = server.install().unwrap_err().to_string();
        assert!(error.contains("found a symbolic link"), "{error}");
        fs::remove_file(&options).unwrap();
        assert!(matches!(server.install(), Err(InstallError::File { .. })));
        let empty = tempfile::tempdir().unwrap();
        let config = empty.path().join("config");
        fs::create_dir(&config).unwrap();
        fs::write(config.join("jvm.options"), "").unwrap();
        let unknown = Installation::open(&config, Some(empty.path())).unwrap();
        let error = unknown
            .install(&server.folder.path().join("agent.jar"))
            .unwrap_err();
        assert!(matches!(error, InstallError::NoVersion { .. }), "{error}");
    }
}
