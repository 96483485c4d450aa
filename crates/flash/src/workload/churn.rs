//! File churn: files that come and go, as in spool directories, backups, caches and benchmark runs.

use std::collections::VecDeque;

use super::plan::{Namespace, Plan};
use super::{Operation, Workload};
use crate::random::Random;

/// Settings of a file churn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Churn {
    /// Maximum size of all files together, in pages.
    pub space_pages: u32,
    /// Minimum file size in pages; at least 1.
    pub file_pages_min: u32,
    /// Maximum file size in pages, at most the space; sizes are log-uniform between the two.
    pub file_pages_max: u32,
    /// Deletes the oldest file if there is no room for the next one; if not set, a random file.
    pub oldest_first: bool,
}

/// The workload of a [`Churn`].
#[derive(Debug, Clone)]
pub struct ChurnWorkload {
    settings: Churn,
    plan: Plan,
    files: VecDeque<(u32, u32)>,
    pages: u32,
    loaded: bool,
    random: Random,
}

impl ChurnWorkload {
    /// Creates the workload.
    ///
    /// # Panics
    /// Unless `1 <= file_pages_min <= file_pages_max <= space_pages`.
    pub fn new(settings: Churn, namespace: Namespace, seed: u64) -> Self {
        let Churn {
            space_pages,
            file_pages_min,
            file_pages_max,
            ..
        } = settings;
        assert!(1 <= file_pages_min && file_pages_min <= file_pages_max);
        assert!(file_pages_max <= space_pages);
        Self {
            settings,
            plan: Plan::new(namespace),
            files: VecDeque::new(),
            pages: 0,
            loaded: false,
            random: Random::new(seed),
        }
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // between the bounds
    fn size(&mut self) -> u32 {
        let (min, max) = (self.settings.file_pages_min, self.settings.file_pages_max);
        let (low, high) = (f64::from(min).ln(), (f64::from(max) + 1.0).ln());
        let drawn = (low + self.random.unit() * (high - low)).exp();
        (drawn as u32).clamp(min, max)
    }
}

impl Workload for ChurnWorkload {
    fn next(&mut self) -> Operation {
        if self.plan.is_empty() {
            let size = self.size();
            while self.pages + size > self.settings.space_pages {
                self.loaded = true;
                if !self.settings.oldest_first {
                    let victim = self.random.below(self.files.len() as u64);
                    #[allow(clippy::cast_possible_truncation)] // an index
                    self.files.swap(0, victim as usize);
                }
                let (file, pages) = self.files.pop_front().expect("they hold the pages");
                self.pages -= pages;
                self.plan.delete(file);
            }
            let file = self.plan.create(size);
            self.files.push_back((file, size));
            self.pages += size;
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
