//! The compiled form of a template: built once, only read while rendering.

use crate::filter::Filter;

/// A byte offset in the source of a unit.
pub type SourceOffset = u32;

/// A sequence of nodes.
pub type Block = Vec<Node>;

#[derive(Debug)]
pub enum Node {
    Text(Box<str>),
    Output(Expr),
    Assign { name: Box<str>, value: Expr },
    Capture { name: Box<str>, body: Block },
    If { branches: Vec<(Condition, Block)>, otherwise: Option<Block> },
    Case { subject: Primary, arms: Vec<Arm> },
    For(Box<For>),
    TableRow(Box<For>),
    Cycle { name: CycleName, items: Vec<Primary> },
    Increment(Box<str>),
    Decrement(Box<str>),
    IfChanged(Block),
    Break,
    Continue,
    Call(Box<Call>),
}

/// Looks at each node, also at those inside of others.
pub fn each_node<'b>(block: &'b [Node], look: &mut impl FnMut(&'b Node)) {
    for node in block {
        look(node);
        match node {
            Node::Capture { body, .. } | Node::IfChanged(body) => each_node(body, look),
            Node::If { branches, otherwise } => {
                for body in branches.iter().map(|(_, it)| it).chain(otherwise) {
                    each_node(body, look);
                }
            }
            Node::Case { arms, .. } => arms.iter().for_each(|it| each_node(&it.body, look)),
            Node::For(it) | Node::TableRow(it) => {
                for body in std::iter::once(&it.body).chain(&it.otherwise) {
                    each_node(body, look);
                }
            }
            Node::Text(_)
            | Node::Output(_)
            | Node::Assign { .. }
            | Node::Cycle { .. }
            | Node::Increment(_)
            | Node::Decrement(_)
            | Node::Break
            | Node::Continue
            | Node::Call(_) => {}
        }
    }
}

/// A value and the filters that it goes through.
#[derive(Debug)]
pub struct Expr {
    pub value: Primary,
    pub filters: Vec<FilterCall>,
}

#[derive(Debug)]
pub struct FilterCall {
    pub at: SourceOffset,
    pub filter: &'static Filter,
    pub args: Vec<Primary>,
    pub named: Vec<(Box<str>, Primary)>,
}

#[derive(Debug)]
pub enum Primary {
    Literal(Literal),
    Path(Path),
    Range(Box<(Self, Self)>),
}

#[derive(Debug, Clone)]
pub enum Literal {
    Nil,
    Blank,
    Empty,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Box<str>),
    /// A string that stands in an HTML part: its author wrote it as markup.
    Markup(Box<str>),
}

/// `root.key[0][other]`.
#[derive(Debug)]
pub struct Path {
    pub root: Root,
    pub segments: Vec<Segment>,
}

impl Path {
    pub fn new(root: Root, mut segments: Vec<Segment>) -> Self {
        // Memory of compiled templates: a `Vec` that grows by `push` has room for four, and most paths have one segment.
        segments.shrink_to_fit();
        let is_own = matches!(&root, Root::Name(name) if &**name == "locale")
            && matches!(segments.first(), Some(Segment::Key(key) | Segment::Item(key))
                if matches!(&**key, "lang" | "dir"));
        Self { root: if is_own { Root::Locale } else { root }, segments }
    }
}

#[derive(Debug)]
pub enum Root {
    Name(Box<str>),
    /// `locale`, of which `lang` or `dir` is read: the render's own, unless the template binds that name.
    Locale,
    /// `[expression]` at the start.
    Computed(Box<Primary>),
}

#[derive(Debug)]
pub enum Segment {
    /// `.key`: also `size`, `first` and `last`.
    Key(Box<str>),
    /// `["key"]`: of an object only.
    Item(Box<str>),
    Index(i64),
    Computed(Primary),
}

/// `a == b and c or d`: right-associative, all operators equal.
#[derive(Debug)]
pub struct Condition {
    /// For `unless`.
    pub sense: Sense,
    pub first: Comparison,
    pub rest: Vec<(Logic, Comparison)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    If,
    Unless,
}

#[derive(Debug, Clone, Copy)]
pub enum Logic {
    And,
    Or,
}

#[derive(Debug)]
pub struct Comparison {
    pub at: SourceOffset,
    pub left: Primary,
    pub right: Option<(Operator, Primary)>,
}

#[derive(Debug, Clone, Copy)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

/// A `when` with its values, or an `else` without.
#[derive(Debug)]
pub struct Arm {
    pub values: Option<Vec<Primary>>,
    pub body: Block,
}

#[derive(Debug)]
pub struct For {
    pub at: SourceOffset,
    pub variable: Box<str>,
    pub collection: Primary,
    /// `variable-collection`, as written.
    pub name: Box<str>,
    pub limit: Option<Primary>,
    pub offset: Offset,
    pub reversed: bool,
    pub columns: Option<Primary>,
    pub body: Block,
    pub otherwise: Option<Block>,
}

#[derive(Debug)]
pub enum Offset {
    None,
    Continue,
    At(Primary),
}

#[derive(Debug)]
pub enum CycleName {
    Named(Primary),
    /// The items as written: tags with the same literals share a counter.
    Items(Box<str>),
    /// An item is a variable: the tag counts for itself.
    Own,
}

/// `render` or `include`.
#[derive(Debug)]
pub struct Call {
    pub at: SourceOffset,
    pub scope: CallScope,
    pub partial: Primary,
    pub bound: Option<Bound>,
    pub alias: Option<Box<str>>,
    pub args: Vec<(Box<str>, Primary)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallScope {
    /// `render`: the caller's names are not seen.
    Own,
    /// `include`: shares the caller's names.
    Shared,
}

#[derive(Debug)]
pub enum Bound {
    With(Primary),
    For(Primary),
}

impl Bound {
    pub const fn value(&self) -> &Primary {
        match self {
            Self::With(it) | Self::For(it) => it,
        }
    }
}

/// What a partial's value is called without `as`: the last part of the partial's name.
pub fn own_variable(partial: &str) -> &str {
    partial.rsplit('/').next().unwrap_or(partial)
}
