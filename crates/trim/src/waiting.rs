//! Waits for a window, and keeps `--status` informed meanwhile.

use crate::clock::Clock;
use crate::events::{EventSink, SessionEvent};
use crate::pass::{Closed, Ended, Gate, requested_end};
use crate::state::{Checkpoint, Phase, State, StateError};
use crate::stop::Stop;
use crate::target::Target;
use crate::window::Windows;
use jiff::Timestamp;
use std::time::Duration;

/// How often a closed window is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// Prefix of the remark in a checkpoint whose pass waits for its window.
const WAITING: &str = "waiting, ";

/// Result of a wait for a window.
#[derive(Debug, PartialEq)]
pub enum Waited {
    /// The window is open.
    Open,
    /// The wait was ended.
    Ended(Ended),
}

/// A pass that has not begun to work or has not been resumed yet.
#[derive(Clone, Copy)]
pub(crate) struct Pending<'a> {
    /// The filesystem to trim.
    pub(crate) target: &'a Target,
    /// The checkpoint to resume from.
    pub(crate) resume: Option<&'a Checkpoint>,
    /// Store of checkpoints.
    pub(crate) state: &'a State,
    /// Stop requests.
    pub(crate) stop: &'a Stop,
    /// The clock.
    pub(crate) clock: &'a dyn Clock,
}

impl Pending<'_> {
    /// Waits until a window opens, while watching the stop flag and the deadline. `time_left` is
    /// the time until the deadline.
    ///
    /// # Errors
    /// If the checkpoint for `--status` cannot be written.
    pub(crate) fn wait_for_window(
        self,
        windows: &Windows,
        time_left: &dyn Fn() -> Option<Duration>,
        sink: &mut dyn EventSink,
    ) -> Result<Waited, StateError> {
        let mut windows = windows.clone();
        let point = self.target.mount_point.display().to_string();
        let key = self.target.identity.key();
        let mut was_closed = false;
        while let Some(closed) = windows.closed(self.clock.wall()) {
            if let Some(ended) = requested_end(self.stop, self.state, &key) {
                return Ok(Waited::Ended(ended));
            }
            let reason = reason(&windows, &closed);
            let Some(opens_at) = closed.opens_at else {
                return Ok(Waited::Ended(Ended::Stopped { reason }));
            };
            let pause = Duration::try_from(opens_at.duration_since(self.clock.wall()));
            let pause = pause.unwrap_or_default();
            if time_left().is_some_and(|left| left < pause) {
                return Ok(Waited::Ended(Ended::Stopped {
                    reason: format!("{reason}, and the deadline is before that"),
                }));
            }
            if !was_closed {
                was_closed = true;
                self.save(&format!("{WAITING}{reason}"))?;
                sink.event(SessionEvent::Waiting {
                    mount_point: &point,
                    reason: &reason,
                    pause,
                });
                let text = format!("waiting, {reason} ({})", units::duration(pause));
                sink.note(&point, &text);
            }
            self.clock.sleep(CHECK_INTERVAL);
        }
        Ok(Waited::Open)
    }

    /// Waits for a while, for the reason `why`, unless the window closes, the deadline passes or the pass is to end.
    ///
    /// # Errors
    /// If the checkpoint for `--status` cannot be written.
    pub(crate) fn pause(
        self,
        pause: Duration,
        windows: &Windows,
        time_left: &dyn Fn() -> Option<Duration>,
        why: &str,
    ) -> Result<Waited, StateError> {
        let mut windows = windows.clone();
        let key = self.target.identity.key();
        self.save(&format!("{WAITING}{why}"))?;
        let until = self.clock.elapsed() + pause;
        let ended = |what: &str| {
            let reason = format!("{why}, and {what}");
            Ok(Waited::Ended(Ended::Stopped { reason }))
        };
        while self.clock.elapsed() < until {
            // Before the request that the deadline makes too, which does not say what was waited for.
            if time_left().is_some_and(|left| left.is_zero()) {
                return ended("the deadline has passed");
            }
            if let Some(ended) = requested_end(self.stop, self.state, &key) {
                return Ok(Waited::Ended(ended));
            }
            if windows.closed(self.clock.wall()).is_some() {
                return ended("the window is over");
            }
            self.clock.sleep(CHECK_INTERVAL);
        }
        Ok(Waited::Open)
    }

    /// Records for `--status` that the pass has begun, though it has not freed anything yet.
    ///
    /// # Errors
    /// If the checkpoint cannot be written.
    pub(crate) fn begin(self) -> Result<(), StateError> {
        self.save("getting ready")
    }

    fn save(self, remark: &str) -> Result<(), StateError> {
        let checkpoint = initial_checkpoint(self.target, self.resume, remark, self.clock.wall());
        self.state.save(&checkpoint)
    }
}

