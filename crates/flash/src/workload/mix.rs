//! Several workloads side by side on one filesystem.

use super::{Operation, Workload};

struct Part {
    workload: Box<dyn Workload + Send>,
    /// What a page costs it: one by its weight.
    cost: f64,
    spent: f64,
}

/// Workloads take turns so that each has its share of the pages written: the one that is furthest
/// behind is next. Until all have loaded, those that have not are on in turn.
pub struct Mix {
    parts: Vec<Part>,
    loading: bool,
}

impl Mix {
    /// Parts by weight (above 0), a share of the pages written once all have loaded.
    ///
    /// # Panics
    /// Without parts, or with a weight that is not above 0.
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
