//! Tests with real servers and real programs.

use super::*;
use bounded_http::testing::{Answer, Server};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use trim::probe::{Probe, Reading};

/// Longer than any test needs on a slow machine; reached only by a test that fails.
const PATIENCE: Duration = Duration::from_secs(30);

fn options() -> StoreProbeOptions {
    StoreProbeOptions {
        requests_per_s: 50.0,
        ..StoreProbeOptions::new(bounded_http::Options::default())
    }
}

fn start(what: &str) -> StoreProbe {
    super::start(what, &options(), SystemClock::start()).unwrap()
}

fn refused(what: &str, options: &StoreProbeOptions) -> CommandError {
    let error = super::start(what, options, SystemClock::start()).err();
    let error = error.expect("an error at once");
    assert!(!error.hints.is_empty(), "{error}");
    error
}

/// The last warning.
type Told = Arc<Mutex<Option<String>>>;

/// Starts a probe and keeps its last warning. The probe's threads hold it, too, until they end.
fn start_told(what: &str, options: &StoreProbeOptions) -> (StoreProbe, Told) {
    let told = Told::default();
    let kept = Arc::clone(&told);
    let mut question = question(what, options).unwrap();
    question.warn = Box::new(move |reason| *kept.lock().unwrap() = Some(reason.to_owned()));
    (launch(question, SystemClock::start()).unwrap(), told)
}

fn words(told: &Told) -> String {
    told.lock().unwrap().clone().unwrap()
}

/// Drains readings until one matches.
fn wait_for(probe: &mut StoreProbe, fits: impl Fn(&Reading) -> bool) -> Reading {
    let start = Instant::now();
    loop {
        if let Some(reading) = probe.drain().into_iter().find(&fits) {
            return reading;
        }
        assert!(start.elapsed() < PATIENCE, "no such reading");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn wait_until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A server that answers, until the flag is set.
fn server_until(then: impl Fn() -> Answer + Send + Sync + 'static) -> (Server, Arc<AtomicBool>) {
    let is_set = Arc::new(AtomicBool::new(false));
    let server = Server::start({
        let is_set = Arc::clone(&is_set);
        move |_| {
            if is_set.load(Ordering::Relaxed) {
                then()
            } else {
                Answer::ok("{}")
            }
        }
    });
    (server, is_set)
}

#[test]
fn a_url_is_told_from_a_command() {
    for (what, url) in [
        ("http://localhost:9200/", true),
        ("HTTPS://es1", true),
        ("ftp://es1", true),
        ("curl -f http://localhost:9200/", false),
        ("/bin/true", false),
        ("localhost:9200", false),
        ("http+unix://u:pw@x", true),
        ("elastic:hunter2@es1:9200", true),
        ("/opt/probe@2/run", false),
        ("mail -s x user@host", false),
    ] {
        assert_eq!(is_url(what), url, "{what}");
    }
}

#[test]
fn a_url_gives_readings_with_the_servers_latency() {
    let pause = Duration::from_millis(30);
    let server = Server::start(move |_| Answer::Slow(pause, Box::new(Answer::ok("{}"))));
    let (mut probe, told) = start_told(&server.url("/_search?q=secret"), &options());
    assert_eq!(probe.label(), server.url("/_search?..."));
    let reading = wait_for(&mut probe, |reading| !reading.pending);
    assert!(!reading.failed && reading.latency >= pause, "{reading:?}");
    assert_eq!(*told.lock().unwrap(), None);
    assert!(server.requests()[0].starts_with("GET /_search?q=secret "));
}

#[test]
fn a_bad_status_is_a_failed_reading_and_its_words_are_kept() {
    let (server, broken) = server_until(|| Answer::Body(503, b"no master".to_vec()));
    let (mut probe, told) = start_told(&server.url("/"), &options());
    broken.store(true, Ordering::Relaxed);
    wait_for(&mut probe, |reading| reading.failed);
    let words = words(&told);
    assert!(words.ends_with("status 503: no master"), "{words}");
    drop(server);
    wait_for(&mut probe, |reading| reading.failed);
}

#[test]
fn a_server_that_stops_answering_is_pending_and_asked_again() {
    let (server, silent) = server_until(|| Answer::Silence);
    let mut probe = start(&server.url("/"));
    silent.store(true, Ordering::Relaxed);
    let first = wait_for(&mut probe, |reading| {
        reading.pending && reading.latency > Duration::from_millis(100)
    });
    // The same request, pending longer by now, and a limited number of others behind it.
    let again = wait_for(&mut probe, |reading| reading.at == first.at);
    assert!(again.pending && again.latency > first.latency);
    let full = Instant::now();
    loop {
        let readings = probe.drain();
        assert!(readings.is_sorted_by_key(|reading| (reading.pending, reading.at)));
        let pending = readings.iter().filter(|reading| reading.pending).count();
        assert!(pending <= WAITING_MAX, "{pending}");
        if pending == WAITING_MAX {
            break;
        }
        assert!(full.elapsed() < PATIENCE, "only {pending} pending");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn an_answer_beyond_the_time_limit_has_failed() {
    let count = AtomicUsize::new(0);
    let server = Server::start(move |_| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::ok("{}"),
        _ => Answer::Silence,
    });
    let options = StoreProbeOptions {
        time_limit: Duration::from_millis(200),
        ..options()
    };
    let (mut probe, told) = start_told(&server.url("/"), &options);
    let reading = wait_for(&mut probe, |reading| reading.failed);
    assert!(reading.latency >= Duration::from_millis(150), "{reading:?}");
    assert!(words(&told).contains("not done within 200ms"));
}

#[test]
fn a_dropped_probe_stops_without_waiting() {
    let (server, silent) = server_until(|| Answer::Silence);
    let options = StoreProbeOptions {
        time_limit: Duration::from_hours(1),
        ..options()
    };
    let (mut probe, told) = start_told(&server.url("/"), &options);
    silent.store(true, Ordering::Relaxed);
    wait_for(&mut probe, |reading| reading.pending);
    drop(probe);
    // The threads end although their responses never arrived.
    wait_until("threads remain", || Arc::strong_count(&told) == 1);
}

#[test]
fn a_url_that_fails_at_once_is_an_error_with_a_way_out() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let error = refused(&format!("http://127.0.0.1:{port}"), &options());
    assert_eq!(error.kind, Kind::Environment);
    assert!(error.message.contains("refused"), "{error}");
    let server = Server::start(|_| Answer::Body(401, Vec::new()));
    let error = refused(&server.url("/"), &options());
    assert_eq!(error.kind, Kind::Environment);
    assert!(error.to_string().contains("TRIMTAB_USER"), "{error}");
    for url in ["https://", "ftp://es1", "http://u:hunter2@es1"] {
        let error = refused(url, &options());
        assert_eq!(error.kind, Kind::Usage);
        assert!(!error.to_string().contains("hunter2"));
    }
}

#[test]
fn a_command_gives_readings() {
    let mut probe = start("sleep 0.02");
    assert_eq!(probe.label(), "sleep ...");
    let reading = wait_for(&mut probe, |reading| !reading.pending);
    assert!(
        !reading.failed && reading.latency >= Duration::from_millis(20),
        "{reading:?}"
    );
}

#[test]
fn a_commands_words_are_split_without_a_shell() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a b");
    std::fs::write(&file, "").unwrap();
    start(&format!("test -f '{}'", file.display()));
    start(&format!(
        "test -f {}",
        file.display().to_string().replace(' ', "\\ ")
    ));
    // No shell: nothing is expanded, nothing is redirected.
    start("test '$HOME' = \"$HOME\"");
    start("test a != b");
    let made = directory.path().join("made");
    refused(&format!("test x > {}", made.display()), &options());
    assert!(!made.exists());
}

#[test]
fn a_command_that_fails_at_once_is_an_error_with_its_last_words() {
    let error = refused(
        "sh -c 'echo first >&2; echo \"no such host\" >&2; echo >&2; exit 3'",
        &options(),
    );
    assert_eq!(error.kind, Kind::Environment);
    assert_eq!(
        error.message,
        "--probe: sh ...: exit status 3: no such host"
    );
    let error = refused("sh -c 'kill -9 $$'", &options());
    assert_eq!(error.message, "--probe: sh ...: killed by signal 9");
    let error = refused("/nonexistent/program x", &options());
    assert!(error.message.contains("cannot be started"), "{error}");
    let error = refused("sh -c 'printf \"\\033[31m\" >&2; exit 1'", &options());
    assert!(!error.message.contains('\u{1b}'), "{error}");
    for what in ["", "  ", "''", "echo 'open", "echo \\"] {
        assert_eq!(refused(what, &options()).kind, Kind::Usage, "{what}");
    }
}

#[test]
fn many_complaints_do_not_hold_a_command_up() {
    let error = refused(
        "sh -c 'yes complaint | head -c 1000000 >&2; exit 1'",
        &options(),
    );
    assert!(
        error.message.ends_with("exit status 1: complaint"),
        "{error}"
    );
}

/// A directory, and a command that writes its PID there and then sleeps if `hang` exists.
fn hanging() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().display();
    let script = format!(
        "sh -c 'if [ -e {path}/hang ]; then sleep 1000 & echo $! > {path}/new; \
         mv {path}/new {path}/pid; wait; fi'"
    );
    (directory, script)
}

