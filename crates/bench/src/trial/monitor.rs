//! Watches host and servers while the driver loads: two threads that read counters once a second. A server that
//! answers late delays its own figures only.

use super::series::{HOST_FILE, SERVER_FILE, Table};
use super::server::{self, ServerReader, ServerReading};
use crate::driver::Clock;
use crate::host::others::Others;
use crate::host::rates::Columns;
use crate::host::reading::{Reader, Reading};
use crate::host::summary::Summary;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Time between readings.
const PERIOD: Duration = Duration::from_secs(1);
/// How long the start and the end of what counts wait for a reading.
const PATIENCE: Duration = Duration::from_secs(5);
/// Readings of the servers that fail one after the other until no more are tried.
const FAILURES_MAX: u32 = 10;

pub(super) struct Watch {
    /// The host's counters.
    pub host: Reader,
    /// Processes beside server and driver.
    pub others: Others,
    /// Kernel names of the drives that are watched.
    pub drives: Vec<String>,
    /// The servers, if they can be asked.
    pub server: Option<ServerReader>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
}

/// What was seen within the measured time.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The host's counters.
    pub host: Summary,
    /// CPU shares of processes other than server and driver, by name.
    pub others: Vec<(String, f64)>,
    /// What the kernel's threads used for I/O, as a share of the host's CPU time.
    pub kernel_io: f64,
    /// What the servers counted.
    pub server: BTreeMap<String, f64>,
    /// The most shards that moved at the same time.
    pub relocating: Option<f64>,
    /// By how much the wall clock left the monotonic one, in seconds, where it was furthest.
    pub clock_step_s: f64,
    /// What could not be read or written.
    pub problems: Vec<String>,
}

/// The threads.
pub(super) struct Monitor {
    host: Watcher<HostEye>,
    server: Option<Watcher<ServerEye>>,
}

impl Monitor {
    /// Starts to watch, and writes series to `folder`.
    pub(super) fn start(watch: Watch, folder: &Path) -> io::Result<Self> {
        let columns = Columns::new(watch.drives);
        let eye = HostEye {
            table: Table::create(&folder.join(HOST_FILE), &columns.names())?,
            columns,
            others: watch.others,
            reader: watch.host,
            clock: watch.clock.clone(),
            last: None,
            begun: None,
            sum: Summary::default(),
            step_s: 0.0,
        };
        let host = Watcher::start("host", eye, watch.clock.clone())?;
        let server = match watch.server {
            None => None,
            Some(reader) => {
                let eye = ServerEye {
                    table: Table::create(&folder.join(SERVER_FILE), &server::columns())?,
                    reader,
                    clock: watch.clock.clone(),
                    last: None,
                    first: None,
                    totals: BTreeMap::new(),
                    relocating: None,
                    failures: 0,
                    problem: None,
                };
                Some(Watcher::start("servers", eye, watch.clock)?)
            }
        };
        Ok(Self { host, server })
    }

    /// Begins what counts, and returns when the counters are read.
    pub(super) fn begin(&self) {
        self.order(true);
    }

    /// Ends what counts, and returns when the counters are read: the teardown may delete what they count.
    pub(super) fn end(&self) {
        self.order(false);
    }

    fn order(&self, counts: bool) {
        let told = [
            Some(self.host.order(counts)),
            self.server.as_ref().map(|server| server.order(counts)),
        ];
        for told in told.into_iter().flatten() {
            let _ = told.recv_timeout(PATIENCE);
        }
    }

    /// Ends watching, and returns what was seen.
    pub(super) fn finish(self) -> Seen {
        let mut seen = Seen::default();
        match self.host.finish() {
            Some(eye) => {
                seen.host = eye.sum;
                seen.others = eye.others.shares();
                seen.kernel_io = eye.others.kernel_io();
                seen.clock_step_s = eye.step_s;
                seen.problems.extend(cut_off(HOST_FILE, &eye.table));
            }
            None => seen
                .problems
                .push("the thread that watches the host panicked".to_owned()),
        }
        if let Some(server) = self.server
            && let Some(eye) = server.finish()
        {
            seen.server = eye.totals;
            seen.relocating = eye.relocating;
            seen.problems.extend(cut_off(SERVER_FILE, &eye.table));
            let gap = |problem| format!("the servers' figures have a gap: {problem}");
            seen.problems.extend(eye.problem.map(gap));
        }
        seen
    }
}

fn cut_off(file: &str, table: &Table) -> Option<String> {
    let error = table.failure()?;
    Some(format!("{file} is cut off: {error}"))
}

