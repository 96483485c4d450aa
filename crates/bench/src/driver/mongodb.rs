//! MongoDB, through its own driver: latencies contain its encoding, its pool and its decoding, as those that an
//! application sees do.
//!
//! Each thread has a client of its own, whose pool is shared by the thread's connections. What stands for a connection
//! sends one command at a time.

use super::answer::Answer;
use super::connection::{Connect, Link};
use super::framing::Broken;
use super::message::Message;
use bounded_http::Credentials;
use mongodb::bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::error::{CommandError, ErrorKind};
use mongodb::options::{ClientOptions, ConnectionString, Credential, ServerAddress, Tls};
use mongodb::{Client, Database};
use std::io;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;
use thiserror::Error;

/// As many as a track may ask for.
const POOL_MAX: u32 = 10_000;
/// The port of a server that names none.
const PORT: u16 = 27_017;
/// `NamespaceNotFound`: until 7.0 the answer to a `drop` of a collection that is not there (SERVER-43894).
const NAMESPACE_NOT_FOUND: i32 = 26;

/// A target that is none.
#[derive(Debug, Error)]
pub enum MongodbError {
    /// Not a connection string.
    #[error("{}", units::escape(.0))]
    Address(String),
    /// The connection string holds credentials.
    #[error("credentials in an address are visible to all users of this host")]
    Exposed,
    /// It does not answer, or not as it should.
    #[error("{target}: {}", units::escape(problem))]
    Silent {
        /// The target.
        target: String,
        /// What happened.
        problem: String,
    },
    /// It names no host, but a socket.
    #[error("expected mongodb://HOST:PORT/DATABASE, found no host")]
    NoHost,
    /// It names no database.
    #[error("expected mongodb://HOST:PORT/DATABASE, found no database")]
    NoDatabase,
    /// Credentials of a kind that MongoDB does not know.
    #[error("expected a user and a password, found an API key or a token")]
    Credentials,
}

/// What MongoDB says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MongodbServer {
    /// Its version.
    pub version: String,
    /// Its process id in the numbering of its host, if the user may know it.
    pub pid: Option<u32>,
}

/// A number that servers send in different types.
fn number(document: &Document, key: &str) -> Option<u32> {
    match document.get(key)? {
        Bson::Int32(number) => u32::try_from(*number).ok(),
        Bson::Int64(number) => u32::try_from(*number).ok(),
        _ => None,
    }
}

/// The text of an error in one line.
fn text(error: &mongodb::error::Error) -> String {
    match &*error.kind {
        ErrorKind::Command(CommandError { code, message, .. }) => {
            format!("{message} (code {code})")
        }
        other => other.to_string(),
    }
}

/// The way to MongoDB. Clones share no client, because each thread has its own event loop.
pub(super) struct Way {
    options: ClientOptions,
    database: String,
    client: OnceLock<Client>,
}

impl Clone for Way {
    fn clone(&self) -> Self {
        Self {
            options: self.options.clone(),
            database: self.database.clone(),
            client: OnceLock::new(),
        }
    }
}

impl Way {
    /// The way to `address`; see [`Target::mongodb`](super::Target::mongodb).
    pub(super) fn new(
        address: &str,
        options: &bounded_http::Options,
        timeout: Duration,
    ) -> Result<Self, MongodbError> {
        let wrong = |error: mongodb::error::Error| MongodbError::Address(text(&error));
        // Before anybody repeats it in an error.
        let authority = address.split_once("://").map_or(address, |(_, rest)| rest);
        let authority = authority.split(['/', '?']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(MongodbError::Exposed);
        }
        let parsed = ConnectionString::parse(address).map_err(wrong)?;
        let database = parsed.default_database.clone();
        let database = database.ok_or(MongodbError::NoDatabase)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .map_err(|error| MongodbError::Address(error.to_string()))?;
        let mut client = runtime
            .block_on(async { ClientOptions::parse(parsed).await })
            .map_err(wrong)?;
        let source = client.credential.take().and_then(|given| given.source);
        client.credential = match &options.credentials {
            Credentials::None => None,
            Credentials::Basic { user, password } => Some(
                Credential::builder()
                    .username(user.clone())
                    .password(password.text().to_owned())
                    .source(source)
                    .build(),
            ),
            Credentials::ApiKey(_) | Credentials::Bearer(_) => {
                return Err(MongodbError::Credentials);
            }
        };
        if let (Some(Tls::Enabled(tls)), Some(file)) = (&mut client.tls, &options.ca_file) {
            tls.ca_file_path = Some(file.clone());
        }
        client.app_name = Some("trimtab".to_owned());
        client.max_pool_size = Some(POOL_MAX);
        client.server_selection_timeout = Some(timeout);
        client.connect_timeout = Some(timeout);
        Ok(Self {
            options: client,
            database,
            client: OnceLock::new(),
        })
    }

