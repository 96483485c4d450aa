//! Results and pages of `trimtab ssd`.

mod answer;
mod counters;
mod figures;
mod five_pages;
mod scenario;
mod scenario_rows;
mod schedules;
mod sweep;
mod sweep_axes;
mod sweep_row;
mod ten_runs;
mod words;

pub use answer::SsdAnswer;
pub use counters::DriveCounters;
pub(crate) use figures::SCENARIO_LABEL;
pub use five_pages::FivePages;
pub use scenario::{ScenarioResult, load_words};
pub use scenario_rows::{PointRow, ScenarioAnswer, Summary};
pub use schedules::Schedules;
pub use sweep::{SweepAnswer, sweep};
pub use sweep_row::SweepRow;
pub use ten_runs::TenRuns;
