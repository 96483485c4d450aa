//! The audit log file: JSON lines, append-only.

use super::directory::Directory;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// File name.
pub(super) const NAME: &str = "audit.jsonl";

/// How long to wait for other passes that are writing.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Appends a line and fsyncs it. A line torn by a crash is left as it is; the next one starts on a
/// new line.
pub(super) fn append(state: &Directory, entry: &serde_json::Value) -> io::Result<()> {
    let mut file = state.create_file(NAME, OFlags::RDWR | OFlags::APPEND)?;
    if !linux::lock::exclusive_within(&file, LOCK_TIMEOUT)? {
        return Err(Errno::WOULDBLOCK.into());
    }
    let len_bytes = file.metadata()?.len();
    let mut line = Vec::new();
    if let Some(last_at) = len_bytes.checked_sub(1) {
        let mut last = [0];
        file.read_exact_at(&mut last, last_at)?;
        if last != *b"\n" {
            line.push(b'\n');
        }
    }
    serde_json::to_writer(&mut line, entry)?;
    line.push(b'\n');
    let written = file.write_all(&line).and_then(|()| file.sync_data());
    if written.is_err() {
        // On a full disk only part of a line may be written.
        let _ = file.set_len(len_bytes);
    }
    written
}
