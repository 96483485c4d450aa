//! Heads of HTTP requests.

use super::message::SecretBytes;
use super::target::Target;
use std::io::Write as _;

/// What the heads of all requests of a kind have in common.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// Method and path prefix.
    before: Vec<u8>,
    /// The version and the headers that never change.
    after: SecretBytes,
}

impl Frame {
    /// Makes the frame of the requests to `target`; `None` if its host, prefix or credentials hold characters
    /// that HTTP does not allow.
    pub(super) fn new(target: &Target, method: &str, content_type: Option<&str>) -> Option<Self> {
        if !is_path(target.path_prefix.as_bytes()) {
            return None;
        }
        let mut after = SecretBytes::default();
        after.push(b" HTTP/1.1\r\n");
        let host = format!("{}:{}", target.host, target.port);
        header(&mut after, "host", host.as_bytes())?;
        if let Some(authorization) = &target.authorization {
            header(&mut after, "authorization", authorization.text().as_bytes())?;
        }
        if let Some(content_type) = content_type {
            header(&mut after, "content-type", content_type.as_bytes())?;
        }
        Some(Self {
            before: format!("{method} {}", target.path_prefix).into_bytes(),
            after,
        })
    }

    /// Writes the front of a head to `out`. Bytes that a path cannot hold are percent-encoded.
    pub(super) fn begin(&self, path: &[u8], out: &mut SecretBytes) {
        out.truncate(0);
        out.push(&self.before);
        if is_path(path) {
            out.push(path);
        } else {
            for byte in path {
                if is_path(&[*byte]) {
                    out.push(&[*byte]);
                } else {
                    out.push(format!("%{byte:02X}").as_bytes());
                }
            }
        }
        out.push(self.after.as_slice());
    }
}

/// Writes the end of a head to `out`.
pub(super) fn end(body_bytes: Option<usize>, out: &mut SecretBytes) {
    if let Some(body_bytes) = body_bytes {
        let mut line = [0; 48];
        let mut rest = &mut line[..];
        // There is room for the longest number.
        let _ = write!(rest, "content-length: {body_bytes}\r\n");
        let left = rest.len();
        out.push(&line[..line.len() - left]);
    }
    out.push(b"\r\n");
}

/// Whether these bytes may stand in the path and query of a request.
fn is_path(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|byte| byte.is_ascii_graphic() && !br##""#<>\^`{|}"##.contains(byte))
}

/// Appends a header whose value holds no control characters.
fn header(out: &mut SecretBytes, name: &str, value: &[u8]) -> Option<()> {
    if value.iter().any(u8::is_ascii_control) {
        return None;
    }
    for part in [name.as_bytes(), b": ", value, b"\r\n"] {
        out.push(part);
    }
    Some(())
}
