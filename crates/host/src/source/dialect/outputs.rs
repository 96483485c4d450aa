//! The outputs of commands in a support archive.

use super::table::Dialect;
use crate::parse::outputs::date;
use crate::source::Source;
use crate::unread::Unread;
use jiff::Timestamp;
use jiff::civil::DateTime;
use std::cell::RefCell;

/// Maximum size of an output. `systemd-analyze dump` of a large host has 3 MB.
pub(super) const OUTPUT_BYTES_MAX: usize = 16 << 20;

/// The outputs of commands in an archive.
pub(super) struct Outputs<'t> {
    tree: &'t dyn Source,
    /// Path, file name, and what is made of each.
    names: Vec<(String, String, &'static str)>,
    /// What is there and could not be read, by what would have been made of it.
    unread: RefCell<Vec<(&'static str, Unread)>>,
}

impl<'t> Outputs<'t> {
    pub(super) fn find(tree: &'t dyn Source, dialect: &Dialect) -> Self {
        let mut outputs = Self {
            tree,
            names: Vec::new(),
            unread: RefCell::default(),
        };
        for &(path, makes) in dialect.outputs {
            match tree.list(path) {
                Ok(names) => {
                    let of_name = |name| (format!("{path}/{name}"), name, makes);
                    outputs.names.extend(names.into_iter().map(of_name));
                }
                Err(unread) => outputs.note(path, makes, &unread),
            }
        }
        outputs
    }

    /// Returns the text of a file of the archive that others are made of; empty if it cannot be read.
    pub(super) fn file(&self, path: &str, makes: &'static str) -> String {
        let read = self.tree.read(path, OUTPUT_BYTES_MAX);
        let read = read.inspect_err(|unread| self.note(path, makes, unread));
        String::from_utf8_lossy(&read.unwrap_or_default()).into_owned()
    }

    fn note(&self, path: &str, makes: &'static str, unread: &Unread) {
        if !unread.is_absent() {
            let unread = Unread::Failed(format!("{path}: {unread}"));
            let mut all = self.unread.borrow_mut();
            // Several commands are looked for in one directory.
            if !all.contains(&(makes, unread.clone())) {
                all.push((makes, unread));
            }
        }
    }

    /// Returns what is there and could not be read so far, by what would have been made of it.
    pub(super) fn unread(self) -> Vec<(&'static str, Unread)> {
        self.unread.into_inner()
    }

    /// Returns the output of the first of these commands that is there and printed something. A command
    /// may have been given more options.
    pub(super) fn first(&self, commands: &[&str]) -> Option<String> {
        commands.iter().find_map(|command| {
            let is_it = |name: &str| {
                let rest = name.strip_prefix(command);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            };
            let exact = self.names.iter().filter(|(_, name, _)| name == command);
            let longer = self
                .names
                .iter()
                .filter(|(_, name, _)| name != command && is_it(name));
            exact.chain(longer).find_map(|(path, _, makes)| {
                let read = self.tree.read(path, OUTPUT_BYTES_MAX);
                let bytes = read
                    .inspect_err(|unread| self.note(path, makes, unread))
                    .ok()?;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                (!text.trim().is_empty()).then_some(text)
            })
        })
    }
}

/// When an archive was made, and how its host's clock differs from UTC.
pub(super) struct Clock {
    pub(super) now: Option<Timestamp>,
    /// The host's time less UTC, rounded to minutes; `None` if only one of them is known.
    offset_min: Option<i64>,
}

impl Clock {
    pub(super) fn read(tree: &dyn Source, outputs: &Outputs<'_>, dialect: &Dialect) -> Self {
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

    /// Returns a time of the host's clock in UTC, `None` if how they differ is unknown. Between the time
    /// and the archive's own, clocks may have been changed: then it is an hour off.
    pub(super) fn utc(&self, local: DateTime) -> Option<DateTime> {
        local
            .checked_sub(jiff::SignedDuration::from_mins(self.offset_min?))
            .ok()
    }
}
