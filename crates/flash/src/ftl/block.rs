//! The state of blocks and pages.

/// The state of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockState {
    /// Erased.
    Free,
    /// A frontier: open for writing.
    Open,
    /// Full; may be collected.
    Closed,
}

/// A block, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockView {
    /// Number of valid pages.
    pub valid: u32,
    /// Number of erases.
    pub erased: u32,
    /// The block's state.
    pub state: BlockState,
}
