//! Tracks: what a trial does, described in TOML.
//!
//! ```
//! let track: bench::track::Track = r#"
//!     name = "ingest beside searches"
//!     seed = 1
//!
//!     [generator.metrics]
//!     kind = "metricbeat"
//!
//!     [operation.index]
//!     kind = "bulk"
//!     generator = "metrics"
//!     index = "metrics"
//!     documents = 500
//!
//!     [operation.day]
//!     kind = "search"
//!     index = "metrics"
//!     body = '{"size":0,"query":{"range":{"@timestamp":{"gte":{{from}},"lt":{{to}}}}}}'
//!     parameters.from = { kind = "time", from = "2017-04-07T00:00:00Z", to = "2017-04-08T00:00:00Z", step = "1m" }
//!     parameters.to = { kind = "after", parameter = "from", by = "1h" }
//!
//!     [[phase]]
//!     name = "warm-up"
//!     kind = "warm-up"
//!     duration = "10s"
//!     load = [{ operation = "index", clients = 4 }]
//!
//!     [[phase]]
//!     name = "steady"
//!     duration = "1m"
//!     load = [
//!         { operation = "index", clients = 4 },
//!         { operation = "day", rate = "20/s", arrivals = "poisson" },
//!     ]
//! "#.parse()?;
//! assert_eq!(track.phase.len(), 2);
//! # Ok::<(), bench::track::TrackError>(())
//! ```
//!
//! Everything random follows from `seed`: the same track and seed give the same documents, the same
//! parameters and the same planned starts, however many threads send them.

mod built_in;
mod documents;
mod metricbeat;
mod parameter;
mod requests;
mod template;
mod types;
mod updates;
mod validate;
mod values;
mod web_log;
mod zipf;

pub use built_in::{BUILT_IN, BuiltIn};
pub use documents::Generator;
pub(crate) use requests::{Body, Source};
pub use requests::{PrepareError, Prepared};
pub use types::{
    Arrivals, Bulk, Distribution, GeneratorSpec, Get, Load, Method, Metricbeat, Operation, Pace,
    Parameter, Phase, PhaseKind, Request, Search, Track, Updates, WebLog, WriteAction,
};
pub use validate::TrackError;
pub use values::{Count, Rate, Size, Span};

/// The JSON Schema (2020-12) of tracks, indented, with a trailing newline: TOML editors check and complete with it.
pub const JSON_SCHEMA: &str = include_str!("../schemas/track.json");

/// Makes [`JSON_SCHEMA`] from the types.
pub fn generated_schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_deserialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Track>();
    schema.insert("title".to_owned(), "trimtab bench track".into());
    schema.to_value()
}
