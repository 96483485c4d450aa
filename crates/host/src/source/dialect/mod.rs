//! Support archives, read as the host that they were made on: sosreports, and others of their kind.
//!
//! What a host keeps in files, such an archive often keeps as the output of a command. A **dialect** is
//! a marker and a way to find the outputs; from those, files are made as the kernel or systemd would
//! show them ([`devices`], [`mounts`], [`processes`], [`units`]). Files that the archive has itself come
//! first. Nothing above notices the difference, and filters apply as on a live host.

mod devices;
mod made;
pub(super) mod mdiag;
mod mounts;
mod processes;
mod units;

use super::{BundleError, Directory, End, Source, Stat};
use crate::command::Command;
use crate::parse::outputs::date;
use crate::unread::Unread;
use jiff::Timestamp;
use made::Made;
use std::path::Path;

/// Maximum size of an output. `systemd-analyze dump` of a large host has 3 MB.
const OUTPUT_BYTES_MAX: usize = 16 << 20;

/// How one tool lays out its archives.
struct Dialect {
    /// What people call such an archive.
    name: &'static str,
    /// What only its archives have at the top.
    marker: &'static str,
    /// Whether the tree is that of a host, as far as it goes.
    is_host: bool,
    /// Directories of outputs. A file's name is the command, with `_` for spaces and `.` for slashes.
    outputs: &'static [&'static str],
    /// Outputs with names of their own: path, and the command.
    named: &'static [(&'static str, &'static str)],
    /// JSON files with the time at which it was made.
    manifests: &'static [&'static str],
    /// Recorded curves: files, and directories of sar's text.
    curves: &'static [&'static str],
}

const DIALECTS: &[Dialect] = &[
    // github.com/sosreport/sos, sos/report/plugins.
    Dialect {
        name: "sosreport",
        marker: "sos_commands",
        is_host: true,
        outputs: &[
            "sos_commands/block",
            "sos_commands/cron",
            "sos_commands/date",
            "sos_commands/devicemapper",
            "sos_commands/filesys",
            "sos_commands/host",
            "sos_commands/kernel",
            "sos_commands/process",
            "sos_commands/systemd",
        ],
        named: &[],
        manifests: &[],
        curves: &["var/log/sa", "var/log/sysstat", "sos_commands/sar"],
    },
    // github.com/elastic/support-diagnostics, src/main/resources/diags.yml.
    Dialect {
        name: "support-diagnostics",
        marker: "version.json",
        is_host: false,
        outputs: &[],
        named: &[
            ("syscalls/process-list.txt", "ps_-ef"),
            ("syscalls/uname.txt", "uname_-a"),
        ],
        manifests: &["diagnostic_manifest.json", "manifest.json"],
        curves: &["syscalls/iostat.txt", "syscalls/sar.txt"],
    },
    // As mdiag's sections are put into a tree.
    Dialect {
        name: "mdiag",
        marker: mdiag::OUTPUTS,
        is_host: true,
        outputs: &[mdiag::OUTPUTS],
        named: &[],
        manifests: &[],
        curves: &["mdiag/iostat_-xtm_1_120"],
    },
];

/// Archives that are known and not read: what they have at the top or below one directory, and the name.
const UNREAD: &[(&str, &str)] = &[
    ("basic-environment.txt", "SUSE's supportconfig"),
    ("insights_commands", "an archive of Red Hat Insights"),
    ("cluster-scoped-resources", "a must-gather of OpenShift"),
    (
        "metrics.interim",
        "MongoDB's diagnostic data, which `explain` reads",
    ),
    (
        "diagnostic.data",
        "MongoDB's diagnostic data, which `explain` reads",
    ),
];

/// Beginnings of paths, below the top of an archive, that facts are read from.
const WANTED: &[&str] = &[
    "etc/",
    "lib/systemd/",
    "proc/",
    "run/systemd/",
    "sys/block/",
    "sys/class/",
    "sys/devices/",
    "sys/fs/btrfs/",
    "sys/module/",
    "usr/lib/os-release",
    "usr/lib/systemd/",
    "usr/share/",
    "var/log/cron",
    "var/log/messages",
    "var/log/syslog",
    "var/spool/cron",
];

