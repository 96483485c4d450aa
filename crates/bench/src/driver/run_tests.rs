//! Whole trials over loopback. Only counts and lower bounds of times are compared, which no load on the machine
//! changes.

use super::journal::{FILE_NAME, Reader, create};
use super::run::{Control, Options, RunError, run};
use super::summary::TrialSummary;
use super::{Ended, Ending, ErrorClass, Progress, Second, Silent, Target};
use crate::testing::{Behaviour, Responder, Stall};
use crate::track::Track;
use bounded_http::Secret;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn track(phases: &str) -> Track {
    format!(
        r#"
        name = "t"
        [generator.g]
        kind = "updates"
        keys = 1000
        [operation.write]
        kind = "bulk"
        generator = "g"
        index = "i"
        documents = 7
        [operation.find]
        kind = "search"
        index = "i"
        body = '{{"from":{{{{n}}}}}}'
        parameters.n = {{ kind = "number", min = 0, max = 9 }}
        [operation.read]
        kind = "get"
        path = "/i/_doc/{{{{k}}}}"
        parameters.k = {{ kind = "key", keys = 10 }}
        {phases}
        "#
    )
    .parse()
    .unwrap()
}

fn target(responder: &Responder) -> Target {
    let address = responder.address();
    Target::new(address.ip().to_string(), address.port())
}

fn options(threads: u32) -> Options {
    Options {
        threads,
        ..Options::default()
    }
}

/// Runs the track on one thread.
fn drive(track: &Track, responder: &Responder) -> TrialSummary {
    drive_into(track, responder, &options(1), io::sink())
}

fn drive_into(
    track: &Track,
    responder: &Responder,
    options: &Options,
    out: impl Write,
) -> TrialSummary {
    let (target, control) = (target(responder), Control::default());
    run(track, &target, options, &control, &mut Silent, out).unwrap()
}

/// The figures in what was written.
fn written(bytes: &[u8]) -> TrialSummary {
    let mut reader = Reader::new(bytes).unwrap();
    TrialSummary::of(&mut reader, |_| ()).unwrap().unwrap()
}

#[test]
fn every_request_is_sent_once_and_counted_in_its_class() {
    let responder = Responder::start(Behaviour {
        errors: vec![(10, 429), (25, 503)],
        refuse_every: Some(3),
        ..Behaviour::default()
    });
    // One after the other, so that it is known which requests the responder refuses.
    let track = track(
        r#"
        [[setup]]
        method = "PUT"
        path = "/i"
        body = "{}"
        [[teardown]]
        method = "DELETE"
        path = "/i"
        [[phase]]
        name = "warm"
        kind = "warm-up"
        load = [{ operation = "read", clients = 1, count = 49 }]
        [[phase]]
        name = "write"
        load = [{ operation = "write", clients = 1, count = 100 }]
        "#,
    );
    let directory = tempfile::tempdir().unwrap();
    let file = create(directory.path()).unwrap();
    let summary = drive_into(&track, &responder, &options(1), file);
    assert_eq!(responder.requests(), 151);
    assert!(summary.is_complete(), "{:?}", summary.end);
    // Number 0 is the setup request, 1 to 49 the warm-up, 50 to 149 the phase. 9, 19, ... get 429, 24, 74, ...
    // (and not 49, 99, ...) 503, and of the rest 2, 5, 8, ... are refused.
    let numbers = 50_u64..150;
    let of = |test: &dyn Fn(u64) -> bool| numbers.clone().filter(|n| test(*n)).count() as u64;
    let too_many = of(&|n| n % 10 == 9);
    let unavailable = of(&|n| n % 25 == 24 && n % 10 != 9);
    let refused = of(&|n| n % 3 == 2 && n % 10 != 9 && n % 25 != 24);
    let class = summary.measured().next().unwrap().class("write").unwrap();
    assert_eq!(class.errors_of(ErrorClass::TooManyRequests), too_many);
    assert_eq!(class.errors_of(ErrorClass::Status5xx), unavailable);
    assert_eq!(class.errors_of(ErrorClass::BulkItems), refused);
    assert_eq!(class.succeeded(), 100 - too_many - unavailable - refused);
    assert_eq!(class.documents_written, 7 * class.succeeded() + 6 * refused);
    assert_eq!(class.documents_rejected, 7 * too_many + refused);
    assert_eq!(class.documents_failed, 7 * unavailable);
    // The warm-up is there, and apart.
    assert_eq!(summary.phases.len(), 2);
    // 9, 19, 29, 39, 49 and 24 failed.
    assert_eq!(summary.phases[0].classes[0].succeeded(), 49 - 5 - 1);
    // The file tells the same.
    assert_eq!(TrialSummary::read(directory.path()).unwrap(), summary);
    let again = create(directory.path()).unwrap_err().to_string();
    assert!(again.contains(FILE_NAME), "{again}");
}

