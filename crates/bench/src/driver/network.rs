//! Opens connections: TCP, with TLS if the target has it, and HTTP on it; or MongoDB's.

use super::answer::Answer;
use super::connection::{Connect, Connection, Link};
use super::framing::Broken;
use super::message::Message;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

/// The way to a target.
#[derive(Clone)]
pub(super) enum Way {
    Http(Network),
    #[cfg(feature = "mongodb")]
    Mongodb(Box<super::mongodb::Way>),
}

/// A connection to a target.
pub(super) enum Channel {
    Http(Box<Connection<Stream>>),
    #[cfg(feature = "mongodb")]
    Mongodb(super::mongodb::Session),
}

impl Connect for Way {
    type Link = Channel;

    async fn connect(&self) -> io::Result<Channel> {
        match self {
            Self::Http(network) => Ok(Channel::Http(Box::new(network.connect().await?))),
            #[cfg(feature = "mongodb")]
            Self::Mongodb(way) => Ok(Channel::Mongodb(way.connect().await?)),
        }
    }
}

impl Link for Channel {
    fn is_open(&self) -> bool {
        match self {
            Self::Http(connection) => connection.is_open(),
            #[cfg(feature = "mongodb")]
            Self::Mongodb(session) => session.is_open(),
        }
    }

    fn poll_ended(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Http(connection) => connection.poll_ended(context),
            #[cfg(feature = "mongodb")]
            Self::Mongodb(session) => session.poll_ended(context),
        }
    }

    async fn exchange(&mut self, message: Message<'_>, answer: &mut Answer) -> Result<(), Broken> {
        match self {
            Self::Http(connection) => connection.exchange(message, answer).await,
            #[cfg(feature = "mongodb")]
            Self::Mongodb(session) => session.exchange(message, answer).await,
        }
    }
}

/// Opens connections to one address.
#[derive(Clone)]
pub(super) struct Network {
    address: SocketAddr,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Network {
    /// The way to `address`; with TLS, the server's certificate has to be for this name.
    pub(super) fn new(
        address: SocketAddr,
        tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    ) -> Self {
        Self {
            address,
            tls: tls.map(|(config, name)| (TlsConnector::from(config), name)),
        }
    }
}

impl Connect for Network {
    type Link = Connection<Stream>;

    async fn connect(&self) -> io::Result<Connection<Stream>> {
        let stream = TcpStream::connect(self.address).await?;
        // A request must not wait for the acknowledgement of the one before it.
        stream.set_nodelay(true)?;
        let stream = match &self.tls {
            None => Stream::Plain(stream),
            Some((connector, name)) => {
                let stream = connector.connect(name.clone(), stream).await?;
                Stream::Tls(Box::new(stream))
            }
        };
        Ok(Connection::new(stream))
    }
}

/// A connection to the target. With TLS, the handshake is over.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, parts),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
