use super::manifest::{Manifest, SCHEMA};
use crate::command::Command;
use crate::source::archive::{self, BundleError, EntryKind, Limits, Want, cut};
use crate::source::dialect;
use crate::source::directory::Directory;
use crate::source::memory::Memory;
use crate::source::{Source, Stat};
use crate::unread::Unread;
use linux::regular_file;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Data collected from a host: an archive, or a directory with the same layout.
///
/// `manifest.json`, `root/PATH` (files), `cmd/NAME` (outputs of commands); `http/NAME.json` is allowed and not
/// read. If the manifest says `complete`, the bundle contains everything that was queried, and any other query
/// is [`Unread::NotRecorded`]. Otherwise the tree alone counts, and what it lacks is
/// [`Unread::NotFound`]. For a given path, the manifest takes precedence over the tree.
#[derive(Debug)]
pub struct Bundle {
    manifest: Option<Manifest>,
    files: Files,
    ignored: u64,
}

#[derive(Debug)]
enum Files {
    Archive(Archive),
    Directory {
        root: Directory,
        /// The bundle's own directory, for `cmd/`.
        all: Directory,
        /// Maximum size of a file.
        entry_bytes_max: usize,
    },
}

impl Files {
    fn root(&self) -> &dyn Source {
        match self {
            Self::Archive(archive) => &archive.root,
            Self::Directory { root, .. } => root,
        }
    }
}

/// The contents of an archive.
#[derive(Debug, Default)]
struct Archive {
    root: Memory,
    commands: BTreeMap<String, Vec<u8>>,
}

/// Opens data collected from a host. A file is the archive of a bundle, or a support archive; a
/// directory is a bundle if it has the layout of one (`manifest.json`, or `root/` without a host's own
/// `etc`, `proc` or `sys` next to it), otherwise what a support archive was unpacked to, or a file tree.
///
/// # Errors
/// If it cannot be opened, or is rejected.
pub fn open(path: &Path) -> Result<Box<dyn Source>, BundleError> {
    let meta = std::fs::metadata(path).map_err(|error| BundleError::unreadable(path, error))?;
    if meta.is_dir() {
        return Ok(if is_bundle_directory(path) {
            Box::new(Bundle::open_directory(path, &Limits::default())?)
        } else {
            dialect::of_directory(path)?
        });
    }
    let limits = Limits::default();
    if let Some(bytes) = read_mdiag(path, &meta, &limits)? {
        return dialect::of_mdiag(dialect::mdiag::read(&bytes)?);
    }
    Loader::load_file(path, &meta, &limits)?.into_source()
}

/// Whether there is an archive at a path: the file of a bundle or a support archive, by its content, or
/// the directory that a support archive was unpacked to.
pub fn is_archive(path: &Path) -> bool {
    let is_mdiag = |mut file: File| {
        let mut head = Vec::new();
        let read = (&mut file).take(MDIAG_START_BYTES).read_to_end(&mut head);
        read.is_ok() && dialect::mdiag::is_one(&head)
    };
    let opened = || regular_file::open(path);
    dialect::is_one(path) || opened().is_ok_and(archive::is_one) || opened().is_ok_and(is_mdiag)
}

/// Whether a file may be an archive, by its beginning.
pub fn may_be_archive(head: &[u8]) -> bool {
    archive::may_be_one(head) || dialect::mdiag::is_one(head)
}

/// How much of a file tells whether it is mdiag's.
const MDIAG_START_BYTES: u64 = 1024;

/// Reads a regular file that begins as mdiag's do.
fn read_mdiag(
    path: &Path,
    meta: &std::fs::Metadata,
    limits: &Limits,
) -> Result<Option<Vec<u8>>, BundleError> {
    if !meta.is_file() {
        return Ok(None);
    }
    let unreadable = |error| BundleError::unreadable(path, error);
    let mut file = regular_file::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let start = (&mut file).take(MDIAG_START_BYTES).read_to_end(&mut bytes);
    start.map_err(unreadable)?;
    if !dialect::mdiag::is_one(&bytes) {
        return Ok(None);
    }
    let rest = file.take(limits.kept_bytes_max).read_to_end(&mut bytes);
    rest.map_err(unreadable)?;
    Ok(Some(bytes))
}

