//! The server under load.

use super::network::Network;
use bounded_http::{Endpoint, ErrorKind, HttpError, Secret};
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

/// A server that speaks HTTP/1.1, with or without TLS.
#[derive(Clone)]
pub struct Target {
    /// Name or address; an IPv6 address in brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// What precedes the paths of the track: empty, or `/base`.
    pub(super) path_prefix: String,
    /// The value of the `Authorization` header. It is not shown and not recorded.
    pub(super) authorization: Option<Secret>,
    pub(super) tls: Option<Arc<ClientConfig>>,
}

impl Target {
    /// A server at `host` (an IPv6 address in brackets) and `port` that asks for neither TLS nor credentials.
    pub fn new(host: impl Into<String>, port: u16) -> Self {
        Self {
            host: host.into(),
            port,
            path_prefix: String::new(),
            authorization: None,
            tls: None,
        }
    }

    /// The server at `endpoint`. Of `options` it takes the credentials and whom to trust; times and sizes are
    /// those of the driver's own [`Options`](super::Options).
    ///
    /// # Errors
    /// [`ErrorKind::Path`] if the endpoint has a query; [`ErrorKind::Setup`] if the CA file or the credentials
    /// cannot be used.
    pub fn at(endpoint: &Endpoint, options: &bounded_http::Options) -> Result<Self, HttpError> {
        let path_prefix = endpoint.base_path().ok_or_else(|| HttpError {
            request: endpoint.to_string(),
            kind: ErrorKind::Path,
        })?;
        let tls = if endpoint.is_tls() {
            Some(Arc::new(options.tls_config()?))
        } else {
            None
        };
        Ok(Self {
            host: endpoint.host().to_owned(),
            port: endpoint.port(),
            path_prefix: path_prefix.to_owned(),
            authorization: options.credentials.authorization()?,
            tls,
        })
    }

    /// Its name or address without brackets.
    fn bare_host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Looks its name up. This is done once, so that no latency contains it.
    pub(super) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok((self.bare_host(), self.port).to_socket_addrs()?.collect())
    }

    /// The way to one of its addresses; `None` if no certificate could be for its name.
    pub(super) fn network(&self, address: SocketAddr) -> Option<Network> {
        let tls = match &self.tls {
            None => None,
            Some(config) => {
                let name = ServerName::try_from(self.bare_host().to_owned()).ok()?;
                Some((config.clone(), name))
            }
        };
        Some(Network::new(address, tls))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            host,
            port,
            path_prefix,
            ..
        } = self;
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        write!(
            f,
            "{scheme}://{}:{port}{}",
            units::escape(host),
            units::escape(path_prefix)
        )
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
