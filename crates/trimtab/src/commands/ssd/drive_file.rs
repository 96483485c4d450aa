//! Reading drive files.

use crate::error::{CommandError, Kind};
use crate::input;
use flash::drive_file::DriveFile;
use std::path::Path;

/// Maximum size of a drive file, in bytes; a drive takes a few lines.
const BYTES_MAX: u64 = 1 << 20;

/// Reads a drive file.
///
/// # Errors
/// When it cannot be read or parsed.
pub fn read(path: &Path) -> Result<DriveFile, CommandError> {
    let name = format!("drive {}", path.display());
    let text = input::text(path, &name, BYTES_MAX)?;
    text.parse().map_err(|error| {
        CommandError::because(Kind::Input, error)
            .at(&name)
            .hint("`docs/ssd.md` lists the keys with an example")
    })
}
