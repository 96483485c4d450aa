//! What is made from the outputs of commands.

use crate::source::archive::EntryKind;
use crate::source::memory::Memory;
use crate::unread::Unread;
use std::collections::BTreeMap;

/// Files, links and answers that a support archive lacks.
#[derive(Default)]
pub(super) struct Made {
    pub(super) files: Memory,
    /// Texts of links, by path.
    pub(super) links: BTreeMap<String, String>,
    /// Answers by [`crate::Command::name`].
    pub(super) commands: BTreeMap<&'static str, Vec<u8>>,
    pub(super) remarks: Vec<String>,
    /// Why a path or a command's answer was not made although the archive has what it is made of.
    pub(super) unread: BTreeMap<&'static str, Unread>,
}

impl Made {
    /// Adds a file. Of several with the same path the first stays, as where an output names a device
    /// twice.
    pub(super) fn file(&mut self, path: &str, bytes: &[u8]) {
        let file = EntryKind::File(bytes.to_vec());
        let _ = self.files.add(path, file, 0o444, 0);
    }

    /// Adds a directory, if there is none.
    pub(super) fn directory(&mut self, path: &str) {
        let _ = self.files.add(path, EntryKind::Directory, 0o555, 0);
    }

    pub(super) fn remark(&mut self, remark: impl Into<String>) {
        self.remarks.push(remark.into());
    }
}

/// Whether a name from an output can be a file's.
pub(super) fn is_plain(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.len() <= 255 && !name.contains(['/', '\0'])
}