    /// Name and port of the first host, and the database.
    pub(super) fn place(&self) -> Option<(&str, u16, &str)> {
        match self.options.hosts.first()? {
            ServerAddress::Tcp { host, port } => Some((host, port.unwrap_or(PORT), &self.database)),
            _ => None,
        }
    }

    /// Asks the server at `target` who it is.
    pub(super) fn ask(
        &self,
        target: &str,
        timeout: Duration,
    ) -> Result<MongodbServer, MongodbError> {
        let silent = |problem| MongodbError::Silent {
            target: target.to_owned(),
            problem,
        };
        let failed = |error: mongodb::error::Error| silent(text(&error));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| failed(error.into()))?;
        let ask = async {
            let database = self.database().map_err(failed)?;
            let built = database
                .run_command(doc! { "buildInfo": 1 })
                .await
                .map_err(failed)?;
            let status = database.run_command(doc! { "serverStatus": 1 }).await;
            Ok(MongodbServer {
                version: built.get_str("version").unwrap_or("unknown").to_owned(),
                pid: status.ok().and_then(|status| number(&status, "pid")),
            })
        };
        let in_time = runtime.block_on(async { tokio::time::timeout(timeout, ask).await });
        in_time.unwrap_or_else(|_| {
            Err(silent(format!(
                "no answer within {}",
                units::duration(timeout)
            )))
        })
    }

    fn database(&self) -> Result<Database, mongodb::error::Error> {
        if self.client.get().is_none() {
            let client = Client::with_options(self.options.clone())?;
            // Another task of this thread cannot have come in between.
            let _ = self.client.set(client);
        }
        match self.client.get() {
            Some(client) => Ok(client.database(&self.database)),
            None => Err(io::Error::other("no client").into()),
        }
    }
}

impl Connect for Way {
    type Link = Session;

    /// Opens a connection in the pool.
    async fn connect(&self) -> io::Result<Session> {
        let failed = |error: mongodb::error::Error| io::Error::other(text(&error));
        let database = self.database().map_err(failed)?;
        // Credentials are checked with the first command.
        let ping = database.run_command(doc! { "ping": 1 }).await;
        ping.map_err(failed)?;
        Ok(Session {
            database,
            open: true,
        })
    }
}

/// What stands for a connection.
pub(super) struct Session {
    database: Database,
    open: bool,
}

impl Link for Session {
    fn is_open(&self) -> bool {
        self.open
    }

    /// The pool replaces connections that the server closes.
    fn poll_ended(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }

    async fn exchange(&mut self, message: Message<'_>, answer: &mut Answer) -> Result<(), Broken> {
        let bytes = if message.rest.is_empty() {
            message.front
        } else {
            message.rest
        };
        let command = match RawDocumentBuf::from_bytes(bytes.to_vec()) {
            Ok(command) => command,
            Err(error) => {
                answer.take(Err(&format!("not a command: {error}")));
                return Ok(());
            }
        };
        let first = command.iter().next().and_then(Result::ok);
        let is_drop = first.is_some_and(|(name, _)| name == "drop");
        match self.database.run_raw_command(command).await {
            Ok(reply) => answer.take(Ok(refused(&reply))),
            Err(error) => match &*error.kind {
                ErrorKind::Command(CommandError { code, .. })
                    if is_drop && *code == NAMESPACE_NOT_FOUND =>
                {
                    answer.take(Ok(0));
                }
                ErrorKind::Command(_) => answer.take(Err(&text(&error))),
                _ => {
                    self.open = false;
                    return Err(Broken);
                }
            },
        }
        Ok(())
    }
}

/// How many documents a command did not write.
fn refused(reply: &Document) -> u64 {
    let errors = reply.get_array("writeErrors").map_or(0, Vec::len);
    let concern = usize::from(reply.contains_key("writeConcernError"));
    errors.max(concern) as u64
}
