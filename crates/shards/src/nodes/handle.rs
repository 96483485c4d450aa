//! Handles of copies.

/// A copy within a [`RoutingNodes`](super::RoutingNodes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CopyIndex(pub(super) u32);

impl CopyIndex {
    /// The position as a `usize`, for side tables; less than
    /// [`RoutingNodes::copy_limit`](super::RoutingNodes::copy_limit).
    pub const fn at(self) -> usize {
        self.0 as usize
    }
}
