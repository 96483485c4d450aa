//! Traces: a sample of every format, error messages and their locations, and round trips.

use flash::trace::{
    Action, BadLines, Format, Kind, Options, PrintError, Printer, Problem, Reader, Record, Stats,
    Summary, TraceError, detect, records,
};
use proptest::prelude::*;
use std::io::{self, Read};

const SAMPLES: [(Format, &str); 9] = [
    (Format::Msr, include_str!("../samples/msr.csv")),
    (Format::Alibaba, include_str!("../samples/alibaba.csv")),
    (Format::Tencent, include_str!("../samples/tencent.csv")),
    (
        Format::CloudPhysics,
        include_str!("../samples/cloudphysics.csv"),
    ),
    (
        Format::Blkparse(Action::Issued),
        include_str!("../samples/blkparse.txt"),
    ),
    (
        Format::Blkparse(Action::Queued),
        include_str!("../samples/blkparse.txt"),
    ),
    (Format::FioV2, include_str!("../samples/fio-v2.log")),
    (Format::FioV3, include_str!("../samples/fio-v3.log")),
    (Format::SsdSim, include_str!("../samples/mqsim.trace")),
];

type Row = (u64, Kind, u64, u64, &'static str);

/// Reads a whole trace: its records, device names and statistics.
fn read(text: &[u8], format: Format, options: Options) -> (Vec<Record>, Vec<String>, Stats) {
    let mut reader = Reader::new(text, format, options);
    let records: Result<Vec<_>, _> = reader.by_ref().collect();
    let names = (0..reader.devices())
        .map(|number| reader.device_name(u32::try_from(number).unwrap()).unwrap())
        .collect();
    (records.unwrap(), names, reader.stats().clone())
}

fn rows(text: &str, format: Format) -> Vec<(u64, Kind, u64, u64, String)> {
    let (records, names, _) = read(text.as_bytes(), format, Options::default());
    records
        .into_iter()
        .map(|record| {
            let name = names[record.device as usize].clone();
            (
                record.at_ns,
                record.kind,
                record.offset_bytes,
                record.len_bytes,
                name,
            )
        })
        .collect()
}

fn error(text: impl AsRef<[u8]>, format: Format) -> TraceError {
    records(text.as_ref(), format)
        .find_map(Result::err)
        .expect("an error")
}

#[test]
fn samples_parse_as_expected() {
    use Kind::{Discard, Flush, Read, Write};
    let expected: [&[Row]; 9] = [
        &[
            (0, Write, 8192, 4096, "web_0"),
            // 25 ticks of 100 ns
            (2_500, Read, 1_048_576, 65_536, "web_0"),
            (2_500, Write, 0, 512, "web_1"),
            (1_000_000_000, Write, 12_288, 8192, "web_0"),
        ],
        &[
            (0, Write, 126_976, 4096, "7"),
            (250_000, Read, 4096, 16_384, "7"),
            (900_000, Write, 0, 8192, "12"),
        ],
        &[
            (0, Write, 131_072, 4096, "1063"),
            (0, Read, 262_144, 65_536, "1063"),
            (1_000_000_000, Write, 4096, 8192, "1283"),
        ],
        &[
            (0, Write, 409_600, 4096, "disk"),
            (0, Read, 819_712, 512, "disk"),
            // INQUIRY transfers no data to or from the medium
            (3_000_000_000, Discard, 2_097_152, 1_048_576, "disk"),
            (4_000_000_000, Flush, 0, 0, "disk"),
            (4_000_000_000, Read, 8192, 8192, "disk"),
        ],
        &[
            (0, Write, 1_048_576, 8192, "8,1"),
            (998_000, Discard, 2_097_152, 1_048_576, "8,1"),
            (1_997_000, Flush, 0, 0, "8,1"),
            (2_896_000, Write, 327_680, 4096, "8,1"),
            (3_999_000, Read, 6_291_456, 131_072, "8,1"),
        ],
        &[
            (0, Write, 1_048_576, 4096, "8,1"),
            (1_500, Write, 1_052_672, 4096, "8,1"),
            (999_600, Discard, 2_097_152, 1_048_576, "8,1"),
            (1_999_600, Write, 327_680, 4096, "8,1"),
            (3_999_600, Read, 6_291_456, 131_072, "8,1"),
        ],
        &[
            (0, Write, 0, 131_072, "/dev/nvme0n1"),
            (250_000, Read, 65_536, 4096, "/dev/nvme0n1"),
            (250_000, Flush, 0, 0, "/dev/nvme0n1"),
            (1_250_000, Discard, 0, 131_072, "/dev/nvme0n1"),
        ],
        &[
            (0, Write, 0, 131_072, "/dev/nvme0n1"),
            (117_000, Read, 65_536, 4096, "/dev/nvme0n1"),
            (118_000, Flush, 0, 0, "/dev/nvme0n1"),
            (897_000, Discard, 0, 131_072, "/dev/nvme0n1"),
        ],
        &[
            (0, Read, 1_048_576, 8192, "0"),
            (4_000, Write, 2_097_152, 32_768, "1"),
            (5_000, Write, 32_768, 4096, "0"),
        ],
    ];
    for ((format, text), expected) in SAMPLES.iter().zip(expected) {
        let found = rows(text, *format);
        let found: Vec<_> = found
            .iter()
            .map(|row| (row.0, row.1, row.2, row.3, row.4.as_str()))
            .collect();
        assert_eq!(found, expected, "{format}");
        // The same with CR LF line ends, without the last line end, after a byte order mark and a
        // comment.
        let mut other = "\u{feff}# remark\n\n".to_owned() + text.trim_end();
        other = other.replace('\n', "\r\n");
        assert_eq!(rows(&other, *format), rows(text, *format), "{format}");
    }
}

#[test]
fn every_line_is_accounted_for() {
    for (format, text) in SAMPLES {
        let text = format!("{text}\n# remark\n  \n");
        let (records, _, stats) = read(text.as_bytes(), format, Options::default());
        assert_eq!(stats.lines, text.lines().count() as u64, "{format}");
        assert_eq!(stats.records, records.len() as u64, "{format}");
        let counted = stats.records + stats.ignored + stats.blank + stats.bad_lines;
        assert_eq!(counted + u64::from(stats.header), stats.lines, "{format}");
        assert!(!stats.unterminated);
    }
    let (_, _, stats) = read(b"1 2 3 4 1\n2 2 3 4 1", Format::SsdSim, Options::default());
    assert!(stats.unterminated);
}

#[test]
fn formats_are_detected_and_parsed_by_name() {
    for (format, text) in SAMPLES {
        if format == Format::Blkparse(Action::Queued) {
            continue; // issued events are preferred for this trace
        }
        assert_eq!(detect(text.as_bytes(), true), Ok(format));
        let reader = Reader::detect(text.as_bytes(), Options::default()).unwrap();
        assert_eq!(reader.format(), format);
        // The lines examined for detection are not lost.
        let found: Vec<_> = reader.map(Result::unwrap).collect();
        assert_eq!(found, read(text.as_bytes(), format, Options::default()).0);
        assert_eq!(format.name().parse(), Ok(format));
    }
    let queued: String = SAMPLES[4]
        .1
        .lines()
        .filter(|line| !line.contains("  D ") && !line.contains("  D\t"))
        .flat_map(|line| [line, "\n"])
        .collect();
    assert_eq!(
        detect(queued.as_bytes(), true),
        Ok(Format::Blkparse(Action::Queued))
    );
    assert_eq!("mqsim".parse(), Ok(Format::SsdSim));
    assert_eq!("blkparse".parse(), Ok(Format::Blkparse(Action::Issued)));
    assert!(
        "csv"
            .parse::<Format>()
            .unwrap_err()
            .to_string()
            .contains("tencent")
    );
    let problem = |text: &str| detect(text.as_bytes(), true).unwrap_err();
    assert_eq!(problem("# nothing\n\n").problem, Problem::Empty);
    let unknown = problem("\nid;op;lba\n1;2;3\n");
    assert_eq!(unknown.line, 2);
    assert!(unknown.to_string().contains("ssdsim"), "{unknown}");
    // Either a read of 512 bytes at sector 1, or one of 40 sectors at sector 10 (0x28 is READ).
    let both = problem("1,10,28,1,1\n");
    let formats = vec![Format::Tencent, Format::CloudPhysics];
    assert_eq!(both.problem, Problem::AmbiguousFormat { formats });
    // An incomplete last line is ignored.
    assert_eq!(detect(b"1 0 8 8 1\n2 0 8", false), Ok(Format::SsdSim));
}

#[test]
#[allow(clippy::too_many_lines)] // a table
fn errors_have_position_expectation_and_excerpt() {
    let cases: [(Format, &str, &str); 24] = [
        (
            Format::Msr,
            "1,web,0,Write,0,4096,1\nx,web,0,Write,0,1,1",
            "line 2, column 1: expected the timestamp, found \"x\"",
        ),
        (
            Format::Msr,
            "1,web,0,Erase,0,4096,1",
            "line 1, column 9: expected Read or Write, found \"Erase\"",
        ),
        (
            Format::Msr,
            "1,web,0,Write,0,4096",
            "line 1, column 21: expected a comma, found end of line",
        ),
        (
            Format::Msr,
            "1,web,0,Write,0,4096,1,2",
            "line 1, column 23: expected the end of the line, found \",2\"",
        ),
        (
            Format::Msr,
            "1,,0,Write,0,4096,1",
            "line 1, column 3: expected the host, found \",0\"",
        ),
        (
            Format::Msr,
            "1,web,0,Write,-4096,4096,1",
            "line 1, column 15: expected the offset in bytes, found \"-4096\"",
        ),
        (
            Format::Msr,
            "184467440737095517,web,0,Write,0,1,1",
            "line 1, column 1: the timestamp \"184467440737095517\" is too large: 2^64 bytes or nanoseconds, or more",
        ),
        (
            Format::Alibaba,
            "7,T,0,4096,1",
            "line 1, column 3: expected R or W, found \"T\"",
        ),
        (
            Format::Alibaba,
            "7,W,18446744073709551616,4096,1",
            "line 1, column 5: the offset in bytes \"18446744073709551616\" is too large: 2^64 bytes or nanoseconds, or more",
        ),
        (
            Format::Alibaba,
            "7,W,18446744073709551615,1,1",
            "line 1, column 26: the end of the request at this length \"1\" is too large: 2^64 bytes or nanoseconds, or more",
        ),
        (
            Format::Tencent,
            "1538323200,36028797018963968,8,1,1",
            "line 1, column 12: the first sector \"36028797018963968\" is too large: 2^64 bytes or nanoseconds, or more",
        ),
        (
            Format::Tencent,
            "1538323200,0,8,2,1",
            "line 1, column 16: expected 0 (read) or 1 (write), found \"2\"",
        ),
        (
            Format::Tencent,
            "1538323200,0,8,10,1",
            "line 1, column 17: expected a comma, found \"0\"",
        ),
        (
            Format::CloudPhysics,
            "3,1,2a,512,1",
            "line 1, column 1: expected the version, 1 or 2, found \"3\"",
        ),
        (
            Format::CloudPhysics,
            "1,1,wr,512,1",
            "line 1, column 5: expected the operation code, two hexadecimal digits, found \"wr\"",
        ),
        (
            Format::Blkparse(Action::Issued),
            "8,0 1 1 0.1234567890 1 D W 1 + 1 [x]",
            "line 1, column 11: expected one to nine digits behind the point, found \"1234567890\"",
        ),
        (
            Format::Blkparse(Action::Issued),
            "8,0 1 1 0.1 1 D X 1 + 1 [x]",
            "line 1, column 17: expected RWBS that begins with R, W, D, N or F, found \"X\"",
        ),
        (
            Format::Blkparse(Action::Issued),
            "8,0 1 1 0.1 1 D W 1 - 1 [x]",
            "line 1, column 21: expected + and the number of sectors, found \"-\"",
        ),
        (
            Format::Blkparse(Action::Issued),
            "8;0 1 1 0.1 1 D W 1 + 1 [x]",
            "line 1, column 2: expected a comma and the minor device number, found \";0\"",
        ),
        (
            Format::FioV2,
            "/dev/x read 0 4096",
            "line 1, column 1: expected the line \"fio version 2 iolog\", found \"/dev/x\"",
        ),
        (
            Format::FioV2,
            "fio version 2 iolog\n/dev/x read",
            "line 2, column 12: expected an offset and a length, found end of line",
        ),
        (
            Format::FioV3,
            "fio version 3 iolog\n5 /dev/x wait 100 0",
            "line 2, column 10: expected read, write, trim, sync, datasync (or wait, in version 2), found \"wait\"",
        ),
        (
            Format::FioV3,
            "fio version 3 iolog\n\n5 /dev/x erase",
            "line 3, column 10: expected add, open or close, or an action with offset and length, found \"erase\"",
        ),
        (
            Format::SsdSim,
            "1 0 8 8 1\n1 0 8 8 1 9",
            "line 2, column 11: expected the end of the line, found \"9\"",
        ),
    ];
    for (format, text, message) in cases {
        assert_eq!(error(text, format).to_string(), message);
    }
    // Bytes that are not text are escaped and shortened.
    let binary = error(
        [b"1,\xff\x00\x1b".as_slice(), &[b'y'; 90]].concat(),
        Format::Tencent,
    );
    let found = format!("\"\\xff\\x00\\x1b{}...\"", "y".repeat(29));
    assert!(binary.to_string().ends_with(&found), "{binary}");
}

#[test]
fn bad_lines_end_the_trace_or_are_counted() {
    let text = "1 0 8 8 1\nbad\n2 0 8 8 1\nworse\n3 0 8 8 1\n";
    let mut stop = records(text.as_bytes(), Format::SsdSim);
    assert!(stop.next().unwrap().is_ok());
    assert_eq!(stop.next().unwrap().unwrap_err().line, 2);
    assert!(stop.next().is_none());

    let skip = |max| Options {
        bad_lines: BadLines::Skip { max },
        ..Options::default()
    };
    let (records, _, stats) = read(text.as_bytes(), Format::SsdSim, skip(2));
    assert_eq!((records.len(), stats.bad_lines), (3, 2));
    let lines: Vec<_> = stats.errors.iter().map(|error| error.line).collect();
    assert_eq!(lines, [2, 4]);

    let mut one = Reader::new(text.as_bytes(), Format::SsdSim, skip(1));
    let error = one.find_map(Result::err).unwrap();
    assert_eq!(
        error.to_string(),
        "line 4, column 1: expected the arrival time, found \"worse\" \
         (bad lines skipped before: 1; no more are allowed)"
    );
    assert!(one.next().is_none());
    assert_eq!(one.stats().records, 2);

    let many = "x\n".repeat(100);
    let (_, _, stats) = read(many.as_bytes(), Format::FioV3, skip(100));
    assert_eq!((stats.bad_lines, stats.errors.len()), (100, 8));
}

#[test]
fn line_length_is_limited_anywhere_in_the_buffer() {
    let options = Options {
        bad_lines: BadLines::Skip { max: u64::MAX },
        line_bytes_max: 40,
        ..Options::default()
    };
    let exact = format!("{:<40}", "1 0 8 8 1");
    for (first, bad) in [
        (format!("{exact}\n"), 0),
        (format!("{exact}\r\n"), 0),
        (format!("{exact} \n"), 1),
        (format!("{}\n", "1".repeat(1 << 20)), 1),
    ] {
        // A mebibyte of lines in front moves it across buffer boundaries.
        for lines_before in [0, 26_213, 26_214, 26_215, 104_857] {
            let mut text = "5 0 8 8 1\n".repeat(lines_before) + &first;
            text += "9 0 8 8 1\n";
            let (records, _, stats) = read(text.as_bytes(), Format::SsdSim, options);
            assert_eq!(stats.bad_lines, bad);
            assert_eq!(stats.lines, lines_before as u64 + 2);
            assert_eq!(records.len() as u64, stats.lines - bad);
            for error in stats.errors {
                assert_eq!(error.line, lines_before as u64 + 1);
                assert_eq!(error.problem, Problem::LineTooLong { max_bytes: 40 });
            }
        }
    }
    // A line without an end is not kept in memory, and reading terminates.
    let endless = io::repeat(b'7').take(1 << 26);
    let error = records(endless, Format::Alibaba)
        .next()
        .unwrap()
        .unwrap_err();
    assert_eq!(error.problem, Problem::LineTooLong { max_bytes: 4096 });
}

/// Returns a few bytes at a time, then an error.
#[derive(Debug)]
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::other("the disk is gone"));
        }
        let bytes = self.0.len().min(buffer.len()).min(3);
        buffer[..bytes].copy_from_slice(&self.0[..bytes]);
        self.0 = &self.0[bytes..];
        Ok(bytes)
    }
}

