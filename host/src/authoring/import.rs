//! A whole folder of templates to the server and back: validated together, then written one by one, or not at all.

use std::collections::{BTreeMap, VecDeque};

use serde::Deserialize;
use serde_json::json;

use super::bounds::{MAX_IMPORTED, MAX_PARTIALS, MAX_UNPACKED_BYTES};
use super::breaking::BreakingChange;
use super::calls::calls;
use super::error::AuthoringError;
use super::finding::Finding;
use super::folder::state::{State, digest};
use super::folder::{Entry, Files, STATE, name_of};
use super::publish::{Together, Validation};
use super::resolve::{NewBlock, block};
use super::{Authoring, Place, PublishOptions, newest};
use crate::id::TemplateId;
use crate::store::{TemplateFilter, TemplateOwner, TemplateRow};
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;

/// Rows that are read at one time.
const PAGE: u32 = 50;

/// What to do with a folder.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    pub goal: ImportGoal,
    /// Also where senders would be broken.
    pub force: bool,
    /// Also where somebody else has changed something since the folder was pulled.
    pub overwrite: bool,
    /// Why, in the author's words.
    pub note: Option<String>,
}

/// How far to go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportGoal {
    #[serde(rename = "check")]
    /// Say what would be done, and change nothing.
    DryRun,
    /// Leave drafts.
    Drafts,
    #[default]
    Publish,
}

/// What became of a folder.
#[derive(Debug)]
pub struct Import {
    pub entries: Vec<Imported>,
}

/// What became of a template, layout or partial.
#[derive(Debug)]
pub struct Imported {
    pub kind: TemplateKind,
    pub slug: Slug,
    pub outcome: ImportOutcome,
    /// The published revision.
    pub revision: Option<u64>,
    /// Digest of the source, where server and folder have the same one.
    pub digest: Option<String>,
    pub findings: Vec<Finding>,
    pub breaking: Vec<BreakingChange>,
    /// Messages of 30 days whose senders `breaking` concerns.
    pub sent: u64,
    /// Templates that have a new version with it.
    pub touched: Vec<String>,
    /// Why it was refused.
    pub message: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOutcome {
    /// The server says the same already.
    Unchanged,
    /// It is new: as a draft, or published.
    Created,
    Changed,
    /// The draft said the same already, and is published.
    Published,
    /// Somebody else has changed it since the folder was pulled.
    Conflict,
    /// It has faults, or would break senders.
    Refused,
    /// It is left as it is, because something else was refused.
    Skipped,
}

impl ImportOutcome {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Published => "published",
            Self::Conflict => "conflict",
            Self::Refused => "refused",
            Self::Skipped => "skipped",
        }
    }

    /// Whether the server says what the folder says.
    #[must_use]
    pub fn is_done(self) -> bool {
        match self {
            Self::Unchanged | Self::Created | Self::Changed | Self::Published => true,
            Self::Conflict | Self::Refused | Self::Skipped => false,
        }
    }
}

impl Import {
    #[must_use]
    pub fn success(&self) -> bool {
        self.entries.iter().all(|it| it.outcome.is_done())
    }
}

/// An entry beside what the server has of it.
struct Step {
    entry: Entry,
    /// None where it is new.
    row: Option<TemplateRow>,
    done: Imported,
}

impl Authoring {
    /// Everything of an owner as files, with the state that a later push needs. What is archived is left out.
    ///
    /// # Errors
    /// It is too much for one file.
    pub async fn export(&self, owner: TemplateOwner) -> Result<Files, AuthoringError> {
        let mut entries = Vec::new();
        for kind in TemplateKind::ALL {
            self.add_entries(owner, kind, &mut entries).await?;
        }
        Ok(files(&entries))
    }

