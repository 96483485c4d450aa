//! Opens connections: TCP, with TLS if the target has it, and HTTP on it.

use super::connection::{Connect, Connection};
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
    type Stream = Stream;

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