#[test]
fn reader_errors_name_the_line() {
    let mut reader = records(Failing(b"1 0 8 8 1\n2 0 8 8 1\n3 0 8 "), Format::SsdSim);
    assert!(reader.next().unwrap().is_ok());
    assert!(reader.next().unwrap().is_ok());
    let error = reader.next().unwrap().unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 3: cannot be read: the disk is gone"
    );
    assert!(reader.next().is_none());
    let error = Reader::detect(Failing(b"1 0 8 8 1\n"), Options::default()).unwrap_err();
    assert!(matches!(error.problem, Problem::Io { .. }));
}

#[test]
fn backwards_time_is_clamped_and_counted() {
    let text = "500 0 8 8 1\n900 0 8 8 1\n100 0 8 8 1\n700 0 8 8 1\n1000 0 8 8 1\n";
    let (records, _, stats) = read(text.as_bytes(), Format::SsdSim, Options::default());
    let times: Vec<_> = records.iter().map(|record| record.at_ns).collect();
    assert_eq!(times, [0, 400, 400, 400, 500]);
    assert_eq!((stats.backwards, stats.backwards_line), (2, Some(3)));
    assert_eq!((stats.backwards_max_ns, stats.first_ns), (800, Some(500)));
}

#[test]
fn times_in_another_unit() {
    let options = Options {
        time_unit_ns: Some(1_000),
        ..Options::default()
    };
    let (records, _, _) = read(
        b"1,5000000,2a,512,1\n1,5000250,28,512,1\n",
        Format::CloudPhysics,
        options,
    );
    assert_eq!(records[1].at_ns, 250_000);
}

