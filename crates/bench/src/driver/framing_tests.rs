//! Answers in any pieces, beside a second reader that has all bytes at once and no parser but `split`.

use super::framing::{Broken, Decoder, HEAD_BYTES_MAX, Sink};
use proptest::prelude::*;

/// What was read of an answer and of the connection after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Read {
    status: u16,
    body: Vec<u8>,
    keeps_alive: bool,
    len_bytes: usize,
}

impl Sink for Read {
    fn begin(&mut self, status: u16) {
        assert_eq!(self.status, 0, "one answer begins once");
        self.status = status;
    }

    fn push(&mut self, part: &[u8]) {
        self.body.extend_from_slice(part);
    }
}

/// Reads an answer that comes in these pieces, and then the end of the connection.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Read, Broken> {
    let mut decoder = Decoder::new();
    let mut read = Read::default();
    let mut kept = Vec::new();
    for piece in pieces {
        kept.extend_from_slice(piece);
        let used = decoder.decode(&kept, &mut read)?;
        read.len_bytes += used;
        kept.drain(..used);
        if decoder.is_complete() {
            break;
        }
        // Nothing but a head or a line is kept.
        assert!(kept.len() < HEAD_BYTES_MAX);
    }
    if !decoder.is_complete() {
        decoder.end()?;
    }
    read.keeps_alive = decoder.keeps_alive();
    Ok(read)
}

fn read_whole(bytes: &[u8]) -> Result<Read, Broken> {
    read([bytes])
}

/// Cuts bytes at these places, modulo their number.
fn cut<'a>(bytes: &'a [u8], places: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = places
        .iter()
        .map(|place| place % (bytes.len() + 1))
        .chain([0, bytes.len()])
        .collect();
    places.sort_unstable();
    places
        .windows(2)
        .map(|pair| &bytes[pair[0]..pair[1]])
        .collect()
}

/// The second reader: RFC 9112, with the same choices where it leaves some. It splits texts and looks at whole
/// lines.
mod oracle {
    use super::Read;

    pub(super) fn read(bytes: &[u8]) -> Option<Read> {
        let mut rest = bytes;
        loop {
            let (version, status) = status_line(&line(&mut rest)?)?;
            let headers = headers(&mut rest)?;
            let all = |name: &str| -> Vec<String> {
                let of_name = headers.iter().filter(|(found, _)| found == name);
                of_name.map(|(_, value)| value.clone()).collect()
            };
            let mut lengths = all("content-length");
            lengths.dedup_by_key(|text| text.trim_start_matches('0').to_owned());
            let length: Option<u64> = match &lengths[..] {
                [] => None,
                [one] if one.bytes().all(|byte| byte.is_ascii_digit()) => Some(one.parse().ok()?),
                _ => return None,
            };
            let is_chunked = match &all("transfer-encoding")[..] {
                [] => false,
                [one] if one == "chunked" && version == 1 && length.is_none() => true,
                _ => return None,
            };
            if status < 100 || status == 101 {
                return None;
            }
            if status < 200 {
                continue;
            }
            let options: Vec<String> = all("connection")
                .iter()
                .flat_map(|value| value.split(','))
                .map(|option| option.trim().to_owned())
                .collect();
            let has = |option: &str| options.iter().any(|found| found == option);
            let mut keeps_alive = (version == 1 || has("keep-alive")) && !has("close");
            let body = if status == 204 || status == 304 {
                Vec::new()
            } else if is_chunked {
                chunks(&mut rest)?
            } else if let Some(length) = length {
                take(&mut rest, length)?.to_vec()
            } else {
                keeps_alive = false;
                std::mem::take(&mut rest).to_vec()
            };
            return Some(Read {
                status,
                body,
                keeps_alive,
                len_bytes: bytes.len() - rest.len(),
            });
        }
    }

