//! `/v1/templates`, `/v1/layouts` and `/v1/partials`: template authoring. The three live by the same rules, so they
//! have the same handlers: each route knows which kind it is of.

mod asked;
mod author;
pub mod contract;
pub mod exchange;
mod fields;
mod page;
pub mod refused;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use axum::{Extension, Json, Router};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::Deserialize;

use super::problem::{Code, Problem};
use super::query::{self, Query};
use super::request_context;
use super::shapes::{
    BatchResponse, BatchResult, DeletedTemplate, Page, PublishedTemplate, Template, TemplateDiff,
    TemplateList, TemplatePreview, TemplateSummary, TemplateValidation, TemplateVersion,
    TemplateVersionList, TemplateVersionSummary, template_etag,
};
use super::state::Api;
use crate::authoring::bounds::MAX_TEST_RECIPIENTS;
use crate::authoring::preview::PreviewOf;
use crate::authoring::trial_send::TrialOptions;
use crate::authoring::{self, Place, PublishOptions};
use crate::journey::accept::refusal::{Fault, Refusal};
use crate::store::TemplateRow;
use crate::template::kind::TemplateKind;
use crate::template::source::TemplateSource;
use asked::{Asked, Purpose};
use author::Author;
use fields::{Fields, if_match};
use refused::{absent_or_refused, refused};

/// The routes of all three kinds.
pub fn routes(mut router: Router<Api>) -> Router<Api> {
    let kinds = [
        ("/v1/templates", TemplateKind::Template),
        ("/v1/layouts", TemplateKind::Layout),
        ("/v1/partials", TemplateKind::Partial),
    ];
    for (path, kind) in kinds {
        let all: [(&str, MethodRouter<Api>); 13] = [
            ("", get(list).post(create)),
            ("/{slug}", get(show).patch(change).delete(delete)),
            ("/{slug}/draft", put(replace)),
            ("/{slug}/publish", post(publish)),
            ("/{slug}/rollback", post(roll_back)),
            ("/{slug}/archive", post(archive)),
            ("/{slug}/duplicate", post(duplicate)),
            ("/{slug}/validate", post(validate)),
            ("/{slug}/diff", get(diff)),
            ("/{slug}/versions", get(versions)),
            ("/{slug}/versions/{revision}", get(version)),
            ("/{slug}/export", get(exchange::export_one)),
            ("/{slug}/preview", post(preview)),
        ];
        let wanted = if kind == TemplateKind::Template { 13 } else { 12 };
        for (rest, method) in all.into_iter().take(wanted) {
            router = router.route(&format!("{path}{rest}"), method.layer(Extension(kind)));
        }
    }
    let archive = get(exchange::export_all).post(exchange::import);
    router = router.route("/v1/template-archive", archive);
    let of_messages: [(&str, MethodRouter<Api>); 3] = [
        ("test", post(test)),
        ("schema", get(contract::schema)),
        ("snippets", get(contract::snippets)),
    ];
    for (rest, method) in of_messages {
        let method = method.layer(Extension(TemplateKind::Template));
        router = router.route(&format!("/v1/templates/{{slug}}/{rest}"), method);
    }
    router
}

/// Which part of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListQuery {
    #[expect(dead_code, reason = "read by the extractor of the author")]
    owner: Option<String>,
    limit: Option<u32>,
    after: Option<String>,
}

/// Which part of the versions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionsQuery {
    #[expect(dead_code, reason = "read by the extractor of the author")]
    owner: Option<String>,
    limit: Option<u32>,
    after: Option<u32>,
}

/// Which two sources.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiffQuery {
    #[expect(dead_code, reason = "read by the extractor of the author")]
    owner: Option<String>,
    from: Option<String>,
    to: Option<String>,
}

/// The templates, by slug.
#[utoipa::path(get, path = "/v1/templates", operation_id = "list_templates", tag = "templates",
    security(("apiKey" = [])),
    params(super::shapes::OwnerQuery,
           ("limit" = inline(Option<super::shapes::Limit>), Query, description = "At most so many; 50"),
           ("after" = Option<String>, Query, description = "The slug of the last one of the page before")),
    responses((status = 200, description = "Templates", body = TemplateList),
              super::shapes::AuthorReadRefusals))]
