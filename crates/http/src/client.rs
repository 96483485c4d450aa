//! The client.

use crate::connection::{Addresses, ConnectionCount, RememberingResolver};
use crate::credentials::Credentials;
use crate::endpoint::Endpoint;
use crate::error::{ErrorKind, HttpError, Stage, TlsFault, shown};
use crate::trust;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use ureq::http::{HeaderValue, Uri, header};
use ureq::unversioned::transport::{Connector, DefaultConnector};
use ureq::{Agent, Timeout};

/// The largest head of an answer, in bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// How long an unused connection is kept. Servers close them themselves, usually later.
const IDLE: Duration = Duration::from_secs(30);

/// What a client is made of.
#[derive(Debug, Clone)]
pub struct Options {
    /// The time for a whole request, from the name to the body's last byte. Default: 10 s.
    pub deadline: Duration,
    /// The time for a connection, the TLS handshake included; never longer than the deadline.
    /// Default: 5 s.
    pub connect_timeout: Duration,
    /// The longest body, in bytes. Default: 16 MiB.
    pub body_bytes_max: u64,
    /// PEM file of certificate authorities that are trusted besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Takes any certificate: whoever sits in between can read the credentials and write the
    /// answers. Only for an explicit word of the user.
    pub accept_invalid_certificates: bool,
    /// Sent with every request.
    pub credentials: Credentials,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            body_bytes_max: 16 << 20,
            ca_file: None,
            accept_invalid_certificates: false,
            credentials: Credentials::None,
        }
    }
}

/// A client with its connections. Clones share them.
#[derive(Clone)]
pub struct Client {
    agent: Agent,
    options: Options,
    addresses: Addresses,
    connections: ConnectionCount,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// A complete answer, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Status.
    pub status: u16,
    /// Body, complete.
    pub body: Vec<u8>,
    /// From asking to the body's last byte, the connection included if it was new.
    pub elapsed: Duration,
    /// Whether a connection was made for it.
    pub new_connection: bool,
    /// The `Location` header, its query cut off.
    pub location: Option<String>,
    asked: String,
}

impl Response {
    /// The answer if its status is 2xx.
    ///
    /// # Errors
    /// [`ErrorKind::Redirect`] for 3xx, [`ErrorKind::Status`] for the others.
    pub fn success(self) -> Result<Self, HttpError> {
        let kind = match self.status {
            200..=299 => return Ok(self),
            300..=399 => ErrorKind::Redirect {
                code: self.status,
                location: self.location.unwrap_or_else(|| "nowhere".to_owned()),
            },
            code => ErrorKind::Status {
                code,
                body: shown(&self.body),
            },
        };
        Err(HttpError::new(self.asked, kind))
    }

    /// The body as JSON, whatever the status. Nesting is limited.
    ///
    /// # Errors
    /// [`ErrorKind::Json`] where it is not that.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let reason = shown(error.to_string().as_bytes());
            HttpError::new(self.asked.clone(), ErrorKind::Json(reason))
        })
    }
}

/// What errors call a request: without its query.
fn asked(method: &str, endpoint: &Endpoint, path: &str) -> String {
    let page = path.split('?').next().unwrap_or_default();
    let base = endpoint.to_string();
    let base = base.strip_suffix('/').unwrap_or(&base);
    format!("{method} {base}{}", shown(page.as_bytes()))
}

impl Client {
    /// Reads the trusted certificates and prepares everything; connects nowhere.
    ///
    /// # Errors
    /// [`ErrorKind::Setup`] when the CA file cannot be used or the credentials cannot be sent.
    pub fn new(options: Options) -> Result<Self, HttpError> {
        if let Err(reason) = options.credentials.header() {
            return Err(HttpError::new("credentials", ErrorKind::Setup(reason)));
        }
        let tls = trust::tls_config(
            options.ca_file.as_deref(),
            options.accept_invalid_certificates,
        )?;
        let config = Agent::config_builder()
            .tls_config(tls)
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .user_agent(concat!("trimtab/", env!("CARGO_PKG_VERSION")))
            .accept("application/json, */*;q=0.5")
            .timeout_connect(Some(options.connect_timeout))
            .max_response_header_size(HEAD_BYTES_MAX)
            .max_idle_age(IDLE)
            .build();
        let addresses = Addresses::default();
        let connections = ConnectionCount::default();
        let agent = Agent::with_parts(
            config,
            DefaultConnector::default().chain(connections.clone()),
            RememberingResolver::new(addresses.clone()),
        );
        Ok(Self {
            agent,
            options,
            addresses,
            connections,
        })
    }

