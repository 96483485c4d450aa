//! A log that goes round: the oldest end goes as the youngest grows (`MongoDB`'s oplog and WiredTiger's
//! journal, write-ahead logs, Kafka's segments).

use std::collections::VecDeque;

use super::plan::{Namespace, Plan};
use super::{Operation, Workload};

/// How a log goes round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// Pages of the log, at most.
    pub space_pages: u32,
    /// Pages of each of its files; at least 1, at most the space.
    pub file_pages: u32,
    /// The oldest file is written over; else it is deleted, and a new one made.
    pub recycled: bool,
}

/// A [`Log`] at work.
#[derive(Debug, Clone)]
pub struct Logging {
    settings: Log,
    plan: Plan,
    files: VecDeque<u32>,
    loaded: bool,
}

impl Logging {
    /// # Panics
    /// Unless `1 <= file_pages <= space_pages`.
    pub fn new(settings: Log, namespace: Namespace) -> Self {
        assert!((1..=settings.space_pages).contains(&settings.file_pages));
        Self {
            settings,
            plan: Plan::new(namespace),
            files: VecDeque::new(),
            loaded: false,
        }
    }
}

impl Workload for Logging {
    fn next(&mut self) -> Operation {
        if self.plan.is_empty() {
            let pages = self.settings.file_pages;
            let full = self.files.len() as u64 + 1
                > u64::from(self.settings.space_pages) / u64::from(pages);
            let oldest = full.then(|| self.files.pop_front()).flatten();
            self.loaded |= full;
            let youngest = match oldest {
                Some(file) if self.settings.recycled => {
                    self.plan.overwrite(file, 0, pages);
                    file
                }
                Some(file) => {
                    self.plan.delete(file);
                    self.plan.create(pages)
                }
                None => self.plan.create(pages),
            };
            self.files.push_back(youngest);
        }
        self.plan.pop().expect("planned above")
    }

    fn is_loaded(&self) -> bool {
        self.loaded
    }

    fn peak_pages(&self) -> u64 {
        self.settings.space_pages.into()
    }
}
