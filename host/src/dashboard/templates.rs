//! Templates of the account: which there are, and a new one.

use askama::Template;
use askama::filters::HtmlSafe;
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::response::Response;
use http::request::Parts;
use http::{StatusCode, Uri};

use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::response::{Failure, page, sentence, to, with_status};
use super::state::Dashboard;
use super::words::{When, number};
use crate::account::role::Role;
use crate::api::body::{self, Memory};
use crate::api::templates::refused::refused;
use crate::authoring::error::AuthoringError;
use crate::authoring::{self, Usage, folder, newest};
use crate::clock::Timestamp;
use crate::id::KeyId;
use crate::store::{TemplateOwner, TemplateRow};
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;

const LINES: u32 = 50;

/// Proof that a person may change templates, without which no page names an author.
#[derive(Debug)]
pub struct Author(String);

/// A form with a source, of somebody who may change templates: as large as a body of the API, and held in the memory and
/// in the account's shares that those have. The session is read before and after the body, as for [`Submitted`].
#[derive(Debug)]
pub struct Drafted {
    pub author: Author,
    pub visitor: Visitor,
    pub form: Form,
    _memory: Memory,
}

/// Who wrote a draft or published a version. On a page, a badge stands behind the name of a key.
#[derive(Debug, Clone, Template)]
#[template(
    source = r#"{{ name }}{% if is_key %} <span class="badge off">key</span>{% endif %}"#,
    ext = "html"
)]
pub struct AuthorView {
    /// The person's address, or what the key is called.
    pub name: String,
    pub is_key: bool,
}

#[derive(Debug)]
struct TemplateLine {
    slug: String,
    name: String,
    state: (&'static str, &'static str, &'static str),
    has_draft: bool,
    published: Option<When>,
    sent: String,
    /// None where none was.
    refused: Option<String>,
    failed: Option<String>,
}

#[derive(Debug)]
struct Starter {
    slug: String,
    name: String,
    description: String,
}

#[derive(Template)]
#[template(path = "app/templates.html")]
struct TemplatesPage {
    frame: Frame,
    lines: Vec<TemplateLine>,
    starters: Vec<Starter>,
    next: Option<String>,
}

#[derive(Template)]
#[template(path = "app/template_new.html")]
struct NewTemplatePage {
    frame: Frame,
    slug: String,
    starter: String,
    starters: Vec<Starter>,
    fault: Option<String>,
}

/// Its template escapes what it writes.
impl HtmlSafe for AuthorView {}

impl Author {
    pub fn of(visitor: &Visitor) -> Result<Self, Failure> {
        visitor.membership()?.role.at_least(Role::Member)?;
        Ok(Self(visitor.person.user.email.to_string()))
    }

    /// As versions name the person.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl AuthorView {
    /// Of the name in a draft or a version, where a key stands by its identifier.
    pub async fn of(
        dashboard: &Dashboard,
        visitor: &Visitor,
        name: Option<&str>,
    ) -> Result<Self, Failure> {
        let name = name.unwrap_or_default();
        let Ok(id) = name.parse::<KeyId>() else {
            return Ok(Self { name: name.to_owned(), is_key: false });
        };
        let account = visitor.account()?;
        let key = dashboard.api.store.key(id).await?.filter(|it| it.account_id == account);
        Ok(Self { name: key.map_or_else(|| name.to_owned(), |it| it.name), is_key: true })
    }
}

impl FromRequest<Dashboard> for Drafted {
    type Rejection = Failure;

    async fn from_request(request: Request, dashboard: &Dashboard) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let account = match admitted(&mut parts, dashboard).await {
            Ok((_, visitor)) => visitor.account()?,
            Err(failure) => {
                body::drain(body).await;
                return Err(failure);
            }
        };
        let (bytes, memory) = body::read(body, account, &dashboard.api).await?;
        let form = Form::parse(&bytes);
        let (author, visitor) = admitted(&mut parts, dashboard).await?;
        visitor.must_have_sent(&form)?;
        Ok(Self { author, visitor, form, _memory: memory })
    }
}

async fn admitted(parts: &mut Parts, dashboard: &Dashboard) -> Result<(Author, Visitor), Failure> {
    let visitor = Visitor::from_request_parts(parts, dashboard).await?;
    Ok((Author::of(&visitor)?, visitor))
}

