use super::*;
use crate::driver::interval::{ClassInterval, TailSample};
use crate::driver::summary::TrialSummary;
use proptest::prelude::*;
use serde_json::json;

const TRACK: &str = r#"
name = "t"
[operation.read]
kind = "get"
path = "/"
[[phase]]
name = "p"
duration = "5s"
load = [{ operation = "read", rate = "10/s" }]
"#;

/// A trial of one phase and `seconds` intervals, as records.
fn records(seconds: u64) -> Vec<Record> {
    let mut records = vec![
        Record::Start(Box::new(TrialStart {
            track: TRACK.parse().unwrap(),
            target: "http://localhost:9200".to_owned(),
            threads: 1,
            started_at: Timestamp::UNIX_EPOCH,
            prepared: BTreeMap::new(),
            timeout_ns: 1,
        })),
        Record::PhaseStart(PhaseStart {
            phase: 0,
            name: "p".to_owned(),
            kind: PhaseKind::Measured,
            operations: vec!["read".to_owned()],
            open: vec![true],
            started_at: Timestamp::UNIX_EPOCH,
            offset_ns: 0,
        }),
    ];
    records.extend((0..seconds).map(|second| Record::Interval(Box::new(interval(second)))));
    records.push(Record::PhaseEnd(PhaseEnd {
        phase: 0,
        len_ns: seconds * 1_000_000_000,
        unfinished: vec![Unfinished::default()],
    }));
    records.push(Record::End(TrialEnd {
        ended: Ended::Complete,
        teardown_failures: Vec::new(),
    }));
    records
}

fn interval(second: u64) -> Interval {
    let mut class = ClassInterval::default();
    for n in 0..10 {
        class.latency.record(1_000_000 * (n + second));
        class.service.record(900_000);
        class.lateness.record(100_000);
    }
    class.errors[2] = second;
    class.tail.push(TailSample {
        sequence: second,
        planned_ns: 1,
        sent_ns: 2,
        end_ns: 3,
    });
    Interval {
        from_ns: second * 1_000_000_000,
        to_ns: (second + 1) * 1_000_000_000,
        classes: vec![class],
        ..Interval::default()
    }
}

/// The file, and where each record ends in it.
fn file(records: &[Record]) -> (Vec<u8>, Vec<usize>) {
    let mut out = Vec::new();
    let mut ends = Vec::new();
    let mut writer = Writer::new(&mut out).unwrap();
    for record in records {
        writer.write(record).unwrap();
        ends.push(writer.out.len());
    }
    (out, ends)
}

fn read(bytes: &[u8]) -> (Vec<Record>, Ending) {
    let mut reader = Reader::new(bytes).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        records.push(record);
    }
    (records, reader.ending().unwrap().clone())
}

#[test]
fn records_are_read_as_they_were_written() {
    let records = records(3);
    let (bytes, _) = file(&records);
    assert_eq!(read(&bytes), (records, Ending::Whole));
}

/// Trials could be of MongoDB once: their tracks had two lists more, and their intervals a class of errors, the eleventh.
#[test]
fn an_older_file_is_read() {
    let mut start = serde_json::to_value(match &records(0)[0] {
        Record::Start(start) => start.clone(),
        other => panic!("{other:?}"),
    })
    .unwrap();
    start["track"]["mongodb_setup"] = json!([]);
    start["track"]["mongodb_teardown"] = json!([]);
    let class = ClassInterval {
        errors: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        documents_written: 12,
        ..ClassInterval::default()
    };
    let interval = Interval {
        classes: vec![class],
        ..Interval::default()
    };
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes).unwrap();
    writer.buffer.resize(8, 0);
    writer.json(START, &start).unwrap();
    writer.finish().unwrap();
    let before = writer.out.len();
    writer.write_interval(&interval).unwrap();
    let counters = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 12];
    let written = bytes[before..].windows(counters.len());
    assert_eq!(written.filter(|found| *found == counters).count(), 1);
    let (found, ending) = read(&bytes);
    let interval = Record::Interval(Box::new(interval));
    assert_eq!(found, [records(0)[0].clone(), interval]);
    assert_eq!(ending, Ending::NoEnd);
}

