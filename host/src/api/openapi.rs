//! `/openapi.json`, generated from the handlers and their shapes.

use axum::response::{IntoResponse, Response};
use utoipa::openapi::path::{HttpMethod, OperationBuilder, PathItem, PathsBuilder};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::AnyOf;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Required, ResponseBuilder, Schema};
use utoipa::{Modify, OpenApi};

use super::shapes::{
    Attachment, BatchResponse, Fault, Health, Problem, SendRequest, SendResponse, WebhookEvent,
};

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
        super::brand::show,
        super::brand::change,
        super::domains::list,
        super::domains::add,
        super::domains::show,
        super::domains::delete,
        super::domains::check,
        super::domains::rotate,
        super::messages::list,
        super::messages::show,
        super::messages::events,
        super::messages::attempts,
        super::messages::raw,
        super::messages::cancel,
        super::messages::retry,
        super::messages::resend,
        super::suppressions::list,
        super::suppressions::add,
        super::suppressions::add_batch,
        super::suppressions::show,
        super::suppressions::delete,
        super::webhooks::list,
        super::webhooks::create,
        super::webhooks::show,
        super::webhooks::change,
        super::webhooks::delete,
        super::webhooks::rotate,
        super::webhooks::test,
        super::webhooks::deliveries,
        super::webhooks::replay,
        super::webhooks::replay_failed,
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
    components(schemas(
        SendRequest, Attachment, SendResponse, BatchResponse, Problem, Fault, Health, WebhookEvent
    )),
    modifiers(&Security, &Webhooks),
)]
struct Document;

struct Security;

impl Modify for Security {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let key = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("x-api-key")));
        document.components.get_or_insert_default().add_security_scheme("apiKey", key);
    }
}

/// What this server posts, as the document's own section for it.
struct Webhooks;

impl Modify for Webhooks {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let schema = Ref::from_schema_name("WebhookEvent");
        let content = ContentBuilder::new().schema(Some(schema)).build();
        let body = RequestBodyBuilder::new()
            .content("application/json", content)
            .required(Some(Required::True))
            .build();
        let taken =
            ResponseBuilder::new().description("It was taken; every other status is a failure");
        let operation = OperationBuilder::new()
            .operation_id(Some("webhook_event"))
            .summary(Some("An event, posted to the webhooks that want it (Standard Webhooks)"))
            .request_body(Some(body))
            .response("200", taken.build());
        let item = PathItem::new(HttpMethod::Post, operation);
        document.webhooks = Some(PathsBuilder::new().path("event", item).build());
        // What is said of a message is an open object too: more than one of the shapes may fit.
        let facts = document.components.get_or_insert_default().schemas.get_mut("WebhookData");
        if let Some(RefOr::T(facts)) = facts
            && let Schema::OneOf(one) = facts
        {
            let mut any = AnyOf::new();
            any.items = std::mem::take(&mut one.items);
            any.description = one.description.take();
            *facts = Schema::AnyOf(any);
        }
    }
}

/// Serves the document.
pub async fn document() -> Response {
    axum::Json(Document::openapi()).into_response()
}
