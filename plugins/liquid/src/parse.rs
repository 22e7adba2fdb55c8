//! Source text to the compiled form. Collects every fault that it can.

mod block;
mod expr;
mod lexer;
mod scan;
mod tags;

pub use scan::{Piece, pieces};

use crate::ast::{Block, Primary};
use crate::fault::Fault;
use crate::mode::Mode;

/// Parses one source.
///
/// # Errors
/// Every fault found.
pub fn parse(source: &str, mode: Mode) -> Result<Block, Vec<Fault>> {
    let pieces = pieces(source).map_err(|it| vec![it])?;
    let mut faults = Vec::new();
    let block = block::whole(source, pieces, mode, 0, &mut faults);
    // The rest was not read: that its tags are not closed is no fault of theirs.
    if faults.iter().any(|it| it.code == "nesting_too_deep") {
        faults.retain(|it| it.code != "unclosed_tag");
    }
    if faults.is_empty() { Ok(block) } else { Err(faults) }
}

/// Parses one value, as it stands between `{{` and `}}`, without filters.
///
/// # Errors
/// It is none, or something follows.
pub fn value(source: &str) -> Result<Primary, Fault> {
    let mut cursor = expr::Cursor::new(source, 0, source.len(), Mode::Text)?;
    let value = cursor.primary()?;
    cursor.done()?;
    Ok(value)
}
