//! Records per second by format, compared with a straightforward loop: `lines`, `split`, `parse`.
//!
//! `cargo run --release -p flash --example trace_speed -- [RECORDS]` (2,000,000 without an argument)
//!
//! The input is generated in memory. Prints Markdown.

use flash::drive::{Device, Drive};
use flash::ftl::{PowerOn, Settings};
use flash::geometry::Geometry;
use flash::time::{Recorder, Timing};
use flash::trace::{
    self, Action, Addresses, Devices, Format, Kind, Pace, Printer, Record, ReplaySettings,
    TraceError,
};
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::error::Error;
use std::io::BufRead;

const ROUNDS: usize = 5;

#[allow(clippy::cast_precision_loss)] // rates for people
fn main() -> Result<(), Box<dyn Error>> {
    let records: u64 = match std::env::args().nth(1) {
        Some(argument) => argument.parse()?,
        None => 2_000_000,
    };
    println!("{records} records. M/s are millions of records by second of processor time of one");
    println!("thread, MB/s what they are in text; the better of {ROUNDS} rounds, taken by turns.");
    println!();
    println!("| format | bytes a line | `flash` M/s | MB/s | `split` M/s | ratio |");
    println!("|---|---|---|---|---|---|");
    for format in Format::ALL {
        let text = generate(format, records)?;
        let (mut fast_s, mut plain_s) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            let start_s = processor_s();
            let mut fast = Sum::default();
            for record in trace::records(&text[..], format) {
                fast.add(&record?);
            }
            fast_s = fast_s.min(processor_s() - start_s);
            let start_s = processor_s();
            let plain = plain(format, &text).ok_or("the plain loop fails")?;
            plain_s = plain_s.min(processor_s() - start_s);
            if fast != plain || fast.records != records {
                return Err(format!("{format}: {fast:?} and {plain:?}").into());
            }
        }
        let (records, bytes) = (records as f64, text.len() as f64);
        println!(
            "| {format} | {:.0} | {:.1} | {:.0} | {:.1} | {:.1} |",
            bytes / records,
            records / fast_s / 1e6,
            bytes / fast_s / 1e6,
            records / plain_s / 1e6,
            plain_s / fast_s
        );
    }
    on_a_drive(records)
}

/// Replays the same requests: reading, translation, collection and timing together.
#[allow(clippy::cast_precision_loss)] // rates for people
fn on_a_drive(records: u64) -> Result<(), Box<dyn Error>> {
    let text = generate(Format::Alibaba, records)?;
    let geometry = Geometry::new(1 << 20, 0.25, 256, 4096)?;
    let timing = Timing::preset("tlc").ok_or("no timing of TLC")?;
    let mut drive = Drive::new(
        Settings::new(geometry),
        PowerOn::Filled,
        &timing,
        Recorder::new(None),
    )?;
    drive.reset_counters();
    let settings = ReplaySettings {
        devices: Devices::All,
        addresses: Addresses::Wrap,
        pace: Pace::QueueDepth(32),
        start_ns: 0,
    };
    let start_s = processor_s();
    let replayed = trace::replay(settings, &mut drive, 1, |_| {
        Ok::<_, TraceError>(trace::records(&text[..], Format::Alibaba))
    })?;
    let took_s = processor_s() - start_s;
    let pages = replayed.read_pages + replayed.written_pages;
    println!();
    println!(
        "Replayed on a drive of 4 GiB: {:.2} M records/s, {:.0} M pages/s, write amplification {:.2}.",
        replayed.records as f64 / took_s / 1e6,
        pages as f64 / took_s / 1e6,
        replayed.counters.write_amplification().unwrap_or(1.0)
    );
    Ok(())
}

#[allow(clippy::cast_precision_loss)] // seconds
fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Results on which both loops have to agree.
#[derive(Debug, Default, PartialEq)]
struct Sum {
    records: u64,
    writes: u64,
    checksum: u64,
}

impl Sum {
    fn add(&mut self, record: &Record) {
        self.records += 1;
        self.writes += u64::from(record.kind == Kind::Write);
        self.checksum = self
            .checksum
            .wrapping_mul(31)
            .wrapping_add(record.offset_bytes ^ record.len_bytes ^ record.at_ns)
            .wrapping_add(record.device.into());
    }
}

