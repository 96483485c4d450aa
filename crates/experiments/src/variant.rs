//! What is compared: a filesystem, its compression, and the index's codec.

use facts::InputError;
use rustix::mount::MountFlags;
use std::fmt;
use std::str::FromStr;

/// A filesystem that experiments can make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FilesystemKind {
    /// XFS.
    Xfs,
    /// ext4.
    Ext4,
    /// Btrfs.
    Btrfs,
}

impl FilesystemKind {
    pub(crate) const ALL: [Self; 3] = [Self::Xfs, Self::Ext4, Self::Btrfs];

    /// Its name, as mount(8) takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xfs => "xfs",
            Self::Ext4 => "ext4",
            Self::Btrfs => "btrfs",
        }
    }

    /// The program that makes it, and its options. None of them discards: on a loop device that would make the image
    /// sparse again, on a drive it would take from what is measured.
    pub(crate) fn mkfs(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Xfs => ("mkfs.xfs", &["-q", "-f", "-K"]),
            Self::Ext4 => (
                "mkfs.ext4",
                // Without lazy initialisation: the kernel would write in the background of the first trial.
                &[
                    "-q",
                    "-F",
                    "-E",
                    "nodiscard,lazy_itable_init=0,lazy_journal_init=0",
                ],
            ),
            Self::Btrfs => ("mkfs.btrfs", &["-q", "-f", "-K"]),
        }
    }

    /// Debian's package with that program.
    pub(crate) fn package(self) -> &'static str {
        match self {
            Self::Xfs => "xfsprogs",
            Self::Ext4 => "e2fsprogs",
            Self::Btrfs => "btrfs-progs",
        }
    }
}

/// Btrfs' compression of every file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// LZO.
    Lzo,
    /// DEFLATE.
    Zlib,
    /// Zstandard.
    Zstd,
}

impl Compression {
    const ALL: [Self; 3] = [Self::Lzo, Self::Zlib, Self::Zstd];

    /// Its name, as Btrfs takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lzo => "lzo",
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }
}

/// One of the things compared: `xfs`, `btrfs:zstd`, `xfs+best_compression`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The filesystem.
    pub filesystem: FilesystemKind,
    /// Its compression; Btrfs alone has one.
    pub compression: Option<Compression>,
    /// Whether the index has the codec `best_compression`.
    pub best_compression: bool,
    /// Whether the kernel reads ahead as far as on a drive, 128 KiB; Btrfs alone, whose own read-ahead is 4 MiB.
    pub read_ahead_128k: bool,
}

const BEST_COMPRESSION: &str = "best_compression";
const READ_AHEAD_128K: &str = "read_ahead_128k";

impl Variant {
    /// The flags and options that mount(2) is given: those of the article that compared XFS and Btrfs, as kernels since 4.5
    /// take them. It mounted with the defaults where nothing was compressed.
    pub(crate) fn mount_options(self) -> (MountFlags, String) {
        match (self.filesystem, self.compression) {
            // Btrfs discards by itself since Linux 6.2, which none did then, and no other filesystem does.
            (FilesystemKind::Btrfs, None) => (MountFlags::empty(), "nodiscard".to_owned()),
            (_, None) => (MountFlags::empty(), String::new()),
            (_, Some(compression)) => (
                MountFlags::NOATIME,
                format!(
                    "nodiscard,autodefrag,compress-force={},space_cache=v2",
                    compression.name()
                ),
            ),
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.filesystem.name())?;
        if let Some(compression) = self.compression {
            write!(f, ":{}", compression.name())?;
        }
        let options = [
            (self.best_compression, BEST_COMPRESSION),
            (self.read_ahead_128k, READ_AHEAD_128K),
        ];
        for (_, name) in options.into_iter().filter(|(is_set, _)| *is_set) {
            write!(f, "+{name}")?;
        }
        Ok(())
    }
}

impl FromStr for Variant {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        let error = || {
            InputError::new(
                "--variants",
                "a filesystem (xfs, ext4, btrfs, btrfs:lzo, btrfs:zlib, btrfs:zstd), with or without \
                 +best_compression, then for Btrfs +read_ahead_128k",
                text,
            )
        };
        let (rest, options) = text.split_once('+').unwrap_or((text, ""));
        let (filesystem, compression) = match rest.split_once(':') {
            Some((filesystem, compression)) => (filesystem, Some(compression)),
            None => (rest, None),
        };
        let filesystem = FilesystemKind::ALL
            .into_iter()
            .find(|known| known.name() == filesystem)
            .ok_or_else(error)?;
        let compression = match compression {
            None => None,
            Some(_) if filesystem != FilesystemKind::Btrfs => return Err(error()),
            Some(name) => Some(
                Compression::ALL
                    .into_iter()
                    .find(|known| known.name() == name)
                    .ok_or_else(error)?,
            ),
        };
        let has = |option: &str| options.split('+').any(|known| known == option);
        let variant = Self {
            filesystem,
            compression,
            best_compression: has(BEST_COMPRESSION),
            read_ahead_128k: has(READ_AHEAD_128K),
        };
        let is_known = !variant.read_ahead_128k || filesystem == FilesystemKind::Btrfs;
        // Options that are unknown, stand twice or in another order are not written again.
        if is_known && variant.to_string() == text {
            Ok(variant)
        } else {
            Err(error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in [
            "xfs",
            "ext4",
            "btrfs",
            "btrfs:lzo",
            "btrfs:zstd+best_compression",
            "xfs+best_compression",
            "btrfs+read_ahead_128k",
            "btrfs:zstd+best_compression+read_ahead_128k",
        ] {
            assert_eq!(name.parse::<Variant>().unwrap().to_string(), name);
        }
        for name in [
            "",
            "zfs",
            "xfs:zstd",
            "btrfs:lz4",
            "btrfs:",
            "xfs+",
            "xfs+read_ahead_128k",
            "btrfs+best_compression+best_compression",
            "btrfs+read_ahead_128k+best_compression",
            "XFS",
            " xfs",
        ] {
            assert!(name.parse::<Variant>().is_err(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_handled_without_panic(text: String) {
            if let Ok(variant) = text.parse::<Variant>() {
                prop_assert_eq!(variant.to_string(), text);
            }
        }
    }
}
