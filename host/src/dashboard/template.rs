//! One template: what is published, the editor of its draft, and what can be done with it.

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;

use super::assets;
use super::editor::{Editor, edition};
use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::live::Asked;
use super::response::{Failure, page, sentence, to, with_status};
use super::state::Dashboard;
use super::templates::{Author, AuthorView, Drafted, count, failed, place, state};
use super::versions::PartView;
use super::words::{When, counted};
use crate::authoring::breaking::BreakingChange;
use crate::authoring::diff::between;
use crate::authoring::error::AuthoringError;
use crate::authoring::finding::Finding;
use crate::authoring::preview::PreviewOf;
use crate::authoring::{self, PublishOptions, newest};
use crate::journey::accept::refusal::Fault;
use crate::store::TemplateRow;
use crate::template::locale::LocaleTag;
use crate::template::source::TemplateSource;
use crate::template::version::{Variable, VariableFormat, VariableType};

/// What a form was answered with.
#[derive(Debug, Default)]
pub struct Answer {
    pub fault: Option<String>,
    /// What was saved while the form was open.
    pub overtaken: Option<OvertakenBy>,
    pub findings: Option<Vec<Finding>>,
    pub breaking: Vec<String>,
    /// As in `2 messages were`: those of the last 30 days, which the breaking changes would have refused.
    pub affected: String,
    /// The note of a version that was not published.
    pub note: String,
    /// The addresses that a test was sent to, as typed.
    pub to: String,
    pub tests: Vec<TestLine>,
}

/// What somebody else has saved since the form was read.
#[derive(Debug)]
pub struct OvertakenBy {
    /// Which edition that is: whoever has seen it may save over it.
    edition: i64,
    /// What saving the form would change of it.
    changes: Vec<PartView>,
}

/// A variable that the saved draft reads.
#[derive(Debug)]
struct VariableLine {
    path: String,
    /// What its author has declared; empty where that is nothing.
    kind: String,
    is_required: bool,
    /// As in `subject, line 1; html, line 3`; empty where none of the template's own parts reads it.
    read_at: String,
}

/// What became of a test to one address.
#[derive(Debug)]
pub struct TestLine {
    pub to: String,
    /// Its message; none where it was refused.
    pub message: Option<String>,
    pub about: String,
}

impl Answer {
    /// The heading of the lines of a test.
    fn became_of_tests(&self) -> &'static str {
        let sent = self.tests.iter().filter(|it| it.message.is_some()).count();
        if sent == self.tests.len() {
            "The test was sent"
        } else if sent > 0 {
            "The test was sent to some of these, and refused for others"
        } else {
            "The test was refused: nothing was sent"
        }
    }
}

