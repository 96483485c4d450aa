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
mod outputs;
mod processes;
mod table;
mod units;

use super::archive::cut;
use super::{BundleError, Directory, End, Source, Stat};
use crate::command::Command;
use crate::unread::Unread;
use jiff::Timestamp;
use made::Made;
use outputs::{Clock, Outputs};
use std::path::{Path, PathBuf};
use table::{DIALECTS, Dialect, UNREAD, is_sar_text};
pub(super) use table::{is_wanted, known};

/// The error for a tree in no dialect that is known to be something else.
pub(super) fn unread(tree: &dyn Source) -> Option<BundleError> {
    let tops = tree.list("").unwrap_or_default();
    let below = tops
        .iter()
        .flat_map(|top| tree.list(top).unwrap_or_default());
    let names: Vec<String> = tops.iter().cloned().chain(below).collect();
    let known = UNREAD
        .iter()
        .find(|(marker, ..)| names.iter().any(|name| name == marker));
    known.map(|&(_, name, way_out)| BundleError::NotRead { name, way_out })
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

/// Whether a directory is what a support archive was unpacked to.
pub(super) fn is_one(path: &Path) -> bool {
    path.is_dir()
        && DIALECTS
            .iter()
            .any(|dialect| path.join(dialect.marker).exists())
}

/// Opens a tree in a directory: the one that a support archive was unpacked to, the one above that, or
/// the root of a host.
///
/// # Errors
/// If there are several archives in it.
pub(super) fn of_directory(path: &Path) -> Result<Box<dyn Source>, BundleError> {
    let open = |path: PathBuf| -> Box<dyn Source> { Box::new(Directory::new(path)) };
    let tree = match translate(open(path.to_path_buf())) {
        Ok(translated) => return Ok(Box::new(translated)),
        Err(tree) => tree,
    };
    Ok(match only(inside(tree.as_ref()))? {
        Some(below) => match translate(open(path.join(below))) {
            Ok(translated) => Box::new(translated),
            Err(_) => tree,
        },
        None => tree,
    })
}

/// Returns the only archive of a tree.
///
/// # Errors
/// If there are several.
pub(super) fn only(mut inside: Vec<String>) -> Result<Option<String>, BundleError> {
    if inside.len() > 1 {
        return Err(BundleError::Several {
            found: cut(&inside.join(", ")),
        });
    }
    Ok(inside.pop())
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
    for (of, unread) in outputs.unread() {
        made.remark(unread.to_string());
        made.unread.entry(of).or_insert(unread);
    }
    if !dialect.is_host {
        made.remark(
            "it holds the cluster's responses, but no disks or jobs of its hosts; for those, run \
             `trimtab collect` on a node",
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
        let remark = "it ends early (interrupted): what would have followed is missing";
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
    // `Time zone: America/Chicago (CST, -0600)`
    let after = |text: &str, key: &str| {
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.trim().strip_prefix(key));
        value.and_then(|value| value.split_ascii_whitespace().next().map(str::to_owned))
    };
    if let Some(zone) = outputs
        .first(&["timedatectl"])
        .and_then(|text| after(&text, "Time zone:"))
        .filter(|_| tree.link("etc/localtime").is_err())
    {
        made.file("etc/timezone", zone.as_bytes());
    }
    let named = outputs
        .first(&["hostnamectl_status", "hostnamectl"])
        .unwrap_or_default();
    if after(&named, "Chassis:").as_deref() == Some("container")
        && let Some(manager) = after(&named, "Virtualization:")
    {
        made.file("run/systemd/container", manager.as_bytes());
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

/// A support archive, read as the host that it was made on.
pub(super) struct Translated {
    dialect: &'static Dialect,
    tree: Box<dyn Source>,
    made: Made,
    collected_at: Option<Timestamp>,
}

impl Translated {
    /// Takes what the archive has itself, and otherwise what was made.
    fn either<T>(
        &self,
        path: &str,
        own: Result<T, Unread>,
        made: impl FnOnce() -> Result<T, Unread>,
    ) -> Result<T, Unread> {
        own.or_else(|unread| {
            made().map_err(|_| match self.made.unread.get(path) {
                Some(why) if unread.is_absent() => why.clone(),
                _ => unread,
            })
        })
    }
}

impl Source for Translated {
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, Unread> {
        self.either(path, self.tree.read(path, max_bytes), || {
            self.made.files.read(path, max_bytes)
        })
    }

    fn read_end(&self, path: &str, max_bytes: usize) -> Result<End, Unread> {
        self.either(path, self.tree.read_end(path, max_bytes), || {
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
            (own, made) => self.either(path, own, || made),
        }
    }

    fn link(&self, path: &str) -> Result<String, Unread> {
        self.either(path, self.tree.link(path), || {
            self.made.links.get(path).cloned().ok_or(Unread::NotFound)
        })
    }

    fn stat(&self, path: &str) -> Result<Stat, Unread> {
        self.either(path, self.tree.stat(path), || self.made.files.stat(path))
    }

    fn command(&self, command: &Command) -> Result<Vec<u8>, Unread> {
        let name = command.name();
        let answer = self.made.commands.get(name.as_ref()).cloned();
        self.either(&name, Err(Unread::NotFound), || {
            answer.ok_or(Unread::NotFound)
        })
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
        let undated =
            "it does not say when it was made (no `date --utc`): schedules are computed from now";
        let undated = self.collected_at.is_none().then_some(undated);
        let remarks = self.made.remarks.iter().map(String::as_str).chain(undated);
        remarks
            .map(|remark| format!("{}: {remark}", self.dialect.name))
            .collect()
    }
}

#[cfg(test)]
mod tests;