pub async fn list(
    author: Author,
    Extension(kind): Extension<TemplateKind>,
    State(api): State<Api>,
    Query(query): Query<ListQuery>,
) -> Result<Json<TemplateList>, Problem> {
    author.may_see_all(kind)?;
    let limit = query::limit(query.limit)?;
    let _page = api.lists.admit(author.share()).await?;
    let listed = api.authoring.list(author.owner(), kind, query.after.as_deref(), limit).await;
    let listed = listed.map_err(refused)?;
    let next = listed.rows.last().filter(|_| listed.has_more).map(|it| it.slug.to_string());
    let usage =
        |row: &TemplateRow| listed.usage.get(row.slug.as_str()).copied().unwrap_or_default();
    let summaries = listed.rows.iter().map(|row| TemplateSummary::new(row, usage(row)));
    Ok(Json(Page::new(summaries, next)))
}

/// Adds a template: its first draft is that of the request, or of a starter.
#[utoipa::path(post, path = "/v1/templates", operation_id = "create_template", tag = "templates",
    security(("apiKey" = [])),
    params(super::shapes::OwnerQuery),
    request_body = super::shapes::CreateTemplate,
    responses((status = 201, description = "The template", body = Template),
              super::shapes::AuthorRefusals))]
pub async fn create(
    Extension(kind): Extension<TemplateKind>,
    State(api): State<Api>,
    request: Request,
) -> Result<Response, Problem> {
    let (author, body, _memory) = asked::authored(&api, request, Purpose::Change).await?;
    let mut fields = Fields::of(&body)?;
    let slug = fields.slug("slug");
    let starter = fields.text("starter");
    let draft = fields.source("draft", kind);
    fields.only(&["slug", "draft", "starter"]);
    if starter.is_some() && (draft.is_some() || kind != TemplateKind::Template) {
        let message = "stands alone: a template has a starter or a draft, and layouts and partials have no starters";
        fields.fault("starter", "invalid", message);
    }
    let slug = fields.end(slug)?;
    let place = Place { owner: author.owner(), kind, slug };
    author.may_write(&place)?;
    let row = match (starter, draft) {
        (Some(starter), _) => {
            api.authoring.create_from_starter(&place, &starter, author.name()).await
        }
        (None, draft) => {
            api.authoring.create(&place, &draft.unwrap_or_default(), author.name()).await
        }
    };
    let row = row.map_err(refused)?;
    request_context::note_subject(&row.slug);
    Ok((StatusCode::CREATED, told(&api, &row).await?).into_response())
}

/// One template with its newest source.
#[utoipa::path(get, path = "/v1/templates/{slug}", operation_id = "show_template", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           super::shapes::OwnerQuery),
    responses((status = 200, description = "The template", body = Template),
              super::shapes::AuthorReadRefusals))]
pub async fn show(
    author: Author,
    Extension(kind): Extension<TemplateKind>,
    State(api): State<Api>,
    Path(slug): Path<String>,
) -> Result<Response, Problem> {
    let place = author.place(kind, &slug)?;
    let row = api.authoring.find(&place).await.map_err(refused)?;
    told(&api, &row).await
}

/// Changes the newest source: what is not named stays, null takes a member away (RFC 7396). What is sent changes when
/// it is published.
#[utoipa::path(patch, path = "/v1/templates/{slug}", operation_id = "change_template", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           super::shapes::OwnerQuery,
           super::shapes::IfMatch),
    request_body = super::shapes::TemplateDraft,
    responses((status = 200, description = "The template", body = Template),
              super::shapes::AuthorRefusals))]
pub async fn change(State(api): State<Api>, request: Request) -> Result<Response, Problem> {
    let asked = Asked::of(&api, request, Purpose::Change).await?;
    let (place, seen) = (&asked.place, asked.seen()?);
    let row = api.authoring.patch_draft(place, seen, &asked.body, asked.author.name()).await;
    told(&api, &row.map_err(refused)?).await
}

/// Replaces the draft.
#[utoipa::path(put, path = "/v1/templates/{slug}/draft", operation_id = "replace_template_draft", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           super::shapes::OwnerQuery,
           super::shapes::IfMatch),
    request_body = super::shapes::TemplateDraft,
    responses((status = 200, description = "The template", body = Template),
              super::shapes::AuthorRefusals))]
pub async fn replace(State(api): State<Api>, request: Request) -> Result<Response, Problem> {
    let asked = Asked::of(&api, request, Purpose::Change).await?;
    let (place, seen) = (&asked.place, asked.seen()?);
    let draft = authoring::source(&asked.body, place.kind).map_err(Refusal::bad_request)?;
    let row = api.authoring.replace_draft(place, seen, &draft, asked.author.name()).await;
    told(&api, &row.map_err(refused)?).await
}

