//! Copies folders.

use std::fs;
use std::io;
use std::path::Path;

/// Copies the folder `from` to the new folder `to`, with the folders and files in it. Anything else in it, such as a link,
/// is left out.
pub(crate) fn folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            folder(&entry.path(), &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
