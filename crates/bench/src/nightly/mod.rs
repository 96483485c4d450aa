//! A history of trials, one folder each: what was measured night after night, and what changed meanwhile.
//!
//! [`read`] reads the folder, [`History::new`] sorts what was read: a curve per metric over all nights, and the
//! dated [changes of the environment](Annotation) between them.

mod annotation;
mod history;
mod metric;
mod night;
mod read;

pub use annotation::{Annotation, AnnotationKind, Within};
pub use history::History;
pub use metric::{Metric, Sample};
pub use night::{Night, Outcome};
pub use read::{HistoryError, NIGHTS_MAX, NOTES_FILE, PAGE_FILE, read};