/// Reads counters when it is told to.
trait Eye: Send + 'static {
    /// Reads now; `counts` says whether this is within what counts.
    fn look(&mut self, counts: bool);
}

/// A thread that looks once a second.
struct Watcher<E> {
    orders: Sender<(bool, Sender<()>)>,
    thread: JoinHandle<E>,
}

impl<E: Eye> Watcher<E> {
    fn start(name: &str, mut eye: E, clock: Arc<dyn Clock>) -> io::Result<Self> {
        let (orders, received) = channel();
        let thread = Builder::new().name(name.to_owned()).spawn(move || {
            watch(&mut eye, clock.as_ref(), &received);
            eye
        })?;
        Ok(Self { orders, thread })
    }

    /// Orders a reading, with which what counts begins or ends; the answer tells when it is done.
    fn order(&self, counts: bool) -> Receiver<()> {
        let (tell, told) = channel();
        // A thread that has ended answers by hanging up.
        let _ = self.orders.send((counts, tell));
        told
    }

    fn finish(self) -> Option<E> {
        drop(self.orders);
        self.thread.join().ok()
    }
}

fn watch(eye: &mut impl Eye, clock: &dyn Clock, orders: &Receiver<(bool, Sender<()>)>) {
    let start_ns = clock.monotonic_ns();
    let passed = || Duration::from_nanos(clock.monotonic_ns().saturating_sub(start_ns));
    let (mut counts, mut next) = (false, PERIOD);
    eye.look(false);
    loop {
        match orders.recv_timeout(next.saturating_sub(passed())) {
            Ok((begins, tell)) => {
                // The reading at the end is the last that counts.
                eye.look(counts || begins);
                counts = begins;
                let _ = tell.send(());
            }
            Err(RecvTimeoutError::Timeout) => {
                eye.look(counts);
                // A reading that took long is followed by the next whole second.
                next = Duration::from_secs(passed().as_secs() + 1);
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

struct HostEye {
    reader: Reader,
    columns: Columns,
    table: Table,
    clock: Arc<dyn Clock>,
    last: Option<Reading>,
    /// Wall and monotonic time at the start of what counts.
    begun: Option<(Timestamp, u64)>,
    sum: Summary,
    others: Others,
    step_s: f64,
}

impl Eye for HostEye {
    fn look(&mut self, counts: bool) {
        let (wall, monotonic_ns) = (self.clock.wall(), self.clock.monotonic_ns());
        let reading = self.reader.read(Duration::from_nanos(monotonic_ns));
        if let Some(before) = &self.last {
            self.table.row(wall, &self.columns.values(before, &reading));
        }
        if counts {
            let (began, began_ns) = *self.begun.get_or_insert((wall, monotonic_ns));
            let passed = Duration::from_nanos(monotonic_ns.saturating_sub(began_ns));
            let step_s = wall.duration_since(began).as_secs_f64() - passed.as_secs_f64();
            if step_s.abs() > self.step_s.abs() {
                self.step_s = step_s;
            }
            if let Some(cpu) = reading.cpu {
                self.others.look(reading.at, cpu);
            }
            self.sum.add(reading.clone());
        }
        self.last = Some(reading);
    }
}

struct ServerEye {
    reader: ServerReader,
    table: Table,
    clock: Arc<dyn Clock>,
    last: Option<ServerReading>,
    /// The first reading that counts.
    first: Option<ServerReading>,
    totals: BTreeMap<String, f64>,
    relocating: Option<f64>,
    failures: u32,
    problem: Option<String>,
}

impl Eye for ServerEye {
    fn look(&mut self, counts: bool) {
        if self.failures >= FAILURES_MAX {
            return;
        }
        let at = Duration::from_nanos(self.clock.monotonic_ns());
        let reading = match self.reader.read(at) {
            Ok(reading) => reading,
            Err(error) => {
                self.failures += 1;
                // Once is enough; the table shows the gap.
                let problem = self.reader.describe(&error);
                self.problem.get_or_insert(problem);
                return;
            }
        };
        self.failures = 0;
        if let Some(before) = &self.last {
            self.table
                .row(self.clock.wall(), &server::values(before, &reading));
        }
        if counts {
            if let Some(count) = reading.relocating() {
                let most = self.relocating.unwrap_or(0.0);
                self.relocating = Some(most.max(count));
            }
            match &self.first {
                None => self.first = Some(reading.clone()),
                Some(first) => self.totals = server::totals(first, &reading),
            }
        }
        self.last = Some(reading);
    }
}