/// Reads the archive of a bundle (.tar, .tar.gz or .tar.zst, detected by content) into memory.
///
/// # Errors
/// If it is rejected.
pub fn read_bytes(bytes: &[u8], limits: &Limits) -> Result<Bundle, BundleError> {
    Bundle::read_from(bytes, limits)
}

/// Returns a path's file type without following links: what makes a directory a bundle must be in
/// it.
fn kind_of(path: &Path) -> Option<std::fs::FileType> {
    std::fs::symlink_metadata(path)
        .ok()
        .map(|meta| meta.file_type())
}

fn is_bundle_directory(path: &Path) -> bool {
    let is_dir = |name: &str| kind_of(&path.join(name)).is_some_and(|kind| kind.is_dir());
    let is_file = |name: &str| kind_of(&path.join(name)).is_some_and(|kind| kind.is_file());
    // support-diagnostics calls a file of its own so.
    (is_file("manifest.json") && !is_file("version.json"))
        || (is_dir("root") && !["etc", "proc", "sys"].into_iter().any(is_dir))
}

impl Bundle {
    /// Reads an archive from a stream, like [`read_bytes`].
    ///
    /// # Errors
    /// If it is rejected.
    pub fn read_from(input: impl Read, limits: &Limits) -> Result<Self, BundleError> {
        let mut loader = Loader::new(limits);
        archive::walk_stream(input, limits, wanted, |entry| loader.add_entry(entry))?;
        loader.into_bundle()
    }

    fn open_directory(path: &Path, limits: &Limits) -> Result<Self, BundleError> {
        let all = Directory::new(path.to_path_buf());
        let manifest = match all.read("manifest.json", limits.manifest_bytes_max) {
            Ok(bytes) => Some(parse_manifest(&bytes, limits)?),
            Err(Unread::NotFound) => None,
            Err(unread) => {
                let path = path.join("manifest.json");
                return Err(BundleError::unreadable(&path, unread));
            }
        };
        let root = path.join("root");
        match kind_of(&root) {
            Some(kind) if kind.is_dir() => {}
            Some(_) => return Err(BundleError::refused("root", "it is not a directory")),
            // A recording may contain no file at all.
            None if manifest.is_some() => {}
            None => {
                return Err(BundleError::NotABundle {
                    found: "neither".to_owned(),
                });
            }
        }
        Ok(Self {
            manifest,
            files: Files::Directory {
                root: Directory::new(root),
                all,
                entry_bytes_max: entry_bytes_max(limits),
            },
            ignored: 0,
        })
    }

    /// Returns the bundle's manifest, if it has one.
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    fn is_complete(&self) -> bool {
        self.manifest
            .as_ref()
            .is_some_and(|manifest| manifest.complete)
    }

    /// In a complete recording, what is missing was not queried.
    fn absent(&self, unread: Unread) -> Unread {
        if self.is_complete() && unread == Unread::NotFound {
            Unread::NotRecorded
        } else {
            unread
        }
    }

    /// Answers a query from the manifest, otherwise from the tree.
    fn answer<T: Clone>(
        &self,
        known: impl Fn(&Manifest) -> (Option<&T>, Option<&Unread>),
        tree: impl FnOnce(&Files) -> Result<T, Unread>,
    ) -> Result<T, Unread> {
        if let Some(manifest) = &self.manifest {
            match known(manifest) {
                (Some(answer), _) => return Ok(answer.clone()),
                (None, Some(unread)) => return Err(unread.clone()),
                (None, None) => {}
            }
        }
        tree(&self.files).map_err(|unread| self.absent(unread))
    }
}

