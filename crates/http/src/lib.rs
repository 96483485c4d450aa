//! Asks HTTP servers, synchronously, with a limit on everything: time, size, redirects.
//!
//! ```no_run
//! use http::{Client, Credentials, Endpoint, Options};
//!
//! let endpoint = Endpoint::parse("https://es1.example:9200")?;
//! let client = Client::new(Options {
//!     credentials: Credentials::from_environment(|name| std::env::var_os(name))?,
//!     ca_file: Some("/etc/elasticsearch/certs/http_ca.crt".into()),
//!     ..Options::default()
//! })?;
//! let health: serde_json::Value = client.get_json(&endpoint, "/_cluster/health")?;
//! let latency = client.ping(&endpoint, "/")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - **Time.** [`Options::deadline`] covers a whole request: name, connection, TLS, answer, body. A
//!   server that sends one byte a second meets it all the same.
//! - **Size.** A body longer than [`Options::body_bytes_max`] is an error, never a cut answer.
//! - **Redirects** are never followed, so that credentials go to the named host only.
//! - **Proxies** of the environment (`HTTP_PROXY`) are not used: what is measured and believed is
//!   the named host's own answer.
//! - **Credentials** come from the environment or from a file that only its owner can read, never
//!   from a URL or an argument, where every process on the host could see them. A client sends its
//!   credentials to every endpoint that it is asked for: make one client per trust.
//! - **TLS** is rustls. The system's certificate authorities are trusted (`SSL_CERT_FILE` and
//!   `SSL_CERT_DIR` change where they are looked for), and those of [`Options::ca_file`] besides.
//! - **Connections** are kept and used again; addresses are remembered for a minute, so that
//!   [`Client::ping`] measures the server and not the name service.
//! - **Errors** ([`HttpError`]) say what was asked and what was found; [`HttpError::hint`] says the
//!   way out. Text of the server in them is cut and its control characters are escaped.
//!
//! The feature `testing` adds [`testing`](crate), a small server that misbehaves on demand.
//!
//! A package of the same name is in the dependency tree: `cargo test -p http@0.1.0` means this one.

mod client;
mod connection;
mod credentials;
mod endpoint;
mod error;
mod trust;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

#[cfg(test)]
mod client_tests;

pub use client::{Client, Options, Response};
pub use credentials::{Credentials, CredentialsError, SECRET_VARIABLES, Secret};
pub use endpoint::Endpoint;
pub use error::{ErrorKind, HttpError, Stage, TlsFault, shown};
