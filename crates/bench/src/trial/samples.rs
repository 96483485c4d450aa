//! Single requests of a trial, as its journal holds them.

use crate::driver::{JournalError, Reader, Record, TailSample};
use crate::path_error::at;
use crate::track::PhaseKind;
use std::path::Path;

/// Requests of one operation in one measured phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples {
    /// The phase.
    pub phase: String,
    /// The operation.
    pub operation: String,
    /// The requests, in the order in which they ended; times count from the phase's start. Of a long trial, they are the
    /// first 10,000 of each thread and the tail.
    pub samples: Vec<TailSample>,
}

/// Reads the single requests of the measured phases from a trial's folder. A journal that was cut has those before.
///
/// # Errors
/// If there is no journal, or it cannot be read.
pub fn samples(folder: &Path) -> Result<Vec<Samples>, JournalError> {
    let mut reader = Reader::open(folder)?;
    let path = folder.join(crate::driver::FILE_NAME);
    let mut found: Vec<Samples> = Vec::new();
    // Number of the phase, and where its operations begin in `found`.
    let mut current: Option<(u32, usize)> = None;
    while let Some(record) = reader.next_record().map_err(at(&path))? {
        match record {
            Record::PhaseStart(phase) if phase.kind == PhaseKind::Measured => {
                current = Some((phase.phase, found.len()));
                found.extend(phase.operations.into_iter().map(|operation| Samples {
                    phase: phase.name.clone(),
                    operation,
                    samples: Vec::new(),
                }));
            }
            Record::Interval(interval) => {
                let Some((_, first)) = current.filter(|(phase, _)| *phase == interval.phase) else {
                    continue;
                };
                for (of, class) in found[first..].iter_mut().zip(interval.classes) {
                    of.samples.extend(class.tail);
                }
            }
            _ => {}
        }
    }
    for of in &mut found {
        of.samples.sort_by_key(|sample| sample.end_ns);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Control, Options, Silent, Target, create, run};
    use crate::testing::{Behaviour, Responder};
    use crate::track::Track;

    #[test]
    fn a_short_trial_is_known_request_by_request() {
        let responder = Responder::start(Behaviour::default());
        let track: Track = r#"
            name = "t"
            [operation.read]
            kind = "get"
            path = "/"
            [[phase]]
            name = "before"
            kind = "warm-up"
            load = [{ operation = "read", clients = 1, count = 5 }]
            [[phase]]
            name = "measured"
            load = [{ operation = "read", clients = 2, count = 700 }]
            "#
        .parse()
        .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let address = responder.address();
        let target = Target::new(address.ip().to_string(), address.port());
        run(
            &track,
            &target,
            &Options::default(),
            &Control::default(),
            &mut Silent,
            create(folder.path()).unwrap(),
        )
        .unwrap();
        let found = samples(folder.path()).unwrap();
        let [read] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(
            (read.phase.as_str(), read.operation.as_str()),
            ("measured", "read")
        );
        let mut sequences: Vec<u64> = read.samples.iter().map(|sample| sample.sequence).collect();
        sequences.sort_unstable();
        assert!((0..700).eq(sequences));
        assert!(read.samples.is_sorted_by_key(|sample| sample.end_ns));
    }
}
