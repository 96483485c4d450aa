//! Speed of the translation layer compared with a plain loop (`benches/ssd/plain.rs`) and, if it
//! was compiled, with ftlsim: `make bench-ssd`.
//!
//! Uniform single-page overwrites with greedy collection, alpha 1.25, 256 pages per block, one
//! thread; drawing the random pages is included in the time. Prints Markdown.
//!
//! ```text
//! speed MILLIONS...     (binary millions of logical pages)
//! ```
#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)] // rates for people, sizes of a benchmark

use std::{fmt, fs, process};

use flash::drive::{Device, Drive, Queue};
use flash::ftl::{Ftl, PowerOn, Settings, Timeless};
use flash::geometry::Geometry;
use flash::random::Random;
use flash::time::Timing;
use rustix::time::{ClockId, clock_gettime};

#[path = "../../../benches/ssd/plain.rs"]
mod plain;

const PAGES_PER_BLOCK: u32 = 256;
const OVER_PROVISIONING: f64 = 0.25;
const FREE_BLOCKS: u32 = 2;
const BATCH: usize = 1024;
/// Contestants are timed in this many alternating slices; the median counts.
const SLICES: usize = 5;
/// From this size on, only `flash` itself runs: the others would take 4 GB more and minutes.
const LARGE: u64 = 128 << 20;

fn main() {
    let sizes: Result<Vec<u64>, _> = std::env::args().skip(1).map(|size| size.parse()).collect();
    let sizes = match sizes {
        Ok(sizes) if !sizes.is_empty() => sizes,
        _ => {
            eprintln!("usage: speed MILLIONS...");
            process::exit(2);
        }
    };
    println!("Greedy, uniform overwrites, alpha 1.25, {PAGES_PER_BLOCK} pages a block; one core.");
    println!(
        "M/s are millions of host writes by second of processor time, the median of {SLICES} slices"
    );
    println!(
        "taken by turns; lowest and highest in brackets. Load average {}.",
        load()
    );
    println!();
    println!(
        "| pages | `flash` M/s | plain loop M/s | ratio | ftlsim M/s | ratio | WA `flash` | WA plain | WA ftlsim | bytes/page | plain | ftlsim |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for size in &sizes {
        side_by_side(size << 20);
    }
    println!();
    println!(
        "With TRIM, every tenth request discards a page drawn at random; with time, `Drive` over 32 dies"
    );
    println!("of TLC, 32 requests under way, every latency recorded. M/s are requests.");
    println!();
    println!("| pages | writes | and TRIM | with time | share | time and TRIM | share |");
    println!("|---|---|---|---|---|---|---|");
    for size in &sizes {
        with_time_and_trim(size << 20);
    }
}

// ---- the first table ----

fn side_by_side(pages: u64) {
    let before = resident();
    let mut ours = Ours::new(
        pages,
        PowerOn::Aged {
            passes: passes(pages),
        },
    );
    let ours_bytes = resident() - before;
    let before = resident();
    let mut plain = (pages < LARGE).then(|| AsPlain::new(pages));
    let plain_bytes = resident().saturating_sub(before);
    let writes = slice(pages);
    let (mut ours_rates, mut plain_rates) = (Rates::default(), Rates::default());
    for _ in 0..SLICES {
        ours_rates.time(writes, || ours.write(writes));
        if let Some(plain) = &mut plain {
            plain_rates.time(writes, || plain.write(writes));
        }
    }
    let ours_wa = ours.drive.counters().write_amplification().unwrap_or(0.0);
    drop(ours);
    let plain_wa = plain.map(|drive| drive.write_amplification());
    let ftlsim = (pages < LARGE).then(|| ftlsim(pages, 5 * writes)).flatten();
    let per_page = |bytes: u64| format!("{:.1}", bytes as f64 / pages as f64);
    let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
    let ratio = |rate: f64| format!("{:.1}", ours_rates.median() / rate);
    println!(
        "| {}M | {ours_rates} | {} | {} | {} | {} | {ours_wa:.3} | {} | {} | {} | {} | {} |",
        pages >> 20,
        or_dash(plain_wa.map(|_| plain_rates.to_string())),
        or_dash(plain_wa.map(|_| ratio(plain_rates.median()))),
        or_dash(ftlsim.map(|found| format!("{:.1}", found.rate))),
        or_dash(ftlsim.map(|found| ratio(found.rate))),
        or_dash(plain_wa.map(|wa| format!("{wa:.3}"))),
        or_dash(ftlsim.map(|found| format!("{:.3}", found.write_amplification))),
        per_page(ours_bytes),
        or_dash(plain_wa.map(|_| per_page(plain_bytes))),
        or_dash(ftlsim.map(|found| per_page(found.bytes))),
    );
}

