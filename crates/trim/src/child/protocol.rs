//! Wire protocol between parent and child: one JSON object per line, of bounded length.

use crate::target::{Identity, Target};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Protocol version. Parent and child are the same program unless it was replaced by another
/// version in between, which `/proc/self/exe` prevents.
const VERSION: u32 = 1;

/// Maximum line length. Paths are at most 4 KiB and are encoded as lists of numbers.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Maximum number of descriptors received per message.
const DESCRIPTORS_MAX: usize = 253;

/// Message from parent to child.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// First message.
    Hello {
        version: u32,
        parent_pid: u32,
        /// Number of descriptors that follow.
        locks: usize,
        mount_point: Vec<u8>,
        mount_id: u64,
        identity: Identity,
        device_path: Vec<u8>,
    },
    /// Carries `count` descriptors.
    Locks { count: usize },
    Trim {
        id: u64,
        start_bytes: u64,
        len_bytes: u64,
        minlen_bytes: u64,
    },
}

impl Request {
    pub(super) fn hello(target: &Target, locks: usize) -> Self {
        let bytes = |path: &Path| path.as_os_str().as_bytes().to_vec();
        Self::Hello {
            version: VERSION,
            parent_pid: std::process::id(),
            locks,
            mount_point: bytes(&target.mount_point),
            mount_id: target.mount_id,
            identity: target.identity.clone(),
            device_path: bytes(&target.device_path),
        }
    }
}

/// A parsed hello message.
#[derive(Debug)]
pub(super) struct Hello {
    pub(super) parent_pid: u32,
    pub(super) locks: usize,
    pub(super) target: Target,
}

impl Hello {
    /// # Errors
    /// If the line is another message or has another version.
    pub(super) fn parse(line: &str) -> io::Result<Self> {
        let path = |bytes| PathBuf::from(OsString::from_vec(bytes));
        match parse_request(line)? {
            Request::Hello {
                version: VERSION,
                parent_pid,
                locks,
                mount_point,
                mount_id,
                identity,
                device_path,
            } => Ok(Self {
                parent_pid,
                locks,
                target: Target {
                    mount_point: path(mount_point),
                    mount_id,
                    identity,
                    device_path: path(device_path),
                },
            }),
            Request::Hello { version, .. } => Err(invalid(format!(
                "its parent speaks version {version} of the protocol, not {VERSION}"
            ))),
            other => Err(invalid(format!("{other:?} before any greeting"))),
        }
    }
}

/// Message from child to parent.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Answer {
    /// The child holds the locks and is waiting for ranges.
    Ready {
        /// SIGTERM is blocked or ignored and could not be reset.
        is_deaf: bool,
    },
    /// The child cannot work.
    Refused { message: String },
    Trimmed {
        id: u64,
        reported_len_bytes: u64,
        took_ns: u64,
    },
    /// FITRIM failed.
    Kernel { id: u64, errno: i32 },
    /// See `TargetError::Changed`.
    Changed {
        id: u64,
        mount_point: String,
        expected: String,
        found: String,
    },
    /// See `TargetError::Unreadable`.
    Unreadable {
        id: u64,
        mount_point: String,
        errno: Option<i32>,
        message: String,
    },
}

impl Answer {
    /// Returns the ID of the request that this answers.
    pub(super) fn id(&self) -> Option<u64> {
        match self {
            Self::Ready { .. } | Self::Refused { .. } => None,
            Self::Trimmed { id, .. }
            | Self::Kernel { id, .. }
            | Self::Changed { id, .. }
            | Self::Unreadable { id, .. } => Some(*id),
        }
    }
}

pub(super) fn parse_answer(line: &str) -> io::Result<Answer> {
    serde_json::from_str(line).map_err(|error| invalid(format!("not an answer: {error}")))
}

