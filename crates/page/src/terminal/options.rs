//! What a terminal can show.

/// What there is to know of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminal {
    /// Columns to fill; less than 40 count as 40. Commands and the paths of evidence are never broken
    /// and may exceed them.
    pub width: usize,
    /// Colours, by ANSI SGR sequences.
    pub color: bool,
    /// Box-drawing and block characters; otherwise everything is ASCII.
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
