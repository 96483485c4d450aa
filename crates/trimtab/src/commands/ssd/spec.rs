//! Drive parameters from flags, then the drive file, then the configuration, then defaults.

use super::args::DriveArgs;
use super::drive_file;
use super::values;
use crate::config::SsdConfig;
use crate::error::CommandError;
use crate::values::configured;
use flash::drive_file::DriveFile;
use flash::ftl::Collection;
use flash::time::Timing;

/// Default over-provisioning, typical of client drives.
const OVER_PROVISIONING: f64 = 0.07;
/// Default page size, in bytes.
const PAGE_BYTES: u32 = 16 * 1024;

/// Drive parameters that do not depend on its size.
#[derive(Debug)]
pub struct Basis {
    /// Contents of the drive file, or empty.
    pub file: DriveFile,
    /// Over-provisioning.
    pub over_provisioning: f64,
    /// Garbage collection policy.
    pub collection: Collection,
    /// Pages per block, if set.
    pub pages_per_block: Option<u32>,
    /// Page size in bytes.
    pub page_bytes: u32,
    /// Whether garbage collection writes moved pages to separate blocks, if set.
    pub moved_apart: Option<bool>,
    /// Timing preset: `tlc` ...
    pub preset: String,
}

impl Basis {
    /// Resolves flags, then the drive file, then the configuration, then defaults.
    ///
    /// # Errors
    /// If the drive file cannot be read or parsed, or a configured value is invalid.
    pub fn resolve(
        flags: &DriveArgs,
        over_provisioning: Option<f64>,
        policy: Option<Collection>,
        config: &SsdConfig,
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
            page_bytes: flags.page_bytes.or(file.page_bytes).unwrap_or(PAGE_BYTES),
            moved_apart: file.moved_apart,
            preset: flags
                .preset
                .clone()
                .or_else(|| file.preset.clone())
                .or(config_preset)
                .unwrap_or_else(|| "tlc".to_owned()),
            file,
        })
    }

    /// Timing of a drive of this size: presets describe a 1 TB drive, and a larger drive has more dies.
    ///
    /// # Errors
    /// If a value in the drive file is impossible.
    pub fn timing(&self, capacity_bytes: u64) -> Result<Timing, CommandError> {
        let preset = Timing::preset(&self.preset).unwrap_or(Timing::TLC);
        self.file
            .timing(preset.sized(capacity_bytes))
            .map_err(|error| CommandError::input(error.to_string()))
    }
}

/// Rejects a RAID-0 chunk that is not a multiple of the page size; it would be truncated silently.
///
/// # Errors
/// If it is not a multiple.
pub fn require_chunk(bytes: u64, drives: u32, page_bytes: u32) -> Result<(), CommandError> {
    if drives == 1 || bytes.is_multiple_of(page_bytes.into()) {
        return Ok(());
    }
    Err(CommandError::usage(format!(
        "--chunk: expected a page or more, each of {page_bytes} bytes, found {bytes} bytes"
    ))
    .hint("choose a multiple of it for --chunk, or smaller pages with --page-bytes"))
}
