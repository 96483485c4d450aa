//! Being asked to stop, from a signal handler, another terminal, or another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Why somebody wants the pass to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRequest {
    /// SIGINT, SIGTERM or SIGHUP (the signal's number): the pass can be resumed.
    Signal(i32),
    /// `--cancel` from another terminal: the checkpoint is dropped.
    Cancel,
}

/// Set once, read often. Clones share the same flag.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicI32>);

const CANCEL: i32 = -1;

impl Stop {
    /// Asks to stop; the first request is kept. Safe to call in a signal handler.
    pub fn request(&self, request: StopRequest) {
        let code = match request {
            StopRequest::Signal(number) => number,
            StopRequest::Cancel => CANCEL,
        };
        let _ = self
            .0
            .compare_exchange(0, code, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// What was asked for, if anything.
    pub fn requested(&self) -> Option<StopRequest> {
        match self.0.load(Ordering::SeqCst) {
            0 => None,
            CANCEL => Some(StopRequest::Cancel),
            number => Some(StopRequest::Signal(number)),
        }
    }

    /// The flag itself, for a signal handler that stores the signal's number in it.
    pub fn flag(&self) -> Arc<AtomicI32> {
        Arc::clone(&self.0)
    }
}
