//! Where filesystems are made: an image, or a device of the user's that is claimed for as long as an experiment runs.

use crate::disk::{Disk, DiskError};
use crate::program::run_program_on;
use crate::workspace::Workspace;
use bench::path_error::at;
use linux::folder::{Folder, OthersWrite};
use linux::lock::Exclusive;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Where filesystems are made.
#[derive(Debug)]
pub enum Place {
    /// A loop device over a file in the workspace.
    Image {
        /// Its length.
        len_bytes: u64,
    },
    /// A device of the user's.
    Device(Claim),
}

/// A device that only one experiment has. As long as it is open, the kernel gives its number to no other device.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    number: u64,
    /// Locked, as udev and others ask of those who write to devices.
    _held: Exclusive,
}

impl Place {
    /// Claims a device that the user named. `may_overwrite` is the user's word that what it holds may go: no signature does
    /// not mean no data.
    ///
    /// # Errors
    /// If it is no block device, is in use, or that word is missing.
    pub fn device(path: &Path, may_overwrite: bool) -> Result<Self, DiskError> {
        let device = fs::canonicalize(path).map_err(at(path))?;
        let metadata = fs::metadata(&device).map_err(at(path))?;
        if !metadata.file_type().is_block_device() {
            return Err(DiskError::NoDevice(path.to_owned()));
        }
        // Programs are given its path.
        let above = device.parent().unwrap_or(Path::new("/"));
        Folder::open_protected(above, OthersWrite::IfSticky).map_err(|error| {
            DiskError::Unprotected {
                folder: above.to_owned(),
                source: error,
            }
        })?;
        check_unused(&device)?;
        let opened = File::open(&device).map_err(at(path))?;
        let held = Exclusive::attempt(opened)
            .map_err(at(path))?
            .ok_or_else(|| DiskError::InUse(path.to_owned()))?;
        if !may_overwrite {
            return Err(DiskError::Unconfirmed {
                path: path.to_owned(),
                what: signatures(&device)?,
            });
        }
        Ok(Self::Device(Claim {
            path: device,
            number: held.metadata().map_err(at(path))?.rdev(),
            _held: held,
        }))
    }

    /// The device, or a new image.
    pub(crate) fn disk(&self, workspace: &Workspace) -> Result<Disk, DiskError> {
        match self {
            Self::Image { len_bytes } => Disk::image(workspace, *len_bytes),
            Self::Device(claim) => {
                let disk = Disk::claimed(claim.path.clone(), claim.number);
                disk.verify()?;
                check_unused(&claim.path)?;
                Ok(disk)
            }
        }
    }
}

/// Whether a filesystem or another device has claimed it.
fn check_unused(device: &Path) -> Result<(), DiskError> {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    match rustix::fs::open(device, flags, Mode::empty()) {
        Ok(_) => Ok(()),
        Err(rustix::io::Errno::BUSY) => Err(DiskError::InUse(device.to_owned())),
        Err(error) => Err(at(device)(error.into()).into()),
    }
}

/// `holds ext4`, by its signatures.
fn signatures(device: &Path) -> Result<String, DiskError> {
    let options = ["--no-act", "--noheadings", "--output", "TYPE"];
    let found = run_program_on("wipefs", "util-linux", &options, device)?;
    let found: Vec<&str> = found.split_whitespace().collect();
    Ok(if found.is_empty() {
        "shows no signature, but may hold data all the same".to_owned()
    } else {
        format!("holds {}", found.join(", "))
    })
}
