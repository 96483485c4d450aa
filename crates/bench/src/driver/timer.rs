//! Timers that are exact to some microseconds.
//!
//! Tokio's own timers have a resolution of a millisecond, which would be the lateness of most requests of an open
//! loop. Here one timerfd(2) of each thread wakes its event loop at the earliest time that anybody waits for.

use super::clock::Clock;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::net::unix::pipe;

/// The timers of one thread.
pub(super) struct Timer {
    clock: Arc<dyn Clock>,
    waiting: RefCell<Waiting>,
    wake_up: WakeUp,
}

#[derive(Default)]
struct Waiting {
    /// By the time that they wait for, and the order in which they came.
    sleepers: BTreeMap<(u64, u64), Waker>,
    registered: u64,
}

/// What wakes the thread.
enum WakeUp {
    /// A timerfd. Tokio's type for any descriptor has no sound constructor that is safe; the one for pipes does what
    /// a timerfd needs: it waits until there is something to read.
    Timerfd(pipe::Receiver),
    /// Tokio's timers, whose time stands still and jumps in tests.
    #[cfg(test)]
    Tokio(tokio::sync::Notify),
}

/// A place in the queue of a timer, so that it is registered once.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    registered_ns: Option<u64>,
}

impl Timer {
    /// Creates the timers of this thread, within its runtime.
    pub(super) fn new(clock: Arc<dyn Clock>) -> io::Result<Self> {
        let fd = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        Ok(Self {
            clock,
            waiting: RefCell::default(),
            wake_up: WakeUp::Timerfd(pipe::Receiver::from_owned_fd_unchecked(fd)?),
        })
    }

    /// Creates timers that follow tokio's time, for tests.
    #[cfg(test)]
    pub(super) fn of_tokio(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            waiting: RefCell::default(),
            wake_up: WakeUp::Tokio(tokio::sync::Notify::new()),
        }
    }

    /// Is ready once the clock has reached `at_ns`. `alarm` belongs to the caller's task alone.
    pub(super) fn poll_at(&self, at_ns: u64, alarm: &mut Alarm, context: &Context<'_>) -> Poll<()> {
        if self.clock.monotonic_ns() >= at_ns {
            alarm.registered_ns = None;
            return Poll::Ready(());
        }
        if alarm.registered_ns != Some(at_ns) {
            alarm.registered_ns = Some(at_ns);
            let mut waiting = self.waiting.borrow_mut();
            let first = waiting.sleepers.keys().next();
            let earliest = first.is_none_or(|(first_ns, _)| *first_ns > at_ns);
            waiting.registered += 1;
            let key = (at_ns, waiting.registered);
            waiting.sleepers.insert(key, context.waker().clone());
            drop(waiting);
            if earliest {
                self.set(at_ns);
            }
        }
        Poll::Pending
    }

    /// Waits until the clock has reached `at_ns`.
    pub(super) async fn sleep_until(&self, at_ns: u64) {
        let mut alarm = Alarm::default();
        std::future::poll_fn(|context| self.poll_at(at_ns, &mut alarm, context)).await;
    }

    /// Wakes those whose time has come, for as long as it is polled. A task of each thread.
    pub(super) async fn run(&self) {
        loop {
            let next_ns = self.wake_due();
            match &self.wake_up {
                WakeUp::Timerfd(fd) => {
                    if let Some(next_ns) = next_ns {
                        self.set(next_ns);
                    }
                    if fd.readable().await.is_ok() {
                        // The number of expirations. Whether there was one is seen on the clock.
                        let _ = fd.try_read(&mut [0_u8; 8]);
                    }
                }
                #[cfg(test)]
                WakeUp::Tokio(changed) => {
                    let now_ns = self.clock.monotonic_ns();
                    let wait_ns =
                        next_ns.map_or(u64::from(u32::MAX), |at| at.saturating_sub(now_ns));
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_nanos(wait_ns)) => {}
                        () = changed.notified() => {}
                    }
                }
            }
        }
    }

    /// Wakes those whose time has come, and returns the next time.
    fn wake_due(&self) -> Option<u64> {
        let now_ns = self.clock.monotonic_ns();
        let mut waiting = self.waiting.borrow_mut();
        while let Some(first) = waiting.sleepers.first_entry() {
            let (at_ns, _) = *first.key();
            if at_ns > now_ns {
                return Some(at_ns);
            }
            first.remove().wake();
        }
        None
    }

    fn set(&self, at_ns: u64) {
        match &self.wake_up {
            WakeUp::Timerfd(fd) => {
                // Relative, because the clock need not be the kernel's; zero would switch it off.
                let wait_ns = at_ns.saturating_sub(self.clock.monotonic_ns()).max(1);
                let wait = Duration::from_nanos(wait_ns);
                let wait = Timespec {
                    tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
                    tv_nsec: i64::from(wait.subsec_nanos()),
                };
                let once = Itimerspec {
                    it_interval: Timespec {
                        tv_sec: 0,
                        tv_nsec: 0,
                    },
                    it_value: wait,
                };
                // Fails for impossible times only.
                let _ = timerfd_settime(fd, TimerfdTimerFlags::empty(), &once);
            }
            #[cfg(test)]
            WakeUp::Tokio(changed) => changed.notify_one(),
        }
    }
}
