//! Describes a disk log in sentences.

use super::result::{Burst, DeviceJump, DiskLog, Harm, HarmTo, Moved};
use super::table::Table;
use crate::model::input::JobRuns;
use facts::series::Dating;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use schedule::Run;
use std::fmt::Write as _;
use units::number::factor;

/// Maximum number of devices listed individually; more are summarised by their extremes.
const DEVICES_NAMED: usize = 10;

/// Discards at this rate, in kB/s, are reported even if they do not come in bursts.
const STEADY_KB_S: f64 = 10.0 * 1024.0;

/// A job that is due this long before a burst may have caused it: it may do something else first.
const DUE_BEFORE: SignedDuration = SignedDuration::from_mins(10);

pub(super) fn sentences(log: &DiskLog, zone: &TimeZone) -> Vec<String> {
    let mut sentences = vec![match log.moved {
        Moved::Discards => discards(log, zone),
        Moved::NotCounted => fewer_reads(log, zone),
        _ => writes(log, zone),
    }];
    if log.moved != Moved::NotCounted {
        sentences.extend(reads(log));
    }
    sentences.extend(log.harm.iter().filter_map(worse));
    if log.harm.is_empty() {
        sentences.push(
            "No harm is visible: reads, waiting times and %iowait stay as they were.".to_owned(),
        );
    }
    match log.moved {
        Moved::ProbablyDiscards => sentences.push(format!(
            "These are probably discards (blocks that a filesystem frees), not data: {}.",
            drive_rates(&log.devices)
        )),
        Moved::WritesOrDiscards => sentences.push(format!(
            "These are writes or discards, {}; the log does not tell which.",
            drive_rates(&log.devices)
        )),
        Moved::Writes => {
            sentences.push(format!("These are writes, {}.", drive_rates(&log.devices)));
        }
        Moved::Discards | Moved::NotCounted | Moved::SinceBoot | Moved::Nothing => {}
    }
    let stacked = (log.devices.iter()).filter(|device| !device.members.is_empty());
    // What moves is of no interest where nothing moves more.
    for device in stacked.filter(|_| log.moved != Moved::NotCounted) {
        sentences.push(format!(
            "{} consists of {}: before the jump their figures add up to its own, so it is not counted again: \
             {} in total.",
            device.device,
            device.members.join(", "),
            rate(log.drives_kb_s),
        ));
    }
    sentences
}

/// The sentence for a log in which nothing stands out. `discarded_kb_s` is what is discarded in the median sample.
pub(super) fn nothing(table: &Table<'_>, discarded_kb_s: f64) -> String {
    if discarded_kb_s >= STEADY_KB_S {
        return format!(
            "Discards run through all {}, {} in the median: to see what they slow down, start the log before they do.",
            units::count(table.samples(), "sample"),
            rate(discarded_kb_s)
        );
    }
    let discards = if table.has_discards() {
        "no burst of discards, and no jump of writes that harms reads"
    } else {
        "no jump of writes, or of discards counted as writes, that harms reads; discards of a kernel that counts them \
         apart are not in this log"
    };
    format!(
        "Nothing stands out in {}: {discards}.",
        units::count(table.samples(), "sample")
    )
}

/// Describes averages since boot: of each drive what was written and discarded, in kB per second.
pub(super) fn since_boot(rates: &[(&str, f64, Option<f64>)]) -> Vec<String> {
    let names = |is: &dyn Fn(Option<f64>) -> bool| -> Vec<String> {
        let those = rates.iter().filter(|(.., discarded)| is(*discarded));
        those.map(|(name, ..)| (*name).to_owned()).collect()
    };
    let nothing = names(&|discarded| discarded == Some(0.0));
    let unknown = names(&|discarded| discarded.is_none());
    let mut sentences = Vec::new();
    if !nothing.is_empty() {
        sentences.push(format!(
            "Nothing has been discarded on {} since boot, although data was written: no trim has run since then, \
             or its discards do not get through.",
            units::list(&nothing)
        ));
    }
    for (name, written, discarded) in rates {
        if let Some(discarded) = discarded.filter(|discarded| *discarded > 0.0) {
            sentences.push(format!(
                "{name}: {} discarded, {} written, on average since boot.",
                rate(discarded),
                rate(*written)
            ));
        }
    }
    if !unknown.is_empty() {
        sentences.push(format!(
            "What was discarded on {} is not in this log.",
            units::list(&unknown)
        ));
    }
    sentences.push(
        "The only report is about the time since boot: give iostat an interval, as in `iostat -xt 3 100`, to see \
         what happens now."
            .to_owned(),
    );
    sentences
}

