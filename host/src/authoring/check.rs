//! What a template passes before it is published: it compiles in every locale, reads what is declared, and renders its
//! examples.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::agreement::{Agreed, agreed};
use super::bounds::{MAX_FINDINGS, MAX_VARIABLES};
use super::error::AuthoringError;
use super::finding::Finding;
use crate::account::brand::Brand;
use crate::journey::accept::json::object::ObjectText;
use crate::journey::accept::refusal::{Fault, Refusal};
use crate::journey::accept::variables::Variables;
use crate::journey::render::dictionary;
use crate::journey::render::template::{Parts, for_plugin, parts};
use crate::message::address::EmailAddress;
use crate::plugin::binding::Scope;
use crate::plugin::table::{Table, Unrendered};
use crate::plugin::{CallContext, CallFailure, Plugins};
use crate::template::contract::Contract;
use crate::template::locale::LocaleTag;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;
use crate::template::trial::trial_data;
use crate::template::version::{Blocks, Variable};

/// Gmail cuts off what is longer.
const CLIPPED_BYTES: usize = 102 << 10;

/// For whom a template is rendered.
#[derive(Debug, Clone)]
pub struct Tenant {
    /// `acc_…`; empty for the server.
    pub account: String,
    pub plan: String,
    pub brand: Brand,
    /// The account's.
    pub sender: Option<EmailAddress>,
    /// Whether all of its templates are strict.
    pub strict: bool,
}

/// A template with what it is made of.
#[derive(Debug, Clone, Copy)]
pub struct Checkable<'a> {
    pub slug: &'a Slug,
    pub source: &'a TemplateSource,
    pub blocks: &'a Blocks,
}

/// What the renderer found.
#[derive(Debug, Default)]
pub struct Checked {
    pub variables: Vec<Variable>,
    pub findings: Vec<Finding>,
    /// What bodies have in common.
    pub dictionary: Vec<u8>,
}

/// What came of rendering.
#[derive(Debug)]
pub struct RenderedParts {
    pub parts: Parts,
    /// Optional variables that were read and absent.
    pub blank: Vec<String>,
}

/// Why data was not rendered.
#[derive(Debug)]
pub enum NotRendered {
    /// Required variables that are absent.
    Missing(Vec<String>),
    Findings(Vec<Finding>),
}

impl Tenant {
    pub fn scope(&self) -> Scope<'_> {
        Scope { plan: &self.plan, account: &self.account, domain: None }
    }
}

impl Checked {
    pub fn is_fit(&self) -> bool {
        !self.findings.iter().any(Finding::is_error)
    }
}

/// The code of a template that comes to a limit.
const TOO_MUCH_WORK: &str = "too_much_work";

/// Compiles and tries a template by one generation of the renderer.
#[derive(Debug)]
pub struct Checker<'a> {
    pub(super) plugins: &'a Plugins,
    pub(super) table: std::sync::Arc<Table>,
}

impl<'a> Checker<'a> {
    pub fn new(plugins: &'a Plugins) -> Self {
        Self { plugins, table: plugins.table() }
    }

    /// Everything that is wrong with a template.
    pub async fn check(
        &self,
        tenant: &Tenant,
        it: Checkable<'_>,
    ) -> Result<Checked, AuthoringError> {
        let mut checked = Checked {
            dictionary: dictionary::of_source(it.source, it.blocks),
            ..Checked::default()
        };
        lacks(it.source, &mut checked.findings);
        checked.variables = self.compile(tenant, it, &mut checked.findings).await?;
        if !checked.is_fit() {
            return Ok(checked);
        }
        let Agreed { variables, findings } = agreed(it.source, checked.variables);
        checked.variables = variables;
        checked.findings.extend(findings);
        self.examples(tenant, it, &mut checked).await?;
        if it.source.examples.is_empty() {
            self.limits(tenant, it, &mut checked).await?;
        }
        checked.findings.truncate(MAX_FINDINGS);
        Ok(checked)
    }

