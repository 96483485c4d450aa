//! A responder for tests, examples and demonstrations: a small HTTP/1.1 server on loopback, with planted stalls and
//! errors.
//!
//! It answers `GET`, `PUT`, `POST` and `DELETE` of any path, and reads no more of HTTP than this crate's client and
//! wrk send: bodies have a `Content-Length`. It panics if it gets no port.
#![allow(clippy::missing_panics_doc)]

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::LocalSet;

/// What a responder does.
#[derive(Debug, Clone, PartialEq)]
pub struct Behaviour {
    /// Length of the body that answers anything but a bulk request.
    pub body_bytes: usize,
    /// Planted stalls.
    pub stall: Option<Stall>,
    /// Every n-th request gets this status.
    pub errors: Vec<(u64, u16)>,
    /// Of every n-th bulk request, the first document is refused, as if a queue were full.
    pub refuse_every: Option<u64>,
    /// Every n-th request ends the connection without an answer.
    pub close_every: Option<u64>,
    /// Number of threads; connections are dealt out to them in turn.
    pub threads: usize,
}

impl Default for Behaviour {
    /// 128 bytes, no faults, one thread.
    fn default() -> Self {
        Self {
            body_bytes: 128,
            stall: None,
            errors: Vec::new(),
            refuse_every: None,
            close_every: None,
            threads: 1,
        }
    }
}

/// Moments in which a server answers nothing, as in a garbage collection or below a discard.
///
/// Requests that come in a stall are answered at its end. With requests at equal distances or as a Poisson
/// process, a share `len / every` of them meets a stall, and these wait for a time that is uniform between 0 and
/// `len`. So the quantile q of all is `len - (1 - q) * every`, if that is above 0, and the maximum is `len`; the time
/// of service comes on top.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// Time from the start of a stall to that of the next.
    pub every: Duration,
    /// Length of a stall.
    pub len: Duration,
}

impl Stall {
    /// The quantile of the latencies that these stalls cause, without the time of service.
    pub fn quantile(&self, quantile: f64) -> Duration {
        let above_s = (1.0 - quantile) * self.every.as_secs_f64();
        Duration::from_secs_f64((self.len.as_secs_f64() - above_s).max(0.0))
    }

    /// How long a request waits that comes so long after the first stall began.
    pub fn wait(&self, since_start: Duration) -> Duration {
        let into_ns = since_start.as_nanos() % self.every.as_nanos().max(1);
        self.len.saturating_sub(Duration::from_nanos(
            u64::try_from(into_ns).unwrap_or(u64::MAX),
        ))
    }
}

/// A server on a loopback address until it is dropped.
#[derive(Debug)]
pub struct Responder {
    address: SocketAddr,
    answers: Arc<Answers>,
    acceptor: Option<JoinHandle<()>>,
}

impl Responder {
    /// Starts a server on a free port.
    pub fn start(behaviour: Behaviour) -> Self {
        Self::on("127.0.0.1:0", behaviour).expect("a free port")
    }

