//! Reads untrusted tar archives, compressed or not: nothing is written to disk, everything is
//! counted while streaming, and whatever is not clearly a file, a directory or a symbolic link is
//! rejected, or passed over where the caller asks for nothing better.
//!
//! The format is that of pax(1) (POSIX.1-2017, "pax Interchange Format" and "ustar") with GNU tar's
//! long names. The headers are parsed here rather than by `tar::Archive`, which neither limits
//! extension headers nor distinguishes the end of an archive from a truncated one.

use super::entry::{Entry, EntryKind, Kept, Want, plain_path_fault};
use super::limits::{BundleError, Limits};
use std::borrow::Cow;
use std::cell::Cell;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::rc::Rc;
use tar::{EntryType, Header};

const BLOCK_BYTES: usize = 512;
/// Maximum size of an extension header's body: a long name, or pax records.
const EXTENSION_BYTES_MAX: u64 = 64 << 10;
/// log2 of the largest window that a zstd frame may request: 32 MiB, enough for `zstd --ultra -20`.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;
/// Memory that decoding xz may take: twice what `xz -9` needs.
const XZ_MEMORY_BYTES_MAX: u64 = 128 << 20;

/// Which limit the streams below ran into. This distinguishes exceeded limits from damage, since
/// decoders wrap the errors of what they read from.
type Exceeded = Rc<Cell<Option<(&'static str, u64)>>>;

/// Counts the bytes that are read, and fails at a limit.
struct Limited<R> {
    inner: R,
    left: u64,
    what: &'static str,
    limit: u64,
    exceeded: Exceeded,
}

impl<R> Limited<R> {
    fn new(inner: R, what: &'static str, limit: u64, exceeded: &Exceeded) -> Self {
        Self {
            inner,
            left: limit,
            what,
            limit,
            exceeded: exceeded.clone(),
        }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        // Reading one byte more than the limit shows that it was exceeded.
        let most = usize::try_from(self.left.saturating_add(1)).unwrap_or(usize::MAX);
        let most = most.min(buffer.len());
        let read = self.inner.read(&mut buffer[..most])?;
        let count = u64::try_from(read).unwrap_or(u64::MAX);
        if count > self.left {
            self.exceeded.set(Some((self.what, self.limit)));
            return Err(std::io::Error::other("limit exceeded"));
        }
        self.left -= count;
        Ok(read)
    }
}

/// Walks an archive. `take` gets each entry in order, but for those of [`Want::Nothing`] that could
/// not be taken anyway.
///
/// # Errors
/// At the first thing that is wrong with the archive, or with an entry.
pub(super) fn walk(
    input: impl Read,
    limits: &Limits,
    wanted: impl Fn(&str) -> Want,
    take: impl FnMut(Entry) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    let exceeded = Exceeded::default();
    let input = Limited::new(
        input,
        "the compressed file",
        limits.compressed_bytes_max,
        &exceeded,
    );
    let input = BufReader::with_capacity(64 << 10, input);
    let outcome = decompress(input, limits, &exceeded, wanted, take);
    match (outcome, exceeded.take()) {
        (Err(_), Some((what, limit_bytes))) => {
            Err(BundleError::too_large(what, format!("{limit_bytes} bytes")))
        }
        (outcome, _) => outcome,
    }
}

/// Whether a stream begins as a tar archive does, compressed or not.
pub(super) fn begins(input: impl BufRead) -> bool {
    let mut block = [0; BLOCK_BYTES];
    decoder(input).is_ok_and(|mut decoder| decoder.read_exact(&mut block).is_ok())
        && is_header(&block)
}

/// Whether a block is the header of an entry, by its checksum: the sum of all bytes, with those of the
/// checksum itself counted as spaces.
fn is_header(block: &[u8; BLOCK_BYTES]) -> bool {
    let counted = |(index, &byte)| {
        if (148..156).contains(&index) {
            b' '
        } else {
            byte
        }
    };
    let sum: u32 = block.iter().enumerate().map(counted).map(u32::from).sum();
    Header::from_byte_slice(block).cksum().ok() == Some(sum)
}

/// Decompresses a stream by its first bytes.
fn decoder<'i>(mut input: impl BufRead + 'i) -> Result<Box<dyn Read + 'i>, BundleError> {
    let mut magic = Vec::new();
    (&mut input)
        .take(6)
        .read_to_end(&mut magic)
        .map_err(BundleError::damaged)?;
    let whole = Cursor::new(magic.clone()).chain(input);
    Ok(match magic.as_slice() {
        [] => return Err(damaged("it is empty")),
        // RFC 1952.
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(whole)),
        // RFC 8878: a frame, or one of the sixteen skippable frames.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            let mut decoder =
                zstd::stream::read::Decoder::with_buffer(whole).map_err(BundleError::damaged)?;
            decoder
                .window_log_max(ZSTD_WINDOW_LOG_MAX)
                .map_err(BundleError::damaged)?;
            Box::new(decoder)
        }
        // tukaani.org/xz/xz-file-format.txt, 2.1.1.1.
        [0xfd, b'7', b'z', b'X', b'Z', 0] => {
            let flags = liblzma::stream::CONCATENATED;
            let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_BYTES_MAX, flags)
                .map_err(BundleError::damaged)?;
            Box::new(liblzma::bufread::XzDecoder::new_stream(whole, stream))
        }
        [b'B', b'Z', b'h', ..] => {
            return Err(BundleError::NotRead {
                name: "compressed with bzip2",
                way_out: "unpack it with bunzip2",
            });
        }
        _ => Box::new(whole),
    })
}

