//! Events emitted while a session runs.

use crate::layers::LayerCounters;
use crate::pass::Event;
use crate::summary::PassSummary;
use std::time::Duration;

/// An event of a session.
#[derive(Debug, Clone, Copy)]
pub enum SessionEvent<'a> {
    /// A message for the user.
    Note {
        /// The mount it is about; `None` for the whole run.
        mount_point: Option<&'a str>,
        /// One sentence.
        text: &'a str,
    },
    /// A pass is waiting for its window before it begins.
    Waiting {
        /// The mount.
        mount_point: &'a str,
        /// Why it waits, and until when.
        reason: &'a str,
        /// How long it waits.
        pause: Duration,
    },
    /// Progress of a pass.
    Pass {
        /// The mount.
        mount_point: &'a str,
        /// The drives below the mount.
        drives: &'a [String],
        /// What the layers' counters can measure.
        counters: &'a LayerCounters,
        /// What happened.
        event: &'a Event,
    },
    /// A pass has ended.
    Ended(&'a PassSummary),
}

/// Receives the events of a session.
pub trait EventSink {
    /// Handles one event.
    fn event(&mut self, event: SessionEvent<'_>);

    /// Emits a message about a mount.
    fn note(&mut self, mount_point: &str, text: &str) {
        self.event(SessionEvent::Note {
            mount_point: Some(mount_point),
            text,
        });
    }

    /// Emits a message about the whole run.
    fn remark(&mut self, text: &str) {
        self.event(SessionEvent::Note {
            mount_point: None,
            text,
        });
    }
}