/// Publishes the newest source, if it has no faults and breaks no senders; a layout or partial with everything that is
/// made of it, or not at all.
#[utoipa::path(post, path = "/v1/templates/{slug}/publish", operation_id = "publish_template", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           super::shapes::OwnerQuery,
           super::shapes::IfMatch),
    request_body = Option<super::shapes::PublishTemplate>,
    responses((status = 200, description = "What was published", body = PublishedTemplate),
              super::shapes::AuthorRefusals))]
pub async fn publish(
    State(api): State<Api>,
    request: Request,
) -> Result<Json<PublishedTemplate>, Problem> {
    let asked = Asked::of_defaults(&api, request, Purpose::Change).await?;
    let (place, seen) = (&asked.place, asked.seen()?);
    let mut fields = asked.fields()?;
    let (force, note) = (fields.flag("force"), fields.text("note"));
    fields.only(&["force", "note"]);
    fields.end(Some(()))?;
    let options = PublishOptions { seen, force, note };
    let outcome =
        api.authoring.publish(place, &options, asked.author.name()).await.map_err(refused)?;
    let usage = api.authoring.usage_of(&outcome.row).await.map_err(refused)?;
    Ok(Json(PublishedTemplate::new(outcome, usage)))
}

/// Brings an earlier version back, at once.
#[utoipa::path(post, path = "/v1/templates/{slug}/rollback", operation_id = "roll_back_template", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           super::shapes::OwnerQuery,
           super::shapes::IfMatch),
    request_body = super::shapes::RollbackTemplate,
    responses((status = 200, description = "What is published now", body = PublishedTemplate),
              super::shapes::AuthorRefusals))]
pub async fn roll_back(
    State(api): State<Api>,
    request: Request,
) -> Result<Json<PublishedTemplate>, Problem> {
    let asked = Asked::of(&api, request, Purpose::Change).await?;
    let (place, seen) = (&asked.place, asked.seen()?);
    let mut fields = asked.fields()?;
    let (revision, note) = (fields.revision("revision"), fields.text("note"));
    fields.only(&["revision", "note"]);
    let revision = fields.end(revision)?;
    let outcome =
        api.authoring.roll_back(place, revision, seen, note.as_deref(), asked.author.name()).await;
    let outcome = outcome.map_err(refused)?;
    let usage = api.authoring.usage_of(&outcome.row).await.map_err(refused)?;
    Ok(Json(PublishedTemplate::rolled_back(outcome, usage)))
}

/// Takes a template out of service: its sends are refused until it is published or rolled back.
#[utoipa::path(post, path = "/v1/templates/{slug}/archive", operation_id = "archive_template", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           super::shapes::OwnerQuery,
           super::shapes::IfMatch),
    responses((status = 200, description = "The template", body = Template),
              super::shapes::AuthorRefusals))]
pub async fn archive(
    author: Author,
    Extension(kind): Extension<TemplateKind>,
    State(api): State<Api>,
    Path(slug): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let author = author.must_change()?;
    let place = author.place(kind, &slug)?;
    let row = api.authoring.archive(&place, if_match(&headers)?).await.map_err(refused)?;
    told(&api, &row).await
}

/// Deletes a template that was never sent, with its versions.
#[utoipa::path(delete, path = "/v1/templates/{slug}", operation_id = "delete_template", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           super::shapes::OwnerQuery,
           super::shapes::IfMatch),
    responses((status = 200, description = "It is gone", body = DeletedTemplate),
              super::shapes::AuthorRefusals))]
pub async fn delete(
    author: Author,
    Extension(kind): Extension<TemplateKind>,
    State(api): State<Api>,
    Path(slug): Path<String>,
    headers: HeaderMap,
) -> Result<Json<DeletedTemplate>, Problem> {
    let author = author.must_change()?;
    let place = author.place(kind, &slug)?;
    let row = api.authoring.delete(&place, if_match(&headers)?).await.map_err(refused)?;
    Ok(Json(DeletedTemplate { slug: row.slug.to_string(), deleted: true }))
}

/// Adds another template with the same newest source.
#[utoipa::path(post, path = "/v1/templates/{slug}/duplicate", operation_id = "duplicate_template", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           super::shapes::OwnerQuery),
    request_body = super::shapes::DuplicateTemplate,
    responses((status = 201, description = "The copy", body = Template),
              super::shapes::AuthorRefusals))]
