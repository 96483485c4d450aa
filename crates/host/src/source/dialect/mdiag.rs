//! `mdiag.sh` (github.com/mongodb/support-tools): a JSON array with one object for each file that was
//! read and each command that was run.

use super::table::OF_MDIAG;
use crate::source::archive::{BundleError, EntryKind};
use crate::source::memory::Memory;
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use std::fmt;

/// More sections than there are in any.
const SECTIONS_MAX: usize = 100_000;

#[derive(Deserialize)]
struct Section {
    tag: Option<Moment>,
    filename: Option<String>,
    content: Option<Lines>,
    command: Option<Vec<String>>,
    output: Option<Lines>,
}

#[derive(Deserialize)]
struct Moment {
    #[serde(rename = "$date")]
    date: Timestamp,
}

/// Lines of a text, or something else that is not read.
#[derive(Deserialize)]
#[serde(untagged)]
enum Lines {
    Text(Vec<String>),
    Other(serde::de::IgnoredAny),
}

impl Lines {
    fn text(self) -> Option<Vec<u8>> {
        match self {
            Self::Text(lines) if !lines.is_empty() => Some((lines.join("\n") + "\n").into_bytes()),
            Self::Text(_) | Self::Other(_) => None,
        }
    }
}

/// Whether a file may be one, by its first bytes.
pub(crate) fn is_one(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    text.trim_start().starts_with('[') && text.contains("\"ref\"") && text.contains("\"section\"")
}

/// What the sections hold.
pub(in crate::source) struct Sections {
    /// Files, and outputs below [`OF_MDIAG`].
    pub(in crate::source) tree: Memory,
    /// When it was made.
    pub(in crate::source) made_at: Option<Timestamp>,
    /// Whether its end is missing.
    pub(in crate::source) is_cut: bool,
    count: usize,
}

impl<'de> Visitor<'de> for &mut Sections {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the sections of mdiag.sh")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sections: A) -> Result<(), A::Error> {
        while let Some(section) = sections.next_element::<Section>()? {
            self.count += 1;
            if self.count <= SECTIONS_MAX {
                self.add(section);
            }
        }
        Ok(())
    }
}

impl Sections {
    fn add(&mut self, section: Section) {
        self.made_at = self.made_at.or(section.tag.map(|moment| moment.date));
        let file = section.filename.zip(section.content.and_then(Lines::text));
        if let Some((path, bytes)) = file {
            self.file(path.trim_start_matches('/'), bytes);
        }
        let output = section.command.zip(section.output.and_then(Lines::text));
        if let Some((words, bytes)) = output {
            let name = words.join("_").replace('/', ".");
            self.file(&format!("{OF_MDIAG}/{name}"), bytes);
        }
    }

    fn file(&mut self, path: &str, bytes: Vec<u8>) {
        if path.split('/').any(|name| matches!(name, "" | "." | "..")) {
            return;
        }
        // The same file or command may stand there twice: the first counts.
        let _ = self.tree.add(path, EntryKind::File(bytes), 0o444, 0);
        // Attributes are named by the device's own path: `sys/devices/.../block/sda/queue/...`.
        if let Some((device, rest)) = path.split_once("/block/")
            && let Some(below) = device.strip_prefix("sys/")
            && let Some(name) = rest.split('/').next()
        {
            let target = format!("../{below}/block/{name}");
            let link = EntryKind::Link(target);
            let _ = self.tree.add(&format!("sys/block/{name}"), link, 0o777, 0);
        }
    }
}

/// Reads the sections.
///
/// # Errors
/// If not even the first is in that form.
pub(in crate::source) fn read(bytes: &[u8]) -> Result<Sections, BundleError> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let mut sections = Sections {
        tree: Memory::default(),
        made_at: None,
        is_cut: false,
        count: 0,
    };
    match deserializer.deserialize_seq(&mut sections) {
        Ok(()) => {}
        // Interrupted, it has no end; what is before that is whole.
        Err(_) if sections.count > 0 => sections.is_cut = true,
        Err(error) => {
            return Err(BundleError::Damaged {
                reason: format!("it begins as mdiag.sh writes it: {error}"),
            });
        }
    }
    Ok(sections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;
    use proptest::prelude::*;

    const SAMPLE: &str = r#"[
{ "ref" : "CS-1", "host" : "db1", "tag" : { "$date" : "2026-11-28T10:43:55.228+00:00" }, "section" : "fingerprint", "output" : null },
{ "ref" : "CS-1", "section" : "fstab", "filename" : "/etc/fstab", "exists" : true, "content" : [ "UUID=1 / ext4 rw 0 1" ] },
{ "ref" : "CS-1", "section" : "x", "filename" : "/../etc/shadow", "content" : [ "x" ] },
{ "ref" : "CS-1", "section" : "queue", "filename" : "/sys/devices/virtual/block/loop1/queue/rotational", "content" : [ "0" ] },
{ "ref" : "CS-1", "section" : "df", "command" : [ "df", "-k" ], "rc" : 0, "output" : [ "a", "b" ] }
]"#;

    #[test]
    fn files_and_outputs() {
        assert!(is_one(&SAMPLE.as_bytes()[..200]));
        assert!(!is_one(br#"[{"ts":1,"value":2}]"#));
        let sections = read(SAMPLE.as_bytes()).unwrap();
        let tree = &sections.tree;
        assert!(!sections.is_cut);
        assert_eq!(
            sections.made_at.unwrap().to_string(),
            "2026-11-28T10:43:55.228Z"
        );
        assert_eq!(
            tree.read("etc/fstab", 100).unwrap(),
            b"UUID=1 / ext4 rw 0 1\n"
        );
        assert_eq!(
            tree.read("sys/block/loop1/queue/rotational", 100).unwrap(),
            b"0\n"
        );
        assert_eq!(tree.read("mdiag/df_-k", 100).unwrap(), b"a\nb\n");
        assert!(tree.list("etc").unwrap().len() == 1);
        assert!(read(&SAMPLE.as_bytes()[..100]).is_err());
        let cut = read(&SAMPLE.as_bytes()[..SAMPLE.len() - 10]).unwrap();
        assert!(cut.is_cut && cut.tree.list("etc").is_ok());
    }

    proptest! {
        #[test]
        fn total(cut in 0..SAMPLE.len(), byte in any::<u8>()) {
            let mut bytes = SAMPLE.as_bytes().to_vec();
            bytes[cut] = byte;
            let _ = read(&bytes);
            let _ = read(&bytes[..cut]);
        }
    }
}
