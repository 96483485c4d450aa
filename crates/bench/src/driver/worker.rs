//! A thread of the driver: connections, their requests, and a heartbeat.

use super::answer::{Answer, Kind};
use super::clock::Clock;
use super::connection::{Connect, Connection};
use super::framing::Broken;
use super::interval::TailSample;
use super::outcome::ErrorClass;
use super::recorder::{Recorder, Success};
use super::request::Requests;
use super::schedule::{Overdue, Start, Starts};
use super::timer::{Alarm, Timer};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::task::coop::unconstrained;
use tokio::time::Instant;

/// Distance of the heartbeat's timers.
const TICK_NS: u64 = 10_000_000;
/// Time after which an interval is handed on.
const INTERVAL_NS: u64 = 1_000_000_000;
/// Pause of a client of a closed loop that gets no connection, so that it does not ask in an endless loop.
const CONNECT_PAUSE_NS: u64 = 100_000_000;

/// What a connection is doing.
#[derive(Debug, Clone, Copy)]
enum State {
    Nothing,
    /// It waits for this planned start.
    Planned(u64),
    /// It waits for an answer.
    Sent,
}

/// A load of a phase, which all threads share.
pub(super) struct Load {
    pub(super) starts: Starts,
    pub(super) requests: Requests,
    pub(super) kind: Kind,
    pub(super) open: bool,
    /// Connections of all threads.
    pub(super) connections: u32,
}

/// A phase, which all threads share.
pub(super) struct Phase {
    pub(super) clock: Arc<dyn Clock>,
    /// Ends the trial.
    pub(super) stop: Arc<AtomicBool>,
    /// Ends the phase, for a reason that is not the caller's.
    pub(super) abort: AtomicBool,
    /// The clock's time of the phase's start; 0 until it is known.
    pub(super) start_ns: AtomicU64,
    pub(super) loads: Vec<Load>,
    pub(super) threads: u32,
    pub(super) timeout: Duration,
    /// Time since the start at which what is still unanswered is given up.
    pub(super) give_up_ns: u64,
}

/// What a thread leaves unanswered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Left {
    /// Per load: requests that were sent and have no answer.
    pub(super) sent: Vec<u64>,
    /// Per load: requests whose time had come, and that were not sent.
    pub(super) not_sent: Vec<Overdue>,
    /// Whether the time was up.
    pub(super) gave_up: bool,
    /// The end of the last answer, since the phase's start.
    pub(super) last_end_ns: u64,
}

struct Worker<C: Connect> {
    phase: Arc<Phase>,
    connect: C,
    timer: Timer,
    recorder: RefCell<Recorder>,
    start_ns: Cell<u64>,
    /// Per connection: its load, and what it is doing.
    states: RefCell<Vec<(usize, State)>>,
    /// The end of the last answer.
    last_end_ns: Cell<u64>,
}

/// Runs the part of a phase that belongs to thread number `thread`. `ready` is called once it is connected.
pub(super) async fn run<C: Connect>(
    phase: Arc<Phase>,
    connect: C,
    thread: u32,
    timer: Timer,
    recorder: Recorder,
    ready: impl FnOnce(),
) -> Left {
    let worker = Rc::new(Worker {
        states: RefCell::default(),
        last_end_ns: Cell::new(0),
        phase,
        connect,
        timer,
        recorder: RefCell::new(recorder),
        start_ns: Cell::new(0),
    });
    let left = worker.clone().phase(thread, ready).await;
    // All tasks have ended, and none holds the worker any more.
    if let Ok(worker) = Rc::try_unwrap(worker) {
        let now_ns = worker.now_ns();
        worker.recorder.into_inner().finish(now_ns);
    }
    left
}

impl<C: Connect> Worker<C> {
    /// Nanoseconds since the phase's start.
    fn now_ns(&self) -> u64 {
        self.phase
            .clock
            .monotonic_ns()
            .saturating_sub(self.start_ns.get())
    }

