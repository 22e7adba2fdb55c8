//! The walk over a compiled template that finds what it reads.

use super::{Reading, Step, Uses};
use crate::ast::{
    Block, Bound, Call, CallScope, Comparison, Condition, CycleName, Expr, For, Literal, Node,
    Offset, Path, Primary, Root, Segment,
};
use crate::machine::CALL_DEPTH;
use crate::mode::Mode;
use crate::unit::{Partials, Unit};

/// Nodes that are looked at; partials count at each call.
const BUDGET: u32 = 500_000;

/// What a name that the template bound stands for.
#[derive(Debug, Clone)]
enum Meaning {
    /// Something that was computed.
    Own,
    /// A part of the data.
    Alias(Vec<Step>),
}

pub struct Walker<'a> {
    partials: &'a Partials,
    pub(super) uses: Uses,
    locals: Vec<(&'a str, Meaning)>,
    scopes: Vec<(&'a str, Meaning)>,
    /// Branches around the node at hand.
    branches: u32,
    mode: Mode,
    left: u32,
    depth: u32,
    /// How deep blocks and partials are nested together.
    pub(super) deepest: u32,
}

impl<'a> Walker<'a> {
    pub fn new(partials: &'a Partials) -> Self {
        let (locals, scopes) = (Vec::new(), Vec::new());
        Self {
            partials,
            uses: Uses::default(),
            locals,
            scopes,
            branches: 0,
            mode: Mode::Text,
            left: BUDGET,
            depth: 0,
            deepest: 0,
        }
    }

    pub const fn is_exhausted(&self) -> bool {
        self.left == 0
    }

    pub fn unit(&mut self, unit: &'a Unit, given: &[&'static str]) {
        self.locals = given.iter().map(|it| (*it, Meaning::Own)).collect();
        self.scopes.clear();
        self.mode = unit.mode;
        self.block(&unit.block);
    }

    fn block(&mut self, block: &'a Block) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        for node in block {
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                break;
            }
            self.node(node);
        }
        self.depth -= 1;
    }

    fn branch(&mut self, block: &'a Block) {
        self.branches += 1;
        self.block(block);
        self.branches -= 1;
    }

    fn node(&mut self, node: &'a Node) {
        match node {
            Node::Text(_) | Node::Break | Node::Continue => {}
            Node::Output(it) => self.expr(it, Reading::Printed),
            Node::Assign { name, value } => self.assign(name, value),
            Node::Capture { name, body } => {
                self.block(body);
                self.locals.push((name, Meaning::Own));
            }
            Node::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.condition(condition);
                    self.branch(body);
                }
                if let Some(body) = otherwise {
                    self.branch(body);
                }
            }
            Node::Case { subject, arms } => {
                self.primary(subject, Reading::Optional);
                for arm in arms {
                    arm.values.iter().flatten().for_each(|it| self.primary(it, Reading::Optional));
                    self.branch(&arm.body);
                }
            }
            Node::For(it) => self.loop_over(it, "forloop"),
            Node::TableRow(it) => self.loop_over(it, "tablerowloop"),
            Node::Cycle { name, items } => {
                if let CycleName::Named(it) = name {
                    self.primary(it, Reading::Optional);
                }
                for it in items {
                    self.primary(it, Reading::Required);
                }
            }
            Node::Increment(name) | Node::Decrement(name) => {
                self.locals.push((name, Meaning::Own));
            }
            Node::IfChanged(body) => self.block(body),
            Node::Call(it) => self.call(it),
        }
    }

    /// A path that is only given another name is read where that name is read.
    fn assign(&mut self, name: &'a str, value: &'a Expr) {
        let mut meaning = Meaning::Own;
        if value.filters.is_empty() && self.branches == 0 {
            meaning = self.meaning(&value.value);
            self.primary(&value.value, Reading::Optional);
        } else {
            self.expr(value, Reading::Required);
        }
        self.locals.push((name, meaning));
    }

    fn expr(&mut self, it: &'a Expr, reading: Reading) {
        let defaulted = it.filters.iter().any(|it| it.filter.name == "default");
        let reading = if defaulted {
            Reading::Optional
        } else if reading == Reading::Printed && !it.filters.is_empty() {
            Reading::Required
        } else {
            reading
        };
        self.primary(&it.value, reading);
        for call in &it.filters {
            let optional = call.filter.name == "default";
            let reading = if optional { Reading::Optional } else { Reading::Required };
            call.args.iter().for_each(|it| self.primary(it, reading));
            call.named.iter().for_each(|(_, it)| self.primary(it, reading));
        }
    }

    fn condition(&mut self, it: &'a Condition) {
        for Comparison { left, right, .. } in
            std::iter::once(&it.first).chain(it.rest.iter().map(|(_, it)| it))
        {
            self.primary(left, Reading::Optional);
            if let Some((_, right)) = right {
                self.primary(right, Reading::Optional);
            }
        }
    }

    fn primary(&mut self, it: &'a Primary, reading: Reading) {
        let reading = if self.branches > 0 { Reading::Optional } else { reading };
        match it {
            Primary::Literal(_) => {}
            Primary::Range(ends) => {
                let reading = match reading {
                    Reading::Looped | Reading::Printed => Reading::Required,
                    it @ (Reading::Optional | Reading::Required) => it,
                };
                self.primary(&ends.0, reading);
                self.primary(&ends.1, reading);
            }
            Primary::Path(path) => {
                let computed = path.segments.iter().any(|it| matches!(it, Segment::Computed(_)));
                if let Some(steps) = self.steps(path) {
                    let inside = matches!(reading, Reading::Looped | Reading::Printed);
                    let reading = if computed && inside { Reading::Required } else { reading };
                    self.uses.note(steps, reading);
                }
                let inner = if reading == Reading::Optional { reading } else { Reading::Required };
                if let Root::Computed(it) = &path.root {
                    self.primary(it, inner);
                }
                for segment in &path.segments {
                    if let Segment::Computed(it) = segment {
                        self.primary(it, inner);
                    }
                }
            }
        }
    }

    /// Where in the data a path leads, up to what is computed; `None` outside the data.
    fn steps(&self, path: &Path) -> Option<Vec<Step>> {
        let Root::Name(name) = &path.root else {
            return None;
        };
        let bound = self.scopes.iter().rev().chain(self.locals.iter().rev());
        let mut steps = match bound.into_iter().find(|(it, _)| **it == **name) {
            Some((_, Meaning::Own)) => return None,
            Some((_, Meaning::Alias(steps))) => steps.clone(),
            None if matches!(&**name, "forloop" | "tablerowloop") => return None,
            None => vec![Step::Key(name.as_ref().to_owned())],
        };
        for segment in &path.segments {
            match segment {
                Segment::Key(key) => steps.push(Step::Key(key.as_ref().to_owned())),
                Segment::Index(index) => steps.push(Step::Index(*index)),
                Segment::Computed(_) => break,
            }
        }
        Some(steps)
    }

    /// What a name bound to this value stands for.
    fn meaning(&self, it: &Primary) -> Meaning {
        let Primary::Path(path) = it else {
            return Meaning::Own;
        };
        if path.segments.iter().any(|it| matches!(it, Segment::Computed(_))) {
            return Meaning::Own;
        }
        self.steps(path).map_or(Meaning::Own, Meaning::Alias)
    }

    fn items_of(&self, it: &Primary) -> Meaning {
        match self.meaning(it) {
            Meaning::Own => Meaning::Own,
            Meaning::Alias(mut steps) => {
                steps.push(Step::Each);
                Meaning::Alias(steps)
            }
        }
    }

    fn loop_over(&mut self, it: &'a For, name: &'static str) {
        let optional = u32::from(it.otherwise.is_some());
        self.branches += optional;
        self.primary(&it.collection, Reading::Looped);
        it.limit.iter().chain(&it.columns).for_each(|it| self.primary(it, Reading::Optional));
        if let Offset::At(it) = &it.offset {
            self.primary(it, Reading::Optional);
        }
        let item = self.items_of(&it.collection);
        self.scopes.push((name, Meaning::Own));
        self.scopes.push((&it.variable, item));
        self.block(&it.body);
        self.scopes.truncate(self.scopes.len() - 2);
        self.branches -= optional;
        if let Some(body) = &it.otherwise {
            self.branch(body);
        }
    }

    fn call(&mut self, it: &'a Call) {
        self.primary(&it.partial, Reading::Required);
        let mut bound: Vec<_> = Vec::new();
        for (name, value) in &it.args {
            bound.push((&**name, self.given(value)));
        }
        let own_name = match &it.partial {
            Primary::Literal(Literal::Str(it) | Literal::Markup(it)) => Some(&**it),
            Primary::Literal(_) | Primary::Path(_) | Primary::Range(_) => None,
        };
        let name = it.alias.as_deref().or(own_name).unwrap_or_default();
        match &it.bound {
            Some(Bound::With(value)) => bound.push((name, self.given(value))),
            Some(Bound::For(value)) => {
                self.primary(value, Reading::Looped);
                bound.push(("forloop", Meaning::Own));
                bound.push((name, self.items_of(value)));
            }
            None => {}
        }
        let partials = self.partials;
        // A computed name may mean any partial: what they read is not known.
        let Some(own_name) = own_name else { return };
        let Some(unit) = partials.get(own_name, self.mode) else {
            return;
        };
        self.depth += CALL_DEPTH;
        match it.scope {
            CallScope::Shared => {
                let depth = self.scopes.len();
                self.scopes.extend(bound);
                self.block(&unit.block);
                self.scopes.truncate(depth);
            }
            CallScope::Own => {
                let locals = std::mem::replace(&mut self.locals, bound);
                let scopes = std::mem::take(&mut self.scopes);
                self.block(&unit.block);
                self.locals = locals;
                self.scopes = scopes;
            }
        }
        self.depth -= CALL_DEPTH;
    }

    /// An argument: another name for a part of the data, or something read here.
    fn given(&mut self, it: &'a Primary) -> Meaning {
        let meaning = self.meaning(it);
        let reading = match meaning {
            Meaning::Own => Reading::Required,
            Meaning::Alias(_) => Reading::Optional,
        };
        self.primary(it, reading);
        meaning
    }
}
