//! A small server that misbehaves on demand, for tests. It listens on a loopback address until it
//! is dropped. It panics if it gets no port or cannot create a key.
#![allow(clippy::missing_panics_doc)]

use crate::Endpoint;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How the server responds to a request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// This status and body, with a content length; the connection is kept.
    Body(u16, Vec<u8>),
    /// 200 and this body in chunks.
    Chunked(Vec<Vec<u8>>),
    /// A redirect to this location.
    Redirect(String),
    /// The response after a delay.
    Slow(Duration, Box<Answer>),
    /// 200, then one byte after each pause, forever.
    Drip(Duration),
    /// 200, then endless bytes as fast as they are read.
    Endless,
    /// These bytes, then closes the connection.
    Raw(Vec<u8>),
    /// Nothing; the connection stays open.
    Silence,
    /// The response, after which the connection is closed without notice.
    ThenClose(Box<Answer>),
}

impl Answer {
    /// 200 with a text body.
    pub fn ok(text: &str) -> Self {
        Self::Body(200, text.as_bytes().to_vec())
    }
}

/// A certificate authority for tests.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    /// Creates an authority that nobody trusts.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        Self {
            pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    /// Returns its certificate in PEM form.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Issues a server certificate for these names, in DER form, with its key. `valid` is the first
    /// and the last year (January 1); `is_authority` makes it one that may sign others.
    fn certify(&self, names: &[&str], valid: (i32, i32), is_authority: bool) -> ServerConfig {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("parameters");
        if is_authority {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        params.not_before = rcgen::date_time_ymd(valid.0, 1, 1);
        params.not_after = rcgen::date_time_ymd(valid.1, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a certificate that fits its key")
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

struct State {
    answer: Box<dyn Fn(&str) -> Answer + Send + Sync>,
    stop: AtomicBool,
    /// Heads of the requests, each with its body.
    requests: Mutex<Vec<String>>,
    connections: Mutex<Vec<TcpStream>>,
}

/// A running server.
pub struct Server {
    address: SocketAddr,
    tls: bool,
    state: Arc<State>,
}

impl Server {
    /// Starts a server without encryption. `answer` is called with the head (request line and
    /// headers) and body of each request.
    pub fn start(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        Self::listen(answer, None)
    }

    /// Starts a TLS server with a certificate for `names` issued by `authority`.
    pub fn start_tls(
        authority: &Authority,
        names: &[&str],
        answer: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self::listen(answer, Some(authority.certify(names, (2000, 4000), false)))
    }

    /// Starts a TLS server whose certificate is an authority's.
    pub fn start_as_authority(authority: &Authority, names: &[&str]) -> Self {
        let tls = authority.certify(names, (2000, 4000), true);
        Self::listen(|_| Answer::ok("{}"), Some(tls))
    }

    /// Starts a TLS server with an expired certificate.
    pub fn start_expired(authority: &Authority, names: &[&str]) -> Self {
        let tls = authority.certify(names, (2000, 2001), false);
        Self::listen(|_| Answer::ok("{}"), Some(tls))
    }

    fn listen(
        answer: impl Fn(&str) -> Answer + Send + Sync + 'static,
        tls: Option<ServerConfig>,
    ) -> Self {
        let tls = tls.map(Arc::new);
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State {
            answer: Box::new(answer),
            stop: AtomicBool::new(false),
            requests: Mutex::default(),
            connections: Mutex::default(),
        });
        let server = Self {
            address,
            tls: tls.is_some(),
            state: Arc::clone(&state),
        };
        thread::spawn(move || accept(&listener, tls.as_ref(), &state));
        server
    }

    /// Returns its URL by IP address, with a path.
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.address)
    }

    /// Returns its URL with the host name `localhost`.
    pub fn url_by_name(&self) -> String {
        self.url("").replace("127.0.0.1", "localhost")
    }

    /// Returns its URL as an endpoint.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::parse(&self.url("")).expect("a URL")
    }

    /// Returns the heads of the requests so far, each with its body.
    pub fn requests(&self) -> Vec<String> {
        self.state.requests.lock().expect("no panic").clone()
    }

    /// Returns how many connections it has accepted so far.
    pub fn connections(&self) -> usize {
        self.state.connections.lock().expect("no panic").len()
    }

    /// Closes all connections, as a restart would.
    pub fn close_connections(&self) {
        for stream in self.state.connections.lock().expect("no panic").iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        // Wakes the listener, which then ends and releases its port.
        let _ = TcpStream::connect(self.address);
        if let Ok(connections) = self.state.connections.lock() {
            for stream in connections.iter() {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
    }
}

fn accept(listener: &TcpListener, tls: Option<&Arc<ServerConfig>>, state: &Arc<State>) {
    for stream in listener.incoming() {
        if state.stop.load(Ordering::Relaxed) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let handle = stream.try_clone().expect("a second handle");
        state.connections.lock().expect("no panic").push(handle);
        let state = Arc::clone(state);
        let tls = tls.cloned();
        thread::spawn(move || {
            let handle = stream.try_clone();
            // A test may drop its client at any time.
            let _ = match tls {
                None => serve(stream, &state),
                Some(config) => ServerConnection::new(config)
                    .map_err(io::Error::other)
                    .and_then(|connection| serve(StreamOwned::new(connection, stream), &state)),
            };
            // The list of connections holds another handle, so dropping alone would not close.
            if let Ok(handle) = handle {
                let _ = handle.shutdown(Shutdown::Both);
            }
        });
    }
}

fn serve(mut stream: impl Read + Write, state: &State) -> io::Result<()> {
    while let Some(head) = read_head(&mut stream)? {
        let answer = (state.answer)(&head);
        state.requests.lock().expect("no panic").push(head);
        if !respond(&mut stream, answer, state)? {
            break;
        }
        stream.flush()?;
    }
    Ok(())
}

/// Reads a request's head and the body that follows.
fn read_head(stream: &mut impl Read) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            return Ok(None);
        }
        head.push(byte[0]);
    }
    let length = String::from_utf8_lossy(&head)
        .to_ascii_lowercase()
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok())
        .unwrap_or(0);
    let start = head.len();
    head.resize(start + length, 0);
    stream.read_exact(&mut head[start..])?;
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