#[test]
fn device_numbers_lose_leading_zeros() {
    let (records, names, _) = read(
        b"7,W,0,1,1\n007,R,0,1,1\n0,R,0,1,1\n00,W,0,1,1\n",
        Format::Alibaba,
        Options::default(),
    );
    assert_eq!(names, ["7", "0"]);
    let numbers: Vec<_> = records.iter().map(|record| record.device).collect();
    assert_eq!(numbers, [0, 0, 1, 1]);
}

#[test]
fn a_summary_counts_requests() {
    let reader = records(SAMPLES[4].1.as_bytes(), Format::Blkparse(Action::Issued));
    let summary = Summary::of(reader).unwrap();
    assert_eq!(summary.devices.len(), 1);
    let device = &summary.devices[0];
    assert_eq!((device.writes.records, device.writes.bytes), (2, 12_288));
    assert_eq!(
        (device.discards.records, device.discards.bytes),
        (1, 1 << 20)
    );
    assert_eq!((device.reads.records, device.flushes), (1, 1));
    assert_eq!(summary.end_bytes(), 6_291_456 + 131_072);
    assert_eq!(summary.duration_ns, 3_999_000);
    let first = Summary::of(records(SAMPLES[0].1.as_bytes(), Format::Msr)).unwrap();
    let names: Vec<_> = first
        .devices
        .iter()
        .map(|device| device.name.as_str())
        .collect();
    assert_eq!(names, ["web_0", "web_1"]);
}

