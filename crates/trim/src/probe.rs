//! Latency probe of the drives: small random reads at a low rate.
//!
//! The probe is an open loop: reads are due at random times, regardless of earlier ones, so that a
//! stalled drive is seen as often as a store would see it (with one read at a time, a stall of a
//! second would be one reading instead of twenty). The random intervals cannot lock into step with
//! the pass. A drive whose reads all hang ties up a few threads and hides no other drive, because
//! each has its own threads.

mod readings;
pub mod store;

pub use readings::{Reading, Readings};

use crate::clock::Clock;
use rustix::fs::{Mode, OFlags, SeekFrom};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A source of readings that runs alongside the pass.
pub trait Probe {
    /// Returns what it queries: `4 KiB reads of nvme0n1, nvme1n1`, `http://localhost:9200/`.
    fn label(&self) -> String;
    /// Returns the readings since the last call, oldest first; pending ones come last and are
    /// returned again.
    fn drain(&mut self) -> Vec<Reading>;
}

/// Options of a [`DriveProbe`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DriveProbeOptions {
    /// Reads per second, over all drives together.
    pub reads_per_s: f64,
    /// Seed of the offsets and of the intervals' jitter.
    pub seed: u64,
}

impl Default for DriveProbeOptions {
    /// 20 reads per second: too few to load a drive, enough to see anything that lasts 50 ms.
    fn default() -> Self {
        Self {
            reads_per_s: 20.0,
            seed: 0,
        }
    }
}

/// Why the drives cannot be probed.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A drive could not be opened or its size not determined.
    #[error("{path}: {source}")]
    Drive {
        /// Path of the drive.
        path: PathBuf,
        /// Error from the kernel.
        source: io::Error,
    },
    /// The drive is smaller than one read.
    #[error("{path}: {size_bytes} bytes are too few for a read of {read_bytes} bytes")]
    TooSmall {
        /// Path of the drive.
        path: PathBuf,
        /// Size of the drive.
        size_bytes: u64,
        /// Size of one read.
        read_bytes: u64,
    },
}

/// Reads small random blocks of drives (or files) in its own threads, bypassing the page cache.
pub struct DriveProbe {
    label: String,
    shared: Arc<Shared>,
    elapsed: Box<dyn Fn() -> Duration + Send>,
}

impl std::fmt::Debug for DriveProbe {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.label)
    }
}

/// Size of one read: the block size of most stores and filesystems.
const READ_BYTES: u64 = 4096;
/// Offsets and memory are aligned for the largest logical block size of Linux drives.
const LOGICAL_BYTES_MAX: u64 = 64 << 10;
/// Maximum number of pending reads per drive.
const WORKERS_MAX: u64 = 4;
/// How long dropping the probe waits for the drives' descriptors to be closed, if the drives
/// answer: a loop device that is in use cannot be detached.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Notified when the threads should end, or a thread has ended.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    stop: bool,
    threads: usize,
    /// One slot per worker.
    readings: Readings,
    drives: Vec<Schedule>,
}

/// When and where the next read of a drive is due.
#[derive(Debug)]
struct Schedule {
    random: SplitMix64,
    interval_s: f64,
    due: Duration,
    blocks: u64,
}

impl Schedule {
    /// Takes the next read and returns its block.
    fn take(&mut self, now: Duration) -> u64 {
        let jitter = 0.5 + self.random.unit();
        let interval = Duration::from_secs_f64(self.interval_s * jitter);
        // Reads missed while all workers were waiting are not made up for in a burst.
        let late = now.saturating_sub(self.due);
        self.due = if late > interval { now } else { self.due } + interval;
        self.random.below(self.blocks)
    }
}

impl Shared {
    /// A panicking thread leaves no broken invariant behind.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Drive {
    descriptor: Arc<OwnedFd>,
    read_bytes: u64,
    blocks: u64,
}

