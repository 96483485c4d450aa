//! Opening a store: checks the format, the version and write access.

use super::{
    APPLICATION_ID, BUSY_POLL, SCHEMA_VERSION, Store, TABLES, failure, immediate, refusal,
};
use crate::SourceError;
use linux::regular_file;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum time to wait for another writer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of a row or text that SQLite may build, in bytes.
const ROW_BYTES_MAX: i32 = 4 << 20;

/// The first bytes of every SQLite database (Database File Format, 1.3).
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Returns whether a file is an SQLite database, and so perhaps a store; [`Store::open_read_only`] finds
/// out. An unreadable file is not.
pub fn is_database(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    let read = regular_file::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == MAGIC
}

/// The kind of database in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// An empty database, such as a newly created file.
    Nothing,
    /// A store of the current version.
    Store,
}

impl Store {
    /// Opens a store for appending; creates it, readable by its owner only, if it does not exist.
    ///
    /// # Errors
    /// When the file cannot be created or opened, when it is not a store or has a newer version, when it is
    /// damaged, or when another process has kept it locked for ten seconds. A file that is not a store is
    /// left unchanged.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        // What is there may be something that SQLite must not write to.
        let made = match made {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => regular_file::open(path),
            made => made,
        };
        if let Err(error) = made {
            return Err(SourceError::File {
                path: path.display().to_string(),
                error,
            });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut store = Self::connect(path, path, flags)?;
        if store.content()? == Content::Nothing {
            store.make_tables().map_err(|error| failure(path, &error))?;
            store.content()?;
        }
        Ok(store)
    }

    /// Opens a store for reading. Nothing is created or written except SQLite's lock files beside it; if
    /// these cannot be created either and none are left over, the file is read as immutable.
    ///
    /// # Errors
    /// Same as [`Store::open`], and when there is no file or it is empty.
    pub fn open_read_only(path: &Path) -> Result<Self, SourceError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let missing = std::fs::metadata(path).err();
        if let Some(error) = missing {
            return Err(SourceError::File {
                path: path.display().to_string(),
                error,
            });
        }
        let mut store = Self::connect(path, path, flags)?;
        if store.cannot_create_lock_files() {
            store = Self::open_immutable(path)?;
        }
        match store.content()? {
            Content::Store => Ok(store),
            Content::Nothing => Err(SourceError::Empty {
                source_name: path.display().to_string(),
                reason: "nothing was stored yet; import a history first".to_owned(),
            }),
        }
    }

    /// Opens a file that nobody writes to, without any locks.
    pub(super) fn open_immutable(path: &Path) -> Result<Self, SourceError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        Self::connect(path, &immutable_uri(path), flags)
    }

    fn connect(path: &Path, opened: &Path, flags: OpenFlags) -> Result<Self, SourceError> {
        let connect = || {
            let mut connection = Connection::open_with_flags(opened, flags)?;
            connection.busy_handler(Some(wait_while_busy))?;
            connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, ROW_BYTES_MAX)?;
            // The file may come from an untrusted source.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
            connection.pragma_update(None, "cell_size_check", true)?;
            Ok(connection)
        };
        Ok(Self {
            connection: connect().map_err(|error| failure(path, &error))?,
            path: path.to_owned(),
            unlocked: None,
        })
    }

    /// Returns whether the lock files are missing and cannot be created: in WAL mode even readers need
    /// them, but may lack write permission for the directory.
    fn cannot_create_lock_files(&self) -> bool {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        let asked = self.number("PRAGMA user_version");
        let is_kept = asked.is_err_and(|error| {
            matches!(
                error.sqlite_error_code(),
                Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
            )
        });
        is_kept && !PathBuf::from(log).exists()
    }

    fn number(&self, sql: &str) -> rusqlite::Result<i32> {
        self.connection.query_row(sql, [], |row| row.get(0))
    }

    /// Determines what the file contains.
    fn content(&self) -> Result<Content, SourceError> {
        let fail = |error: rusqlite::Error| failure(&self.path, &error);
        // One consistent snapshot, because another process may be creating the tables right now.
        let snapshot = self.connection.unchecked_transaction().map_err(fail)?;
        let application = self.number("PRAGMA application_id").map_err(fail)?;
        let version = self.number("PRAGMA user_version").map_err(fail)?;
        let tables = self.tables().map_err(fail)?;
        drop(snapshot);
        if application != APPLICATION_ID {
            return if application == 0 && version == 0 && tables.is_empty() {
                Ok(Content::Nothing)
            } else {
                Err(refusal(
                    &self.path,
                    "a trimtab store",
                    "an SQLite database of another program",
                ))
            };
        }
        if version != SCHEMA_VERSION {
            return Err(refusal(
                &self.path,
                &format!("a store of version {SCHEMA_VERSION}, which this trimtab knows"),
                &format!("version {version}, of another trimtab: use that one"),
            ));
        }
        let is_ours = tables.len() == TABLES.len()
            && tables
                .iter()
                .zip(TABLES)
                .all(|((name, text), (our_name, our_text))| name == our_name && text == our_text);
        if is_ours {
            Ok(Content::Store)
        } else {
            Err(refusal(
                &self.path,
                "the tables of a trimtab store and nothing else",
                &tables
                    .iter()
                    .map(|(name, _)| name.as_str())
                    .collect::<Vec<_>>()
                    .join(", "),
            ))
        }
    }

    /// Returns the schema entries not created by SQLite itself, sorted by name; at most one more than
    /// expected.
    fn tables(&self) -> rusqlite::Result<Vec<(String, String)>> {
        let mut query = self.connection.prepare(
            "SELECT name, coalesce(sql, '') FROM sqlite_schema
             WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name LIMIT 3",
        )?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }

    fn make_tables(&mut self) -> rusqlite::Result<()> {
        self.switch_to_wal()?;
        let transaction = immediate(&mut self.connection)?;
        // Another process may have created it meanwhile.
        let made: i32 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if made == 0 {
            for (_, text) in TABLES {
                transaction.execute(text, [])?;
            }
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        }
        transaction.commit()
    }

    /// Switches to WAL mode. Processes that create the same store at once have to retry here, because
    /// SQLite's busy timeout does not cover the switch.
    fn switch_to_wal(&self) -> rusqlite::Result<()> {
        let deadline = Instant::now() + BUSY_TIMEOUT;
        loop {
            let switched = self
                .connection
                .query_row("PRAGMA journal_mode = wal", [], |row| {
                    row.get::<_, String>(0)
                });
            match switched {
                Ok(_) => return Ok(()),
                Err(error)
                    if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                        && Instant::now() < deadline =>
                {
                    std::thread::sleep(BUSY_POLL);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Waits for the next try; returns false once [`BUSY_TIMEOUT`] has passed.
fn wait_while_busy(tries: i32) -> bool {
    let waits =
        u32::try_from(tries).is_ok_and(|tries| BUSY_POLL.saturating_mul(tries) < BUSY_TIMEOUT);
    if waits {
        std::thread::sleep(BUSY_POLL);
    }
    waits
}

/// Returns the URI with which SQLite reads a file without any locks.
fn immutable_uri(path: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri.push_str("?immutable=1");
    PathBuf::from(uri)
}
