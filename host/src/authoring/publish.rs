//! From a draft to what is sent: checked, held against what senders rely on, and published with everything that it
//! touches, or not at all.

mod callers;
mod notices;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use super::bounds::{MAX_LINE, MAX_TOUCHED};
use super::breaking::BreakingChange;
use super::calls::may_show_content;
use super::check::{Checkable, Checked, Checker, Tenant};
use super::error::AuthoringError;
use super::finding::{Finding, Origin, Suggestion};
use super::probe::probe;
use super::resolve::{NewBlock, Resolved, Resolver, block};
use super::{Authoring, Place, lint, mjml, newest};
use crate::message::line::{ONE_LINE, is_one_line};
use crate::store::{NewVersion, Publication, Published, TemplateOwner, TemplateRow, UserRow};
use crate::template::compiled::{Compiled, rendered_source};
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;
use crate::template::version::{Blocks, Variable};
use callers::Compared;

/// Attempts to publish while what it is made of changes.
const MAX_ATTEMPTS: u32 = 3;

/// How to publish.
#[derive(Debug, Clone, Default)]
pub struct PublishOptions {
    /// The edition that its author has read.
    pub seen: Option<i64>,
    /// Also where senders would be broken.
    pub force: bool,
    /// Why, in the author's words.
    pub note: Option<String>,
}

/// What was published.
#[derive(Debug)]
pub struct PublishOutcome {
    pub row: TemplateRow,
    pub revision: u64,
    /// The published version says the same already.
    pub unchanged: bool,
    pub warnings: Vec<Finding>,
    /// What senders have to mend, where it was forced.
    pub breaking: Vec<BreakingChange>,
    /// Templates that have a new version with it, by slug; of a server's, with their accounts.
    pub touched: Vec<String>,
}

/// What became of a roll-back.
#[derive(Debug)]
pub struct RollbackOutcome {
    pub row: TemplateRow,
    pub revision: u64,
    /// What its senders may have to mend: it is rolled back nevertheless, for that is an emergency's way out.
    pub breaking: Vec<BreakingChange>,
    pub touched: Vec<String>,
}

/// What publishing would find.
#[derive(Debug)]
pub struct Validation {
    pub findings: Vec<Finding>,
    pub variables: Vec<Variable>,
    pub breaking: Vec<BreakingChange>,
    pub sent: u64,
    /// Templates that are made of it.
    pub touched: Vec<String>,
}

/// A version that may be published.
struct Candidate {
    version: NewVersion,
    findings: Vec<Finding>,
}

/// What an author is about to publish together.
#[derive(Debug, Default)]
pub(super) struct Together {
    pub blocks: Vec<NewBlock>,
    /// Templates that have a new source themselves, which is held against their own senders.
    pub templates: BTreeSet<(TemplateOwner, Slug)>,
}

/// What is touched, and which of its senders would be broken.
#[derive(Default)]
struct Touched {
    versions: Vec<(UserRow, NewVersion)>,
    breaking: Vec<BreakingChange>,
    sent: u64,
    /// Templates that are published next, with sources of their own: until then they are what they were.
    left: usize,
}

impl Validation {
    /// Whether it can be published.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !self.findings.iter().any(Finding::is_error)
    }
}

impl Authoring {
    /// Publishes the draft.
    ///
    /// # Errors
    /// It has faults, it would break senders and `force` is not given, or it was changed meanwhile.
    pub async fn publish(
        &self,
        place: &Place,
        options: &PublishOptions,
        author: &str,
    ) -> Result<PublishOutcome, AuthoringError> {
        self.publish_together(place, options, &Together::default(), author).await
    }

    /// The same where others are published after it, which are not touched.
    pub(super) async fn publish_together(
        &self,
        place: &Place,
        options: &PublishOptions,
        together: &Together,
        author: &str,
    ) -> Result<PublishOutcome, AuthoringError> {
        check_note(options.note.as_deref())?;
        for _ in 0..MAX_ATTEMPTS {
            let row = self.find_at(place, options.seen).await?;
            let published = Box::pin(self.publish_once(place, row, options, together, author));
            if let Some(outcome) = published.await? {
                return Ok(outcome);
            }
        }
        Err(AuthoringError::Overtaken { slug: place.slug.clone() })
    }

