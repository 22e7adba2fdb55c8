//! What a template reads, and what of it is required, from the parsed template.
//!
//! minijinja's own `undeclared_variables` has names and attributes. It does not say what a loop goes
//! over, nor whether something is read in every render, so the tree is walked here: what stands in
//! a branch, in a condition, or before `default` or `is defined` is optional; the rest is required.
//! Where members of a list's items are read in a loop, and the list is read in another way too, the items
//! are named besides (`items[]`): without that, what is not named of them counts as unread.

use std::collections::BTreeSet;

use minijinja::machinery::ast::{BinOpKind, CallArg, Expr, Stmt};
use minijinja::machinery::parse;
use minijinja::{Environment, ErrorKind, Value};
use waxwing_plugin::Diagnostic;
use waxwing_plugin::renderer::Variable;

use crate::faults::Sources;

/// Partials inside of partials.
const MAX_DEPTH: usize = 20;
/// Names that are no data: of the language, and of a layout.
const GIVEN: [&str; 11] = [
    "caller",
    "content",
    "cycler",
    "debug",
    "dict",
    "joiner",
    "loop",
    "namespace",
    "range",
    "self",
    "super",
];

/// Everything that the sources read, each path once, in order of first use.
///
/// # Errors
/// Partials, filters and tests that do not exist.
pub fn read<'s>(
    sources: &'s Sources,
    labels: impl Iterator<Item = &'s str>,
    environment: &Environment<'_>,
) -> Result<Vec<Variable>, Vec<Diagnostic>> {
    let mut walk = Walk {
        sources,
        environment,
        label: String::new(),
        locals: Vec::new(),
        found: Vec::new(),
        whole: BTreeSet::new(),
        faults: Vec::new(),
        depth: 0,
        branches: 0,
    };
    for label in labels {
        walk.source(label);
    }
    walk.name_items_of_whole_lists();
    if walk.faults.is_empty() { Ok(walk.found) } else { Err(walk.faults) }
}

struct Walk<'w> {
    sources: &'w Sources,
    environment: &'w Environment<'w>,
    /// The source that is walked.
    label: String,
    /// Names of the template's own, each with the path that it stands for, if it is one.
    locals: Vec<(String, Option<String>)>,
    found: Vec<Variable>,
    /// Paths that are read with all that is in them.
    whole: BTreeSet<String>,
    faults: Vec<Diagnostic>,
    depth: usize,
    /// How many branches are around, in which nothing is required.
    branches: u32,
}

impl<'w> Walk<'w> {
    fn source(&mut self, label: &str) {
        let sources: &'w Sources = self.sources;
        let Some(text) = sources.text(label) else { return };
        let outer = std::mem::replace(&mut self.label, label.to_owned());
        let locals = self.locals.len();
        if label == "layout" {
            self.locals.extend(["subject", "preheader"].map(|it| (it.to_owned(), None)));
        }
        if let Ok(tree) = parse(text, label, minijinja::syntax::SyntaxConfig::default()) {
            self.statement(&tree);
        }
        self.locals.truncate(locals);
        self.label = outer;
    }