pub async fn duplicate(State(api): State<Api>, request: Request) -> Result<Response, Problem> {
    let asked = Asked::of(&api, request, Purpose::Change).await?;
    let place = &asked.place;
    let mut fields = asked.fields()?;
    let copy = fields.slug("slug");
    fields.only(&["slug"]);
    let copy = fields.end(copy)?;
    asked.author.may_write(&Place { slug: copy.clone(), ..place.clone() })?;
    let row = api.authoring.duplicate(place, copy, asked.author.name()).await.map_err(refused)?;
    request_context::note_subject(&row.slug);
    Ok((StatusCode::CREATED, told(&api, &row).await?).into_response())
}

/// Says what publishing would find, of the newest source or of the one in the request.
#[utoipa::path(post, path = "/v1/templates/{slug}/validate", operation_id = "validate_template", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           super::shapes::OwnerQuery),
    request_body = Option<super::shapes::ValidateTemplate>,
    responses((status = 200, description = "What would be found", body = TemplateValidation),
              super::shapes::AuthorRefusals))]
pub async fn validate(
    State(api): State<Api>,
    request: Request,
) -> Result<Json<TemplateValidation>, Problem> {
    let asked = Asked::of_defaults(&api, request, Purpose::Try).await?;
    let place = &asked.place;
    let mut fields = asked.fields()?;
    let draft: Option<TemplateSource> = fields.source("draft", place.kind);
    fields.only(&["draft"]);
    fields.end(Some(()))?;
    let found = api.authoring.validate(place, draft).await.map_err(refused)?;
    Ok(Json(found.into()))
}

/// Shows what a recipient would see; with `Accept: text/html` as an isolated page.
#[utoipa::path(post, path = "/v1/templates/{slug}/preview", operation_id = "preview_template", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`")),
    request_body = Option<super::shapes::PreviewTemplate>,
    responses((status = 200, description = "What a recipient would see", body = TemplatePreview),
              super::shapes::AuthorRefusals))]
pub async fn preview(State(api): State<Api>, request: Request) -> Result<Response, Problem> {
    let is_page = page::is_wanted(request.headers());
    let asked = Asked::of_defaults(&api, request, Purpose::Try).await?;
    let place = &asked.place;
    let mut fields = asked.fields()?;
    let options = crate::authoring::preview::PreviewOptions {
        of: fields.of_source("of").unwrap_or_default(),
        draft: fields.source("draft", place.kind),
        data: fields.object("data"),
        example: fields.text("example"),
        locale: fields.parsed("locale"),
    };
    fields.only(&["of", "draft", "data", "example", "locale"]);
    fields.end(Some(()))?;
    let preview = api.authoring.preview(place, options).await.map_err(refused)?;
    if is_page {
        return Ok(page::page(&preview));
    }
    Ok(Json(TemplatePreview::from(preview)).into_response())
}

/// Sends the newest source through the whole journey: to confirmed test recipients really, charged as any other send and
/// with `[Test]` before its subject; to all others into the sandbox inbox, free of charge and with a warning.
#[utoipa::path(post, path = "/v1/templates/{slug}/test", operation_id = "test_template", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`")),
    request_body = super::shapes::TestTemplate,
    responses((status = 200, description = "One result for each address, in order", body = BatchResponse),
              super::shapes::AuthorRefusals))]
pub async fn test(
    State(api): State<Api>,
    request: Request,
) -> Result<Json<BatchResponse>, Problem> {
    let asked = Asked::of(&api, request, Purpose::Try).await?;
    let place = &asked.place;
    let caller = asked.author.caller()?;
    let mut fields = asked.fields()?;
    let to = fields.addresses("to", MAX_TEST_RECIPIENTS);
    let options = TrialOptions {
        to,
        data: fields.object("data"),
        example: fields.text("example"),
        locale: fields.parsed("locale"),
    };
    fields.only(&["to", "data", "example", "locale"]);
    fields.end(Some(()))?;
    let sends = u32::try_from(options.to.len()).ok().and_then(std::num::NonZeroU32::new);
    if let Some(sends) = sends {
        api.journey.accept.take_sends(caller, sends).map_err(|(refusal, _)| refusal)?;
    }
    let id = request_context::current();
    let reply = api.authoring.send_trial(&api.journey, (caller, id), place, options).await;
    let items = reply.map_err(refused)?.items;
    let success = items.iter().all(Result::is_ok);
    let data = items.into_iter().map(|item| match item {
        Ok(receipt) => BatchResult::Sent(Box::new(receipt.into())),
        Err(refused) => BatchResult::Refused(Box::new(Problem::from(refused).body())),
    });
    Ok(Json(BatchResponse { success, data: data.collect() }))
}