    async fn publish_once(
        &self,
        place: &Place,
        row: TemplateRow,
        options: &PublishOptions,
        together: &Together,
        author: &str,
    ) -> Result<Option<PublishOutcome>, AuthoringError> {
        let source = newest(&row).clone();
        let Candidate { version, findings } = self.candidate(&row, &source, together).await?;
        if findings.iter().any(Finding::is_error) {
            return Err(AuthoringError::Unfit { slug: row.slug, findings });
        }
        let same = row.published.as_ref().filter(|it| {
            (&it.source, &it.blocks, &it.variables)
                == (&version.source, &version.blocks, &version.variables)
                && is_same_html(it.compiled.as_ref(), version.compiled.as_ref())
        });
        let same = same.map(|it| it.revision);
        if let Some(revision) = same
            && row.archived_at.is_none()
        {
            let (breaking, touched) = (Vec::new(), Vec::new());
            return Ok(Some(PublishOutcome {
                row,
                revision,
                unchanged: true,
                warnings: findings,
                breaking,
                touched,
            }));
        }
        let rendered = rendered_source(source, version.compiled.as_ref());
        let revision = same.unwrap_or(version.revision);
        let touched = self.touched_by(&row, revision, &rendered, together);
        let mut touched = Box::pin(touched).await?;
        let (own, sent) = self.breaking(&row, Compared::from(&version)).await?;
        let mut breaking = own;
        breaking.append(&mut touched.breaking);
        if !breaking.is_empty() && !options.force {
            let sent = sent + touched.sent;
            return Err(AuthoringError::Breaking { slug: row.slug, changes: breaking, sent });
        }
        let publication = Publication {
            template: &row,
            // What was archived comes back as it was.
            published: same.map_or(Published::New(&version), Published::Again),
            touched: &touched.versions,
            left: touched.left,
            author,
            note: options.note.as_deref(),
        };
        if !self.store.publish(&publication, self.clock.now()).await? {
            return Ok(None);
        }
        let names = touched_names(&touched, row.owner);
        Ok(Some(PublishOutcome {
            row: self.find(place).await?,
            revision,
            unchanged: same.is_some(),
            warnings: findings,
            breaking,
            touched: names,
        }))
    }

    /// Brings an earlier version back, at once.
    ///
    /// # Errors
    /// There is no such version, or it was changed meanwhile; of a layout or partial, a template that it touches would
    /// break.
    pub async fn roll_back(
        &self,
        place: &Place,
        revision: u64,
        seen: Option<i64>,
        note: Option<&str>,
        author: &str,
    ) -> Result<RollbackOutcome, AuthoringError> {
        check_note(note)?;
        for _ in 0..MAX_ATTEMPTS {
            let row = self.find_at(place, seen).await?;
            let version = self.store.template_version(row.id, revision).await?;
            let slug = &place.slug;
            let version = version
                .ok_or_else(|| AuthoringError::NoVersion { slug: slug.clone(), revision })?;
            let mut breaking = self.breaking(&row, Compared::from(&version)).await?.0;
            let (alone, rendered) = (Together::default(), version.rendered_source());
            let mut touched = self.touched_by(&row, revision, &rendered, &alone).await?;
            breaking.append(&mut touched.breaking);
            let publication = Publication {
                template: &row,
                published: Published::Again(revision),
                touched: &touched.versions,
                left: touched.left,
                author,
                note,
            };
            if self.store.publish(&publication, self.clock.now()).await? {
                let names = touched_names(&touched, row.owner);
                let row = self.find(place).await?;
                return Ok(RollbackOutcome { row, revision, breaking, touched: names });
            }
        }
        Err(AuthoringError::Overtaken { slug: place.slug.clone() })
    }

    /// What publishing would find, of the newest source or of another one.
    pub async fn validate(
        &self,
        place: &Place,
        source: Option<TemplateSource>,
    ) -> Result<Validation, AuthoringError> {
        let row = self.find(place).await?;
        let source = source.unwrap_or_else(|| newest(&row).clone());
        self.validate_together(&row, &source, &Together::default()).await
    }

