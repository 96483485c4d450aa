//! Collects the facts of a host through a [`Reader`].

pub mod job_logs;
pub(crate) mod jobs;
pub mod logs;
mod options;
mod platform;
mod storage;
mod stores;
mod view;

pub use options::Options;

use crate::source::Reader;
use facts::{Host, Skipped};
use jiff::Timestamp;

/// Collects the facts of a host. `read_at` becomes the current time for rules.
///
/// Never fails: what cannot be read is `None` in the facts and listed in `skipped`.
pub fn read_host(reader: &Reader<'_>, options: &Options, read_at: Timestamp) -> Host {
    let mut host = Host {
        read_at,
        ..Host::default()
    };
    platform::read(reader, &mut host);
    storage::read(reader, &mut host);
    jobs::read(reader, &mut host);
    // After storage: symbolic links in data paths are followed only on mounts known to respond.
    stores::read(reader, options, &mut host);
    // After stores: the sizes of filesystems affect nothing else, and a hung filesystem must not
    // prevent other facts from being collected.
    storage::read_usage(reader, &mut host);
    if options.drive_writes {
        storage::drive_log::read(reader, &mut host);
    }
    for path in reader.denied() {
        host.skipped
            .push(Skipped::new(path, "permission denied", Some("root")));
    }
    bound_skipped(&mut host.skipped);
    host
}

/// Nobody reads more entries than this; a hostile bundle could contain millions.
const SKIPPED_MAX: usize = 1000;

fn bound_skipped(skipped: &mut Vec<Skipped>) {
    if skipped.len() > SKIPPED_MAX {
        let more = skipped.len() - SKIPPED_MAX;
        skipped.truncate(SKIPPED_MAX);
        skipped.push(Skipped::new(
            format!("{more} more"),
            format!("only the first {SKIPPED_MAX} are listed"),
            None,
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_entries_are_limited_and_counted() {
        let mut skipped = vec![Skipped::new("a", "b", None); SKIPPED_MAX + 7];
        bound_skipped(&mut skipped);
        assert_eq!(skipped.len(), SKIPPED_MAX + 1);
        assert_eq!(skipped[SKIPPED_MAX].what, "7 more");
        skipped.truncate(SKIPPED_MAX);
        let as_many = skipped.clone();
        bound_skipped(&mut skipped);
        assert_eq!(skipped, as_many);
    }
}
