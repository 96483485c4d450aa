//! Errors of requests.

use std::io;
use std::time::Duration;

/// Maximum length of server text quoted in an error, in characters.
const SHOWN_CHARS_MAX: usize = 200;

/// A request that failed or returned no usable response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{request}: {kind}")]
pub struct HttpError {
    /// The request: `GET https://es1:9200/_cluster/health`; query strings are omitted.
    pub request: String,
    /// What went wrong.
    pub kind: ErrorKind,
}

/// The stage a request had reached when it timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Resolving the host name.
    Name,
    /// Connecting, including the TLS handshake.
    Connect,
    /// Sending the request, or waiting for the response head.
    Answer,
    /// Reading the response body.
    Body,
    /// Unknown stage.
    Unknown,
}

impl Stage {
    /// The stage as the end of a sentence.
    fn words(self) -> &'static str {
        match self {
            Self::Name => " while looking its name up",
            Self::Connect => " while connecting",
            Self::Answer => " while waiting for the answer",
            Self::Body => " while reading the answer",
            Self::Unknown => "",
        }
    }
}

/// Why a TLS connection failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsFault {
    /// The certificate's issuer is not trusted.
    #[error("TLS: the certificate's issuer is not trusted")]
    UnknownIssuer,
    /// The certificate is for other names.
    #[error("TLS: the certificate is for another name")]
    WrongName,
    /// The certificate has expired or is not yet valid.
    #[error("TLS: the certificate is out of its time")]
    Expired,
    /// The server's certificate is an authority's own.
    #[error(
        "TLS: the server's certificate is that of an authority (CA:TRUE), as `openssl req -x509` \
         makes it, and not a server's"
    )]
    Authority,
    /// The certificate is rejected for another reason, in the TLS library's words.
    #[error("TLS: the certificate is rejected: {0}")]
    Certificate(String),
    /// The server asks for a certificate of the client's, which has none.
    #[error("TLS: the server asks for a client certificate")]
    ClientCertificate,
    /// The server does not speak TLS.
    #[error("TLS: the server does not speak it")]
    NotTls,
    /// Any other error, in the TLS library's words.
    #[error("TLS: {0}")]
    Other(String),
}

/// What went wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ErrorKind {
    /// The client cannot be created, for example because of a certificate file.
    #[error("{0}")]
    Setup(String),
    /// The path cannot be combined with the endpoint.
    #[error("this URL takes no further path")]
    Path,
    /// The host name has no address, or the name service did not respond.
    #[error("the host's name was not found ({0})")]
    Resolve(String),
    /// Connection refused.
    #[error("the connection was refused")]
    Refused,
    /// The network is unreachable, or another connection error.
    #[error("no connection ({0})")]
    Connection(String),
    /// TLS failed.
    #[error("{0}")]
    Tls(TlsFault),
    /// The request timed out.
    #[error("not done within {limit:?}{}", .stage.words())]
    Timeout {
        /// The timeout that was hit.
        limit: Duration,
        /// The stage it had reached.
        stage: Stage,
    },
    /// The server closed the connection before the response was complete.
    #[error("the server closed the connection before the answer's end")]
    Cut,
    /// The response is not HTTP.
    #[error("the answer is not HTTP ({0})")]
    NotHttp(String),
    /// The response exceeds the limit.
    #[error("the answer is longer than {limit_bytes} bytes")]
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// A status other than 2xx.
    #[error("status {code}{}", quoted(.body))]
    Status {
        /// The status code.
        code: u16,
        /// The start of the body, on one line.
        body: String,
    },
    /// The server redirects; redirects are not followed.
    #[error("status {code}: the server points to {location}")]
    Redirect {
        /// The status code.
        code: u16,
        /// The target, without its query string.
        location: String,
    },
    /// The body is not the expected JSON.
    #[error("unexpected JSON: {0}")]
    Json(String),
}

impl HttpError {
    pub(crate) fn new(request: impl Into<String>, kind: ErrorKind) -> Self {
        Self {
            request: request.into(),
            kind,
        }
    }

