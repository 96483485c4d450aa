//! What the rows and columns of a table are about, as series.

use crate::clean;
use crate::collector::Draft;
use std::collections::BTreeMap;

/// The name of all disks together.
const ALL_DISKS: &str = "all disks";

/// What the rows of a table describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// All processors, in one row.
    Processors,
    /// A device per row, named in the first column.
    Devices,
    /// A device per row, named in the last column, as with `-h`.
    DevicesLast,
    /// A processor per row, named in the first column, or `all` of them.
    Cpus,
    /// The whole host, in one row.
    Host,
}

/// What a row is about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Of<'a> {
    Device(&'a str),
    Cpu(&'a str),
    AllCpus,
    Host,
}

impl<'a> Of<'a> {
    pub(super) fn new(kind: Rows, name: &'a str) -> Self {
        match (kind, name) {
            (Rows::Processors, _) | (Rows::Cpus, "all") => Self::AllCpus,
            (Rows::Cpus, name) => Self::Cpu(name),
            (Rows::Host, _) => Self::Host,
            (Rows::Devices | Rows::DevicesLast, name) => Self::Device(name),
        }
    }
}

pub(super) fn draft(of: Of<'_>, column: &str, host: Option<(&str, &str)>) -> Draft {
    let mut labels = BTreeMap::from([("metric".to_owned(), column.to_owned())]);
    let what = match of {
        Of::Device(name) => {
            labels.insert("device".to_owned(), name.to_owned());
            name.to_owned()
        }
        Of::Cpu(name) => {
            labels.insert("cpu".to_owned(), name.to_owned());
            format!("cpu {name}")
        }
        Of::AllCpus => "avg-cpu".to_owned(),
        // Blocks of vmstat and `sar -b` are those of all disks.
        Of::Host if ["bi", "bo", "bread/s", "bwrtn/s", "bdscd/s"].contains(&column) => {
            labels.insert("device".to_owned(), ALL_DISKS.to_owned());
            ALL_DISKS.to_owned()
        }
        Of::Host => "host".to_owned(),
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
