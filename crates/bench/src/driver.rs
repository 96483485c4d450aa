//! The load driver: sends what a [track](crate::track) plans, and records how long it takes.
//!
//! - **Latency counts from the planned start.** In an open loop all starts are planned before the phase begins,
//!   by the track's rate, and none is skipped or dropped: a request that finds no free connection, or a driver
//!   that is late, waits, and its latency contains the waiting. Service time (from sending to the end) and
//!   lateness (from the planned start to sending) are recorded apart. In a closed loop the latency is the
//!   service time.
//! - **Threads.** Each thread has its own event loop and connections; they share the planned starts only.
//! - **Queues cost no memory.** Planned starts are computed when a connection is free for the next one.
//! - **Connections** speak HTTP/1.1, with TLS if the [`Target`] has it, and are opened before a phase starts. One
//!   that ended is replaced before the next request is sent: the latency of that contains it, as far as it was
//!   late, and its service time does not.
//! - **Errors** are counted by class, and their times are in no histogram.
//! - **What was measured is on disk** within about a second, whatever ends the trial: see [`Reader`].
//! - **Memory** does not grow with the number of requests: histograms are written once a second and used again.
//!
//! Whether a trial is valid is not decided here. A judge finds in the [`TrialSummary`]: lateness and the
//! threads' heartbeat (a late driver), [`Unfinished`] requests (an overloaded server), errors and numbers of samples;
//! and per-second [`Interval`]s for drift and for the host's own series.

mod answer;
mod clock;
mod connection;
mod framing;
mod head;
mod histogram;
mod interval;
mod journal;
mod lateness;
mod message;
mod network;
mod outcome;
mod progress;
mod recorder;
mod request;
mod run;
mod schedule;
mod setup;
mod silence;
mod summary;
mod target;
mod timer;
mod varint;
mod worker;

#[cfg(test)]
mod connection_tests;
#[cfg(test)]
mod framing_tests;
#[cfg(test)]
mod kill_tests;
#[cfg(test)]
mod run_tests;
#[cfg(test)]
mod stall_tests;
#[cfg(test)]
mod tls_tests;

pub use clock::{Clock, SystemClock};
pub use histogram::Times;
pub use interval::{ClassInterval, Interval, TailSample};
pub use journal::{
    Ended, Ending, FILE_NAME, JournalError, MAGIC, PhaseEnd, PhaseStart, Reader, Record, TrialEnd,
    TrialStart, Unfinished, create,
};
pub use lateness::OwnLateness;
pub use outcome::ErrorClass;
pub use progress::{ClassSecond, Progress, Second, Silent, Stage};
pub use run::{Control, Options, RunError, run};
pub use summary::{ClassSummary, PhaseSummary, TrialSummary};
pub use target::Target;