/// What differs between two sources: of the published version and the newest one where nothing is said.
#[utoipa::path(get, path = "/v1/templates/{slug}/diff", operation_id = "diff_template", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           super::shapes::OwnerQuery,
           ("from" = Option<String>, Query, description = "`draft`, `published` or a revision; `published`"),
           ("to" = Option<String>, Query, description = "`draft`, `published` or a revision; `draft`")),
    responses((status = 200, description = "The parts that differ", body = TemplateDiff),
              super::shapes::AuthorReadRefusals))]
pub async fn diff(
    author: Author,
    Extension(kind): Extension<TemplateKind>,
    State(api): State<Api>,
    Path(slug): Path<String>,
    Query(query): Query<DiffQuery>,
) -> Result<Json<TemplateDiff>, Problem> {
    let place = author.place(kind, &slug)?;
    let mut faults: Vec<Fault> = Vec::new();
    let mut read = |field: &str, text: Option<String>, default: PreviewOf| {
        let Some(text) = text else { return default };
        PreviewOf::from_word(&text).unwrap_or_else(|message| {
            faults.push(Fault::new(field, "invalid", message));
            default
        })
    };
    let from = read("from", query.from, PreviewOf::Published);
    let to = read("to", query.to, PreviewOf::Draft);
    if !faults.is_empty() {
        return Err(Refusal::bad_request(faults).into());
    }
    let parts = api.authoring.diff(&place, from, to).await.map_err(absent_or_refused)?;
    Ok(Json(TemplateDiff::new(parts)))
}

/// The versions, newest first.
#[utoipa::path(get, path = "/v1/templates/{slug}/versions", operation_id = "list_template_versions", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           super::shapes::OwnerQuery,
           ("limit" = inline(Option<super::shapes::Limit>), Query, description = "At most so many; 50"),
           ("after" = inline(Option<super::shapes::Count>), Query, description = "The last revision of the page before")),
    responses((status = 200, description = "Versions", body = TemplateVersionList),
              super::shapes::AuthorReadRefusals))]
pub async fn versions(
    author: Author,
    Extension(kind): Extension<TemplateKind>,
    State(api): State<Api>,
    Path(slug): Path<String>,
    Query(query): Query<VersionsQuery>,
) -> Result<Json<TemplateVersionList>, Problem> {
    let place = author.place(kind, &slug)?;
    let limit = query::limit(query.limit)?;
    let _page = api.lists.admit(author.share()).await?;
    let row = api.authoring.find(&place).await.map_err(refused)?;
    let before = query.after.map(u64::from);
    let mut found = api.store.template_versions(row.id, before, limit + 1).await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| has_more).map(|it| it.revision);
    let summaries = found.iter().map(|it| TemplateVersionSummary::new(it, &row));
    Ok(Json(Page::new(summaries, next)))
}

/// One version.
#[utoipa::path(get, path = "/v1/templates/{slug}/versions/{revision}", operation_id = "show_template_version",
    tag = "templates", security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           ("revision" = inline(super::shapes::Count), Path, description = "From 1"),
           super::shapes::OwnerQuery),
    responses((status = 200, description = "The version", body = TemplateVersion),
              super::shapes::AuthorReadRefusals))]
pub async fn version(
    author: Author,
    Extension(kind): Extension<TemplateKind>,
    State(api): State<Api>,
    Path((slug, revision)): Path<(String, String)>,
) -> Result<Json<TemplateVersion>, Problem> {
    let place = author.place(kind, &slug)?;
    let row = api.authoring.find(&place).await.map_err(refused)?;
    let found = match revision.parse() {
        Ok(revision) => api.store.template_version(row.id, revision).await?,
        Err(_) => None,
    };
    let found = found.ok_or_else(|| {
        let message = format!("there is no version {revision} of `{slug}`");
        Problem::new(Code::NotFound, message)
    })?;
    Ok(Json(TemplateVersion::new(found, &row)))
}

/// A template as it is told, with its edition for `If-Match`.
async fn told(api: &Api, row: &TemplateRow) -> Result<Response, Problem> {
    let usage = api.authoring.usage_of(row).await.map_err(refused)?;
    let template = Template::new(row, usage);
    let mut response = Json(template).into_response();
    if let Ok(etag) = HeaderValue::from_str(&template_etag(row)) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    Ok(response)
}