    fn body(&mut self, body: &[Stmt<'_>]) {
        let locals = self.locals.len();
        for it in body {
            self.statement(it);
        }
        self.locals.truncate(locals);
    }

    fn branch(&mut self, body: &[Stmt<'_>]) {
        self.branches += 1;
        self.body(body);
        self.branches -= 1;
    }

    fn statement(&mut self, it: &Stmt<'_>) {
        match it {
            Stmt::Template(it) => it.children.iter().for_each(|it| self.statement(it)),
            Stmt::EmitExpr(it) => self.expression(&it.expr),
            Stmt::EmitRaw(_) => {}
            Stmt::ForLoop(it) => {
                let list = self.path(&it.iter);
                match &list {
                    Some(path) => self.note(path.clone()),
                    None => self.expression(&it.iter),
                }
                let list = list.map(|path| format!("{path}[]"));
                let locals = self.locals.len();
                self.assign(&it.target, list);
                if let Some(filter) = &it.filter_expr {
                    self.expression(filter);
                    // What is left out is not read.
                    self.branch(&it.body);
                } else {
                    self.body(&it.body);
                }
                self.locals.truncate(locals);
                self.branch(&it.else_body);
            }
            Stmt::IfCond(it) => {
                self.condition(&it.expr);
                self.branch(&it.true_body);
                self.branch(&it.false_body);
            }
            Stmt::WithBlock(it) => {
                let locals = self.locals.len();
                for (target, value) in &it.assignments {
                    self.expression(value);
                    let path = self.path(value);
                    self.assign(target, path);
                }
                self.body(&it.body);
                self.locals.truncate(locals);
            }
            Stmt::Set(it) => {
                self.expression(&it.expr);
                let path = self.path(&it.expr);
                self.assign(&it.target, path);
            }
            Stmt::SetBlock(it) => {
                self.body(&it.body);
                self.assign(&it.target, None);
            }
            Stmt::AutoEscape(it) => self.body(&it.body),
            Stmt::FilterBlock(it) => self.body(&it.body),
            Stmt::Block(it) => self.body(&it.body),
            Stmt::Import(it) => self.assign(&it.name, None),
            Stmt::FromImport(it) => {
                for (name, alias) in &it.names {
                    self.assign(alias.as_ref().unwrap_or(name), None);
                }
            }
            Stmt::Extends(it) => self.partial(&it.name, false),
            Stmt::Include(it) => self.partial(&it.name, it.ignore_missing),
            Stmt::Macro(it) => {
                self.locals.push((it.name.to_owned(), None));
                let locals = self.locals.len();
                it.args.iter().for_each(|it| self.assign(it, None));
                // Nobody may call it.
                self.branch(&it.body);
                self.locals.truncate(locals);
            }
            Stmt::CallBlock(it) => {
                self.arguments(&it.call.args);
                self.branch(&it.macro_decl.body);
            }
            Stmt::Do(it) => self.arguments(&it.call.args),
        }
    }

    /// What is only asked is not required: absent is false.
    fn condition(&mut self, it: &Expr<'_>) {
        self.branches += 1;
        self.expression(it);
        self.branches -= 1;
    }

    fn expression(&mut self, it: &Expr<'_>) {
        if let Some(path) = self.path(it) {
            self.whole.insert(path.clone());
            return self.note(path);
        }
        match it {
            Expr::Var(_) | Expr::Const(_) => {}
            Expr::Slice(it) => {
                self.expression(&it.expr);
                for it in [&it.start, &it.stop, &it.step].into_iter().flatten() {
                    self.expression(it);
                }
            }
            Expr::UnaryOp(it) => self.expression(&it.expr),
            Expr::BinOp(it) if matches!(it.op, BinOpKind::ScAnd | BinOpKind::ScOr) => {
                self.condition(&it.left);
                self.condition(&it.right);
            }
            Expr::BinOp(it) => {
                self.expression(&it.left);
                self.expression(&it.right);
            }
            Expr::Compare(it) => {
                self.expression(&it.expr);
                it.ops.iter().for_each(|it| self.expression(&it.expr));
            }
            Expr::IfExpr(it) => {
                self.condition(&it.test_expr);
                self.condition(&it.true_expr);
                if let Some(it) = &it.false_expr {
                    self.condition(it);
                }
            }
            Expr::Filter(filter) => {
                let known = self.environment.empty_state().apply_filter(filter.name, &[]);
                let is_unknown = |it: &minijinja::Error| it.kind() == ErrorKind::UnknownFilter;
                if known.is_err_and(|it| is_unknown(&it)) {
                    self.unknown(it, "unknown_filter", "filter", filter.name);
                }
                match &filter.expr {
                    Some(value) if matches!(filter.name, "default" | "d") => self.condition(value),
                    Some(value) => self.expression(value),
                    None => {}
                }
                self.arguments(&filter.args);
            }
            Expr::Test(test) => {
                let known =
                    self.environment.empty_state().perform_test(test.name, &[Value::UNDEFINED]);
                if known.is_err_and(|it| it.kind() == ErrorKind::UnknownTest) {
                    self.unknown(it, "unknown_test", "test", test.name);
                }
                self.condition(&test.expr);
                self.arguments(&test.args);
            }
            Expr::GetAttr(it) => self.expression(&it.expr),
            Expr::GetItem(it) => {
                self.expression(&it.expr);
                self.expression(&it.subscript_expr);
            }
            Expr::Call(it) => {
                // A method is called on a value; a function of the language reads nothing.
                if let Expr::GetAttr(method) = &it.expr {
                    self.expression(&method.expr);
                }
                self.arguments(&it.args);
            }
            Expr::List(it) => it.items.iter().for_each(|it| self.expression(it)),
            Expr::Tuple(it) => it.items.iter().for_each(|it| self.expression(it)),
            Expr::Map(it) => it.keys.iter().chain(&it.values).for_each(|it| self.expression(it)),
        }
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) {
        for it in arguments {
            match it {
                CallArg::Pos(it)
                | CallArg::Kwarg(_, it)
                | CallArg::PosSplat(it)
                | CallArg::KwargSplat(it) => self.expression(it),
            }
        }
    }

    /// A partial that is named outright; one that is named by data is not known before.
    fn partial(&mut self, name: &Expr<'_>, may_be_missing: bool) {
        let Some(partial) = name.as_const().and_then(|it| it.as_str().map(str::to_owned)) else {
            return self.expression(name);
        };
        let label = format!("partial:{partial}");
        if self.sources.text(&label).is_none() {
            if !may_be_missing {
                self.unknown(name, "unknown_partial", "partial", &partial);
            }
        } else if self.depth < MAX_DEPTH {
            self.depth += 1;
            self.source(&label);
            self.depth -= 1;
        }
    }

    fn unknown(&mut self, it: &Expr<'_>, code: &str, what: &str, name: &str) {
        let at = it.span().start_offset as usize;
        let fault = self.sources.at(&self.label, at, code, format!("there is no {what} `{name}`"));
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    fn assign(&mut self, target: &Expr<'_>, path: Option<String>) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is assigned to")]
        match target {
            Expr::Var(it) => self.locals.push((it.id.to_owned(), path)),
            Expr::List(it) => it.items.iter().for_each(|it| self.assign(it, None)),
            Expr::Tuple(it) => it.items.iter().for_each(|it| self.assign(it, None)),
            _ => {}
        }
    }

    /// The path of data that an expression is, if it is one.
    fn path(&self, it: &Expr<'_>) -> Option<String> {
        #[expect(clippy::wildcard_enum_match_arm, reason = "nothing else is a path")]
        match it {
            Expr::Var(it) => {
                let local = self.locals.iter().rev().find(|(name, _)| name == it.id);
                match local {
                    Some((_, path)) => path.clone(),
                    None if GIVEN.contains(&it.id) => None,
                    None => Some(it.id.to_owned()),
                }
            }
            Expr::GetAttr(it) => Some(format!("{}.{}", self.path(&it.expr)?, it.name)),
            Expr::GetItem(it) => {
                let key = it.subscript_expr.as_const()?;
                Some(format!("{}.{}", self.path(&it.expr)?, key.as_str()?))
            }
            _ => None,
        }
    }

    fn name_items_of_whole_lists(&mut self) {
        let items = |list: &String| format!("{list}[]");
        let of_lists = self.whole.iter().map(items);
        let named: Vec<String> = of_lists
            .filter(|items| self.found.iter().any(|it| it.path.starts_with(items)))
            .filter(|items| self.found.iter().all(|it| it.path != *items))
            .collect();
        self.found.extend(named.into_iter().map(|path| Variable { path, required: false }));
    }

    fn note(&mut self, path: String) {
        let required = self.branches == 0;
        match self.found.iter_mut().find(|it| it.path == path) {
            Some(it) => it.required |= required,
            None => self.found.push(Variable { path, required }),
        }
    }
}