    async fn phase(self: Rc<Self>, thread: u32, ready: impl FnOnce()) -> Left {
        let timer = {
            let worker = self.clone();
            tokio::task::spawn_local(async move { worker.timer.run().await })
        };
        let mut opening = Vec::new();
        for (class, load) in self.phase.loads.iter().enumerate() {
            // Connection n belongs to thread n modulo the number of threads.
            let own = (thread..load.connections).step_by(self.phase.threads as usize);
            for _ in own {
                let worker = self.clone();
                let open = tokio::task::spawn_local(async move { worker.open().await });
                opening.push((class, open));
            }
        }
        // All at the same time: a server that does not answer costs one timeout, not one for each.
        let mut connections = Vec::new();
        for (class, open) in opening {
            if self.is_stopped() {
                open.abort();
            }
            connections.push((class, open.await.ok().flatten()));
        }
        ready();
        while self.start_ns.get() == 0 && !self.is_stopped() {
            self.start_ns
                .set(self.phase.start_ns.load(Ordering::Acquire));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let clients: Vec<JoinHandle<()>> = connections
            .into_iter()
            .enumerate()
            .map(|(number, (class, connection))| {
                self.states.borrow_mut().push((class, State::Nothing));
                let client = Client::new(self.clone(), (number, class), connection);
                tokio::task::spawn_local(client.run())
            })
            .collect();
        let gave_up = self.watch(&clients).await;
        timer.abort();
        clients.iter().for_each(JoinHandle::abort);
        let now_ns = self.now_ns();
        for client in clients {
            // Ends with an error if it was aborted; its request is counted below.
            let _ = client.await;
        }
        let _ = timer.await;
        let mut sent = vec![0; self.phase.loads.len()];
        let mut not_sent = vec![Overdue::default(); self.phase.loads.len()];
        for (class, state) in self.states.borrow().iter() {
            match state {
                State::Sent => sent[*class] += 1,
                State::Planned(planned_ns) if *planned_ns <= now_ns => {
                    not_sent[*class].add(*planned_ns);
                }
                State::Planned(_) | State::Nothing => {}
            }
        }
        Left {
            sent,
            not_sent,
            gave_up,
            last_end_ns: self.last_end_ns.get(),
        }
    }

    fn is_stopped(&self) -> bool {
        self.phase.stop.load(Ordering::Relaxed) || self.phase.abort.load(Ordering::Relaxed)
    }

    async fn open(&self) -> Option<Connection<C::Stream>> {
        let open = tokio::time::timeout(self.phase.timeout, self.connect.connect());
        open.await.ok()?.ok()
    }

    /// Beats until all clients have ended, the trial is stopped, or the time is up, which it returns.
    async fn watch(&self, clients: &[JoinHandle<()>]) -> bool {
        // Stopped before it began: there is no time from which beats could be late.
        if self.start_ns.get() == 0 {
            return false;
        }
        let (mut tick_ns, mut flush_ns) = (TICK_NS, INTERVAL_NS);
        loop {
            self.timer
                .sleep_until(self.start_ns.get().saturating_add(tick_ns))
                .await;
            let now_ns = self.now_ns();
            // Each of the beats that a starved thread missed was late by another time.
            while tick_ns <= now_ns {
                self.recorder.borrow_mut().heartbeat(now_ns - tick_ns);
                tick_ns += TICK_NS;
            }
            if now_ns >= flush_ns {
                self.recorder.borrow_mut().flush(now_ns);
                flush_ns = now_ns - now_ns % INTERVAL_NS + INTERVAL_NS;
            }
            if self.is_stopped() || clients.iter().all(JoinHandle::is_finished) {
                return false;
            }
            if now_ns >= self.phase.give_up_ns {
                return true;
            }
        }
    }
}

/// One connection and its requests.
struct Client<C: Connect> {
    worker: Rc<Worker<C>>,
    /// Its place among the connections of the thread.
    number: usize,
    class: usize,
    connection: Option<Connection<C::Stream>>,
    requests: Requests,
    answer: Answer,
    timeout: Pin<Box<tokio::time::Sleep>>,
    free_ns: u64,
}

impl<C: Connect> Client<C> {
    fn new(
        worker: Rc<Worker<C>>,
        (number, class): (usize, usize),
        connection: Option<Connection<C::Stream>>,
    ) -> Self {
        let load = &worker.phase.loads[class];
        Self {
            requests: load.requests.clone(),
            answer: Answer::new(load.kind),
            timeout: Box::pin(tokio::time::sleep(worker.phase.timeout)),
            worker,
            number,
            class,
            connection,
            free_ns: 0,
        }
    }

