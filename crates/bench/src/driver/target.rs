//! The server under load.

#[cfg(feature = "mongodb")]
use super::mongodb::{self, MongodbError, MongodbServer};
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
    /// How its own driver reaches MongoDB; then only name and port of the rest are used, for display.
    #[cfg(feature = "mongodb")]
    pub(super) mongodb: Option<mongodb::Way>,
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
            #[cfg(feature = "mongodb")]
            mongodb: None,
        }
    }

    /// MongoDB at `address`, `mongodb://HOST[:PORT]/DATABASE?OPTIONS`. Of `options` it takes the credentials and the CA
    /// file; times are those of the driver's own [`Options`](super::Options), of which `timeout` is one.
    ///
    /// # Errors
    /// If the address has another form, holds credentials, or names no database.
    #[cfg(feature = "mongodb")]
    pub fn mongodb(
        address: &str,
        options: &bounded_http::Options,
        timeout: std::time::Duration,
    ) -> Result<Self, MongodbError> {
        let way = mongodb::Way::new(address, options, timeout)?;
        let (host, port, database) = way.place().ok_or(MongodbError::NoHost)?;
        let mut target = Self::new(host, port);
        target.path_prefix = format!("/{database}");
        target.mongodb = Some(way);
        Ok(target)
    }

    /// Asks MongoDB who it is; `None` for a target of another kind.
    ///
    /// # Errors
    /// If it does not answer within `timeout`, or refuses the credentials.
    #[cfg(feature = "mongodb")]
    pub fn ask_mongodb(
        &self,
        timeout: std::time::Duration,
    ) -> Result<Option<MongodbServer>, MongodbError> {
        let ask = |way: &mongodb::Way| way.ask(&self.to_string(), timeout);
        self.mongodb.as_ref().map(ask).transpose()
    }

    /// Whether it is MongoDB, rather than a server that speaks HTTP.
    #[cfg_attr(not(feature = "mongodb"), allow(clippy::unused_self))]
    pub(super) fn is_mongodb(&self) -> bool {
        #[cfg(feature = "mongodb")]
        return self.mongodb.is_some();
        #[cfg(not(feature = "mongodb"))]
        return false;
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
            #[cfg(feature = "mongodb")]
            mongodb: None,
        })
    }

    /// Its name or address, an IPv6 address in brackets, and its port.
    pub fn address(&self) -> (&str, u16) {
        (&self.host, self.port)
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
        if self.is_mongodb() {
            return write!(
                f,
                "mongodb://{}:{port}{}",
                units::escape(host),
                units::escape(path_prefix)
            );
        }
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