fn reason(windows: &Windows, closed: &Closed) -> String {
    match closed.opens_at {
        Some(opens_at) => format!("{}; it opens at {}", closed.reason, windows.local(opens_at)),
        None => format!("{}, which never opens", closed.reason),
    }
}

/// Builds the checkpoint of a pass that has not begun or not been resumed yet, for `--status`.
fn initial_checkpoint(
    target: &Target,
    resume: Option<&Checkpoint>,
    remark: &str,
    now: Timestamp,
) -> Checkpoint {
    let mut checkpoint = resume
        .cloned()
        .unwrap_or_else(|| Checkpoint::begun(target, now));
    checkpoint.updated_at = now;
    checkpoint.phase = Phase::Running;
    checkpoint.remark = Some(remark.to_owned());
    checkpoint
}

/// Restores the state as it was found: the checkpoint of an earlier pass, or none at all.
///
/// # Errors
/// If it cannot be written or removed.
pub fn undo(state: &State, key: &str, found: Option<&Checkpoint>) -> Result<(), StateError> {
    match found {
        Some(checkpoint) => state.save(checkpoint),
        None => state.forget(key),
    }
}

/// Records in the checkpoint of a running pass that the window is closed. The pass itself writes
/// another remark when it continues.
///
/// # Errors
/// A message if the checkpoint cannot be written.
pub fn remark(
    state: &State,
    key: &str,
    windows: &mut Windows,
    now: Timestamp,
) -> Result<(), String> {
    let Some(closed) = windows.closed(now) else {
        return Ok(());
    };
    let remark = format!("{WAITING}{}", reason(windows, &closed));
    let failed = |error| format!("the checkpoint could not be written: {error}");
    match state.checkpoint(key).map_err(failed)? {
        Some(mut checkpoint) if checkpoint.remark.as_ref() != Some(&remark) => {
            checkpoint.remark = Some(remark);
            state.save(&checkpoint).map_err(failed)
        }
        _ => Ok(()),
    }
}

