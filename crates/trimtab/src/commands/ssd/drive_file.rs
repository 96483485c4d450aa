//! Reads a drive's file.

use crate::error::{CommandError, Kind};
use crate::input;
use flash::drive_file::DriveFile;
use std::path::Path;

/// The largest file that is read: a drive takes some lines.
const BYTES_MAX: u64 = 1 << 20;

/// Reads a drive.
///
/// # Errors
/// When it cannot be read or understood.
pub fn read(path: &Path) -> Result<DriveFile, CommandError> {
    let name = format!("--drive {}", path.display());
    let text = input::text(path, &name, BYTES_MAX)?;
    text.parse().map_err(|error| {
        CommandError::new(Kind::Input, format!("{name}: {error}"))
            .hint("`docs/ssd.md` lists the keys with an example")
    })
}
