//! The hosts and the cluster that a check examines.

use super::args::Check;
use crate::commands::STATE_DIR;
use crate::commands::cluster::{self, Asked};
use crate::commands::plan::written;
use crate::commands::source;
use crate::config::CheckConfig;
use crate::error::CommandError;
use ::cluster::Answers;
use facts::{Cluster, Host, Skipped};
use host::source::is_archive;
use std::collections::{HashMap, HashSet};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximum number of sources named in one line.
const LABELS_MAX: usize = 6;

/// What a check examines.
pub(super) struct Inputs {
    /// This host, the host at `--root`, or the hosts of the bundles.
    pub hosts: Vec<ReadHost>,
    /// The cluster.
    pub cluster: Option<Cluster>,
    /// Archives that could not be read, where others could.
    pub unread: Vec<Skipped>,
    /// Description of the sources, shown to the user.
    pub label: String,
    /// Remarks about the sources for the user.
    pub remarks: Vec<String>,
}

/// A host that was read.
pub struct ReadHost {
    /// Its name, different from those of the others.
    pub name: String,
    /// Description of its source.
    pub label: String,
    /// Its facts.
    pub host: Host,
}

impl Inputs {
    pub fn at(arguments: &Check, config: &CheckConfig) -> Result<Self, CommandError> {
        // Query the cluster first, so that a connection error is reported before the host is read.
        let this_host = arguments.source.root.is_none() && arguments.bundle.is_empty();
        let asked = match arguments.to {
            None => Asked::new(&arguments.cluster, config, this_host)?,
            // Access options are for that server as well.
            Some(_) => Asked::of(&arguments.cluster, config, this_host),
        };
        let mut answers = cluster::ask(asked, &arguments.cluster, config)?;
        // A path and a word for each source; this host has none.
        let mut sources: Vec<Option<(PathBuf, &str)>> = Vec::new();
        if let Some(root) = &arguments.source.root {
            sources.push(Some((root.clone(), "directory")));
        }
        let mut remarks = Vec::new();
        let bundles = bundles(&arguments.bundle, &mut remarks)?;
        sources.extend(bundles.into_iter().map(|bundle| Some((bundle, "bundle"))));
        // `--cluster` replaces this host; a configured cluster is checked in addition to it.
        let is_live = this_host && !matches!(asked, Asked::Named(_));
        if is_live {
            sources.push(None);
        }
        let wants_cluster = answers.is_none() && !is_live;
        let Gathered {
            mut hosts,
            paths,
            answers: stored,
            unread,
            mut labels,
            remarks: of_sources,
        } = gather(
            &sources,
            (&arguments.source.data_path, &config.data_paths),
            wants_cluster,
            answers.is_some(),
        )?;
        remarks.extend(of_sources);
        answers = answers.or(stored);
        let hot_threads = arguments.hot_threads.as_deref();
        let cluster = match &answers {
            Some(answers) => Some(cluster::facts(answers, hot_threads)?),
            None if hot_threads.is_some() => {
                let message = "--hot-threads: there is no cluster that the threads belong to";
                return Err(CommandError::usage(message).hint(
                    "name it with --cluster URL, or a bundle that was collected with --cluster",
                ));
            }
            None => None,
        };
        let read: Vec<(&str, &Host)> = hosts.iter().map(|read| (&*read.name, &read.host)).collect();
        remarks.extend(source::judge_data_paths(
            &read,
            &arguments.source.data_path,
        )?);
        let paths: Vec<Option<&Path>> = paths.iter().map(Option::as_deref).collect();
        remarks.extend(tell_apart(&mut hosts, &paths));
        if let (Some(cluster), true) = (&cluster, asked != Asked::Nobody) {
            labels.push(format!("cluster {}", cluster.endpoint));
        }
        Ok(Self {
            hosts,
            cluster,
            unread,
            label: if labels.len() > LABELS_MAX {
                units::list::list_up_to(&labels, 1)
            } else {
                labels.join(", ")
            },
            remarks,
        })
    }

    /// Returns what could not be read; of several hosts, with their names.
    pub fn skipped(&self) -> Vec<Skipped> {
        let several = self.hosts.len() > 1;
        let of_hosts = self.hosts.iter().flat_map(|read| {
            read.host.skipped.iter().cloned().map(move |skipped| {
                if several {
                    skipped.on(&read.name)
                } else {
                    skipped
                }
            })
        });
        let of_cluster = self.cluster.iter().flat_map(|cluster| &cluster.skipped);
        let unread = self.unread.iter().cloned();
        unread.chain(of_hosts).chain(of_cluster.cloned()).collect()
    }
}