/// The names of the archives that are known.
pub(super) fn known() -> String {
    let names: Vec<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
    names.join(", ")
}

/// What a tree in no dialect is, if that is known.
pub(super) fn unread(tree: &dyn Source) -> Option<&'static str> {
    let tops = tree.list("").unwrap_or_default();
    let below = tops
        .iter()
        .flat_map(|top| tree.list(top).unwrap_or_default());
    let names: Vec<String> = tops.iter().cloned().chain(below).collect();
    let known = UNREAD
        .iter()
        .find(|(marker, _)| names.iter().any(|name| name == marker));
    known.map(|(_, name)| *name)
}

/// Whether facts may be read from a path of an archive, with or without the directory at its top.
pub(super) fn is_wanted(path: &str) -> bool {
    let is = |path: &str| {
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let outputs = DIALECTS.iter().any(|dialect| {
            dialect.outputs.contains(&directory)
                || dialect.named.iter().any(|(named, _)| *named == path)
                || dialect.curves.contains(&path)
                || (dialect.curves.contains(&directory) && is_sar_text(path))
        });
        // Links and files at the top: `hostname`, `lib`, `nodes.json`.
        outputs || !path.contains('/') || WANTED.iter().any(|start| path.starts_with(start))
    };
    let below = |path: &str| path.split_once('/').is_some_and(|(_, below)| is(below));
    is(path) || below(path) || clusters_in(path).is_some_and(|(_, below)| is(below))
}

