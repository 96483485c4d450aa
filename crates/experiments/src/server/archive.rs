//! Unpacks a server from a ZIP archive or a compressed tar archive.

use bench::path_error::{PathError, at};
use flate2::read::GzDecoder;
use linux::folder::Folder;
use linux::regular_file;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// The largest distributions unpack to about 1.3 GB.
const UNPACKED_BYTES_MAX: u64 = 8 << 30;
const FILES_MAX: usize = 100_000;

/// Why an archive could not be unpacked.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// It is neither.
    #[error("{}: expected a ZIP or tar.gz archive, found something else", units::escape(&.0.to_string_lossy()))]
    Unknown(PathBuf),
    /// It is a damaged ZIP archive.
    #[error("{}: {source}", units::escape(&path.to_string_lossy()))]
    Zip {
        /// Which.
        path: PathBuf,
        /// Why.
        source: zip::result::ZipError,
    },
    /// A file of it would lie outside the folder.
    #[error("{}: expected files below one folder, found \"{}\"", units::escape(&path.to_string_lossy()), units::escape(name))]
    Outside {
        /// The archive.
        path: PathBuf,
        /// The file's name.
        name: String,
    },
    /// It is too large.
    #[error("{}: it unpacks to more than {FILES_MAX} files or {}", units::escape(&.0.to_string_lossy()), units::bytes(UNPACKED_BYTES_MAX))]
    TooLarge(PathBuf),
    /// There is not one folder in it.
    #[error("{}: expected one folder with a server, found {found}", units::escape(&path.to_string_lossy()))]
    Folders {
        /// The archive.
        path: PathBuf,
        /// How many there are.
        found: usize,
    },
}

/// Unpacks `archive` into the empty folder `into`, and returns the path of the one folder in it.
///
/// # Errors
/// If it is no archive, damaged, or holds anything but files and folders below one folder.
pub(crate) fn unpack(archive: &Path, into: &Folder) -> Result<PathBuf, ArchiveError> {
    let mut of = Unpacking {
        archive,
        into,
        files: 0,
        bytes_left: UNPACKED_BYTES_MAX,
    };
    let mut file = regular_file::open(archive).map_err(at(archive))?;
    let mut magic = [0; 4];
    let read = file
        .read_exact(&mut magic)
        .and_then(|()| file.seek(SeekFrom::Start(0)));
    match read {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            return Err(ArchiveError::Unknown(archive.to_owned()));
        }
        read => read.map_err(at(archive))?,
    };
    match magic {
        [b'P', b'K', 3, 4] => of.zip(file)?,
        [0x1f, 0x8b, ..] => of.tar(GzDecoder::new(file))?,
        _ => return Err(ArchiveError::Unknown(archive.to_owned())),
    }
    let mut folders = into.names().map_err(at(into.path()))?;
    match (folders.pop(), folders.len()) {
        (Some(home), 0) => Ok(into.join(&home)),
        (_, others) => Err(ArchiveError::Folders {
            path: archive.to_owned(),
            found: others + 1,
        }),
    }
}

struct Unpacking<'a> {
    archive: &'a Path,
    into: &'a Folder,
    files: usize,
    bytes_left: u64,
}

impl Unpacking<'_> {
    fn zip(&mut self, file: File) -> Result<(), ArchiveError> {
        let failed = |source| ArchiveError::Zip {
            path: self.archive.to_owned(),
            source,
        };
        let mut zip = zip::ZipArchive::new(file).map_err(failed)?;
        for index in 0..zip.len() {
            let entry = zip.by_index(index).map_err(failed)?;
            let name = entry.name().map_err(failed)?.into_owned();
            let is_folder = entry.is_dir();
            let is_program = entry.unix_mode().is_some_and(|mode| mode & 0o100 != 0);
            self.entry(Path::new(&name), is_folder, is_program, entry)?;
        }
        Ok(())
    }

    fn tar(&mut self, tar: impl Read) -> Result<(), ArchiveError> {
        let failed = at(self.archive);
        let mut tar = tar::Archive::new(tar);
        for entry in tar.entries().map_err(failed)? {
            let entry = entry.map_err(at(self.archive))?;
            let name = entry.path().map_err(at(self.archive))?.into_owned();
            let kind = entry.header().entry_type();
            // Links, of which distributions have some in their JDK's legal notices, are left out.
            if !kind.is_file() && !kind.is_dir() {
                continue;
            }
            let is_program = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
            self.entry(&name, kind.is_dir(), is_program, entry)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        name: &Path,
        is_folder: bool,
        is_program: bool,
        contents: impl Read,
    ) -> Result<(), ArchiveError> {
        self.files += 1;
        if self.files > FILES_MAX {
            return Err(ArchiveError::TooLarge(self.archive.to_owned()));
        }
        // Through the descriptor; errors name the path.
        let mut path = self.into.descriptor_path();
        let shown = self.into.path().join(name);
        for component in name.components() {
            match component {
                Component::Normal(part) => path.push(part),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(ArchiveError::Outside {
                        path: self.archive.to_owned(),
                        name: name.to_string_lossy().into_owned(),
                    });
                }
            }
        }
        let folder = if is_folder {
            Some(path.as_path())
        } else {
            path.parent()
        };
        if let Some(folder) = folder {
            fs::create_dir_all(folder).map_err(at(&shown))?;
        }
        if is_folder {
            return Ok(());
        }
        // Made anew: nothing that is there is followed or overwritten.
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o644)
            .open(&path)
            .map_err(at(&shown))?;
        let copied =
            io::copy(&mut contents.take(self.bytes_left + 1), &mut file).map_err(at(&shown))?;
        self.bytes_left = self
            .bytes_left
            .checked_sub(copied)
            .ok_or_else(|| ArchiveError::TooLarge(self.archive.to_owned()))?;
        // Some archives lost the modes of their programs.
        let lies_in_bin = path.parent().is_some_and(|parent| parent.ends_with("bin"));
        if is_program || lies_in_bin {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(at(&shown))?;
        }
        Ok(())
    }
}