fn entry_bytes_max(limits: &Limits) -> usize {
    usize::try_from(limits.entry_bytes_max).unwrap_or(usize::MAX)
}

/// Manifests of support archives are far smaller.
const OTHER_MANIFEST_BYTES_MAX: usize = 1 << 20;

/// What is wanted of an archive: what belongs to a bundle by all means.
fn wanted(path: &str) -> Want {
    if Place::of(path) != Place::Unknown {
        Want::All
    } else if dialect::is_wanted(path) {
        Want::IfPossible
    } else {
        Want::Nothing
    }
}

/// The state of reading an archive.
struct Loader<'l> {
    limits: &'l Limits,
    manifest: Option<Manifest>,
    archive: Archive,
    root_seen: bool,
    /// What belongs to no bundle, and may be of a support archive.
    other: Memory,
    /// Names in `http/`, where nothing is read.
    http: BTreeSet<String>,
    ignored: u64,
    first_ignored: Option<String>,
}

impl<'l> Loader<'l> {
    fn new(limits: &'l Limits) -> Self {
        Self {
            limits,
            manifest: None,
            archive: Archive::default(),
            root_seen: false,
            other: Memory::default(),
            http: BTreeSet::new(),
            ignored: 0,
            first_ignored: None,
        }
    }

    fn load_file(
        path: &Path,
        meta: &std::fs::Metadata,
        limits: &'l Limits,
    ) -> Result<Self, BundleError> {
        let mut loader = Self::new(limits);
        let unreadable = |error| BundleError::unreadable(path, error);
        // A pipe is one of the caller's, such as `<(ssh db1 cat host.tar.zst)`.
        if meta.file_type().is_fifo() {
            let file = File::open(path).map_err(unreadable)?;
            archive::walk_stream(file, limits, wanted, |entry| loader.add_entry(entry))?;
        } else {
            let file = regular_file::open(path).map_err(unreadable)?;
            archive::walk(file, limits, wanted, |entry| loader.add_entry(entry))?;
        }
        Ok(loader)
    }

    fn is_bundle(&self) -> bool {
        self.manifest.is_some() || self.root_seen
    }

    fn into_bundle(self) -> Result<Bundle, BundleError> {
        if !self.is_bundle() {
            return Err(self.unknown());
        }
        Ok(Bundle {
            manifest: self.manifest,
            files: Files::Archive(self.archive),
            ignored: self.ignored,
        })
    }

    /// A bundle, or a support archive.
    fn into_source(mut self) -> Result<Box<dyn Source>, BundleError> {
        if self.is_bundle() {
            return Ok(Box::new(self.into_bundle()?));
        }
        let mut tree = std::mem::take(&mut self.other);
        if let Some(path) = dialect::only(dialect::inside(&tree))? {
            tree.enter(&path);
        }
        match dialect::translate(Box::new(tree)) {
            Ok(translated) => Ok(Box::new(translated)),
            Err(tree) => Err(dialect::unread(tree.as_ref()).unwrap_or_else(|| self.unknown())),
        }
    }

    fn unknown(self) -> BundleError {
        BundleError::NotABundle {
            found: match self.first_ignored {
                Some(path) => format!(
                    "{} other entries, the first of them {:?}",
                    self.ignored,
                    cut(&path)
                ),
                None => "neither".to_owned(),
            },
        }
    }

    /// Keeps what may be of a support archive.
    fn add_other(&mut self, entry: archive::Entry) -> Result<(), BundleError> {
        if self.first_ignored.is_none() {
            self.first_ignored = Some(entry.path.clone());
        }
        self.ignored += 1;
        if self.is_bundle() || !dialect::is_wanted(&entry.path) {
            return Ok(());
        }
        if count(&self.other) > self.limits.kept_entries_max {
            return Err(self.too_many("the archive"));
        }
        // Of what stands there twice the first counts.
        let _ = self
            .other
            .add(&entry.path, entry.kind, entry.mode, entry.mtime_s);
        Ok(())
    }