#[test]
fn unrepresentable_records_are_rejected() {
    let record = Record {
        at_ns: 0,
        kind: Kind::Discard,
        offset_bytes: 100,
        len_bytes: 4096,
        device: 0,
    };
    let write = |format, record: &Record, name: &str| {
        let mut printer = Printer::new(Vec::new(), format, 0).unwrap();
        let result = printer.write(record, name);
        (result, printer.into_inner())
    };
    let (result, _) = write(Format::Msr, &record, "web_0");
    assert!(matches!(result, Err(PrintError::Kind { .. })));
    let (result, _) = write(Format::FioV3, &record, "two words");
    assert!(matches!(result, Err(PrintError::Name { .. })));
    let (result, _) = write(Format::Blkparse(Action::Issued), &record, "8,0");
    assert!(matches!(
        result,
        Err(PrintError::NotSectors { bytes: 100, .. })
    ));
    let (result, text) = write(Format::FioV3, &record, "/dev/x");
    result.unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "fio version 3 iolog\n0 /dev/x add\n0 /dev/x open\n0 /dev/x trim 100 4096\n"
    );
}

/// Records the format can represent: in its time unit, of its types, and in whole sectors if
/// necessary.
fn made(format: Format) -> impl Strategy<Value = Vec<Record>> {
    let unit_ns = format.time_unit_ns();
    let kinds: Vec<Kind> = [Kind::Read, Kind::Write, Kind::Discard, Kind::Flush]
        .into_iter()
        .filter(|kind| format.supports(*kind))
        .collect();
    let record = (
        0_u64..1 << 20,
        prop::sample::select(kinds),
        prop_oneof![0_u64..1 << 20, 0_u64..1 << 54],
        0_u64..1 << 20,
        0_u32..5,
    );
    prop::collection::vec(record, 1..60).prop_map(move |rows| {
        let mut at_ns = 0;
        let mut seen = Vec::new();
        rows.into_iter()
            .enumerate()
            .map(|(index, (gap, kind, offset, len, device))| {
                if index > 0 {
                    at_ns += gap * unit_ns;
                }
                // Devices are numbered in order of appearance.
                let device = match format {
                    Format::CloudPhysics => 0,
                    _ => device,
                };
                if !seen.contains(&device) {
                    seen.push(device);
                }
                let number = seen.iter().position(|seen| *seen == device).unwrap();
                let flush = kind == Kind::Flush;
                Record {
                    at_ns,
                    kind,
                    offset_bytes: if flush { 0 } else { offset * 512 },
                    len_bytes: if flush { 0 } else { (len + 1) * 512 },
                    device: u32::try_from(number).unwrap(),
                }
            })
            .collect()
    })
}