/// Describes the bursts of discards: `Discards come in 3 bursts, the largest in samples 7 to 9 of 100: nvme0n1 up to 7.3
/// GiB/s.`
fn discards(log: &DiskLog, zone: &TimeZone) -> String {
    let mut drives: Vec<&DeviceJump> = (log.devices.iter())
        .filter(|device| device.members.is_empty())
        .collect();
    drives.sort_by(|a, b| b.largest_kb_s().total_cmp(&a.largest_kb_s()));
    let more = drives.len().saturating_sub(DEVICES_NAMED);
    let mut named: Vec<String> = drives
        .iter()
        .take(DEVICES_NAMED)
        .map(|device| format!("{} up to {}", device.device, rate(device.largest_kb_s())))
        .collect();
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let bursts = match log.bursts.len() {
        1 => "Discards come in one burst,".to_owned(),
        number => format!("Discards come in {number} bursts, the largest"),
    };
    let within = clearest(log).map_or(String::new(), |burst| {
        let first = burst.first_sample;
        let at = moment(burst, zone);
        match burst.samples {
            1 => format!(" in sample {first} of {}{at}", log.samples),
            number => format!(
                " in samples {first} to {} of {}{at}",
                first + number - 1,
                log.samples
            ),
        }
    });
    format!("{bursts}{within}: {}.", named.join(", "))
}

fn clearest(log: &DiskLog) -> Option<&Burst> {
    log.bursts.iter().find(|burst| burst.is_clearest)
}

/// Describes when a burst begins: ` (from Monday 2020-04-13 06:47:07)`; empty if that is not known.
fn moment(burst: &Burst, zone: &TimeZone) -> String {
    burst.at.map_or(String::new(), |at| {
        format!(
            " (from {})",
            units::date::formatted(at, zone, "%A %Y-%m-%d %H:%M:%S")
        )
    })
}

/// Returns the first sample of the clearest burst, and describes when that was.
fn begin(log: &DiskLog, zone: &TimeZone) -> (usize, String) {
    clearest(log).map_or((1, String::new()), |burst| {
        (burst.first_sample, moment(burst, zone))
    })
}

/// Describes what got worse; falling reads are listed by device.
fn worse(harm: &Harm) -> Option<String> {
    let percent = |value: f64| units::percent(value / 100.0);
    let ms = |value: f64| format!("{} ms", units::number(value));
    let (from, to) = (harm.from, harm.to);
    let device = harm.device.as_deref().unwrap_or_default();
    let takes = |what: &str| {
        format!(
            "A {what} {device} takes {} instead of {}.",
            ms(to),
            ms(from)
        )
    };
    Some(match harm.what {
        HarmTo::Reads => return None,
        HarmTo::Iowait => format!(
            "CPU time spent waiting for disks (%iowait) goes from {} to {}.",
            percent(from),
            percent(to)
        ),
        HarmTo::ReadTime => takes("read of"),
        HarmTo::RequestTime => takes("request to"),
        HarmTo::FlushTime => takes("flush of"),
        HarmTo::Utilization => format!(
            "{device} is busy {} of the time instead of {}.",
            percent(to),
            percent(from)
        ),
    })
}

fn writes(log: &DiskLog, zone: &TimeZone) -> String {
    let mut named: Vec<String> = log
        .devices
        .iter()
        .filter_map(|device| Some(format!("{} {}", device.device, factor(device.times?))))
        .collect();
    let more = named.len().saturating_sub(DEVICES_NAMED);
    named.truncate(DEVICES_NAMED);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    let from_nothing = log.devices.iter().filter(|device| device.times.is_none());
    named.extend(from_nothing.map(|device| format!("{} from nothing", device.device)));
    let (first, at) = begin(log, zone);
    format!(
        "Writes jump between sample {} and sample {first} of {}{at}: {} (relative to the samples before).",
        first - 1,
        log.samples,
        named.join(", "),
    )
}

/// Describes reads that fall while nothing else rises.
fn fewer_reads(log: &DiskLog, zone: &TimeZone) -> String {
    let (first, at) = begin(log, zone);
    format!(
        "Reads fall between sample {} and sample {first} of {}{at}, while writes do not rise: {}.",
        first - 1,
        log.samples,
        falls(log).join("; ")
    )
}

/// Describes reads of the burst. Reads that vary anyway are no harm, and not told.
fn reads(log: &DiskLog) -> Option<String> {
    if !log.harm.iter().any(|harm| harm.what == HarmTo::Reads) {
        return None;
    }
    let falls = falls(log);
    (!falls.is_empty()).then(|| {
        format!(
            "Reads fall in the same samples: {}. That is the harm: queries have to wait.",
            falls.join("; ")
        )
    })
}

/// Describes by what reads fall from the stacked device, or from the drives if there is none.
fn falls(log: &DiskLog) -> Vec<String> {
    let stacked = log
        .devices
        .iter()
        .filter(|device| !device.members.is_empty());
    let mut told: Vec<&DeviceJump> = stacked.collect();
    if told.is_empty() {
        told = log.devices.iter().take(DEVICES_NAMED).collect();
    }
    told.into_iter()
        .filter(|device| device.read_before_kb_s.is_some_and(|kb_s| kb_s > 0.0))
        .filter(|device| matches!(device.read_down_times.first(), Some(None | Some(2.0..))))
        .map(|device| {
            let times: Vec<String> = device
                .read_down_times
                .iter()
                .take_while(|times| matches!(times, None | Some(2.0..)))
                .take(3)
                .map(|times| times.map_or("to nothing".to_owned(), factor))
                .collect();
            format!("{} down {}", device.device, times.join(", then "))
        })
        .collect()
}

