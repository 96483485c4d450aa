use crate::arguments::SourceArgs;
use crate::error::{CommandError, Kind};
use crate::helper::{READ_HELPER, STATFS_HELPER};
use host::source::{self, BundleError, Guarded, Live};
use host::{Options, Recording, Source};
use jiff::Timestamp;
use std::ffi::OsString;
use std::path::Path;

/// An opened source of host facts.
pub struct Opened {
    /// The source itself.
    pub source: Box<dyn Source>,
    /// Description for the user: `live`, `bundle host.tar.zst`, `directory /mnt/root`.
    pub label: String,
}

/// Opens this host.
pub fn live() -> Opened {
    // Not argv[0]: PATH may contain another trimtab.
    let helper = |name: &str| vec![OsString::from("/proc/self/exe"), OsString::from(name)];
    let live = Live::new(Some(helper(STATFS_HELPER)));
    Opened {
        source: Box::new(Guarded::new(helper(READ_HELPER), live)),
        label: "live".to_owned(),
    }
}

/// Opens a bundle, or a directory laid out like a bundle or like a host's root.
///
/// # Errors
/// When it cannot be read or is not a valid bundle.
pub fn stored(path: &Path, word: &str) -> Result<Opened, CommandError> {
    if word == "directory" && path.is_file() {
        return Err(CommandError::new(
            Kind::Usage,
            format!(
                "--root {}: expected a directory, found a file",
                path.display()
            ),
        )
        .hint("a bundle is checked with --bundle FILE"));
    }
    let source = source::open(path).map_err(|error| match error {
        BundleError::Unreadable { .. } => {
            CommandError::new(Kind::Environment, format!("{word} {error}"))
                .hint("name a file or directory that exists and that you may read")
        }
        error => CommandError::new(Kind::Input, format!("{word} {}: {error}", path.display()))
            .hint("a bundle is made by `trimtab collect -o FILE`"),
    })?;
    let mut label = format!("{word} {}", path.display());
    if let Some(collected_at) = source.collected_at() {
        label.push_str(&collected_at.strftime(" of %Y-%m-%d %H:%M UTC").to_string());
    }
    Ok(Opened { source, label })
}

/// Reads a source's facts and the recording they are based on.
///
/// # Errors
/// When a data path is not absolute.
pub fn read(
    opened: &Opened,
    arguments: &SourceArgs,
    configured: &[String],
) -> Result<(facts::Host, Recording), CommandError> {
    read_facts(opened, arguments, configured, false)
}

/// As [`read`], plus the bytes drives have written to flash. On a live host this runs smartctl and
/// nvme-cli.
///
/// # Errors
/// As [`read`].
pub fn read_with_drive_writes(
    opened: &Opened,
    arguments: &SourceArgs,
    configured: &[String],
) -> Result<(facts::Host, Recording), CommandError> {
    read_facts(opened, arguments, configured, true)
}

fn read_facts(
    opened: &Opened,
    arguments: &SourceArgs,
    configured: &[String],
    drive_writes: bool,
) -> Result<(facts::Host, Recording), CommandError> {
    let data_paths: Vec<String> = arguments
        .data_path
        .iter()
        .chain(configured)
        .cloned()
        .collect();
    if let Some(path) = data_paths.iter().find(|path| !path.starts_with('/')) {
        return Err(CommandError::new(
            Kind::Usage,
            format!("--data-path {path}: expected an absolute path"),
        ));
    }
    let start = std::time::Instant::now();
    let reader = host::Reader::new(opened.source.as_ref());
    let read_at = opened.source.collected_at().unwrap_or_else(Timestamp::now);
    let options = Options {
        data_paths,
        drive_writes,
    };
    let host = host::read_host(&reader, &options, read_at);
    let recording = reader.into_recording();
    tracing::info!(
        files = recording.files.len(),
        directories = recording.lists.len(),
        devices = host.devices.len(),
        mounts = host.mounts.len(),
        jobs = host.jobs.as_ref().map(Vec::len),
        stores = host.stores.len(),
        time_ms = start.elapsed().as_secs_f64() * 1e3,
        "read {}",
        opened.label
    );
    for (path, outcome) in &recording.files {
        if let Err(unread) = outcome {
            tracing::debug!("{path}: {unread}");
        }
    }
    Ok((host, recording))
}
