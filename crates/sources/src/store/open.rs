//! Opening: is it a store, of which version, and may it be written?

use super::{
    APPLICATION_ID, BUSY_POLL, SCHEMA_VERSION, Store, TABLES, failure, immediate, refusal,
};
use crate::SourceError;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long one waits for another process that writes.
const BUSY: Duration = Duration::from_secs(10);

/// The longest row or text that SQLite may put together for us, in bytes.
const ROW_BYTES_MAX: i32 = 4 << 20;

/// The first bytes of every SQLite database (Database File Format, 1.3).
const MAGIC: &[u8] = b"SQLite format 3\0";

/// Whether a file is an SQLite database, and so perhaps a store: [`Store::open_read_only`] says.
/// A file that cannot be read is none.
pub fn is_database(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == MAGIC
}

/// What a file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// A database without anything in it, as a file that was just made is.
    Nothing,
    /// A store of this version.
    Store,
}

impl Store {
    /// Opens a store to append to it; makes it, readable for its owner only, where there is none.
    ///
    /// # Errors
    /// When the file cannot be made or opened, when it is not a store, or one of a newer version, when
    /// it is damaged, or when another process has kept it locked for ten seconds. A file that is not a
    /// store is left as it is.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        if let Err(error) = made
            && error.kind() != io::ErrorKind::AlreadyExists
        {
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

    /// Opens a store to read it. Nothing is made, and nothing is written but the files beside it in
    /// which SQLite keeps its locks; where those cannot be made either, and nobody has left
    /// any, it is read as a file that does not change.
    ///
    /// # Errors
    /// As [`Store::open`], and when there is no file, or nothing in it.
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
        if store.is_kept_from_its_locks() {
            store = Self::open_unchanging(path)?;
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
    pub(super) fn open_unchanging(path: &Path) -> Result<Self, SourceError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_URI;
        Self::connect(path, &unchanging(path), flags)
    }

    fn connect(path: &Path, opened: &Path, flags: OpenFlags) -> Result<Self, SourceError> {
        let connect = || {
            let mut connection = Connection::open_with_flags(opened, flags)?;
            connection.busy_handler(Some(wait_while_busy))?;
            connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, ROW_BYTES_MAX)?;
            // The file may come from anywhere.
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

    /// In WAL mode even readers need the files of the locks: in a directory that they may not write
    /// to, they cannot make them.
    fn is_kept_from_its_locks(&self) -> bool {
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

    /// What the file is.
    fn content(&self) -> Result<Content, SourceError> {
        let fail = |error: rusqlite::Error| failure(&self.path, &error);
        // One look at all of it: another process may be making the tables right now.
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

    /// Everything in the schema that SQLite has not added by itself, by name: one more than there may
    /// be, at most.
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
        // Somebody else may have been faster.
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

    /// Several processes that make the same store must wait for each other here by themselves:
    /// SQLite's own waiting does not cover the switch.
    fn switch_to_wal(&self) -> rusqlite::Result<()> {
        let deadline = Instant::now() + BUSY;
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

/// Waits once more, after as many tries, until [`BUSY`] is over.
fn wait_while_busy(tries: i32) -> bool {
    let waits = u32::try_from(tries).is_ok_and(|tries| BUSY_POLL.saturating_mul(tries) < BUSY);
    if waits {
        std::thread::sleep(BUSY_POLL);
    }
    waits
}

/// The URI under which SQLite reads a file without any locks.
fn unchanging(path: &Path) -> PathBuf {
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
