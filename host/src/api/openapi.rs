//! `/openapi.json`, generated from the handlers and their shapes.

use std::sync::LazyLock;

use axum::response::Response;
use http::HeaderMap;
use serde_json::Value;
use utoipa::openapi::path::{HttpMethod, OperationBuilder, Parameter, PathItem, PathsBuilder};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::schema::AnyOf;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Required, ResponseBuilder, Schema};
use utoipa::{Modify, OpenApi};

use super::precompressed::Precompressed;
use super::shapes::{Attachment, BatchResponse, Fault, Health, Problem, SendRequest, SendResponse};
use crate::webhooks::body::WebhookEvent;

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
        super::health::findings,
        super::health::check,
        super::accounts::show_own,
        super::accounts::change_own,
        super::accounts::list,
        super::accounts::create,
        super::accounts::show,
        super::accounts::change,
        super::accounts::delete,
        super::plans::list,
        super::users::list,
        super::users::invite,
        super::users::show,
        super::users::give_role,
        super::users::reset,
        super::users::remove,
        super::settings::list,
        super::maintenance::show,
        super::maintenance::change,
        super::team::list,
        super::team::invite,
        super::team::invite_again,
        super::team::change,
        super::team::remove,
        super::audit_log::list,
        super::keys::list,
        super::keys::create,
        super::keys::show,
        super::keys::change,
        super::keys::deactivate,
        super::credits::show,
        super::credits::ledger,
        super::credits::grant,
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
        super::messages::deliveries,
        super::messages::raw,
        super::messages::why,
        super::messages::cancel,
        super::messages::retry,
        super::messages::resend,
        super::health::show_metrics,
        super::nodes::list,
        super::queue::list,
        super::queue::why,
        super::queue::retry,
        super::queue::release,
        super::suppressions::list,
        super::suppressions::add,
        super::suppressions::add_batch,
        super::suppressions::restore,
        super::suppressions::show,
        super::suppressions::delete,
        super::templates::list,
        super::templates::create,
        super::templates::show,
        super::templates::change,
        super::templates::delete,
        super::templates::replace,
        super::templates::publish,
        super::templates::roll_back,
        super::templates::archive,
        super::templates::duplicate,
        super::templates::validate,
        super::templates::preview,
        super::templates::test,
        super::templates::diff,
        super::templates::contract::schema,
        super::templates::contract::snippets,
        super::templates::versions,
        super::templates::version,
        super::templates::exchange::export_all,
        super::templates::exchange::export_one,
        super::templates::exchange::import,
        super::decisions::refusals,
        super::traffic::show,
        super::test_recipients::list,
        super::test_recipients::add,
        super::test_recipients::delete,
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
        super::plugins::configure,
        super::plugins::settings,
        super::plugins::activate,
        super::plugins::roll_back,
        super::plugins::disable,
        super::plugins::shadow,
        super::plugins::impact,
        super::plugins::logs,
        super::decisions::list,
        super::decisions::show,
        super::decisions::calls,
        super::decisions::replayed,
    ),
    components(schemas(
        SendRequest, Attachment, SendResponse, BatchResponse, Problem, Fault, Health, WebhookEvent
    )),
    modifiers(&Security, &Webhooks, &Blocks),
)]
struct Document;

/// What each kind of key may do.
const ABOUT_KEYS: &str = "\
An API key. Its scopes say what it may do: `send` sends, `templates` writes its account's templates, layouts and \
partials, `admin` manages its account and these, `operator` manages the server. A live key (`wx_live_…`) sees everything of its account. A test key (`wx_test_…`) sends to \
the sandbox inbox only. With the scope `admin` it lists, shows, cancels, retries and resends messages \
that test keys have sent (those of live keys are 404), and it reads sender domains, templates, the \
brand, the account and its balance, previews and tries templates, sees test keys and makes them; changes of the \
others, suppressions and webhooks are 403. A test key never has the scope `operator`.";

struct Security;

impl Modify for Security {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let key = ApiKeyValue::with_description("x-api-key", ABOUT_KEYS);
        let key = SecurityScheme::ApiKey(ApiKey::Header(key));
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

/// Layouts and partials have the routes of templates, but for what only a message has.
struct Blocks;

/// The ends of those routes.
const OF_MESSAGES: [&str; 4] = ["/preview", "/test", "/schema", "/snippets"];

impl Modify for Blocks {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let paths = &mut document.paths.paths;
        let of_templates: Vec<(String, PathItem)> = paths
            .iter()
            .filter(|(path, _)| path.starts_with("/v1/templates"))
            .filter(|(path, _)| !OF_MESSAGES.iter().any(|end| path.ends_with(end)))
            .map(|(path, item)| (path.clone(), item.clone()))
            .collect();
        for kind in ["layout", "partial"] {
            for (path, item) in &of_templates {
                // Schemas are named with a capital letter, and are the same for all three.
                let text = serde_json::to_string(item).expect("the document has string keys only");
                let text = text.replace("template", kind);
                // Nothing has a scope of its own, and only what is made of them is sent.
                let text = text.replace(&format!("scope `{kind}s`"), "scope `templates`");
                let text =
                    text.replace("its sends are refused", "no new version can be made of it");
                let item = serde_json::from_str(&text).expect("it was printed");
                paths.insert(path.replace("template", kind), item);
            }
        }
        // The server has layouts and partials, and no templates.
        for (_, item) in paths.iter_mut().filter(|(path, _)| path.starts_with("/v1/templates")) {
            let PathItem { get, put, post, patch, delete, .. } = item;
            for operation in [get, put, post, patch, delete].into_iter().flatten() {
                let is_owner =
                    |it: &RefOr<Parameter>| matches!(it, RefOr::T(it) if it.name == "owner");
                operation.parameters.iter_mut().for_each(|all| all.retain(|it| !is_owner(it)));
            }
        }
    }
}

/// Made once: anybody may ask for it.
static DOCUMENT: LazyLock<Precompressed> = LazyLock::new(|| {
    let json = Document::openapi().to_json();
    Precompressed::new("application/json", json.expect("the document has string keys only"))
});

/// Serves the document.
pub async fn document(headers: HeaderMap) -> Response {
    DOCUMENT.answer(&headers)
}

/// The document as it is served.
pub fn json() -> Value {
    serde_json::from_slice(DOCUMENT.plain()).expect("the document is JSON")
}

/// The operations of the document: of each its method in lower case, its path, and what the document says of it.
pub fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (method.as_str(), path.as_str(), operation))
    })
}

#[cfg(test)]
mod tests;
