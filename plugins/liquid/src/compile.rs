//! A template of several parts to its compiled form.

use std::cell::Cell;
use std::collections::BTreeSet;

use crate::ast::{
    Arm, Block, Call, CallScope, Comparison, Condition, FilterCall, For, Literal, Node, Primary,
    each_node,
};
use crate::fault::Fault;
use crate::messages::{self, Messages};
use crate::mode::Mode;
use crate::parse::parse;
use crate::plaintext;
use crate::template::{Diagnostic, Part, Partial, Template, Undefined, Variable};
use crate::unit::{Partials, Unit};
use crate::variables::{self, Use};

/// A template, ready to render.
#[derive(Debug)]
pub struct Compiled {
    pub(crate) parts: Vec<(Part, Unit)>,
    /// Around the HTML part.
    pub(crate) layout: Option<Unit>,
    /// The text body that the HTML part stands for, and the layout around it.
    pub(crate) derived: Option<(Unit, Option<Unit>)>,
    pub(crate) partials: Partials,
    pub(crate) messages: Messages,
    pub(crate) uses: Vec<Use>,
    pub(crate) undefined: Undefined,
}

/// Names that a layout is given.
const LAYOUT_NAMES: [&str; 3] = ["content", "subject", "preheader"];

impl Compiled {
    /// Compiles every part, and every partial that one of them may call.
    ///
    /// # Errors
    /// Every fault of every source.
    pub fn new(template: &Template, undefined: Undefined) -> Result<Self, Vec<Diagnostic>> {
        let (messages, faults) = Messages::of(template);
        let mut compiler = Compiler {
            template,
            faults,
            messages,
            partials: Partials::default(),
            seen: BTreeSet::new(),
            rendered: BTreeSet::new(),
        };
        let mut parts = Vec::new();
        for source in &template.sources {
            if parts.iter().any(|(part, _)| *part == source.part) {
                compiler.refuse(
                    "duplicate_part",
                    format!("there are two sources for {}", label(source.part)),
                );
                continue;
            }
            let mode = if source.part == Part::Html { Mode::Html } else { Mode::Text };
            if let Some(unit) = compiler.unit(label(source.part), &source.text, mode) {
                parts.push((source.part, unit));
            }
        }
        let html = template.sources.iter().find(|it| it.part == Part::Html);
        let has_text = template.sources.iter().any(|it| it.part == Part::Text);
        if html.is_none() && !has_text {
            compiler.refuse("no_body", "a template needs an html or a text part".to_owned());
        }
        let layout_source = template.layout.as_deref().filter(|_| html.is_some());
        let layout = layout_source.and_then(|it| compiler.unit("layout", it, Mode::Html));
        let mut derived = None;
        if let Some(html) = html.filter(|_| !has_text && compiler.faults.is_empty()) {
            let layout = layout_source.and_then(|it| compiler.derived("layout", it));
            derived = compiler.derived("html", &html.text).map(|it| (it, layout));
        }
        compiler.refuse_includes_in_rendered();
        if !compiler.faults.is_empty() {
            return Err(without_duplicates(compiler.faults));
        }
        let mut it = Self {
            parts,
            layout,
            derived,
            partials: compiler.partials,
            messages: compiler.messages,
            uses: Vec::new(),
            undefined,
        };
        it.uses = variables::of(it.units(), &it.partials, &it.messages)?;
        Ok(it)
    }

    /// Each source with the names that it is given beside the data.
    fn units(&self) -> impl Iterator<Item = (&Unit, &'static [&'static str])> {
        let around = |it| (it, LAYOUT_NAMES.as_slice());
        let derived = self.derived.iter().flat_map(move |(unit, layout)| {
            std::iter::once((unit, [].as_slice())).chain(layout.as_ref().map(around))
        });
        let parts = self.parts.iter().map(|(_, unit)| (unit, [].as_slice()));
        parts.chain(self.layout.as_ref().map(around)).chain(derived)
    }

    /// The variables that the template reads, each path once, in order of first use.
    #[must_use]
    pub fn variables(&self) -> Vec<Variable> {
        let is_strict = self.undefined == Undefined::Required;
        let variable = |it: &Use| Variable { path: it.path(), required: it.required && is_strict };
        self.uses.iter().map(variable).collect()
    }

    /// Estimated bytes held.
    #[must_use]
    pub fn weight(&self) -> u32 {
        let derived = self.derived.iter().flat_map(|(a, b)| std::iter::once(a).chain(b));
        let units = self.parts.iter().map(|(_, it)| it).chain(&self.layout).chain(derived);
        let units: usize = units.chain(self.partials.units()).map(held).sum();
        let bytes = units + self.uses.len() * 128 + self.messages.weight() + 1024;
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}

