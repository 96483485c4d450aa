//! Files and folders that fail.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What went wrong with a file or folder.
#[derive(Debug, Error)]
#[error("{}: {source}", units::escape(&path.to_string_lossy()))]
pub struct PathError {
    path: PathBuf,
    source: io::Error,
}

impl PathError {
    /// The file or folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What kind of error it is.
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }
}

/// Makes the error of `path`.
pub fn at(path: &Path) -> impl Fn(io::Error) -> PathError + Copy {
    move |source| PathError {
        path: path.to_owned(),
        source,
    }
}