/// Overwrites of the whole drive before timing starts, so that write amplification has settled.
fn passes(pages: u64) -> u32 {
    match pages >> 20 {
        0..16 => 8,
        16..64 => 3,
        64..128 => 2,
        _ => 1,
    }
}

/// Writes per slice, which takes some tenths of a second.
fn slice(pages: u64) -> u64 {
    (16 << 20).min(pages * 8)
}

fn settings(pages: u64) -> Settings {
    let geometry = Geometry::new(pages, OVER_PROVISIONING, PAGES_PER_BLOCK, 4096);
    Settings {
        free_blocks_min: FREE_BLOCKS,
        ..Settings::new(geometry.expect("a size that the tables hold"))
    }
}

struct Ours {
    drive: Ftl<Timeless>,
    random: Random,
    pages: u32,
}

impl Ours {
    fn new(pages: u64, power_on: PowerOn) -> Self {
        Self {
            drive: Ftl::new(settings(pages), power_on, Timeless).expect("a drive"),
            random: Random::new(1),
            pages: pages as u32,
        }
    }

    fn write(&mut self, writes: u64) {
        let mut batch = [0; BATCH];
        for _ in 0..writes / BATCH as u64 {
            batch.fill_with(|| self.random.below_u32(self.pages));
            self.drive.write(&batch);
        }
    }

    fn write_and_trim(&mut self, requests: u64) {
        let mut batch = [0; BATCH];
        for _ in 0..requests / BATCH as u64 {
            batch.fill_with(|| self.random.below_u32(self.pages));
            let (trims, writes) = batch.split_at(BATCH / 10);
            self.drive.discard(trims);
            self.drive.write(writes);
        }
    }
}

struct AsPlain {
    drive: plain::Plain,
    random: Random,
    pages: u32,
}

impl AsPlain {
    fn new(pages: u64) -> Self {
        let geometry = settings(pages).geometry;
        let mut aged = Self {
            drive: plain::Plain::new(
                pages as u32,
                geometry.data_blocks,
                PAGES_PER_BLOCK,
                FREE_BLOCKS,
            ),
            random: Random::new(1),
            pages: pages as u32,
        };
        aged.write(pages * u64::from(passes(pages)));
        aged.drive.host_pages = 0;
        aged.drive.moved_pages = 0;
        aged
    }

    fn write(&mut self, writes: u64) {
        for _ in 0..writes {
            let page = self.random.below_u32(self.pages);
            self.drive.write(page);
        }
    }

    fn write_amplification(&self) -> f64 {
        1.0 + self.drive.moved_pages as f64 / self.drive.host_pages as f64
    }
}

#[derive(Clone, Copy)]
struct Ftlsim {
    rate: f64,
    write_amplification: f64,
    bytes: u64,
}

/// Runs `benches/ssd/ftlsim.c`, if `FTLSIM_RUN` names the program.
fn ftlsim(pages: u64, writes: u64) -> Option<Ftlsim> {
    let program = std::env::var_os("FTLSIM_RUN")?;
    // A fifth of the writes, because it is that much slower.
    let numbers = [
        pages,
        settings(pages).geometry.data_blocks.into(),
        PAGES_PER_BLOCK.into(),
        passes(pages).min(3).into(),
        writes / 5,
    ];
    let output = process::Command::new(program)
        .args(numbers.map(|number| number.to_string()))
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut words = text.split_whitespace();
    Some(Ftlsim {
        rate: words.next()?.parse().ok()?,
        write_amplification: words.next()?.parse().ok()?,
        bytes: words.next()?.parse().ok()?,
    })
}

