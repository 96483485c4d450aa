//! An in-memory host for tests: files, links and denials by path.

use super::{Kind, Source, Stat};
use crate::command::Command;
use crate::unread::Unread;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// An in-memory tree of files and links. A directory exists if something is in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemorySource {
    entries: BTreeMap<String, Entry>,
    denied: BTreeSet<String>,
    answers: BTreeMap<String, Result<Vec<u8>, Unread>>,
    whole: bool,
}

#[derive(Debug, Clone)]
enum Entry {
    File(Vec<u8>),
    Link(String),
    Directory,
    Device,
}

/// Linux's limit for symbolic links in one path.
const LINKS_MAX: usize = 40;

impl MemorySource {
    /// Creates an empty host.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Makes it act as the running host: what is not in it does not exist.
    #[must_use]
    pub(crate) fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// Adds a file.
    #[must_use]
    pub(crate) fn file(mut self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.entries
            .insert(path.to_owned(), Entry::File(content.as_ref().to_vec()));
        self
    }

    /// Adds a symbolic link.
    #[must_use]
    pub(crate) fn symlink(mut self, path: &str, target: &str) -> Self {
        self.entries
            .insert(path.to_owned(), Entry::Link(target.to_owned()));
        self
    }

    /// Adds an empty directory.
    #[must_use]
    pub(crate) fn directory(mut self, path: &str) -> Self {
        self.entries.insert(path.to_owned(), Entry::Directory);
        self
    }

    /// Adds something that is neither a file nor a directory, such as a pipe.
    #[must_use]
    pub(crate) fn device(mut self, path: &str) -> Self {
        self.entries.insert(path.to_owned(), Entry::Device);
        self
    }

    /// Denies access to everything at and below a path.
    #[must_use]
    pub(crate) fn deny(mut self, path: &str) -> Self {
        self.denied.insert(path.to_owned());
        self
    }

    /// Adds the output of a command, by its name ([`Command::name`]).
    #[must_use]
    pub(crate) fn answer(mut self, name: &str, answer: Result<&str, Unread>) -> Self {
        self.answers
            .insert(name.to_owned(), answer.map(|text| text.as_bytes().to_vec()));
        self
    }

    fn is_denied(&self, path: &str) -> bool {
        self.denied
            .iter()
            .any(|denied| below(denied, path).is_some() || denied == path)
    }

    fn is_directory(&self, path: &str) -> bool {
        path.is_empty()
            || matches!(self.entries.get(path), Some(Entry::Directory))
            || self
                .entries
                .range(format!("{path}/")..)
                .next()
                .is_some_and(|(name, _)| below(path, name).is_some())
    }

    /// Resolves links in a path; in the last component only if `follow_last`.
    fn walk(&self, path: &str, follow_last: bool) -> Result<String, Unread> {
        let mut todo: VecDeque<String> = path.split('/').map(str::to_owned).collect();
        let mut done: Vec<String> = Vec::new();
        let mut links = 0;
        while let Some(name) = todo.pop_front() {
            if name == ".." {
                done.pop();
            }
            if name.is_empty() || name == "." || name == ".." {
                continue;
            }
            done.push(name);
            let here = done.join("/");
            if self.is_denied(&here) {
                return Err(Unread::Denied);
            }
            if let Some(Entry::Link(target)) = self.entries.get(&here)
                && (follow_last || !todo.is_empty())
            {
                links += 1;
                if links > LINKS_MAX {
                    return Err(Unread::Failed("too many symbolic links".to_owned()));
                }
                done.pop();
                if target.starts_with('/') {
                    done.clear();
                }
                for name in target.rsplit('/') {
                    todo.push_front(name.to_owned());
                }
            }
        }
        Ok(done.join("/"))
    }
}

/// Returns the part of `path` after `directory/`.
fn below<'p>(directory: &str, path: &'p str) -> Option<&'p str> {
    if directory.is_empty() {
        return Some(path);
    }
    path.strip_prefix(directory)?.strip_prefix('/')
}

impl Source for MemorySource {
    fn is_whole(&self) -> bool {
        self.whole
    }

    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        match self.entries.get(&self.walk(path, true)?) {
            Some(Entry::File(bytes)) if bytes.len() > max_bytes => Err(Unread::TooLarge(max_bytes)),
            Some(Entry::File(bytes)) => Ok(bytes.clone()),
            Some(_) => Err(Unread::Failed("not a regular file".to_owned())),
            None => Err(Unread::NotFound),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, Unread> {
        let path = self.walk(path, true)?;
        if !self.is_directory(&path) {
            return Err(Unread::NotFound);
        }
        let names: BTreeSet<String> = self
            .entries
            .keys()
            .filter_map(|entry| below(&path, entry))
            .filter_map(|rest| rest.split('/').next())
            .map(str::to_owned)
            .collect();
        Ok(names.into_iter().collect())
    }

    fn link(&self, path: &str) -> Result<String, Unread> {
        match self.entries.get(&self.walk(path, false)?) {
            Some(Entry::Link(target)) => Ok(target.clone()),
            _ => Err(Unread::NotFound),
        }
    }

    fn stat(&self, path: &str) -> Result<Stat, Unread> {
        let path = self.walk(path, true)?;
        let (kind, mode, len) = match self.entries.get(&path) {
            Some(Entry::File(bytes)) => (Kind::File, 0o644, bytes.len()),
            Some(Entry::Device) => (Kind::Other, 0o644, 0),
            _ if self.is_directory(&path) => (Kind::Directory, 0o755, 0),
            _ => return Err(Unread::NotFound),
        };
        Ok(Stat {
            kind,
            mode,
            mtime_s: 0,
            size_bytes: u64::try_from(len).unwrap_or(u64::MAX),
        })
    }

    fn command(&self, command: &Command) -> Result<Vec<u8>, Unread> {
        self.answers
            .get(command.name().as_ref())
            .cloned()
            .unwrap_or(Err(Unread::NotFound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_as_the_kernel_does() {
        let source = MemorySource::new()
            .file("srv/disk1/db/file", "x")
            .symlink("data", "/srv/disk1")
            .symlink("srv/disk1/self", "../disk1")
            .symlink("loop", "loop");
        assert_eq!(source.read("data/self/db/file", 10), Ok(b"x".to_vec()));
        assert_eq!(source.link("data"), Ok("/srv/disk1".to_owned()));
        assert_eq!(source.list("data"), Ok(vec!["db".into(), "self".into()]));
        assert!(matches!(source.read("loop", 10), Err(Unread::Failed(_))));
        assert_eq!(
            source.clone().deny("srv").read("data/db/file", 10),
            Err(Unread::Denied)
        );
    }
}
