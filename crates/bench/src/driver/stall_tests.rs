//! A thread of the driver against a responder with planted stalls, in tokio's time, which stands still while anybody
//! computes: the same on a loaded machine.

use super::answer::Kind;
use super::clock::Clock;
use super::connection::{Connect, Connection};
use super::histogram::Times;
use super::interval::Interval;
use super::outcome::ErrorClass;
use super::recorder::Recorder;
use super::request::Requests;
use super::schedule::Starts;
use super::target::Target;
use super::timer::Timer;
use super::worker::{self, Left, Load, Phase};
use crate::testing::{Answers, Behaviour, Stall, serve};
use crate::track::{Arrivals, Pace, Rate, Source, Track};
use jiff::Timestamp;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use tokio::io::DuplexStream;
use tokio::runtime::LocalOptions;
use tokio::time::Instant;

const SECOND_NS: u64 = 1_000_000_000;
const STALL: Stall = Stall {
    every: Duration::from_secs(1),
    len: Duration::from_millis(100),
};

/// Tokio's time. A starved driver is one whose clock jumps.
struct TokioClock {
    origin: Instant,
    jump_ns: AtomicU64,
}

impl TokioClock {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            origin: Instant::now(),
            jump_ns: AtomicU64::new(0),
        })
    }
}

impl Clock for TokioClock {
    fn monotonic_ns(&self) -> u64 {
        // Not 0, which is no time of a start.
        let elapsed = u64::try_from(self.origin.elapsed().as_nanos()).unwrap();
        elapsed + self.jump_ns.load(Ordering::Relaxed) + 1
    }

