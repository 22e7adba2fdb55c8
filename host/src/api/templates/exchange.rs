//! Templates as zip files: `/v1/template-archive` for all of them, `/v1/templates/{slug}/export` for one.

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::header;
use serde::Deserialize;

use super::asked::{self, Purpose};
use super::author::Author;
use super::refused::refused;
use crate::api::body;
use crate::api::problem::{Code, Problem};
use crate::api::request_context::ChangedNothing;
use crate::api::shapes::TemplateImport;
use crate::api::state::Api;
use crate::authoring::Place;
use crate::authoring::archive::{self, ArchiveError};
use crate::authoring::bounds::MAX_ARCHIVE_BYTES;
use crate::authoring::folder::{Files, PathKind, look};
use crate::authoring::import::{ImportGoal, ImportOptions};
use crate::journey::accept::refusal::Refusal;
use crate::template::kind::TemplateKind;

/// How to import.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ImportQuery {
    #[expect(dead_code, reason = "read by the extractor of the author")]
    owner: Option<String>,
    #[serde(default)]
    goal: ImportGoal,
    #[serde(default)]
    force: bool,
    #[serde(default)]
    overwrite: bool,
    note: Option<String>,
}

/// All templates, layouts and partials in use, as a zip file of their newest sources: the same sources are the same
/// bytes. It can be imported here, or into another account or server.
#[utoipa::path(get, path = "/v1/template-archive", operation_id = "export_templates", tag = "templates",
    security(("apiKey" = [])),
    params(super::super::shapes::OwnerQuery),
    responses((status = 200, description = "The zip file", content_type = "application/zip",
               body = inline(super::super::shapes::Archive)),
              super::super::shapes::AuthorReadRefusals))]
pub async fn export_all(author: Author, State(api): State<Api>) -> Result<Response, Problem> {
    author.may_exchange()?;
    let _page = api.lists.admit(author.share()).await?;
    let _one = api.authoring.archive_permit(author.share()).await.map_err(refused)?;
    zip(api.authoring.export(author.owner()).await.map_err(refused)?).await
}

/// One template with the account's layout and partials that it is made of, as a zip file.
#[utoipa::path(get, path = "/v1/templates/{slug}/export", operation_id = "export_template", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           super::super::shapes::OwnerQuery),
    responses((status = 200, description = "The zip file", content_type = "application/zip",
               body = inline(super::super::shapes::Archive)),
              super::super::shapes::AuthorReadRefusals))]
pub async fn export_one(
    author: Author,
    Extension(kind): Extension<TemplateKind>,
    State(api): State<Api>,
    Path(slug): Path<String>,
) -> Result<Response, Problem> {
    let place = author.place(kind, &slug)?;
    let _page = api.lists.admit(author.share()).await?;
    let _one = api.authoring.archive_permit(author.share()).await.map_err(refused)?;
    zip(api.authoring.export_one(&place).await.map_err(refused)?).await
}

/// Brings templates, layouts and partials to say what a zip file says. All of it is validated first: where one thing is
/// refused, nothing is changed. Then they are written one by one: where another author changes one meanwhile, or the
/// server ends, the same import does the rest when it is repeated. Nothing is deleted.
#[utoipa::path(post, path = "/v1/template-archive", operation_id = "import_templates", tag = "templates",
    security(("apiKey" = [])),
    params(super::super::shapes::OwnerQuery,
           ("goal" = inline(Option<super::super::shapes::ImportGoal>), Query, description = "`check` changes nothing, `drafts` publishes nothing; `publish`"),
           ("force" = Option<bool>, Query, description = "Also where senders would be broken"),
           ("overwrite" = Option<bool>, Query, description = "Also what was changed here since the zip file was exported"),
           ("note" = Option<String>, Query, description = "Why, for the versions")),
    request_body(content = inline(super::super::shapes::Archive), content_type = "application/zip"),
    responses((status = 200, description = "What became of each; `success` where the server says what the file says", body = TemplateImport),
              super::super::shapes::AuthorRefusals))]
pub async fn import(
    State(api): State<Api>,
    mut request: Request,
) -> Result<(Option<Extension<ChangedNothing>>, Json<TemplateImport>), Problem> {
    let author = asked::author(&api, &mut request, Purpose::Change).await;
    let author = author.and_then(|author| {
        author.may_exchange()?;
        let is_zip = request.headers().get(header::CONTENT_TYPE).is_some_and(|it| {
            it.to_str().is_ok_and(|it| it.trim().eq_ignore_ascii_case("application/zip"))
        });
        if is_zip {
            return Ok(author);
        }
        let message = "the body must be a zip file, with the header Content-Type: application/zip";
        Err(Problem::new(Code::UnsupportedMediaType, message))
    });
    let query = crate::api::query::read::<ImportQuery>(request.uri());
    let (author, query) = match author.and_then(|author| query.map(|query| (author, query))) {
        Ok(both) => both,
        Err(problem) => {
            body::drain(request.into_body()).await;
            return Err(problem);
        }
    };
    let (bytes, _memory) =
        body::read_up_to(MAX_ARCHIVE_BYTES, request, author.share(), &api).await?;
    let _one = api.authoring.archive_permit(author.share()).await.map_err(refused)?;
    let unpacked = tokio::task::spawn_blocking(move || archive::unpack(&bytes)).await;
    let files = unpacked.map_err(|_| stopped())?.map_err(|error| not_read(&error))?;
    if files.iter().next().is_none() {
        return Err(not_read(&ArchiveError::Empty));
    }
    for (path, _) in files.iter() {
        if let Ok(PathKind::File(place, _)) = look(path) {
            let (kind, slug) = (place.kind, place.slug);
            author.may_write(&Place { owner: author.owner(), kind, slug })?;
        }
    }
    let is_check = query.goal == ImportGoal::DryRun;
    let options = ImportOptions {
        goal: query.goal,
        force: query.force,
        overwrite: query.overwrite,
        note: query.note,
    };
    let imported = api.authoring.import(author.owner(), files, &options, author.name()).await;
    let imported = Json(imported.map_err(refused)?.into());
    Ok((is_check.then_some(Extension(ChangedNothing)), imported))
}

async fn zip(files: Files) -> Result<Response, Problem> {
    let packed = tokio::task::spawn_blocking(move || archive::pack(&files)).await;
    let bytes = packed.map_err(|_| stopped())?.map_err(|error| {
        let message = format!("the zip file {error}; export the templates one by one");
        Problem::new(Code::Conflict, message)
    })?;
    let headers = [
        (header::CONTENT_TYPE, "application/zip"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"templates.zip\""),
    ];
    Ok((headers, bytes).into_response())
}

fn stopped() -> Problem {
    Refusal::Internal { message: "the zip file cannot be worked on".to_owned() }.into()
}

fn not_read(error: &ArchiveError) -> Problem {
    let refusal = if let ArchiveError::Folder(error) = error {
        Refusal::bad_request(error.faults())
    } else {
        Refusal::fault("", "invalid", format!("the zip file {error}"))
    };
    refusal.into()
}