    /// What publishing a source would find where others are published before it.
    pub(super) async fn validate_together(
        &self,
        row: &TemplateRow,
        source: &TemplateSource,
        together: &Together,
    ) -> Result<Validation, AuthoringError> {
        let Candidate { version, mut findings } = self.candidate(row, source, together).await?;
        let (mut breaking, mut sent) = (Vec::new(), 0);
        let mut names = Vec::new();
        if !findings.iter().any(Finding::is_error) {
            (breaking, sent) = self.breaking(row, Compared::from(&version)).await?;
            let rendered = rendered_source(source.clone(), version.compiled.as_ref());
            match Box::pin(self.touched_by(row, version.revision, &rendered, together)).await {
                Ok(mut touched) => {
                    breaking.append(&mut touched.breaking);
                    sent += touched.sent;
                    names = touched_names(&touched, row.owner);
                }
                Err(AuthoringError::Touched { template, findings: found, .. }) => {
                    for mut finding in found {
                        finding.message =
                            format!("in the template `{template}`: {}", finding.message);
                        findings.push(finding);
                    }
                }
                Err(error @ AuthoringError::TooManyTouched { .. }) => {
                    findings.push(Finding::error("html", "too_many_touched", error.to_string()));
                }
                Err(error) => return Err(error),
            }
        }
        let variables = version.variables;
        Ok(Validation { findings, variables, breaking, sent, touched: names })
    }

    /// The version that a source would make, with what is wrong with it.
    async fn candidate(
        &self,
        row: &TemplateRow,
        source: &TemplateSource,
        together: &Together,
    ) -> Result<Candidate, AuthoringError> {
        let tenant = self.tenant(row.owner).await?;
        let checker = Checker::new(&self.plugins);
        let revision = row.newest + 1;
        if row.kind != TemplateKind::Template {
            let (compiled, mut findings) =
                Box::pin(self.check_block(&checker, &tenant, row, (revision, source), together))
                    .await?;
            lint::lint_block((row.kind, source), &mut findings);
            findings.extend(self.notices(row, &tenant, source).await?);
            let version = NewVersion {
                revision,
                source: source.clone(),
                compiled,
                blocks: Blocks::default(),
                uses: Vec::new(),
                variables: Vec::new(),
                dictionary: None,
            };
            return Ok(Candidate { version, findings });
        }
        let mut resolver = Resolver::new(&self.store, &together.blocks);
        let Resolved { blocks, uses, mut findings } = resolver.resolve(row.owner, source).await?;
        let it = Checkable { slug: &row.slug, source, blocks: &blocks };
        let compiled = Box::pin(checker.compile_mjml(&tenant, it, &mut findings)).await?;
        let rendered = rendered_source(source.clone(), compiled.as_ref());
        // Where MJML has faults there is no HTML to look for others in.
        let Checked { variables, findings: found, dictionary } =
            if source.has_mjml() && compiled.is_none() {
                Checked::default()
            } else {
                checker.check(&tenant, Checkable { source: &rendered, ..it }).await?
            };
        findings.extend(found);
        mjml::relocate(&mut findings, (source, &blocks), compiled.as_ref());
        lint::lint((source, &blocks), source.all_locales(), &mut findings);
        suggest_partials(&resolver, row.owner, &blocks, &mut findings).await?;
        findings.extend(self.notices(row, &tenant, source).await?);
        let version = NewVersion {
            revision,
            source: source.clone(),
            compiled,
            blocks,
            uses,
            variables,
            dictionary: Some(dictionary),
        };
        Ok(Candidate { version, findings })
    }

