//! Parses expressions: values, paths, ranges, filter chains and conditions.

use super::lexer::{Spanned, Token, place, tokens};
use crate::ast::{
    Comparison, Condition, Expr, FilterCall, Literal, Logic, Operator, Path, Primary, Root,
    Segment, Sense, SourceOffset,
};
use crate::fault::Fault;
use crate::filter::{Named, Written};
use crate::filters;
use crate::mode::Mode;

/// How deep `a[b[c]]` may go.
const MAX_DEPTH: u32 = 30;

/// Reads the tokens of one tag or output.
pub struct Cursor<'s> {
    source: &'s str,
    tokens: Vec<Spanned<'s>>,
    next: usize,
    end: usize,
    mode: Mode,
    depth: u32,
}

type Parsed<T> = Result<T, Fault>;

/// Text that is printed as it is and counts as output.
pub fn verbatim(text: &str, mode: Mode) -> Expr {
    let literal =
        if mode == Mode::Html { Literal::Markup(text.into()) } else { Literal::Str(text.into()) };
    Expr { value: Primary::Literal(literal), filters: Vec::new() }
}

impl<'s> Cursor<'s> {
    pub fn new(source: &'s str, start: usize, end: usize, mode: Mode) -> Parsed<Self> {
        let tokens = tokens(source, start, end)?;
        Ok(Self { source, tokens, next: 0, end, mode, depth: 0 })
    }

    /// Where the next token stands.
    pub fn at(&self) -> SourceOffset {
        place(self.tokens.get(self.next).map_or(self.end, |it| it.start))
    }

