//! A benchmark that writes: files in sequence, then parts of them at random, and deletes them at the end.
//!
//! It bypasses the page cache, so that its times are the drive's. What it writes cannot be compressed, and no two blocks
//! are alike.

use bench::path_error::{PathError, at};
use linux::folder::Folder;
use rustix::fs::OFlags;
use schemars::JsonSchema;
use serde::Serialize;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Alignment that drives with blocks of 4 KiB ask for.
const ALIGNMENT: usize = 4096;
/// A write in sequence.
const SEQUENTIAL_BYTES: usize = 1 << 20;
/// A write at random, as of a B-tree's page.
const RANDOM_BYTES: usize = 16 << 10;
const FILE_BYTES: u64 = 64 << 20;

/// A benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workload {
    /// Bytes of its files; the same again is overwritten at random.
    pub files_bytes: u64,
    /// Threads, each with one write at a time.
    pub threads: u32,
    /// Seed of the order of random writes, and of what is written.
    pub seed: u64,
}

/// What one run of it measured.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct Iteration {
    /// Bytes written.
    pub written_bytes: u64,
    /// How long that took.
    pub seconds: f64,
    /// Megabytes (10^6 bytes) per second.
    pub mb_s: f64,
    /// Median time of a random write.
    pub p50_s: f64,
    /// 99th percentile of it.
    pub p99_s: f64,
    /// The longest.
    pub max_s: f64,
}

/// Why it could not be run.
#[derive(Debug, Error)]
pub enum WorkloadError {
    /// A file or folder.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The user ended it.
    #[error("stopped")]
    Stopped,
    /// A thread has panicked.
    #[error("a thread of the benchmark failed")]
    Thread,
}

impl Workload {
    /// Runs it in `folder`, whose filesystem takes `O_DIRECT`. What it has written is deleted, and the deletion is on the
    /// disk when it returns; after an error, it is still there.
    ///
    /// # Errors
    /// If it cannot write, or is stopped.
    pub fn run(&self, folder: &Folder, stop: &AtomicBool) -> Result<Iteration, WorkloadError> {
        let threads = u64::from(self.threads.max(1));
        let files = self.files_bytes.div_ceil(FILE_BYTES).max(threads);
        // Many threads on a small filesystem share what there is.
        let sequential = SEQUENTIAL_BYTES as u64;
        let file_bytes = (self.files_bytes / files / sequential).max(1) * sequential;
        let begun = Instant::now();
        let of_thread = |thread: u64| {
            let names: Vec<String> = (0..files)
                .filter(|file| file % threads == thread)
                .map(name)
                .collect();
            write(folder, &names, file_bytes, self.seed ^ (thread << 32), stop)
        };
        let written: Result<Vec<Written>, WorkloadError> = thread::scope(|scope| {
            let running: Vec<_> = (0..threads)
                .map(|thread| scope.spawn(move || of_thread(thread)))
                .collect();
            let ended = running.into_iter().map(thread::ScopedJoinHandle::join);
            ended
                .map(|result| result.map_err(|_| WorkloadError::Thread)?)
                .collect()
        });
        let took = begun.elapsed();
        // Why it could not be written comes before what could not be removed.
        let written = written?;
        for file in 0..files {
            let name = name(file);
            let removed = folder.remove_file(&name);
            removed.map_err(at(&folder.join(&name)))?;
        }
        rustix::fs::syncfs(folder).map_err(|error| at(folder.path())(error.into()))?;
        Ok(iteration(written, took))
    }
}

#[allow(clippy::cast_precision_loss)] // bytes
fn iteration(written: Vec<Written>, took: Duration) -> Iteration {
    let written_bytes = written.iter().map(|one| one.bytes).sum::<u64>();
    let mut random: Vec<Duration> = written.into_iter().flat_map(|one| one.random).collect();
    random.sort_unstable();
    let quantile = |thousandths: usize| {
        let last = random.len().saturating_sub(1);
        let place = (random.len() * thousandths / 1_000).min(last);
        random.get(place).map_or(0.0, Duration::as_secs_f64)
    };
    let seconds = took.as_secs_f64();
    Iteration {
        written_bytes,
        seconds,
        mb_s: written_bytes as f64 / 1e6 / seconds.max(1e-9),
        p50_s: quantile(500),
        p99_s: quantile(990),
        max_s: quantile(1_000),
    }
}

fn name(file: u64) -> String {
    format!("benchmark-{file}")
}

/// What a thread wrote.
struct Written {
    bytes: u64,
    /// Times of random writes.
    random: Vec<Duration>,
}

fn write(
    folder: &Folder,
    names: &[String],
    file_bytes: u64,
    seed: u64,
    stop: &AtomicBool,
) -> Result<Written, WorkloadError> {
    let mut random = Random::new(seed);
    let mut buffer = vec![0_u8; SEQUENTIAL_BYTES + ALIGNMENT];
    let offset = buffer.as_ptr().align_offset(ALIGNMENT);
    let buffer = &mut buffer[offset..offset + SEQUENTIAL_BYTES];
    for word in buffer.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next().to_le_bytes());
    }
    let mut written = Written {
        bytes: 0,
        random: Vec::new(),
    };
    let go_on = || {
        if stop.load(Ordering::Relaxed) {
            return Err(WorkloadError::Stopped);
        }
        Ok(())
    };
    let mut files = Vec::with_capacity(names.len());
    for name in names {
        let path = folder.join(name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::DIRECT;
        let file = folder.open_file(name, flags).map_err(at(&path))?;
        let file = file.ok_or_else(|| at(&path)(io::ErrorKind::NotFound.into()))?;
        for place in (0..file_bytes).step_by(SEQUENTIAL_BYTES) {
            go_on()?;
            stamp(buffer, &mut random);
            file.write_all_at(buffer, place).map_err(at(&path))?;
            written.bytes += SEQUENTIAL_BYTES as u64;
        }
        files.push((path, file));
    }
    let pages = file_bytes / RANDOM_BYTES as u64;
    for _ in 0..pages * files.len() as u64 {
        go_on()?;
        let place = random.next();
        let (path, file) = &files[usize::try_from(place % files.len() as u64).unwrap_or(0)];
        let page = random.next() % pages;
        let bytes = &mut buffer[..RANDOM_BYTES];
        stamp(bytes, &mut random);
        let begun = Instant::now();
        file.write_all_at(bytes, page * RANDOM_BYTES as u64)
            .map_err(at(path))?;
        written.random.push(begun.elapsed());
        written.bytes += RANDOM_BYTES as u64;
    }
    for (path, file) in &files {
        file.sync_all().map_err(at(path))?;
    }
    Ok(written)
}

/// Makes each block of the buffer another one.
fn stamp(buffer: &mut [u8], random: &mut Random) {
    for block in buffer.chunks_exact_mut(ALIGNMENT) {
        block[..8].copy_from_slice(&random.next().to_le_bytes());
    }
}

/// xorshift64 (Marsaglia 2003).
pub(super) struct Random(u64);

impl Random {
    /// Seeds that are neighbours start far from each other (splitmix64's finalizer, Steele et al. 2014).
    pub(super) fn new(seed: u64) -> Self {
        let mut state = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        state = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Self((state ^ (state >> 31)) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}