/// What kill -9 and a full disk leave: whatever is whole is read, and the rest is told.
#[test]
fn a_file_cut_at_any_byte_is_readable_up_to_its_last_whole_record() {
    let records = records(3);
    let (bytes, ends) = file(&records);
    for cut in 0..bytes.len() {
        if cut < MAGIC.len() {
            let error = Reader::new(&bytes[..cut]).unwrap_err().to_string();
            assert!(
                error.contains("cut before anything was measured"),
                "{error}"
            );
            continue;
        }
        let whole = ends.iter().filter(|end| **end <= cut).count();
        let boundary = if whole == 0 {
            MAGIC.len()
        } else {
            ends[whole - 1]
        };
        let (found, ending) = read(&bytes[..cut]);
        assert_eq!(found, records[..whole], "cut at {cut}");
        let expected = if cut == boundary {
            Ending::NoEnd
        } else {
            Ending::Cut {
                at_byte: boundary as u64,
                len_bytes: (cut - boundary) as u64,
            }
        };
        assert_eq!(ending, expected, "cut at {cut}");
        // The figures are those of the whole records.
        let mut reader = Reader::new(&bytes[..cut]).unwrap();
        let summary = TrialSummary::of(&mut reader, |_| ()).unwrap();
        let intervals = whole.saturating_sub(2).min(3) as u64;
        let succeeded = summary
            .as_ref()
            .and_then(|summary| summary.phases.first())
            .map_or(0, |phase| phase.classes[0].succeeded());
        assert_eq!(succeeded, 10 * intervals, "cut at {cut}");
        assert_eq!(summary.is_some(), whole > 0);
        assert!(summary.is_none_or(|summary| !summary.is_complete()));
    }
}

#[test]
fn something_else_is_not_a_trial() {
    for (bytes, hint) in [
        (
            &b"\x7fELF............................"[..],
            "something else",
        ),
        (b"trimtab trial 9\n", "another version"),
        (b"", "cut"),
    ] {
        let error = Reader::new(bytes).unwrap_err().to_string();
        assert!(error.contains(hint) && !error.contains('\x7f'), "{error}");
    }
}

/// A disk that is full after some bytes.
struct FullDisk {
    room: usize,
    bytes: Vec<u8>,
}

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(self.room);
        if len == 0 && !bytes.is_empty() {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.bytes.extend_from_slice(&bytes[..len]);
        self.room -= len;
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

proptest! {
    #[test]
    fn a_changed_byte_is_noticed(at in 0_usize..10_000, change in 1_u8..=255) {
        let records = records(2);
        let (mut bytes, ends) = file(&records);
        let at = MAGIC.len() + at % (bytes.len() - MAGIC.len());
        bytes[at] ^= change;
        let (found, ending) = read(&bytes);
        let before = ends.iter().filter(|end| **end <= at).count();
        prop_assert_eq!(&found[..], &records[..before]);
        // A length that has grown looks like a record that was cut.
        prop_assert!(matches!(ending, Ending::Damaged { .. } | Ending::Cut { .. }), "{:?}", ending);
    }

    #[test]
    fn any_bytes_are_handled_without_panic(bytes: Vec<u8>) {
        let bytes = [&MAGIC[..], &bytes].concat();
        let _ = TrialSummary::of(&mut Reader::new(&bytes[..]).unwrap(), |_| ()).unwrap();
    }

    #[test]
    fn records_in_any_order_are_handled_without_panic(order in prop::collection::vec(0_usize..7, 0..10)) {
        let records = records(3);
        let chosen: Vec<Record> = order.iter().map(|index| records[*index].clone()).collect();
        let (bytes, _) = file(&chosen);
        let _ = TrialSummary::of(&mut Reader::new(&bytes[..]).unwrap(), |_| ()).unwrap();
    }

    #[test]
    fn a_full_disk_leaves_what_was_written(room in 16_usize..2_000) {
        let records = records(3);
        let mut disk = FullDisk { room, bytes: Vec::new() };
        let mut written = 0;
        let mut writer = Writer::new(&mut disk).unwrap();
        for record in &records {
            if writer.write(record).is_err() {
                break;
            }
            written += 1;
        }
        let (found, _) = read(&disk.bytes);
        prop_assert_eq!(&found[..], &records[..written]);
    }
}