/// Whether the process whose PID was written there has exited (or is a zombie).
fn is_gone(directory: &Path) -> bool {
    let pid = std::fs::read_to_string(directory.join("pid")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    stat.map_or(true, |stat| stat.contains(") Z "))
}

#[test]
fn a_command_beyond_its_time_is_killed_with_all_it_started() {
    let (directory, script) = hanging();
    let options = StoreProbeOptions {
        time_limit: Duration::from_millis(500),
        ..options()
    };
    let (mut probe, told) = start_told(&script, &options);
    std::fs::write(directory.path().join("hang"), "").unwrap();
    let reading = wait_for(&mut probe, |reading| reading.failed);
    assert!(reading.latency >= options.time_limit, "{reading:?}");
    assert_eq!(words(&told), "killed: not done within 500ms");
    std::fs::remove_file(directory.path().join("hang")).unwrap();
    wait_until("the program's child lives", || is_gone(directory.path()));
    // The probe continues.
    wait_for(&mut probe, |reading| !reading.failed && !reading.pending);
}

#[test]
fn a_dropped_probe_kills_its_command() {
    let (directory, script) = hanging();
    let (mut probe, told) = start_told(&script, &options());
    std::fs::write(directory.path().join("hang"), "").unwrap();
    wait_until("the program was not started", || {
        directory.path().join("pid").exists()
    });
    wait_for(&mut probe, |reading| reading.pending);
    drop(probe);
    wait_until("the program's child lives", || is_gone(directory.path()));
    wait_until("threads remain", || Arc::strong_count(&told) == 1);
}

#[test]
fn a_command_that_hangs_at_once_meets_its_time() {
    let options = StoreProbeOptions {
        time_limit: Duration::from_millis(200),
        ..options()
    };
    let error = refused("sleep 1000", &options);
    assert!(error.message.contains("not done within 200ms"), "{error}");
}