#[test]
fn threads_share_a_load() {
    let responder = Responder::start(Behaviour {
        threads: 2,
        ..Behaviour::default()
    });
    let track = track(
        r#"
        [[phase]]
        name = "p"
        load = [
            { operation = "write", clients = 3, count = 200 },
            { operation = "find", rate = "2k/s", arrivals = "poisson", connections = 5, count = 300 },
        ]
        "#,
    );
    let mut out = Vec::new();
    let summary = drive_into(&track, &responder, &options(3), &mut out);
    let phase = &summary.phases[0];
    assert_eq!(
        (phase.classes[0].succeeded(), phase.classes[1].succeeded()),
        (200, 300)
    );
    assert_eq!(phase.classes[1].lateness.count(), 300);
    assert_eq!(responder.requests(), 500);
    assert_eq!(written(&out), summary);
}

#[test]
fn a_connection_that_ends_is_an_error_and_is_replaced() {
    let responder = Responder::start(Behaviour {
        close_every: Some(10),
        ..Behaviour::default()
    });
    let track = track(
        r#"
        [[phase]]
        name = "p"
        load = [{ operation = "read", clients = 1, count = 100 }]
        "#,
    );
    let summary = drive(&track, &responder);
    let class = &summary.phases[0].classes[0];
    assert_eq!(
        (class.succeeded(), class.errors_of(ErrorClass::Closed)),
        (90, 10)
    );
    // The last one needs no more.
    assert_eq!(class.reconnects, 9);
}

#[test]
fn stalls_are_in_the_latencies_over_a_real_socket() {
    let stall = Stall {
        every: Duration::from_secs(1),
        len: Duration::from_millis(100),
    };
    let responder = Responder::start(Behaviour {
        stall: Some(stall),
        ..Behaviour::default()
    });
    let track = track(
        r#"
        [[phase]]
        name = "p"
        duration = "3s"
        load = [{ operation = "read", rate = "500/s" }]
        "#,
    );
    let summary = drive(&track, &responder);
    let class = &summary.phases[0].classes[0];
    assert_eq!(class.succeeded(), 1500);
    // Whatever else delays requests, these are the least. Two milliseconds lie between two requests.
    let least_ns = |expected: Duration| u64::try_from(expected.as_nanos()).unwrap() * 95 / 100;
    assert!(class.latency.quantile_ns(0.99).unwrap() >= least_ns(stall.quantile(0.99)));
    assert!(class.latency.max_ns() >= least_ns(stall.len));
}

#[test]
fn nothing_is_sent_in_a_pause() {
    let responder = Responder::start(Behaviour::default());
    let track = track(
        r#"
        [[phase]]
        name = "before"
        load = [{ operation = "read", clients = 1, count = 10 }]
        [[phase]]
        name = "after"
        pause = "300ms"
        load = [{ operation = "read", clients = 1, count = 10 }]
        "#,
    );
    let summary = drive(&track, &responder);
    let [before, after] = &summary.phases[..] else {
        panic!("{summary:?}");
    };
    let passed = after
        .start
        .started_at
        .duration_since(before.start.started_at);
    assert!(passed.as_millis() >= 300, "{passed:?}");
    assert_eq!(after.classes[0].succeeded(), 10);
}

/// Stops the trial in its first second.
struct StopSoon(Arc<AtomicBool>);