    pub fn peek(&self) -> Option<Token<'s>> {
        self.tokens.get(self.next).map(|it| it.token)
    }

    /// Consumes this punctuation if it is the next token.
    pub fn mark(&mut self, mark: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Mark(it)) if it == mark);
        self.next += usize::from(found);
        found
    }

    /// Consumes this keyword if it is the next token.
    pub fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(Token::Name(it)) if it == word);
        self.next += usize::from(found);
        found
    }

    /// Takes `name:` if it comes next.
    pub fn key(&mut self) -> Option<&'s str> {
        let Some(Token::Name(name)) = self.peek() else {
            return None;
        };
        let colon = self.tokens.get(self.next + 1).map(|it| it.token);
        if colon != Some(Token::Mark(":")) {
            return None;
        }
        self.next += 2;
        Some(name)
    }

    /// Whether `name:` comes next.
    pub fn key_ahead(&self) -> bool {
        let colon = self.tokens.get(self.next + 1).map(|it| it.token);
        matches!(self.peek(), Some(Token::Name(_))) && colon == Some(Token::Mark(":"))
    }

    /// The variable name that a tag assigns: a name, a quoted string, or digits alone, as in Ruby's Liquid.
    pub fn binding(&mut self) -> Parsed<Box<str>> {
        let spanned = self.tokens.get(self.next).copied();
        self.next += 1;
        match spanned.map(|it| it.token) {
            Some(Token::Name(it) | Token::Str(it)) => Ok(it.into()),
            Some(Token::Int(it)) if it >= 0 => Ok(it.to_string().into()),
            Some(Token::Int(_) | Token::Float(_) | Token::Mark(_)) | None => {
                self.next -= 1;
                Err(self.unexpected("a name"))
            }
        }
    }

    /// Nothing may follow.
    pub fn done(&self) -> Parsed<()> {
        if self.next < self.tokens.len() {
            Err(self.unexpected("the end of the tag"))
        } else {
            Ok(())
        }
    }

    pub fn is_done(&self) -> bool {
        self.next >= self.tokens.len()
    }

    pub fn unexpected(&self, wanted: &str) -> Fault {
        let found = match self.tokens.get(self.next) {
            Some(it) => format!("`{}`", self.source.get(it.start..it.end).unwrap_or_default()),
            None => "the end of the tag".to_owned(),
        };
        Fault::new("syntax", self.at(), format!("expected {wanted}, found {found}"))
    }

    /// The source text from the token with index `first` to the last token taken.
    pub fn text_from(&self, first: usize) -> &'s str {
        let start = self.tokens.get(first).map_or(self.end, |it| it.start);
        let end =
            self.next.checked_sub(1).and_then(|it| self.tokens.get(it)).map_or(start, |it| it.end);
        self.source.get(start..end.max(start)).unwrap_or_default()
    }

    pub const fn position(&self) -> usize {
        self.next
    }

    /// `value | filter: arg, name: arg | …`.
    pub fn expr(&mut self) -> Parsed<Expr> {
        let value = self.primary()?;
        let mut filters = Vec::new();
        while self.mark("|") {
            filters.push(self.filter()?);
        }
        filters.shrink_to_fit();
        Ok(Expr { value, filters })
    }

    fn filter(&mut self) -> Parsed<FilterCall> {
        let at = self.at();
        let Some(Token::Name(name)) = self.peek() else {
            return Err(self.unexpected("a filter"));
        };
        self.next += 1;
        let filter = filters::find(name).ok_or_else(|| {
            Fault::new(
                "unknown_filter",
                at,
                format!("there is no filter `{name}`{}", filters::hint(name)),
            )
        })?;
        let (mut args, mut named) = (Vec::new(), Vec::new());
        if self.mark(":") {
            // A colon or a comma with nothing behind it is no fault, as in Ruby.
            while !self.is_done() && self.peek() != Some(Token::Mark("|")) {
                match self.key() {
                    Some(key) => named.push((key.into(), self.primary()?)),
                    None => args.push(self.primary()?),
                }
                if !self.mark(",") {
                    break;
                }
            }
        }
        if !(filter.min..=filter.max).contains(&args.len()) {
            let wanted = if filter.min == filter.max {
                filter.min.to_string()
            } else {
                format!("{} to {}", filter.min, filter.max)
            };
            let message = format!("`{name}` takes {wanted} arguments, found {}", args.len());
            return Err(Fault::new("filter_arguments", at, message));
        }
        if let Named::These(known) = filter.named
            && let Some((key, _)) =
                named.iter().find(|(it, _): &&(Box<str>, _)| !known.contains(&&**it))
        {
            let message = format!("`{name}` has no argument `{key}`");
            return Err(Fault::new("filter_arguments", at, message));
        }
        let written = Written {
            positional: args.iter().map(text).collect(),
            named: named.iter().map(|(name, it)| (&**name, text(it))).collect(),
        };
        (filter.check)(&written)
            .map_err(|it| Fault::new("filter_arguments", at, it.to_string()))?;
        Ok(FilterCall { at, filter, args, named })
    }

    pub fn primary(&mut self) -> Parsed<Primary> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("an expression is nested more than {MAX_DEPTH} deep");
            return Err(Fault::new("nesting_too_deep", self.at(), message));
        }
        let it = self.primary_at_depth();
        self.depth -= 1;
        it
    }

    fn primary_at_depth(&mut self) -> Parsed<Primary> {
        let literal = match self.peek() {
            Some(Token::Int(it)) => Literal::Int(it),
            Some(Token::Float(it)) => Literal::Float(it),
            Some(Token::Str(it)) if self.mode.has_markup() => Literal::Markup(it.into()),
            Some(Token::Str(it)) => Literal::Str(it.into()),
            Some(Token::Name(name)) => {
                self.next += 1;
                return self.named(name);
            }
            Some(Token::Mark("(")) => {
                self.next += 1;
                return self.range();
            }
            Some(Token::Mark("[")) => {
                self.next += 1;
                let root = self.primary()?;
                self.close("]")?;
                let root = match root {
                    Primary::Literal(Literal::Str(it) | Literal::Markup(it)) => Root::Name(it),
                    it @ (Primary::Literal(_) | Primary::Path(_) | Primary::Range(_)) => {
                        Root::Computed(Box::new(it))
                    }
                };
                return self.path(root);
            }
            Some(Token::Mark(_)) | None => return Err(self.unexpected("a value")),
        };
        self.next += 1;
        Ok(Primary::Literal(literal))
    }

    fn named(&mut self, name: &str) -> Parsed<Primary> {
        let literal = match name {
            "true" => Literal::Bool(true),
            "false" => Literal::Bool(false),
            "nil" | "null" => Literal::Nil,
            "blank" => Literal::Blank,
            "empty" => Literal::Empty,
            _ => return self.path(Root::Name(name.into())),
        };
        if matches!(self.peek(), Some(Token::Mark("." | "["))) {
            return self.path(Root::Name(name.into()));
        }
        Ok(Primary::Literal(literal))
    }

    fn path(&mut self, root: Root) -> Parsed<Primary> {
        let mut segments = Vec::new();
        loop {
            if self.mark(".") {
                let Some(Token::Name(key)) = self.peek() else {
                    return Err(self.unexpected("a property's name"));
                };
                self.next += 1;
                segments.push(Segment::Key(key.into()));
            } else if self.mark("[") {
                segments.push(match self.primary()? {
                    Primary::Literal(Literal::Str(it) | Literal::Markup(it)) => Segment::Item(it),
                    Primary::Literal(Literal::Int(it)) => Segment::Index(it),
                    it @ (Primary::Literal(_) | Primary::Path(_) | Primary::Range(_)) => {
                        Segment::Computed(it)
                    }
                });
                self.close("]")?;
            } else {
                return Ok(Primary::Path(Path::new(root, segments)));
            }
        }
    }

    fn range(&mut self) -> Parsed<Primary> {
        let from = self.primary()?;
        if !self.mark("..") {
            return Err(self.unexpected("`..`"));
        }
        let to = self.primary()?;
        self.close(")")?;
        Ok(Primary::Range(Box::new((from, to))))
    }

    fn close(&mut self, mark: &str) -> Parsed<()> {
        if self.mark(mark) { Ok(()) } else { Err(self.unexpected(&format!("`{mark}`"))) }
    }

    /// A whole condition, to the end of the tag.
    pub fn condition(&mut self, sense: Sense) -> Parsed<Condition> {
        let first = self.comparison()?;
        let mut rest = Vec::new();
        loop {
            let logic = if self.word("and") {
                Logic::And
            } else if self.word("or") {
                Logic::Or
            } else {
                break;
            };
            rest.push((logic, self.comparison()?));
        }
        self.done()?;
        Ok(Condition { sense, first, rest })
    }

    fn comparison(&mut self) -> Parsed<Comparison> {
        let at = self.at();
        let left = self.primary()?;
        let operator = match self.peek() {
            Some(Token::Mark("==")) => Operator::Equal,
            Some(Token::Mark("!=" | "<>")) => Operator::NotEqual,
            Some(Token::Mark("<")) => Operator::Less,
            Some(Token::Mark("<=")) => Operator::LessOrEqual,
            Some(Token::Mark(">")) => Operator::Greater,
            Some(Token::Mark(">=")) => Operator::GreaterOrEqual,
            Some(Token::Name("contains")) => Operator::Contains,
            Some(_) | None => {
                return Ok(Comparison { at, left, right: None });
            }
        };
        self.next += 1;
        let right = Some((operator, self.primary()?));
        Ok(Comparison { at, left, right })
    }
}

/// The text that a template gives as an argument.
fn text(it: &Primary) -> Option<&str> {
    match it {
        Primary::Literal(Literal::Str(it) | Literal::Markup(it)) => Some(it),
        Primary::Literal(_) | Primary::Path(_) | Primary::Range(_) => None,
    }
}
