//! Which unit files are in effect: search path, drop-ins, masks, enablement (systemd.unit(5)).

use super::files::Files;
use crate::parse::systemctl::UnitState;
use crate::parse::unit_file::{self, UnitFile, suffix};
use std::collections::{BTreeMap, BTreeSet};

/// Who enabled a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Administrator,
    Runtime,
    Generator,
    Vendor,
}

/// The search path, highest precedence first. Drop-ins of all directories apply.
const ROOTS: &[(&str, Level)] = &[
    ("etc/systemd/system", Level::Administrator),
    ("run/systemd/transient", Level::Runtime),
    ("run/systemd/system", Level::Runtime),
    ("run/systemd/generator", Level::Generator),
    ("usr/local/lib/systemd/system", Level::Vendor),
    ("usr/lib/systemd/system", Level::Vendor),
    ("lib/systemd/system", Level::Vendor),
];
/// More timers than any real host has.
const TIMERS_MAX: usize = 5000;

/// The unit files of a host by name.
#[derive(Debug, Default)]
pub(super) struct Units {
    /// Paths of a unit's files, the one in effect first.
    fragments: BTreeMap<String, Vec<String>>,
    /// Drop-in directories by name (`fstrim.timer.d`), in search path order.
    drop_in_directories: BTreeMap<String, Vec<String>>,
    /// Drop-ins in effect by unit, in the order in which they are applied.
    drop_ins: BTreeMap<String, Vec<String>>,
    /// Units that are wanted or required by another unit.
    wanted: BTreeMap<String, Level>,
    masked: BTreeSet<String>,
}

impl Units {
    /// Searches the unit path.
    pub fn find(files: &Files<'_, '_>) -> Self {
        let mut units = Self::default();
        // On a host with a merged /usr these two are the same directory.
        let lib_is_usr_lib = files.reader.link("lib").is_ok();
        for &(root, level) in ROOTS {
            if root.starts_with("lib/") && lib_is_usr_lib {
                continue;
            }
            for name in files.list(root) {
                let path = format!("{root}/{name}");
                let suffix = suffix(&name);
                if matches!(suffix, "wants" | "requires") {
                    for wanted in files.list(&path) {
                        let known = units.wanted.entry(wanted).or_insert(level);
                        *known = level.min(*known);
                    }
                } else if name.ends_with("timer.d") || name.ends_with("service.d") {
                    units
                        .drop_in_directories
                        .entry(name)
                        .or_default()
                        .push(path);
                } else if matches!(suffix, "timer" | "service") {
                    units.fragments.entry(name).or_default().push(path);
                }
            }
        }
        units.find_masks(files);
        units.find_drop_ins(files);
        units
    }

    /// Returns the timers, including instances of templates, but not templates and aliases.
    pub fn timers(&self) -> Vec<String> {
        let instances = self.wanted.keys().filter(|name| {
            template_of(name).is_some_and(|template| self.fragments.contains_key(&template))
        });
        let names: BTreeSet<&String> = self.fragments.keys().chain(instances).collect();
        names
            .into_iter()
            .filter(|name| suffix(name) == "timer" && !name.ends_with("@.timer"))
            .take(TIMERS_MAX)
            .cloned()
            .collect()
    }

    /// Returns the path of the file in effect.
    pub fn fragment(&self, name: &str) -> Option<&str> {
        let paths = self
            .fragments
            .get(name)
            .or_else(|| self.fragments.get(&template_of(name)?))?;
        // For a masked unit, the file that is masked is more informative.
        let masked = usize::from(self.masked.contains(name) && paths.len() > 1);
        paths.get(masked).map(String::as_str)
    }

    /// Whether a unit is masked.
    pub fn is_masked(&self, name: &str) -> bool {
        self.masked.contains(name)
    }

    /// Returns who enabled a unit; `None` if nothing starts it automatically.
    pub fn level(&self, name: &str) -> Option<Level> {
        self.wanted.get(name).copied()
    }

