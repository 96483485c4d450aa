//! What the store itself feels: `--probe URL|COMMAND` asks it at a low rate beside the pass.
//!
//! Like the probe of the drives it is an open loop: requests to a URL are due at moments of their
//! own, whatever became of the earlier ones, so that a stop of the store is seen as often as its
//! users would see it. A command is run once at a time: nobody knows whether two of it would get on.

mod command;
mod green;

#[cfg(test)]
mod tests;

pub use green::require_green;

use crate::error::{CommandError, Kind};
use command::CommandProbe;
use http::{Client, Credentials, CredentialsError, Endpoint, HttpError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use trim::clock::Clock;
use trim::probe::{Probe, Reading, Readings};

/// Requests to a URL that may wait at the same time.
const WAITING_MAX: usize = 4;
/// A store that fails again and again is told of once in this time.
const WARN_EVERY: Duration = Duration::from_mins(1);

/// How a store is asked.
#[derive(Debug, Clone)]
pub struct StoreProbeOptions {
    /// Requests a second.
    pub requests_per_s: f64,
    /// After this time an answer counts as failed, and a command is killed.
    pub time_limit: Duration,
    /// Credentials and trust for URLs; its deadline is replaced by `time_limit`.
    pub http: http::Options,
}

impl StoreProbeOptions {
    /// Two requests a second, ten seconds for each.
    pub fn new(http: http::Options) -> Self {
        Self {
            requests_per_s: 2.0,
            time_limit: Duration::from_secs(10),
            http,
        }
    }
}

/// Credentials and trust: those of the files, where given (or named by `TRIMTAB_CREDENTIALS_FILE`
/// and `TRIMTAB_CA_FILE`), and otherwise `TRIMTAB_USER` and its like.
///
/// # Errors
/// Where they do not fit together, or others can read the file.
pub fn http_options(
    credentials_file: Option<&Path>,
    ca_file: Option<&Path>,
) -> Result<http::Options, CommandError> {
    let named = |flag: Option<&Path>, variable| {
        let set = || std::env::var_os(variable).filter(|name| !name.is_empty());
        flag.map(Path::to_owned)
            .or_else(|| set().map(PathBuf::from))
    };
    let credentials = match named(credentials_file, "TRIMTAB_CREDENTIALS_FILE") {
        Some(path) => Credentials::from_file(&path),
        None => Credentials::from_environment(|name| std::env::var_os(name)),
    };
    Ok(http::Options {
        credentials: credentials.map_err(|error| credentials_error(&error))?,
        ca_file: named(ca_file, "TRIMTAB_CA_FILE"),
        ..http::Options::default()
    })
}

fn credentials_error(error: &CredentialsError) -> CommandError {
    CommandError::new(Kind::Environment, error.to_string()).hint(error.hint())
}

fn http_error(error: &HttpError) -> CommandError {
    CommandError::new(Kind::Environment, error.to_string()).hint(error.hint())
}

/// A URL that is given to an option.
///
/// # Errors
/// A usage error that shows nothing of a password in it.
pub fn parse_endpoint(text: &str, option: &str) -> Result<Endpoint, CommandError> {
    Endpoint::parse(text).map_err(|error| {
        CommandError::new(Kind::Usage, format!("{option}: {error}"))
            .hint("for example http://localhost:9200/")
    })
}

fn warn_of_clear_secrets(client: &Client, endpoint: &Endpoint) {
    if client.sends_secrets_in_clear(endpoint) {
        tracing::warn!("{endpoint}: the credentials travel unencrypted (https:// would hide them)");
    }
}

/// Asks one thing once; shared by the threads that ask.
trait Ask: Send + Sync {
    /// Waits for the answer. An error says in one line what was wrong with it.
    fn ask(&self) -> Result<(), String>;
    /// Makes every call of [`Self::ask`] return soon, now and later.
    fn abort(&self);
}

struct UrlProbe {
    client: Client,
    endpoint: Endpoint,
}

impl UrlProbe {
    fn open(text: &str, options: &StoreProbeOptions) -> Result<Self, CommandError> {
        let endpoint = parse_endpoint(text, "--probe")?;
        let client = Client::new(http::Options {
            deadline: options.time_limit,
            ..options.http.clone()
        })
        .map_err(|error| http_error(&error))?;
        warn_of_clear_secrets(&client, &endpoint);
        // Connects, so that no later reading holds what a first connection takes.
        let first = client.get(&endpoint, "").and_then(http::Response::success);
        match first {
            Ok(_) => Ok(Self { client, endpoint }),
            Err(error) => {
                let mut found = http_error(&error);
                found.message = format!("--probe: {}", found.message);
                Err(found)
            }
        }
    }
}

impl Ask for UrlProbe {
    fn ask(&self) -> Result<(), String> {
        let answer = self.client.get(&self.endpoint, "");
        match answer.and_then(http::Response::success) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn abort(&self) {
        self.client.shut_down();
    }
}

/// Readings of a store, made in threads of their own.
pub struct StoreProbe {
    shared: Arc<Shared>,
    elapsed: Box<dyn Fn() -> Duration + Send>,
}

struct Shared {
    label: String,
    ask: Box<dyn Ask>,
    interval: Duration,
    state: Mutex<State>,
    /// The probe was dropped.
    stopped: Condvar,
}

#[derive(Default)]
struct State {
    stop: bool,
    /// A slot for each thread.
    readings: Readings,
    due: Duration,
    /// Requests so far.
    count: u32,
    /// When somebody was last told of a failure, and its words.
    told: Option<(Duration, String)>,
}

impl Shared {
    /// A thread that panicked took no invariant with it.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreProbe {
    /// Asks once and waits for the answer; then asks at the rate of the options, beside the caller.
    ///
    /// # Errors
    /// Where `what` is neither a URL nor a command, or fails at once: a usage or environment error
    /// with the way out.
    pub fn start<C: Clock + Clone + Send + 'static>(
        what: &str,
        options: &StoreProbeOptions,
        clock: C,
    ) -> Result<Self, CommandError> {
        let (ask, label, threads): (Box<dyn Ask>, _, _) = if is_url(what) {
            let probe = UrlProbe::open(what, options)?;
            let label = probe.endpoint.to_string();
            (Box::new(probe), label, WAITING_MAX)
        } else {
            let probe = CommandProbe::open(what, options.time_limit)?;
            let label = probe.label();
            (Box::new(probe), label, 1)
        };
        let per_s = options.requests_per_s;
        let per_s = if per_s.is_finite() {
            per_s.clamp(0.01, 100.0)
        } else {
            2.0
        };
        let shared = Arc::new(Shared {
            label,
            ask,
            interval: Duration::from_secs_f64(1.0 / per_s),
            state: Mutex::new(State {
                due: clock.elapsed(),
                ..State::default()
            }),
            stopped: Condvar::new(),
        });
        let clocks = vec![clock.clone(); threads];
        // Made now: should a thread be refused, dropping it ends the others.
        let probe = Self {
            shared: Arc::clone(&shared),
            elapsed: Box::new(move || clock.elapsed()),
        };
        for clock in clocks {
            let slot = shared.lock().readings.add_slot();
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name(format!("store-probe-{slot}"))
                .spawn(move || work(&shared, slot, &clock))
                .map_err(|error| {
                    CommandError::new(Kind::Environment, format!("--probe: no thread: {error}"))
                        .hint("check the limit of processes: ulimit -u, TasksMax=")
                })?;
        }
        Ok(probe)
    }
}

/// Whether it is meant as a URL: a scheme and `://`, or a first word with an `@`, as in a URL whose
/// scheme was forgotten. The latter is then refused without being repeated: a password may stand
/// before the `@`.
pub fn is_url(what: &str) -> bool {
    let what = what.trim_start();
    let first = what.split_whitespace().next().unwrap_or_default();
    let has_scheme = first.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    });
    has_scheme || (first.contains('@') && !first.contains('/'))
}

