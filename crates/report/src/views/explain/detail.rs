//! How much of an analysis is shown.

use page::{Block, List};

/// How much of an analysis is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExplainDetail {
    /// Lists and tables in full.
    pub verbose: bool,
    /// Fewer series and shorter lists: for a terminal, where all of it scrolls by.
    pub brief: bool,
    /// Every series in full, those of short logs of disks too.
    pub all: bool,
}

/// Series that are shown in full on a terminal, and on a page.
const SERIES_MAX_BRIEF: usize = 5;
const SERIES_MAX: usize = 20;

impl ExplainDetail {
    /// How many series are shown in full; the others have a row in the summary.
    pub(super) fn series_max(self) -> usize {
        match (self.all, self.brief) {
            (true, _) => usize::MAX,
            (false, true) => SERIES_MAX_BRIEF,
            (false, false) => SERIES_MAX,
        }
    }

    /// How many of `all` lines are shown, where a terminal shows `max`.
    pub(super) fn shown(self, all: usize, max: usize) -> usize {
        if self.brief && !self.verbose {
            all.min(max)
        } else {
            all
        }
    }

    /// The words for the lines that are not shown; `None` where all are.
    pub(super) fn more(self, all: usize, max: usize) -> Option<String> {
        let left = all - self.shown(all, max);
        (left > 0).then(|| {
            let left = units::count::grouped_usize(left);
            format!("and {left} more (-v lists them all)")
        })
    }

    /// A list below its title; `None` without items.
    pub(super) fn list(self, title: &str, items: &[String], max: usize) -> Option<Block> {
        if items.is_empty() {
            return None;
        }
        let mut shown = items[..self.shown(items.len(), max)].to_vec();
        shown.extend(self.more(items.len(), max));
        Some(
            List {
                title: title.to_owned(),
                items: shown,
            }
            .into(),
        )
    }
}