    /// A layout or partial is compiled within the least template that there is.
    async fn check_block(
        &self,
        checker: &Checker<'_>,
        tenant: &Tenant,
        row: &TemplateRow,
        (revision, source): (u64, &TemplateSource),
        together: &Together,
    ) -> Result<(Option<Compiled>, Vec<Finding>), AuthoringError> {
        let mut findings = Vec::new();
        let is_empty = |it: &Option<String>| it.as_ref().is_none_or(|it| it.trim().is_empty());
        if is_empty(&source.html) && is_empty(&source.mjml) {
            let message = format!("the {} is empty; write its `html`", row.kind.as_str());
            findings.push(Finding::error("html", "missing", message));
            return Ok((None, findings));
        }
        if row.kind == TemplateKind::Layout && !may_show_content(source) {
            let message = "the layout leaves out what it surrounds; write {{ content }} where the HTML of a template \
                           belongs";
            findings.push(Finding::error("html", "no_content", message.to_owned()));
        }
        let mut compiled = None;
        if row.kind == TemplateKind::Layout && source.has_mjml() {
            let mut resolver = Resolver::new(&self.store, &together.blocks);
            let Resolved { blocks, .. } = resolver.resolve(row.owner, source).await?;
            let it = Checkable { slug: &row.slug, source, blocks: &blocks };
            compiled = Box::pin(checker.compile_mjml(tenant, it, &mut findings)).await?;
            suggest_partials(&resolver, row.owner, &blocks, &mut findings).await?;
            if compiled.is_none() {
                return Ok((None, findings));
            }
        }
        let rendered = rendered_source(source.clone(), compiled.as_ref());
        let new = with_block(&together.blocks, new_block(row, revision, &rendered));
        let probe = probe(row, source);
        let mut resolver = Resolver::new(&self.store, &new);
        let Resolved { blocks, findings: found, .. } = resolver.resolve(row.owner, &probe).await?;
        findings.extend(found);
        let it = Checkable { slug: &row.slug, source: &probe, blocks: &blocks };
        let of_probe = Box::pin(checker.compile_mjml(tenant, it, &mut findings)).await?;
        if !probe.has_mjml() || of_probe.is_some() {
            let rendered = rendered_source(probe.clone(), of_probe.as_ref());
            checker.compile(tenant, Checkable { source: &rendered, ..it }, &mut findings).await?;
            mjml::relocate(&mut findings, (&probe, &blocks), of_probe.as_ref());
        }
        // The text that is derived from the HTML part has the same faults.
        findings.retain(|it| it.origin != Origin::DerivedText);
        if row.kind == TemplateKind::Layout {
            mjml::relocate_layout(&mut findings, source, compiled.as_ref());
        }
        suggest_partials(&resolver, row.owner, &blocks, &mut findings).await?;
        Ok((compiled, findings))
    }

    /// The next version of every template that is made of a layout or partial.
    async fn touched_by(
        &self,
        row: &TemplateRow,
        revision: u64,
        source: &TemplateSource,
        together: &Together,
    ) -> Result<Touched, AuthoringError> {
        let mut touched = Touched::default();
        if row.kind == TemplateKind::Template {
            return Ok(touched);
        }
        let users = self.store.users_of_block(row.id, MAX_TOUCHED + 1).await?;
        if users.len() > usize::try_from(MAX_TOUCHED).unwrap_or(usize::MAX) {
            return Err(AuthoringError::TooManyTouched { block: row.slug.clone() });
        }
        let new = with_block(&together.blocks, new_block(row, revision, source));
        let mut resolver = Resolver::new(&self.store, &new);
        let checker = Checker::new(&self.plugins);
        let mut tenants = HashMap::new();
        for user in users {
            let owner = TemplateOwner::Account(user.account);
            if together.templates.contains(&(owner, user.slug.clone())) {
                touched.left += 1;
                continue;
            }
            let (tenant, sent) = match tenants.entry(user.account) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert((
                    self.tenant(owner).await?,
                    self.sent(owner, TemplateKind::Template).await?,
                )),
            };
            let source = &user.published.source;
            let Resolved { blocks, uses, mut findings } = resolver.resolve(owner, source).await?;
            let it = Checkable { slug: &user.slug, source, blocks: &blocks };
            let compiled = Box::pin(checker.compile_mjml(tenant, it, &mut findings)).await?;
            let rendered = rendered_source(source.clone(), compiled.as_ref());
            let Checked { variables, findings: found, dictionary } =
                if source.has_mjml() && compiled.is_none() {
                    Checked::default()
                } else {
                    checker.check(tenant, Checkable { source: &rendered, ..it }).await?
                };
            findings.extend(found);
            mjml::relocate(&mut findings, (source, &blocks), compiled.as_ref());
            if findings.iter().any(Finding::is_error) {
                findings.retain(Finding::is_error);
                return Err(AuthoringError::Touched {
                    kind: row.kind,
                    block: row.slug.clone(),
                    template: touched_name(&user, row.owner),
                    findings,
                });
            }
            let after = Compared {
                source,
                compiled: compiled.as_ref(),
                blocks: &blocks,
                variables: &variables,
            };
            let published = Compared::from(&user.published);
            let mut changes = self.changes(tenant, &user.slug, published, after).await?;
            if !changes.is_empty() {
                touched.sent += sent.get(user.slug.as_str()).copied().unwrap_or(0);
            }
            for change in &mut changes {
                change.template = Some(user.slug.to_string());
                change.account =
                    (row.owner == TemplateOwner::Server).then(|| user.account.to_string());
            }
            touched.breaking.append(&mut changes);
            let version = NewVersion {
                revision: user.newest + 1,
                source: source.clone(),
                compiled,
                blocks,
                uses,
                variables,
                dictionary: Some(dictionary),
            };
            touched.versions.push((user, version));
        }
        Ok(touched)
    }
}

