//! Compares sets of trials: a ratio with an interval, and one of three verdicts.
//!
//! [`compare`] takes a baseline and contenders, each a [set of trials](TrialSet), and is pure. The trial is the
//! unit of repetition: a longer run tells more about that run, not about the next one. Of each trial and metric
//! one value is taken, with its error [within the trial](Comparison::within_run_error); the sets of their
//! logarithms are compared by Student's t, in pairs if the trials ran alternately. If they ran one set after the
//! other, the interval allows for drift of the machine. Several metrics are judged together, so that equal systems
//! are rarely called different in any of them.
//!
//! A verdict is [*differs*](Verdict::Differs), [*no difference larger
//! than*](Verdict::NoDifferenceLargerThan), or [*cannot tell*](Verdict::CannotTell) with the number of trials
//! that would. One trial against one is refused. `cargo run --release -p bench --example equal` measures how
//! often verdicts are wrong, and `--example intervals` why the interval is this one.
//!
//! ```
//! use bench::compare::{Metric, MetricKey, Options, Rank, Trial, TrialSet, Verdict, compare};
//! use facts::series::Better;
//!
//! let set = |name: &str, docs_per_s: [f64; 5]| TrialSet {
//!     name: name.to_owned(),
//!     trials: docs_per_s
//!         .iter()
//!         .map(|value| Trial {
//!             metrics: [(
//!                 MetricKey::new("bulk", "throughput mean"),
//!                 Metric::scalar(*value, Some("docs/s"), Better::Higher, Rank::Primary),
//!             )]
//!             .into(),
//!             ..Trial::default()
//!         })
//!         .collect(),
//! };
//! let old = set("old", [41_250.0, 40_980.0, 41_400.0, 41_090.0, 41_310.0]);
//! let new = set("new", [38_600.0, 38_910.0, 38_450.0, 38_700.0, 38_820.0]);
//! let report = compare(&[old, new], &Options::default())?;
//! assert_eq!(report.comparisons[0].verdict, Verdict::Differs { within_margin: false });
//! assert_eq!(report.regressions(0.05).count(), 1);
//! # Ok::<(), bench::compare::CompareError>(())
//! ```
//!
//! Data flows one way: `trial` -> `within` (over `batch_means`) -> `shift` (over `arrangement`, `drift`) -> `family`,
//! `power` -> `sets`, which fills a [`Report`].

mod arrangement;
pub mod batch_means;
mod comparison;
pub mod distribution;
mod drift;
mod environment;
mod error;
mod family;
mod options;
mod power;
mod sets;
mod shift;
pub mod single;
mod trial;
mod within;

pub use comparison::{Comparison, Interval, NotCompared, Regression, Report, Shows, Verdict};
pub use environment::{EnvironmentDifference, Place, SetValues, environment_differences};
pub use error::CompareError;
pub use options::Options;
pub use sets::compare;
pub use shift::Design;
pub use trial::{Metric, MetricKey, Observations, Rank, Trial, TrialSet};