fn decompress(
    input: impl BufRead,
    limits: &Limits,
    exceeded: &Exceeded,
    wanted: impl Fn(&str) -> Want,
    take: impl FnMut(Entry) -> Result<(), BundleError>,
) -> Result<(), BundleError> {
    let limited = Limited::new(
        decoder(input)?,
        "the archive inside",
        limits.total_bytes_max,
        exceeded,
    );
    let mut tar = Tar {
        input: BufReader::with_capacity(64 << 10, limited),
        limits,
        headers: 0,
        kept: Kept::new(limits),
    };
    tar.walk(wanted, take)
}

/// What extension headers specify for the entry that follows them.
#[derive(Default)]
struct Extension {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    /// Whether there was any extension header.
    any: bool,
}

struct Tar<'l, R> {
    input: R,
    limits: &'l Limits,
    headers: u64,
    kept: Kept<'l>,
}

impl<R: Read> Tar<'_, R> {
    fn walk(
        &mut self,
        wanted: impl Fn(&str) -> Want,
        mut take: impl FnMut(Entry) -> Result<(), BundleError>,
    ) -> Result<(), BundleError> {
        let mut extension = Extension::default();
        while let Some(header) = self.next_header()? {
            let kind = header.entry_type();
            let size = header.entry_size().map_err(BundleError::damaged)?;
            match kind {
                EntryType::GNULongName | EntryType::GNULongLink => {
                    let mut text = self.extension_body(size, "a long name")?;
                    // GNU tar appends a NUL.
                    if text.last() == Some(&0) {
                        text.pop();
                    }
                    let place = if kind == EntryType::GNULongName {
                        &mut extension.path
                    } else {
                        &mut extension.link
                    };
                    set_once(place, text)?;
                    extension.any = true;
                }
                EntryType::XHeader => {
                    let records = self.extension_body(size, "a pax header")?;
                    read_pax(&records, &mut extension)?;
                    extension.any = true;
                }
                EntryType::XGlobalHeader => {
                    let records = self.extension_body(size, "a pax header")?;
                    let mut global = Extension::default();
                    read_pax(&records, &mut global)?;
                    if global.path.is_some() || global.link.is_some() || global.size.is_some() {
                        return Err(damaged(
                            "a global pax header gives one name or size to all entries",
                        ));
                    }
                }
                _ => {
                    let named = std::mem::take(&mut extension);
                    if let Some(entry) = self.entry(&header, size, &named, &wanted)? {
                        take(entry)?;
                    }
                }
            }
        }
        if extension.any {
            return Err(damaged(
                "a header that names the next entry, and none follows",
            ));
        }
        self.end()
    }

    /// Reads the next header; `None` at the first block of the end-of-archive marker.
    fn next_header(&mut self) -> Result<Option<Header>, BundleError> {
        let block = self.block()?.ok_or_else(|| {
            damaged("it ends without the end-of-archive marker: it is cut off, or no tar archive")
        })?;
        if block.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        let header = Header::from_byte_slice(&block).clone();
        if !is_header(&block) {
            return Err(if self.headers == 0 {
                BundleError::NotAnArchive
            } else {
                damaged("a header's checksum is wrong")
            });
        }
        self.headers += 1;
        if self.headers > self.limits.entries_max {
            let limit = format!("{} entries", self.limits.entries_max);
            return Err(BundleError::too_large("the archive", limit));
        }
        Ok(Some(header))
    }

    /// Reads an entry; `None` if it is not wanted and could not be taken.
    fn entry(
        &mut self,
        header: &Header,
        size: u64,
        named: &Extension,
        wanted: &impl Fn(&str) -> Want,
    ) -> Result<Option<Entry>, BundleError> {
        let raw: Cow<'_, [u8]> = match &named.path {
            Some(path) => Cow::Borrowed(path.as_slice()),
            None => header.path_bytes(),
        };
        let shown = String::from_utf8_lossy(&raw).into_owned();
        let refuse = |reason: &str| BundleError::refused(&shown, reason);
        let (path, ends_in_slash) = clean(&shown);
        if !path.is_empty()
            && let Some(fault) = plain_path_fault(path, self.limits)
        {
            return Err(refuse(&fault));
        }
        let want = wanted(path);
        if std::str::from_utf8(&raw).is_err() && want == Want::All {
            return Err(refuse("its name is not UTF-8"));
        }
        if named.size.is_some_and(|stated| stated != size) {
            return Err(refuse("its headers state two sizes"));
        }
        let kind = match header.entry_type() {
            EntryType::Regular if !ends_in_slash && !path.is_empty() => {
                let keep = self.kept.add(size, want).map_err(|error| match error {
                    Some(error) => error,
                    None => refuse(&self.kept.too_large()),
                })?;
                let bytes = self.body(size, keep)?;
                if keep {
                    EntryKind::File(bytes)
                } else {
                    EntryKind::Withheld(size)
                }
            }
            // Before POSIX, a directory was a file whose name ends in a slash.
            EntryType::Regular | EntryType::Directory => {
                if size != 0 {
                    return Err(refuse("it is a directory with a content"));
                }
                EntryKind::Directory
            }
            EntryType::Symlink => {
                let text: Cow<'_, [u8]> = match &named.link {
                    Some(text) => Cow::Borrowed(text.as_slice()),
                    None => header.link_name_bytes().unwrap_or_default(),
                };
                let text =
                    std::str::from_utf8(&text).map_err(|_| refuse("its link text is not UTF-8"))?;
                if text.len() > self.limits.path_bytes_max || text.contains('\0') {
                    return Err(refuse("its link text is too long or holds a NUL"));
                }
                if size != 0 {
                    return Err(refuse("it is a symbolic link with a content"));
                }
                EntryKind::Link(text.to_owned())
            }
            kind => {
                // Support archives hold hard links and sparse files among their logs.
                if want != Want::All {
                    self.body(if has_body(kind) { size } else { 0 }, false)?;
                    return Ok(None);
                }
                return Err(refuse(&refused_kind(kind)));
            }
        };
        Ok(Some(Entry {
            path: path.to_owned(),
            kind,
            mode: header.mode().map_err(BundleError::damaged)? & 0o7777,
            mtime_s: header
                .mtime()
                .map(|mtime| i64::try_from(mtime).unwrap_or(i64::MAX))
                .map_err(BundleError::damaged)?,
        }))
    }

    /// Reads one block; `None` at the end of the input.
    fn block(&mut self) -> Result<Option<[u8; BLOCK_BYTES]>, BundleError> {
        let mut block = [0; BLOCK_BYTES];
        let mut len = 0;
        while len < BLOCK_BYTES {
            match self.input.read(&mut block[len..]) {
                Ok(0) if len == 0 => return Ok(None),
                Ok(0) if self.headers == 0 => return Err(BundleError::NotAnArchive),
                Ok(0) => return Err(damaged("it ends within a block")),
                Ok(read) => len += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(BundleError::damaged(error)),
            }
        }
        Ok(Some(block))
    }

    /// Reads the body of an entry and its padding to whole blocks.
    fn body(&mut self, size: u64, keep: bool) -> Result<Vec<u8>, BundleError> {
        // Grows with the data received, not with the size in the header.
        let mut bytes = Vec::new();
        let mut left = size;
        while left > 0 {
            let block = self
                .block()?
                .ok_or_else(|| damaged("it ends within an entry"))?;
            let len = usize::try_from(left).map_or(BLOCK_BYTES, |left| left.min(BLOCK_BYTES));
            if keep {
                bytes.extend_from_slice(&block[..len]);
            }
            left = left.saturating_sub(BLOCK_BYTES as u64);
        }
        bytes.shrink_to_fit();
        Ok(bytes)
    }

    fn extension_body(&mut self, size: u64, what: &str) -> Result<Vec<u8>, BundleError> {
        if size > EXTENSION_BYTES_MAX {
            let limit = format!("{EXTENSION_BYTES_MAX} bytes");
            return Err(BundleError::too_large(what, limit));
        }
        self.body(size, true)
    }

    /// Reads to the end, so that the decoders verify their checksums. The first block of the
    /// end-of-archive marker is followed by a second one, and tar may pad to its record size.
    fn end(&mut self) -> Result<(), BundleError> {
        let mut blocks = 1_u64;
        while let Some(block) = self.block()? {
            if block.iter().any(|&byte| byte != 0) {
                return Err(damaged("there is something after the end of the archive"));
            }
            blocks += 1;
        }
        if blocks < 2 {
            return Err(damaged("the end-of-archive marker is cut off"));
        }
        Ok(())
    }
}

