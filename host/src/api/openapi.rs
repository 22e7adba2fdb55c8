//! `/openapi.json`, generated from the handlers and their shapes.

use axum::response::{IntoResponse, Response};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::shapes::{Attachment, BatchResponse, Fault, Health, Problem, SendRequest, SendResponse};

/// The document.
#[derive(OpenApi)]
#[openapi(
    info(title = "Waxwing", description = "Transactional e-mail: templates, credits, sender domains."),
    paths(
        super::send::send,
        super::batch::send_batch,
        super::health::alive,
        super::health::ready,
        super::health::metrics,
        super::domains::list,
        super::domains::add,
        super::domains::show,
        super::domains::delete,
        super::domains::check,
        super::domains::rotate,
        super::plugins::list,
        super::plugins::show,
        super::plugins::install,
        super::plugins::activate,
        super::plugins::roll_back,
        super::plugins::disable,
        super::plugins::shadow,
        super::plugins::impact,
        super::plugins::logs,
        super::decisions::list,
        super::decisions::show,
        super::decisions::replayed,
    ),
    components(schemas(SendRequest, Attachment, SendResponse, BatchResponse, Problem, Fault, Health)),
    modifiers(&Security),
)]
struct Document;

struct Security;

impl Modify for Security {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let key = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("x-api-key")));
        document.components.get_or_insert_default().add_security_scheme("apiKey", key);
    }
}

/// Serves the document.
pub async fn document() -> Response {
    axum::Json(Document::openapi()).into_response()
}
