//! Level of detail of an analysis.

use page::{Block, List};

/// Level of detail of an analysis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExplainDetail {
    /// Whether to show lists and tables in full.
    pub verbose: bool,
    /// Whether to show fewer series and shorter lists: for a terminal, where everything scrolls by.
    pub brief: bool,
    /// Whether to show every series in full, including those of short disk logs.
    pub all: bool,
}

/// Maximum number of series shown in full, on a terminal and on a page.
const SERIES_MAX_BRIEF: usize = 5;
const SERIES_MAX: usize = 20;

impl ExplainDetail {
    /// Returns how many series are shown in full; the others have a row in the summary.
    pub(super) fn series_max(self) -> usize {
        match (self.all, self.brief) {
            (true, _) => usize::MAX,
            (false, true) => SERIES_MAX_BRIEF,
            (false, false) => SERIES_MAX,
        }
    }

    /// Returns how many of `all` lines are shown, if a terminal shows `max`.
    pub(super) fn shown(self, all: usize, max: usize) -> usize {
        if self.brief && !self.verbose {
            all.min(max)
        } else {
            all
        }
    }

    /// Returns the text for the lines that are left out; `None` if all are shown.
    pub(super) fn more(self, all: usize, max: usize) -> Option<String> {
        let left = all - self.shown(all, max);
        (left > 0).then(|| {
            let left = units::count::grouped_usize(left);
            format!("and {left} more (-v lists them all)")
        })
    }

    /// Builds a list below its title; `None` without items.
    pub(super) fn list(self, title: &str, items: &[String], max: usize) -> Option<Block> {
        if items.is_empty() {
            return None;
        }
        let mut shown = items[..self.shown(items.len(), max)].to_vec();
        shown.extend(self.more(items.len(), max));
        Some(List::new(title, shown).into())
    }
}
