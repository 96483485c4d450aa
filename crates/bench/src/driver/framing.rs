//! Finds where answers begin and end in what a server sends: RFC 9112, as far as a client of this driver needs it.
//!
//! It holds no bytes itself: the caller keeps what was not used, a head or the line before a chunk at most, and
//! gives it again with what follows. What a client must not guess about is refused: two lengths, a length beside
//! chunks, codings other than `chunked`, a switch to another protocol.

use httparse::{EMPTY_HEADER, Header, ParserConfig, Status};
use std::mem::MaybeUninit;

/// The longest head, and the longest trailer.
pub(super) const HEAD_BYTES_MAX: usize = 64 << 10;
/// The longest line before a chunk; what follows the size in it is not used.
const CHUNK_LINE_BYTES_MAX: usize = 4 << 10;
/// The most headers of an answer, and the most of its trailer.
const HEADERS_MAX: usize = 100;

/// The connection ended, or what came is not HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken;

/// Takes what an answer says.
pub(super) trait Sink {
    /// An answer with this status begins.
    fn begin(&mut self, status: u16);

    /// A part of its body.
    fn push(&mut self, part: &[u8]);
}

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    /// So many bytes of the body.
    Body(u64),
    /// A body that ends with the connection.
    Rest,
    ChunkLine,
    /// So many bytes of a chunk.
    Chunk(u64),
    ChunkEnd,
    Trailer,
    Nothing,
}

/// Takes one answer after the other apart.
#[derive(Debug)]
pub(super) struct Decoder {
    state: State,
    keeps_alive: bool,
    /// How much of an incomplete head or trailer holds no blank line.
    scanned: usize,
}

impl Decoder {
    /// Waits for the first answer.
    pub(super) fn new() -> Self {
        Self {
            state: State::Head,
            keeps_alive: true,
            scanned: 0,
        }
    }

    /// Whether the answer is complete.
    pub(super) fn is_complete(&self) -> bool {
        self.state == State::Nothing
    }

    /// Whether the connection may be used again after the complete answer.
    pub(super) fn keeps_alive(&self) -> bool {
        self.keeps_alive
    }

    /// Takes what it can from the front of `bytes`, up to the end of the answer, and returns how much. The rest is
    /// to be given again together with what follows.
    pub(super) fn decode(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<usize, Broken> {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            if rest.is_empty() || self.is_complete() {
                return Ok(used);
            }
            let len = match self.state {
                State::Head => self.head(rest, sink)?,
                State::Body(left) | State::Chunk(left) => {
                    let (part, left) = split(rest, left);
                    sink.push(part);
                    self.state = match (self.state, left) {
                        (State::Chunk(_), 0) => State::ChunkEnd,
                        (State::Chunk(_), _) => State::Chunk(left),
                        (_, 0) => State::Nothing,
                        _ => State::Body(left),
                    };
                    part.len()
                }
                State::Rest => {
                    sink.push(rest);
                    rest.len()
                }
                State::ChunkLine => self.chunk_line(rest)?,
                State::ChunkEnd => match rest {
                    [b'\r', b'\n', ..] => {
                        self.state = State::ChunkLine;
                        2
                    }
                    [b'\r'] => 0,
                    _ => return Err(Broken),
                },
                State::Trailer => self.trailer(rest)?,
                State::Nothing => 0,
            };
            if len == 0 {
                return Ok(used);
            }
            used += len;
        }
    }

    /// The connection has ended: completes an answer that ends with it.
    pub(super) fn end(&mut self) -> Result<(), Broken> {
        match self.state {
            State::Rest | State::Nothing => {
                self.state = State::Nothing;
                Ok(())
            }
            _ => Err(Broken),
        }
    }

    /// Waits for the next answer, after a complete one.
    pub(super) fn next(&mut self) {
        self.state = State::Head;
    }