/// Reads the hosts of bundles, and of directories of bundles.
///
/// # Errors
/// When none can be read, or one is named twice.
pub fn of_bundles(named: &[PathBuf], config: &CheckConfig) -> Result<Gathered, CommandError> {
    let mut remarks = Vec::new();
    let bundles = bundles(named, &mut remarks)?;
    let sources: Vec<Option<(PathBuf, &str)>> = bundles
        .into_iter()
        .map(|bundle| Some((bundle, "bundle")))
        .collect();
    let mut gathered = gather(&sources, (&[], &config.data_paths), false, false)?;
    gathered.remarks.splice(0..0, remarks);
    Ok(gathered)
}

/// What was read from several sources.
#[derive(Default)]
pub struct Gathered {
    /// The hosts.
    pub hosts: Vec<ReadHost>,
    /// Where each was read.
    paths: Vec<Option<PathBuf>>,
    /// The answers of the first cluster.
    answers: Option<Answers>,
    /// Sources that could not be read, where others could.
    pub unread: Vec<Skipped>,
    /// Descriptions of the sources.
    labels: Vec<String>,
    /// Remarks about them for the user.
    pub remarks: Vec<String>,
}

fn gather(
    sources: &[Option<(PathBuf, &str)>],
    data_paths: (&[String], &[String]),
    wants_cluster: bool,
    has_cluster: bool,
) -> Result<Gathered, CommandError> {
    let mut gathered = Gathered::default();
    let several = sources.len() > 1;
    let mut first_error = None;
    let all = read_all(sources, data_paths, wants_cluster);
    for (place, read) in sources.iter().zip(all) {
        // One bad archive does not hide the hosts in the others.
        let read = match (read, place) {
            (Err(error), Some((path, _))) if several => {
                let what = path.display().to_string();
                let skipped = Skipped::new(what, error.message.clone(), None);
                gathered.unread.push(skipped);
                first_error.get_or_insert(error);
                continue;
            }
            (read, _) => read?,
        };
        // Use the cluster of the first bundle that has one.
        gathered.answers = gathered.answers.or(read.answers);
        gathered.labels.push(read.label.clone());
        if let Some(host) = read.host {
            let path = place.as_ref().map(|(path, _)| path.clone());
            gathered.hosts.push(ReadHost {
                name: name_of(&host, path.as_deref()),
                label: read.label,
                host,
            });
            gathered.paths.push(path);
        }
        gathered.remarks.extend(read.remarks);
    }
    match first_error {
        Some(error) if gathered.hosts.is_empty() && gathered.answers.is_none() && !has_cluster => {
            Err(error)
        }
        _ => Ok(gathered),
    }
}

/// What was read from one source.
struct OneRead {
    label: String,
    /// The host, unless the source holds the answers of a cluster alone.
    host: Option<Host>,
    /// The answers of a cluster, if they are asked for.
    answers: Option<Answers>,
    remarks: Vec<String>,
}

/// Reads the sources, as many at once as there are processors, but few: an archive takes much more memory
/// than what is read from it.
fn read_all(
    sources: &[Option<(PathBuf, &str)>],
    data_paths: (&[String], &[String]),
    wants_cluster: bool,
) -> Vec<Result<OneRead, CommandError>> {
    const THREADS_MAX: usize = 4;
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = threads.min(THREADS_MAX).min(sources.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(place) = sources.get(index) else {
                return done;
            };
            done.push((index, read_one(place.as_ref(), data_paths, wants_cluster)));
        }
    };
    if threads <= 1 {
        return work().into_iter().map(|(_, read)| read).collect();
    }
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = running.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended
            .flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, read)| read).collect()
}

fn read_one(
    place: Option<&(PathBuf, &str)>,
    (named, configured): (&[String], &[String]),
    wants_cluster: bool,
) -> Result<OneRead, CommandError> {
    let opened = match place {
        Some((path, word)) => source::stored(path, word)?,
        None => source::live(),
    };
    let answers = if wants_cluster {
        cluster::stored(opened.source.as_ref(), &opened.label)?
    } else {
        None
    };
    let host = if opened.source.holds_a_host() {
        let (mut host, _) = source::read_one_of_several(&opened, named, configured, false)?;
        add_plan(&mut host, place);
        Some(host)
    } else {
        None
    };
    Ok(OneRead {
        host,
        answers,
        remarks: opened.source.remarks(),
        label: opened.label,
    })
}

/// Adds what `trimtab plan` has written on this host, or in a tree, and the passes of `trimtab trim` on this host. Bundles do
/// not have them.
fn add_plan(host: &mut Host, place: Option<&(PathBuf, &str)>) {
    let tree = match place {
        None => Path::new("/"),
        Some((path, "directory")) => path,
        Some(_) => return,
    };
    if place.is_none() {
        let mut passes = trim::audit::last_passes(Path::new(STATE_DIR));
        let mounts: HashSet<&str> = host
            .mounts
            .iter()
            .map(|mount| &*mount.mount_point)
            .collect();
        passes.retain(|passes| mounts.contains(passes.mount_point.as_str()));
        host.trim_passes = passes;
    }
    let now = host.read_at;
    if let Some(why) = written::in_facts(host, tree, place.is_none(), now) {
        host.skipped
            .push(Skipped::new("TRIM014", why, Some("root")));
    }
}

