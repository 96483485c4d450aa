use super::{Command, Source, Stat, Unread};
use std::path::PathBuf;

/// A tree of files at their paths below a directory (`--root DIR`), untrusted.
#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
}

impl Directory {
    /// A tree below `root`.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }
}

impl Source for Directory {
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        let _ = (path, max_bytes, &self.root);
        Err(Unread::NotFound)
    }
    fn list(&self, path: &str) -> Result<Vec<String>, Unread> {
        let _ = path;
        Err(Unread::NotFound)
    }
    fn link(&self, path: &str) -> Result<String, Unread> {
        let _ = path;
        Err(Unread::NotFound)
    }
    fn stat(&self, path: &str) -> Result<Stat, Unread> {
        let _ = path;
        Err(Unread::NotFound)
    }
    fn command(&self, command: &Command) -> Result<Vec<u8>, Unread> {
        let _ = command;
        Err(Unread::NotFound)
    }
}
