//! Writes the value of a header field: plain text and encoded words (RFC 2047), folded at its blanks.

use std::fmt::Write as _;

use email_encoding::headers::{rfc2047, rfc2231, writer::EmailWriter};

use crate::field::decode_word;

/// Writes a value, folded at blanks; a word longer than a line is not broken.
pub(super) struct Output<'a> {
    writer: EmailWriter<'a>,
}

/// Words beside each other that are encoded together, so that the blanks between them are kept: readers drop
/// those between two encoded words.
#[derive(Default)]
pub(super) struct Run {
    text: String,
    after_encoded_word: bool,
}

impl<'a> Output<'a> {
    /// Goes on behind what is in `line`, the beginning of a field.
    pub(super) fn new(line: &'a mut String) -> Self {
        let column = line.len();
        Self { writer: EmailWriter::new(line, column, 1, false) }
    }

    /// ASCII, unchanged but for folding at its blanks.
    pub(super) fn plain(&mut self, text: &str) {
        // Writing to a `String` cannot fail.
        let _infallible = self.writer.folding().write_str(text);
    }

    pub(super) fn encoded(&mut self, text: &str) {
        let _infallible = rfc2047::encode(text, &mut self.writer);
    }

    /// A parameter of a structured value, its name and its value (RFC 2231).
    pub(super) fn parameter(&mut self, key: &str, value: &str) {
        let _infallible = rfc2231::encode(key, value, &mut self.writer);
    }

    pub(super) fn blank(&mut self) {
        self.writer.space();
    }

    /// Writes what has gathered.
    pub(super) fn run(&mut self, run: &mut Run) {
        if !run.is_empty() {
            self.encoded(&run.text);
            *run = Run::default();
        }
    }
}

impl Run {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes a word, if it must be encoded or is encoded already; `blanks` stand before it. Returns whether the word
    /// was taken.
    pub(super) fn take(&mut self, word: &str, blanks: &str) -> bool {
        let decoded = if word.is_ascii() { decode_word(word) } else { None };
        if word.is_ascii() && decoded.is_none() {
            return false;
        }
        let are_both_encoded = self.after_encoded_word && decoded.is_some();
        if !self.text.is_empty() && !are_both_encoded {
            self.text.push_str(blanks);
        }
        self.after_encoded_word = decoded.is_some();
        self.text.push_str(decoded.as_deref().unwrap_or(word));
        true
    }
}
