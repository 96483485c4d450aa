//! A synchronous HTTP client with limits on everything: time, size, redirects.
//!
//! ```no_run
//! use bounded_http::{Client, Credentials, Endpoint, Options};
//!
//! let endpoint = Endpoint::parse("https://es1.example:9200")?;
//! let client = Client::new(Options {
//!     credentials: Credentials::from_environment(|name| std::env::var_os(name))?,
//!     ca_file: Some("/etc/elasticsearch/certs/http_ca.crt".into()),
//!     ..Options::default()
//! })?;
//! let health: serde_json::Value = client.get_json(&endpoint, "/_cluster/health")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - **Time.** [`Options::deadline`] covers a whole request: name lookup, connection, TLS,
//!   response, body. A server that sends one byte a second hits it just the same.
//! - **Size.** A body longer than [`Options::body_bytes_max`] is an error, never a truncated
//!   response.
//! - **Redirects** are never followed, so that credentials go only to the host that was named.
//! - **Proxies** from the environment (`HTTP_PROXY`) are not used: responses and latencies are
//!   those of the named host itself.
//! - **Credentials** come from the environment or from a file that only its owner can read, never
//!   from a URL or an argument, which every process on the host can see. A client sends its
//!   credentials to every endpoint it is used with: create one client per trust domain.
//! - **TLS** uses rustls. The system's certificate authorities are trusted (`SSL_CERT_FILE` and
//!   `SSL_CERT_DIR` change where they are loaded from), plus those in [`Options::ca_file`].
//! - **Connections** are kept and reused; addresses are cached for a minute, so that
//!   latencies are the server's and not the name service's.
//! - **Errors** ([`HttpError`]) say what was requested and what went wrong; [`HttpError::hint`]
//!   says how to fix it. Server text in them is truncated and its control characters are escaped.
//!
//! The feature `testing` adds [`testing`](crate), a small server that misbehaves on demand.

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
