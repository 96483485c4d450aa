//! A trial from before its start to its judgement: what is watched beside the load, what is written where, and
//! how it is read again.

mod before;
mod comparable;
mod document;
mod folder;
mod jobs;
mod judge;
mod monitor;
mod race;
mod run;
mod samples;
mod series;
mod server;

pub use before::{Place, discards_online, place};
pub use comparable::read_trial;
pub use document::{JobRun, Latency, OperationResult, SCHEMA, State, TrialDocument, Value};
pub use folder::{DOCUMENT_FILE, FolderError, read_document};
pub use jobs::{Jobs, Within};
pub use race::RACE_FILE;
pub use run::{Request, TRACK_FILE, TrialError, due, planned, run};
pub use samples::{Samples, samples};
pub use series::{CLIENT_FILE, HOST_FILE, SERVER_FILE, Series};
pub use server::{Identity, ServerReader};