    fn wall(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

/// Connections to a responder in the same runtime, through memory.
#[derive(Clone)]
struct InMemory {
    answers: Rc<Answers>,
    /// How long it takes to open one.
    opening: Duration,
}

impl Connect for InMemory {
    type Stream = DuplexStream;

    async fn connect(&self) -> io::Result<Connection<DuplexStream>> {
        let (client, server) = tokio::io::duplex(1 << 16);
        tokio::time::sleep(self.opening).await;
        let answers = self.answers.clone();
        tokio::task::spawn_local(async move {
            let _ = serve(server, &answers, tokio::time::sleep).await;
        });
        Ok(Connection::new(client))
    }
}

fn source() -> Source {
    let track: Track = r#"
        name = "t"
        [operation.get]
        kind = "get"
        path = "/"
        [[phase]]
        name = "p"
        duration = "1s"
        load = [{ operation = "get", clients = 1 }]
        "#
    .parse()
    .unwrap();
    Source::prepare(&track, "get", None, 0).unwrap()
}

/// All times of a class.
#[derive(Default)]
struct Sums {
    latency: Times,
    service: Times,
    lateness: Times,
    own_lateness: Times,
    heartbeat: Times,
    reconnects: u64,
}

struct Setting {
    pace: Pace,
    len_ns: u64,
    drain_ns: u64,
    stall: Option<Stall>,
    /// How often, and by how much, the clock jumps.
    starve: Option<(Duration, u64)>,
    /// How long it takes to open a connection, and every how many requests one is lost.
    opening: Duration,
    close_every: Option<u64>,
}

impl Setting {
    fn open(rate: &str, arrivals: Arrivals, connections: u32) -> Self {
        Self {
            pace: Pace::Open {
                rate: Rate::parse(rate).unwrap(),
                arrivals,
                connections,
            },
            len_ns: 20 * SECOND_NS,
            drain_ns: 60 * SECOND_NS,
            stall: Some(STALL),
            starve: None,
            opening: Duration::ZERO,
            close_every: None,
        }
    }

    /// Runs one thread to the end of the phase.
    fn run(&self) -> (Sums, Left, Arc<Phase>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build_local(LocalOptions::default())
            .unwrap();
        let (intervals, left, phase) = runtime.block_on(self.phase());
        let mut sums = Sums::default();
        for interval in intervals {
            sums.heartbeat.add(&interval.heartbeat);
            let class = &interval.classes[0];
            assert_eq!(
                class.failed() > 0,
                class.errors[ErrorClass::Closed.index()] > 0
            );
            assert_eq!(class.failed() > 0, self.close_every.is_some());
            sums.reconnects += class.reconnects;
            sums.latency.add(&class.latency);
            sums.service.add(&class.service);
            sums.lateness.add(&class.lateness);
            sums.own_lateness.add(&class.own_lateness);
        }
        (sums, left, phase)
    }

    async fn phase(&self) -> (Vec<Box<Interval>>, Left, Arc<Phase>) {
        let clock = TokioClock::new();
        let (connections, open) = match self.pace {
            Pace::Closed { clients } => (clients, false),
            Pace::Open { connections, .. } => (connections, true),
        };
        let start_ns = clock.monotonic_ns() + SECOND_NS;
        let phase = Arc::new(Phase {
            clock: clock.clone(),
            stop: Arc::default(),
            abort: AtomicBool::new(false),
            start_ns: AtomicU64::new(start_ns),
            loads: vec![Load {
                starts: Starts::new(self.pace, 1, u64::MAX, self.len_ns),
                requests: Requests::new(source(), &Target::new("localhost", 1)).unwrap(),
                kind: Kind::Plain,
                open,
                connections,
            }],
            threads: 1,
            timeout: Duration::from_mins(10),
            give_up_ns: self.len_ns + self.drain_ns,
        });
        let answers = Rc::new(Answers::in_tokio_time(Behaviour {
            stall: self.stall,
            close_every: self.close_every,
            ..Behaviour::default()
        }));
        let connect = InMemory {
            answers,
            opening: self.opening,
        };
        let (full, received) = mpsc::channel();
        let (give, spare) = mpsc::channel();
        for _ in 0..200 {
            give.send(Recorder::interval(0, 0, 1)).unwrap();
        }
        let recorder = Recorder::new(vec![open], Recorder::interval(0, 0, 1), spare, full);
        let timer = Timer::of_tokio(clock.clone());
        let run = worker::run(phase.clone(), connect, 0, timer, recorder, || ());
        let left = match self.starve {
            None => run.await,
            Some((every, jump_ns)) => {
                let starve = async {
                    loop {
                        tokio::time::sleep(every).await;
                        clock.jump_ns.fetch_add(jump_ns, Ordering::Relaxed);
                    }
                };
                tokio::select! {
                    left = run => left,
                    () = starve => unreachable!(),
                }
            }
        };
        (received.iter().collect(), left, phase)
    }
}

#[allow(clippy::cast_precision_loss)]
fn ratio(found_ns: u64, expected: Duration) -> f64 {
    found_ns as f64 / expected.as_nanos() as f64
}

#[test]
fn planted_stalls_are_in_the_latencies_of_an_open_loop() {
    for arrivals in [Arrivals::Fixed, Arrivals::Poisson] {
        // The number of connections decides where the waiting is, not how long it is.
        for connections in [1, 8, 64] {
            let (sums, left, _) = Setting::open("1k/s", arrivals, connections).run();
            let latency = &sums.latency;
            assert!(
                latency.count().abs_diff(20_000) < 800,
                "{}",
                latency.count()
            );
            // Tokio's time has a resolution of 1 ms.
            for quantile in [0.95, 0.99] {
                let found = ratio(
                    latency.quantile_ns(quantile).unwrap(),
                    STALL.quantile(quantile),
                );
                assert!(
                    (found - 1.0).abs() < 0.05,
                    "{arrivals:?}, {connections}: {quantile}: {found}"
                );
            }
            let max = ratio(latency.max_ns(), STALL.len);
            assert!(
                (max - 1.0).abs() < 0.05,
                "{arrivals:?}, {connections}: max {max}"
            );
            assert!(latency.quantile_ns(0.5).unwrap() < 3_000_000);
            // Nothing of it is the driver's fault.
            assert!(
                sums.own_lateness.max_ns() < 3_000_000,
                "{}",
                sums.own_lateness.max_ns()
            );
            assert_eq!((left.sent, left.gave_up), (vec![0], false));
        }
    }
}

#[test]
fn a_closed_loop_sees_one_long_request_a_stall() {
    // Why an open loop: each of 20 stalls holds one request of each of 4 clients, however many it delays.
    let setting = Setting {
        pace: Pace::Closed { clients: 4 },
        stall: Some(STALL),
        ..Setting::open("1/s", Arrivals::Fixed, 1)
    };
    // In time that stands still an answer takes none, so a loop without stalls would never end.
    let setting = Setting {
        len_ns: SECOND_NS / 20,
        ..setting
    };
    let (sums, _, _) = setting.run();
    assert_eq!(sums.latency.count(), 4);
    assert_eq!(sums.service.count() + sums.lateness.count(), 0);
    assert!((ratio(sums.latency.max_ns(), STALL.len) - 1.0).abs() < 0.05);
}

#[test]
fn a_slow_server_makes_an_unlimited_queue_whose_waiting_counts() {
    // A server that stands still for 99 % of the time: one connection, 100 planned a second.
    let setting = Setting {
        stall: Some(Stall {
            every: Duration::from_secs(1),
            len: Duration::from_millis(990),
        }),
        ..Setting::open("100/s", Arrivals::Fixed, 1)
    };
    let (sums, left, _) = setting.run();
    // Nothing is dropped.
    assert_eq!(sums.latency.count(), 2000);
    assert_eq!(left.sent, [0]);
    // The service time hides what the latency shows: all but the first of a second's requests are answered at
    // once when the server goes on.
    assert!(sums.service.quantile_ns(0.9).unwrap() < 3_000_000);
    let median = sums.latency.quantile_ns(0.5).unwrap();
    assert!(
        (ratio(median, Duration::from_millis(490)) - 1.0).abs() < 0.05,
        "{median}"
    );
    assert!(sums.own_lateness.max_ns() < 3_000_000);
}

#[test]
fn what_an_overloaded_server_leaves_is_counted() {
    // It answers nothing before a minute has passed; the time for it is up after 30 s.
    let setting = Setting {
        stall: Some(Stall {
            every: Duration::from_hours(1),
            len: Duration::from_mins(50),
        }),
        drain_ns: 10 * SECOND_NS,
        ..Setting::open("10/s", Arrivals::Fixed, 4)
    };
    let (sums, left, phase) = setting.run();
    assert!(left.gave_up);
    assert_eq!(sums.latency.count(), 0);
    assert_eq!(left.sent, [4]);
    let overdue = phase.loads[0].starts.overdue(30 * SECOND_NS);
    assert_eq!(overdue.count, 200 - 4);
    assert_eq!(overdue.first_ns, Some(4 * SECOND_NS / 10));
}

#[test]
fn a_starved_driver_shows_its_own_lateness() {
    // Every 2 s the driver's thread gets no CPU for 300 ms.
    let starved = Setting {
        starve: Some((Duration::from_secs(2), 300_000_000)),
        stall: None,
        ..Setting::open("1k/s", Arrivals::Fixed, 64)
    };
    let (sums, _, _) = starved.run();
    assert_eq!(sums.latency.count(), 20_000);
    let len = Duration::from_millis(300);
    // It is in the latencies and in the lateness, not in the service time.
    for times in [&sums.latency, &sums.lateness, &sums.heartbeat] {
        let max = ratio(times.max_ns(), len);
        assert!((max - 1.0).abs() < 0.05, "{max}");
    }
    assert!(sums.service.quantile_ns(0.99).unwrap() < 3_000_000);
    // 64 connections were free; the requests after those waited for one.
    assert!(ratio(sums.own_lateness.max_ns(), len) > 0.7);
    // 13 % of the time is missing, and so the quantile 0.99 of the lateness is 300 ms - 0.01 x 2.3 s.
    let p99 = sums.lateness.quantile_ns(0.99).unwrap();
    assert!(
        (ratio(p99, Duration::from_millis(277)) - 1.0).abs() < 0.05,
        "{p99}"
    );
}

#[test]
fn opening_a_connection_is_in_the_latency_and_not_in_the_service_time() {
    // Every hundredth request loses its connection, and opening one takes as long as a TLS handshake far away.
    let opening = Duration::from_millis(200);
    let setting = Setting {
        stall: None,
        opening,
        close_every: Some(100),
        ..Setting::open("100/s", Arrivals::Fixed, 1)
    };
    let (sums, _, _) = setting.run();
    // 20 of 2,000 are lost, the last of them at the end.
    assert_eq!((sums.latency.count(), sums.reconnects), (1980, 19));
    assert!(
        sums.service.max_ns() < 3_000_000,
        "{}",
        sums.service.max_ns()
    );
    // The next request is due 10 ms after the one that was lost.
    let max = ratio(sums.latency.max_ns(), opening);
    assert!((max - 1.0).abs() < 0.05, "{max}");
    // It is not the driver that was late.
    assert!(sums.own_lateness.max_ns() < 3_000_000);
}