    fn take<'a>(rest: &mut &'a [u8], len: u64) -> Option<&'a [u8]> {
        let (taken, left) = rest.split_at_checked(usize::try_from(len).ok()?)?;
        *rest = left;
        Some(taken)
    }

    /// A line of visible characters, spaces and tabs, with the end that HTTP asks for or that of Unix.
    fn line(rest: &mut &[u8]) -> Option<String> {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let line = take(rest, end as u64 + 1)?.strip_suffix(b"\n")?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text: String = line.iter().map(|byte| char::from(*byte)).collect();
        let is_text = |c: char| c == '\t' || (c >= ' ' && c != '\x7f');
        text.chars().all(is_text).then_some(text)
    }

    fn status_line(line: &str) -> Option<(u8, u16)> {
        let (version, rest) = line.split_once(' ')?;
        let version = match version {
            "HTTP/1.0" => 0,
            "HTTP/1.1" => 1,
            _ => return None,
        };
        let (code, _reason) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_code = code.len() == 3 && code.chars().all(|c| c.is_ascii_digit());
        Some((version, is_code.then(|| code.parse().ok())??))
    }

    /// Lines up to an empty one, in lower case.
    fn headers(rest: &mut &[u8]) -> Option<Vec<(String, String)>> {
        let mut headers = Vec::new();
        loop {
            let line = line(rest)?;
            if line.is_empty() {
                return Some(headers);
            }
            let (name, value) = line.split_once(':')?;
            let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
            if name.is_empty() || !name.chars().all(is_token) {
                return None;
            }
            let value = value.trim_matches([' ', '\t']);
            headers.push((name.to_ascii_lowercase(), value.to_ascii_lowercase()));
        }
    }

    fn chunks(rest: &mut &[u8]) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = rest.iter().position(|byte| *byte == b'\r')?;
            let line = take(rest, end as u64)?;
            let text: String = line.iter().map(|byte| char::from(*byte)).collect();
            let (size, _extension) = text.split_once(';').unwrap_or((&text, ""));
            let size = size.trim_end_matches([' ', '\t']);
            if size.is_empty() || size.len() > 16 || !size.chars().all(|c| c.is_ascii_hexdigit()) {
                return None;
            }
            let size = u64::from_str_radix(size, 16).ok()?;
            if take(rest, 2)? != b"\r\n" {
                return None;
            }
            if size == 0 {
                headers(rest)?;
                return Some(body);
            }
            body.extend_from_slice(take(rest, size)?);
            if take(rest, 2)? != b"\r\n" {
                return None;
            }
        }
    }
}

/// An answer, and what is to be read of it.
fn answer() -> impl Strategy<Value = (Vec<u8>, Read)> {
    let header = "[a-z]{1,8}-[a-z]{1,8}: ?[ -~]{0,30}";
    let headers = || prop::collection::vec(header, 0..4);
    let end = prop_oneof![4 => Just("\r\n"), 1 => Just("\n")];
    let bodies = prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..5);
    let interim = prop::collection::vec(prop_oneof![Just(100_u16), Just(102), Just(103)], 0..3);
    let status = prop_oneof![4 => 200_u16..600, 1 => Just(204), 1 => Just(304)];
    let connection = prop_oneof![
        3 => Just(None),
        1 => Just(Some("close")),
        1 => Just(Some("Keep-Alive")),
        1 => Just(Some("x, CLOSE"))
    ];
    (
        (status, interim, 0..2_u8, 0..3_u8),
        (headers(), headers(), end, connection),
        bodies,
        prop::option::of("[;][ -~]{0,20}"),
    )
        .prop_map(
            |(
                (status, interim, minor, form),
                (mut headers, trailer, end, connection),
                parts,
                extension,
            )| {
                let has_body = status != 204 && status != 304;
                // Version 1.0 has no chunks.
                let form = if minor == 0 && form == 2 { 1 } else { form };
                let mut body = parts.concat();
                headers.extend(connection.map(|option| format!("Connection: {option}")));
                let content = match form {
                    0 => body.clone(),
                    1 => {
                        headers.push(format!("Content-Length:{}", body.len()));
                        body.clone()
                    }
                    _ => {
                        headers.push("transfer-encoding: Chunked".to_owned());
                        let mut content = Vec::new();
                        for part in &parts {
                            let extension = extension.as_deref().unwrap_or_default();
                            content.extend(format!("{:X}{extension}\r\n", part.len()).bytes());
                            content.extend_from_slice(part);
                            content.extend(b"\r\n");
                        }
                        content.extend(b"0\r\n");
                        content.extend(
                            trailer
                                .iter()
                                .flat_map(|line| [line, "\r\n"])
                                .flat_map(str::bytes),
                        );
                        content.extend(b"\r\n");
                        content
                    }
                };
                let mut bytes = Vec::new();
                for status in interim {
                    bytes.extend(format!("HTTP/1.1 {status}{end}{end}").bytes());
                }
                bytes.extend(format!("HTTP/1.{minor} {status} Any reason{end}").bytes());
                bytes.extend(
                    headers
                        .iter()
                        .flat_map(|line| [line, end])
                        .flat_map(str::bytes),
                );
                bytes.extend(end.bytes());
                if has_body {
                    bytes.extend(content);
                } else {
                    body.clear();
                }
                let is_kept = match connection {
                    None => minor == 1,
                    Some(option) => option == "Keep-Alive",
                };
                let expected = Read {
                    status,
                    body,
                    keeps_alive: is_kept && (form > 0 || !has_body),
                    len_bytes: bytes.len(),
                };
                (bytes, expected)
            },
        )
}

