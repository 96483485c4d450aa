//! What a session tells while it runs.

use crate::layers::LayerCounters;
use crate::pass::Event;
use crate::summary::PassSummary;
use std::time::Duration;

/// Something that happened in a session.
#[derive(Debug, Clone, Copy)]
pub enum SessionEvent<'a> {
    /// Worth a line.
    Note {
        /// The mount it is about; `None`: the whole call.
        mount_point: Option<&'a str>,
        /// One sentence.
        text: &'a str,
    },
    /// A pass waits for its window before it begins.
    Waiting {
        /// The mount.
        mount_point: &'a str,
        /// Why, and until when.
        reason: &'a str,
        /// How long.
        pause: Duration,
    },
    /// A pass tells how far it is.
    Pass {
        /// The mount.
        mount_point: &'a str,
        /// The drives below.
        drives: &'a [String],
        /// What the layers' counters are worth.
        counters: &'a LayerCounters,
        /// What happened.
        event: &'a Event,
    },
    /// A pass is over.
    Ended(&'a PassSummary),
}

/// Hears what a session tells.
pub trait EventSink {
    /// Takes one event.
    fn event(&mut self, event: SessionEvent<'_>);

    /// Takes a sentence about a mount.
    fn note(&mut self, mount_point: &str, text: &str) {
        self.event(SessionEvent::Note {
            mount_point: Some(mount_point),
            text,
        });
    }

    /// Takes a sentence about the whole call.
    fn remark(&mut self, text: &str) {
        self.event(SessionEvent::Note {
            mount_point: None,
            text,
        });
    }
}