/// Whether a file is the text of a day of sar: `sar07`, or `sar20260207` (sysstat's sa2).
fn is_sar_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let digits = name.strip_prefix("sar");
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Splits the path of a file in an archive of eck-diagnostics (`internal/diag.go` in
/// github.com/elastic/eck-diagnostics): `NAMESPACE/elasticsearch/NAME/...` is one of
/// support-diagnostics.
fn clusters_in(path: &str) -> Option<(&str, &str)> {
    let (before, rest) = path.split_once("/elasticsearch/")?;
    let (name, below) = rest.split_once('/')?;
    let len = before.len() + "/elasticsearch/".len() + name.len();
    (!before.contains('/')).then_some((&path[..len], below))
}

/// Returns where the archives in a tree begin, if not at its top: in its only directory, or where
/// eck-diagnostics puts them.
pub(super) fn inside(tree: &dyn Source) -> Vec<String> {
    let is_one = |path: &str| {
        let has = |dialect: &Dialect| tree.stat(&format!("{path}/{}", dialect.marker)).is_ok();
        DIALECTS.iter().any(has)
    };
    let names = tree.list("").unwrap_or_default();
    if let [top] = &names[..]
        && tree.list(top).is_ok()
    {
        return vec![top.clone()];
    }
    let mut found = Vec::new();
    for namespace in names {
        let path = format!("{namespace}/elasticsearch");
        let clusters = tree.list(&path).unwrap_or_default();
        let paths = clusters.iter().map(|name| format!("{path}/{name}"));
        found.extend(paths.filter(|path| is_one(path)));
    }
    found
}

/// Opens a tree in a directory: the one that a support archive was unpacked to, the one above that, or
/// the root of a host.
pub(super) fn of_directory(path: &Path) -> Box<dyn Source> {
    let tree = Directory::new(path.to_path_buf());
    match translate(Box::new(tree)) {
        Ok(translated) => Box::new(translated),
        Err(tree) => match &inside(tree.as_ref())[..] {
            [below] => {
                translate(Box::new(Directory::new(path.join(below)))).map_or(tree, |translated| {
                    let translated: Box<dyn Source> = Box::new(translated);
                    translated
                })
            }
            _ => tree,
        },
    }
}

/// Reads a tree as the host it was made on.
///
/// # Errors
/// Returns the tree if it is in no dialect.
pub(super) fn translate(tree: Box<dyn Source>) -> Result<Translated, Box<dyn Source>> {
    let is_it = |dialect: &&Dialect| tree.stat(dialect.marker).is_ok();
    // eck-diagnostics has a version.json of its own.
    let is_alone = |dialect: &&Dialect| dialect.is_host || inside(tree.as_ref()).is_empty();
    let Some(dialect) = DIALECTS.iter().find(is_it).filter(is_alone) else {
        return Err(tree);
    };
    let outputs = Outputs::find(tree.as_ref(), dialect);
    let clock = Clock::read(tree.as_ref(), &outputs, dialect);
    let mut made = Made::default();
    let devices = devices::make(tree.as_ref(), &outputs, &mut made);
    mounts::make(tree.as_ref(), &outputs, &devices, &mut made);
    processes::make(&outputs, &mut made);
    units::make(tree.as_ref(), &outputs, &clock, &mut made);
    platform(tree.as_ref(), &outputs, &mut made);
    if !dialect.is_host {
        made.remark(
            "it holds a cluster's answers, and of its hosts neither disks nor jobs; `trimtab collect` on \
             a node reads those",
        );
    }
    Ok(Translated {
        dialect,
        made,
        collected_at: clock.now,
        tree,
    })
}

/// Reads the sections of mdiag as the host they were made on.
///
/// # Errors
/// If there is no output among them.
pub(super) fn of_mdiag(sections: mdiag::Sections) -> Result<Box<dyn Source>, BundleError> {
    let Ok(mut translated) = translate(Box::new(sections.tree)) else {
        return Err(BundleError::NotABundle {
            found: "the beginning of mdiag's answer, and no output of a command in it".to_owned(),
        });
    };
    translated.collected_at = sections.made_at.or(translated.collected_at);
    if sections.is_cut {
        let remark = "its end is missing: it was interrupted, and what came later is not in it";
        translated.made.remark(remark);
    }
    Ok(Box::new(translated))
}

/// Name and kernel of the host, and root's crontab.
fn platform(tree: &dyn Source, outputs: &Outputs<'_>, made: &mut Made) {
    if let Some(name) = outputs.first(&["hostname"]) {
        made.file("proc/sys/kernel/hostname", name.as_bytes());
    }
    // `Linux db1 6.1.0-18-amd64 #1 SMP ...`
    if let Some(release) = outputs
        .first(&["uname_-a"])
        .and_then(|line| line.split_ascii_whitespace().nth(2).map(str::to_owned))
    {
        made.file("proc/sys/kernel/osrelease", release.as_bytes());
    }
    if let Some(crontab) = outputs.first(&["root_crontab", "crontab_-l_-u_root", "crontab_-l"])
        && !crontab.starts_with("no crontab for")
        && ["var/spool/cron/root", "var/spool/cron/crontabs/root"]
            .iter()
            .all(|path| tree.stat(path).is_err())
    {
        made.file("var/spool/cron/crontabs/root", crontab.as_bytes());
    }
}

/// The outputs of commands in an archive.
struct Outputs<'t> {
    tree: &'t dyn Source,
    /// Path and file name of each.
    names: Vec<(String, String)>,
}

impl<'t> Outputs<'t> {
    fn find(tree: &'t dyn Source, dialect: &Dialect) -> Self {
        let mut names = Vec::new();
        for path in dialect.outputs {
            for name in tree.list(path).unwrap_or_default() {
                names.push((format!("{path}/{name}"), name));
            }
        }
        let named = dialect.named.iter();
        names.extend(named.map(|&(path, name)| (path.to_owned(), name.to_owned())));
        Self { tree, names }
    }

    /// Returns the output of the first of these commands that is there and printed something. A command
    /// may have been given more options.
    fn first(&self, commands: &[&str]) -> Option<String> {
        commands.iter().find_map(|command| {
            let is_it = |name: &str| {
                let rest = name.strip_prefix(command);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            };
            let exact = self.names.iter().filter(|(_, name)| name == command);
            let longer = self
                .names
                .iter()
                .filter(|(_, name)| name != command && is_it(name));
            exact.chain(longer).find_map(|(path, _)| {
                let bytes = self.tree.read(path, OUTPUT_BYTES_MAX).ok()?;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                (!text.trim().is_empty()).then_some(text)
            })
        })
    }
}

/// When an archive was made, and how its host's clock differs from UTC.
struct Clock {
    now: Option<Timestamp>,
    /// The host's time less UTC, rounded to minutes; `None` if only one of them is known.
    offset_min: Option<i64>,
}