impl Probe for StoreProbe {
    fn label(&self) -> String {
        self.shared.label.clone()
    }

    fn drain(&mut self) -> Vec<Reading> {
        let mut state = self.shared.lock();
        state.readings.drain((self.elapsed)())
    }
}

impl Drop for StoreProbe {
    /// Ends the threads, with what they wait for; nobody waits for them.
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.stopped.notify_all();
        self.shared.ask.abort();
    }
}

fn work(shared: &Shared, slot: usize, clock: &impl Clock) {
    while let Some(at) = next_request(shared, slot, clock) {
        let answer = shared.ask.ask();
        let latency = clock.elapsed().saturating_sub(at);
        let mut state = shared.lock();
        state.readings.answered(slot, latency, answer.is_err());
        let Err(reason) = answer else { continue };
        // What was ended together with the probe has not failed.
        let news = match &state.told {
            Some((told, _)) => clock.elapsed().saturating_sub(*told) >= WARN_EVERY,
            None => true,
        };
        if news && !state.stop {
            tracing::warn!("--probe {}: {reason}", shared.label);
            state.told = Some((clock.elapsed(), reason));
        }
    }
}

/// Waits until a request is due and takes it; `None` where the probe was dropped.
fn next_request(shared: &Shared, slot: usize, clock: &impl Clock) -> Option<Duration> {
    /// Fractions of its multiples fill an interval evenly and never repeat (Weyl, 1916).
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let mut state = shared.lock();
    loop {
        if state.stop {
            return None;
        }
        let now = clock.elapsed();
        if state.due <= now {
            state.count = state.count.wrapping_add(1);
            // Uneven intervals, so that they cannot keep step with the pass.
            let jitter = 0.5 + (f64::from(state.count) * GOLDEN).fract();
            let interval = shared.interval.mul_f64(jitter);
            // What nobody could send, as all threads waited, is not sent later in a burst.
            let late = now.saturating_sub(state.due);
            state.due = if late > interval { now } else { state.due } + interval;
            // Sent now: how late this thread was woken is no fault of the store.
            state.readings.asked(slot, now);
            return Some(now);
        }
        let left = state.due.saturating_sub(now);
        state = shared
            .stopped
            .wait_timeout(state, left)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
}