fn name(format: Format, device: u32) -> String {
    match format {
        Format::Msr => format!("web-{}_{}", device / 2, device % 2),
        Format::Blkparse(_) => format!("259,{device}"),
        Format::FioV2 | Format::FioV3 => format!("/srv/f{device}.0"),
        Format::CloudPhysics => "disk".to_owned(),
        _ => (device * 1_000_003).to_string(),
    }
}

fn with_its_records() -> impl Strategy<Value = (Format, Vec<Record>)> {
    prop::sample::select(Format::ALL.to_vec())
        .prop_flat_map(|format| made(format).prop_map(move |records| (format, records)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn records_round_trip((format, made) in with_its_records(), first in 0_u64..1 << 32) {
        let unit_ns = format.time_unit_ns();
        // fio's version 2 has no absolute time.
        let first_ns = if format == Format::FioV2 { 0 } else { first * unit_ns };
        let mut printer = Printer::new(Vec::new(), format, first_ns).unwrap();
        for record in &made {
            printer.write(record, &name(format, record.device)).unwrap();
        }
        let text = printer.into_inner();
        let (found, names, stats) = read(&text, format, Options::default());
        prop_assert_eq!(&found, &made);
        prop_assert_eq!(stats.first_ns, Some(first_ns));
        prop_assert_eq!(stats.bad_lines, 0);
        for (number, found) in names.iter().enumerate() {
            prop_assert_eq!(found, &name(format, u32::try_from(number).unwrap()));
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        sample in 0..SAMPLES.len(),
        cut in any::<prop::sample::Index>(),
        skip in any::<bool>(),
    ) {
        let text = SAMPLES[sample].1.as_bytes();
        let at = cut.index(text.len());
        let text = [&text[..at], &bytes[..], &text[at..]].concat();
        let options = Options {
            bad_lines: if skip { BadLines::Skip { max: 20 } } else { BadLines::Stop },
            line_bytes_max: 60,
            time_unit_ns: None,
        };
        for format in Format::ALL {
            let mut reader = Reader::new(&text[..], format, options);
            let mut last = 0;
            let mut errors = 0;
            for record in reader.by_ref() {
                match record {
                    Ok(record) => {
                        prop_assert!(record.at_ns >= last);
                        prop_assert!(record.offset_bytes.checked_add(record.len_bytes).is_some());
                        last = record.at_ns;
                    }
                    Err(error) => {
                        errors += 1;
                        prop_assert!(error.to_string().len() < 400, "{}", error);
                    }
                }
            }
            prop_assert!(errors <= 1);
            prop_assert!(reader.next().is_none());
        }
        let _ = detect(&text, skip);
    }
}