/// Why an entry of this type is refused.
fn refused_kind(kind: EntryType) -> String {
    match kind {
        EntryType::Link => "it is a hard link".to_owned(),
        EntryType::Char | EntryType::Block => "it is a device".to_owned(),
        EntryType::Fifo => "it is a FIFO".to_owned(),
        EntryType::GNUSparse => "it is a sparse file".to_owned(),
        other => {
            let flag = char::from(other.as_byte()).escape_default();
            format!("its type '{flag}' is unknown")
        }
    }
}

/// Whether blocks of content follow the header of an entry of this type: those of links and devices
/// state a size at most (POSIX, "ustar").
fn has_body(kind: EntryType) -> bool {
    !matches!(
        kind,
        EntryType::Link | EntryType::Char | EntryType::Block | EntryType::Fifo
    )
}

fn damaged(reason: &str) -> BundleError {
    BundleError::Damaged {
        reason: reason.to_owned(),
    }
}

/// Strips leading `./` and one slash at the end; returns whether there was such a slash.
fn clean(path: &str) -> (&str, bool) {
    let mut path = path;
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    match path.strip_suffix('/') {
        Some(rest) => (rest, true),
        None if path == "." => ("", true),
        None => (path, path.is_empty()),
    }
}

fn set_once<T>(place: &mut Option<T>, value: T) -> Result<(), BundleError> {
    if place.replace(value).is_some() {
        return Err(damaged("two headers name the same entry"));
    }
    Ok(())
}

