//! What a recipient would see of a template, for the frame of its page: alone under a policy without scripts.

use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use http::{StatusCode, header};

use super::editor::Editor;
use super::guard::Visitor;
use super::response::{Failure, PREVIEW, sentence};
use super::state::Dashboard;
use super::template::locale;
use super::templates::{Drafted, failed, place};
use crate::authoring;
use crate::authoring::error::AuthoringError;
use crate::authoring::preview::PreviewOptions;

/// Of the saved draft with its own example, as the page has it when it is loaded.
pub async fn saved(
    State(dashboard): State<Dashboard>,
    visitor: Result<Visitor, Failure>,
    Path(slug): Path<String>,
) -> Response {
    let shown = async {
        let visitor = visitor?;
        let place = place(&visitor, &slug)?;
        let _page = dashboard.api.lists.admit(visitor.account()?).await?;
        rendered(&dashboard, &place, Ok(PreviewOptions::default())).await
    };
    isolated(shown.await)
}

/// Of what is typed, saved or not; a refusal is shown in the frame too.
pub async fn typed(
    State(dashboard): State<Dashboard>,
    Path(slug): Path<String>,
    sent: Result<Drafted, Failure>,
) -> Response {
    let previewed = match sent {
        Ok(sent) => previewed(&dashboard, &slug, &sent).await,
        Err(failure) => Err(failure),
    };
    isolated(previewed)
}

fn isolated(previewed: Result<Response, Failure>) -> Response {
    let mut response = previewed.unwrap_or_else(IntoResponse::into_response);
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, PREVIEW);
    response
}

async fn previewed(dashboard: &Dashboard, slug: &str, sent: &Drafted) -> Result<Response, Failure> {
    let Drafted { visitor, form, .. } = sent;
    let place = place(visitor, slug)?;
    let (editor, row) = (Editor::sent(form)?, dashboard.api.authoring.find(&place).await);
    let row = row.map_err(failed)?;
    let read = || {
        let draft = Some(editor.source(&row)?);
        let example = editor.chosen_example();
        Ok(PreviewOptions { draft, example, locale: locale(form)?, ..PreviewOptions::default() })
    };
    rendered(dashboard, &place, read()).await
}

async fn rendered(
    dashboard: &Dashboard,
    place: &authoring::Place,
    options: Result<PreviewOptions, AuthoringError>,
) -> Result<Response, Failure> {
    let preview = match options {
        Ok(options) => Box::pin(dashboard.api.authoring.preview(place, options)).await,
        Err(error) => Err(error),
    };
    let (status, html) = match preview {
        Ok(preview) => {
            let text = |it: String| format!("<pre>{}</pre>", escaped(&it));
            let html = preview.parts.html;
            (StatusCode::OK, html.unwrap_or_else(|| text(preview.parts.text.unwrap_or_default())))
        }
        Err(
            error @ (AuthoringError::Missing { .. }
            | AuthoringError::Store(_)
            | AuthoringError::Plugin(_)
            | AuthoringError::Folder(_)),
        ) => return Err(failed(error)),
        Err(error) => {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            (status, format!("<p>{}</p>", escaped(&sentence(&error.to_string()))))
        }
    };
    Ok((status, Html(html)).into_response())
}

fn escaped(text: &str) -> String {
    askama::filters::escape(text, askama::filters::Html)
        .map(|it| it.to_string())
        .unwrap_or_default()
}