impl Drive {
    fn open(path: &Path) -> Result<Self, ProbeError> {
        let failed = |error: rustix::io::Errno| ProbeError::Drive {
            path: path.to_owned(),
            source: error.into(),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let descriptor = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
        // A regular file has no logical block size of its own.
        let logical_bytes = rustix::fs::ioctl_blksszget(&descriptor)
            .map_or(READ_BYTES, u64::from)
            .clamp(512, LOGICAL_BYTES_MAX)
            .next_power_of_two();
        let size_bytes = rustix::fs::seek(&descriptor, SeekFrom::End(0)).map_err(failed)?;
        let read_bytes = READ_BYTES.max(logical_bytes);
        let blocks = size_bytes / read_bytes;
        if blocks == 0 {
            return Err(ProbeError::TooSmall {
                path: path.to_owned(),
                size_bytes,
                read_bytes,
            });
        }
        Ok(Self {
            descriptor: Arc::new(descriptor),
            read_bytes,
            blocks,
        })
    }
}

impl DriveProbe {
    /// Opens the drives (`/dev/nvme0n1`) read-only and begins to read.
    ///
    /// # Errors
    /// If a drive cannot be opened for direct reads, or is smaller than one read.
    pub fn start<C: Clock + Clone + Send + 'static>(
        drives: &[PathBuf],
        options: DriveProbeOptions,
        clock: C,
    ) -> Result<Self, ProbeError> {
        let opened: Vec<Drive> = drives
            .iter()
            .map(|path| Drive::open(path))
            .collect::<Result<_, _>>()?;
        let names: Vec<String> = drives
            .iter()
            .map(|path| {
                path.file_name()
                    .unwrap_or(path.as_os_str())
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        let reads_per_s = if options.reads_per_s.is_finite() {
            options.reads_per_s.clamp(0.01, 1000.0)
        } else {
            DriveProbeOptions::default().reads_per_s
        };
        #[allow(clippy::cast_precision_loss)] // a number of drives
        let interval_s = opened.len().max(1) as f64 / reads_per_s;
        // As many as are due within a quarter of a second.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // clamped
        let workers = ((0.25 / interval_s).ceil() as u64).clamp(1, WORKERS_MAX);
        let mut seeds = SplitMix64(options.seed);
        let begun = clock.elapsed();
        let shared = Arc::new(Shared {
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        });
        for (index, drive) in opened.iter().enumerate() {
            let mut random = SplitMix64(seeds.next());
            // Drives take turns at random: each begins somewhere in its first interval.
            let due = begun + Duration::from_secs_f64(interval_s * random.unit());
            shared.lock().drives.push(Schedule {
                random,
                interval_s,
                due,
                blocks: drive.blocks,
            });
            for _ in 0..workers {
                let mut state = shared.lock();
                let slot = state.readings.add_slot();
                state.threads += 1;
                drop(state);
                let worker = Worker {
                    shared: Arc::clone(&shared),
                    descriptor: Arc::clone(&drive.descriptor),
                    read_bytes: drive.read_bytes,
                    drive: index,
                    slot,
                    clock: clock.clone(),
                };
                let spawned = std::thread::Builder::new()
                    .name(format!("probe-{slot}"))
                    .stack_size(256 << 10)
                    .spawn(move || worker.run());
                if let Err(source) = spawned {
                    let mut state = shared.lock();
                    state.threads -= 1;
                    state.stop = true;
                    shared.changed.notify_all();
                    return Err(ProbeError::Drive {
                        path: drives[index].clone(),
                        source,
                    });
                }
            }
        }
        Ok(Self {
            label: format!("4 KiB reads of {}", names.join(", ")),
            shared,
            elapsed: Box::new(move || clock.elapsed()),
        })
    }
}

impl Probe for DriveProbe {
    fn label(&self) -> String {
        self.label.clone()
    }

    fn drain(&mut self) -> Vec<Reading> {
        let mut state = self.shared.lock();
        state.readings.drain((self.elapsed)())
    }
}

impl Drop for DriveProbe {
    /// Ends the threads. A thread that is waiting for a drive ends when the drive answers; it is
    /// not waited for.
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stop = true;
        self.shared.changed.notify_all();
        let _ = self
            .shared
            .changed
            .wait_timeout_while(state, CLOSE_TIMEOUT, |state| state.threads > 0);
    }
}

struct Worker<C> {
    shared: Arc<Shared>,
    descriptor: Arc<OwnedFd>,
    read_bytes: u64,
    drive: usize,
    slot: usize,
    clock: C,
}

impl<C: Clock> Worker<C> {
    fn run(self) {
        // Direct reads need aligned memory, so read into an aligned part of the vector.
        let length = usize::try_from(self.read_bytes).unwrap_or(4096);
        let mut memory = vec![0u8; length * 2];
        let offset = memory.as_ptr().align_offset(length).min(length);
        let buffer = &mut memory[offset..offset + length];
        while let Some((at, block)) = self.next_read() {
            let read = rustix::io::pread(&*self.descriptor, &mut *buffer, block * self.read_bytes);
            let latency = self.clock.elapsed().saturating_sub(at);
            let failed = !matches!(read, Ok(bytes) if bytes == length);
            let mut state = self.shared.lock();
            state.readings.answered(self.slot, latency, failed);
        }
        let Self {
            shared, descriptor, ..
        } = self;
        // Close it before announcing that this thread is gone.
        drop(descriptor);
        shared.lock().threads -= 1;
        shared.changed.notify_all();
    }

    /// Waits until a read is due and takes it; `None` if the probe was dropped.
    fn next_read(&self) -> Option<(Duration, u64)> {
        let mut state = self.shared.lock();
        loop {
            if state.stop {
                return None;
            }
            let now = self.clock.elapsed();
            let due = state.drives[self.drive].due;
            if due <= now {
                let block = state.drives[self.drive].take(now);
                // Start counting now: being woken late is not the drive's fault.
                state.readings.asked(self.slot, now);
                return Some((now, block));
            }
            state = self
                .shared
                .changed
                .wait_timeout(state, due.saturating_sub(now))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// SplitMix64 generator (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
#[derive(Debug, Clone)]
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in `[0, 1)`.
    #[allow(clippy::cast_precision_loss)] // 53 bits
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number in `[0, bound)` (Lemire's multiplication).
    fn below(&mut self, bound: u64) -> u64 {
        #[allow(clippy::cast_possible_truncation)] // below `bound`
        let value = ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64;
        value
    }
}

#[cfg(test)]
mod tests;