/// Sends the response. Returns whether the connection is kept.
fn respond(stream: &mut impl Write, answer: Answer, state: &State) -> io::Result<bool> {
    const UNBOUNDED: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
    match answer {
        Answer::Body(status, body) => {
            let length = body.len();
            let head = format!("HTTP/1.1 {status} x\r\nContent-Length: {length}\r\n\r\n");
            // In a single write: two would wait for each other's acknowledgement.
            stream.write_all(&[head.into_bytes(), body].concat())?;
        }
        Answer::Chunked(chunks) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
            for chunk in chunks {
                write!(stream, "{:x}\r\n", chunk.len())?;
                stream.write_all(&chunk)?;
                stream.write_all(b"\r\n")?;
            }
            stream.write_all(b"0\r\n\r\n")?;
        }
        Answer::Redirect(location) => write!(
            stream,
            "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        )?,
        Answer::Slow(pause, answer) => {
            thread::sleep(pause);
            return respond(stream, *answer, state);
        }
        Answer::Drip(pause) => {
            stream.write_all(UNBOUNDED)?;
            while !state.stop.load(Ordering::Relaxed) {
                stream.write_all(b"x")?;
                stream.flush()?;
                thread::sleep(pause);
            }
        }
        Answer::Endless => {
            stream.write_all(UNBOUNDED)?;
            while !state.stop.load(Ordering::Relaxed) {
                stream.write_all(&[b'x'; 4096])?;
            }
        }
        Answer::Raw(bytes) => {
            stream.write_all(&bytes)?;
            stream.flush()?;
            return Ok(false);
        }
        Answer::Silence => {
            while !state.stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
        }
        Answer::ThenClose(answer) => {
            respond(stream, *answer, state)?;
            stream.flush()?;
            return Ok(false);
        }
    }
    Ok(true)
}
