//! What gets worse in a burst. Without harm, a burst of writes is no finding: every idle machine flushes its page cache.

use super::burst::Bursts;
use super::result::{DeviceJump, Harm, HarmTo, Moved};
use super::table::{Metric, Table};
use crate::statistics::median;

/// Reads are harmed if they fall by this factor, from at least so many kB/s.
pub(super) const READS_DOWN: f64 = 2.0;
const READS_KB_S: f64 = 64.0;
/// A machine that writes less is idle.
const WRITES_KB_S: f64 = 64.0;
/// Requests are harmed if they take so many times as long, and so many milliseconds longer.
const TIME_TIMES: f64 = 3.0;
const TIME_MORE_MS: f64 = 5.0;
/// CPU time waiting for disks rises by at least so many points.
const IOWAIT_POINTS: f64 = 3.0;
/// Kinds of harm that somebody waits for; the others also follow from much being written.
const FELT: [HarmTo; 3] = [HarmTo::Reads, HarmTo::ReadTime, HarmTo::FlushTime];
/// A device becomes busy from below the first to at least the second, in percent.
const UTIL: (f64, f64) = (50.0, 80.0);

/// Returns what gets worse in these `samples` of bursts, each on the device that shows it most: in half of them, by the
/// figures above and beyond every sample outside of bursts, since reads and waiting times vary without a cause.
pub(super) fn harm(
    table: &Table<'_>,
    devices: &[&str],
    bursts: &Bursts,
    samples: &[usize],
) -> Vec<Harm> {
    let compared =
        |what, get: &dyn Fn(usize) -> Option<f64>| compared(table, bursts, samples, what, get);
    let mut all: Vec<Harm> = [
        (HarmTo::Reads, Metric::Read),
        (HarmTo::ReadTime, Metric::ReadTime),
        (HarmTo::RequestTime, Metric::RequestTime),
        (HarmTo::FlushTime, Metric::FlushTime),
        (HarmTo::Utilization, Metric::Utilization),
    ]
    .into_iter()
    .filter_map(|(what, metric)| {
        let of = |device: &&str| {
            let get = |sample| table.get(device, metric, sample);
            let harm = compared(what, &get)?;
            let device = Some((*device).to_owned());
            Some(Harm { device, ..harm })
        };
        let much = |harm: &Harm| (harm.from - harm.to).abs();
        let found = devices.iter().filter_map(of);
        found.max_by(|a, b| much(a).total_cmp(&much(b)))
    })
    .collect();
    all.extend(compared(HarmTo::Iowait, &|sample| table.iowait(sample)));
    // The time of reads says more than that of all requests.
    if all.iter().any(|one| one.what == HarmTo::ReadTime) {
        all.retain(|one| one.what != HarmTo::RequestTime);
    }
    all
}

/// Returns whether somebody waits for what was written: on a machine that reads, its reads, else whoever wrote before.
/// That a device is busy and its queue long is what a large write does, even where nobody waits for it.
pub(super) fn is_felt(harm: &[Harm], devices: &[DeviceJump], moved: Moved) -> bool {
    let reads = |device: &DeviceJump| device.read_before_kb_s >= Some(READS_KB_S);
    let writes = |device: &DeviceJump| device.before_kb_s >= WRITES_KB_S;
    match moved {
        Moved::Writes => harm.iter().any(|one| FELT.contains(&one.what)),
        Moved::WritesOrDiscards if devices.iter().any(reads) || !devices.iter().any(writes) => {
            harm.iter().any(|one| FELT.contains(&one.what))
        }
        _ => !harm.is_empty(),
    }
}

/// Returns whether fewer reads are harm although nothing else rises: somebody waits meanwhile.
pub(super) fn is_waited_for(harm: &[Harm]) -> bool {
    let has = |what| harm.iter().any(|one| one.what == what);
    has(HarmTo::Reads) && harm.len() > 1
}

/// Compares a metric in samples of bursts with what it was before.
fn compared(
    table: &Table<'_>,
    bursts: &Bursts,
    samples: &[usize],
    what: HarmTo,
    get: &dyn Fn(usize) -> Option<f64>,
) -> Option<Harm> {
    let from = bursts.before(table, get)?;
    let values: Vec<f64> = samples.iter().filter_map(|sample| get(*sample)).collect();
    let quiet = || bursts.quiet(table).into_iter().filter_map(get);
    let lowest = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min);
    let highest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let half = (!values.is_empty()).then(|| median(values.clone()))?;
    let is_beyond = match what {
        HarmTo::Reads => half < lowest(&mut quiet()),
        _ => half > highest(&mut quiet()),
    };
    let is_harm = match what {
        HarmTo::Reads => from >= READS_KB_S && half * READS_DOWN <= from,
        HarmTo::RequestTime => half >= from * TIME_TIMES && half - from >= TIME_MORE_MS,
        // Without any before, nobody reads or flushes but what writes.
        HarmTo::ReadTime | HarmTo::FlushTime => {
            from > 0.0 && half >= from * TIME_TIMES && half - from >= TIME_MORE_MS
        }
        HarmTo::Utilization => from < UTIL.0 && half >= UTIL.1,
        HarmTo::Iowait => half - from >= IOWAIT_POINTS,
    };
    let mut values = values.into_iter();
    let to = match what {
        HarmTo::Reads => lowest(&mut values),
        _ => highest(&mut values),
    };
    (is_harm && is_beyond).then_some(Harm {
        what,
        device: None,
        from,
        to,
    })
}