/// Returns a host's own name, else words for it.
fn name_of(host: &Host, path: Option<&Path>) -> String {
    match (&host.platform.host_name, path) {
        (Some(name), _) => name.clone(),
        (None, Some(path)) => {
            let name = path.file_name().unwrap_or(path.as_os_str());
            format!("the host in {}", name.to_string_lossy())
        }
        (None, None) => "this host".to_owned(),
    }
}

/// Adds the file's name to names that several hosts have, and says so. Hosts of an anonymised fleet
/// all have the same name.
fn tell_apart(hosts: &mut [ReadHost], paths: &[Option<&Path>]) -> Vec<String> {
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, read) in hosts.iter().enumerate() {
        by_name.entry(read.name.clone()).or_default().push(index);
    }
    let mut remarks = Vec::new();
    for (name, indices) in by_name {
        if indices.len() < 2 {
            continue;
        }
        let file = |index: usize| paths[index].and_then(Path::file_name);
        let files: HashSet<_> = indices.iter().map(|&index| file(index)).collect();
        for &index in &indices {
            let path = paths[index].unwrap_or_else(|| Path::new("/"));
            let told = if files.len() == indices.len() {
                file(index).map_or_else(String::new, |file| file.to_string_lossy().into_owned())
            } else {
                path.display().to_string()
            };
            hosts[index].name = format!("{name} ({told})");
        }
        remarks.push(format!(
            "{} bundles are of a host named {name}; if they are of one host at different times, \
             check one at a time",
            indices.len()
        ));
    }
    remarks.sort_unstable();
    remarks
}

/// Names in a host's root directory or in a bundle.
const OF_A_HOST: &[&str] = &[
    "manifest.json",
    "root",
    "etc",
    "proc",
    "sys",
    "cmd",
    "trimtab",
];
/// Endings of bundles' file names.
const ENDINGS: &[&str] = &[
    ".tar", ".tar.gz", ".tar.xz", ".tar.zst", ".tgz", ".txz", ".tzst", ".zip", ".zst",
];

/// Returns the bundles that are named, and those in directories that are named, sorted.
///
/// # Errors
/// When one is named twice, or a directory holds neither a host nor bundles.
fn bundles(named: &[PathBuf], remarks: &mut Vec<String>) -> Result<Vec<PathBuf>, CommandError> {
    let mut found: Vec<PathBuf> = Vec::new();
    for path in named {
        if is_directory_of_bundles(path) {
            let (bundles, other) = bundles_in(path)?;
            found.extend(bundles);
            if !other.is_empty() {
                remarks.push(format!(
                    "skipped in {}: {} (neither bundles nor known archives)",
                    path.display(),
                    units::list::list_up_to(&other, LABELS_MAX)
                ));
            }
        } else {
            found.push(path.clone());
        }
    }
    let mut seen = HashSet::new();
    for path in &found {
        if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            let message = format!("--bundle {}: it is given twice", path.display());
            return Err(CommandError::usage(message).hint("leave one of them out"));
        }
    }
    Ok(found)
}

fn is_directory_of_bundles(path: &Path) -> bool {
    path.is_dir() && !is_of_a_host(path)
}

fn is_of_a_host(path: &Path) -> bool {
    OF_A_HOST.iter().any(|name| path.join(name).exists()) || is_archive(path)
}

fn bundles_in(directory: &Path) -> Result<(Vec<PathBuf>, Vec<String>), CommandError> {
    let unreadable = |error: std::io::Error| {
        let message = format!("--bundle {}: {error}", directory.display());
        CommandError::environment(message).hint("name a directory that you may read")
    };
    let mut found = Vec::new();
    let mut other = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let lower = name.to_ascii_lowercase();
        let is_named_so = ENDINGS.iter().any(|ending| lower.ends_with(ending));
        let is_file = path.is_file() && (is_named_so || is_archive(&path));
        if is_file || (path.is_dir() && is_of_a_host(&path)) {
            found.push(path);
        } else {
            other.push(name.into_owned());
        }
    }
    if found.is_empty() {
        let message = format!(
            "--bundle {}: the directory holds neither a host's files nor bundles or support archives",
            directory.display()
        );
        return Err(
            CommandError::input(message).hint("a bundle is made by `trimtab collect -o FILE`")
        );
    }
    found.sort();
    other.sort();
    Ok((found, other))
}
