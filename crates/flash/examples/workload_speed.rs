//! Cost of workloads compared with the translation layer they drive: each pattern on its own drive,
//! alternating with a plain loop that draws uniform pages; processor time, one thread.
//!
//! ```text
//! workload_speed MILLIONS...     (binary millions of logical pages)
//! ```
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)] // rates for people

use flash::ftl::{Ftl, PowerOn, Settings, Timeless};
use flash::geometry::Geometry;
use flash::random::Random;
use flash::workload::pages::{HotCold, Sequential, Uniform, UniformTrim, Zipfian};
use flash::workload::{PageWorkload, run};
use rustix::time::{ClockId, clock_gettime};

const SLICES: usize = 5;

fn main() {
    println!("| pages | pattern | M writes/s | plain loop | ratio | WA |");
    println!("|---|---|---|---|---|---|");
    for millions in std::env::args()
        .skip(1)
        .filter_map(|size| size.parse::<u32>().ok())
    {
        let pages = millions << 20;
        let patterns: [(&str, Box<dyn PageWorkload>); 6] = [
            ("uniform", Box::new(Uniform::new(0..pages, 1))),
            ("zipf 0.9", Box::new(Zipfian::new(0..pages, 0.9, 1))),
            (
                "hot/cold 20/80",
                Box::new(HotCold::new(0..pages, 0.2, 0.8, None, 1)),
            ),
            (
                "hot/cold, two streams",
                Box::new(HotCold::new(0..pages, 0.2, 0.8, Some((0, 1)), 1)),
            ),
            ("sequential", Box::new(Sequential::new(0..pages))),
            (
                "uniform, trim share 0.1",
                Box::new(UniformTrim::new(pages, 0.1, true, 1).expect("a share")),
            ),
        ];
        for (name, mut workload) in patterns {
            let (mut drive, mut plain) = (drive(pages), drive(pages));
            let mut random = Random::new(1);
            let writes = u64::from(pages.max(4 << 20));
            run(&mut drive, &mut *workload, 3 * u64::from(pages));
            drive.reset_counters();
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for _ in 0..SLICES {
                ours.push(rate(|| run(&mut drive, &mut *workload, writes)));
                theirs.push(rate(|| uniform(&mut plain, &mut random, pages, writes)));
            }
            let (ours, theirs) = (median(ours), median(theirs));
            let amplification = drive.counters().write_amplification().unwrap_or(0.0);
            println!(
                "| {millions}M | {name} | {ours:.1} | {theirs:.1} | {:.2} | {amplification:.3} |",
                ours / theirs
            );
        }
    }
}

fn drive(pages: u32) -> Ftl<Timeless> {
    let geometry = Geometry::new(pages.into(), 0.25, 256, 4096).expect("a drive");
    let settings = Settings {
        streams: 2,
        ..Settings::new(geometry)
    };
    Ftl::new(settings, PowerOn::Aged { passes: 2 }, Timeless).expect("a drive")
}

/// The minimum a host can do: batches directly from the generator.
fn uniform(drive: &mut Ftl<Timeless>, random: &mut Random, pages: u32, writes: u64) -> u64 {
    let mut batch = [0; flash::workload::BATCH];
    for _ in 0..writes / batch.len() as u64 {
        batch.fill_with(|| random.below_u32(pages));
        drive.write(&batch, 0);
    }
    writes
}

/// Millions of writes per second of processor time.
fn rate(work: impl FnOnce() -> u64) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let start = now();
    let writes = work();
    writes as f64 / 1e6 / (now() - start)
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