// ---- the second table ----

fn with_time_and_trim(pages: u64) {
    let requests = slice(pages);
    let power_on = PowerOn::Aged {
        passes: passes(pages).min(2),
    };
    let mut rates: [Rates; 4] = Default::default();
    let mut ours = Some(Ours::new(pages, power_on));
    if pages >= LARGE {
        // One drive at a time, to fit in 4 GB.
        for _ in 0..SLICES {
            compare(&mut rates[..2], requests, ours.as_mut(), None);
        }
        ours = None;
    }
    let mut drive = Timed::new(pages, power_on);
    for _ in 0..SLICES {
        compare(&mut rates, requests, ours.as_mut(), Some(&mut drive));
    }
    let share = |rates: &Rates, of: &Rates| 100.0 * rates.median() / of.median();
    println!(
        "| {}M | {} | {} | {} | {:.0} % | {} | {:.0} % |",
        pages >> 20,
        rates[0],
        rates[1],
        rates[2],
        share(&rates[2], &rates[0]),
        rates[3],
        share(&rates[3], &rates[0]),
    );
}

/// One slice of each kind: writes, writes and TRIM, and both with timing.
fn compare(rates: &mut [Rates], requests: u64, ours: Option<&mut Ours>, timed: Option<&mut Timed>) {
    if let Some(ours) = ours {
        rates[0].time(requests, || ours.write(requests));
        rates[1].time(requests, || ours.write_and_trim(requests));
    }
    if let Some(timed) = timed {
        rates[2].time(requests, || timed.write(requests));
        rates[3].time(requests, || timed.write_and_trim(requests));
    }
}

struct Timed {
    drive: Drive,
    queue: Queue,
    random: Random,
    pages: u32,
}

impl Timed {
    fn new(pages: u64, power_on: PowerOn) -> Self {
        Self {
            drive: Drive::new(settings(pages), power_on, &Timing::TLC).expect("a drive"),
            queue: Queue::closed(32),
            random: Random::new(1),
            pages: pages as u32,
        }
    }

    fn write(&mut self, writes: u64) {
        let mut batch = [0; BATCH];
        for _ in 0..writes / BATCH as u64 {
            batch.fill_with(|| self.random.below_u32(self.pages));
            self.drive.write_pages(&mut self.queue, &batch);
        }
    }

    fn write_and_trim(&mut self, requests: u64) {
        let mut batch = [0; BATCH];
        for _ in 0..requests / BATCH as u64 {
            batch.fill_with(|| self.random.below_u32(self.pages));
            let (trims, writes) = batch.split_at(BATCH / 10);
            self.drive.discard_pages(&mut self.queue, trims);
            self.drive.write_pages(&mut self.queue, writes);
        }
    }
}

// ---- measuring ----

/// Millions of requests per second of processor time, one number per slice.
#[derive(Default)]
struct Rates(Vec<f64>);

impl Rates {
    fn time(&mut self, requests: u64, work: impl FnOnce()) {
        let start = processor_seconds();
        work();
        self.0
            .push(requests as f64 / 1e6 / (processor_seconds() - start));
        self.0.sort_by(f64::total_cmp);
    }

    fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lowest, highest) = (self.0[0], self.0[self.0.len() - 1]);
        write!(f, "{:.1} ({lowest:.0}-{highest:.0})", self.median())
    }
}

/// CPU time of this thread: other processes on the machine affect its caches, but not this time.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Resident memory of this process, in bytes.
fn resident() -> u64 {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages
        .as_deref()
        .and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.unwrap_or(0) * rustix::param::page_size() as u64
}

fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or("unknown").to_owned()
}