fn is_same_html(published: Option<&Compiled>, new: Option<&Compiled>) -> bool {
    match (published, new) {
        (Some(published), Some(new)) => published.is_same_html(new),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn new_block(row: &TemplateRow, revision: u64, source: &TemplateSource) -> NewBlock {
    NewBlock {
        id: row.id,
        owner: row.owner,
        kind: row.kind,
        block: block(row.slug.clone(), revision, source),
    }
}

/// The new blocks with one that is published now.
fn with_block(others: &[NewBlock], new: NewBlock) -> Vec<NewBlock> {
    let is_other = |it: &&NewBlock| {
        (it.owner, it.kind, &it.block.name) != (new.owner, new.kind, &new.block.name)
    };
    let mut blocks: Vec<NewBlock> = others.iter().filter(is_other).cloned().collect();
    blocks.push(new);
    blocks
}

/// For a partial that is not there, one that is called nearly like it; for one in MJML, how it is included.
async fn suggest_partials(
    resolver: &Resolver<'_>,
    owner: TemplateOwner,
    blocks: &Blocks,
    findings: &mut [Finding],
) -> Result<(), AuthoringError> {
    let is_unknown =
        |it: &&mut Finding| it.code == "unknown_partial" || it.code == "unknown_include";
    for finding in findings.iter_mut().filter(is_unknown) {
        let name = finding.message.split('`').nth(1).unwrap_or_default().to_owned();
        if finding.code == "unknown_partial"
            && blocks.partials.iter().any(|it| it.name.as_str() == name)
        {
            finding.message = format!(
                "the partial `{name}` is in MJML, which no Liquid tag can call; write \
                 `<mj-include path=\"{name}\" />` in the `mjml` of the template"
            );
            continue;
        }
        let like = resolver.partial_like(owner, &name).await?;
        if like.as_ref() == Some(&name) {
            finding.message = format!(
                "the name `{name}` is computed, and only partials that a text in a tag of the template names are sent \
                 along; name it in one, as in `{{% assign names = \"{name}\" | split: \",\" %}}`"
            );
            continue;
        }
        finding.suggestion = like.map(Suggestion::Apart);
    }
    Ok(())
}

fn touched_names(touched: &Touched, owner: TemplateOwner) -> Vec<String> {
    touched.versions.iter().map(|(user, _)| touched_name(user, owner)).collect()
}

fn touched_name(user: &UserRow, owner: TemplateOwner) -> String {
    match owner {
        TemplateOwner::Account(_) => user.slug.to_string(),
        TemplateOwner::Server => format!("{} of {}", user.slug, user.account),
    }
}

pub(super) fn check_note(note: Option<&str>) -> Result<(), AuthoringError> {
    if !note.is_none_or(is_one_line) {
        return Err(AuthoringError::fault("note", "invalid", format!("must be {ONE_LINE}")));
    }
    if note.is_some_and(|it| it.chars().count() > MAX_LINE) {
        let message = format!("may have at most {MAX_LINE} characters");
        return Err(AuthoringError::fault("note", "too_long", message));
    }
    Ok(())
}
