//! Node weights, in single precision as in the server.

/// Weight of a node for an index, from its total copies and its copies of the index (`WeightFunction`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct WeightFunction {
    theta0: f32,
    theta1: f32,
}

impl WeightFunction {
    pub(super) fn new(index_balance: f32, shard_balance: f32) -> WeightFunction {
        let sum = index_balance + shard_balance;
        WeightFunction {
            theta0: shard_balance / sum,
            theta1: index_balance / sum,
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