/// Parses pax records: `LEN KEY=VALUE\n`, where LEN counts the whole record.
fn read_pax(mut records: &[u8], extension: &mut Extension) -> Result<(), BundleError> {
    let malformed = || damaged("a pax header is malformed");
    while !records.is_empty() {
        let blank = records
            .iter()
            .position(|&byte| byte == b' ')
            .ok_or_else(malformed)?;
        let len: usize = std::str::from_utf8(&records[..blank])
            .ok()
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(malformed)?;
        if len <= blank + 1 || len > records.len() || records[len - 1] != b'\n' {
            return Err(malformed());
        }
        let (record, rest) = records.split_at(len);
        records = rest;
        let record = &record[blank + 1..len - 1];
        let equals = record
            .iter()
            .position(|&byte| byte == b'=')
            .ok_or_else(malformed)?;
        let (key, value) = (&record[..equals], &record[equals + 1..]);
        match key {
            b"path" => set_once(&mut extension.path, value.to_vec())?,
            b"linkpath" => set_once(&mut extension.link, value.to_vec())?,
            b"size" => {
                let size = std::str::from_utf8(value)
                    .ok()
                    .and_then(|digits| digits.parse().ok())
                    .ok_or_else(malformed)?;
                set_once(&mut extension.size, size)?;
            }
            _ if key.starts_with(b"GNU.sparse.") => {
                return Err(BundleError::refused(
                    "an entry with a GNU.sparse header",
                    "it is a sparse file",
                ));
            }
            // Times, owners and comments are not needed.
            _ => {}
        }
    }
    Ok(())
}