pub(super) fn cannot_tell(log: &DiskLog, jobs: &[JobRuns], zone: &TimeZone) -> Vec<String> {
    let mut sentences = Vec::new();
    if [Moved::Discards, Moved::ProbablyDiscards].contains(&log.moved) {
        sentences.push(
            "Who sent the discards: fstrim, deletions on a filesystem mounted with `discard`, and a manual \
             command look the same here."
                .to_owned(),
        );
    }
    match log.dating {
        Dating::Day(day) => sentences.push(of_day(day, jobs, zone)),
        Dating::Undated => sentences.push(
            "When: the log has neither date nor times of day, so it can neither confirm nor exclude a \
             job."
            .to_owned(),
        ),
        Dating::Absolute => sentences.extend(due_then(log, jobs, zone)),
    }
    if let [_] = log.bursts[..] {
        sentences.push(format!(
            "Whether it recurs: {} samples show one jump; a pattern needs three.",
            log.samples
        ));
    }
    sentences
}

/// Names the jobs that were due when the clearest burst began.
fn due_then(log: &DiskLog, jobs: &[JobRuns], zone: &TimeZone) -> Option<String> {
    let at = clearest(log)?.at?;
    let early = at.checked_sub(DUE_BEFORE).ok()?;
    let due: Vec<String> = jobs
        .iter()
        .filter_map(|job| {
            let near = |run: &&Run| run.earliest <= at && run.latest >= early;
            let run = job.runs.iter().rfind(near)?;
            let from = units::date::formatted(run.earliest, zone, "%H:%M");
            let to = units::date::formatted(run.latest, zone, "%H:%M");
            Some(if from == to {
                format!("{} at {from}", job.name)
            } else {
                format!("{} between {from} and {to}", job.name)
            })
        })
        .collect();
    Some(if due.is_empty() {
        "Which job: no known job was due then, or in the ten minutes before.".to_owned()
    } else {
        format!(
            "Which job: due then, or in the ten minutes before: {}. One occurrence proves nothing.",
            due.join(", ")
        )
    })
}

fn of_day(day: Date, jobs: &[JobRuns], zone: &TimeZone) -> String {
    let mut text = format!(
        "When: the log is dated {} {day}, without times of day",
        units::date::weekday(day.weekday())
    );
    let end = day
        .tomorrow()
        .ok()
        .and_then(|next| next.to_zoned(zone.clone()).ok())
        .map(|at| at.timestamp());
    let trims: Vec<(&str, Timestamp)> = jobs
        .iter()
        .filter(|job| job.name.contains("fstrim"))
        .filter_map(|job| {
            let before = |at: &Timestamp| end.is_some_and(|end| *at < end);
            let last = job
                .runs
                .iter()
                .map(|run| run.earliest)
                .filter(before)
                .max()?;
            Some((job.name.as_str(), last))
        })
        .collect();
    if trims.is_empty() {
        text.push_str(", so it can neither confirm nor exclude a job.");
        return text;
    }
    text.push('.');
    for (name, last) in trims {
        let last = units::date::formatted(last, zone, "%A %Y-%m-%d %H:%M");
        // Writing to a string does not fail.
        let _ = write!(
            text,
            " {name} was last due on {last}: this log neither confirms nor excludes that it was that \
             run (a long trim takes hours, and anyone can start one manually).",
        );
    }
    text
}

/// Returns the drives' rates in the burst: `7.0 to 8.3 GiB/s per drive`; of one drive, without that.
pub(super) fn drive_rates(devices: &[DeviceJump]) -> String {
    let has_drives = devices.iter().any(|device| device.members.is_empty());
    let drives = devices
        .iter()
        .filter(|device| !has_drives || device.members.is_empty());
    let rates: Vec<f64> = drives
        .clone()
        .flat_map(|drive| drive.after_kb_s.iter().flatten().copied())
        .collect();
    let each = if drives.count() > 1 { " per drive" } else { "" };
    format!("{}{each}", range(&rates, rate))
}

/// Returns the drives' request sizes after the jump: `7.9 to 8.2 MiB`.
pub(super) fn request_lengths(devices: &[DeviceJump]) -> String {
    let drives = devices.iter().filter(|device| device.members.is_empty());
    let lengths: Vec<f64> = drives.filter_map(|drive| drive.request_kb).collect();
    range(&lengths, |kb| units::size::bytes_estimate(kb * 1024.0))
}

/// Formats the lowest to the highest value; a common unit is written once.
fn range(values: &[f64], write: impl Fn(f64) -> String) -> String {
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(0.0, f64::max);
    let (from, to) = (write(lowest), write(highest));
    if from == to {
        return to;
    }
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} to {to}"),
        _ => format!("{from} to {to}"),
    }
}

/// `7.2 GiB/s`.
fn rate(kb_s: f64) -> String {
    units::bytes_per_s(kb_s * 1024.0)
}
