//! Node weights, in single precision as in the server.

use crate::model::Settings;

/// Weight of a node for an index, from its total copies and its copies of the index, and in later versions
/// from its write load and bytes (`WeightFunction`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightFunction {
    theta0: f32,
    theta1: f32,
    theta2: f32,
    theta3: f32,
}

impl WeightFunction {
    pub(super) fn new(settings: &Settings, counts_loads: bool) -> WeightFunction {
        let (index, shard) = (settings.balance_index, settings.balance_shard);
        let (write, bytes) = if counts_loads {
            (settings.balance_write_load, settings.balance_disk_usage)
        } else {
            (0.0, 0.0)
        };
        // Adding a zero changes nothing, rounding included.
        let sum = index + shard + write + bytes;
        WeightFunction {
            theta0: shard / sum,
            theta1: index / sum,
            theta2: write / sum,
            theta3: bytes / sum,
        }
    }

    /// Contribution of `copies` copies of any index.
    pub(super) fn of_copies(self, copies: i32) -> f32 {
        self.theta0 * float(copies)
    }

    /// Additional contribution of `copies` copies of the index itself.
    pub(super) fn of_index(self, copies: i32) -> f32 {
        self.theta1 * float(copies)
    }

    pub(super) fn weight(
        self,
        all: i32,
        of_index: i32,
        average: f32,
        average_of_index: f32,
    ) -> f32 {
        let weight_shard = float(all) - average;
        let weight_index = float(of_index) - average_of_index;
        self.theta0 * weight_shard + self.theta1 * weight_index
    }

    /// The weight with write load and bytes above the average; `index_last` is the order of addition.
    pub(super) fn weight_with_loads(
        self,
        (above_average, above_average_of_index): (f32, f32),
        (write, bytes): (f32, f32),
        index_last: bool,
    ) -> f32 {
        let shard = self.theta0 * above_average;
        let index = self.theta1 * above_average_of_index;
        let (write, bytes) = (self.theta2 * write, self.theta3 * bytes);
        if index_last {
            shard + write + bytes + index
        } else {
            shard + index + write + bytes
        }
    }

    /// Weight of one copy that has this write load and these bytes.
    pub(super) fn of_one(self, (write, bytes): (f32, f32)) -> f32 {
        self.theta0 * 1.0 + self.theta1 * 1.0 + self.theta2 * write + self.theta3 * bytes
    }
}

/// The parts of the nodes' weights that are the same for all indices.
#[derive(Debug, Default)]
pub(super) struct NodeTerms {
    /// What is added before the share of the index.
    first: Vec<f32>,
    /// What is added after it, one after the other.
    then: Vec<[f32; 2]>,
}

impl WeightFunction {
    /// Adds a node's copies, write load and bytes above the averages.
    pub(super) fn add_node(
        self,
        terms: &mut NodeTerms,
        above_average: f32,
        (write, bytes): (f32, f32),
        index_last: bool,
    ) {
        let shard = self.theta0 * above_average;
        let (write, bytes) = (self.theta2 * write, self.theta3 * bytes);
        let (first, then) = if index_last {
            (shard + write + bytes, [0.0; 2])
        } else {
            (shard, [write, bytes])
        };
        terms.first.push(first);
        terms.then.push(then);
    }

    /// Difference between the heaviest node and the lightest, from the nodes' copies of an index.
    pub(super) fn spread(self, terms: &NodeTerms, of_index: &[i32], average_of_index: f32) -> f32 {
        let (mut lightest, mut heaviest) = (f32::INFINITY, f32::NEG_INFINITY);
        for ((first, then), &count) in terms.first.iter().zip(&terms.then).zip(of_index) {
            let index = self.theta1 * (float(count) - average_of_index);
            let weight = first + index + then[0] + then[1];
            lightest = if weight < lightest { weight } else { lightest };
            heaviest = if weight > heaviest { weight } else { heaviest };
        }
        // Equal zeros have no difference, whatever their signs.
        heaviest - lightest + 0.0
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "as Java converts an int to a float"
)]
pub(super) fn float(count: i32) -> f32 {
    count as f32
}

/// Average copies per node, in single precision.
#[expect(
    clippy::cast_precision_loss,
    reason = "as Java converts an int to a float"
)]
pub(super) fn average(copies: u64, nodes: usize) -> f32 {
    copies as f32 / nodes as f32
}

/// Whether a weight difference is within the threshold, apart from rounding (`lessThan`).
pub(super) fn within(delta: f32, threshold: f32) -> bool {
    delta <= (threshold + 0.001_f32)
}
