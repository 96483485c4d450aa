//! What went wrong with a request.

use std::fmt;
use std::time::Duration;

/// The longest piece of a server's text that an error repeats, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// A request that brought no usable answer: what was asked, what was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{asked}: {kind}")]
pub struct HttpError {
    /// `GET https://es1:9200/_cluster/health`; queries are left out.
    pub asked: String,
    /// What was found.
    pub kind: ErrorKind,
}

/// How far a request had come when its time was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Looking the host's name up.
    Name,
    /// Connecting, the TLS handshake included.
    Connect,
    /// Sending, or waiting for the answer's head.
    Answer,
    /// Reading the answer's body.
    Body,
    /// Somewhere.
    Unknown,
}

/// Why a TLS connection was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsFault {
    /// The certificate's issuer is not trusted.
    UnknownIssuer,
    /// The certificate is for other names.
    WrongName,
    /// The certificate's time is over or has not begun.
    Expired,
    /// The server does not speak TLS.
    NotTls,
    /// Anything else, in the TLS library's words.
    Other(String),
}

/// What was found instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// The client cannot be made: a certificate file, say.
    Setup(String),
    /// The path does not fit the endpoint.
    Path,
    /// The host's name has no address, or the name service no answer.
    Resolve(String),
    /// Nobody listens there.
    Refused,
    /// The network leads nowhere, or another trouble of the connection.
    Connection(String),
    /// No TLS connection.
    Tls(TlsFault),
    /// The time was over.
    Timeout {
        /// The limit that was met.
        limit: Duration,
        /// How far it had come.
        stage: Stage,
    },
    /// The server closed the connection before its answer was complete.
    Cut,
    /// The answer is not HTTP.
    NotHttp(String),
    /// The answer is longer than the limit.
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// A status other than 2xx.
    Status {
        /// The status.
        code: u16,
        /// The beginning of the body, on one line.
        body: String,
    },
    /// The server points elsewhere; redirects are not followed.
    Redirect {
        /// The status.
        code: u16,
        /// Where to, without its query.
        location: String,
    },
    /// The body is not the JSON that was expected.
    Json(String),
}

impl HttpError {
    pub(crate) fn new(asked: impl Into<String>, kind: ErrorKind) -> Self {
        Self {
            asked: asked.into(),
            kind,
        }
    }

    /// The way out, in one sentence.
    pub fn hint(&self) -> String {
        let text = match &self.kind {
            ErrorKind::Setup(_) => "name a readable PEM file with certificates",
            ErrorKind::Path => "give the server's URL without a query",
            ErrorKind::Resolve(_) => "check the host's name, or give its address",
            ErrorKind::Refused => "check that the server runs and listens on this address and port",
            ErrorKind::Connection(_) => {
                "check the address, routes and firewalls between here and there"
            }
            ErrorKind::Tls(fault) => match fault {
                TlsFault::UnknownIssuer => {
                    "name the certificate of the authority that signed the server's \
                     (Elasticsearch: config/certs/http_ca.crt)"
                }
                TlsFault::WrongName => "use a name that stands in the server's certificate",
                TlsFault::Expired => "renew the server's certificate, or set this host's clock",
                TlsFault::NotTls => "use http:// if the server is not encrypted",
                TlsFault::Other(_) => "the server has to speak TLS 1.2 or 1.3",
            },
            ErrorKind::Timeout { .. } => {
                "check whether the server is overloaded, or allow more time"
            }
            ErrorKind::Cut => "check the server's log; an encrypted server needs https://",
            ErrorKind::NotHttp(_) => "check the port; an encrypted server needs https://",
            ErrorKind::TooLarge { .. } => "check that the URL is the server's own",
            ErrorKind::Status { code: 401, .. } => {
                "give credentials: TRIMTAB_USER and TRIMTAB_PASSWORD, TRIMTAB_API_KEY, or a \
                 credentials file"
            }
            ErrorKind::Status { code: 403, .. } => {
                "these credentials may not do this: ask for the right to"
            }
            ErrorKind::Status { code: 404, .. } => {
                "check that the URL is the server's own, its base path included"
            }
            ErrorKind::Status { code: 429, .. } => "the server is overloaded: try later",
            ErrorKind::Status { .. } => "check the server's log",
            ErrorKind::Redirect { .. } => {
                "redirects are not followed: give the URL that answers itself"
            }
            ErrorKind::Json(_) => "check that the URL is the server's own, and its version",
        };
        text.to_owned()
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(reason) => f.write_str(reason),
            Self::Path => f.write_str("this URL takes no further path"),
            Self::Resolve(reason) => write!(f, "the host's name was not found ({reason})"),
            Self::Refused => f.write_str("the connection was refused"),
            Self::Connection(reason) => write!(f, "no connection ({reason})"),
            Self::Tls(fault) => fault.fmt(f),
            Self::Timeout { limit, stage } => {
                let stage = match stage {
                    Stage::Name => " while looking its name up",
                    Stage::Connect => " while connecting",
                    Stage::Answer => " while waiting for the answer",
                    Stage::Body => " while reading the answer",
                    Stage::Unknown => "",
                };
                write!(f, "not done within {limit:?}{stage}")
            }
            Self::Cut => f.write_str("the server closed the connection before the answer's end"),
            Self::NotHttp(reason) => write!(f, "the answer is not HTTP ({reason})"),
            Self::TooLarge { limit_bytes } => {
                write!(f, "the answer is longer than {limit_bytes} bytes")
            }
            Self::Status { code, body } => {
                write!(f, "status {code}")?;
                if !body.is_empty() {
                    write!(f, ": {body}")?;
                }
                Ok(())
            }
            Self::Redirect { code, location } => {
                write!(f, "status {code}: the server points to {location}")
            }
            Self::Json(reason) => write!(f, "unexpected JSON: {reason}"),
        }
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownIssuer => f.write_str("TLS: the certificate's issuer is not trusted"),
            Self::WrongName => f.write_str("TLS: the certificate is for another name"),
            Self::Expired => f.write_str("TLS: the certificate is out of its time"),
            Self::NotTls => f.write_str("TLS: the server does not speak it"),
            Self::Other(reason) => write!(f, "TLS: {reason}"),
        }
    }
}

/// A server's text for people: one line, cut to 200 characters, without control characters and those
/// that hide or reorder text ("Trojan source", CVE-2021-42574).
pub fn shown(text: &[u8]) -> String {
    // Four bytes a character at most: no need to look at more.
    let head = &text[..text.len().min(4 * SHOWN_CHARS_MAX)];
    let line = String::from_utf8_lossy(head);
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut out = String::new();
    for c in words.chars().take(SHOWN_CHARS_MAX) {
        if c.is_control() || is_format(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    if words.chars().nth(SHOWN_CHARS_MAX).is_some() || head.len() < text.len() {
        out.push_str("...");
    }
    out
}

/// Format characters (Cf) of Unicode that terminals obey.
fn is_format(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_servers_text_cannot_steer_a_terminal() {
        let text = "\u{1b}]0;x\u{7} a\u{202e}b\u{9b}31m\u{e9}";
        assert_eq!(
            shown(text.as_bytes()),
            "\\u{1b}]0;x\\u{7} a\\u{202e}b\\u{9b}31m\u{e9}"
        );
        assert_eq!(shown(b"a\r\n b\xff"), "a b\u{fffd}");
    }
}
