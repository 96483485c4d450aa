//! An in-memory file tree: what an archive contains, or what was made from the outputs of commands.

use super::archive::EntryKind;
use super::live::not_regular;
use super::resolve::{Entry, Found, LastLink, Tree, resolve};
use super::{Kind, Source, Stat};
use crate::command::Command;
use crate::unread::Unread;
use std::collections::BTreeMap;

/// An in-memory file tree.
#[derive(Debug)]
pub(super) struct Memory {
    /// The first node is the root of what was added.
    nodes: Vec<Node>,
    /// The root of what is read.
    root: usize,
}

#[derive(Debug)]
struct Node {
    parent: usize,
    mode: u32,
    mtime_s: i64,
    /// Whether it has an entry of its own in the archive, rather than only being part of a longer
    /// path.
    named: bool,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Directory(BTreeMap<String, usize>),
    File(Vec<u8>),
    /// A file whose content was not kept, with its size.
    Withheld(u64),
    Link(String),
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            nodes: vec![Node {
                parent: 0,
                mode: 0o755,
                mtime_s: 0,
                named: false,
                content: Content::Directory(BTreeMap::new()),
            }],
            root: 0,
        }
    }
}

impl Memory {
    /// Makes a directory the root of what is read, if it is one; nothing above it can be reached.
    pub(super) fn enter(&mut self, path: &str) {
        if let Ok(Found::Directory(index)) = resolve(self, path, LastLink::Keep) {
            self.root = index;
            self.nodes[index].parent = index;
        }
    }

    /// Returns the number of files, links and directories, including directories that are only part
    /// of a longer path.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds something at a plain path, and the directories above it. An empty path is the root.
    ///
    /// # Errors
    /// If it conflicts with the tree; the error says why.
    pub(super) fn add(
        &mut self,
        path: &str,
        addition: EntryKind,
        mode: u32,
        mtime_s: i64,
    ) -> Result<(), String> {
        let mut at = 0;
        let mut components = path.split('/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = components.next() {
            let is_last = components.peek().is_none();
            let next = self.nodes.len();
            let Content::Directory(children) = &mut self.nodes[at].content else {
                return Err("it lies below an entry that is no directory".to_owned());
            };
            let known = children.get(name).copied();
            at = if let Some(known) = known {
                known
            } else {
                children.insert(name.to_owned(), next);
                let content = match (&addition, is_last) {
                    (EntryKind::File(_) | EntryKind::Withheld(_), true) => {
                        Content::File(Vec::new())
                    }
                    (EntryKind::Link(_), true) => Content::Link(String::new()),
                    _ => Content::Directory(BTreeMap::new()),
                };
                self.nodes.push(Node {
                    parent: at,
                    mode: 0o755,
                    mtime_s: 0,
                    named: false,
                    content,
                });
                next
            };
        }
        let node = &mut self.nodes[at];
        if node.named {
            return Err("it stands there twice".to_owned());
        }
        match (&mut node.content, addition) {
            (Content::Directory(_), EntryKind::Directory) => {}
            (Content::File(bytes), EntryKind::File(added)) => *bytes = added,
            (content @ Content::File(_), EntryKind::Withheld(size)) => {
                *content = Content::Withheld(size);
            }
            (Content::Link(text), EntryKind::Link(added)) => *text = added,
            _ => return Err("it stands there twice, as different kinds".to_owned()),
        }
        node.named = true;
        node.mode = mode;
        node.mtime_s = mtime_s;
        Ok(())
    }

    /// Resolves a path to an index in `nodes`.
    fn find(&self, path: &str) -> Result<usize, Unread> {
        match resolve(self, path, LastLink::Follow)? {
            Found::Directory(index) => Ok(index),
            Found::Leaf { parent, name } => self.child(parent, &name),
            Found::Link(_) => Err(Unread::NotFound),
        }
    }

    fn child(&self, parent: usize, name: &str) -> Result<usize, Unread> {
        match &self.nodes[parent].content {
            Content::Directory(children) => children.get(name).copied().ok_or(Unread::NotFound),
            Content::File(_) | Content::Withheld(_) | Content::Link(_) => Err(Unread::NotFound),
        }
    }
}

impl Source for Memory {
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        match &self.nodes[self.find(path)?].content {
            Content::File(bytes) if bytes.len() > max_bytes => Err(Unread::TooLarge(max_bytes)),
            Content::File(bytes) => Ok(bytes.clone()),
            Content::Withheld(size) => Err(Unread::TooLarge(
                usize::try_from(*size).unwrap_or(usize::MAX),
            )),
            Content::Directory(_) | Content::Link(_) => Err(not_regular()),
        }
    }

    fn list(&self, path: &str) -> Result<Vec<String>, Unread> {
        match &self.nodes[self.find(path)?].content {
            Content::Directory(children) => Ok(children.keys().cloned().collect()),
            Content::File(_) | Content::Withheld(_) | Content::Link(_) => Err(Unread::NotFound),
        }
    }

    fn link(&self, path: &str) -> Result<String, Unread> {
        match resolve(self, path, LastLink::Keep)? {
            Found::Link(text) => Ok(text),
            Found::Directory(_) | Found::Leaf { .. } => Err(Unread::NotFound),
        }
    }

    fn stat(&self, path: &str) -> Result<Stat, Unread> {
        let node = &self.nodes[self.find(path)?];
        let (kind, len) = match &node.content {
            Content::Directory(_) => (Kind::Directory, 0),
            Content::File(bytes) => (Kind::File, u64::try_from(bytes.len()).unwrap_or(u64::MAX)),
            Content::Withheld(size) => (Kind::File, *size),
            Content::Link(_) => return Err(Unread::NotFound),
        };
        Ok(Stat {
            kind,
            mode: node.mode,
            mtime_s: node.mtime_s,
            size_bytes: len,
        })
    }

    fn command(&self, _command: &Command) -> Result<Vec<u8>, Unread> {
        Err(Unread::NotFound)
    }
}

impl Tree for Memory {
    type Dir = usize;

    fn root(&self) -> Result<usize, Unread> {
        Ok(self.root)
    }

    fn parent(&self, dir: &usize) -> usize {
        self.nodes[*dir].parent
    }

    fn look(&self, dir: &usize, name: &str) -> Result<Entry<usize>, Unread> {
        let index = self.child(*dir, name)?;
        Ok(match &self.nodes[index].content {
            Content::Directory(_) => Entry::Directory(index),
            Content::File(_) | Content::Withheld(_) => Entry::Leaf,
            Content::Link(text) => Entry::Link(text.clone()),
        })
    }
}