/// Estimated bytes that a unit holds: its source, and its nodes with what they own.
fn held(unit: &Unit) -> usize {
    let mut bytes = unit.source.len() + 512;
    each_node(&unit.block, &mut |node| bytes += size_of::<Node>() + owned(node));
    bytes
}

/// Without the nodes inside of it.
fn owned(node: &Node) -> usize {
    /// A value: a path, its name, and a segment or two.
    const VALUE: usize = 64;
    match node {
        Node::Text(text) => text.len() + 8,
        Node::Output(it) | Node::Assign { value: it, .. } => {
            let filters = it.filters.iter();
            VALUE
                + filters
                    .map(|it| {
                        size_of::<FilterCall>() + (1 + it.args.len() + it.named.len()) * VALUE
                    })
                    .sum::<usize>()
        }
        Node::If { branches, .. } => branches
            .iter()
            .map(|(it, _)| {
                size_of::<(Condition, Block)>()
                    + VALUE
                    + it.rest.len() * (size_of::<Comparison>() + 2 * VALUE)
            })
            .sum(),
        Node::Case { arms, .. } => {
            let values = |it: &Arm| it.values.as_ref().map_or(0, Vec::len) * 2 * VALUE;
            VALUE + arms.iter().map(|it| size_of::<Arm>() + values(it)).sum::<usize>()
        }
        Node::Cycle { items, .. } => VALUE + items.len() * 2 * VALUE,
        Node::For(_) | Node::TableRow(_) => VALUE + size_of::<For>(),
        Node::Call(it) => VALUE + size_of::<Call>() + it.args.len() * 2 * VALUE,
        Node::Capture { .. }
        | Node::Increment(_)
        | Node::Decrement(_)
        | Node::IfChanged(_)
        | Node::Break
        | Node::Continue => VALUE,
    }
}

/// A partial that two parts call has its faults in each of them.
fn without_duplicates(faults: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut out: Vec<Diagnostic> = Vec::new();
    for it in faults {
        let same = |other: &Diagnostic| {
            (&other.message, &other.part) == (&it.message, &it.part)
                && (other.line, other.column) == (it.line, it.column)
        };
        if !out.iter().any(same) {
            out.push(it);
        }
    }
    out
}

pub const fn label(part: Part) -> &'static str {
    match part {
        Part::Subject => "subject",
        Part::Preheader => "preheader",
        Part::Html => "html",
        Part::Text => "text",
    }
}

struct Compiler<'t> {
    /// Partials that were compiled or had faults.
    seen: BTreeSet<(String, usize)>,
    /// Partials that a `render` may call.
    rendered: BTreeSet<String>,
    template: &'t Template,
    faults: Vec<Diagnostic>,
    partials: Partials,
    messages: Messages,
}