    /// Returns how to fix it, in one sentence.
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
                    "name the certificate of the authority that signed the server's with --ca-file \
                     (Elasticsearch: config/certs/http_ca.crt)"
                }
                TlsFault::WrongName => "use a name that stands in the server's certificate",
                TlsFault::Expired => "renew the server's certificate, or set this host's clock",
                TlsFault::NotTls => "use http:// if the server is not encrypted",
                TlsFault::Authority => {
                    "give the server a certificate of its own (CA:FALSE), signed by that \
                     authority, and name the authority's with --ca-file"
                }
                TlsFault::ClientCertificate => {
                    "trimtab presents no certificate: use an address of the server that takes other \
                     credentials (Elasticsearch: xpack.security.http.ssl.client_authentication)"
                }
                TlsFault::Certificate(_) => "replace the server's certificate",
                TlsFault::Other(_) => "the server has to speak TLS 1.2 or 1.3",
            },
            ErrorKind::Timeout { .. } => {
                "check whether the server is overloaded, or allow more time"
            }
            // The other way round than below.
            ErrorKind::Cut | ErrorKind::NotHttp(_) if self.request.contains(" https://") => {
                "check the port and the server's log; a server that is not encrypted needs http://"
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

/// The body of a response as the end of a sentence.
fn quoted(body: &str) -> String {
    if body.is_empty() {
        String::new()
    } else {
        format!(": {body}")
    }
}

impl TlsFault {
    /// Finds what TLS refused in an error of reading or writing; `None` if it is another error.
    pub fn of(error: &io::Error) -> Option<Self> {
        let inner = error.get_ref()?.downcast_ref::<rustls::Error>()?;
        Some(Self::from(inner))
    }
}

impl From<&rustls::Error> for TlsFault {
    fn from(error: &rustls::Error) -> Self {
        use rustls::{AlertDescription, CertificateError, Error};
        match error {
            Error::InvalidCertificate(reason) => match reason {
                CertificateError::UnknownIssuer => TlsFault::UnknownIssuer,
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => TlsFault::WrongName,
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. } => TlsFault::Expired,
                // The verifier's own error, which has no variant here.
                other if format!("{other:?}").contains("CaUsedAsEndEntity") => TlsFault::Authority,
                other => TlsFault::Certificate(shown(other.to_string().as_bytes())),
            },
            // Older servers call a missing certificate a bad one.
            Error::AlertReceived(
                AlertDescription::CertificateRequired | AlertDescription::BadCertificate,
            ) => TlsFault::ClientCertificate,
            // Not a TLS record: an error message from an unencrypted server.
            Error::InvalidMessage(_) => TlsFault::NotTls,
            other => TlsFault::Other(shown(other.to_string().as_bytes())),
        }
    }
}

/// Formats server text for display: one line, cut to 200 characters, without control characters and
/// without characters that hide or reorder text ("Trojan source", CVE-2021-42574).
pub fn shown(text: &[u8]) -> String {
    // A character has at most four bytes, so there is no need to look further.
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

/// Whether `c` is a Unicode format character (Cf) that terminals obey.
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
    use super::{ErrorKind, HttpError, TlsFault, shown};
    use rustls::{AlertDescription, Error};

    #[test]
    fn hints_fit_the_fault() {
        let hint = |fault| HttpError::new("GET https://es1/", ErrorKind::Tls(fault)).hint();
        assert_eq!(
            hint(TlsFault::NotTls),
            "use http:// if the server is not encrypted"
        );
        for alert in [
            AlertDescription::CertificateRequired,
            AlertDescription::BadCertificate,
        ] {
            let fault = TlsFault::from(&Error::AlertReceived(alert));
            assert_eq!(fault, TlsFault::ClientCertificate);
        }
        assert!(hint(TlsFault::ClientCertificate).contains("client_authentication"));
        // The server is too old.
        let old = TlsFault::from(&Error::AlertReceived(AlertDescription::ProtocolVersion));
        assert!(hint(old).contains("TLS 1.2"));
    }

    #[test]
    fn server_text_cannot_control_a_terminal() {
        let text = "\u{1b}]0;x\u{7} a\u{202e}b\u{9b}31m\u{e9}";
        assert_eq!(
            shown(text.as_bytes()),
            "\\u{1b}]0;x\\u{7} a\\u{202e}b\\u{9b}31m\u{e9}"
        );
        assert_eq!(shown(b"a\r\n b\xff"), "a b\u{fffd}");
    }
}
