//! The plain text of HTML e-mails: for renderers, in whatever template language.
//!
//! ```
//! use waxwing_html_text::{lines, of_markup};
//!
//! let html = "<p>Hi <b>Ada</b>,</p><ul><li>one<li>two</ul><a href='https://a.test'>More</a>";
//! assert_eq!(lines(&of_markup(html)), "Hi Ada,\n\n- one\n- two\nMore (https://a.test)\n");
//! ```
//!
//! A renderer that derives a text *template* of an HTML template puts [`OPEN`], a number and [`CLOSE`]
//! in place of each piece of its language and calls [`of_template`]; the pieces stand in the text then.

#![warn(missing_docs, clippy::missing_errors_doc)]

mod entities;
mod layout;
mod markup;
mod plain;
mod writer;

pub use entities::decode as decode_entities;
pub use layout::{lines, one_line};
pub use plain::{plain, strip_tags};
pub use writer::{CLOSE, FRESH_LINE, OPEN, Piece, is_reserved, of_markup, of_template};
