//! Reads a drive's file.

use crate::error::{CommandError, Kind};
use flash::drive_file::DriveFile;
use std::io::Read;
use std::path::Path;

/// The largest file that is read: a drive takes some lines.
const BYTES_MAX: u64 = 1 << 20;

/// Reads a drive.
///
/// # Errors
/// When it cannot be read or understood.
pub fn read(path: &Path) -> Result<DriveFile, CommandError> {
    let name = path.display();
    // A file that grows or never ends has no length beforehand.
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| {
            CommandError::new(Kind::Environment, format!("--drive {name}: {error}"))
                .hint("name a file that is there and that you may read")
        })?;
    let no_drive = |found: &str| {
        CommandError::new(
            Kind::Input,
            format!("--drive {name}: expected a drive in TOML, found {found}"),
        )
    };
    if bytes.len() as u64 > BYTES_MAX {
        return Err(no_drive("more than 1 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|_| no_drive("bytes that are no UTF-8"))?;
    text.parse().map_err(|error| {
        CommandError::new(Kind::Input, format!("drive {name}: {error}"))
            .hint("`docs/ssd.md` lists the keys with an example")
    })
}