    fn too_many(&self, what: &str) -> BundleError {
        let limit = format!("{} files and directories", self.limits.kept_entries_max);
        BundleError::too_large(what, limit)
    }

    /// Stores an entry where it belongs.
    fn add_entry(&mut self, entry: archive::Entry) -> Result<(), BundleError> {
        if Place::of(&entry.path) == Place::Unknown {
            return self.add_other(entry);
        }
        let path = entry.path.as_str();
        let refuse = |reason: &str| Err(BundleError::refused(path, reason));
        let twice = "it stands there twice";
        match (Place::of(path), entry.kind) {
            (Place::Root(""), EntryKind::File(_) | EntryKind::Withheld(_) | EntryKind::Link(_)) => {
                return refuse("it is not a directory");
            }
            (Place::Root(below), kind) => {
                self.root_seen = true;
                let root = &mut self.archive.root;
                if let Err(reason) = root.add(below, kind, entry.mode, entry.mtime_s) {
                    return refuse(&reason);
                }
                if count(&self.archive.root) > self.limits.kept_entries_max {
                    return Err(self.too_many("the tree below root/"));
                }
            }
            (Place::Top, EntryKind::Directory) | (Place::Unknown, _) => {}
            (Place::Top, _) => return refuse("it is not a directory"),
            (_, EntryKind::Directory | EntryKind::Withheld(_) | EntryKind::Link(_)) => {
                return refuse("it is not a file");
            }
            (Place::Manifest, EntryKind::File(bytes)) if is_of_another_tool(&bytes) => {
                return self.add_other(archive::Entry {
                    path: entry.path,
                    kind: EntryKind::File(bytes),
                    ..entry
                });
            }
            (Place::Manifest, EntryKind::File(bytes)) => {
                if self.manifest.is_some() {
                    return refuse(twice);
                }
                self.manifest = Some(parse_manifest(&bytes, self.limits)?);
            }
            (Place::Command(name), EntryKind::File(bytes)) => {
                let before = self.archive.commands.insert(name.to_owned(), bytes);
                if before.is_some() {
                    return refuse(twice);
                }
            }
            (Place::Http(name), EntryKind::File(_)) => {
                if !self.http.insert(name.to_owned()) {
                    return refuse(twice);
                }
            }
        }
        Ok(())
    }
}

fn count(tree: &Memory) -> u64 {
    u64::try_from(tree.len()).unwrap_or(u64::MAX)
}

