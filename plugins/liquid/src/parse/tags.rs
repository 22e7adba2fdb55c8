//! Each tag's own syntax.

use super::block::{Parser, Tag, drop_blank};
use super::expr::Cursor;
use super::lexer::{Token, place};
use crate::ast::{
    Arm, Block, Bound, Call, CallScope, CycleName, For, Literal, Node, Offset, Primary, Sense,
};
use crate::fault::Fault;

type Parsed<T> = Result<T, Fault>;

impl<'s> Parser<'s, '_> {
    /// Parses one tag and, for a block, its bodies. What it calls is not inlined: this recurses
    /// with each nested tag, on a small stack.
    pub fn tag(&mut self, tag: &Tag<'s>, out: &mut Block) -> Parsed<()> {
        let node = match tag.name {
            "assign" => self.assign(tag)?,
            "capture" => self.capture(tag)?,
            "if" => self.branches(tag, Sense::If)?,
            "unless" => self.branches(tag, Sense::Unless)?,
            "case" => self.case(tag)?,
            "for" => Node::For(Box::new(self.loop_of(tag)?)),
            "tablerow" => Node::TableRow(Box::new(self.loop_of(tag)?)),
            "cycle" => self.cycle(tag)?,
            "increment" => Node::Increment(self.counter(tag)?),
            "decrement" => Node::Decrement(self.counter(tag)?),
            "ifchanged" => self.if_changed(tag)?,
            "break" => Node::Break,
            "continue" => Node::Continue,
            "render" => self.call(tag, CallScope::Own)?,
            "include" => self.call(tag, CallScope::Shared)?,
            "echo" => {
                out.extend(self.output(tag)?);
                return Ok(());
            }
            "liquid" => return self.lines(tag, out),
            name => {
                let message = if name.is_empty() {
                    "a tag starts with its name".to_owned()
                } else {
                    format!("there is no tag `{name}`")
                };
                return Err(Fault::new("unknown_tag", place(tag.at), message));
            }
        };
        out.push(node);
        Ok(())
    }

    #[inline(never)]
    fn assign(&mut self, tag: &Tag<'s>) -> Parsed<Node> {
        let mut cursor = self.cursor(tag)?;
        let at = cursor.at();
        let name = cursor.binding()?;
        if name.ends_with('?') {
            return Err(Fault::new("syntax", at, "a name that is assigned does not end in `?`"));
        }
        if !cursor.mark("=") {
            return Err(cursor.unexpected("`=`"));
        }
        let value = cursor.expr()?;
        cursor.done()?;
        Ok(Node::Assign { name, value })
    }

    #[inline(never)]
    fn capture(&mut self, tag: &Tag<'s>) -> Parsed<Node> {
        let name = self.bound_name(tag);
        let (body, _) = self.body(tag, &["endcapture"])?;
        Ok(Node::Capture { name: name?, body })
    }

    fn counter(&mut self, tag: &Tag<'s>) -> Parsed<Box<str>> {
        self.bound_name(tag)
    }

    #[inline(never)]
    fn bound_name(&self, tag: &Tag<'s>) -> Parsed<Box<str>> {
        let mut cursor = self.cursor(tag)?;
        let name = cursor.binding()?;
        cursor.done()?;
        Ok(name)
    }

    #[inline(never)]
    fn if_changed(&mut self, tag: &Tag<'s>) -> Parsed<Node> {
        Ok(Node::IfChanged(self.body(tag, &["endifchanged"])?.0))
    }

    #[inline(never)]
    fn branches(&mut self, tag: &Tag<'s>, sense: Sense) -> Parsed<Node> {
        let close = if sense == Sense::If { "endif" } else { "endunless" };
        let mut branches = Vec::new();
        let mut otherwise = None;
        let mut head = tag.clone();
        loop {
            let sense = if head.name == "elsif" { Sense::If } else { sense };
            let condition = if head.name == "else" {
                None
            } else {
                Some(self.cursor(&head).and_then(|mut it| it.condition(sense)))
            };
            let (body, end) = self.body(tag, &["elsif", "else", close])?;
            match condition {
                _ if otherwise.is_some() => {}
                None => otherwise = Some(body),
                Some(Ok(condition)) => branches.push((condition, body)),
                Some(Err(it)) => self.fault(it),
            }
            if end.name == close {
                break;
            }
            head = end;
        }
        drop_blank(branches.iter_mut().map(|(_, it)| it).chain(otherwise.as_mut()));
        branches.shrink_to_fit();
        Ok(Node::If { branches, otherwise })
    }

    #[inline(never)]
    fn case(&mut self, tag: &Tag<'s>) -> Parsed<Node> {
        let subject = self.cursor(tag).and_then(|mut it| {
            let subject = it.primary()?;
            it.done()?;
            Ok(subject)
        });
        let ends = ["when", "else", "endcase"];
        let (_, mut head) = self.body(tag, &ends)?;
        let mut arms = Vec::new();
        while head.name != "endcase" {
            let values = if head.name == "when" { Some(self.when(&head)) } else { None };
            let (body, end) = self.body(tag, &ends)?;
            head = end;
            match values.transpose() {
                Ok(values) => arms.push(Arm { values, body }),
                Err(it) => self.fault(it),
            }
        }
        drop_blank(arms.iter_mut().map(|it| &mut it.body));
        arms.shrink_to_fit();
        Ok(Node::Case { subject: subject?, arms })
    }

    #[inline(never)]
    fn when(&mut self, tag: &Tag<'s>) -> Parsed<Vec<Primary>> {
        let mut cursor = self.cursor(tag)?;
        let mut values = vec![cursor.primary()?];
        while cursor.mark(",") || cursor.word("or") {
            values.push(cursor.primary()?);
        }
        cursor.done()?;
        Ok(values)
    }

    #[inline(never)]
    fn loop_of(&mut self, tag: &Tag<'s>) -> Parsed<For> {
        let head = self.cursor(tag).and_then(|mut it| loop_head(tag, &mut it));
        let close = if tag.name == "for" { "endfor" } else { "endtablerow" };
        let ends: &[&str] = if tag.name == "for" { &["else", close] } else { &[close] };
        let (mut body, mut end) = self.body(tag, ends)?;
        let mut otherwise = None;
        while end.name == "else" {
            let (body, next) = self.body(tag, ends)?;
            otherwise.get_or_insert(body);
            end = next;
        }
        let mut it = head?;
        if tag.name == "for" {
            drop_blank(std::iter::once(&mut body).chain(otherwise.as_mut()));
        }
        it.body = body;
        it.otherwise = otherwise;
        Ok(it)
    }

    #[inline(never)]
    fn cycle(&mut self, tag: &Tag<'s>) -> Parsed<Node> {
        let mut cursor = self.cursor(tag)?;
        let mut items = vec![cursor.primary()?];
        let mut name = None;
        if cursor.mark(":") {
            name = items.pop();
            items.push(cursor.primary()?);
        }
        while cursor.mark(",") && !cursor.is_done() {
            items.push(cursor.primary()?);
        }
        cursor.done()?;
        let name = match name {
            Some(name) => CycleName::Named(name),
            None if items.iter().all(|it| matches!(it, Primary::Literal(_))) => {
                CycleName::Items(cursor.text_from(0).into())
            }
            None => CycleName::Own,
        };
        Ok(Node::Cycle { name, items })
    }

    #[inline(never)]
    fn call(&mut self, tag: &Tag<'s>, scope: CallScope) -> Parsed<Node> {
        let mut cursor = self.cursor(tag)?;
        let at = cursor.at();
        let partial = cursor.primary()?;
        let is_name = matches!(partial, Primary::Literal(Literal::Str(_) | Literal::Markup(_)));
        if scope == CallScope::Own && !is_name {
            return Err(Fault::new("syntax", at, "`render` takes the partial's name in quotes"));
        }
        let bound = if cursor.key_ahead() {
            None
        } else if cursor.word("with") {
            Some(Bound::With(cursor.primary()?))
        } else if cursor.word("for") {
            Some(Bound::For(cursor.primary()?))
        } else {
            None
        };
        let alias =
            if !cursor.key_ahead() && cursor.word("as") { Some(cursor.binding()?) } else { None };
        let mut args = Vec::new();
        while !cursor.is_done() {
            let comma = cursor.mark(",");
            match cursor.key() {
                Some(key) => args.push((key.into(), cursor.primary()?)),
                None if comma && cursor.is_done() => break,
                None => return Err(cursor.unexpected("`name: value`")),
            }
        }
        Ok(Node::Call(Box::new(Call { at, scope, partial, bound, alias, args })))
    }
}