    /// What a template reads in any of its locales.
    pub async fn compile(
        &self,
        tenant: &Tenant,
        it: Checkable<'_>,
        findings: &mut Vec<Finding>,
    ) -> Result<Vec<Variable>, AuthoringError> {
        let mut read: BTreeMap<String, bool> = BTreeMap::new();
        let mut order: Vec<String> = Vec::new();
        for locale in it.source.all_locales() {
            let template = for_plugin(it.slug, 0, (it.source, it.blocks), locale.tag);
            let compiled = match self.table.variables(&tenant.scope(), &template).await {
                Ok(compiled) => compiled,
                Err(failure) => {
                    findings.push(too_much_work(failure)?);
                    break;
                }
            };
            match compiled {
                Ok(variables) => {
                    for variable in variables {
                        let required = read.entry(variable.path.clone()).or_insert_with(|| {
                            order.push(variable.path.clone());
                            false
                        });
                        *required |= variable.required;
                    }
                }
                Err(faults) => {
                    for fault in faults {
                        let mut finding = Finding::of_source(fault);
                        if findings.len() >= MAX_FINDINGS
                            || findings.iter().any(|it| it.is_same_place(&finding))
                        {
                            continue;
                        }
                        if locale.number > 0 {
                            finding.locale = Some(locale.tag.to_string());
                        }
                        findings.push(finding);
                    }
                }
            }
        }
        if order.len() > MAX_VARIABLES {
            let message =
                format!("{} variables are read; at most {MAX_VARIABLES} are allowed", order.len());
            findings.push(Finding::error("html", "too_many_variables", message));
        }
        let variable = |path: String| Variable {
            required: read.get(&path).copied().unwrap_or_default(),
            path,
            value_type: None,
            format: None,
            declared_only: false,
        };
        Ok(order.into_iter().map(variable).collect())
    }