    /// One as files, with the layout and the partials of its owner that it is made of.
    pub async fn export_one(&self, place: &Place) -> Result<Files, AuthoringError> {
        let mut entries = vec![entry(&self.find(place).await?)];
        let owner = place.owner;
        let layout = entries.iter().find_map(|it| it.source.layout.clone());
        if let Some(slug) = layout {
            let row = self.store.template(owner, TemplateKind::Layout, &slug).await?;
            entries.extend(row.as_ref().map(entry));
        }
        let mut called: VecDeque<String> =
            entries.iter().flat_map(|it| calls(&it.source)).collect();
        while let Some(name) = called.pop_front() {
            let kind = TemplateKind::Partial;
            let is_known = entries.iter().any(|it| it.kind == kind && it.slug.as_str() == name);
            let Ok(slug) = name.parse() else { continue };
            if is_known || entries.len() > MAX_PARTIALS {
                continue;
            }
            if let Some(row) = self.store.template(owner, kind, &slug).await? {
                let partial = entry(&row);
                called.extend(calls(&partial.source));
                entries.push(partial);
            }
        }
        Ok(files(&entries))
    }

    /// All of one kind that are in use.
    async fn add_entries(
        &self,
        owner: TemplateOwner,
        kind: TemplateKind,
        entries: &mut Vec<Entry>,
    ) -> Result<(), AuthoringError> {
        let mut unpacked: usize = entries.iter().map(|it| bytes(&it.source)).sum();
        let mut after: Option<String> = None;
        loop {
            let filter = TemplateFilter { owner, kind, after: after.as_deref(), limit: PAGE };
            let rows = self.store.list_templates(&filter).await?;
            for row in rows.iter().filter(|it| it.archived_at.is_none()) {
                let entry = entry(row);
                unpacked += bytes(&entry.source);
                entries.push(entry);
            }
            if unpacked > MAX_UNPACKED_BYTES {
                return Err(AuthoringError::Large);
            }
            let is_last = rows.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
            match rows.last() {
                Some(last) if !is_last => after = Some(last.slug.to_string()),
                Some(_) | None => return Ok(()),
            }
        }
    }

    /// Brings the server to say what a folder says. Everything is validated first; where one thing is refused, nothing
    /// is changed. Nothing is ever deleted.
    ///
    /// # Errors
    /// The files are not those of templates, or the store failed. What is refused for its content is an outcome.
    pub async fn import(
        &self,
        owner: TemplateOwner,
        files: Files,
        options: &ImportOptions,
        author: &str,
    ) -> Result<Import, AuthoringError> {
        super::publish::check_note(options.note.as_deref())?;
        // Up to 32 MiB of texts are parsed.
        let parse = move || Ok((files.entries()?, State::of(&files)?));
        let parsed =
            tokio::task::spawn_blocking(parse).await.map_err(|_| AuthoringError::Stopping)?;
        let (entries, state) = parsed.map_err(AuthoringError::Files)?;
        if entries.len() > MAX_IMPORTED {
            let message = format!("has more than {MAX_IMPORTED} templates, layouts and partials");
            return Err(AuthoringError::fault("", "too_many", message));
        }
        let (mut steps, mut held) = (Vec::with_capacity(entries.len()), 0);
        for entry in entries {
            let place = Place { owner, kind: entry.kind, slug: entry.slug.clone() };
            let row = self.store.template(owner, place.kind, &place.slug).await?;
            held += row.as_ref().map_or(0, |row| bytes(newest(row)));
            if held > MAX_UNPACKED_BYTES {
                return Err(AuthoringError::Large);
            }
            steps.push(Step::new(entry, row, &state, options));
        }
        if steps.iter().all(|it| it.done.outcome != ImportOutcome::Conflict)
            && options.goal != ImportGoal::Drafts
        {
            self.validate_all(owner, &mut steps, options).await?;
        }
        let is_refused = steps.iter().any(|it| !it.done.outcome.is_done());
        if is_refused {
            skip(&mut steps);
        } else if options.goal != ImportGoal::DryRun {
            self.write(owner, &mut steps, options, author).await?;
        }
        Ok(Import { entries: steps.into_iter().map(|it| it.done).collect() })
    }

