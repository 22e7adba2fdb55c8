//! What a template and its senders rely on: the schema of its data, and code that sends it.

use std::net::IpAddr;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use http::uri::Authority;
use http::{HeaderMap, header};
use serde::Deserialize;

use super::author::Author;
use super::refused::absent_or_refused;
use crate::api::problem::Problem;
use crate::api::query::Query;
use crate::api::shapes::{TemplateSchema, TemplateSnippets};
use crate::api::state::Api;
use crate::authoring::contract::snippets::{Language, Servers};
use crate::authoring::preview::PreviewOf;
use crate::journey::accept::refusal::Refusal;
use crate::template::kind::TemplateKind;

/// Which source.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContractQuery {
    #[expect(dead_code, reason = "read by the extractor of the author")]
    owner: Option<String>,
    of: Option<String>,
}

/// Which source, and for which language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnippetsQuery {
    #[expect(dead_code, reason = "read by the extractor of the author")]
    owner: Option<String>,
    of: Option<String>,
    lang: Option<String>,
}

/// What `data` must be, as a JSON Schema (draft 2020-12): of the published version where nothing is said.
#[utoipa::path(get, path = "/v1/templates/{slug}/schema", operation_id = "show_template_schema", tag = "templates",
    security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           ("of" = Option<String>, Query, description = "`draft`, `published` or a revision; `published`")),
    responses((status = 200, description = "The schema, with descriptions and examples", body = TemplateSchema),
              crate::api::shapes::AuthorReadRefusals))]
pub async fn schema(
    author: Author,
    Extension(kind): Extension<TemplateKind>,
    State(api): State<Api>,
    Path(slug): Path<String>,
    Query(query): Query<ContractQuery>,
) -> Result<Json<TemplateSchema>, Problem> {
    let place = author.place(kind, &slug)?;
    let of = of_contract(query.of.as_deref())?;
    let contract = api.authoring.contract(&place, of).await.map_err(absent_or_refused)?;
    Ok(Json(TemplateSchema(contract.schema())))
}

/// Code that sends the template with data that it accepts, in several languages.
#[utoipa::path(get, path = "/v1/templates/{slug}/snippets", operation_id = "show_template_snippets",
    tag = "templates", security(("apiKey" = [])),
    params(("slug" = String, Path, description = "As in `receipt`"),
           ("of" = Option<String>, Query, description = "`draft`, `published` or a revision; `published`"),
           ("lang" = inline(Option<crate::api::shapes::SnippetLanguage>), Query, description = "That one only")),
    responses((status = 200, description = "The code", body = TemplateSnippets),
              crate::api::shapes::AuthorReadRefusals))]
pub async fn snippets(
    author: Author,
    Extension(kind): Extension<TemplateKind>,
    State(api): State<Api>,
    Path(slug): Path<String>,
    Query(query): Query<SnippetsQuery>,
    headers: HeaderMap,
) -> Result<Json<TemplateSnippets>, Problem> {
    let place = author.place(kind, &slug)?;
    let of = of_contract(query.of.as_deref())?;
    let languages = match query.lang.as_deref() {
        None => Language::ALL.to_vec(),
        Some(word) => vec![Language::from_name(word).ok_or_else(|| {
            let known = Language::ALL.map(Language::as_str).join(", ");
            Refusal::fault("lang", "invalid", format!("must be one of {known}"))
        })?],
    };
    let contract = api.authoring.contract(&place, of).await.map_err(absent_or_refused)?;
    let snippets = contract.snippets(&languages, &reached_at(&api, &headers));
    Ok(Json(TemplateSnippets::new(&contract, snippets)))
}

fn of_contract(of: Option<&str>) -> Result<PreviewOf, Refusal> {
    let Some(text) = of else { return Ok(PreviewOf::Published) };
    PreviewOf::from_word(text).map_err(|message| Refusal::fault("of", "invalid", message))
}

/// The port of RFC 6409, where this server has no relay.
const SUBMISSION: u16 = 587;

/// The address by which the client has reached this server: the one that it can send to. In front of any other than
/// this machine there is TLS.
pub fn reached_at(api: &Api, headers: &HeaderMap) -> Servers {
    let relay_port = api.relay_port.unwrap_or(SUBMISSION);
    let host = headers.get(header::HOST).and_then(|it| it.to_str().ok());
    let authority = host.and_then(|it| it.parse::<Authority>().ok());
    let Some(authority) = authority else {
        return Servers {
            http: "https://mail.example.com".to_owned(),
            smtp: format!("mail.example.com:{relay_port}"),
        };
    };
    let name = authority.host();
    let is_here = name == "localhost"
        || name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|it| it.is_loopback());
    let scheme = if is_here { "http" } else { "https" };
    Servers { http: format!("{scheme}://{authority}"), smtp: format!("{name}:{relay_port}") }
}