impl Progress for StopSoon {
    fn second(&mut self, second: &Second<'_>) {
        assert_eq!(second.phase, "p");
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_stopped_trial_keeps_what_was_measured() {
    let responder = Responder::start(Behaviour::default());
    let track = track(
        r#"
        [[phase]]
        name = "p"
        duration = "1h"
        load = [{ operation = "read", rate = "100/s" }]
        [[phase]]
        name = "never"
        duration = "1h"
        load = [{ operation = "read", rate = "100/s" }]
        "#,
    );
    let control = Control::default();
    let mut stop = StopSoon(control.stop.clone());
    let mut out = Vec::new();
    let summary = run(
        &track,
        &target(&responder),
        &options(1),
        &control,
        &mut stop,
        &mut out,
    )
    .unwrap();
    assert_eq!(summary.end.as_ref().unwrap().ended, Ended::Stopped);
    assert_eq!(summary.ending, Ending::Whole);
    assert_eq!(summary.phases.len(), 1);
    let class = &summary.phases[0].classes[0];
    assert!(class.succeeded() > 0);
    // What was sent last may not have been read.
    let received = responder.requests() - class.succeeded();
    assert!(
        received <= class.unfinished.sent,
        "{received} {:?}",
        class.unfinished
    );
    assert_eq!(written(&out), summary);
}

#[test]
fn a_server_that_only_fails_ends_the_trial() {
    let responder = Responder::start(Behaviour {
        errors: vec![(1, 503)],
        ..Behaviour::default()
    });
    let track = track(
        r#"
        [[phase]]
        name = "p"
        duration = "1h"
        load = [{ operation = "read", rate = "100/s" }]
        "#,
    );
    let options = Options {
        silence_max: Duration::from_secs(1),
        timeout: Duration::from_millis(500),
        ..options(1)
    };
    let mut out = Vec::new();
    let summary = drive_into(&track, &responder, &options, &mut out);
    let ended = &summary.end.as_ref().unwrap().ended;
    assert!(
        matches!(ended, Ended::Failed(why) if why.contains("no request succeeded") && why.contains("status 5xx")),
        "{ended:?}"
    );
    // Its errors are kept.
    let read = written(&out);
    assert!(read.phases[0].classes[0].errors_of(ErrorClass::Status5xx) > 0);
    assert_eq!(read, summary);
}

/// A disk with room for a few seconds.
struct SmallDisk<'a> {
    bytes: &'a mut Vec<u8>,
    room: usize,
}

impl Write for SmallDisk<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(self.room - self.bytes.len());
        if len == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.bytes.extend_from_slice(&bytes[..len]);
        Ok(len)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_trial_with_what_was_written() {
    let responder = Responder::start(Behaviour::default());
    let track = track(
        r#"
        [[phase]]
        name = "p"
        duration = "1h"
        load = [{ operation = "read", rate = "200/s" }]
        "#,
    );
    let mut bytes = Vec::new();
    let disk = SmallDisk {
        bytes: &mut bytes,
        room: 20_000,
    };
    let summary = drive_into(&track, &responder, &options(1), disk);
    let ended = &summary.end.as_ref().unwrap().ended;
    assert!(matches!(ended, Ended::WriteFailed(_)), "{ended:?}");
    let read = written(&bytes);
    assert_eq!(read.phases, summary.phases);
    assert!(read.phases[0].classes[0].succeeded() > 0);
    assert!(
        matches!(read.ending, Ending::Cut { .. }),
        "{:?}",
        read.ending
    );
}

#[test]
fn nothing_to_measure_is_an_error_that_says_so() {
    let quick = track(
        r#"
        [[setup]]
        method = "GET"
        path = "/"
        [[phase]]
        name = "p"
        load = [{ operation = "read", clients = 1, count = 1 }]
        "#,
    );
    let go = |target: &Target, options: &Options| {
        run(
            &quick,
            target,
            options,
            &Control::default(),
            &mut Silent,
            io::sink(),
        )
        .unwrap_err()
    };
    let responder = Responder::start(Behaviour {
        errors: vec![(1, 503)],
        ..Behaviour::default()
    });
    let there = target(&responder);
    let error = go(&there, &options(1));
    assert!(matches!(error, RunError::Setup(_)), "{error}");
    assert!(error.to_string().contains("status 503: planted"), "{error}");
    assert!(matches!(go(&there, &options(0)), RunError::Threads(0)));
    drop(responder);
    let error = go(&there, &options(1));
    assert!(matches!(error, RunError::Connect { .. }), "{error}");
    let mut odd = there;
    odd.authorization = Some(Secret::new("a\nb".to_owned()));
    assert!(matches!(go(&odd, &options(1)), RunError::Target(_)));
}
