//! Throughput of an aging drive over time, and the cost of timing.
//!
//!     cargo run --release -p flash --example timed            # the picture
//!     cargo run --release -p flash --example timed cost       # nanoseconds a page, side by side

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // lengths of bars

use std::{error::Error, time::Instant};

use flash::{
    drive::{Device as _, DiscardSplit, Drive, Queue, Raid0, Request},
    ftl::{Ftl, Medium, PowerOn, Settings, Timeless},
    geometry::Geometry,
    random::Random,
    time::{Clock, Kind, Timing},
};

const PAGE_BYTES: u32 = 4096;

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        None => picture(),
        Some("cost") => cost(&[20, 22, 24]),
        Some(other) => Err(format!("{other:?}, expected nothing or `cost`").into()),
    }
}

/// Pages of the pictured drive.
const PAGES: u32 = 1 << 20;
/// Lines per drive write.
const LINES: u32 = 4;

/// Fills the drive in order, overwrites it at random, trims it, and overwrites it again.
fn picture() -> Result<(), Box<dyn Error>> {
    let geometry = Geometry::new(u64::from(PAGES), 0.07, 256, PAGE_BYTES)?;
    let timing = Timing::TLC.with_write_cache(1 << 20);
    let mut drive = Drive::new(Settings::new(geometry), PowerOn::Empty, &timing)?;
    let mut queue = Queue::closed(32);
    let mut random = Random::new(1);
    println!("4 GiB of TLC, 7 % spare, 1 MiB of cache; filled in order, then written at");
    println!("random by 4 KiB at queue depth 32, four times over; trimmed, and once more.");
    println!();
    for first_page in (0..PAGES).step_by(256) {
        queue.submit(&mut drive, Kind::Write, first_page, 256, 0);
    }
    println!("   s   MB/s   WA   p50 us   p99 us  p99.9 us");
    for _ in 0..4 * LINES {
        overwrite(&mut drive, &mut queue, &mut random);
    }
    let trimmed_at = drive.submit(Request {
        at_ns: queue.drained_ns(),
        kind: Kind::Discard,
        first_page: 0,
        pages: PAGES,
        stream: 0,
    });
    queue.pause_until(trimmed_at);
    println!("     trimmed");
    for _ in 0..4 * LINES {
        overwrite(&mut drive, &mut queue, &mut random);
    }
    Ok(())
}

/// Overwrites part of the drive at random, and prints a line about it.
#[allow(clippy::cast_precision_loss)] // a rate
fn overwrite(drive: &mut Drive, queue: &mut Queue, random: &mut Random) {
    let begin_ns = queue.drained_ns();
    drive.reset_counters();
    drive.recorder_mut().restart();
    let mut batch = [0; 512];
    for _ in 0..PAGES / LINES / 512 {
        batch.fill_with(|| random.below_u32(PAGES));
        drive.write_pages(queue, &batch, 0);
    }
    let seconds = (queue.drained_ns() - begin_ns) as f64 / 1e9;
    let mb_s = f64::from(PAGES / LINES) * f64::from(PAGE_BYTES) / 1e6 / seconds;
    let latencies = drive.recorder().histogram(Kind::Write);
    let [median_us, high_us, highest_us] =
        [0.5, 0.99, 0.999].map(|quantile| latencies.value_at_quantile(quantile) / 1000);
    println!(
        "{:4} {mb_s:6.0} {:4.1} {median_us:8} {high_us:8} {highest_us:9}  {}",
        begin_ns / 1_000_000_000,
        drive.counters().write_amplification().unwrap_or(1.0),
        "#".repeat((mb_s / 32.0).round() as usize),
    );
}

/// Nanoseconds per page written, each the minimum of five alternating runs: the translation layer
/// alone, with a clock only, at queue depth 32 with latencies, the same with a write cache, and
/// over four RAID members.
fn cost(sizes: &[u32]) -> Result<(), Box<dyn Error>> {
    println!("ns by 4 KiB page written at random; alpha 1.25, 256 pages a block, greedy, TLC.");
    println!("  pages  no time  clock  qd 32  cached  raid0 x4  clock/no  qd 32/no");
    for &bits in sizes {
        let geometry = Geometry::new(1 << bits, 0.25, 256, PAGE_BYTES)?;
        let settings = Settings::new(geometry);
        let aged = PowerOn::Aged { passes: 2 };
        let timing = Timing::TLC;
        let mut timeless = Ftl::new(settings, aged, Timeless)?;
        let mut clocked = Ftl::new(settings, aged, Clock::new(&timing, PAGE_BYTES, 256)?)?;
        let mut drive = Drive::new(settings, aged, &timing)?;
        let cached = timing.with_write_cache(4 << 20);
        let mut cached = Drive::new(settings, aged, &cached)?;
        let member = Settings::new(Geometry::new(1 << (bits - 2), 0.25, 256, PAGE_BYTES)?);
        let members = (0..4)
            .map(|_| Drive::new(member, aged, &timing))
            .collect::<Result<_, _>>()?;
        let mut raid = Raid0::new(members, 128, DiscardSplit::Member)?;
        let mut queues = [Queue::closed(32), Queue::closed(32), Queue::closed(32)];
        let mut least = [f64::INFINITY; 5];
        for seed in 0..5 {
            let [first, second, third] = &mut queues;
            let runs: [Run; 5] = [
                &mut |batch| write(&mut timeless, batch),
                &mut |batch| write(&mut clocked, batch),
                &mut |batch| {
                    drive.write_pages(first, batch, 0);
                },
                &mut |batch| {
                    cached.write_pages(second, batch, 0);
                },
                &mut |batch| {
                    raid.write_pages(third, batch, 0);
                },
            ];
            for (least, run) in least.iter_mut().zip(runs) {
                *least = least.min(measure(1 << bits, seed, run));
            }
        }
        let [without, clock, qd32, cached, raid] = least;
        println!(
            "{:6}K {without:8.1} {clock:6.1} {qd32:6.1} {cached:7.1} {raid:9.1} {:9.2} {:9.2}",
            (1u64 << bits) / 1024,
            clock / without,
            qd32 / without
        );
    }
    Ok(())
}

/// Writes a batch of pages.
type Run<'a> = &'a mut dyn FnMut(&[u32]);

fn write<M: Medium>(ftl: &mut Ftl<M>, batch: &[u32]) {
    ftl.write(batch, 0);
}

/// Nanoseconds per page: the lower quartile of short slices, to exclude interference by other
/// processes. The random numbers cost all runs the same, about one nanosecond.
fn measure(pages: u32, seed: u64, run: Run) -> f64 {
    const SLICES: usize = 100;
    const BATCHES: u32 = 64;
    let mut random = Random::new(seed);
    let mut batch = [0; 512];
    let mut slices: Vec<f64> = (0..SLICES)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..BATCHES {
                batch.fill_with(|| random.below_u32(pages));
                run(&batch);
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCHES * 512)
        })
        .collect();
    slices.sort_by(f64::total_cmp);
    slices[SLICES / 4]
}
