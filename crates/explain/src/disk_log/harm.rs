//! What gets worse in a burst. Without harm, a burst of writes is no finding: every idle machine flushes its page cache.

use super::burst::Bursts;
use super::result::{Harm, HarmTo};
use super::table::{Metric, Table};

/// Reads are harmed if they fall by this factor, from at least so many kB/s.
const READS_DOWN: f64 = 2.0;
const READS_KB_S: f64 = 64.0;
/// Requests are harmed if they take so many times as long, and so many milliseconds longer.
const TIME_TIMES: f64 = 3.0;
const TIME_MORE_MS: f64 = 5.0;
/// CPU time waiting for disks rises by at least so many points.
const IOWAIT_POINTS: f64 = 3.0;
/// A device becomes busy from below the first to at least the second, in percent.
const UTIL: (f64, f64) = (50.0, 80.0);

/// Returns what gets worse in the clearest burst, each on the device that shows it most.
pub(super) fn harm(table: &Table<'_>, devices: &[&str], bursts: &Bursts) -> Vec<Harm> {
    let kinds = [
        (HarmTo::Reads, Metric::Read),
        (HarmTo::ReadTime, Metric::ReadTime),
        (HarmTo::RequestTime, Metric::RequestTime),
        (HarmTo::Utilization, Metric::Utilization),
    ];
    let mut all: Vec<Harm> = kinds
        .into_iter()
        .filter_map(|(what, metric)| worst(table, devices, bursts, what, metric))
        .collect();
    let iowait = || {
        let from = bursts.before(table, |sample| table.iowait(sample))?;
        let to = bursts.samples().filter_map(|sample| table.iowait(sample));
        let to = to.fold(0.0, f64::max);
        (to - from >= IOWAIT_POINTS).then_some(Harm {
            what: HarmTo::Iowait,
            device: None,
            from,
            to,
        })
    };
    all.extend(iowait());
    // The time of reads says more than that of all requests.
    if all.iter().any(|one| one.what == HarmTo::ReadTime) {
        all.retain(|one| one.what != HarmTo::RequestTime);
    }
    all
}

fn worst(
    table: &Table<'_>,
    devices: &[&str],
    bursts: &Bursts,
    what: HarmTo,
    metric: Metric,
) -> Option<Harm> {
    let of = |device: &&str| {
        let from = bursts.before(table, |sample| table.get(device, metric, sample))?;
        let values = bursts
            .samples()
            .filter_map(|sample| table.get(device, metric, sample));
        let to = match what {
            HarmTo::Reads => values.fold(f64::INFINITY, f64::min),
            _ => values.fold(0.0, f64::max),
        };
        let is_harm = match what {
            HarmTo::Reads => from >= READS_KB_S && to * READS_DOWN <= from,
            HarmTo::ReadTime | HarmTo::RequestTime => {
                to >= from * TIME_TIMES && to - from >= TIME_MORE_MS
            }
            HarmTo::Utilization => from < UTIL.0 && to >= UTIL.1,
            HarmTo::Iowait => false,
        };
        is_harm.then(|| Harm {
            what,
            device: Some((*device).to_owned()),
            from,
            to,
        })
    };
    let much = |harm: &Harm| (harm.from - harm.to).abs();
    let found = devices.iter().filter_map(of);
    found.max_by(|a, b| much(a).total_cmp(&much(b)))
}
