//! A workload beside a trim: reads from a filesystem or allocates in it at a steady rate, and
//! records how long each operation took. `make bench-trim` uses it.
//!
//!     neighbour read FILE RATE_PER_S STOP_FILE >TIMES
//!     neighbour allocate RATE_PER_S BYTES STOP_FILE DIRECTORY... >TIMES
//!
//! It ends when `STOP_FILE` exists. Each line of TIMES is `KIND SECONDS MICROSECONDS`: when the
//! operation was due, on the clock of /proc/uptime, and how long it took. A read is timed from when
//! it was due, so that a stall also counts for the reads it delays (coordinated omission);
//! allocations and fsyncs are timed from their call.

use rustix::fs::{FallocateFlags, Mode, OFlags};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Maximum number of concurrent operations.
const WORKERS: usize = 16;
/// Size of a read.
const READ_BYTES: usize = 4096;

/// A buffer aligned for `O_DIRECT`.
#[repr(align(4096))]
struct Aligned([u8; READ_BYTES]);

/// One operation: its kind, when it was due, how long it took.
struct Timed(&'static str, Instant, Duration);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["read", file, rate, stop] => {
            let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
            let file = rustix::fs::open(*file, flags, Mode::empty())?;
            let blocks = u64::try_from(rustix::fs::fstat(&file)?.st_size)? / READ_BYTES as u64;
            if blocks == 0 {
                return Err("the file is smaller than one block".into());
            }
            steadily(rate.parse()?, Path::new(stop), |tick, due| {
                let mut buffer = Aligned([0; READ_BYTES]);
                let offset = scatter(tick) % blocks * READ_BYTES as u64;
                rustix::io::pread(&file, &mut buffer.0, offset)?;
                Ok(vec![Timed("read", due, due.elapsed())])
            })
        }
        ["allocate", rate, bytes, stop, directories @ ..] if !directories.is_empty() => {
            let bytes = bytes.parse()?;
            steadily(rate.parse()?, Path::new(stop), |tick, due| {
                let directory = directories[usize::try_from(tick)? % directories.len()];
                let path = PathBuf::from(directory).join(format!("neighbour.{tick}"));
                let began = Instant::now();
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = rustix::fs::open(path, flags, Mode::from(0o600))?;
                let created = Instant::now();
                rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
                let allocated = Instant::now();
                rustix::fs::fsync(&file)?;
                Ok(vec![
                    Timed("create", due, created - began),
                    Timed("allocate", due, allocated - created),
                    Timed("fsync", due, allocated.elapsed()),
                ])
            })
        }
        _ => Err("see the head of neighbour.rs for the arguments".into()),
    }
}

/// Maps consecutive numbers to pseudorandom ones (splitmix64).
fn scatter(tick: u64) -> u64 {
    let mut mixed = tick.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Runs an operation `rate_per_s` times a second until `stop` exists, and prints the times.
fn steadily(
    rate_per_s: f64,
    stop: &Path,
    operation: impl Fn(u64, Instant) -> Result<Vec<Timed>, Box<dyn Error>> + Sync,
) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let uptime = std::fs::read_to_string("/proc/uptime")?;
    let start_uptime = uptime.split(' ').next().unwrap_or_default().parse()?;
    let start_uptime = Duration::from_secs_f64(start_uptime);
    let period = Duration::from_secs_f64(1.0 / rate_per_s);
    let next = AtomicU64::new(0);
    let work = || -> Result<Vec<Timed>, String> {
        let mut times = Vec::new();
        loop {
            let tick = next.fetch_add(1, Ordering::Relaxed);
            let ticks = u32::try_from(tick).map_err(|error| error.to_string())?;
            let due = start + period * ticks;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if stop.exists() {
                return Ok(times);
            }
            times.extend(operation(tick, due).map_err(|error| error.to_string())?);
        }
    };
    let mut all = Vec::new();
    std::thread::scope(|scope| -> Result<(), Box<dyn Error>> {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            all.extend(worker.join().map_err(|_| "a worker panicked")??);
        }
        Ok(())
    })?;
    all.sort_by_key(|timed| timed.1);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for Timed(kind, due, took) in all {
        let at = start_uptime + (due - start);
        writeln!(out, "{kind} {:.6} {}", at.as_secs_f64(), took.as_micros())?;
    }
    Ok(out.flush()?)
}
