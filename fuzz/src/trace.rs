//! Block traces.

use flash::drive::Drive;
use flash::ftl::{PowerOn, Settings};
use flash::geometry::Geometry;
use flash::time::{Recorder, Timing};
use flash::trace::{
    Addresses, BadLines, Devices, Format, Kind, Options, Pace, PrintError, Printer, Reader, Record,
    Replay, ReplaySettings, detect,
};

/// One seed for each format.
pub const SEEDS: &[&str] = &[
    "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372016382155,usr,1,Write,512,4096,12\n",
    "3,W,126703644672,4096,1577808000000626\n12,R,8192,512,1577808000000700\n",
    "1538323200,12910952,128,0,1063\n1538323199,6338688,8,1,1283\n",
    "version,time,op,size,lbn\n1,33898,2a,512,42932745\n1,33899,42,4096,8\n1,33899,35,0,0\n1,33900,8,65536,1\n",
    "  8,0    3        2     0.000000400   697  Q FWFS 2048 + 8 [kworker/3:1]\n  8,0    3        9     0.000004000   697  D  DS 2048 + 16 [fstrim]\n  8,0    3       10     0.000005000   697  D  FN [jbd2]\nCPU0 (8,0):\n",
    "259,0 1 1 0.5 9 Q W 8 + 8 [x]\n259,0 1 2 0.4 9 Q R 36 (12 00 ..) [y]\n259,0 1 3 1.0 9 Q RA 0 + 1 [x]\n",
    "fio version 2 iolog\n/dev/x add\n/dev/x write 0 4096\n/dev/x wait 250 0\n/dev/y trim 4096 1048576\n",
    "fio version 3 iolog\n0 /dev/x open\n3 /dev/x read 512 4096\n9 /dev/x datasync 0 0\n12 /dev/x trim 0 8192\n",
    "11413000 0 657728 16 1\n1448553000 2 6112 64 0\n",
];

/// An arbitrary format, and the one detected.
fn formats(bytes: &[u8]) -> impl Iterator<Item = Format> {
    let any = Format::ALL[bytes.len() % Format::ALL.len()];
    let found = detect(bytes, true).ok().filter(|format| *format != any);
    std::iter::once(any).chain(found)
}

fn options(bytes: &[u8]) -> Options {
    Options {
        bad_lines: BadLines::Skip { max: 6 },
        line_bytes_max: 200 - bytes.len() % 150,
        time_unit_ns: None,
    }
}

fn named_record(record: Record, name: String) -> (u64, Kind, u64, u64, String) {
    let Record {
        at_ns,
        kind,
        offset_bytes,
        len_bytes,
        ..
    } = record;
    (at_ns, kind, offset_bytes, len_bytes, name)
}

fn name<R>(reader: &Reader<R>, record: &Record) -> String {
    reader
        .device_name(record.device)
        .expect("a name for every device")
}

/// Times ascend, requests end within 64 bits, every line is accounted for, and reading stops after
/// an error, whose length does not depend on that of the trace. What was read reads back the same
/// after writing.
pub fn read(bytes: &[u8]) {
    for format in formats(bytes) {
        let mut reader = Reader::new(bytes, format, options(bytes));
        let mut records = Vec::new();
        let mut failed = 0;
        while let Some(record) = reader.next() {
            match record {
                Ok(record) => {
                    assert!(record.offset_bytes.checked_add(record.len_bytes).is_some());
                    let name = name(&reader, &record);
                    records.push(named_record(record, name));
                }
                Err(error) => {
                    assert!(error.to_string().len() < 400);
                    assert!(error.line == reader.stats().lines);
                    failed += 1;
                }
            }
        }
        let stats = reader.stats();
        assert!(records.is_sorted_by_key(|record| record.0));
        assert!(failed <= 1 && records.len() as u64 == stats.records);
        let lines = stats.records + stats.ignored + stats.blank + stats.bad_lines;
        assert_eq!(lines + u64::from(stats.header), stats.lines);
        write_and_read(format, stats.first_ns.unwrap_or(0), &records);
    }
}

fn write_and_read(format: Format, first_ns: u64, records: &[(u64, Kind, u64, u64, String)]) {
    // Waits before the first record do not determine its absolute time.
    let first_ns = if format == Format::FioV2 { 0 } else { first_ns };
    let mut printer = Printer::new(Vec::new(), format, first_ns).expect("memory");
    let mut expected = Vec::new();
    for (at_ns, kind, offset_bytes, len_bytes, name) in records {
        let record = Record {
            at_ns: *at_ns,
            kind: *kind,
            offset_bytes: *offset_bytes,
            len_bytes: *len_bytes,
            device: 0,
        };
        match printer.write(&record, name) {
            Ok(()) => expected.push(named_record(record, name.clone())),
            // Names that are not UTF-8 are converted lossily, and may not be printable.
            Err(PrintError::Name { .. }) => return,
            Err(error) => panic!("{error}"),
        }
    }
    let text = printer.into_inner();
    let mut again = Reader::new(&text[..], format, Options::default());
    let mut found = Vec::new();
    while let Some(record) = again.next() {
        let record = record.expect("its own text is read");
        found.push(named_record(record, name(&again, &record)));
    }
    assert_eq!(found, expected);
}

/// Any trace is replayed within the bounds of the drive, and the drive's tables stay consistent.
pub fn replay(bytes: &[u8]) {
    let Ok(format) = detect(bytes, true) else {
        return;
    };
    let geometry = Geometry::new(512, 0.3, 16, 4096).expect("a small drive");
    let timing = Timing::preset("tlc").expect("a preset");
    let mut drive = Drive::new(
        Settings::new(geometry),
        PowerOn::Empty,
        &timing,
        Recorder::new(Some(1_000_000)),
    )
    .expect("a small drive");
    let settings = ReplaySettings {
        devices: if bytes.len().is_multiple_of(5) {
            Devices::First
        } else {
            Devices::All
        },
        addresses: match bytes.len() % 3 {
            0 => Addresses::Refuse,
            1 => Addresses::Wrap,
            _ => Addresses::Scale {
                span_bytes: 1 << (bytes.len() % 60),
            },
        },
        pace: match bytes.len() % 4 {
            0 => Pace::QueueDepth(3),
            _ => Pace::Recorded,
        },
        start_ns: 5,
    };
    let mut replay = Replay::new(settings, &drive);
    for _ in 0..2 {
        let mut reader = Reader::new(bytes, format, options(bytes));
        let _ = replay.round(&mut reader, &mut drive);
    }
    let replayed = replay.replayed(&drive);
    let made = replayed.reads.records + replayed.writes.records + replayed.discards.records;
    assert_eq!(
        made + replayed.flushes + replayed.skipped(),
        replayed.records
    );
    assert_eq!(replayed.counters.host_pages, replayed.written_pages);
    assert!(replayed.counters.trimmed_pages <= replayed.discarded_pages);
    drive.ftl().check().expect("tables in order");
}

/// Whether the seed has several records, none of them bad.
#[cfg(test)]
pub fn reaches(seed: &[u8]) -> bool {
    let reader = Reader::detect(seed, Options::default()).expect("a format");
    reader.map_while(Result::ok).count() >= 2
}