/// Returns whether the pass of a checkpoint is waiting for its window.
pub fn is_waiting(checkpoint: &Checkpoint) -> bool {
    let remark = checkpoint.remark.as_deref();
    checkpoint.phase == Phase::Running && remark.is_some_and(|text| text.starts_with(WAITING))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::StopRequest;
    use crate::target::sample as target;
    use crate::window::Window;
    use jiff::tz::TimeZone;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    struct Fixture {
        state: State,
        _directory: tempfile::TempDir,
    }

    fn fixture() -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        let below = |name: &str| directory.path().join(name);
        Fixture {
            state: State::open(below("state"), below("run")).unwrap(),
            _directory: directory,
        }
    }

    fn stopped() -> Checkpoint {
        let mut checkpoint = initial_checkpoint(&target(), None, "", at("2026-03-02T00:00:00Z"));
        checkpoint.steps = 7;
        checkpoint.phase = Phase::Stopped {
            reason: "budget".to_owned(),
        };
        checkpoint.remark = None;
        checkpoint
    }

    #[test]
    fn checkpoint_of_a_wait_is_undone() {
        let Fixture { state, .. } = &fixture();
        let (target, now) = (target(), at("2026-03-02T12:00:00Z"));
        let key = target.identity.key();
        let earlier = stopped();
        let written = initial_checkpoint(&target, Some(&earlier), "waiting, outside", now);
        assert!(is_waiting(&written) && written.steps == 7);
        state.save(&written).unwrap();
        undo(state, &key, Some(&earlier)).unwrap();
        assert_eq!(state.checkpoint(&key).unwrap(), Some(earlier));
        let written = initial_checkpoint(&target, None, "getting ready", now);
        assert!(!is_waiting(&written));
        state.save(&written).unwrap();
        undo(state, &key, None).unwrap();
        assert_eq!(state.checkpoint(&key).unwrap(), None);
    }

    #[test]
    fn window_closing_during_a_pass_is_recorded() {
        let Fixture { state, .. } = &fixture();
        let key = target().identity.key();
        let mut running = stopped();
        running.phase = Phase::Running;
        running.remark = Some("4 KiB reads: mean 0.4 ms".to_owned());
        state.save(&running).unwrap();
        let window = Window::parse("01:00-05:00").unwrap();
        let mut windows = Windows::new(vec![window], TimeZone::UTC);
        remark(state, &key, &mut windows, at("2026-03-02T04:59:59Z")).unwrap();
        let written = || state.checkpoint(&key).unwrap().unwrap();
        assert_eq!(written(), running);
        remark(state, &key, &mut windows, at("2026-03-02T05:00:00Z")).unwrap();
        assert!(is_waiting(&written()));
        assert_eq!(
            written().remark.unwrap(),
            "waiting, outside of --window 01:00-05:00, UTC; it opens at 2026-03-03 01:00 UTC"
        );
        assert_eq!(written().steps, 7);
        // A pass without a checkpoint does not get one.
        state.forget(&key).unwrap();
        remark(state, &key, &mut windows, at("2026-03-02T05:00:01Z")).unwrap();
        assert_eq!(state.checkpoint(&key).unwrap(), None);
    }

    /// A clock that only sleeping moves.
    struct Made(std::cell::Cell<Duration>);

    impl Clock for Made {
        fn elapsed(&self) -> Duration {
            self.0.get()
        }

        fn wall(&self) -> Timestamp {
            at("2026-03-02T04:00:00Z") + self.0.get()
        }

        fn sleep(&self, duration: Duration) {
            self.0.set(self.0.get() + duration);
        }
    }

    #[test]
    fn a_pause_ends_with_its_window_its_deadline_or_a_request() {
        let Fixture { state, .. } = &fixture();
        let (target, stop) = (target(), Stop::default());
        let clock = Made(std::cell::Cell::default());
        let pending = Pending {
            target: &target,
            resume: None,
            state,
            stop: &stop,
            clock: &clock,
        };
        let windows = Windows::new(vec![Window::parse("01:00-05:00").unwrap()], TimeZone::UTC);
        let pause = |minutes: u64, deadline: Duration| {
            let left = || Some(deadline.saturating_sub(clock.elapsed()));
            let pause = Duration::from_mins(minutes);
            let waited = pending.pause(pause, &windows, &left, "cluster \"logs\" is yellow");
            (waited.unwrap(), clock.elapsed().as_secs() / 60)
        };
        let day = Duration::from_hours(24);
        assert_eq!(pause(10, day), (Waited::Open, 10));
        let checkpoint = state.checkpoint(&target.identity.key()).unwrap().unwrap();
        assert!(is_waiting(&checkpoint), "--status tells");
        let ended = |what: &str| {
            let reason = format!("cluster \"logs\" is yellow, and {what}");
            Waited::Ended(Ended::Stopped { reason })
        };
        let deadline = Duration::from_mins(30);
        assert_eq!(pause(60, deadline), (ended("the deadline has passed"), 30));
        assert_eq!(pause(60, day), (ended("the window is over"), 60));
        stop.request(StopRequest::Deadline);
        let passed = ended("the deadline has passed");
        assert_eq!(pause(60, deadline), (passed, 60), "not why it was to end");
        stop.clear();
        stop.request(StopRequest::Signal(15));
        assert_eq!(pause(60, day), (Waited::Ended(Ended::Signal(15)), 60));
    }
}