    fn head(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<usize, Broken> {
        // The parser would skip any number of empty lines.
        if bytes[0] != b'H' {
            return Err(Broken);
        }
        if !self.may_be_complete(bytes) {
            return self.wait(bytes);
        }
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
        let mut response = httparse::Response::new(&mut []);
        let parsed = ParserConfig::default().parse_response_with_uninit_headers(
            &mut response,
            bytes,
            &mut headers,
        );
        let len = match parsed {
            Ok(Status::Complete(len)) if len <= HEAD_BYTES_MAX => len,
            Ok(Status::Partial) => return self.wait(bytes),
            Ok(Status::Complete(_)) | Err(_) => return Err(Broken),
        };
        let (Some(status), Some(minor)) = (response.code, response.version) else {
            return Err(Broken);
        };
        let head = Head::read(minor, response.headers)?;
        self.scanned = 0;
        self.state = match status {
            // Nobody asked for another protocol.
            0..100 | 101 => return Err(Broken),
            // An interim answer; the real one follows.
            102..200 | 100 => return Ok(len),
            204 | 304 => State::Nothing,
            _ => match head.body {
                Body::Bytes(0) => State::Nothing,
                Body::Bytes(len_bytes) => State::Body(len_bytes),
                Body::Chunks => State::ChunkLine,
                Body::Rest => State::Rest,
            },
        };
        self.keeps_alive = head.keeps_alive && self.state != State::Rest;
        sink.begin(status);
        Ok(len)
    }

    fn chunk_line(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        // The parser would take a line without a size for the last chunk.
        if !bytes[0].is_ascii_hexdigit() {
            return Err(Broken);
        }
        match httparse::parse_chunk_size(bytes) {
            Ok(Status::Complete((len, size))) if len <= CHUNK_LINE_BYTES_MAX => {
                self.state = match size {
                    0 => State::Trailer,
                    _ => State::Chunk(size),
                };
                Ok(len)
            }
            Ok(Status::Partial) if bytes.len() < CHUNK_LINE_BYTES_MAX => Ok(0),
            _ => Err(Broken),
        }
    }

    fn trailer(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let len = if bytes.starts_with(b"\r\n") {
            2
        } else {
            if !self.may_be_complete(bytes) {
                return self.wait(bytes);
            }
            let mut headers = [EMPTY_HEADER; HEADERS_MAX];
            match httparse::parse_headers(bytes, &mut headers) {
                Ok(Status::Complete((len, _))) if len <= HEAD_BYTES_MAX => len,
                Ok(Status::Partial) => return self.wait(bytes),
                Ok(Status::Complete(_)) | Err(_) => return Err(Broken),
            }
        };
        self.scanned = 0;
        self.state = State::Nothing;
        Ok(len)
    }

    /// Whether a head may end here. Otherwise one that comes byte by byte would be parsed from its front for each.
    fn may_be_complete(&self, bytes: &[u8]) -> bool {
        let new = &bytes[self.scanned.saturating_sub(2).min(bytes.len())..];
        self.scanned == 0
            || new.windows(2).any(|window| window == b"\n\n")
            || new.windows(3).any(|window| window == b"\n\r\n")
    }

    fn wait(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        self.scanned = bytes.len();
        if bytes.len() < HEAD_BYTES_MAX {
            Ok(0)
        } else {
            Err(Broken)
        }
    }
}

/// Splits off what belongs to a part of which `left` bytes are to come, and returns how many are then.
fn split(bytes: &[u8], left: u64) -> (&[u8], u64) {
    let len = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
    (&bytes[..len], left - len as u64)
}

/// How the end of a body is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Body {
    Bytes(u64),
    Chunks,
    /// Whatever comes until the connection ends.
    Rest,
}

/// What a head says about its connection: RFC 9112, sections 6.3 and 9.3.
struct Head {
    body: Body,
    keeps_alive: bool,
}

impl Head {
    fn read(minor: u8, headers: &[Header<'_>]) -> Result<Self, Broken> {
        let mut len_bytes = None;
        let mut is_chunked = false;
        let (mut close, mut keep) = (false, minor > 0);
        for Header { name, value } in headers {
            // Their lengths tell these names apart from most others.
            if name.len() == 14 && name.eq_ignore_ascii_case("content-length") {
                let found = number(value).ok_or(Broken)?;
                if len_bytes.replace(found).is_some_and(|one| one != found) {
                    return Err(Broken);
                }
            } else if name.len() == 17 && name.eq_ignore_ascii_case("transfer-encoding") {
                // Other codings have not been asked for.
                if is_chunked || minor == 0 || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Broken);
                }
                is_chunked = true;
            } else if name.len() == 10 && name.eq_ignore_ascii_case("connection") {
                for option in value.split(|byte| *byte == b',') {
                    let option = option.trim_ascii();
                    close |= option.eq_ignore_ascii_case(b"close");
                    keep |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
        }
        let body = match (len_bytes, is_chunked) {
            (Some(_), true) => return Err(Broken),
            (Some(len_bytes), false) => Body::Bytes(len_bytes),
            (None, true) => Body::Chunks,
            (None, false) => Body::Rest,
        };
        Ok(Self {
            body,
            keeps_alive: keep && !close,
        })
    }
}

/// A number of decimal digits and nothing else.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.is_ascii_digit().then_some(u64::from(digit & 0xf))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}
