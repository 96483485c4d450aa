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
use ureq::http::{HeaderValue, Request, Uri, header};
use ureq::unversioned::transport::{Connector, DefaultConnector};
use ureq::{Agent, Timeout};

/// Maximum size of a response head, in bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// How long an idle connection is kept. Servers close idle connections themselves, usually later.
const IDLE: Duration = Duration::from_secs(30);

/// Options of a [`Client`].
#[derive(Debug, Clone)]
pub struct Options {
    /// Timeout for a whole request, from name lookup to the last byte of the body. Default: 10 s.
    pub deadline: Duration,
    /// Timeout for connecting, including the TLS handshake; capped by the deadline. Default: 5 s.
    pub connect_timeout: Duration,
    /// Maximum length of a body, in bytes. Default: 16 MiB.
    pub body_bytes_max: u64,
    /// PEM file with certificate authorities to trust in addition to the system's.
    pub ca_file: Option<PathBuf>,
    /// Accepts any certificate: a man in the middle can then read the credentials and forge
    /// responses. Only at the user's explicit request.
    pub accept_invalid_certificates: bool,
    /// Credentials sent with every request.
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

impl Options {
    /// Returns the TLS configuration of these options, with the authorities that a [`Client`] trusts, for another
    /// client than that. Connecting is up to the caller; [`TlsFault::of`] says what failed in it.
    ///
    /// # Errors
    /// [`ErrorKind::Setup`] if the CA file cannot be used.
    pub fn tls_config(&self) -> Result<rustls::ClientConfig, HttpError> {
        trust::client_config(self.ca_file.as_deref(), self.accept_invalid_certificates)
    }
}

/// An HTTP client with its connection pool, which clones share.
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

/// A complete response of any status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Status code.
    pub status: u16,
    /// The complete body.
    pub body: Vec<u8>,
    /// The `Location` header, without its query string.
    pub location: Option<String>,
    request: String,
}

impl Response {
    /// Returns the response if its status is 2xx.
    ///
    /// # Errors
    /// [`ErrorKind::Redirect`] for 3xx, [`ErrorKind::Status`] for other statuses.
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
        Err(HttpError::new(self.request, kind))
    }

    /// Parses the body as JSON, whatever the status. The nesting depth is limited.
    ///
    /// # Errors
    /// [`ErrorKind::Json`] if the body is not the expected JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let reason = shown(error.to_string().as_bytes());
            HttpError::new(self.request.clone(), ErrorKind::Json(reason))
        })
    }
}

/// What is sent with a request.
struct Body<'a> {
    media_type: &'static str,
    bytes: &'a [u8],
}

/// Describes a request in errors: without its query string.
fn describe_request(method: &str, endpoint: &Endpoint, path: &str) -> String {
    let page = path.split('?').next().unwrap_or_default();
    let base = endpoint.to_string();
    let base = base.strip_suffix('/').unwrap_or(&base);
    format!("{method} {base}{}", shown(page.as_bytes()))
}