    async fn run(mut self) {
        let worker = self.worker.clone();
        let load = &worker.phase.loads[self.class];
        while let Some(start) = load.starts.take(self.free_ns) {
            worker.states.borrow_mut()[self.number].1 = State::Planned(start.planned_ns);
            self.requests.prepare(start.sequence);
            // A client of a closed loop begins with the phase, and never waits again.
            if load.open || self.free_ns == 0 {
                self.wait(start.planned_ns).await;
            }
            let error = self.send(start).await;
            worker.states.borrow_mut()[self.number].1 = State::Nothing;
            worker.last_end_ns.set(self.free_ns);
            if let Some(error) = error {
                worker.recorder.borrow_mut().class(self.class).errors[error.index()] += 1;
                if error == ErrorClass::Connect && !load.open {
                    let after_ns = worker.start_ns.get() + self.free_ns + CONNECT_PAUSE_NS;
                    worker.timer.sleep_until(after_ns).await;
                    self.free_ns = worker.now_ns();
                }
            }
        }
    }

    /// Waits for a planned start, and notices meanwhile if the server closes the connection.
    async fn wait(&mut self, planned_ns: u64) {
        let worker = &self.worker;
        let at_ns = worker.start_ns.get().saturating_add(planned_ns);
        let connection = &mut self.connection;
        let mut alarm = Alarm::default();
        poll_fn(|context| {
            if let Some(open) = connection
                && open.poll_ended(context).is_ready()
            {
                *connection = None;
            }
            worker.timer.poll_at(at_ns, &mut alarm, context)
        })
        .await;
    }

    /// Sends a request, and records it if it succeeds. Then the client is free.
    async fn send(&mut self, start: Start) -> Option<ErrorClass> {
        let worker = self.worker.clone();
        if self.connection.is_none() {
            worker.recorder.borrow_mut().class(self.class).reconnects += 1;
            self.connection = worker.open().await;
            // Nobody could send while there was no connection.
            self.free_ns = worker.now_ns();
            if self.connection.is_none() {
                return Some(ErrorClass::Connect);
            }
        }
        let sent_ns = worker.now_ns();
        worker.states.borrow_mut()[self.number].1 = State::Sent;
        let exchanged = self.exchange(sent_ns).await;
        let end_ns = worker.now_ns();
        let waited_since_ns = std::mem::replace(&mut self.free_ns, end_ns);
        let sent_bytes = match exchanged {
            Ok(sent_bytes) => sent_bytes,
            Err(error) => return Some(error),
        };
        let (error, documents) = self.answer.judge();
        let mut recorder = worker.recorder.borrow_mut();
        let class = recorder.class(self.class);
        class.documents_written += documents.written;
        class.documents_rejected += documents.rejected;
        class.documents_failed += documents.failed;
        class.received_bytes += self.answer.len_bytes;
        if error.is_none() {
            class.sent_bytes += sent_bytes;
            let is_open = worker.phase.loads[self.class].open;
            let sample = TailSample {
                sequence: start.sequence,
                planned_ns: if is_open { start.planned_ns } else { sent_ns },
                sent_ns,
                end_ns,
            };
            recorder.success(
                self.class,
                &Success {
                    sample,
                    free_ns: waited_since_ns,
                },
            );
        }
        error
    }

    /// Sends the prepared request, and returns the length of its body once the answer is complete.
    async fn exchange(&mut self, sent_ns: u64) -> Result<u64, ErrorClass> {
        let worker = &self.worker;
        let connection = self.connection.as_mut().ok_or(ErrorClass::Connect)?;
        let timeout = worker.phase.timeout;
        let left = || timeout.saturating_sub(Duration::from_nanos(worker.now_ns() - sent_ns));
        let exchange = connection.exchange(self.requests.message(), &mut self.answer);
        let exchanged = within(left, self.timeout.as_mut(), exchange).await;
        if exchanged.is_none() || !connection.is_open() {
            self.connection = None;
        }
        match exchanged {
            None => Err(ErrorClass::Timeout),
            Some(Err(Broken)) => Err(ErrorClass::Closed),
            Some(Ok(())) => Ok(self.requests.body_bytes()),
        }
    }
}

/// Returns the output of `future`, or `None` once no time is `left`. `timer` is only set anew when it rings, and
/// the clock only read then, which is cheaper than a timer for each request.
async fn within<F: Future>(
    left: impl Fn() -> Duration,
    mut timer: Pin<&mut tokio::time::Sleep>,
    future: F,
) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        // Unconstrained, because a socket that is always ready uses up the task's budget, and then no other timer
        // rings.
        while pin!(unconstrained(timer.as_mut())).poll(context).is_ready() {
            let left = left();
            if left.is_zero() {
                return Poll::Ready(None);
            }
            timer.as_mut().reset(Instant::now() + left);
        }
        Poll::Pending
    })
    .await
}