/// The part of the layout that an entry belongs to.
#[derive(Debug, PartialEq, Eq)]
enum Place<'p> {
    /// The top-level directory, `cmd` or `http`.
    Top,
    Manifest,
    /// A path below `root/`; empty for `root` itself.
    Root(&'p str),
    Command(&'p str),
    Http(&'p str),
    Unknown,
}

impl<'p> Place<'p> {
    fn of(path: &'p str) -> Self {
        match path.split_once('/') {
            None => match path {
                "" | "cmd" | "http" => Self::Top,
                "manifest.json" => Self::Manifest,
                "root" => Self::Root(""),
                _ => Self::Unknown,
            },
            Some(("root", below)) => Self::Root(below),
            Some(("cmd", name)) if !name.contains('/') => Self::Command(name),
            Some(("http", name)) if !name.contains('/') => {
                name.strip_suffix(".json").map_or(Self::Unknown, Self::Http)
            }
            Some(_) => Self::Unknown,
        }
    }
}

/// Whether a manifest is that of a support archive, which has the same file name.
fn is_of_another_tool(bytes: &[u8]) -> bool {
    const KEYS: [&str; 3] = ["collectionDate", "diagType", "diagVersion"];
    let has_key = |manifest: serde_json::Value| KEYS.iter().any(|key| manifest.get(key).is_some());
    bytes.len() <= OTHER_MANIFEST_BYTES_MAX && serde_json::from_slice(bytes).is_ok_and(has_key)
}

fn parse_manifest(bytes: &[u8], limits: &Limits) -> Result<Manifest, BundleError> {
    if bytes.len() > limits.manifest_bytes_max {
        let limit = format!("{} bytes", limits.manifest_bytes_max);
        return Err(BundleError::too_large("manifest.json", limit));
    }
    let manifest: Manifest =
        serde_json::from_slice(bytes).map_err(|error| BundleError::Manifest {
            reason: cut(&error.to_string()),
        })?;
    if manifest.schema != SCHEMA {
        return Err(BundleError::Manifest {
            reason: format!(
                "expected schema {SCHEMA:?}, found {:?}; a newer trimtab may have written it",
                cut(&manifest.schema)
            ),
        });
    }
    Ok(manifest)
}

impl Source for Bundle {
    /// A complete bundle returns [`Unread::NotRecorded`] for what was not queried.
    fn is_whole(&self) -> bool {
        self.is_complete()
    }

    fn collected_at(&self) -> Option<jiff::Timestamp> {
        self.manifest.as_ref()?.collected_at
    }

    fn data_paths(&self) -> Vec<String> {
        self.manifest
            .as_ref()
            .map(|manifest| manifest.data_paths.clone())
            .unwrap_or_default()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.ignored > 0 {
            remarks.push(format!(
                "{} entries of the bundle are in none of its places (root/, cmd/, http/) and were \
                 passed over",
                self.ignored
            ));
        }
        remarks
    }

    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        if let Some(manifest) = &self.manifest {
            if let Some(content) = manifest.files.get(path) {
                let bytes = content.bytes();
                if bytes.len() > max_bytes {
                    return Err(Unread::TooLarge(max_bytes));
                }
                return Ok(bytes.to_vec());
            }
            if let Some(unread) = manifest.unread.file.get(path) {
                return Err(unread.clone());
            }
        }
        let outcome = match &self.files {
            Files::Archive(archive) => archive.root.read(path, max_bytes),
            Files::Directory {
                root,
                entry_bytes_max,
                ..
            } => root.read(path, max_bytes.min(*entry_bytes_max)),
        };
        outcome.map_err(|unread| self.absent(unread))
    }

    fn list(&self, path: &str) -> Result<Vec<String>, Unread> {
        let complete = self.is_complete();
        self.answer(
            |manifest| (manifest.lists.get(path), manifest.unread.list.get(path)),
            // The tree of a recording contains only the files that were read, not all that existed.
            |files| {
                if complete {
                    return Err(Unread::NotRecorded);
                }
                files.root().list(path)
            },
        )
    }

    fn link(&self, path: &str) -> Result<String, Unread> {
        self.answer(
            |manifest| (manifest.links.get(path), manifest.unread.link.get(path)),
            |files| files.root().link(path),
        )
    }

    fn stat(&self, path: &str) -> Result<Stat, Unread> {
        let complete = self.is_complete();
        self.answer(
            |manifest| (manifest.stats.get(path), manifest.unread.stat.get(path)),
            // Modes and times in the archive of a recording are those of the archive itself.
            |files| {
                if complete {
                    return Err(Unread::NotRecorded);
                }
                files.root().stat(path)
            },
        )
    }

    fn command(&self, command: &Command) -> Result<Vec<u8>, Unread> {
        let name = command.name();
        self.answer(
            |manifest| (None, manifest.unread.command.get(name.as_ref())),
            |files| match files {
                Files::Archive(archive) => archive
                    .commands
                    .get(name.as_ref())
                    .cloned()
                    .ok_or(Unread::NotFound),
                Files::Directory { .. } if name.contains('/') => Err(Unread::NotFound),
                Files::Directory {
                    all,
                    entry_bytes_max,
                    ..
                } => all.read(&format!("cmd/{name}"), *entry_bytes_max),
            },
        )
    }
}
