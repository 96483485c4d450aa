//! Runs a trial.

use super::answer::Kind;
use super::clock::{Clock, SystemClock};
use super::connection::Connect;
use super::head::Frame;
use super::interval::Interval;
use super::journal::{
    Ended, Ending, PhaseEnd, PhaseStart, Record, TrialEnd, TrialStart, Unfinished, Writer,
};
use super::network::Network;
use super::progress::{Next, Progress, Second, Stage};
use super::recorder::Recorder;
use super::request::Requests;
use super::schedule::Starts;
use super::setup;
use super::silence::Silence;
use super::summary::TrialSummary;
use super::target::Target;
use super::timer::Timer;
use super::worker::{self, Left, Load, Phase};
use crate::random::Random;
use crate::track::{self, Operation, Pace, PrepareError, Source, Track, TrackError};
use bounded_http::{ErrorKind, HttpError, TlsFault};
use linux::realtime;
use rustix::process::setpriority_process;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

/// Intervals of a thread beside the one that it fills.
const SPARE_INTERVALS: usize = 2;
/// Time between the last connection and the phase's start, so that all threads begin together.
const START_DELAY_NS: u64 = 20_000_000;
/// How soon a pause notices a stop.
const PAUSE_STEP: Duration = Duration::from_millis(50);
/// Of threads that are preferred where no real-time priority is allowed.
const NICENESS: i32 = -10;
const NOT_IN_TIME: &str = "no connection in time";
/// The most threads.
const THREADS_MAX: u32 = 1024;

/// Options of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Number of threads that send requests: one for each core that the driver may use.
    pub threads: u32,
    /// Time after sending at which a request without a complete answer is an error. Opening a connection may take
    /// as long.
    pub timeout: Duration,
    /// Memory for prepared bulk bodies, shared by all operations.
    pub prepared_bytes_max: u64,
    /// How long after a phase's time requests that are still planned or unanswered may take. What is left then
    /// is counted, and the trial has [`Ended::Overloaded`].
    pub drain_max: Duration,
    /// Time without one request that succeeds after which a server counts as dead if others have failed, which ends the
    /// trial; at least twice [`Options::timeout`].
    pub silence_max: Duration,
    /// Whether the threads that send get the CPU as soon as they can run, if the system allows it: a server on the same
    /// host keeps them from it otherwise, for milliseconds that are taken for its latency.
    pub is_preferred: bool,
}

impl Default for Options {
    /// One thread, 60 s of timeout, 256 MiB of bulk bodies, 60 s to answer what is left, two minutes of silence.
    fn default() -> Self {
        Self {
            threads: 1,
            timeout: Duration::from_mins(1),
            prepared_bytes_max: 256 << 20,
            drain_max: Duration::from_mins(1),
            silence_max: Duration::from_mins(2),
            is_preferred: false,
        }
    }
}

/// What a trial takes from outside.
#[derive(Clone)]
pub struct Control {
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Ends the trial within some hundredths of a second, once it is set. What was measured is kept.
    pub stop: Arc<AtomicBool>,
}

impl Default for Control {
    /// The kernel's clock, and a flag that nobody sets.
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            stop: Arc::default(),
        }
    }
}

