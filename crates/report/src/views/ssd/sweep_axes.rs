//! Determines which settings vary across the rows of a sweep, and names them.

use super::sweep_row::SweepRow;
use std::collections::HashSet;

/// A setting of a sweep.
#[derive(Debug)]
pub(super) struct Setting {
    /// Column name in tables.
    pub name: &'static str,
    /// Formats a row's value.
    pub of: fn(&SweepRow) -> String,
    /// Returns a row's value as a share, for settings that can be on an axis.
    pub share: Option<fn(&SweepRow) -> f64>,
    /// Formats the value for a sentence.
    words: fn(&str) -> String,
}

/// Formats a share such as `7 %` or `7.25 %`: different values must not look the same.
fn share(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// Spare area comes first, so it is horizontal in grids.
pub(super) static SETTINGS: [Setting; 4] = [
    Setting {
        name: "spare",
        of: |row| share(row.over_provisioning),
        share: Some(|row| row.over_provisioning),
        words: |value| format!("{value} spare"),
    },
    Setting {
        name: "fill",
        of: |row| share(row.fill),
        share: Some(|row| row.fill),
        words: |value| format!("{value} full"),
    },
    Setting {
        name: "trimmed",
        of: |row| row.trim.clone(),
        share: None,
        words: |value| match value {
            "never" => "never trimmed".to_owned(),
            when => format!("trimmed {when}"),
        },
    },
    Setting {
        name: "policy",
        of: |row| row.policy.clone(),
        share: None,
        words: |value| format!("{value} collection"),
    },
];

/// A setting that varies across rows.
#[derive(Debug)]
pub(super) struct Axis {
    pub setting: &'static Setting,
    /// All values, in the order of the rows.
    pub values: Vec<String>,
}

impl Axis {
    /// Returns the index of a row's value.
    pub fn place(&self, row: &SweepRow) -> Option<usize> {
        let value = (self.setting.of)(row);
        self.values.iter().position(|other| *other == value)
    }
}

/// Returns the settings that vary, and descriptions of those that all rows share.
pub(super) fn axes(rows: &[SweepRow]) -> (Vec<Axis>, Vec<String>) {
    let (mut differ, mut common) = (Vec::new(), Vec::new());
    for setting in &SETTINGS {
        let mut seen = HashSet::new();
        let values: Vec<String> = rows
            .iter()
            .map(setting.of)
            .filter(|value| seen.insert(value.clone()))
            .collect();
        match values.as_slice() {
            [] => {}
            [value] => common.push((setting.words)(value)),
            _ => differ.push(Axis { setting, values }),
        }
    }
    (differ, common)
}

/// Describes a row by the settings that vary: `7 % spare, trimmed weekly`.
pub(super) fn words(row: &SweepRow, axes: &[Axis]) -> String {
    let words = axes.iter().map(|axis| {
        let value = (axis.setting.of)(row);
        (axis.setting.words)(&value)
    });
    words.collect::<Vec<_>>().join(", ")
}
