//! The walk over a compiled template that finds what it reads.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::reads::{Reading, Reads};
use super::uses::{Step, Uses};
use crate::ast::{
    Arm, Bound, Call, CallScope, Comparison, Condition, CycleName, Expr, For, Literal, Node,
    Offset, Operator, Path, Primary, Root, Segment, own_variable,
};
use crate::bounds::CALL_DEPTH;
use crate::filter::Run;
use crate::messages::{self, Messages};
use crate::mode::Mode;
use crate::unit::{Partials, Unit};

/// Nodes that are looked at; partials count at each call.
const BUDGET: u32 = 500_000;

/// What a name that the template bound stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Something that was computed, of what was read for it.
    Own(Rc<Reads>),
    /// A part of the data.
    Alias(Vec<Step>),
}

/// What one of several ways through a template reads and binds.
#[derive(Default)]
pub(super) struct Way<'a> {
    pub(super) reads: Reads,
    /// The last meaning of each name.
    pub(super) bound: BTreeMap<&'a str, Meaning>,
}

pub struct Walker<'a> {
    partials: &'a Partials,
    pub(super) messages: &'a Messages,
    /// The names of arguments with which any message may be called, so far.
    pub(super) any_message_with: BTreeSet<Vec<&'a str>>,
    pub(super) uses: Uses,
    locals: Vec<(&'a str, Meaning)>,
    pub(super) scopes: Vec<(&'a str, Meaning)>,
    /// What was read whatever the data is: of the unit, and of each way around the node at hand.
    reads: Vec<Reads>,
    /// A `break` or `continue` was passed in the loop at hand: what follows may be skipped.
    may_have_left: bool,
    mode: Mode,
    left: u32,
    depth: u32,
    /// How deep blocks and partials are nested together.
    pub(super) deepest: u32,
}

impl Meaning {
    fn own() -> Self {
        Self::Own(Rc::default())
    }
}

impl<'a> Walker<'a> {
    pub fn new(partials: &'a Partials, messages: &'a Messages) -> Self {
        let (locals, scopes, reads) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            partials,
            messages,
            any_message_with: BTreeSet::new(),
            uses: Uses::default(),
            locals,
            scopes,
            reads,
            may_have_left: false,
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
        self.locals = given.iter().map(|it| (*it, Meaning::own())).collect();
        self.scopes.clear();
        self.mode = unit.mode;
        self.may_have_left = false;
        self.reads.push(Reads::default());
        self.block(&unit.block);
        let reads = self.reads.pop().unwrap_or_default();
        self.uses.require(&reads);
    }

    fn block(&mut self, block: &'a [Node]) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        for (i, node) in block.iter().enumerate() {
            self.spend(1);
            if self.left == 0 {
                break;
            }
            self.node(node);
            if self.may_have_left {
                self.ways(|it| vec![it.way(&block[i + 1..]), Way::default()]);
                break;
            }
        }
        self.depth -= 1;
    }

    pub(super) fn spend(&mut self, work: usize) {
        self.left = self.left.saturating_sub(u32::try_from(work).unwrap_or(u32::MAX));
    }

    /// Looks at one of several ways; what it reads and binds is not noted yet.
    fn way(&mut self, block: &'a [Node]) -> Way<'a> {
        let depth = self.locals.len();
        let may_have_left = std::mem::take(&mut self.may_have_left);
        let reads = self.read_by(|it| it.block(block));
        self.may_have_left |= may_have_left;
        Way { reads, bound: self.locals.drain(depth..).collect() }
    }

    /// Looks at all ways, of which one is taken, and notes what they have in common.
    pub(super) fn ways(&mut self, look: impl FnOnce(&mut Self) -> Vec<Way<'a>>) {
        let mut ways = look(self).into_iter();
        let Some(mut common) = ways.next() else { return };
        for way in ways {
            common.reads.keep_common(&way.reads);
            let names: BTreeSet<&str> =
                common.bound.keys().chain(way.bound.keys()).copied().collect();
            for name in names {
                let one = self.at_the_end_of(&common, name);
                let other = self.at_the_end_of(&way, name);
                common.bound.insert(name, self.either(one, other));
            }
        }
        self.note(&common.reads);
        self.locals.extend(common.bound);
    }

    /// What a name stands for where a way ends; `None` where it is a name in the data.
    fn at_the_end_of(&self, way: &Way<'a>, name: &str) -> Option<Meaning> {
        let before = || self.locals.iter().rev().find(|(it, _)| *it == name).map(|(_, it)| it);
        way.bound.get(name).or_else(before).cloned()
    }

    /// What a name stands for after one of two ways was taken.
    fn either(&mut self, one: Option<Meaning>, other: Option<Meaning>) -> Meaning {
        if let (Some(one), Some(other)) = (&one, &other)
            && one == other
        {
            return one.clone();
        }
        let mut common = one.map(|it| self.needed_for(it)).unwrap_or_default();
        common.keep_common(&other.map(|it| self.needed_for(it)).unwrap_or_default());
        Meaning::Own(Rc::new(common))
    }

    fn needed_for(&mut self, it: Meaning) -> Reads {
        match it {
            Meaning::Own(it) => it.as_ref().clone(),
            Meaning::Alias(steps) => {
                let mut reads = Reads::default();
                reads.note(self.uses.position(steps.clone()), Reading::Required);
                // What is read of the name from here on is not followed.
                self.uses.read_whole(steps);
                reads
            }
        }
    }

    fn note(&mut self, reads: &Reads) {
        self.spend(reads.len());
        if let Some(it) = self.reads.last_mut() {
            it.add(reads);
        }
    }

    /// What is read while something is looked at, without noting it.
    pub(super) fn read_by(&mut self, look: impl FnOnce(&mut Self)) -> Reads {
        self.reads.push(Reads::default());
        look(self);
        self.reads.pop().unwrap_or_default()
    }

    fn node(&mut self, node: &'a Node) {
        match node {
            Node::Text(_) => {}
            Node::Break | Node::Continue => self.may_have_left = true,
            Node::Output(it) => self.expr(it, Reading::Printed),
            Node::Assign { name, value } => self.assign(name, value),
            Node::Capture { name, body } => {
                let reads = self.read_by(|it| it.block(body));
                self.locals.push((name, Meaning::Own(Rc::new(reads))));
            }
            Node::If { branches, otherwise } => self.ways(|it| {
                let mut ways: Vec<_> = branches
                    .iter()
                    .map(|(condition, body)| {
                        it.condition(condition);
                        it.way(body)
                    })
                    .collect();
                ways.push(otherwise.as_ref().map_or_else(Way::default, |body| it.way(body)));
                ways
            }),
            Node::Case { subject, arms } => {
                self.primary(subject, Reading::Optional);
                // An `else` runs if no `when` before it did; those behind it may run besides.
                let to_else = arms.iter().position(|it| it.values.is_none()).map(|at| at + 1);
                let (arms, besides) = arms.split_at(to_else.unwrap_or(arms.len()));
                self.ways(|it| {
                    let mut ways: Vec<_> = arms.iter().map(|arm| it.arm(arm)).collect();
                    ways.extend(to_else.is_none().then(Way::default));
                    ways
                });
                for arm in besides {
                    self.ways(|it| vec![it.arm(arm), Way::default()]);
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
                self.locals.push((name, Meaning::own()));
            }
            Node::IfChanged(body) => self.block(body),
            Node::Call(it) => self.call(it),
        }
    }

    fn arm(&mut self, arm: &'a Arm) -> Way<'a> {
        arm.values.iter().flatten().for_each(|it| self.primary(it, Reading::Optional));
        self.way(&arm.body)
    }

    fn assign(&mut self, name: &'a str, value: &'a Expr) {
        let meaning = if value.filters.is_empty() {
            self.named(&value.value)
        } else {
            Meaning::Own(Rc::new(self.read_by(|it| it.expr(value, Reading::Required))))
        };
        self.locals.push((name, meaning));
    }

    /// What a name stands for that is given to a value. The value is read where that name is read.
    pub(super) fn named(&mut self, it: &'a Primary) -> Meaning {
        match self.meaning(it) {
            Some(meaning) => {
                self.look_into(it, Reading::Optional);
                meaning
            }
            None => Meaning::Own(Rc::new(self.read_by(|walk| walk.primary(it, Reading::Required)))),
        }
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
        match it.filters.first() {
            // The number of items, and nothing of them.
            Some(first) if first.filter.name == "size" => self.look_into(&it.value, reading),
            Some(_) | None => self.primary(&it.value, reading),
        }
        for (i, call) in it.filters.iter().enumerate() {
            if let Run::Message = call.filter.run {
                self.message(call, messages::key(it, i));
                continue;
            }
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
            match right {
                Some((Operator::Contains, right)) => {
                    self.primary(left, Reading::Optional);
                    self.primary(right, Reading::Optional);
                }
                // A list is compared with a literal by whether it is empty.
                None | Some((_, Primary::Literal(_))) => self.look_into(left, Reading::Optional),
                Some((_, right)) => {
                    self.primary(left, Reading::Optional);
                    self.primary(right, Reading::Optional);
                }
            }
        }
    }

    /// A value that is read with all that is in it.
    pub(super) fn primary(&mut self, it: &'a Primary, reading: Reading) {
        self.look_into(it, reading);
        if let Primary::Path(path) = it
            && let Some(Meaning::Alias(steps)) = self.place(path)
        {
            self.uses.read_whole(steps);
        }
    }

    /// A value of which nothing is read but whether it is there, how long it is, and what is named of it elsewhere.
    fn look_into(&mut self, it: &'a Primary, reading: Reading) {
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
            Primary::Path(path) => self.path(path, reading),
        }
    }

    fn path(&mut self, path: &'a Path, reading: Reading) {
        match self.place(path) {
            Some(Meaning::Own(needed)) if reading != Reading::Optional => self.note(&needed),
            Some(Meaning::Own(_)) | None => {}
            Some(Meaning::Alias(steps)) => {
                let inside = matches!(reading, Reading::Looped | Reading::Printed);
                let reading = if is_computed(path) && inside { Reading::Required } else { reading };
                let at = self.uses.position(steps);
                if let Some(it) = self.reads.last_mut() {
                    it.note(at, reading);
                }
            }
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

    /// Where a path leads, up to what is computed; `None` where that is not known, or of a loop.
    fn place(&self, path: &Path) -> Option<Meaning> {
        let name: &str = match &path.root {
            Root::Name(name) => name,
            Root::Locale => "locale",
            Root::Computed(_) => return None,
        };
        let bound = self.scopes.iter().rev().chain(self.locals.iter().rev());
        let mut steps = match bound.into_iter().find(|(it, _)| *it == name) {
            Some((_, it @ Meaning::Own(_))) => return Some(it.clone()),
            Some((_, Meaning::Alias(steps))) => steps.clone(),
            None if matches!(name, "forloop" | "tablerowloop") => return None,
            None if matches!(path.root, Root::Locale) => return None,
            None => vec![Step::Key(name.to_owned())],
        };
        for segment in &path.segments {
            match segment {
                Segment::Item(key) if matches!(&**key, "first" | "last" | "size") => {
                    steps.push(Step::Item(key.as_ref().to_owned()));
                }
                Segment::Key(key) | Segment::Item(key) => {
                    steps.push(Step::Key(key.as_ref().to_owned()));
                }
                Segment::Index(index) => steps.push(Step::Index(*index)),
                Segment::Computed(_) => break,
            }
        }
        Some(Meaning::Alias(steps))
    }

    /// What a name bound to this value stands for, if it is only another name.
    fn meaning(&self, it: &Primary) -> Option<Meaning> {
        match it {
            Primary::Path(path) if !is_computed(path) => self.place(path),
            Primary::Path(_) | Primary::Literal(_) | Primary::Range(_) => None,
        }
    }

    /// A collection: what is read of its items is named, if it is known where they are.
    fn looped(&mut self, it: &'a Primary, reading: Reading) {
        match self.meaning(it) {
            Some(_) => self.look_into(it, reading),
            None => self.primary(it, reading),
        }
    }

    fn items_of(&self, it: &Primary) -> Meaning {
        match self.meaning(it) {
            Some(Meaning::Alias(mut steps)) => {
                steps.push(Step::Each);
                Meaning::Alias(steps)
            }
            Some(Meaning::Own(_)) | None => Meaning::own(),
        }
    }

    fn loop_over(&mut self, it: &'a For, name: &'static str) {
        let optional = it.otherwise.is_some();
        let reading = if optional { Reading::Optional } else { Reading::Looped };
        self.looped(&it.collection, reading);
        it.limit.iter().chain(&it.columns).for_each(|it| self.primary(it, Reading::Optional));
        if let Offset::At(it) = &it.offset {
            self.primary(it, Reading::Optional);
        }
        let Some(otherwise) = &it.otherwise else {
            return self.within_loop(it, name, |walk| walk.block(&it.body));
        };
        self.ways(|walk| {
            let body = walk.within_loop(it, name, |walk| walk.way(&it.body));
            vec![body, walk.way(otherwise)]
        });
    }

    /// A `break` inside does not reach outside.
    fn within_loop<T>(
        &mut self,
        it: &'a For,
        name: &'static str,
        look: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let item = self.items_of(&it.collection);
        let depth = self.scopes.len();
        self.scopes.extend([(name, Meaning::own()), (&*it.variable, item)]);
        let may_have_left = self.may_have_left;
        let seen = look(self);
        self.may_have_left = may_have_left;
        self.scopes.truncate(depth);
        seen
    }

    fn call(&mut self, it: &'a Call) {
        self.primary(&it.partial, Reading::Required);
        let mut bound: Vec<_> = Vec::new();
        let outside = self.scopes.len();
        for (name, value) in &it.args {
            let meaning = self.named(value);
            // The arguments of an `include` see those before them.
            if it.scope == CallScope::Shared {
                self.scopes.push((name, meaning.clone()));
            }
            bound.push((&**name, meaning));
        }
        self.scopes.truncate(outside);
        let own_name = match &it.partial {
            Primary::Literal(Literal::Str(it) | Literal::Markup(it)) => Some(&**it),
            Primary::Literal(_) | Primary::Path(_) | Primary::Range(_) => None,
        };
        let name = it.alias.as_deref().or(own_name.map(own_variable)).unwrap_or_default();
        match &it.bound {
            Some(Bound::With(value)) => bound.push((name, self.named(value))),
            Some(Bound::For(value)) => {
                self.looped(value, Reading::Looped);
                if it.scope == CallScope::Own {
                    bound.push(("forloop", Meaning::own()));
                }
                bound.push((name, self.items_of(value)));
            }
            None => {}
        }
        let partials = self.partials;
        // A computed name may mean any partial: what they read is not known.
        let Some(own_name) = own_name else {
            let bound = it.bound.iter().map(|(Bound::With(value) | Bound::For(value))| value);
            let given = it.args.iter().map(|(_, value)| value).chain(bound);
            return given.for_each(|value| self.primary(value, Reading::Optional));
        };
        let Some((_, unit)) = partials.get(own_name, self.mode) else {
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
                let may_have_left = self.may_have_left;
                let locals = std::mem::replace(&mut self.locals, bound);
                let scopes = std::mem::take(&mut self.scopes);
                self.block(&unit.block);
                self.locals = locals;
                self.scopes = scopes;
                self.may_have_left = may_have_left;
            }
        }
        self.depth -= CALL_DEPTH;
    }
}

fn is_computed(path: &Path) -> bool {
    path.segments.iter().any(|it| matches!(it, Segment::Computed(_)))
}