/// Changes a byte, or leaves it out, or puts another before it.
fn mutate(bytes: &mut Vec<u8>, (place, kind, byte): (usize, u8, u8)) {
    let place = place % (bytes.len() + 1);
    match kind {
        0 => bytes.insert(place, byte),
        1 if place < bytes.len() => bytes[place] = byte,
        2 if place < bytes.len() => {
            bytes.remove(place);
        }
        _ => bytes.truncate(place),
    }
}

/// Mostly bytes that mean something.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        4 => prop::sample::select(&b"\r\n :;,0139aAfF\t\0\x7f\x80HTP/"[..]),
        1 => any::<u8>(),
    ]
}

proptest! {
    #[test]
    fn an_answer_in_any_pieces_is_read_as_it_was_written(
        (bytes, expected) in answer(),
        places in prop::collection::vec(any::<usize>(), 0..40),
    ) {
        prop_assert_eq!(read(cut(&bytes, &places)), Ok(expected.clone()));
        prop_assert_eq!(read(bytes.chunks(1)), Ok(expected));
    }

    #[test]
    fn what_follows_an_answer_is_left(
        (mut bytes, expected) in answer(),
        more in prop::collection::vec(any::<u8>(), 1..100),
        places in prop::collection::vec(any::<usize>(), 0..10),
    ) {
        bytes.extend(&more);
        let found = read(cut(&bytes, &places)).unwrap();
        if found.len_bytes == bytes.len() {
            // A body without a length takes everything.
            prop_assert_eq!(found.body, [expected.body, more].concat());
        } else {
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_cut_answer_is_refused((bytes, expected) in answer(), place: usize) {
        let part = &bytes[..place % bytes.len()];
        match read_whole(part) {
            Err(Broken) => {}
            // Only one that ends with the connection cannot be told from its front.
            Ok(found) => {
                prop_assert!(!found.keeps_alive);
                prop_assert!(expected.body.starts_with(&found.body));
            }
        }
    }

    #[test]
    fn damaged_answers_are_read_as_by_the_second_reader(
        (mut bytes, _) in answer(),
        mutations in prop::collection::vec((any::<usize>(), 0..4_u8, byte()), 1..4),
        places in prop::collection::vec(any::<usize>(), 0..10),
    ) {
        for mutation in mutations {
            mutate(&mut bytes, mutation);
        }
        let found = read_whole(&bytes);
        prop_assert_eq!(&read(cut(&bytes, &places)), &found);
        prop_assert_eq!(found.ok(), oracle::read(&bytes), "{}", bytes.escape_ascii());
    }

    #[test]
    fn any_bytes_are_handled_without_panic(
        bytes in prop::collection::vec(byte(), 0..200),
        places in prop::collection::vec(any::<usize>(), 0..10),
    ) {
        for front in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"] {
            let whole = [front.as_bytes(), &bytes].concat();
            prop_assert_eq!(read(cut(&whole, &places)).ok(), oracle::read(&whole));
        }
    }
}

#[test]
fn what_cannot_be_framed_is_refused() {
    let long = "x".repeat(HEAD_BYTES_MAX);
    let many = "a: b\r\n".repeat(101);
    for bad in [
        "",
        "\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        "HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        "SSH-2.0-OpenSSH_9.9\r\n",
        "HTTP/1.1 099 OK\r\ncontent-length: 0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",
        "HTTP/1.1 200 OK\r\ncontent-length: 1, 1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\ncontent-length: +1\r\n\r\nx",
        "HTTP/1.1 200 OK\r\ncontent-length:\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 18446744073709551616\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n00000000000000001\r\nx\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nxx\r\n0\r\n\r\n",
        &format!("HTTP/1.1 200 OK\r\nx: {long}\r\ncontent-length: 0\r\n\r\n"),
        &format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n{many}\r\n"),
        &format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0;{long}\r\n\r\n"),
        &format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: {long}\r\n\r\n"),
        &format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n{many}\r\n"),
    ] {
        for len in [1, 7, usize::MAX] {
            let result = read(bad.as_bytes().chunks(len));
            assert_eq!(result, Err(Broken), "{:?}", units::cut(bad, 100));
        }
    }
}

#[test]
fn a_head_may_be_as_long_as_the_limit() {
    let front = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx: ";
    for (len, is_read) in [(HEAD_BYTES_MAX, true), (HEAD_BYTES_MAX + 1, false)] {
        let fill = "x".repeat(len - front.len() - 4);
        let bytes = format!("{front}{fill}\r\n\r\nok").into_bytes();
        for piece in [1, 1000, usize::MAX] {
            let body = read(bytes.chunks(piece)).map(|read| read.body);
            assert_eq!(
                body.is_ok_and(|body| body == b"ok"),
                is_read,
                "{len}, {piece}"
            );
        }
    }
}