pub(super) fn parse_request(line: &str) -> io::Result<Request> {
    serde_json::from_str(line).map_err(|error| invalid(format!("not a request: {error}")))
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Sends one line with descriptors. A line is far smaller than a socket's buffer, and each side
/// waits for the answer, so a line that does not fit at once means that the other side is broken.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    message: &impl Serialize,
    descriptors: &[OwnedFd],
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    if line.len() > LINE_BYTES_MAX {
        return Err(invalid(format!("a line of {} bytes", line.len())));
    }
    let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !borrowed.is_empty() && !control.push(SendAncillaryMessage::ScmRights(&borrowed)) {
        return Err(invalid(format!("{} descriptors at once", borrowed.len())));
    }
    let mut rest = line.as_slice();
    while !rest.is_empty() {
        let sent = rustix::net::sendmsg(
            socket,
            &[IoSlice::new(rest)],
            &mut control,
            SendFlags::NOSIGNAL,
        );
        match sent {
            Ok(sent) => {
                rest = rest.get(sent..).unwrap_or_default();
                // The descriptors were sent with the first byte.
                control.clear();
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Receives bytes and descriptors; returns 0 at end of file.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    lines: &mut Lines,
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0; 4096];
    let received = loop {
        let received = rustix::net::recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut bytes)],
            &mut control,
            RecvFlags::CMSG_CLOEXEC,
        );
        match received {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    lines.push(bytes.get(..received.bytes).unwrap_or_default());
    Ok(received.bytes)
}

/// Splits a stream into lines of bounded length.
#[derive(Debug, Default)]
pub(super) struct Lines {
    bytes: Vec<u8>,
}

impl Lines {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Reads once; returns 0 at end of file.
    pub(super) fn read_from(&mut self, mut source: impl Read) -> io::Result<usize> {
        let mut bytes = [0; 4096];
        let len = source.read(&mut bytes)?;
        self.push(bytes.get(..len).unwrap_or_default());
        Ok(len)
    }

    /// Returns the next complete line, without its newline.
    pub(super) fn next_line(&mut self) -> io::Result<Option<String>> {
        let Some(end) = self.bytes.iter().position(|&byte| byte == b'\n') else {
            if self.bytes.len() > LINE_BYTES_MAX {
                return Err(invalid(format!(
                    "a line of more than {LINE_BYTES_MAX} bytes"
                )));
            }
            return Ok(None);
        };
        let rest = self.bytes.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.bytes, rest);
        line.truncate(end);
        String::from_utf8(line)
            .map(Some)
            .map_err(|_| invalid("a line that is not UTF-8".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::net::UnixStream;

    fn target(path: &[u8]) -> Target {
        Target {
            mount_point: OsString::from_vec(path.to_vec()).into(),
            ..crate::target::sample()
        }
    }

    fn text(message: &impl Serialize) -> String {
        serde_json::to_string(message).unwrap()
    }

    #[test]
    fn descriptors_arrive_with_their_line() {
        let (here, there) = UnixStream::pair().unwrap();
        let files: Vec<OwnedFd> = (0..3)
            .map(|_| std::fs::File::open("/dev/null").unwrap().into())
            .collect();
        send(here.as_fd(), &Request::Locks { count: 3 }, &files).unwrap();
        send(
            here.as_fd(),
            &Request::hello(&target(b"/mnt/\xff x"), 3),
            &[],
        )
        .unwrap();
        drop(here);
        let (mut lines, mut received) = (Lines::default(), Vec::new());
        while receive(there.as_fd(), &mut lines, &mut received).unwrap() > 0 {}
        assert_eq!(received.len(), 3);
        for (sent, received) in files.iter().zip(&received) {
            let (sent, received) = (
                rustix::fs::fstat(sent).unwrap(),
                rustix::fs::fstat(received).unwrap(),
            );
            assert_eq!(sent.st_rdev, received.st_rdev);
        }
        let first = lines.next_line().unwrap().unwrap();
        assert_eq!(parse_request(&first).unwrap(), Request::Locks { count: 3 });
        let hello = Hello::parse(&lines.next_line().unwrap().unwrap()).unwrap();
        assert_eq!(hello.parent_pid, std::process::id());
        assert_eq!(hello.target.mount_point, target(b"/mnt/\xff x").mount_point);
        assert_eq!(lines.next_line().unwrap(), None);
    }

    #[test]
    fn endless_lines_and_unknown_messages_are_errors() {
        let mut lines = Lines::default();
        lines.push(&vec![b'x'; LINE_BYTES_MAX + 1]);
        assert!(lines.next_line().is_err());
        assert!(parse_answer("{\"answer\":\"ready\"}").is_err());
        assert!(parse_answer("{\"answer\":\"ready\",\"is_deaf\":false,\"x\":1}").is_err());
        assert!(Hello::parse("{\"ask\":\"locks\",\"count\":1}").is_err());
        let mut other = serde_json::to_value(Request::hello(&target(b"/"), 0)).unwrap();
        other["version"] = 2.into();
        let error = Hello::parse(&other.to_string()).unwrap_err().to_string();
        assert!(error.contains("version 2"), "{error}");
    }

    proptest! {
        /// A line of either direction with a piece replaced: either an error, or it parses to what
        /// it says.
        #[test]
        fn hostile_lines_fail_or_round_trip(
            which in 0usize..9,
            at in any::<prop::sample::Index>(),
            cut in 0usize..12,
            piece in prop_oneof![
                "[\\[\\]{}\":,0-9a-z_.eE+-]{0,6}",
                Just("18446744073709551616".to_owned()),
                Just("-1".to_owned()),
                Just("null".to_owned()),
                Just("\\ud800".to_owned()),
                Just("[".repeat(500)),
                "\\PC{0,4}",
            ],
        ) {
            let path = || "/mnt".to_owned();

            let line = match which {
                0 => text(&Request::hello(&target(b"/mnt/\xff x"), 3)),
                1 => text(&Request::Locks { count: 3 }),
                2 => text(&Request::Trim { id: 1, start_bytes: 2, len_bytes: u64::MAX, minlen_bytes: 3 }),
                3 => text(&Answer::Ready { is_deaf: false }),
                4 => text(&Answer::Refused { message: "x".to_owned() }),
                5 => text(&Answer::Trimmed { id: 1, reported_len_bytes: 2, took_ns: 3 }),
                6 => text(&Answer::Kernel { id: 1, errno: 95 }),
                7 => text(&Answer::Changed { id: 1, mount_point: path(), expected: path(), found: path() }),
                _ => text(&Answer::Unreadable { id: 1, mount_point: path(), errno: None, message: path() }),
            };
            let start = at.index(line.len() + 1);
            let end = (start + cut).min(line.len());
            // All lines are ASCII.
            let hostile = format!("{}{piece}{}", &line[..start], &line[end..]);
            if let Ok(request) = parse_request(&hostile) {
                prop_assert_eq!(parse_request(&text(&request)).unwrap(), request);
            }
            if let Ok(answer) = parse_answer(&hostile) {
                let again = parse_answer(&text(&answer)).unwrap();
                prop_assert_eq!(again.id(), answer.id());
                prop_assert_eq!(again, answer);
            }
            let _ = Hello::parse(&hostile);
            prop_assert!(parse_request(&line).is_ok() || parse_answer(&line).is_ok());
        }

        #[test]
        fn any_bytes_are_split_or_rejected(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut cutter = Lines::default();
            cutter.push(&bytes);
            let mut found = 0;
            while let Ok(Some(line)) = cutter.next_line() {
                found += line.len() + 1;
                let _ = (parse_request(&line), parse_answer(&line), Hello::parse(&line));
            }
            prop_assert!(found <= bytes.len());
        }

        #[test]
        fn lines_do_not_depend_on_chunking(
            lines in prop::collection::vec("[^\n]{0,40}", 0..8),
            cut in 1usize..9,
        ) {
            let stream: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
            let mut cutter = Lines::default();
            let mut found = Vec::new();
            for part in stream.as_bytes().chunks(cut) {
                cutter.push(part);
                while let Some(line) = cutter.next_line().unwrap() {
                    found.push(line);
                }
            }
            prop_assert_eq!(found, lines);
        }

        #[test]
        fn requests_round_trip(
            id in any::<u64>(),
            start_bytes in any::<u64>(),
            len_bytes in any::<u64>(),
            minlen_bytes in any::<u64>(),
        ) {
            let request = Request::Trim { id, start_bytes, len_bytes, minlen_bytes };
            let text = serde_json::to_string(&request).unwrap();
            prop_assert_eq!(parse_request(&text).unwrap(), request);
        }
    }
}