/// Class, glyph and word of a template's state.
pub fn state(row: &TemplateRow) -> (&'static str, &'static str, &'static str) {
    if row.archived_at.is_some() {
        ("off", "–", "archived")
    } else if row.published.is_some() {
        ("good", "✓", "published")
    } else {
        ("off", "–", "never published")
    }
}

/// A template of the account that the session shows.
pub fn place(visitor: &Visitor, slug: &str) -> Result<authoring::Place, Failure> {
    let slug: Slug = slug.parse().map_err(|_| Failure::Missing)?;
    let owner = TemplateOwner::Account(visitor.account()?);
    Ok(authoring::Place { owner, kind: TemplateKind::Template, slug })
}

/// Why something was not done, as a page of its own.
pub fn failed(error: AuthoringError) -> Failure {
    refused(error).into()
}

impl TemplateLine {
    fn of(row: &TemplateRow, usage: Usage, now: Timestamp) -> Self {
        Self {
            slug: row.slug.to_string(),
            name: newest(row).name.clone(),
            state: state(row),
            has_draft: row.draft.is_some(),
            published: row.published.as_ref().map(|it| When::of(it.created_at, now)),
            sent: count(usage.sent),
            refused: Some(usage.refused).filter(|it| *it > 0).map(count),
            failed: Some(usage.failed).filter(|it| *it > 0).map(count),
        }
    }
}

pub fn count(count: u64) -> String {
    number(i64::try_from(count).unwrap_or(i64::MAX))
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, account) = (&dashboard.api, visitor.account()?);
    let query = Form::of_query(uri.query());
    let after = Some(query.get("after")).filter(|it| !it.is_empty());
    let _page = api.lists.admit(account).await?;
    let (owner, kind) = (TemplateOwner::Account(account), TemplateKind::Template);
    let listed = api.authoring.list(owner, kind, after, LINES).await.map_err(failed)?;
    let now = api.clock.now();
    let usage =
        |row: &TemplateRow| listed.usage.get(row.slug.as_str()).copied().unwrap_or_default();
    let lines: Vec<_> =
        listed.rows.iter().map(|row| TemplateLine::of(row, usage(row), now)).collect();
    let last = lines.last().filter(|_| listed.has_more);
    page(&TemplatesPage {
        next: last.map(|it| format!("/app/templates?after={}", it.slug)),
        starters: if lines.is_empty() { starters()? } else { Vec::new() },
        lines,
        frame: Frame::of(&dashboard, &visitor, Place::Templates).await?,
    })
}

pub async fn ask(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    Author::of(&visitor)?;
    let starter = Form::of_query(uri.query()).get("starter").to_owned();
    page(&NewTemplatePage {
        frame: Frame::of(&dashboard, &visitor, Place::Templates).await?,
        slug: starter.clone(),
        starter,
        starters: starters()?,
        fault: None,
    })
}

pub async fn create(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    let author = Author::of(&visitor)?;
    let (slug, starter) = (form.get("slug").trim(), form.get("starter"));
    let authoring = &dashboard.api.authoring;
    let created = if let Err(error) = slug.parse::<Slug>() {
        Err(AuthoringError::fault("", "invalid", error.to_string()))
    } else {
        let place = place(&visitor, slug)?;
        if starter.is_empty() {
            authoring.create(&place, &TemplateSource::default(), author.name()).await
        } else {
            authoring.create_from_starter(&place, starter, author.name()).await
        }
    };
    match created {
        Ok(row) => {
            visitor.record(&dashboard, "create_template", &row.slug).await?;
            Ok(to(&format!("/app/templates/{}", row.slug)))
        }
        Err(
            error @ (AuthoringError::Faults(_)
            | AuthoringError::Taken { .. }
            | AuthoringError::NoStarter { .. }
            | AuthoringError::Full { .. }),
        ) => {
            let again = NewTemplatePage {
                frame: Frame::of(&dashboard, &visitor, Place::Templates).await?,
                slug: slug.to_owned(),
                starter: starter.to_owned(),
                starters: starters()?,
                fault: Some(sentence(&error.to_string())),
            };
            with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
        }
        Err(error) => Err(failed(error)),
    }
}

fn starters() -> Result<Vec<Starter>, Failure> {
    let all = folder::starters().map_err(|error| failed(error.into()))?;
    let starter = |(slug, folder): &(Slug, folder::Folder)| Starter {
        slug: slug.to_string(),
        name: folder.source.name.clone(),
        description: folder.source.description.clone(),
    };
    let mut starters: Vec<Starter> = all.iter().map(starter).collect();
    starters.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(starters)
}