    /// Returns what changes a unit from its packaged version: drop-ins, and a file that overrides
    /// the package's.
    pub fn changes(&self, name: &str, state: Option<&UnitState>) -> Vec<String> {
        let mut changes: Vec<String> = self.drop_ins.get(name).cloned().unwrap_or_default();
        if changes.is_empty()
            && let Some(paths) = state.and_then(|state| state.get("DropInPaths"))
        {
            changes.extend(
                paths
                    .split_whitespace()
                    .map(|path| path.trim_start_matches('/').to_owned()),
            );
        }
        if let Some([first, _, ..]) = self.fragments.get(name).map(Vec::as_slice)
            && !self.is_masked(name)
            && !first.starts_with("usr/lib/")
        {
            changes.insert(0, first.clone());
        }
        changes
    }

    /// Loads a unit with its drop-ins; `None` if it has no file.
    pub fn load(&self, files: &Files<'_, '_>, name: &str) -> Option<UnitFile> {
        let path = self.fragment(name)?;
        let mut unit = unit_file::parse(path, &files.text(path)?);
        for path in self.drop_ins.get(name).into_iter().flatten() {
            if let Some(text) = files.text(path) {
                unit.append(unit_file::parse(path, &text));
            }
        }
        for error in &unit.errors {
            files.report_line(error);
        }
        Some(unit)
    }

    /// Finds masked units and aliases: a link to /dev/null or an empty file masks a unit; a link to
    /// another name makes an alias of that unit.
    fn find_masks(&mut self, files: &Files<'_, '_>) {
        let mut second_names = Vec::new();
        for (name, paths) in &self.fragments {
            let path = &paths[0];
            match files.reader.link(path) {
                Ok(target) if target == "/dev/null" => {
                    self.masked.insert(name.clone());
                }
                Ok(target) => {
                    let real = target.rsplit('/').next().unwrap_or_default();
                    if real != name && self.fragments.contains_key(real) {
                        second_names.push(name.clone());
                    }
                }
                Err(_) => {
                    if files
                        .reader
                        .stat(path)
                        .is_ok_and(|stat| stat.size_bytes == 0)
                    {
                        self.masked.insert(name.clone());
                    }
                }
            }
        }
        for name in second_names {
            self.fragments.remove(&name);
        }
    }

    /// Finds drop-ins: of those with the same name the one in the first directory applies; they are
    /// sorted by name.
    fn find_drop_ins(&mut self, files: &Files<'_, '_>) {
        let names: Vec<String> = self
            .fragments
            .keys()
            .chain(self.wanted.keys())
            .cloned()
            .collect();
        for name in names {
            let mut by_name: BTreeMap<String, String> = BTreeMap::new();
            for directory in drop_in_names(&name) {
                for path in self
                    .drop_in_directories
                    .get(&directory)
                    .into_iter()
                    .flatten()
                {
                    for file in files.list(path) {
                        if suffix(&file) == "conf" {
                            let path = format!("{path}/{file}");
                            by_name.entry(file).or_insert(path);
                        }
                    }
                }
            }
            if !by_name.is_empty() {
                self.drop_ins.insert(name, by_name.into_values().collect());
            }
        }
    }
}

/// `backup@.timer` for `backup@daily.timer`.
fn template_of(name: &str) -> Option<String> {
    let (prefix, rest) = name.split_once('@')?;
    let (instance, suffix) = rest.rsplit_once('.')?;
    (!instance.is_empty()).then(|| format!("{prefix}@.{suffix}"))
}

/// Returns the names of the directories with a unit's drop-ins, most specific first: for its own
/// name, its template, its name truncated at each dash, and its type.
fn drop_in_names(name: &str) -> Vec<String> {
    let mut directories = vec![format!("{name}.d")];
    if let Some(template) = template_of(name) {
        directories.push(format!("{template}.d"));
    }
    if let Some((stem, suffix)) = name.rsplit_once('.') {
        for (at, _) in stem.rmatch_indices('-') {
            if at + 1 < stem.len() && directories.len() < 20 {
                directories.push(format!("{}.{suffix}.d", &stem[..=at]));
            }
        }
        directories.push(format!("{suffix}.d"));
    }
    directories
}
