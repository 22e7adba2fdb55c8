//! Liquid templates of e-mail: escaped for HTML, with their variables known beforehand.
//!
//! A template is parsed once and rendered many times; a render is deterministic, reads no clock and
//! never parses. Faults of a template and of data are diagnostics, never a panic. The sizes of the data and of
//! the output are the caller's to bound; nesting, partials and ranges are bounded here.
//!
//! ```
//! use waxwing_liquid::{Compiled, Part, Source, Template, Undefined};
//!
//! let html = Source { part: Part::Html, text: "<p>Hi {{ name }}</p>".to_owned() };
//! let template = Template { sources: vec![html], ..Template::default() };
//! let compiled = Compiled::new(&template, Undefined::Required).unwrap();
//! assert_eq!(compiled.variables()[0].path, "name");
//!
//! let output = compiled.render(0, r#"{"name": "Tom & Jo"}"#).unwrap();
//! assert_eq!(output.bodies[0].text, "<p>Hi Tom &amp; Jo</p>");
//! assert_eq!(output.bodies[1].text, "Hi Tom & Jo\n");
//! ```

#![warn(missing_docs, clippy::missing_errors_doc)]

/// The example of the README, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[macro_use]
mod put;

mod ast;
mod bounds;
mod check;
mod compile;
mod fault;
mod filter;
mod filters;
mod json;
mod locale;
mod machine;
mod messages;
mod mode;
mod moment;
mod parse;
mod plaintext;
mod render;
mod template;
mod unit;
mod value;
mod variables;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod spec;
#[cfg(test)]
mod tests;

pub use compile::Compiled;
pub use locale::Locale;
pub use template::{
    Body, Diagnostic, Output, Part, Partial, RenderError, Source, Template, Undefined, Variable,
};