/// Why there is no trial.
#[derive(Debug, Error)]
pub enum RunError {
    /// The track cannot be run.
    #[error("{0}")]
    Track(#[from] TrackError),
    /// The requests cannot be prepared.
    #[error("{0}")]
    Prepare(#[from] PrepareError),
    /// No thread, or too many.
    #[error("expected 1 to {THREADS_MAX} threads, found {0}")]
    Threads(u32),
    /// The target's host name or credentials cannot stand in a header.
    #[error("{0}: the host, the path or the credentials hold characters that HTTP does not allow")]
    Target(String),
    /// Nobody answers.
    #[error("{target}: {source}: check that the server runs and its port is reachable")]
    Connect {
        /// The target.
        target: String,
        /// Why.
        source: io::Error,
    },
    /// The server's certificate is not accepted, or TLS failed in another way.
    #[error("{}: {}", .0, .0.hint())]
    Tls(HttpError),
    /// A setup request failed.
    #[error("setup: {0}")]
    Setup(String),
    /// The trial's file could not be begun.
    #[error("cannot write the trial: {0}")]
    Write(io::Error),
    /// The system refused a runtime.
    #[error("cannot start the driver: {0}")]
    Runtime(io::Error),
}

/// Runs a trial, and writes it to `out`: the file made by [`create`](super::create), or a buffer.
///
/// The requests are prepared, setup requests sent, then the phases run, each on `options.threads` threads, and
/// teardown requests follow. Records go to `out` once a second. If it cannot be written any more, the trial ends,
/// and what was written remains readable. The summary is that of the records in `out`.
///
/// # Errors
/// If nothing could be measured: an invalid track, an unreachable server, a failed setup request. Everything that
/// goes wrong after that is in the summary.
pub fn run<W: Write>(
    track: &Track,
    target: &Target,
    options: &Options,
    control: &Control,
    progress: &mut dyn Progress,
    out: W,
) -> Result<TrialSummary, RunError> {
    track.check()?;
    if !(1..=THREADS_MAX).contains(&options.threads) {
        return Err(RunError::Threads(options.threads));
    }
    progress.stage(Stage::Preparing);
    let sources = prepare(track, options)?;
    let runtime = runtime().map_err(RunError::Runtime)?;
    let connect = reach(&runtime, target, options.timeout)?;
    let start = TrialStart {
        track: track.clone(),
        target: target.to_string(),
        threads: options.threads,
        started_at: control.clock.wall(),
        prepared: sources
            .iter()
            .map(|(name, source)| (name.clone(), source.prepared()))
            .collect(),
        timeout_ns: nanos(options.timeout),
    };
    let mut writer = Writer::new(out).map_err(RunError::Write)?;
    writer
        .write(&Record::Start(Box::new(start.clone())))
        .map_err(RunError::Write)?;
    let stopped = || control.stop.load(Ordering::Relaxed);
    // Whoever stops a trial in its setup does not want the rest of it, which may delete an index.
    for request in track.setup.iter().take_while(|_| !stopped()) {
        progress.stage(Stage::Setup(&request.path));
        runtime
            .block_on(setup::send(request, &connect, target, options.timeout))
            .map_err(RunError::Setup)?;
    }
    let mut trial = Trial {
        target,
        options,
        control,
        sources,
        connect,
        writer,
        summary: TrialSummary::new(start),
        first_start_ns: None,
    };
    let mut ended = Ended::Complete;
    for (number, phase) in (0_u32..).zip(&track.phase) {
        if let Some(pause) = phase.pause {
            progress.stage(Stage::Pause(pause.duration()));
            let until = Instant::now() + pause.duration();
            while Instant::now() < until && !stopped() {
                thread::sleep(PAUSE_STEP.min(until.saturating_duration_since(Instant::now())));
            }
        }
        if let Err(other) = trial.phase(number, phase, progress) {
            ended = other;
            break;
        }
    }
    let mut teardown_failures = Vec::new();
    for request in &track.teardown {
        progress.stage(Stage::Teardown(&request.path));
        let sent = setup::send(request, &trial.connect, target, options.timeout);
        teardown_failures.extend(runtime.block_on(sent).err());
    }
    Ok(trial.end(TrialEnd {
        ended,
        teardown_failures,
    }))
}

/// Prepares the operations that are used.
fn prepare(track: &Track, options: &Options) -> Result<BTreeMap<String, Source>, PrepareError> {
    let mut counts: BTreeMap<&str, Option<u64>> = BTreeMap::new();
    for load in track.phase.iter().flat_map(|phase| &phase.load) {
        let count = load.count.map(|count| count.0);
        counts
            .entry(&load.operation)
            // Without a count, any number may be needed.
            .and_modify(|max| *max = max.zip(count).map(|(max, count)| max.max(count)))
            .or_insert(count);
    }
    let is_prepared = |name: &&&str| {
        track
            .operation
            .get(**name)
            .is_some_and(Operation::is_prepared)
    };
    let prepared = counts.keys().filter(is_prepared).count().max(1) as u64;
    counts
        .into_iter()
        .map(|(name, count)| {
            let source =
                Source::prepare(track, name, count, options.prepared_bytes_max / prepared)?;
            Ok((name.to_owned(), source))
        })
        .collect()
}

fn runtime() -> io::Result<LocalRuntime> {
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build_local(LocalOptions::default())
}

/// Finds the address at which the server answers.
fn reach(runtime: &LocalRuntime, target: &Target, timeout: Duration) -> Result<Network, RunError> {
    let failed = |source| RunError::Connect {
        target: target.to_string(),
        source,
    };
    if Frame::new(target, "GET", None).is_none() {
        return Err(RunError::Target(target.to_string()));
    }
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in target.addresses().map_err(failed)? {
        let invalid = || RunError::Target(target.to_string());
        let connect = target.network(address).ok_or_else(invalid)?;
        match runtime.block_on(async { tokio::time::timeout(timeout, connect.connect()).await }) {
            Ok(Ok(_)) => return Ok(connect),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::Error::new(io::ErrorKind::TimedOut, NOT_IN_TIME),
        }
    }
    Err(match TlsFault::of(&last) {
        Some(fault) => RunError::Tls(HttpError {
            request: target.to_string(),
            kind: ErrorKind::Tls(fault),
        }),
        None => failed(last),
    })
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A trial in progress.
struct Trial<'a, W> {
    target: &'a Target,
    options: &'a Options,
    control: &'a Control,
    sources: BTreeMap<String, Source>,
    connect: Network,
    writer: Writer<W>,
    summary: TrialSummary,
    /// The clock's time of the first phase's start.
    first_start_ns: Option<u64>,
}

impl<W: Write> Trial<'_, W> {
    /// Writes a record. An error ends the trial.
    fn write(&mut self, record: &Record) -> Result<(), Ended> {
        self.writer
            .write(record)
            .map_err(|error| Ended::WriteFailed(error.to_string()))
    }

    /// Runs a phase to its end; the error is why the trial ends with it.
    fn phase(
        &mut self,
        number: u32,
        of: &track::Phase,
        progress: &mut dyn Progress,
    ) -> Result<(), Ended> {
        progress.stage(Stage::Phase {
            name: &of.name,
            kind: of.kind,
        });
        let phase = self.shared(number, of)?;
        let ready = AtomicU32::new(0);
        thread::scope(|scope| {
            let (full, received) = mpsc::channel();
            let mut spares = Vec::new();
            let mut threads = Vec::new();
            for number_of in 0..self.options.threads {
                let (give, spare) = mpsc::channel();
                let interval = || Recorder::interval(number, number_of, phase.loads.len());
                for _ in 0..SPARE_INTERVALS {
                    let _ = give.send(interval());
                }
                spares.push(give);
                let open = phase.loads.iter().map(|load| load.open).collect();
                let recorder = Recorder::new(open, interval(), spare, full.clone());
                let (phase, connect, ready) = (phase.clone(), self.connect.clone(), &ready);
                let is_preferred = self.options.is_preferred;
                threads.push(scope.spawn(move || {
                    if is_preferred && realtime::prefer_this_thread().is_err() {
                        // Of this thread alone (setpriority(2)). Without either, what it waits makes the trial INVALID.
                        let _ = setpriority_process(None, NICENESS);
                    }
                    work(&phase, connect, number_of, recorder, || {
                        ready.fetch_add(1, Ordering::Release);
                    })
                }));
            }
            drop(full);
            let finished = || threads.iter().any(thread::ScopedJoinHandle::is_finished);
            while ready.load(Ordering::Acquire) < self.options.threads && !finished() {
                thread::sleep(Duration::from_millis(1));
            }
            let mut result = self.begin(number, of, &phase);
            result = result.and_then(|()| self.collect(of, &phase, &received, &spares, progress));
            if result.is_err() {
                phase.abort.store(true, Ordering::Relaxed);
            }
            let mut left = Vec::new();
            for thread in threads {
                match thread.join() {
                    Ok(Ok(of_thread)) => left.push(of_thread),
                    Ok(Err(error)) => result = result.and(Err(Ended::Failed(error.to_string()))),
                    Err(_) => {
                        let ended = Ended::Failed("a thread of the driver panicked".to_owned());
                        result = result.and(Err(ended));
                    }
                }
            }
            // What the threads measured until they noticed.
            for interval in received.try_iter() {
                result = result.and_then(|()| self.add(&interval));
            }
            result.and_then(|()| self.finish(number, of, &phase, &left))
        })
    }

    /// Makes what the threads of a phase share.
    fn shared(&self, number: u32, of: &track::Phase) -> Result<Arc<Phase>, Ended> {
        let len_ns = of.duration.map_or(u64::MAX, track::Span::nanos);
        let drain_ns = nanos(self.options.drain_max.max(self.options.timeout));
        let mut give_up_ns = 0;
        let mut loads = Vec::new();
        for load in &of.load {
            let invalid = || Ended::Failed(format!("operation {} is not valid", load.operation));
            let source = self.sources.get(&load.operation).ok_or_else(invalid)?;
            let pace = load.pace().ok_or_else(invalid)?;
            let count = load.count.map_or(u64::MAX, |count| count.0);
            // Each phase has planned starts of its own.
            let seed = Random::seed_of(source.seed, &number.to_string());
            let (connections, open) = match pace {
                Pace::Closed { clients } => (clients, false),
                Pace::Open { connections, .. } => (connections, true),
            };
            give_up_ns =
                give_up_ns.max(planned_ns(pace, count).min(len_ns).saturating_add(drain_ns));
            loads.push(Load {
                starts: Starts::new(pace, seed, count, len_ns),
                kind: match source.body {
                    track::Body::None => Kind::Plain,
                    track::Body::Template(_) => Kind::Search,
                    track::Body::Ring(_) => Kind::Bulk {
                        documents: source.documents,
                    },
                },
                requests: Requests::new(source.clone(), self.target).ok_or_else(invalid)?,
                open,
                connections,
            });
        }
        Ok(Arc::new(Phase {
            clock: self.control.clock.clone(),
            stop: self.control.stop.clone(),
            abort: AtomicBool::new(false),
            start_ns: AtomicU64::new(0),
            loads,
            threads: self.options.threads,
            timeout: self.options.timeout,
            give_up_ns,
        }))
    }

    /// Records the start of a phase, and starts it.
    fn begin(&mut self, number: u32, of: &track::Phase, phase: &Phase) -> Result<(), Ended> {
        let start_ns = phase.clock.monotonic_ns() + START_DELAY_NS;
        let start = PhaseStart {
            phase: number,
            name: of.name.clone(),
            kind: of.kind,
            operations: of.load.iter().map(|load| load.operation.clone()).collect(),
            open: phase.loads.iter().map(|load| load.open).collect(),
            started_at: phase.clock.wall(),
            offset_ns: start_ns - *self.first_start_ns.get_or_insert(start_ns),
        };
        self.write(&Record::PhaseStart(start.clone()))?;
        self.summary.begin_phase(start);
        phase.start_ns.store(start_ns, Ordering::Release);
        Ok(())
    }

    /// Writes what the threads measure until all have ended.
    fn collect(
        &mut self,
        of: &track::Phase,
        phase: &Phase,
        received: &Receiver<Box<Interval>>,
        spares: &[Sender<Box<Interval>>],
        progress: &mut dyn Progress,
    ) -> Result<(), Ended> {
        let start_ns = phase.start_ns.load(Ordering::Acquire);
        let mut next = Next::new(of.load.iter().map(|load| load.operation.clone()));
        let mut silence = Silence::new(self.options.silence_max.max(2 * self.options.timeout));
        let mut tell = |next: &mut Next, elapsed_ns, covered_ns| {
            progress.second(&Second {
                phase: &of.name,
                kind: of.kind,
                elapsed_ns,
                covered_ns,
                len_ns: of.duration.map(track::Span::nanos),
                classes: &next.classes,
            });
            next.told(covered_ns);
        };
        let elapsed_ns = || phase.clock.monotonic_ns().saturating_sub(start_ns);
        loop {
            let now_ns = elapsed_ns();
            if next.due_in_ns(now_ns) == 0 {
                let covered_ns = next.covered_ns(now_ns);
                tell(&mut next, now_ns, covered_ns);
            }
            let wait = Duration::from_nanos(next.due_in_ns(elapsed_ns()));
            match received.recv_timeout(wait) {
                Ok(interval) => {
                    self.add(&interval)?;
                    next.add(&interval);
                    if let Some(found) = silence.add(&interval) {
                        return Err(Ended::Failed(found));
                    }
                    if let Some(give) = spares.get(interval.thread as usize) {
                        // A thread that has ended needs no more.
                        let _ = give.send(interval);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let now_ns = elapsed_ns();
                    if let Some(covered_ns) = next.last_covered_ns(now_ns) {
                        tell(&mut next, now_ns, covered_ns);
                    }
                    return Ok(());
                }
            }
        }
    }

    /// Writes an interval, and adds it up if that succeeds.
    fn add(&mut self, interval: &Interval) -> Result<(), Ended> {
        self.writer
            .write_interval(interval)
            .map_err(|error| Ended::WriteFailed(error.to_string()))?;
        self.summary.add(interval);
        Ok(())
    }

    /// Records the end of a phase.
    fn finish(
        &mut self,
        number: u32,
        of: &track::Phase,
        phase: &Phase,
        left: &[Left],
    ) -> Result<(), Ended> {
        let start_ns = phase.start_ns.load(Ordering::Acquire);
        let now_ns = phase.clock.monotonic_ns().saturating_sub(start_ns);
        let stopped = phase.stop.load(Ordering::Relaxed);
        let gave_up = left.iter().any(|of_thread| of_thread.gave_up);
        let last_end_ns = left
            .iter()
            .map(|of_thread| of_thread.last_end_ns)
            .max()
            .unwrap_or(0);
        let by_time = of.load.iter().any(|load| load.count.is_none());
        let len_ns = match of.duration {
            _ if stopped || gave_up => now_ns,
            Some(duration) if by_time => duration.nanos().max(last_end_ns),
            _ => last_end_ns,
        };
        let unfinished = phase
            .loads
            .iter()
            .enumerate()
            .map(|(class, load)| {
                let mut overdue = load.starts.overdue(now_ns);
                for of_thread in left {
                    overdue.add_all(of_thread.not_sent[class]);
                }
                Unfinished {
                    sent: left.iter().map(|of_thread| of_thread.sent[class]).sum(),
                    not_sent: overdue.count,
                    oldest_ns: overdue
                        .first_ns
                        .map_or(0, |first_ns| now_ns.saturating_sub(first_ns)),
                }
            })
            .collect();
        let end = PhaseEnd {
            phase: number,
            len_ns,
            unfinished,
        };
        self.write(&Record::PhaseEnd(end.clone()))?;
        self.summary.end_phase(&end);
        match (stopped, gave_up) {
            (true, _) => Err(Ended::Stopped),
            (false, true) => Err(Ended::Overloaded),
            (false, false) => Ok(()),
        }
    }

    /// Records the end of the trial.
    fn end(mut self, mut end: TrialEnd) -> TrialSummary {
        // After a failed write a part of a record may stand at the end, and nothing can follow it.
        let writable = !matches!(end.ended, Ended::WriteFailed(_));
        if writable && let Err(failed) = self.write(&Record::End(end.clone())) {
            end.ended = failed;
        }
        self.summary.ending = match end.ended {
            Ended::WriteFailed(_) => Ending::NoEnd,
            _ => Ending::Whole,
        };
        self.summary.end = Some(end);
        self.summary
    }
}

/// When the last request of a load is planned, at the latest; `u64::MAX` if nobody knows.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss
)] // saturates
fn planned_ns(pace: Pace, count: u64) -> u64 {
    match pace {
        Pace::Closed { .. } => u64::MAX,
        Pace::Open { rate, .. } => {
            let count = count as f64;
            // A Poisson process is later than ten standard deviations once in 10^23 trials.
            ((count + 10.0 * count.sqrt()) / rate.per_s() * 1e9) as u64
        }
    }
}

/// A thread of a phase.
fn work(
    phase: &Arc<Phase>,
    connect: Network,
    thread: u32,
    recorder: Recorder,
    ready: impl FnOnce(),
) -> io::Result<Left> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let timer = Timer::new(phase.clock.clone())?;
        Ok(worker::run(phase.clone(), connect, thread, timer, recorder, ready).await)
    })
}
