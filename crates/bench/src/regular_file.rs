//! Opens files in folders that others may have written.

use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io;
use std::path::Path;

/// Opens a file for reading, and refuses anything else: opening a pipe would wait for whoever writes to it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a file",
        ))
    }
}
