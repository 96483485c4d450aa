//! What the rows and columns of a table are about, as series.

use crate::clean;
use crate::collector::Draft;
use std::collections::BTreeMap;

/// The name of all disks together.
const ALL_DISKS: &str = "all disks";

/// Label of devices.
pub(super) const DEVICE: &str = "device";

/// What the rows of a table describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// All processors, in one row.
    Processors,
    /// A processor per row, named in the first column, or `all` of them.
    Cpus,
    /// The whole host, in one row.
    Host,
    /// Something per row, named in the first column; its label.
    First(&'static str),
    /// The same named in the last column, as devices are with `-h`.
    Last(&'static str),
}

impl Rows {
    /// Splits a row into the name of what it is about, empty if there is none, and the values.
    pub(super) fn split<'w, 'l>(self, words: &'w [&'l str]) -> (&'l str, &'w [&'l str]) {
        match (self, words) {
            (Self::Cpus | Self::First(_), [name, values @ ..])
            | (Self::Last(_), [values @ .., name]) => (name, values),
            _ => ("", words),
        }
    }
}

/// Describes the series of a row's column.
pub(super) fn draft(
    rows: Rows,
    name: &str,
    column: &str,
    columns: &[String],
    host: Option<(&str, &str)>,
) -> Draft {
    let mut labels = BTreeMap::from([("metric".to_owned(), column.to_owned())]);
    let mut label = |label: &str, text: &str| {
        labels.insert(label.to_owned(), text.to_owned());
    };
    let what = match (rows, name) {
        (Rows::First(kind) | Rows::Last(kind), name) => {
            label(kind, name);
            name.to_owned()
        }
        (Rows::Processors, _) | (Rows::Cpus, "all") => "avg-cpu".to_owned(),
        (Rows::Cpus, name) => {
            label("cpu", name);
            format!("cpu {name}")
        }
        // Blocks of vmstat and `sar -b` are those of all disks.
        (Rows::Host, _) if ["bi", "bo", "bread/s", "bwrtn/s", "bdscd/s"].contains(&column) => {
            label(DEVICE, ALL_DISKS);
            ALL_DISKS.to_owned()
        }
        (Rows::Host, _) => {
            // Several of sar's tables have columns of one name.
            label("table", columns.first().map_or("", String::as_str));
            "host".to_owned()
        }
    };
    if let Some((kernel, host)) = host {
        labels.insert("kernel".to_owned(), kernel.to_owned());
        labels.insert("host".to_owned(), host.to_owned());
    }
    let unit = unit(column);
    Draft {
        name: format!("{what} {column}"),
        labels,
        unit: unit.map(str::to_owned),
        better: clean::better(column, unit),
        counter: false,
    }
}

/// Returns the unit of a column, according to iostat(1).
fn unit(column: &str) -> Option<&'static str> {
    if column.starts_with('%') {
        return Some("%");
    }
    if column.ends_with("await") || column == "svctm" {
        return Some("ms");
    }
    if column.ends_with("areq-sz") || ["rareq-sz", "wareq-sz", "dareq-sz"].contains(&column) {
        return Some("kB");
    }
    if column == "avgrq-sz" {
        return Some("sectors");
    }
    if ["bi", "bo"].contains(&column) {
        return Some("KiB/s");
    }
    if ["us", "sy", "id", "wa", "st", "gu"].contains(&column) {
        return Some("%");
    }
    for (part, unit) in [
        ("kB", "kB/s"),
        ("MB", "MB/s"),
        ("Blk", "blocks/s"),
        ("sec/s", "sectors/s"),
    ] {
        if column.ends_with("/s") && column.contains(part) {
            return Some(unit);
        }
    }
    None
}
