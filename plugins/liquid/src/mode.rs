//! What a source is written for: it decides what is escaped.

/// The kind of text that a source makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Values are escaped unless they are markup.
    Html,
    /// Subject, preheader and text: nothing is escaped.
    Text,
    /// Text that was derived from HTML: its values are those of HTML, and markup is printed as text.
    Derived,
}

impl Mode {
    /// Whether strings in the source are markup.
    pub const fn has_markup(self) -> bool {
        matches!(self, Self::Html | Self::Derived)
    }
}