    /// What it was made of.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether asking this endpoint sends credentials unencrypted over a network: worth a warning.
    pub fn sends_secrets_in_clear(&self, endpoint: &Endpoint) -> bool {
        !self.options.credentials.is_none() && !endpoint.is_tls() && !endpoint.is_loopback()
    }

    /// Asks for `path` below the endpoint; an empty path means the endpoint itself. The path may
    /// carry a query. Answers with any status are returned.
    ///
    /// # Errors
    /// Where no complete answer came within the limits.
    pub fn get(&self, endpoint: &Endpoint, path: &str) -> Result<Response, HttpError> {
        self.ask("GET", endpoint, path, None)
    }

    /// Asks with a JSON body, otherwise as [`Self::get`]: for questions too long for a URL, such as
    /// a search. Only for what changes nothing: the request is made again where a kept connection
    /// turns out to be closed.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn post_json(
        &self,
        endpoint: &Endpoint,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Response, HttpError> {
        let body = serde_json::to_vec(body).map_err(|error| {
            HttpError::new(
                asked("POST", endpoint, path),
                ErrorKind::Json(error.to_string()),
            )
        })?;
        self.ask("POST", endpoint, path, Some(&body))
    }

    fn ask(
        &self,
        method: &str,
        endpoint: &Endpoint,
        path: &str,
        body: Option<&[u8]>,
    ) -> Result<Response, HttpError> {
        let asked = asked(method, endpoint, path);
        let Some(uri) = endpoint.uri(path) else {
            return Err(HttpError::new(asked, ErrorKind::Path));
        };
        let start = Instant::now();
        let made = self.connections.get();
        let mut outcome = self.exchange(&uri, body, start);
        // A kept connection may have been closed by the server just now: that is no answer.
        if let Err((ureq::Error::Io(error), _)) = &outcome
            && is_closed(error)
            && self.connections.get() == made
            && start.elapsed() < self.options.deadline
        {
            outcome = self.exchange(&uri, body, start);
        }
        match outcome {
            Ok(answer) => Ok(Response {
                elapsed: start.elapsed(),
                new_connection: self.connections.get() != made,
                asked,
                ..answer
            }),
            Err((error, stage)) => {
                self.addresses.forget();
                let kind = self.kind(error, stage, start);
                Err(HttpError::new(asked, kind))
            }
        }
    }

    /// Asks for JSON. Unknown members are the type's own matter.
    ///
    /// # Errors
    /// As [`Self::get`], for a status other than 2xx, and where the body does not fit the type.
    pub fn get_json<T: DeserializeOwned>(
        &self,
        endpoint: &Endpoint,
        path: &str,
    ) -> Result<T, HttpError> {
        self.get(endpoint, path)?.success()?.json()
    }

    /// How long one request takes over a connection that stands already. Where the request had to
    /// connect, a second one is measured; a server that closes after each answer is measured with
    /// the connection, as its users feel it.
    ///
    /// # Errors
    /// As [`Self::get`], and for a status other than 2xx.
    pub fn ping(&self, endpoint: &Endpoint, path: &str) -> Result<Duration, HttpError> {
        let first = self.get(endpoint, path)?.success()?;
        if !first.new_connection {
            return Ok(first.elapsed);
        }
        let second = self.get(endpoint, path)?.success()?;
        Ok(second.elapsed)
    }

    /// Ends every request that another thread waits for, and closes all connections; later
    /// requests of this client and its clones fail.
    pub fn shut_down(&self) {
        self.agent.clone().shutdown();
    }