    /// Starts a server on an address.
    ///
    /// # Errors
    /// If the address is in use, or is not this machine's.
    pub fn on(address: &str, behaviour: Behaviour) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let answers = Arc::new(Answers::new(behaviour));
        let shared = answers.clone();
        let acceptor = thread::spawn(move || accept(&listener, &shared));
        Ok(Self {
            address,
            answers,
            acceptor: Some(acceptor),
        })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Requests so far.
    pub fn requests(&self) -> u64 {
        self.answers.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.answers.stop.store(true, Ordering::Relaxed);
        // Wakes the acceptor.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

/// Deals connections out to the threads.
fn accept(listener: &TcpListener, answers: &Arc<Answers>) {
    let mut senders = Vec::new();
    let mut threads = Vec::new();
    for _ in 0..answers.behaviour.threads.max(1) {
        let (sender, streams) = std::sync::mpsc::channel::<TcpStream>();
        senders.push(sender);
        let answers = answers.clone();
        threads.push(thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_io()
                .enable_time()
                .build()
                .expect("a runtime");
            let local = LocalSet::new();
            local.block_on(&runtime, async {
                while !answers.stop.load(Ordering::Relaxed) {
                    while let Ok(stream) = streams.try_recv() {
                        let Ok(stream) = tokio::net::TcpStream::from_std(stream) else {
                            continue;
                        };
                        let answers = answers.clone();
                        tokio::task::spawn_local(async move {
                            // The client has gone.
                            let _ = serve(stream, &answers, |wait| async move {
                                // The whole thread stands still, as a server does.
                                thread::sleep(wait);
                            })
                            .await;
                        });
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
        }));
    }
    for (stream, sender) in listener.incoming().zip(senders.iter().cycle()) {
        if answers.stop.load(Ordering::Relaxed) {
            break;
        }
        if let Ok(stream) = stream
            && stream
                .set_nonblocking(true)
                .and_then(|()| stream.set_nodelay(true))
                .is_ok()
        {
            let _ = sender.send(stream);
        }
    }
    for thread in threads {
        let _ = thread.join();
    }
}

/// When the first stall begins.
#[derive(Debug)]
enum Started {
    System(Instant),
    #[cfg(test)]
    Tokio(tokio::time::Instant),
}

impl Started {
    fn elapsed(&self) -> Duration {
        match self {
            Self::System(started) => started.elapsed(),
            #[cfg(test)]
            Self::Tokio(started) => started.elapsed(),
        }
    }
}

/// What all connections of a responder share.
#[derive(Debug)]
pub(crate) struct Answers {
    behaviour: Behaviour,
    started: Started,
    requests: AtomicU64,
    stop: AtomicBool,
    plain: Vec<u8>,
    bulk: Vec<u8>,
    refusing: Vec<u8>,
}

impl Answers {
    pub(crate) fn new(behaviour: Behaviour) -> Self {
        let body = |content: &str| message(200, content.as_bytes());
        Self {
            plain: body(&"x".repeat(behaviour.body_bytes)),
            bulk: body(r#"{"errors":false}"#),
            refusing: body(
                r#"{"errors":true,"items":[{"index":{"error":{"type":"es_rejected_execution_exception"}}}]}"#,
            ),
            behaviour,
            started: Started::System(Instant::now()),
            requests: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// Those of a responder whose stalls follow tokio's time.
    #[cfg(test)]
    pub(crate) fn in_tokio_time(behaviour: Behaviour) -> Self {
        Self {
            started: Started::Tokio(tokio::time::Instant::now()),
            ..Self::new(behaviour)
        }
    }

    fn answer(&self, number: u64, is_bulk: bool) -> Vec<u8> {
        let is_turn = |every: u64| every > 0 && number % every == every - 1;
        if let Some((_, status)) = self
            .behaviour
            .errors
            .iter()
            .find(|(every, _)| is_turn(*every))
        {
            return message(*status, b"planted");
        }
        match is_bulk {
            true if self.behaviour.refuse_every.is_some_and(is_turn) => self.refusing.clone(),
            true => self.bulk.clone(),
            false => self.plain.clone(),
        }
    }
}

fn message(status: u16, body: &[u8]) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        _ => "",
    };
    let len = body.len();
    let mut message =
        format!("HTTP/1.1 {status} {reason}\r\ncontent-length: {len}\r\n\r\n").into_bytes();
    message.extend_from_slice(body);
    message
}

/// Answers the requests of a connection until the client closes it. `stall` waits.
pub(crate) async fn serve<S, F>(
    mut stream: S,
    answers: &Answers,
    stall: impl Fn(Duration) -> F,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
    F: Future<Output = ()>,
{
    let mut buffer = vec![0_u8; 64 << 10];
    let mut filled = 0;
    // Bytes of a body that are still to come, and are not needed.
    let mut skip = 0;
    loop {
        let len = read(&mut stream, &mut buffer[filled..]).await?;
        if len == 0 {
            return Ok(());
        }
        filled += len;
        let mut used = 0;
        loop {
            let skipped = skip.min(filled - used);
            used += skipped;
            skip -= skipped;
            if skip > 0 {
                break;
            }
            let Some(head) = Head::find(&buffer[used..filled]) else {
                break;
            };
            used += head.len_bytes;
            skip = head.body_bytes;
            let here = skip.min(filled - used);
            used += here;
            skip -= here;
            while skip > 0 {
                let max = skip.min(buffer.len());
                // The rest of the head's buffer is the body's: nothing else can be in it.
                match read(&mut stream, &mut buffer[..max]).await? {
                    0 => return Ok(()),
                    len => skip -= len,
                }
                (used, filled) = (0, 0);
            }
            let number = answers.requests.fetch_add(1, Ordering::Relaxed);
            if let Some(planted) = answers.behaviour.stall {
                let wait = planted.wait(answers.started.elapsed());
                if !wait.is_zero() {
                    stall(wait).await;
                }
            }
            if answers
                .behaviour
                .close_every
                .is_some_and(|every| number % every == every - 1)
            {
                return Ok(());
            }
            write_all(&mut stream, &answers.answer(number, head.is_bulk)).await?;
        }
        buffer.copy_within(used..filled, 0);
        filled -= used;
        if filled == buffer.len() {
            return Err(io::Error::other("a head of more than 64 KiB"));
        }
    }
}

/// The head of a request.
struct Head {
    len_bytes: usize,
    body_bytes: usize,
    is_bulk: bool,
}

impl Head {
    /// Finds the head at the front of `bytes`, if it is complete.
    fn find(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = &bytes[..end];
        let mut lines = head.split(|byte| *byte == b'\n');
        let request = lines.next().unwrap_or_default();
        let name = b"content-length:";
        let body_bytes = lines
            .find(|line| line.len() > name.len() && line[..name.len()].eq_ignore_ascii_case(name))
            .and_then(|line| {
                std::str::from_utf8(&line[name.len()..])
                    .ok()?
                    .trim()
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
        Some(Self {
            len_bytes: end + 4,
            body_bytes,
            is_bulk: request.windows(5).any(|window| window == b"_bulk"),
        })
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin), into: &mut [u8]) -> io::Result<usize> {
    std::future::poll_fn(|context| {
        let mut buffer = ReadBuf::new(into);
        std::pin::Pin::new(&mut *stream)
            .poll_read(context, &mut buffer)
            .map_ok(|()| buffer.filled().len())
    })
    .await
}

async fn write_all(stream: &mut (impl AsyncWrite + Unpin), mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = std::future::poll_fn(|context| {
            std::pin::Pin::new(&mut *stream).poll_write(context, bytes)
        })
        .await?;
        bytes = &bytes[written..];
    }
    Ok(())
}
