//! What goes into the engine and what comes out: sources, variables, texts and faults.

/// A template of several parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    /// At most one for each part, and an HTML or a text part among them.
    pub sources: Vec<Source>,
    /// The sources that `render` and `include` may call.
    pub partials: Vec<Partial>,
    /// Source text that surrounds the HTML part: it reads `content`, `subject` and `preheader`.
    pub layout: Option<String>,
}

/// What a source makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The subject, in one line.
    Subject,
    /// The text that mail programs show behind the subject, in one line.
    Preheader,
    /// The HTML body: values are escaped.
    Html,
    /// The text body; where there is no source for this part, the body is derived from the HTML one.
    Text,
}

/// The source text of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// What the text is for.
    pub part: Part,
    /// Liquid.
    pub text: String,
}

/// A source that others call by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partial {
    /// As in `{% render "name" %}`.
    pub name: String,
    /// Liquid.
    pub text: String,
}

/// What a template reads from variables that the data lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Undefined {
    /// Variables that are read unconditionally must be there.
    #[default]
    Required,
    /// Nothing is required and nothing is of the wrong type: absent is empty.
    Nil,
}

/// A variable that a template reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// As people write it: `user.name`, `items[].price`.
    pub path: String,
    /// Whether a render without it is refused.
    pub required: bool,
}

/// A rendered part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// What the text is for.
    pub part: Part,
    /// The text.
    pub text: String,
}

/// What a render makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// One for each source; a text body too where the template has HTML and no text source.
    pub bodies: Vec<Body>,
    /// Optional paths that were read and absent.
    pub missing: Vec<String>,
}

/// A render that did not come about, and whose fault that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RenderError {
    /// The data's: every fault that could be found at once.
    Data(Vec<Diagnostic>),
    /// The template's: it fails whatever the data is.
    Template(Vec<Diagnostic>),
}

/// A fault in what a person wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// For programs, as in `missing_variable`.
    pub code: String,
    /// For people, and complete without the other members.
    pub message: String,
    /// From 1; 0 where the line is not known.
    pub line: u32,
    /// From 1, in characters; 0 where the column is not known.
    pub column: u32,
    /// A piece of the source around line and column.
    pub snippet: Option<String>,
    /// Where in the data, as in `user.name`.
    pub path: Option<String>,
    /// What line and column belong to: `subject`, `preheader`, `html`, `text`, `layout`, `partial:footer`, or
    /// `derived:html` for the text body that is made of the HTML one. None where they belong to the data.
    pub part: Option<String>,
}

impl Diagnostic {
    /// A fault without a place.
    pub(crate) fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            line: 0,
            column: 0,
            snippet: None,
            path: None,
            part: None,
        }
    }

    /// A fault at a path of the data.
    pub(crate) fn at(path: impl Into<String>, code: &str, message: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..Self::new(code, message) }
    }
}
