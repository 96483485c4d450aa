//! The figures of a trial, made of its records.

use super::histogram::Times;
use super::interval::{ClassInterval, Interval};
use super::journal::{
    Ended, Ending, JournalError, PhaseEnd, PhaseStart, Reader, Record, TrialEnd, TrialStart,
    Unfinished,
};
use super::lateness::OwnLateness;
use super::outcome::ErrorClass;
use crate::path_error::at;
use crate::track::PhaseKind;
use std::io::{self, Read};
use std::path::Path;

/// Most phases of a trial.
const PHASES_MAX: usize = 100;
/// Most operations of all its phases together.
const CLASSES_MAX: usize = 200;

/// The figures of a trial. They are the same whether they come from [`run`](super::run()) or from the trial's
/// file. Whether they are valid is judged elsewhere, from these and from what the host shows.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSummary {
    /// What was run.
    pub start: TrialStart,
    /// The phases that began.
    pub phases: Vec<PhaseSummary>,
    /// Why it ended; `None` if its file does not tell.
    pub end: Option<TrialEnd>,
    /// How its file ends.
    pub ending: Ending,
}

/// The figures of a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseSummary {
    /// Its description.
    pub start: PhaseStart,
    /// Its length until the last answer.
    pub len_ns: u64,
    /// How late the driver's threads came to timers that they set every 10 ms: the sign of a driver that gets too
    /// little CPU, in both kinds of loop.
    pub heartbeat: Times,
    /// The operations, in the order of [`PhaseStart::operations`].
    pub classes: Vec<ClassSummary>,
}

/// The figures of an operation in a phase. All times are those of successful requests.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassSummary {
    /// Name of the operation.
    pub operation: String,
    /// Whether it is an open loop.
    pub open: bool,
    /// Requests that were not answered successfully, in the order of [`ErrorClass::ALL`].
    pub errors: [u64; ErrorClass::ALL.len()],
    /// Documents written, also by requests of which other documents were refused.
    pub documents_written: u64,
    /// Documents rejected because a queue was full.
    pub documents_rejected: u64,
    /// Documents refused for another reason.
    pub documents_failed: u64,
    /// Connections made after the first ones.
    pub reconnects: u64,
    /// From the planned start to the end in an open loop, else the service time.
    pub latency: Times,
    /// From sending to the end; in a closed loop the same as the latency.
    pub service: Times,
    /// Open loop: from the planned start to sending, because no connection was free or the driver was late.
    pub lateness: Times,
    /// Open loop: the part of the lateness during which the request's connection was free: the driver's own fault.
    /// After a driver has stood still, this is seen in the first request of each connection only; those behind
    /// them wait for a connection. [`PhaseSummary::heartbeat`] counts the whole time.
    pub own_lateness: Times,
    /// Requests without an answer.
    pub unfinished: Unfinished,
}

impl ClassSummary {
    /// Number of requests answered successfully.
    pub fn succeeded(&self) -> u64 {
        self.latency.count()
    }

    /// Number of requests that failed.
    pub fn failed(&self) -> u64 {
        self.errors.iter().sum()
    }

    /// Failed requests of one class.
    pub fn errors_of(&self, class: ErrorClass) -> u64 {
        self.errors[class.index()]
    }

    fn add(&mut self, interval: &ClassInterval) {
        for (sum, errors) in self.errors.iter_mut().zip(interval.errors) {
            *sum += errors;
        }
        self.documents_written += interval.documents_written;
        self.documents_rejected += interval.documents_rejected;
        self.documents_failed += interval.documents_failed;
        self.reconnects += interval.reconnects;
        self.latency.add(&interval.latency);
        if self.open {
            self.service.add(&interval.service);
            self.lateness.add(&interval.lateness);
            self.own_lateness.add(&interval.own_lateness);
        } else {
            self.service.add(&interval.latency);
        }
    }
}

impl PhaseSummary {
    /// Adds an interval; `false` if it does not belong to this phase.
    pub(super) fn add(&mut self, interval: &Interval) -> bool {
        if interval.phase != self.start.phase || interval.classes.len() != self.classes.len() {
            return false;
        }
        self.len_ns = self.len_ns.max(interval.to_ns);
        self.heartbeat.add(&interval.heartbeat);
        for (class, interval) in self.classes.iter_mut().zip(&interval.classes) {
            class.add(interval);
        }
        true
    }

    /// The figures of an operation.
    pub fn class(&self, operation: &str) -> Option<&ClassSummary> {
        self.classes
            .iter()
            .find(|class| class.operation == operation)
    }

    /// The driver's own lateness for an operation of this phase; `None` if no request succeeded.
    pub fn own_lateness(&self, class: &ClassSummary) -> Option<OwnLateness> {
        let mean_ns = class.latency.mean_ns()?;
        Some(if class.open {
            OwnLateness::of_open_loop(&self.heartbeat, &class.own_lateness)
        } else {
            OwnLateness::of_closed_loop(&self.heartbeat, mean_ns)
        })
    }

