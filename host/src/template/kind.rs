//! Templates, layouts and partials live by the same rules: a draft, versions, one of them published.

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TemplateKind {
    /// What is sent.
    Template,
    /// What surrounds the HTML part of templates.
    Layout,
    /// What templates, layouts and other partials call by name.
    Partial,
}

impl TemplateKind {
    pub const ALL: [Self; 3] = [Self::Template, Self::Layout, Self::Partial];

    /// The word in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Layout => "layout",
            Self::Partial => "partial",
        }
    }

    /// The kind of that word.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}