    /// Renders every example in the template's own locale, and the one that it is tried with in all others.
    async fn examples(
        &self,
        tenant: &Tenant,
        it: Checkable<'_>,
        checked: &mut Checked,
    ) -> Result<(), AuthoringError> {
        let contract = Contract::of(&checked.variables);
        let trial = it.source.example();
        let own = it.source.default_locale();
        for (name, data) in &it.source.examples {
            let part = format!("examples.{name}");
            checked.findings.extend(misfits(&contract, data, &part));
            let is_trial = trial.is_some_and(|it| std::ptr::eq(it, data));
            let others = it.source.all_locales().skip(1).map(|it| it.tag).filter(|_| is_trial);
            for locale in std::iter::once(own).chain(others) {
                match self.render(tenant, it, locale, data).await? {
                    Ok(rendered) => {
                        checked.findings.extend(clipped(&rendered, &format!("the example {name}")));
                        if is_trial && locale == own {
                            checked.dictionary = dictionary::of_example(&rendered.parts);
                        }
                    }
                    Err(NotRendered::Missing(paths)) => {
                        for path in paths {
                            let message =
                                format!("leaves out `{path}`, which the template requires");
                            let finding = Finding::error(&part, "missing_variable", message);
                            checked.findings.push(finding.about(&path));
                        }
                    }
                    Err(NotRendered::Findings(found)) => {
                        for mut finding in found {
                            finding.part = finding.part.or_else(|| Some(part.clone()));
                            if locale != own {
                                finding.locale = Some(locale.to_string());
                            }
                            checked.findings.push(finding);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Renders a template without examples with made-up data, in each of its locales. Such data shows whether the
    /// template comes to a limit, how long it is, and whether an example is needed.
    async fn limits(
        &self,
        tenant: &Tenant,
        it: Checkable<'_>,
        checked: &mut Checked,
    ) -> Result<(), AuthoringError> {
        let data = trial_data(it.source, &checked.variables);
        for locale in it.source.all_locales() {
            match self.render(tenant, it, locale.tag, &data).await? {
                Ok(rendered) => checked.findings.extend(clipped(&rendered, "made-up data")),
                Err(NotRendered::Missing(_)) => {}
                Err(NotRendered::Findings(mut found)) => {
                    if let Some(first) = found.iter().find(|it| it.code != TOO_MUCH_WORK)
                        && locale.number == 0
                    {
                        checked.findings.push(refuses_made_up_data(&first.message));
                    }
                    found.retain(|it| it.code == TOO_MUCH_WORK);
                    checked.findings.append(&mut found);
                }
            }
        }
        Ok(())
    }

    /// Renders a template that need not be published.
    pub async fn render(
        &self,
        tenant: &Tenant,
        it: Checkable<'_>,
        locale: &LocaleTag,
        data: &Map<String, Value>,
    ) -> Result<Result<RenderedParts, NotRendered>, AuthoringError> {
        self.render_for(tenant, it, (locale, locale), data).await
    }

    /// The same with the dates and numbers of another region.
    pub async fn render_for(
        &self,
        tenant: &Tenant,
        it: Checkable<'_>,
        (locale, region): (&LocaleTag, &LocaleTag),
        data: &Map<String, Value>,
    ) -> Result<Result<RenderedParts, NotRendered>, AuthoringError> {
        let template = for_plugin(it.slug, 0, (it.source, it.blocks), locale);
        let data = ObjectText::from(data);
        let data = Variables::new(&data, &tenant.brand).to_json();
        let context = CallContext {
            dry_run: true,
            locale: Some(region.to_string()),
            ..self.plugins.context(format!("publish {}", it.slug))
        };
        let findings = |found: Vec<Finding>| Ok(Err(NotRendered::Findings(found)));
        let rendered = match self.table.preview(&tenant.scope(), &template, &context, &data).await {
            Ok(rendered) => rendered,
            Err(failure) => return findings(vec![too_much_work(failure)?]),
        };
        match rendered {
            Ok(output) => match parts(output.bodies, &output.missing) {
                Ok(parts) => Ok(Ok(RenderedParts { parts, blank: output.missing })),
                Err(refusal) => findings(of_refusal(refusal)),
            },
            Err(Unrendered::Data(found)) => {
                if found.iter().all(|it| it.code == "missing_variable" && it.path.is_some()) {
                    let paths = found.into_iter().filter_map(|it| it.path);
                    return Ok(Err(NotRendered::Missing(paths.collect())));
                }
                findings(found.into_iter().map(Finding::of_source).collect())
            }
            Err(Unrendered::Template(found)) => {
                findings(found.into_iter().map(Finding::of_source).collect())
            }
            Err(Unrendered::TooMuchWork(_, failure)) => findings(vec![too_much_work(failure)?]),
        }
    }
}

/// Previews and snippets would show an error.
fn refuses_made_up_data(why: &str) -> Finding {
    let message = format!(
        "there is no example, and the template refuses the data that previews and snippets make up ({why}); write an \
         example"
    );
    Finding::warning("examples", "no_example", message)
}

fn clipped(rendered: &RenderedParts, data: &str) -> Option<Finding> {
    let html = rendered.parts.html.as_ref().map_or(0, String::len);
    let message = format!(
        "the HTML part has {html} bytes with {data}; Gmail shows the first {CLIPPED_BYTES} of a message"
    );
    (html > CLIPPED_BYTES).then(|| Finding::warning("html", "clipped", message))
}

/// A template that comes to a limit is at fault; a renderer that gives no answer is not the author's matter.
pub(super) fn too_much_work(failure: CallFailure) -> Result<Finding, AuthoringError> {
    let Some(limit) = failure.limit() else { return Err(failure.into()) };
    let message = format!("needs more than the server allows ({limit}); make it do less");
    Ok(Finding { part: None, ..Finding::error("", TOO_MUCH_WORK, message) })
}

fn of_refusal(refusal: Refusal) -> Vec<Finding> {
    let finding =
        |code: &str, message: String| Finding { part: None, ..Finding::error("", code, message) };
    if let Refusal::BadRequest { faults } = refusal {
        return faults.into_iter().map(|it: Fault| finding(&it.code, it.message)).collect();
    }
    vec![finding("unusable", refusal.message())]
}

/// Where an example is not what is declared, and what nothing reads of it.
fn misfits(contract: &Contract, data: &Map<String, Value>, part: &str) -> Vec<Finding> {
    let found = contract.check(ObjectText::from(data).members());
    let wrong = found.faults.iter().map(|it| {
        let message = format!("{} {}", it.path, it.wanted);
        Finding::error(part, it.wanted.code(), message).about(&it.path)
    });
    let unread = found.unread.iter().map(|path| {
        let message = format!("nothing in the template reads `{path}`");
        Finding::warning(part, "unread", message).about(path)
    });
    wrong.chain(unread).collect()
}

/// What every template has in every locale.
fn lacks(source: &TemplateSource, findings: &mut Vec<Finding>) {
    if source.subject.trim().is_empty() {
        findings.push(Finding::error("subject", "missing", "the subject is empty; write one"));
    }
    if source.html.is_none() && source.text.is_none() {
        let message = "there is neither an HTML part nor a text part; write one of them";
        findings.push(Finding::error("html", "missing", message));
    }
}
