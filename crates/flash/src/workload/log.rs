//! Circular logs, whose oldest part is replaced as they grow (`MongoDB`'s oplog and WiredTiger's
//! journal, write-ahead logs, Kafka's segments).

use std::collections::VecDeque;

use super::plan::{Namespace, Plan};
use super::{Operation, Workload};

/// Settings of a circular log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// Maximum size of the log, in pages.
    pub space_pages: u32,
    /// Pages per file; at least 1, at most the space.
    pub file_pages: u32,
    /// Overwrites the oldest file; if not set, deletes it and creates a new one.
    pub recycled: bool,
}

/// The workload of a [`Log`].
#[derive(Debug, Clone)]
pub struct LogWorkload {
    settings: Log,
    plan: Plan,
    files: VecDeque<u32>,
    loaded: bool,
}

impl LogWorkload {
    /// Creates the workload.
    ///
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

impl Workload for LogWorkload {
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
