//! Replay of traces: on a device that records its requests, and on a simulated drive.

use flash::drive::{Device, Drive, PartialEnds, Range, Request};
use flash::ftl::{Counters, PowerOn, Settings};
use flash::geometry::Geometry;
use flash::time::{Kind, Recorder, Timing};
use flash::trace::{
    Addresses, Devices, Format, Pace, Replay, ReplaySettings, Replayed, Tally, TraceError, records,
    replay,
};
use std::fmt::Write as _;

/// Takes a microsecond per page for every request, without queueing.
struct RecordingDevice {
    pages: u32,
    asked: Vec<Request>,
    /// For writes, whether the first and the last page are covered only in part.
    ends: Vec<(bool, bool)>,
    recorder: Recorder,
}

impl RecordingDevice {
    fn new(pages: u32) -> Self {
        Self {
            pages,
            asked: Vec::new(),
            ends: Vec::new(),
            recorder: Recorder::new(None),
        }
    }

    /// The requests without their times.
    fn ranges(&self) -> Vec<(Kind, u32, u32)> {
        let range = |request: &Request| (request.kind, request.first_page, request.pages);
        self.asked.iter().map(range).collect()
    }

    fn times(&self) -> Vec<u64> {
        self.asked.iter().map(|request| request.at_ns).collect()
    }
}

impl Device for RecordingDevice {
    fn pages(&self) -> u32 {
        self.pages
    }
    fn page_bytes(&self) -> u32 {
        4096
    }
    fn submit(&mut self, request: Request) -> u64 {
        assert!(request.pages > 0);
        assert!(u64::from(request.first_page) + u64::from(request.pages) <= self.pages.into());
        self.asked.push(request);
        request.at_ns + u64::from(request.pages) * 1_000
    }
    fn read(&mut self, request: Request) -> u64 {
        self.submit(request)
    }
    fn write_in_part(&mut self, request: Request, ends: PartialEnds) -> u64 {
        self.ends.push((ends.first, ends.last));
        self.submit(request)
    }
    fn discard_ranges(&mut self, _: u64, _: &[Range]) -> u64 {
        unreachable!("a record is one request")
    }
    fn stage(&mut self, _: &[u32], _: u8) {
        unreachable!()
    }
    fn write_staged(&mut self, _: u64) -> u64 {
        unreachable!()
    }
    fn stage_discards(&mut self, _: &[u32]) {
        unreachable!()
    }
    fn discard_staged(&mut self, _: u64) -> u64 {
        unreachable!()
    }
    fn counters(&self) -> Counters {
        Counters::default()
    }
    fn reset_counters(&mut self) {}
    fn ignored_discard_pages(&self) -> u64 {
        0
    }
    fn fetched_pages(&self) -> u64 {
        0
    }
    fn recorder(&self) -> &Recorder {
        &self.recorder
    }
    fn recorder_mut(&mut self) -> &mut Recorder {
        &mut self.recorder
    }
}

const FIO: &str = "fio version 3 iolog
0 /a write 0 8192
10 /b write 4096 4096
20 /a trim 100 12288
30 /a sync 0 0
40 /a read 8191 2
50 /a write 40960 512
60 /a write 36864 8192
70 /a write 0 0
80 /a trim 4096 4095
";

fn run(
    settings: ReplaySettings,
    pages: u32,
    rounds: u32,
    text: &str,
) -> (RecordingDevice, Replayed) {
    let mut device = RecordingDevice::new(pages);
    let format = flash::trace::detect(text.as_bytes(), true).unwrap();
    let replayed = replay(settings, &mut device, rounds, |_| {
        Ok::<_, TraceError>(records(text.as_bytes(), format))
    });
    (device, replayed.unwrap())
}

