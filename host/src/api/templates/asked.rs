//! What a request on one template says before its fields are read: who asks, which template, and the body.

use axum::body::Body;
use axum::extract::{Path, Request};
use axum::{Extension, RequestExt};
use http::{HeaderMap, HeaderValue, header};
use hyper::body::Body as _;
use serde_json::{Value, json};

use super::author::Author;
use super::fields::{Fields, if_match};
use crate::api::body::{self, Memory};
use crate::api::problem::{Code, Problem};
use crate::api::state::Api;
use crate::authoring::Place;
use crate::journey::accept::refusal::Refusal;
use crate::template::kind::TemplateKind;

/// Whether a request changes what mail is made of, which a test key may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Change,
    Try,
}

/// A request with a JSON body on one template, layout or partial.
#[derive(Debug)]
pub struct Asked {
    pub author: Author,
    pub place: Place,
    pub body: Value,
    headers: HeaderMap,
    _memory: Memory,
}

impl Asked {
    /// Reads who asks for what, and the body: in this order, and a stranger's body is read by nobody.
    ///
    /// # Errors
    /// The key may not do it, the body is no JSON, or there can be no template of that name.
    pub async fn of(api: &Api, mut request: Request, purpose: Purpose) -> Result<Self, Problem> {
        let (kind, slug) = named(&mut request).await?;
        let headers = request.headers().clone();
        let (author, body, memory) = authored(api, request, purpose).await?;
        let place = author.place(kind, &slug)?;
        Ok(Self { author, place, body, headers, _memory: memory })
    }

    /// The same where each field has a default: a request without a body, or with `null`, has them all.
    ///
    /// # Errors
    /// As for [`Asked::of`].
    pub async fn of_defaults(
        api: &Api,
        mut request: Request,
        purpose: Purpose,
    ) -> Result<Self, Problem> {
        if request.body().size_hint().exact() == Some(0) {
            *request.body_mut() = Body::from("{}");
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(header::CONTENT_TYPE, json);
        }
        let mut asked = Self::of(api, request, purpose).await?;
        if asked.body.is_null() {
            asked.body = json!({});
        }
        Ok(asked)
    }

    pub fn fields(&self) -> Result<Fields<'_>, Refusal> {
        Fields::of(&self.body)
    }

    /// The edition that its author has read, if it was named.
    pub fn seen(&self) -> Result<Option<i64>, Problem> {
        if_match(&self.headers)
    }
}

/// Who asks, and the body.
///
/// # Errors
/// The key may not do it, or the body is no JSON.
pub async fn authored(
    api: &Api,
    mut request: Request,
    purpose: Purpose,
) -> Result<(Author, Value, Memory), Problem> {
    let author = author(api, &mut request, purpose).await;
    body::json_of(author, Author::share, api, request).await
}

/// Who asks.
///
/// # Errors
/// The key may not do it.
pub async fn author(api: &Api, request: &mut Request, purpose: Purpose) -> Result<Author, Problem> {
    let author = request.extract_parts_with_state::<Author, _>(api).await?;
    match purpose {
        Purpose::Change => author.must_change(),
        Purpose::Try => Ok(author),
    }
}

/// The kind and the slug that a route has found.
async fn named(request: &mut Request) -> Result<(TemplateKind, String), Problem> {
    let none = || Refusal::Internal { message: "the route has no kind or slug".to_owned() };
    let Extension(kind) =
        request.extract_parts::<Extension<TemplateKind>>().await.map_err(|_| none())?;
    let Path(slug) = request.extract_parts::<Path<String>>().await.map_err(|_| {
        let message = format!("there is no {} of this name", kind.as_str());
        Problem::new(Code::NotFound, message)
    })?;
    Ok((kind, slug))
}
