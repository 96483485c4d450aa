//! Nodes sorted by weight (`NodeSorter`).
//!
//! The arrays keep their order from one index to the next: ties are resolved by the previous order.

use std::cmp::Ordering;

use crate::introsort::{self, Partition, Slots, compare_f32};

/// Nodes with their weights; the order persists between sorts.
#[derive(Debug)]
pub(super) struct NodeSorter {
    pub nodes: Vec<u32>,
    pub weights: Vec<f32>,
    partition: Partition,
    pivot: f32,
}

impl NodeSorter {
    pub fn new(count: usize, partition: Partition) -> NodeSorter {
        let nodes = (0..u32::try_from(count).expect("fewer than 2^32 nodes")).collect();
        NodeSorter {
            nodes,
            weights: vec![0.0; count],
            partition,
            pivot: 0.0,
        }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn sort(&mut self, from: usize, to: usize) {
        introsort::sort(self.partition, self, from, to);
    }

    /// Whether no two of the sorted nodes have the same weight.
    pub fn has_distinct_weights(&self) -> bool {
        let mut neighbours = self.weights.windows(2);
        neighbours.all(|pair| compare_f32(pair[0], pair[1]) == Ordering::Less)
    }

    /// Weight difference between the heaviest node and the lightest.
    pub fn delta(&self) -> f32 {
        match (self.weights.first(), self.weights.last()) {
            (Some(first), Some(last)) => last - first,
            _ => 0.0,
        }
    }
}

impl Slots for NodeSorter {
    fn swap(&mut self, i: usize, j: usize) {
        self.nodes.swap(i, j);
        self.weights.swap(i, j);
    }

    fn set_pivot(&mut self, i: usize) {
        self.pivot = self.weights[i];
    }

    fn compare_pivot(&self, j: usize) -> Ordering {
        compare_f32(self.pivot, self.weights[j])
    }
}

/// Indices with the spread of their weights, most unbalanced first (`buildWeightOrderedIndices`).
#[derive(Debug)]
pub(super) struct BySpread<T> {
    pub indices: Vec<T>,
    pub deltas: Vec<f32>,
    pivot: f32,
}

impl<T> BySpread<T> {
    pub fn sorted(partition: Partition, indices: Vec<T>, deltas: Vec<f32>) -> Vec<T> {
        let mut all = BySpread {
            indices,
            deltas,
            pivot: 0.0,
        };
        let count = all.indices.len();
        introsort::sort(partition, &mut all, 0, count);
        all.indices
    }
}

impl<T> Slots for BySpread<T> {
    fn swap(&mut self, i: usize, j: usize) {
        self.indices.swap(i, j);
        self.deltas.swap(i, j);
    }

    fn set_pivot(&mut self, i: usize) {
        self.pivot = self.deltas[i];
    }

    fn compare_pivot(&self, j: usize) -> Ordering {
        compare_f32(self.deltas[j], self.pivot)
    }
}
