//! Which paths a template reads from its data, and which of them it cannot do without.
//!
//! Required: printed, filtered or looped over whatever the data is, without `default`. What every
//! branch of an `if … else` or a `case … else` reads is read whatever the data is; what only some of
//! them read is optional, and so is what stands in a condition or behind a `break`. A loop without an
//! `else` counts as run. Names that the template binds are not data: a loop's variable stands for the
//! items of its collection, and what `assign` or `capture` computed is needed where its name is read.
//!
//! Where members of the items of a list are read one by one, and the list is also read as it is, as by a filter, the
//! items are named too: `items[]`. Otherwise what is not named of them is not read.

mod message;
mod reads;
mod uses;
mod walk;

use crate::bounds::MAX_DEPTH;
use crate::messages::Messages;
use crate::template::Diagnostic;
use crate::unit::{Partials, Unit};
use walk::Walker;

pub use uses::{Step, Use, append};

/// Every path that a template reads, in order of first use.
///
/// # Errors
/// The template calls partials so often that it cannot be looked through, or too deep.
pub fn of<'u>(
    units: impl Iterator<Item = (&'u Unit, &'static [&'static str])>,
    partials: &'u Partials,
    messages: &'u Messages,
) -> Result<Vec<Use>, Vec<Diagnostic>> {
    let mut walker = Walker::new(partials, messages);
    for (unit, given) in units {
        walker.unit(unit, given);
    }
    if walker.is_exhausted() {
        let message = "the partials call each other too often to be looked through".to_owned();
        return Err(vec![Diagnostic::new("too_complex", message)]);
    }
    if walker.deepest > MAX_DEPTH {
        let message = format!("tags and partials are nested more than {MAX_DEPTH} deep");
        return Err(vec![Diagnostic::new("nesting_too_deep", message)]);
    }
    walker.uses.name_items_of_whole_lists();
    Ok(walker.uses.all)
}