    /// Successful requests per second of an operation.
    #[allow(clippy::cast_precision_loss)] // relative error 10^-16
    pub fn requests_per_s(&self, operation: &str) -> Option<f64> {
        let class = self.class(operation)?;
        (self.len_ns > 0).then(|| class.succeeded() as f64 * 1e9 / self.len_ns as f64)
    }
}

impl TrialSummary {
    pub(super) fn new(start: TrialStart) -> Self {
        Self {
            start,
            phases: Vec::new(),
            end: None,
            ending: Ending::NoEnd,
        }
    }

    /// The phases whose figures count.
    pub fn measured(&self) -> impl Iterator<Item = &PhaseSummary> {
        self.phases
            .iter()
            .filter(|phase| phase.start.kind == PhaseKind::Measured)
    }

    /// Whether everything that was planned was sent and answered, and recorded.
    pub fn is_complete(&self) -> bool {
        self.end
            .as_ref()
            .is_some_and(|end| end.ended == Ended::Complete)
            && self.ending == Ending::Whole
    }

    /// Begins a phase; `false` if a track cannot have so many: each operation takes a megabyte.
    pub(super) fn begin_phase(&mut self, start: PhaseStart) -> bool {
        let classes: usize = self.phases.iter().map(|phase| phase.classes.len()).sum();
        if self.phases.len() >= PHASES_MAX || classes + start.operations.len() > CLASSES_MAX {
            return false;
        }
        let classes = start
            .operations
            .iter()
            .zip(&start.open)
            .map(|(operation, open)| ClassSummary {
                operation: operation.clone(),
                open: *open,
                ..ClassSummary::default()
            })
            .collect();
        self.phases.push(PhaseSummary {
            start,
            len_ns: 0,
            heartbeat: Times::default(),
            classes,
        });
        true
    }

    /// Adds an interval to the last phase; `false` if it does not belong to it.
    pub(super) fn add(&mut self, interval: &Interval) -> bool {
        self.phases
            .last_mut()
            .is_some_and(|phase| phase.add(interval))
    }

    /// Ends the last phase; `false` if it is another one.
    pub(super) fn end_phase(&mut self, end: &PhaseEnd) -> bool {
        let Some(phase) = self
            .phases
            .last_mut()
            .filter(|phase| phase.start.phase == end.phase)
        else {
            return false;
        };
        phase.len_ns = end.len_ns;
        for (class, unfinished) in phase.classes.iter_mut().zip(&end.unfinished) {
            class.unfinished = *unfinished;
        }
        true
    }

    /// Reads the figures of the trial in `directory`, however it ended.
    ///
    /// # Errors
    /// If there is no trial, or its file cannot be read.
    pub fn read(directory: &Path) -> Result<Self, JournalError> {
        let mut reader = Reader::open(directory)?;
        let path = directory.join(super::journal::FILE_NAME);
        let summary = Self::of(&mut reader, |_| ()).map_err(at(&path))?;
        Ok(summary.ok_or_else(|| {
            let why = "no whole record: the trial ended before it began";
            at(&path)(io::Error::new(io::ErrorKind::InvalidData, why))
        })?)
    }

    /// Adds up the records of a trial, and shows each interval to `each`: they are what series are made of.
    /// `None` if there is no whole record that says what was run.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn of<R: Read>(
        reader: &mut Reader<R>,
        mut each: impl FnMut(&Interval),
    ) -> io::Result<Option<Self>> {
        let mut summary: Option<Self> = None;
        while let Some(record) = reader.next_record()? {
            let at_byte = reader.at_byte();
            let understood = match (record, &mut summary) {
                (Record::Start(start), None) => {
                    summary = Some(Self::new(*start));
                    true
                }
                (Record::PhaseStart(start), Some(summary)) => summary.begin_phase(start),
                (Record::Interval(interval), Some(summary)) => {
                    let belongs = summary.add(&interval);
                    if belongs {
                        each(&interval);
                    }
                    belongs
                }
                (Record::PhaseEnd(end), Some(summary)) => summary.end_phase(&end),
                (Record::End(end), Some(summary)) => {
                    summary.end = Some(end);
                    true
                }
                _ => false,
            };
            if !understood {
                let Some(mut summary) = summary else {
                    return Ok(None);
                };
                summary.ending = Ending::Damaged {
                    at_byte,
                    problem: "a record does not follow from those before it",
                };
                return Ok(Some(summary));
            }
        }
        if let (Some(summary), Some(ending)) = (&mut summary, reader.ending()) {
            summary.ending = ending.clone();
        }
        Ok(summary)
    }
}