#[test]
fn every_record_is_accounted_for() {
    let (device, replayed) = run(ReplaySettings::default(), 10, 1, FIO);
    assert_eq!(
        device.ranges(),
        [
            (Kind::Write, 0, 2),
            // Bytes 100 to 12388 completely cover pages 1 and 2.
            (Kind::Discard, 1, 2),
            (Kind::Read, 1, 2),
            // Pages 9 and 10 exceed the drive by one, page 10 does too, and the last discard covers
            // no page.
        ]
    );
    assert_eq!(device.times(), [0, 20_000, 40_000]);
    let tally = |records, bytes| Tally { records, bytes };
    assert_eq!(replayed.records, 9);
    assert_eq!(replayed.writes, tally(1, 8192));
    assert_eq!(replayed.discards, tally(2, 12_288 + 4095));
    assert_eq!(replayed.reads, tally(1, 2));
    assert_eq!(replayed.flushes, 1);
    assert_eq!(replayed.other_devices, tally(1, 4096));
    assert_eq!(replayed.out_of_range, tally(2, 512 + 8192));
    assert_eq!(replayed.out_of_range_line, Some(7));
    assert_eq!((replayed.empty, replayed.skipped()), (1, 4));
    assert_eq!((replayed.written_pages, replayed.read_pages), (2, 2));
    assert_eq!(replayed.discarded_pages, 2);
    assert_eq!(replayed.undiscarded_bytes, 12_288 - 8192 + 4095);
    assert_eq!(replayed.partial_pages, 0);
    // The last discard arrives then, but covers no page.
    assert_eq!(replayed.done_ns, 80_000);
}

#[test]
fn partial_pages_are_written_whole() {
    let (device, replayed) = run(ReplaySettings::default(), 100, 1, FIO);
    assert_eq!(
        device.ranges()[3..],
        [(Kind::Write, 10, 1), (Kind::Write, 9, 2)]
    );
    assert_eq!(device.ends, [(false, false), (false, true), (false, false)]);
    assert_eq!((replayed.partial_pages, replayed.skipped()), (1, 2));
}

/// A request that wraps around is partial at its own ends, not where it is split.
#[test]
fn wrapped_requests_are_partial_only_at_their_ends() {
    let settings = ReplaySettings {
        addresses: Addresses::Wrap,
        ..ReplaySettings::default()
    };
    let text = "fio version 2 iolog\n/a add\n/a write 33280 16384\n";
    let (device, replayed) = run(settings, 10, 1, text);
    assert_eq!(device.ranges(), [(Kind::Write, 8, 2), (Kind::Write, 0, 3)]);
    assert_eq!(device.ends, [(true, false), (false, true)]);
    assert_eq!(replayed.partial_pages, 2);
}

#[test]
fn devices_are_chosen() {
    let with = |devices| {
        let settings = ReplaySettings {
            devices,
            ..ReplaySettings::default()
        };
        run(settings, 100, 2, FIO)
    };
    let named = |names: &[&str]| Devices::Named(names.iter().map(|&name| name.into()).collect());
    let (device, replayed) = with(named(&["/b", "/c"]));
    assert_eq!(device.ranges(), [(Kind::Write, 1, 1); 2]);
    assert_eq!(replayed.missing_devices, ["/c"]);
    assert_eq!(replayed.other_devices.records, 16);
    assert_eq!(with(Devices::All).1.other_devices.records, 0);
    assert_eq!(
        with(named(&["/a", "/b"])).0.ranges(),
        with(Devices::All).0.ranges()
    );
    assert_eq!(
        with(named(&["/a"])).0.ranges(),
        with(Devices::First).0.ranges()
    );
}

#[test]
fn addresses_wrap_or_shrink() {
    let text = "0 0 256000 8 0\n1 0 792 16 0\n2 0 0 808 0\n";
    let with = |addresses| {
        let settings = ReplaySettings {
            addresses,
            ..ReplaySettings::default()
        };
        run(settings, 100, 1, text)
    };
    let (device, replayed) = with(Addresses::Wrap);
    assert_eq!(
        device.ranges(),
        // Page 32000 modulo 100 is page 0; pages 99 and 100 become 99 and 0; 101 pages are too
        // many.
        [
            (Kind::Write, 0, 1),
            (Kind::Write, 99, 1),
            (Kind::Write, 0, 1)
        ]
    );
    assert_eq!(replayed.out_of_range.records, 1);
    assert_eq!((replayed.writes.records, replayed.written_pages), (2, 3));
    assert_eq!(with(Addresses::Refuse).1.out_of_range.records, 3);
    // The drive is a single chunk, so all of the trace's chunks map to it, each as a whole.
    let span_bytes = 256_008 * 512;
    let (device, replayed) = with(Addresses::Scale { span_bytes });
    assert_eq!(device.ranges()[0], (Kind::Write, 0, 1));
    assert_eq!(replayed.out_of_range.records, 1);
}

#[test]
fn rounds_are_consecutive() {
    let text = "5000 0 0 8 0\n9000 0 8 80 0\n";
    let settings = ReplaySettings {
        start_ns: 1_000_000,
        ..ReplaySettings::default()
    };
    let (device, replayed) = run(settings, 100, 3, text);
    // Ten pages take 10 microseconds: the round ends 14 microseconds after its start.
    assert_eq!(
        device.times(),
        [
            1_000_000, 1_004_000, 1_014_000, 1_018_000, 1_028_000, 1_032_000
        ]
    );
    assert_eq!((replayed.rounds, replayed.records), (3, 6));
    assert_eq!(replayed.done_ns, 1_042_000);
}