impl Clock {
    fn read(tree: &dyn Source, outputs: &Outputs<'_>, dialect: &Dialect) -> Self {
        #[derive(serde::Deserialize)]
        struct Manifest {
            #[serde(alias = "collectionDate")]
            timestamp: Timestamp,
        }
        let manifest = dialect.manifests.iter().find_map(|path| {
            let bytes = tree.read(path, OUTPUT_BYTES_MAX).ok()?;
            Some(serde_json::from_slice::<Manifest>(&bytes).ok()?.timestamp)
        });
        let now = outputs
            .first(&["date_--utc", "date_-u"])
            .and_then(|text| date::parse(&text))
            .or(manifest);
        let local = outputs.first(&["date"]).and_then(|text| date::civil(&text));
        let offset_min = now.zip(local).map(|(now, local)| {
            let utc = now.to_zoned(jiff::tz::TimeZone::UTC).datetime();
            // Both commands ran within a second or so; zones differ by quarters of an hour.
            let seconds = local.duration_since(utc).as_secs();
            (seconds + 450).div_euclid(900) * 15
        });
        Self { now, offset_min }
    }
}

/// A support archive, read as the host that it was made on.
pub(super) struct Translated {
    dialect: &'static Dialect,
    tree: Box<dyn Source>,
    made: Made,
    collected_at: Option<Timestamp>,
}

/// Takes what the archive has itself, and otherwise what was made.
fn either<T>(
    own: Result<T, Unread>,
    made: impl FnOnce() -> Result<T, Unread>,
) -> Result<T, Unread> {
    match own {
        Err(unread) => made().map_err(|_| unread),
        own => own,
    }
}

impl Source for Translated {
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        either(self.tree.read(path, max_bytes), || {
            self.made.files.read(path, max_bytes)
        })
    }

    fn read_end(&self, path: &str, max_bytes: usize) -> Result<End, Unread> {
        either(self.tree.read_end(path, max_bytes), || {
            let bytes = self.made.files.read(path, max_bytes)?;
            Ok(End {
                bytes,
                is_cut: false,
            })
        })
    }

    fn list(&self, path: &str) -> Result<Vec<String>, Unread> {
        match (self.tree.list(path), self.made.files.list(path)) {
            (Ok(mut names), Ok(made)) => {
                names.extend(made);
                names.sort_unstable();
                names.dedup();
                Ok(names)
            }
            (own, made) => either(own, || made),
        }
    }

    fn link(&self, path: &str) -> Result<String, Unread> {
        either(self.tree.link(path), || {
            self.made.links.get(path).cloned().ok_or(Unread::NotFound)
        })
    }

    fn stat(&self, path: &str) -> Result<Stat, Unread> {
        either(self.tree.stat(path), || self.made.files.stat(path))
    }

    fn command(&self, command: &Command) -> Result<Vec<u8>, Unread> {
        let answer = self.made.commands.get(command.name().as_ref());
        answer.cloned().ok_or(Unread::NotFound)
    }

    fn holds_a_host(&self) -> bool {
        self.dialect.is_host
    }

    /// The same day may be in several directories: the first counts.
    fn curves(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for path in self.dialect.curves {
            if self.tree.list(path).is_err() {
                found.extend(self.tree.stat(path).is_ok().then(|| (*path).to_owned()));
                continue;
            }
            for name in self.tree.list(path).unwrap_or_default() {
                let is_known = found
                    .iter()
                    .any(|known| known.ends_with(&format!("/{name}")));
                if is_sar_text(&name) && !is_known {
                    found.push(format!("{path}/{name}"));
                }
            }
        }
        found
    }

    fn collected_at(&self) -> Option<Timestamp> {
        self.collected_at
    }

    fn remarks(&self) -> Vec<String> {
        let undated = "when it was made is unknown (`date --utc`): what is due is told as of now";
        let undated = self.collected_at.is_none().then_some(undated);
        let remarks = self.made.remarks.iter().map(String::as_str).chain(undated);
        remarks
            .map(|remark| format!("{}: {remark}", self.dialect.name))
            .collect()
    }
}

#[cfg(test)]
mod tests;
