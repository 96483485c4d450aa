//! Several workloads in parallel on one filesystem.

use super::{Operation, Workload};

struct Part {
    workload: Box<dyn Workload + Send>,
    /// Cost of a page: one divided by the weight.
    cost: f64,
    spent: f64,
}

/// Workloads that take turns so that each gets its share of the pages written: the one furthest
/// behind is next. Until all have loaded, only those still loading take turns.
pub struct Mix {
    parts: Vec<Part>,
    loading: bool,
}

impl Mix {
    /// Creates a mix. Weights (above 0) are shares of the pages written once all parts have loaded.
    ///
    /// # Panics
    /// If there are no parts, or a weight is not above 0.
    pub fn new(parts: Vec<(f64, Box<dyn Workload + Send>)>) -> Self {
        assert!(!parts.is_empty() && parts.iter().all(|&(weight, _)| weight > 0.0));
        let parts = (parts.into_iter())
            .map(|(weight, workload)| Part {
                workload,
                cost: 1.0 / weight,
                spent: 0.0,
            })
            .collect();
        Self {
            parts,
            loading: true,
        }
    }
}

impl Workload for Mix {
    fn next(&mut self) -> Operation {
        if self.loading && self.is_loaded() {
            self.loading = false;
            for part in &mut self.parts {
                part.spent = 0.0;
            }
        }
        let loading = self.loading;
        let part = (self.parts.iter_mut())
            .filter(|part| !loading || !part.workload.is_loaded())
            .min_by(|a, b| a.spent.total_cmp(&b.spent))
            .expect("not empty; one loads while they load");
        let operation = part.workload.next();
        let cost = if loading { 1.0 } else { part.cost };
        part.spent += cost * f64::from(operation.written_pages());
        operation
    }

    fn is_loaded(&self) -> bool {
        self.parts.iter().all(|part| part.workload.is_loaded())
    }

    fn peak_pages(&self) -> u64 {
        (self.parts.iter())
            .map(|part| part.workload.peak_pages())
            .sum()
    }
}