#[derive(Template)]
#[template(path = "app/template.html", blocks = ["findings"])]
struct TemplatePage {
    frame: Frame,
    slug: String,
    name: String,
    description: String,
    state: (&'static str, &'static str, &'static str),
    published: Option<(u64, When, AuthorView)>,
    draft: Option<(When, AuthorView)>,
    can_archive: bool,
    can_delete: bool,
    locales: Vec<String>,
    sent: String,
    /// Where the script of the editor is.
    script: String,
    /// The confirmed test recipients.
    recipients: Vec<String>,
    /// None where the saved draft has faults.
    variables: Option<Vec<VariableLine>>,
    editor: Editor,
    answer: Answer,
}

#[derive(Template)]
#[template(path = "app/template_delete.html")]
struct DeletePage {
    frame: Frame,
    slug: String,
    edition: i64,
    versions: u64,
}

pub async fn shown(
    dashboard: &Dashboard,
    visitor: &Visitor,
    row: &TemplateRow,
    (status, editor, answer): (StatusCode, Editor, Answer),
) -> Result<Response, Failure> {
    let page = template_page(dashboard, (visitor, Asked::Page), row, (editor, answer)).await?;
    with_status(status, &page)
}

async fn template_page(
    dashboard: &Dashboard,
    (visitor, asked): (&Visitor, Asked),
    row: &TemplateRow,
    (editor, answer): (Editor, Answer),
) -> Result<TemplatePage, Failure> {
    let (api, source) = (&dashboard.api, newest(row));
    let now = api.clock.now();
    let sent = api.authoring.sent(row.owner, row.kind).await.map_err(failed)?;
    let sent = sent.get(row.slug.as_str()).copied().unwrap_or(0);
    let published = match &row.published {
        Some(it) => {
            let by = AuthorView::of(dashboard, visitor, it.author.as_deref()).await?;
            Some((it.revision, When::of(it.created_at, now), by))
        }
        None => None,
    };
    let draft = match &row.draft {
        Some(it) => {
            let by = AuthorView::of(dashboard, visitor, Some(&it.by)).await?;
            Some((When::of(it.at, now), by))
        }
        None => None,
    };
    let own = source.default_locale().to_string();
    let others = source.locales.keys().map(ToString::to_string).filter(|it| *it != own);
    let recipients = api.authoring.test_recipients(visitor.account()?).await.map_err(failed)?;
    let confirmed = recipients.into_iter().filter(|it| it.confirmed_at.is_some());
    Ok(TemplatePage {
        frame: Frame::of(dashboard, visitor, Place::Templates).await?,
        slug: row.slug.to_string(),
        name: source.name.clone(),
        description: source.description.clone(),
        state: state(row),
        published,
        draft,
        can_archive: row.published.is_some() && row.archived_at.is_none(),
        can_delete: !row.is_sent,
        locales: std::iter::once(own.clone()).chain(others).collect(),
        sent: count(sent),
        script: assets::editor(),
        recipients: confirmed.map(|it| it.address).collect(),
        variables: match asked {
            Asked::Page => variables(dashboard, row).await?,
            Asked::Part => None,
        },
        editor,
        answer,
    })
}

/// What the saved draft reads; none where it has faults, which the check tells.
async fn variables(
    dashboard: &Dashboard,
    row: &TemplateRow,
) -> Result<Option<Vec<VariableLine>>, Failure> {
    let lines = |variables: &[Variable]| {
        Some(variables.iter().map(|it| VariableLine::of(it, newest(row))).collect())
    };
    if let (None, Some(published)) = (&row.draft, &row.published) {
        return Ok(lines(&published.variables));
    }
    let place = authoring::Place { owner: row.owner, kind: row.kind, slug: row.slug.clone() };
    match Box::pin(dashboard.api.authoring.contract(&place, PreviewOf::Draft)).await {
        Ok(contract) => Ok(lines(&contract.variables)),
        Err(AuthoringError::Unfit { .. }) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

impl VariableLine {
    fn of(variable: &Variable, source: &TemplateSource) -> Self {
        let words = [
            variable.value_type.map(VariableType::as_str),
            variable.format.map(VariableFormat::as_str),
        ];
        let at = authoring::read_at(source, &variable.path).into_iter();
        let at: Vec<String> = at.map(|(part, line)| format!("{part}, line {line}")).collect();
        Self {
            path: variable.path.clone(),
            kind: words.into_iter().flatten().collect::<Vec<_>>().join(", "),
            is_required: variable.required,
            read_at: at.join("; "),
        }
    }
}

/// An author's fault is told beside what the author typed; everything else is a page of its own.
pub fn answer(error: AuthoringError) -> Result<(StatusCode, Answer), Failure> {
    let fault = Some(sentence(&error.to_string()));
    match error {
        AuthoringError::Unfit { findings, .. } => {
            let fault = Some("Nothing was published: the draft has faults.".to_owned());
            let answer = Answer { fault, findings: Some(findings), ..Answer::default() };
            Ok((StatusCode::UNPROCESSABLE_ENTITY, answer))
        }
        AuthoringError::Breaking { changes, sent, .. } => {
            let breaking = changes.iter().map(BreakingChange::in_words).collect();
            let affected = counted(sent, "message was", "messages were");
            let answer = Answer { breaking, affected, ..Answer::default() };
            Ok((StatusCode::CONFLICT, answer))
        }
        AuthoringError::Faults(_) | AuthoringError::Taken { .. } | AuthoringError::Full { .. } => {
            Ok((StatusCode::UNPROCESSABLE_ENTITY, Answer { fault, ..Answer::default() }))
        }
        AuthoringError::Changed { .. }
        | AuthoringError::Overtaken { .. }
        | AuthoringError::InUse { .. }
        | AuthoringError::Unpublished { .. }
        | AuthoringError::Sent { .. } => {
            Ok((StatusCode::CONFLICT, Answer { fault, ..Answer::default() }))
        }
        other @ (AuthoringError::Store(_)
        | AuthoringError::Folder(_)
        | AuthoringError::Files(_)
        | AuthoringError::Plugin(_)
        | AuthoringError::Refused(_)
        | AuthoringError::Missing { .. }
        | AuthoringError::NoVersion { .. }
        | AuthoringError::NoExample { .. }
        | AuthoringError::NoStarter { .. }
        | AuthoringError::NoRecipient { .. }
        | AuthoringError::Suppressed { .. }
        | AuthoringError::Large
        | AuthoringError::Stopping
        | AuthoringError::ArchivesBusy
        | AuthoringError::Touched { .. }
        | AuthoringError::TooManyTouched { .. }) => Err(failed(other)),
    }
}

async fn done(
    dashboard: &Dashboard,
    visitor: &Visitor,
    (action, row): (&'static str, &TemplateRow),
) -> Result<Response, Failure> {
    visitor.record(dashboard, action, &row.slug).await?;
    Ok(to(&format!("/app/templates/{}", row.slug)))
}

async fn again(
    dashboard: &Dashboard,
    visitor: &Visitor,
    (place, note): (&authoring::Place, String),
    error: AuthoringError,
) -> Result<Response, Failure> {
    let (status, answer) = answer(error)?;
    let answer = Answer { note, ..answer };
    let row = dashboard.api.authoring.find(place).await.map_err(failed)?;
    shown(dashboard, visitor, &row, (status, Editor::of(&row), answer)).await
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(slug): Path<String>,
) -> Result<Response, Failure> {
    let place = place(&visitor, &slug)?;
    let row = dashboard.api.authoring.find(&place).await.map_err(failed)?;
    let editor = Editor::of(&row);
    shown(&dashboard, &visitor, &row, (StatusCode::OK, editor, Answer::default())).await
}

pub async fn save(
    State(dashboard): State<Dashboard>,
    Path(slug): Path<String>,
    sent: Drafted,
) -> Result<Response, Failure> {
    let Drafted { author, visitor, form, .. } = &sent;
    let place = place(visitor, &slug)?;
    let (authoring, editor) = (&dashboard.api.authoring, Editor::sent(form)?);
    let row = authoring.find(&place).await.map_err(failed)?;
    // The author has seen the edition that the form was read with, or the later one that `over` names.
    let seen = if form.has("over") { form.get("over").parse().ok() } else { Some(editor.edition) };
    let seen = seen.ok_or_else(|| Failure::Invalid("The form names no edition.".to_owned()))?;
    let saved = match editor.source(&row) {
        Ok(source) => authoring.replace_draft(&place, Some(seen), &source, author.name()).await,
        Err(error) => Err(error),
    };
    match saved {
        Ok(row) => done(&dashboard, visitor, ("change_template", &row)).await,
        Err(AuthoringError::Changed { .. }) => {
            overtaken(&dashboard, visitor, (&place, editor)).await
        }
        Err(error) => {
            let (status, answer) = answer(error)?;
            shown(&dashboard, visitor, &row, (status, editor, answer)).await
        }
    }
}

/// Shows what was typed, and what saving it would change of what somebody else has saved.
async fn overtaken(
    dashboard: &Dashboard,
    visitor: &Visitor,
    (place, editor): (&authoring::Place, Editor),
) -> Result<Response, Failure> {
    let row = dashboard.api.authoring.find(place).await.map_err(failed)?;
    let (status, answer) = match editor.source(&row) {
        Ok(typed) => {
            let changes = between(newest(&row), &typed).into_iter().map(PartView::from).collect();
            let overtaken = Some(OvertakenBy { edition: row.edition, changes });
            (StatusCode::CONFLICT, Answer { overtaken, ..Answer::default() })
        }
        Err(error) => answer(error)?,
    };
    shown(dashboard, visitor, &row, (status, editor, answer)).await
}

/// Checks what stands in the editor, saved or not.
pub async fn check(
    State(dashboard): State<Dashboard>,
    Path(slug): Path<String>,
    asked: Asked,
    sent: Drafted,
) -> Result<Response, Failure> {
    let Drafted { visitor, form, .. } = &sent;
    let place = place(visitor, &slug)?;
    let (authoring, editor) = (&dashboard.api.authoring, Editor::sent(form)?);
    let row = authoring.find(&place).await.map_err(failed)?;
    let checked = match editor.source(&row) {
        Ok(source) => Box::pin(authoring.validate(&place, Some(source))).await,
        Err(error) => Err(error),
    };
    let (status, answer) = match checked {
        Ok(found) => {
            (StatusCode::OK, Answer { findings: Some(found.findings), ..Answer::default() })
        }
        Err(error) => answer(error)?,
    };
    let page = template_page(&dashboard, (visitor, asked), &row, (editor, answer)).await?;
    match asked {
        Asked::Page => with_status(status, &page),
        Asked::Part => with_status(status, &page.as_findings()),
    }
}

pub fn locale(form: &Form) -> Result<Option<LocaleTag>, AuthoringError> {
    let locale = Some(form.get("locale")).filter(|it| !it.is_empty()).map(str::parse);
    locale
        .transpose()
        .map_err(|_| AuthoringError::Faults(vec![Fault::new("locale", "invalid", "is no locale")]))
}

pub async fn publish(
    State(dashboard): State<Dashboard>,
    Path(slug): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    let (author, place) = (Author::of(&visitor)?, place(&visitor, &slug)?);
    let note = Some(form.get("note").trim().to_owned()).filter(|it| !it.is_empty());
    let force = form.get("force") == "yes";
    let options = PublishOptions { seen: Some(edition(&form)?), force, note };
    let published = dashboard.api.authoring.publish(&place, &options, author.name());
    match Box::pin(published).await {
        Ok(outcome) => done(&dashboard, &visitor, ("publish_template", &outcome.row)).await,
        Err(error) => {
            let note = options.note.unwrap_or_default();
            again(&dashboard, &visitor, (&place, note), error).await
        }
    }
}

pub async fn archive(
    State(dashboard): State<Dashboard>,
    Path(slug): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    Author::of(&visitor)?;
    let place = place(&visitor, &slug)?;
    match dashboard.api.authoring.archive(&place, Some(edition(&form)?)).await {
        Ok(row) => done(&dashboard, &visitor, ("archive_template", &row)).await,
        Err(error) => again(&dashboard, &visitor, (&place, String::new()), error).await,
    }
}

pub async fn duplicate(
    State(dashboard): State<Dashboard>,
    Path(slug): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    let (author, place) = (Author::of(&visitor)?, place(&visitor, &slug)?);
    let copied = match form.get("slug").trim().parse() {
        Ok(copy) => dashboard.api.authoring.duplicate(&place, copy, author.name()).await,
        Err(error) => {
            let error: crate::template::slug::InvalidSlug = error;
            Err(AuthoringError::fault("", "invalid", error.to_string()))
        }
    };
    match copied {
        Ok(row) => done(&dashboard, &visitor, ("duplicate_template", &row)).await,
        Err(error) => again(&dashboard, &visitor, (&place, String::new()), error).await,
    }
}

pub async fn confirm(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    Path(slug): Path<String>,
) -> Result<Response, Failure> {
    Author::of(&visitor)?;
    let place = place(&visitor, &slug)?;
    let row = dashboard.api.authoring.find(&place).await.map_err(failed)?;
    let frame = Frame::of(&dashboard, &visitor, Place::Templates).await?;
    let slug = row.slug.to_string();
    page(&DeletePage { frame, slug, edition: row.edition, versions: row.newest })
}

pub async fn delete(
    State(dashboard): State<Dashboard>,
    Path(slug): Path<String>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    Author::of(&visitor)?;
    let place = place(&visitor, &slug)?;
    match dashboard.api.authoring.delete(&place, Some(edition(&form)?)).await {
        Ok(row) => {
            done(&dashboard, &visitor, ("delete_template", &row)).await?;
            Ok(to("/app/templates"))
        }
        Err(error) => again(&dashboard, &visitor, (&place, String::new()), error).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heading_of_a_test_says_what_became_of_it() {
        let line = |message: Option<&str>| TestLine {
            to: "ada@example.com".to_owned(),
            message: message.map(str::to_owned),
            about: String::new(),
        };
        let heading = |messages: [Option<&str>; 2]| {
            let tests = messages.map(line).into_iter().collect();
            Answer { tests, ..Answer::default() }.became_of_tests()
        };
        assert_eq!(heading([Some("msg_a"), Some("msg_b")]), "The test was sent");
        assert!(heading([Some("msg_a"), None]).contains("sent to some of these"));
        assert!(heading([None, None]).contains("nothing was sent"));
    }
}
