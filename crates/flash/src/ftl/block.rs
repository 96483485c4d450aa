//! The state of blocks and pages.

/// The state of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockState {
    /// Erased.
    Free,
    /// A frontier: being written.
    Open,
    /// Full; may be collected.
    Closed,
}

/// A block, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockView {
    /// Pages that hold data.
    pub valid: u32,
    /// Number of erases.
    pub erased: u32,
    /// Its state.
    pub state: BlockState,
    /// The stream whose pages it holds; 0 while it is free.
    pub stream: u8,
}

/// A page of a block, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageState {
    /// Erased, to be programmed.
    Free,
    /// Holds this logical page.
    Valid(u32),
    /// Overwritten or discarded, until its block is erased.
    Invalid,
}