/// `variable in collection limit: n offset: n reversed cols: n`, commas allowed.
#[inline(never)]
fn loop_head(tag: &Tag<'_>, cursor: &mut Cursor<'_>) -> Parsed<For> {
    let at = cursor.at();
    let variable = cursor.binding()?;
    if !cursor.word("in") {
        return Err(cursor.unexpected("`in`"));
    }
    let first = cursor.position();
    let collection = cursor.primary()?;
    let name = format!("{variable}-{}", cursor.text_from(first)).into();
    let mut it = For {
        at,
        variable,
        collection,
        name,
        limit: None,
        offset: Offset::None,
        reversed: false,
        columns: None,
        body: Vec::new(),
        otherwise: None,
    };
    while !cursor.is_done() {
        if cursor.mark(",") {
            continue;
        }
        if tag.name == "for" && cursor.word("reversed") {
            it.reversed = true;
            continue;
        }
        match cursor.key() {
            Some("limit") => it.limit = Some(cursor.primary()?),
            Some("offset") if matches!(cursor.peek(), Some(Token::Name("continue"))) => {
                cursor.word("continue");
                it.offset = Offset::Continue;
            }
            Some("offset") => it.offset = Offset::At(cursor.primary()?),
            Some("cols") if tag.name == "tablerow" => it.columns = Some(cursor.primary()?),
            // Shopify's `tablerow` takes it and does nothing with it.
            Some("range") if tag.name == "tablerow" => drop(cursor.primary()?),
            Some(_) | None => return Err(cursor.unexpected("`limit:`, `offset:` or `reversed`")),
        }
    }
    Ok(it)
}