    /// What publishing would find, with everything else of the folder as if it were published.
    async fn validate_all(
        &self,
        owner: TemplateOwner,
        steps: &mut [Step],
        options: &ImportOptions,
    ) -> Result<(), AuthoringError> {
        let now = self.clock.now();
        let blank = |entry: &Entry| TemplateRow {
            id: TemplateId::new(now),
            owner,
            kind: entry.kind,
            slug: entry.slug.clone(),
            draft: None,
            edition: 0,
            published: None,
            newest: 0,
            archived_at: None,
            is_sent: false,
            created_at: now,
        };
        let rows: Vec<TemplateRow> =
            steps.iter().map(|it| it.row.clone().unwrap_or_else(|| blank(&it.entry))).collect();
        let mut together = Together::default();
        for (step, row) in steps.iter().zip(&rows) {
            let Entry { kind, slug, source } = &step.entry;
            match kind {
                // One that says the same is touched by its layout, as any other.
                TemplateKind::Template if step.done.outcome == ImportOutcome::Unchanged => {}
                TemplateKind::Template => {
                    together.templates.insert((owner, slug.clone()));
                }
                TemplateKind::Layout | TemplateKind::Partial => together.blocks.push(NewBlock {
                    id: row.id,
                    owner,
                    kind: *kind,
                    block: block(slug.clone(), row.newest + 1, source),
                }),
            }
        }
        for (step, row) in steps.iter_mut().zip(&rows) {
            // What is unchanged may be made of what is not.
            let found = self.validate_together(row, &step.entry.source, &together).await?;
            let is_valid = found.is_valid();
            let Validation { findings, breaking, sent, touched, .. } = found;
            let is_broken = !breaking.is_empty() && !options.force;
            let done = &mut step.done;
            (done.findings, done.breaking, done.touched) = (findings, breaking, touched);
            done.sent = if done.breaking.is_empty() { 0 } else { sent };
            if !is_valid {
                let findings = done.findings.clone();
                let error = AuthoringError::Unfit { slug: row.slug.clone(), findings };
                done.refuse(&error);
            } else if is_broken {
                let changes = done.breaking.clone();
                let error = AuthoringError::Breaking { slug: row.slug.clone(), changes, sent };
                done.refuse(&error);
            }
        }
        Ok(())
    }

    /// Each draft, and then its publication. What fails now ends it: a repetition goes on from there.
    async fn write(
        &self,
        owner: TemplateOwner,
        steps: &mut [Step],
        options: &ImportOptions,
        author: &str,
    ) -> Result<(), AuthoringError> {
        let changed = steps.iter().filter(|it| it.done.outcome != ImportOutcome::Unchanged);
        let templates = changed
            .filter(|it| it.entry.kind == TemplateKind::Template)
            .map(|it| (owner, it.entry.slug.clone()))
            .collect();
        let together = Together { blocks: Vec::new(), templates };
        for number in 0..steps.len() {
            let Some(step) = steps.get_mut(number) else { break };
            if step.done.outcome == ImportOutcome::Unchanged {
                continue;
            }
            match self.write_one(owner, step, options, &together, author).await {
                Ok(()) => {}
                Err(AuthoringError::Store(error)) => return Err(error.into()),
                Err(error) => {
                    step.done.refuse(&error);
                    if let AuthoringError::Changed { .. } | AuthoringError::Overtaken { .. } = error
                    {
                        step.done.outcome = ImportOutcome::Conflict;
                    }
                    skip(steps.get_mut(number + 1..).unwrap_or_default());
                    break;
                }
            }
        }
        Ok(())
    }

