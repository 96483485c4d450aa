//! The audit log: JSON lines, only ever appended to.

use super::directory::Directory;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// The file.
pub(super) const NAME: &str = "audit.jsonl";

/// Other passes may be writing at the same time, each for a moment.
const PATIENCE: Duration = Duration::from_secs(2);

/// Appends a line and fsyncs it. A line that a crash has torn stays as it is; the next begins anew.
pub(super) fn append(state: &Directory, entry: &serde_json::Value) -> io::Result<()> {
    let mut file = state.create_file(NAME, OFlags::RDWR | OFlags::APPEND)?;
    if !linux::lock::exclusive_within(&file, PATIENCE)? {
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
        // A full disk takes part of a line only.
        let _ = file.set_len(len_bytes);
    }
    written
}