#[test]
fn queue_depth_replaces_recorded_times() {
    // Requests of 4, 1, 1, 1 pages, a flush, and 1 page; their recorded times do not matter.
    let text = "fio version 3 iolog\n0 /a write 0 16384\n1 /a write 0 4096\n2 /a write 0 4096\n\
                9000 /a write 0 4096\n9001 /a datasync 0 0\n9002 /a write 0 4096\n";
    let with = |depth| {
        let settings = ReplaySettings {
            pace: Pace::QueueDepth(depth),
            ..ReplaySettings::default()
        };
        run(settings, 100, 1, text).0.times()
    };
    assert_eq!(with(1), [0, 4_000, 5_000, 6_000, 7_000]);
    // The first is done at 4, and the others take turns meanwhile; the flush waits for all of them.
    assert_eq!(with(2), [0, 0, 1_000, 2_000, 4_000]);
    assert_eq!(with(0), with(1));
    assert_eq!(with(u32::MAX), [0, 0, 0, 0, 4_000]);
}

#[test]
fn a_replay_in_pieces_gives_the_same_result() {
    let whole = run(ReplaySettings::default(), 100, 1, FIO);
    let mut device = RecordingDevice::new(100);
    let mut replay = Replay::new(ReplaySettings::default(), &device);
    let mut trace = records(FIO.as_bytes(), Format::FioV3);
    let mut pieces = 0;
    while !replay.replay_records(&mut trace, &mut device, 2).unwrap() {
        pieces += 1;
    }
    assert_eq!(pieces, 4);
    assert_eq!(device.asked, whole.0.asked);
    assert_eq!(replay.replayed(&device), whole.1);
}

#[test]
fn a_bad_line_ends_the_replay_but_keeps_results() {
    let mut device = RecordingDevice::new(100);
    let mut replay = Replay::new(ReplaySettings::default(), &device);
    let mut trace = records(&b"1 0 0 8 0\nbad\n"[..], Format::SsdSim);
    let error = replay.round(&mut trace, &mut device).unwrap_err();
    assert_eq!(error.line, 2);
    assert_eq!(replay.replayed(&device).writes.records, 1);
    assert_eq!(replay.replayed(&device).rounds, 0);
}

#[test]
fn distant_times_do_not_overflow() {
    let text = format!("0 0 0 8 0\n{} 0 0 8 0\n", u64::MAX);
    let (device, replayed) = run(ReplaySettings::default(), 100, 3, &text);
    assert!(device.times().is_sorted());
    assert_eq!(replayed.records, 6);
}

/// Random overwrites of a whole simulated drive, checked with its counters.
#[test]
fn drive_counters_match_the_trace() {
    let geometry = Geometry::new(16_384, 0.25, 64, 4096).unwrap();
    let timing = Timing::preset("tlc").unwrap();
    let mut drive = Drive::new(
        Settings::new(geometry),
        PowerOn::Filled,
        &timing,
        Recorder::new(None),
    )
    .unwrap();
    drive.reset_counters();
    let mut text = "fio version 3 iolog\n".to_owned();
    let mut state = 7_u64;
    for index in 0..100_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let page = (state >> 33) % 16_384;
        let action = if index % 10 == 0 { "trim" } else { "write" };
        writeln!(text, "{} /a {action} {} 4096", index * 10_000, page * 4096).unwrap();
    }
    let replayed = replay(ReplaySettings::default(), &mut drive, 2, |_| {
        Ok::<_, TraceError>(records(text.as_bytes(), Format::FioV3))
    })
    .unwrap();
    assert_eq!(replayed.writes.records, 180_000);
    assert_eq!(replayed.counters.host_pages, 180_000);
    assert_eq!(replayed.discarded_pages, 20_000);
    // Some pages are discarded twice before they are written again.
    assert!((15_000..20_000).contains(&replayed.counters.trimmed_pages));
    let amplification = replayed.counters.write_amplification().unwrap();
    // In theory 2.60 without discards (greedy, 64 pages per block), and 1.95 with a tenth of them
    // (0.9 in use).
    assert!((1.5..2.6).contains(&amplification), "{amplification}");
    drive.ftl().check().unwrap();
}