    async fn write_one(
        &self,
        owner: TemplateOwner,
        step: &mut Step,
        options: &ImportOptions,
        together: &Together,
        author: &str,
    ) -> Result<(), AuthoringError> {
        let Entry { kind, slug, source } = &step.entry;
        let place = Place { owner, kind: *kind, slug: slug.clone() };
        let row = match &step.row {
            None => self.create(&place, source, author).await?,
            Some(row) if newest(row) == source => row.clone(),
            Some(row) => self.replace_draft(&place, Some(row.edition), source, author).await?,
        };
        step.done.digest = Some(digest(source));
        if options.goal == ImportGoal::Publish {
            // Whether a layout or partial breaks senders was validated with the whole folder: templates follow later.
            let force = options.force || *kind != TemplateKind::Template;
            let note = options.note.clone();
            let options = PublishOptions { seen: Some(row.edition), force, note };
            let outcome = self.publish_together(&place, &options, together, author).await?;
            step.done.revision = Some(outcome.revision);
            step.done.touched = outcome.touched;
        }
        Ok(())
    }
}

impl Step {
    fn new(entry: Entry, row: Option<TemplateRow>, state: &State, options: &ImportOptions) -> Self {
        let here = digest(&entry.source);
        let there = row.as_ref().map(|it| digest(newest(it)));
        let common = state.digests.get(&name_of(entry.kind, &entry.slug));
        let published = row.as_ref().and_then(|it| it.published.as_ref());
        // What is archived says the same and stays archived.
        let is_published = published.is_some_and(|it| it.source == entry.source);
        let outcome = match &row {
            None if common.is_some() && !options.overwrite => ImportOutcome::Conflict,
            None => ImportOutcome::Created,
            Some(row) if *newest(row) == entry.source => {
                let is_enough = is_published || options.goal == ImportGoal::Drafts;
                if is_enough { ImportOutcome::Unchanged } else { ImportOutcome::Published }
            }
            Some(_) if there.as_ref() == common || options.overwrite => ImportOutcome::Changed,
            Some(_) => ImportOutcome::Conflict,
        };
        let message = (outcome == ImportOutcome::Conflict).then(|| match (&row, common) {
            (None, _) => "it was deleted on the server since the last pull".to_owned(),
            (Some(row), common) => {
                let by = row.draft.as_ref().map(|it| it.by.clone());
                let by = by.or_else(|| published.and_then(|it| it.author.clone()));
                let by = by.map(|it| format!(" by {it}")).unwrap_or_default();
                match common {
                    Some(_) => format!("it was changed on the server{by} since the last pull"),
                    None => format!("the server has another one{by}, which was never pulled"),
                }
            }
        });
        let revision = published.map(|it| it.revision);
        let digest = there.filter(|there| *there == here);
        let done = Imported {
            kind: entry.kind,
            slug: entry.slug.clone(),
            outcome,
            revision,
            digest,
            findings: Vec::new(),
            breaking: Vec::new(),
            sent: 0,
            touched: Vec::new(),
            message,
        };
        Self { entry, row, done }
    }
}

impl Imported {
    fn refuse(&mut self, error: &AuthoringError) {
        self.outcome = ImportOutcome::Refused;
        self.message = Some(error.to_string());
    }
}

/// What would have been changed is left as it is.
fn skip(steps: &mut [Step]) {
    for step in steps.iter_mut().filter(|it| it.done.outcome.is_done()) {
        if step.done.outcome != ImportOutcome::Unchanged {
            step.done.outcome = ImportOutcome::Skipped;
        }
    }
}

fn bytes(source: &TemplateSource) -> usize {
    json!(source).to_string().len()
}

fn entry(row: &TemplateRow) -> Entry {
    Entry { kind: row.kind, slug: row.slug.clone(), source: newest(row).clone() }
}

fn files(entries: &[Entry]) -> Files {
    let (mut files, mut digests) = (Files::default(), BTreeMap::new());
    for entry in entries {
        files.extend(Files::of(entry));
        digests.insert(entry.name(), digest(&entry.source));
    }
    files.put(STATE.to_owned(), State { digests }.text());
    files
}
