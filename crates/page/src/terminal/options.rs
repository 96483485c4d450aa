//! Capabilities of a terminal.

/// Capabilities of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Width in columns; less than 40 is treated as 40. Commands and the paths of evidence are never broken
    /// and may exceed it.
    pub width: usize,
    /// Whether to use colours (ANSI SGR sequences).
    pub color: bool,
    /// Whether to use box-drawing and block characters; otherwise the output is ASCII.
    pub unicode: bool,
}

impl Default for Terminal {
    fn default() -> Self {
        Self {
            width: 80,
            color: false,
            unicode: true,
        }
    }
}