/// A synthetic mix: sixteen devices, a third of the requests reads, offsets all over 4 TB.
fn generate(format: Format, records: u64) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut printer = Printer::new(Vec::new(), format, first_ns(format))?;
    let mut state = 1_u64;
    let mut at_ns = 0;
    for _ in 0..records {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let random = state >> 16;
        let device = random % 16;
        let name = match format {
            Format::Msr => format!("host{}_{}", device / 4, device % 4),
            Format::Blkparse(_) => format!("259,{device}"),
            Format::FioV2 | Format::FioV3 => format!("/dev/nvme{device}n1"),
            _ => device.to_string(),
        };
        let record = Record {
            at_ns,
            kind: if (random / 16).is_multiple_of(3) {
                Kind::Read
            } else {
                Kind::Write
            },
            offset_bytes: (random / 64 % (1 << 30)) * 4096,
            len_bytes: (1 + random % 32) * 4096,
            device: 0,
        };
        printer.write(&record, &name)?;
        // Whole microseconds, so fio's waits can represent them.
        at_ns += random % 100 * 1_000;
    }
    Ok(printer.into_inner())
}

/// A first timestamp as long as in the format's real traces.
fn first_ns(format: Format) -> u64 {
    match format {
        Format::Msr => 128_166_372_003_061_629 * 100,
        Format::Alibaba | Format::Tencent => 1_577_808_000_000_000_000,
        Format::CloudPhysics => 33_898_000_000_000,
        _ => 0,
    }
}

#[allow(clippy::too_many_lines)] // nine formats
/// The loop to compare with: no error messages, no bounds, few checks.
fn plain(format: Format, text: &[u8]) -> Option<Sum> {
    let mut sum = Sum::default();
    let mut devices: HashMap<String, u32> = HashMap::new();
    let mut first_ns = None;
    let mut waited_ns = 0;
    for line in text.lines() {
        let line = line.ok()?;
        let fields: Vec<&str> = match format {
            Format::Msr | Format::Alibaba | Format::Tencent | Format::CloudPhysics => {
                line.split(',').collect()
            }
            _ => line.split_whitespace().collect(),
        };
        let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let kind = |write: bool| if write { Kind::Write } else { Kind::Read };
        let (time_ns, kind, offset_bytes, len_bytes, device) = match format {
            Format::Msr => (
                number(0)? * 100,
                kind(fields[3] == "Write"),
                number(4)?,
                number(5)?,
                format!("{}_{}", fields[1], fields[2]),
            ),
            Format::Alibaba => (
                number(4)? * 1_000,
                kind(fields[1] == "W"),
                number(2)?,
                number(3)?,
                fields[0].to_owned(),
            ),
            Format::Tencent => (
                number(0)? * 1_000_000_000,
                kind(fields[3] == "1"),
                number(1)? * 512,
                number(2)? * 512,
                fields[4].to_owned(),
            ),
            Format::CloudPhysics => (
                number(1)? * 1_000_000_000,
                kind(fields[2] == "2a"),
                number(4)? * 512,
                number(3)?,
                String::new(),
            ),
            Format::Blkparse(action) => {
                let wanted = match action {
                    Action::Queued => "Q",
                    Action::Issued => "D",
                };
                if fields[5] != wanted {
                    continue;
                }
                let (s, ns) = fields[3].split_once('.')?;
                (
                    s.parse::<u64>().ok()? * 1_000_000_000 + ns.parse::<u64>().ok()?,
                    kind(fields[6].contains('W')),
                    number(7)? * 512,
                    number(9)? * 512,
                    fields[0].to_owned(),
                )
            }
            Format::FioV2 => {
                if fields.len() != 4 || fields[0] == "fio" {
                    continue;
                }
                if fields[1] == "wait" {
                    waited_ns += number(2)? * 1_000;
                    continue;
                }
                (
                    waited_ns,
                    kind(fields[1] == "write"),
                    number(2)?,
                    number(3)?,
                    fields[0].to_owned(),
                )
            }
            Format::FioV3 => {
                if fields.len() != 5 {
                    continue;
                }
                (
                    number(0)? * 1_000,
                    kind(fields[2] == "write"),
                    number(3)?,
                    number(4)?,
                    fields[1].to_owned(),
                )
            }
            Format::SsdSim => (
                number(0)?,
                kind(fields[4] == "0"),
                number(2)? * 512,
                number(3)? * 512,
                fields[1].to_owned(),
            ),
        };
        let next = u32::try_from(devices.len()).ok()?;
        let device = *devices.entry(device).or_insert(next);
        sum.add(&Record {
            at_ns: time_ns - *first_ns.get_or_insert(time_ns),
            kind,
            offset_bytes,
            len_bytes,
            device,
        });
    }
    Some(sum)
}
