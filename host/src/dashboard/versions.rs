//! Versions of a template: who published what, what differs, and the way back.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::Uri;

use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::response::{Failure, page, to};
use super::state::Dashboard;
use super::templates::{Author, AuthorView, failed, place};
use super::words::When;
use crate::authoring::diff::PartDiff;
use crate::authoring::preview::PreviewOf;

const LINES: u32 = 50;

#[derive(Debug)]
struct VersionLine {
    revision: u64,
    is_published: bool,
    author: AuthorView,
    note: String,
    at: When,
}

/// What differs in one part.
#[derive(Debug)]
pub struct PartView {
    pub part: String,
    /// The class of each line, and its text.
    pub lines: Vec<(&'static str, String)>,
}

impl From<PartDiff> for PartView {
    fn from(diff: PartDiff) -> Self {
        let class = |line: &str| match line.as_bytes().first() {
            Some(b'+') => "added",
            Some(b'-') => "removed",
            // The second is "\ No newline at end of file".
            Some(b'@' | b'\\') => "note",
            Some(_) | None => "same",
        };
        let lines = diff.unified.lines().map(|line| (class(line), line.to_owned())).collect();
        Self { part: diff.part, lines }
    }
}

#[derive(Template)]
#[template(path = "app/template_versions.html")]
struct VersionsPage {
    frame: Frame,
    slug: String,
    edition: i64,
    lines: Vec<VersionLine>,
    has_draft: bool,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "app/template_diff.html")]
struct DiffPage {
    frame: Frame,
    slug: String,
    from: String,
    to: String,
    parts: Vec<PartView>,
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(slug): Path<String>,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, place) = (&dashboard.api, place(&visitor, &slug)?);
    let before = Form::of_query(uri.query()).get("after").parse().ok();
    let _page = api.lists.admit(visitor.account()?).await?;
    let row = api.authoring.find(&place).await.map_err(failed)?;
    let mut found = api.store.template_versions(row.id, before, LINES + 1).await?;
    let limit = usize::try_from(LINES).unwrap_or(usize::MAX);
    let has_more = found.len() > limit;
    found.truncate(limit);
    let now = api.clock.now();
    let published = row.published.as_ref().map(|it| it.revision);
    let mut authors: BTreeMap<Option<String>, AuthorView> = BTreeMap::new();
    let mut lines: Vec<VersionLine> = Vec::with_capacity(found.len());
    for it in found {
        let author = match authors.get(&it.author) {
            Some(known) => known.clone(),
            None => AuthorView::of(&dashboard, &visitor, it.author.as_deref()).await?,
        };
        authors.insert(it.author, author.clone());
        lines.push(VersionLine {
            revision: it.revision,
            is_published: published == Some(it.revision) && row.archived_at.is_none(),
            author,
            note: it.note.unwrap_or_default(),
            at: When::of(it.created_at, now),
        });
    }
    let last = lines.last().filter(|_| has_more).map(|it| it.revision);
    page(&VersionsPage {
        frame: Frame::of(&dashboard, &visitor, Place::Templates).await?,
        next: last.map(|it| format!("/app/templates/{}/versions?after={it}", place.slug)),
        slug: place.slug.to_string(),
        edition: row.edition,
        has_draft: row.draft.is_some(),
        lines,
    })
}

pub async fn diff(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(slug): Path<String>,
    uri: Uri,
) -> Result<Response, Failure> {
    let place = place(&visitor, &slug)?;
    let query = Form::of_query(uri.query());
    let which = |name: &str, default: &str| {
        let word = Some(query.get(name)).filter(|it| !it.is_empty()).unwrap_or(default).to_owned();
        let of = PreviewOf::from_word(&word);
        of.map(|of| (word, of)).map_err(|why| Failure::Invalid(format!("`{name}` {why}.")))
    };
    let (from, to) = (which("from", "published")?, which("to", "draft")?);
    let diff = dashboard.api.authoring.diff(&place, from.1, to.1).await.map_err(failed)?;
    page(&DiffPage {
        frame: Frame::of(&dashboard, &visitor, Place::Templates).await?,
        slug: place.slug.to_string(),
        from: from.0,
        to: to.0,
        parts: diff.into_iter().map(PartView::from).collect(),
    })
}

pub async fn roll_back(
    State(dashboard): State<Dashboard>,
    Path(slug): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    let (author, place) = (Author::of(&visitor)?, place(&visitor, &slug)?);
    let unread = || Failure::Invalid("The form names no version.".to_owned());
    let revision = form.get("revision").parse().map_err(|_| unread())?;
    let seen = Some(form.get("edition").parse().map_err(|_| unread())?);
    let done = dashboard.api.authoring.roll_back(&place, revision, seen, None, author.name());
    Box::pin(done).await.map_err(failed)?;
    visitor.record(&dashboard, "roll_back_template", &place.slug).await?;
    Ok(to(&format!("/app/templates/{}/versions", place.slug)))
}