impl Client {
    /// Creates a client and loads the trusted certificates; does not connect.
    ///
    /// # Errors
    /// [`ErrorKind::Setup`] if the CA file cannot be used or the credentials cannot be sent.
    pub fn new(options: Options) -> Result<Self, HttpError> {
        options.credentials.authorization()?;
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

    /// Returns the options it was created with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether requests to this endpoint send credentials unencrypted over a network, which
    /// deserves a warning.
    pub fn sends_secrets_in_clear(&self, endpoint: &Endpoint) -> bool {
        !self.options.credentials.is_none() && !endpoint.is_tls() && !endpoint.is_loopback()
    }

    /// Sends a GET request for `path` below the endpoint; an empty path means the endpoint itself.
    /// The path may include a query string. Responses of any status are returned.
    ///
    /// # Errors
    /// If no complete response arrives within the limits.
    pub fn get(&self, endpoint: &Endpoint, path: &str) -> Result<Response, HttpError> {
        self.ask("GET", endpoint, path, None)
    }

    /// Sends a POST request with a JSON body, otherwise like [`Self::get`]: for queries too long
    /// for a URL, such as a search. Only for requests without side effects: the request is retried
    /// if a kept connection turns out to be closed.
    ///
    /// # Errors
    /// Same as [`Self::get`].
    pub fn post_json(
        &self,
        endpoint: &Endpoint,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Response, HttpError> {
        self.ask_json("POST", endpoint, path, body)
    }

    /// Sends a POST request with lines of JSON, as for `_bulk`. Otherwise like [`Self::post_json`]: it may be
    /// sent twice, so the lines have to mean the same the second time.
    ///
    /// # Errors
    /// Same as [`Self::get`].
    pub fn post_lines(
        &self,
        endpoint: &Endpoint,
        path: &str,
        lines: &[u8],
    ) -> Result<Response, HttpError> {
        let body = Body {
            media_type: "application/x-ndjson",
            bytes: lines,
        };
        self.ask("POST", endpoint, path, Some(&body))
    }

    /// Sends a PUT request with a JSON body, which may be sent twice as in [`Self::post_lines`].
    ///
    /// # Errors
    /// Same as [`Self::get`].
    pub fn put_json(
        &self,
        endpoint: &Endpoint,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Response, HttpError> {
        self.ask_json("PUT", endpoint, path, body)
    }

    fn ask_json(
        &self,
        method: &'static str,
        endpoint: &Endpoint,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Response, HttpError> {
        let bytes = serde_json::to_vec(body).map_err(|error| {
            HttpError::new(
                describe_request(method, endpoint, path),
                ErrorKind::Json(error.to_string()),
            )
        })?;
        let body = Body {
            media_type: "application/json",
            bytes: &bytes,
        };
        self.ask(method, endpoint, path, Some(&body))
    }

    fn ask(
        &self,
        method: &'static str,
        endpoint: &Endpoint,
        path: &str,
        body: Option<&Body<'_>>,
    ) -> Result<Response, HttpError> {
        let request = describe_request(method, endpoint, path);
        let Some(uri) = endpoint.uri(path) else {
            return Err(HttpError::new(request, ErrorKind::Path));
        };
        let start = Instant::now();
        let made = self.connections.get();
        let mut outcome = self.exchange(method, &uri, body, start);
        // The server may just have closed a kept connection: retry.
        if let Err((ureq::Error::Io(error), _)) = &outcome
            && is_closed(error)
            && self.connections.get() == made
            && start.elapsed() < self.options.deadline
        {
            outcome = self.exchange(method, &uri, body, start);
        }
        match outcome {
            Ok(answer) => Ok(Response { request, ..answer }),
            Err((error, stage)) => {
                self.addresses.forget();
                let kind = self.kind(error, stage, start);
                Err(HttpError::new(request, kind))
            }
        }
    }

    /// Sends a GET request and parses the response as JSON. The type decides what happens to
    /// unknown members.
    ///
    /// # Errors
    /// Same as [`Self::get`], and for a status other than 2xx or a body that does not fit the type.
    pub fn get_json<T: DeserializeOwned>(
        &self,
        endpoint: &Endpoint,
        path: &str,
    ) -> Result<T, HttpError> {
        self.get(endpoint, path)?.success()?.json()
    }

    /// Aborts every request that another thread is waiting for and closes all connections; later
    /// requests of this client and its clones fail.
    pub fn shut_down(&self) {
        self.agent.clone().shutdown();
    }

    /// Performs one exchange within what is left of the deadline. Errors include the stage that was
    /// reached.
    fn exchange(
        &self,
        method: &str,
        uri: &Uri,
        body: Option<&Body<'_>>,
        start: Instant,
    ) -> Result<Response, (ureq::Error, Stage)> {
        let left = self.options.deadline.saturating_sub(start.elapsed());
        // Validated when the client was created.
        let secret = self.options.credentials.header().ok().flatten();
        let secret = secret.and_then(|text| HeaderValue::from_str(&text).ok());
        let mut request = Request::builder().method(method).uri(uri);
        if let Some(mut secret) = secret {
            secret.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, secret);
        }
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, body.media_type);
        }
        let limited = |error: ureq::http::Error| (ureq::Error::Http(error), Stage::Unknown);
        let outcome = match body {
            None => {
                let request = request.body(()).map_err(limited)?;
                let request = self.agent.configure_request(request);
                self.agent.run(request.timeout_global(Some(left)).build())
            }
            Some(body) => {
                let request = request.body(body.bytes).map_err(limited)?;
                let request = self.agent.configure_request(request);
                self.agent.run(request.timeout_global(Some(left)).build())
            }
        };
        let mut response = outcome.map_err(|error| (error, Stage::Unknown))?;
        let body = response
            .body_mut()
            .with_config()
            // The library fails when its limit is reached, so set it just beyond what is allowed.
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
            location,
            request: String::new(),
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
            ureq::Error::Rustls(error) => ErrorKind::Tls(TlsFault::from(&error)),
            ureq::Error::Tls(reason) => ErrorKind::Tls(TlsFault::Other(reason.to_owned())),
            ureq::Error::Protocol(error) => ErrorKind::NotHttp(shown(error.to_string().as_bytes())),
            ureq::Error::Io(error) => self.io_kind(&error, stage, start),
            other => ErrorKind::Connection(shown(other.to_string().as_bytes())),
        }
    }

    fn io_kind(&self, error: &io::Error, stage: Stage, start: Instant) -> ErrorKind {
        if let Some(fault) = TlsFault::of(error) {
            return ErrorKind::Tls(fault);
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => ErrorKind::Refused,
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => ErrorKind::Timeout {
                limit: self.options.deadline.min(start.elapsed()),
                stage,
            },
            _ if is_closed(error) => ErrorKind::Cut,
            // Errors of getaddrinfo have no OS error number.
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
