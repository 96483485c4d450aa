//! The drive that was asked for: flags, then the file, then the configuration, then what is usual.

use super::args::{DriveArgs, Moved};
use super::drive_file;
use super::values;
use crate::config::SsdConfig;
use crate::error::{CommandError, Kind};
use crate::values::configured;
use flash::drive_file::DriveFile;
use flash::ftl::Collection;
use flash::time::Timing;
use std::path::Path;

/// Spare area of drives for clients.
pub const OVER_PROVISIONING: f64 = 0.07;
/// Pages of a block where nothing says, and a drive is no more than its pages.
pub const PAGES_PER_BLOCK: u32 = 256;

/// What is known of a drive before its size is.
#[derive(Debug)]
pub struct Basis {
    /// The file's, or empty.
    pub file: DriveFile,
    /// Spare area.
    pub over_provisioning: f64,
    /// Victims.
    pub collection: Collection,
    /// Pages of a block, where something says.
    pub pages_per_block: Option<u32>,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Moved pages have blocks of their own.
    pub moved_apart: Option<bool>,
    /// `tlc` ...
    pub preset: String,
}

impl Basis {
    /// The flags, then the drive's file, then the configuration, then the defaults.
    ///
    /// # Errors
    /// A file that cannot be read or understood; a page that is none.
    pub fn resolve(
        flags: &DriveArgs,
        over_provisioning: Option<f64>,
        policy: Option<Collection>,
        config: &SsdConfig,
        page_bytes: u32,
    ) -> Result<Self, CommandError> {
        let file = match flags.drive.as_deref().or(config.drive.as_deref()) {
            Some(path) => drive_file::read(path)?,
            None => DriveFile::default(),
        };
        let config_op = (config.over_provisioning.as_deref())
            .map(|text| configured("ssd", "over_provisioning", text, values::over_provisioning))
            .transpose()?;
        let config_policy = (config.policy.as_deref())
            .map(|text| configured("ssd", "policy", text, str::parse::<Collection>))
            .transpose()?;
        let config_preset = (config.preset.as_deref())
            .map(|text| configured("ssd", "preset", text, values::preset))
            .transpose()?;
        let page_bytes = flags.page_bytes.or(file.page_bytes).unwrap_or(page_bytes);
        Ok(Self {
            over_provisioning: over_provisioning
                .or(file.over_provisioning)
                .or(config_op)
                .unwrap_or(OVER_PROVISIONING),
            collection: policy
                .or(file.collection)
                .or(config_policy)
                .unwrap_or(Collection::Greedy),
            pages_per_block: flags.pages_per_block.or(file.pages_per_block),
            page_bytes,
            moved_apart: flags
                .moved
                .map(|moved| moved == Moved::Apart)
                .or(file.moved_apart),
            preset: flags
                .preset
                .clone()
                .or_else(|| file.preset.clone())
                .or(config_preset)
                .unwrap_or_else(|| "tlc".to_owned()),
            file,
        })
    }

    /// The times of a drive of so many bytes: presets stand for a terabyte, and a larger drive has
    /// more dies.
    ///
    /// # Errors
    /// A number of the file that no drive has.
    pub fn timing(&self, capacity_bytes: u64) -> Result<Timing, CommandError> {
        let preset = Timing::preset(&self.preset).unwrap_or(Timing::TLC);
        self.file
            .timing(preset.sized(capacity_bytes))
            .map_err(|error| CommandError::new(Kind::Input, error.to_string()))
    }
}

/// Refuses a chunk of a RAID-0 that is no whole number of pages: it would be cut without a word.
///
/// # Errors
/// If it is none.
pub fn require_chunk(bytes: u64, drives: u32, page_bytes: u32) -> Result<(), CommandError> {
    if drives == 1 || bytes.is_multiple_of(page_bytes.into()) {
        return Ok(());
    }
    Err(CommandError::new(
        Kind::Usage,
        format!(
            "--chunk: expected a page or more, each of {page_bytes} bytes, found {bytes} bytes"
        ),
    )
    .hint("choose a multiple of it for --chunk, or smaller pages with --page-bytes"))
}

/// Where a path is shown.
pub fn shown(path: &Path) -> String {
    units::escape(&path.display().to_string()).into_owned()
}