impl Compiler<'_> {
    fn refuse(&mut self, code: &str, message: String) {
        self.faults.push(Diagnostic::new(code, message));
    }

    fn unit(&mut self, label: &str, source: &str, mode: Mode) -> Option<Unit> {
        self.unit_in(label, source.to_owned(), mode, &mut Vec::new())
    }

    fn derived(&mut self, label: &str, source: &str) -> Option<Unit> {
        let text = match plaintext::derive(source) {
            Ok(it) => it,
            Err(fault) => {
                self.faults.push(fault.into_diagnostic(label, source));
                return None;
            }
        };
        self.unit_in(&format!("derived:{label}"), text, Mode::Derived, &mut Vec::new())
    }

    /// `callers` are the partials around this source, for recursion.
    fn unit_in(
        &mut self,
        label: &str,
        source: String,
        mode: Mode,
        callers: &mut Vec<String>,
    ) -> Option<Unit> {
        match parse(&source, mode) {
            Ok(block) => {
                let mut calls = Vec::new();
                calls_in(&block, &mut calls);
                for call in calls {
                    if let Err(fault) = self.partial(call, mode, callers) {
                        self.faults.push(fault.into_diagnostic(label, &source));
                    }
                }
                let faults = self.messages.check(&block).into_iter();
                self.faults.extend(faults.map(|it| it.into_diagnostic(label, &source)));
                let label = label.to_owned();
                Some(Unit { label, source, mode, block, last_size: Cell::new(0) })
            }
            Err(faults) => {
                self.faults.extend(faults.into_iter().map(|it| it.into_diagnostic(label, &source)));
                None
            }
        }
    }

    /// Compiles what a call may run; a computed name may be any partial.
    fn partial(&mut self, call: &Call, mode: Mode, callers: &mut Vec<String>) -> Result<(), Fault> {
        let Primary::Literal(Literal::Str(name) | Literal::Markup(name)) = &call.partial else {
            let names: Vec<_> = self.template.partials.iter().map(|it| it.name.clone()).collect();
            for name in names {
                if !callers.contains(&name) && name != messages::NAME {
                    self.named_partial(&name, call, mode, callers)?;
                }
            }
            return Ok(());
        };
        if callers.iter().any(|it| **it == **name) {
            let message =
                format!("partial `{name}` calls itself: {} -> {name}", callers.join(" -> "));
            return Err(Fault::new("recursive_partial", call.at, message));
        }
        self.named_partial(name, call, mode, callers)
    }

    fn named_partial(
        &mut self,
        name: &str,
        call: &Call,
        mode: Mode,
        callers: &mut Vec<String>,
    ) -> Result<(), Fault> {
        if call.scope == CallScope::Own {
            self.rendered.insert(name.to_owned());
        }
        if self.seen.contains(&(name.to_owned(), mode as usize)) {
            return Ok(());
        }
        let is_named = |it: &&Partial| it.name == name && name != messages::NAME;
        let Some(partial) = self.template.partials.iter().find(is_named) else {
            return Err(Fault::new(
                "unknown_partial",
                call.at,
                format!("there is no partial `{name}`"),
            ));
        };
        if callers.len() >= MAX_PARTIAL_DEPTH {
            let message = format!("partials are nested more than {MAX_PARTIAL_DEPTH} deep");
            return Err(Fault::new("nesting_too_deep", call.at, message));
        }
        let mut label = format!("partial:{name}");
        let mut source = partial.text.clone();
        if mode == Mode::Derived {
            match plaintext::derive(&source) {
                Ok(it) => source = it,
                Err(fault) => {
                    self.faults.push(fault.into_diagnostic(&label, &source));
                    return Ok(());
                }
            }
            label = format!("derived:{label}");
        }
        callers.push(name.to_owned());
        let unit = self.unit_in(&label, source, mode, callers);
        callers.pop();
        self.seen.insert((name.to_owned(), mode as usize));
        if let Some(unit) = unit {
            self.partials.insert(name, unit);
        }
        Ok(())
    }
}

impl Compiler<'_> {
    /// A partial that is called with `render` sees nothing of its caller; an `include` in it would.
    fn refuse_includes_in_rendered(&mut self) {
        for unit in self.rendered.iter().flat_map(|it| self.partials.in_each_mode(it)) {
            let mut calls = Vec::new();
            calls_in(&unit.block, &mut calls);
            for call in calls.into_iter().filter(|it| it.scope == CallScope::Shared) {
                let message = "`include` is not allowed in a partial that is called with `render`; \
                               use `render`";
                let fault = Fault::new("include_in_render", call.at, message);
                self.faults.push(fault.into_diagnostic(&unit.label, &unit.source));
            }
        }
    }
}

/// Partials that call partials.
const MAX_PARTIAL_DEPTH: usize = 20;

fn calls_in<'b>(block: &'b Block, out: &mut Vec<&'b Call>) {
    each_node(block, &mut |node| {
        if let Node::Call(it) = node {
            out.push(it);
        }
    });
}