    /// One exchange, within what is left of the deadline. An error carries how far it came.
    fn exchange(
        &self,
        uri: &Uri,
        body: Option<&[u8]>,
        start: Instant,
    ) -> Result<Response, (ureq::Error, Stage)> {
        let left = self.options.deadline.saturating_sub(start.elapsed());
        // Checked when the client was made.
        let secret = self.options.credentials.header().ok().flatten();
        let secret = secret.and_then(|text| HeaderValue::from_str(&text).ok());
        let secret = secret.map(|mut value| {
            value.set_sensitive(true);
            value
        });
        let outcome = match body {
            None => {
                let mut request = self.agent.get(uri);
                if let Some(secret) = secret {
                    request = request.header(header::AUTHORIZATION, secret);
                }
                request.config().timeout_global(Some(left)).build().call()
            }
            Some(body) => {
                let mut request = self.agent.post(uri).content_type("application/json");
                if let Some(secret) = secret {
                    request = request.header(header::AUTHORIZATION, secret);
                }
                request
                    .config()
                    .timeout_global(Some(left))
                    .build()
                    .send(body)
            }
        };
        let mut response = outcome.map_err(|error| (error, Stage::Unknown))?;
        let body = response
            .body_mut()
            .with_config()
            // The library's limit has to stay beyond what is allowed: it fails at it.
            .limit(self.options.body_bytes_max.saturating_add(1))
            .read_to_vec()
            .map_err(|error| (error, Stage::Body))?;
        let location = response.headers().get(header::LOCATION).map(|value| {
            let bytes = value.as_bytes();
            shown(bytes.split(|byte| *byte == b'?').next().unwrap_or_default())
        });
        Ok(Response {
            status: response.status().as_u16(),
            body,
            elapsed: Duration::ZERO,
            new_connection: false,
            location,
            asked: String::new(),
        })
    }

    fn kind(&self, error: ureq::Error, stage: Stage, start: Instant) -> ErrorKind {
        match error {
            ureq::Error::Timeout(which) => {
                let limit = match which {
                    Timeout::Connect => self.options.connect_timeout.min(self.options.deadline),
                    _ => self.options.deadline,
                };
                let stage = match which {
                    Timeout::Resolve => Stage::Name,
                    Timeout::Connect => Stage::Connect,
                    Timeout::RecvResponse | Timeout::SendRequest => Stage::Answer,
                    Timeout::RecvBody => Stage::Body,
                    _ => stage,
                };
                ErrorKind::Timeout { limit, stage }
            }
            ureq::Error::HostNotFound => ErrorKind::Resolve("no address".to_owned()),
            ureq::Error::BodyExceedsLimit(_) => ErrorKind::TooLarge {
                limit_bytes: self.options.body_bytes_max,
            },
            ureq::Error::LargeResponseHeader(_, limit) => ErrorKind::TooLarge {
                limit_bytes: limit as u64,
            },
            ureq::Error::Rustls(error) => ErrorKind::Tls(tls_fault(&error)),
            ureq::Error::Tls(reason) => ErrorKind::Tls(TlsFault::Other(reason.to_owned())),
            ureq::Error::Protocol(error) => ErrorKind::NotHttp(shown(error.to_string().as_bytes())),
            ureq::Error::Io(error) => self.io_kind(&error, stage, start),
            other => ErrorKind::Connection(shown(other.to_string().as_bytes())),
        }
    }

    fn io_kind(&self, error: &io::Error, stage: Stage, start: Instant) -> ErrorKind {
        if let Some(fault) = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<rustls::Error>())
        {
            return ErrorKind::Tls(tls_fault(fault));
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => ErrorKind::Refused,
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => ErrorKind::Timeout {
                limit: self.options.deadline.min(start.elapsed()),
                stage,
            },
            _ if is_closed(error) => ErrorKind::Cut,
            // getaddrinfo's own errors have no number of the operating system.
            _ if error.raw_os_error().is_none() && error.to_string().contains("lookup") => {
                ErrorKind::Resolve(shown(error.to_string().as_bytes()))
            }
            _ => ErrorKind::Connection(shown(error.to_string().as_bytes())),
        }
    }
}

fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
    )
}

fn tls_fault(error: &rustls::Error) -> TlsFault {
    use rustls::{CertificateError, Error};
    match error {
        Error::InvalidCertificate(reason) => match reason {
            CertificateError::UnknownIssuer => TlsFault::UnknownIssuer,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                TlsFault::WrongName
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => TlsFault::Expired,
            other => TlsFault::Other(shown(other.to_string().as_bytes())),
        },
        // Not a record of TLS: an unencrypted server's complaint.
        Error::InvalidMessage(_) => TlsFault::NotTls,
        other => TlsFault::Other(shown(other.to_string().as_bytes())),
    }
}
