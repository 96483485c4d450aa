//! What one thread measured in about a second.

use super::histogram::Times;
use super::outcome::ErrorClass;
use super::varint;

/// What one thread of the driver measured between two moments, usually a second apart. It is longer if the
/// trial's file could not be written in time. Times count from the phase's start.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Interval {
    /// The phase, from 0.
    pub phase: u32,
    /// The thread, from 0.
    pub thread: u32,
    /// Its start.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// How late the thread came to a timer that it sets every 10 ms: what the machine did not give it.
    pub heartbeat: Times<u32>,
    /// The loads of the phase, in the track's order.
    pub classes: Vec<ClassInterval>,
}

/// One operation in an [`Interval`]. Requests belong to the interval in which they ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassInterval {
    /// Requests that were not answered successfully, in the order of [`ErrorClass::ALL`].
    pub errors: [u64; ErrorClass::ALL.len()],
    /// Documents written.
    pub documents_written: u64,
    /// Documents rejected because a queue was full.
    pub documents_rejected: u64,
    /// Documents refused for another reason.
    pub documents_failed: u64,
    /// Bytes of bodies sent with successful requests. In the journal's records, though nothing here reads them.
    pub sent_bytes: u64,
    /// Bytes of bodies received, likewise.
    pub received_bytes: u64,
    /// Connections made during the phase, after the first ones.
    pub reconnects: u64,
    /// Successful requests: from the planned start to the end in an open loop, else from sending to the end.
    pub latency: Times<u32>,
    /// Open loop: from sending to the end.
    pub service: Times<u32>,
    /// Open loop: from the planned start to sending.
    pub lateness: Times<u32>,
    /// Open loop: the part of the lateness during which a connection was free: the driver's own fault.
    pub own_lateness: Times<u32>,
    /// The first 10,000 requests of the phase, then the longest latencies among those above the 99th percentile so far.
    pub tail: Vec<TailSample>,
    /// Latencies above it that are not in `tail`, because it was full.
    pub tail_left_out: u64,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TailSample {
    /// The number of the request within its operation and phase, from 0.
    pub sequence: u64,
    /// When it was to start.
    pub planned_ns: u64,
    /// When it was sent.
    pub sent_ns: u64,
    /// When its answer was complete.
    pub end_ns: u64,
}

impl TailSample {
    /// From the planned start to the end.
    pub fn latency_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.planned_ns)
    }
}

/// Upper bounds of what a file may claim.
const CLASSES_MAX: u64 = 100;
const TAIL_MAX: u64 = 100_000;
/// Stands after the errors, where older files have one class more: commands that MongoDB refused, of which trials of
/// other servers have none.
const COMMANDS_REFUSED: u64 = 0;

impl Interval {
    /// Appends it.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        varint::put(u64::from(self.phase), out);
        varint::put(u64::from(self.thread), out);
        varint::put(self.from_ns, out);
        varint::put(self.to_ns, out);
        self.heartbeat.encode(out);
        varint::put(self.classes.len() as u64, out);
        self.classes.iter().for_each(|class| class.encode(out));
    }

    /// Reads one that is all of `bytes`; `None` if they are not one.
    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let phase = u32::try_from(varint::take(bytes)?).ok()?;
        let thread = u32::try_from(varint::take(bytes)?).ok()?;
        let (from_ns, to_ns) = (varint::take(bytes)?, varint::take(bytes)?);
        let heartbeat = Times::decode(bytes)?;
        let len = varint::take(bytes)?;
        if len > CLASSES_MAX {
            return None;
        }
        let classes = (0..len)
            .map(|_| ClassInterval::decode(bytes))
            .collect::<Option<_>>()?;
        bytes.is_empty().then_some(Self {
            phase,
            thread,
            from_ns,
            to_ns,
            heartbeat,
            classes,
        })
    }
}

impl ClassInterval {
    /// Number of requests that failed.
    pub fn failed(&self) -> u64 {
        self.errors.iter().sum()
    }

    /// Forgets everything, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.errors = [0; ErrorClass::ALL.len()];
        for counter in [
            &mut self.documents_written,
            &mut self.documents_rejected,
            &mut self.documents_failed,
            &mut self.sent_bytes,
            &mut self.received_bytes,
            &mut self.reconnects,
            &mut self.tail_left_out,
        ] {
            *counter = 0;
        }
        for times in [
            &mut self.latency,
            &mut self.service,
            &mut self.lateness,
            &mut self.own_lateness,
        ] {
            times.clear();
        }
        self.tail.clear();
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for number in self.errors.into_iter().chain([
            COMMANDS_REFUSED,
            self.documents_written,
            self.documents_rejected,
            self.documents_failed,
            self.sent_bytes,
            self.received_bytes,
            self.reconnects,
        ]) {
            varint::put(number, out);
        }
        for times in [
            &self.latency,
            &self.service,
            &self.lateness,
            &self.own_lateness,
        ] {
            times.encode(out);
        }
        varint::put(self.tail.len() as u64, out);
        for sample in &self.tail {
            varint::put(sample.sequence, out);
            varint::put(sample.planned_ns, out);
            varint::put(sample.sent_ns, out);
            varint::put(sample.end_ns, out);
        }
        varint::put(self.tail_left_out, out);
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let mut errors = [0; ErrorClass::ALL.len()];
        for error in &mut errors {
            *error = varint::take(bytes)?;
        }
        if varint::take(bytes)? != COMMANDS_REFUSED {
            return None;
        }
        Some(Self {
            errors,
            documents_written: varint::take(bytes)?,
            documents_rejected: varint::take(bytes)?,
            documents_failed: varint::take(bytes)?,
            sent_bytes: varint::take(bytes)?,
            received_bytes: varint::take(bytes)?,
            reconnects: varint::take(bytes)?,
            latency: Times::decode(bytes)?,
            service: Times::decode(bytes)?,
            lateness: Times::decode(bytes)?,
            own_lateness: Times::decode(bytes)?,
            tail: {
                let len = varint::take(bytes)?;
                if len > TAIL_MAX {
                    return None;
                }
                (0..len)
                    .map(|_| {
                        Some(TailSample {
                            sequence: varint::take(bytes)?,
                            planned_ns: varint::take(bytes)?,
                            sent_ns: varint::take(bytes)?,
                            end_ns: varint::take(bytes)?,
                        })
                    })
                    .collect::<Option<_>>()?
            },
            tail_left_out: varint::take(bytes)?,
        })
    }
}
