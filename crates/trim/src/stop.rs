//! Stop requests from a signal handler, another terminal, or another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

/// Why the pass should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopRequest {
    /// SIGINT, SIGTERM or SIGHUP (the signal's number): the pass can be resumed.
    Signal(i32),
    /// `--cancel` from another terminal: the checkpoint is dropped.
    Cancel,
    /// The `--deadline` has passed, perhaps in the middle of a call: the pass can be resumed.
    Deadline,
}

/// A stop flag: set once, read often. Clones share the same flag.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicI32>);

const CANCEL: i32 = -1;
const DEADLINE: i32 = -2;

impl Stop {
    /// Requests a stop; the first request is kept. Safe to call in a signal handler.
    pub fn request(&self, request: StopRequest) {
        let code = match request {
            StopRequest::Signal(number) => number,
            StopRequest::Cancel => CANCEL,
            StopRequest::Deadline => DEADLINE,
        };
        let _ = self
            .0
            .compare_exchange(0, code, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Returns the request, if any.
    pub fn requested(&self) -> Option<StopRequest> {
        match self.0.load(Ordering::SeqCst) {
            0 => None,
            CANCEL => Some(StopRequest::Cancel),
            DEADLINE => Some(StopRequest::Deadline),
            number => Some(StopRequest::Signal(number)),
        }
    }

    /// Clears the request: `--cancel` names one filesystem, and the passes of others go on.
    pub fn clear(&self) {
        self.0.store(0, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_request_is_kept_until_cleared() {
        let stop = Stop::default();
        assert_eq!(stop.requested(), None);
        stop.request(StopRequest::Signal(15));
        stop.clone().request(StopRequest::Cancel);
        assert_eq!(stop.requested(), Some(StopRequest::Signal(15)));
        stop.clear();
        assert_eq!(stop.requested(), None);
        stop.request(StopRequest::Cancel);
        assert_eq!(stop.requested(), Some(StopRequest::Cancel));
    }
}
