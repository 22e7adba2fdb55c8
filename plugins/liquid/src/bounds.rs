//! How deep blocks and partials may nest, when a template is compiled and when it runs.

/// A partial takes as much of the stack as so many blocks.
pub const CALL_DEPTH: u32 = 3;

/// Blocks and partials together go no deeper than this.
pub const MAX_DEPTH: u32 = 160;
