use crate::error::CommandError;
use crate::helper::READ_HELPER;
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
    let helper = ["/proc/self/exe", READ_HELPER].map(OsString::from);
    Opened {
        source: Box::new(Guarded::new(helper.to_vec(), Live::default())),
        label: "live".to_owned(),
    }
}

/// Opens the directory of `--root`, else this host.
///
/// # Errors
/// When the directory cannot be read.
pub fn live_or(root: Option<&Path>) -> Result<Opened, CommandError> {
    root.map_or_else(|| Ok(live()), |root| stored(root, "directory"))
}

/// Opens a bundle, or a directory laid out like a bundle or like a host's root.
///
/// # Errors
/// When it cannot be read or is not a valid bundle.
pub fn stored(path: &Path, word: &str) -> Result<Opened, CommandError> {
    if word == "directory" && path.exists() && !path.is_dir() {
        let found = if path.is_file() {
            "a file"
        } else {
            "something else"
        };
        return Err(CommandError::usage(format!(
            "--root {}: expected a directory, found {found}",
            path.display()
        ))
        .hint("a bundle is checked with --bundle FILE"));
    }
    bundle(path, word).map_err(|error| match error {
        BundleError::Unreadable { .. } => CommandError::environment(format!("{word} {error}"))
            .hint("name a file or directory that exists and that you may read"),
        error => CommandError::input(format!("{word} {}: {error}", path.display()))
            .hint("a bundle is made by `trimtab collect -o FILE`"),
    })
}

/// As [`stored`]; the caller says how such a bundle is made.
///
/// # Errors
/// When it cannot be read or is not a valid bundle.
pub fn bundle(path: &Path, word: &str) -> Result<Opened, BundleError> {
    let is_stdin = path.as_os_str() == "-";
    let source = source::open(if is_stdin {
        Path::new("/dev/stdin")
    } else {
        path
    })?;
    let mut label = if is_stdin {
        format!("{word} on standard input")
    } else {
        format!("{word} {}", path.display())
    };
    if let Some(collected_at) = source.collected_at() {
        label.push_str(&collected_at.strftime(" of %Y-%m-%d %H:%M UTC").to_string());
    }
    Ok(Opened { source, label })
}

/// Reads a source's facts and the recording they are based on. `named` and `configured` are data paths. With
/// `drive_writes`, the bytes drives have written to flash are read as well: on a live host this runs smartctl and nvme-cli.
///
/// # Errors
/// When a data path is not absolute, or one of `named` does not exist.
pub fn read(
    opened: &Opened,
    named: &[String],
    configured: &[String],
    drive_writes: bool,
) -> Result<(facts::Host, Recording), CommandError> {
    let (host, recording) = read_one_of_several(opened, named, configured, drive_writes)?;
    judge_data_paths(&[("this host", &host)], named)?;
    Ok((host, recording))
}

/// Returns remarks about data paths that are missing on some of the hosts.
///
/// # Errors
/// When one is missing on all of them: it is probably misspelled, and what was asked for would go
/// unchecked.
pub fn judge_data_paths(
    hosts: &[(&str, &facts::Host)],
    data_paths: &[String],
) -> Result<Vec<String>, CommandError> {
    let mut remarks = Vec::new();
    for path in data_paths {
        let without: Vec<&str> = hosts
            .iter()
            .filter(|(_, host)| host.missing_data_paths.contains(path))
            .map(|(name, _)| *name)
            .collect();
        if without.is_empty() {
            continue;
        }
        let names = units::list::list_up_to(&without, NAMES_MAX);
        let message = format!("--data-path {path}: there is no such directory on {names}");
        if without.len() < hosts.len() {
            remarks.push(message);
            continue;
        }
        return Err(CommandError::input(message).hint(what_is_there(hosts[0].1)));
    }
    Ok(remarks)
}

/// Maximum number of hosts or directories named in a message.
const NAMES_MAX: usize = 6;

/// Names directories of a host that a data path may lie in.
fn what_is_there(host: &facts::Host) -> String {
    let stores = host.stores.iter().flat_map(|store| &store.data_paths);
    let stores: Vec<&String> = stores.collect();
    let mut mounts: Vec<&str> = host
        .mounts
        .iter()
        .map(|mount| mount.mount_point.as_str())
        .collect();
    mounts.dedup();
    if stores.is_empty() {
        let mounts = units::list::list_up_to(&mounts, NAMES_MAX);
        format!("name a directory that exists; filesystems are mounted at {mounts}")
    } else {
        let stores = units::list::list_up_to(&stores, NAMES_MAX);
        format!("name a directory that exists; stores were found with data in {stores}")
    }
}

/// As [`read`], for one of several hosts: a data path may be missing on it, see [`judge_data_paths`].
///
/// # Errors
/// When a data path is not absolute.
pub fn read_one_of_several(
    opened: &Opened,
    named: &[String],
    configured: &[String],
    drive_writes: bool,
) -> Result<(facts::Host, Recording), CommandError> {
    let data_paths: Vec<String> = named.iter().chain(configured).cloned().collect();
    if let Some(path) = data_paths.iter().find(|path| !path.starts_with('/')) {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| Path::new("/").join(path));
        return Err(
            CommandError::usage(format!("--data-path {path}: expected an absolute path")).hint(
                format!(
                    "name it from the root of the host: --data-path {}",
                    absolute.display()
                ),
            ),
        );
    }
    let start = std::time::Instant::now();
    let reader = host::Reader::new(opened.source.as_ref());
    let read_at = opened.source.collected_at().unwrap_or_else(Timestamp::now);
    let options = Options {
        data_paths,
        drive_writes,
    };
    let mut host = host::read_host(&reader, &options, read_at);
    if host.platform.host_name.is_none() {
        // A tree without /proc.
        host.platform.host_name = source::static_host_name(opened.source.as_ref());
    }
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
