//! HTTP with JSON: the first of the two listeners. The API parses, asks the journey, and maps the answer; it decides
//! nothing.

mod account_scope;
mod accounts;
mod admin;
mod audit;
mod audit_log;
mod batch;
pub(crate) mod body;
mod brand;
pub mod client_address;
pub mod control_token;
pub(crate) mod credits;
mod decisions;
pub mod docs;
pub(crate) mod domains;
mod fields;
mod header_checks;
mod health;
mod keys;
pub mod lists;
mod maintenance;
pub mod messages;
mod nodes;
pub(crate) mod openapi;
pub mod operator;
mod parameters;
mod plans;
mod plugins;
pub(crate) mod precompressed;
pub mod problem;
mod query;
pub(crate) mod queue;
mod read_only;
pub mod readiness;
pub mod request_context;
mod send;
pub(crate) mod server_mail;
mod settings;
pub(crate) mod shapes;
mod state;
pub(crate) mod suppressions;
mod surround;
mod team;
pub mod templates;
mod test_recipients;
mod traffic;
mod users;
pub(crate) mod webhooks;

use std::sync::Arc;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{delete, get, patch, post, put};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate, SizeAbove};

use client_address::TrustedProxies;
pub use state::{Api, ApiParts, BodyLimits, Mailer, RequestLimits};

/// JSON from that size on is compressed for clients that take it.
const COMPRESSED_BYTES: u64 = 8 << 10;

/// The API and, without their details, the probes.
pub fn public(api: Api) -> Router {
    routes(&api).route("/readyz", get(health::ready)).with_state(api)
}

/// The API, the probes and the metrics.
pub fn public_with_metrics(api: Api) -> Router {
    routes(&api)
        .route("/readyz", get(health::ready_in_detail))
        .route("/metrics", get(health::metrics))
        .with_state(api)
}

/// The probes and the metrics.
pub fn operations(api: Api) -> Router {
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready_in_detail))
        .route("/metrics", get(health::metrics))
        .with_state(api)
}

/// What a connection beyond the bounds gets: the probes, and to all else a refusal.
pub fn overflow(api: Api) -> Router {
    let proxies = Arc::clone(&api.proxies);
    let router = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .method_not_allowed_fallback(problem::method_not_allowed)
        .fallback(problem::too_many_connections)
        .with_state(api);
    surround_all(router, proxies)
}

fn routes(api: &Api) -> Router<Api> {
    templates::routes(Router::new())
        .route("/v1/account", get(accounts::show_own).patch(accounts::change_own))
        .route("/v1/accounts", get(accounts::list).post(accounts::create))
        .route(
            "/v1/accounts/{account}",
            get(accounts::show).patch(accounts::change).delete(accounts::delete),
        )
        .route("/v1/plans", get(plans::list))
        .route("/v1/users", get(users::list).post(users::invite))
        .route("/v1/users/{user}", get(users::show).delete(users::remove))
        .route("/v1/users/{user}/roles/{account}", put(users::give_role))
        .route("/v1/users/{user}/reset", post(users::reset))
        .route("/v1/settings", get(settings::list))
        .route("/v1/health", get(health::findings))
        .route("/v1/health/check", post(health::check))
        .route("/v1/team", get(team::list).post(team::invite))
        .route("/v1/team/{user}", patch(team::change).delete(team::remove))
        .route("/v1/team/{user}/invite", post(team::invite_again))
        .route("/v1/audit", get(audit_log::list))
        .route("/v1/keys", get(keys::list).post(keys::create))
        .route("/v1/keys/{key}", get(keys::show).patch(keys::change))
        .route("/v1/keys/{key}/deactivate", post(keys::deactivate))
        .route("/v1/credits", get(credits::show))
        .route("/v1/credits/ledger", get(credits::ledger))
        .route("/v1/credits/grants", post(credits::grant))
        .route("/v1/brand", get(brand::show).patch(brand::change))
        .route("/v1/domains", get(domains::list).post(domains::add))
        .route("/v1/domains/{domain}", get(domains::show).delete(domains::delete))
        .route("/v1/domains/{domain}/check", post(domains::check))
        .route("/v1/domains/{domain}/rotate", post(domains::rotate))
        .route("/v1/maintenance", get(maintenance::show).put(maintenance::change))
        .route("/v1/messages", get(messages::list))
        .route("/v1/messages/{id}", get(messages::show))
        .route("/v1/messages/{id}/events", get(messages::events))
        .route("/v1/messages/{id}/attempts", get(messages::attempts))
        .route("/v1/messages/{id}/deliveries", get(messages::deliveries))
        .route("/v1/messages/{id}/raw", get(messages::raw))
        .route("/v1/messages/{id}/why", get(messages::why))
        .route("/v1/messages/{id}/cancel", post(messages::cancel))
        .route("/v1/messages/{id}/retry", post(messages::retry))
        .route("/v1/messages/{id}/resend", post(messages::resend))
        .route("/v1/metrics", get(health::show_metrics))
        .route("/v1/nodes", get(nodes::list))
        .route("/v1/queue", get(queue::list))
        .route("/v1/queue/why", get(queue::why))
        .route("/v1/queue/{domain}/retry", post(queue::retry))
        .route("/v1/queue/release", post(queue::release))
        .route("/v1/suppressions", get(suppressions::list).post(suppressions::add))
        .route("/v1/suppressions/batch", post(suppressions::add_batch))
        .route("/v1/suppressions/restore", post(suppressions::restore))
        .route("/v1/suppressions/{address}", get(suppressions::show).delete(suppressions::delete))
        .route("/v1/traffic", get(traffic::show))
        .route("/v1/refusals", get(decisions::refusals))
        .route("/v1/test-recipients", get(test_recipients::list).post(test_recipients::add))
        .route("/v1/test-recipients/{address}", delete(test_recipients::delete))
        .route("/v1/webhooks", get(webhooks::list).post(webhooks::create))
        .route(
            "/v1/webhooks/{webhook}",
            get(webhooks::show).patch(webhooks::change).delete(webhooks::delete),
        )
        .route("/v1/webhooks/{webhook}/rotate", post(webhooks::rotate))
        .route("/v1/webhooks/{webhook}/test", post(webhooks::test))
        .route("/v1/webhooks/{webhook}/replay", post(webhooks::replay_failed))
        .route("/v1/webhooks/{webhook}/deliveries", get(webhooks::deliveries))
        .route("/v1/webhooks/{webhook}/deliveries/{delivery}/replay", post(webhooks::replay))
        .route("/v1/plugins", get(plugins::list))
        .route("/v1/plugins/{slot}", get(plugins::show))
        .route("/v1/plugins/{slot}/component", put(plugins::install))
        .route("/v1/plugins/{slot}/settings", get(plugins::settings).put(plugins::configure))
        .route("/v1/plugins/{slot}/activate", post(plugins::activate))
        .route("/v1/plugins/{slot}/rollback", post(plugins::roll_back))
        .route("/v1/plugins/{slot}/disable", post(plugins::disable))
        .route("/v1/plugins/{slot}/shadow", post(plugins::shadow))
        .route("/v1/plugins/{slot}/impact", post(plugins::impact))
        .route("/v1/plugins/{slot}/logs", get(plugins::logs))
        .route("/v1/decisions", get(decisions::list))
        .route("/v1/decisions/{id}", get(decisions::show))
        .route("/v1/decisions/{id}/calls", get(decisions::calls))
        .route("/v1/decisions/{id}/replay", post(decisions::replayed))
        // Not around the sends: their messages are their own record, and a layer costs each of them.
        .route_layer(from_fn_with_state(api.clone(), audit::changes))
        .route_layer(from_fn_with_state(api.clone(), maintenance::refuse_changes))
        .route_layer(from_fn(parameters::refuse_unknown))
        .route("/messages/send", post(send::send))
        .route("/messages/send/batch", post(batch::send_batch))
        .route("/openapi.json", get(openapi::document))
        .route("/docs", get(docs::page))
        .route("/healthz", get(health::alive))
}

/// The router with what surrounds every route: identifiers, the one shape of refusals, the log.
pub fn surround(router: Router, proxies: Arc<TrustedProxies>) -> Router {
    surround_all(
        router
            .method_not_allowed_fallback(problem::method_not_allowed)
            .fallback(problem::not_found),
        proxies,
    )
}

fn surround_all(router: Router, proxies: Arc<TrustedProxies>) -> Router {
    let gzip = CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(SizeAbove::new(COMPRESSED_BYTES).and(surround::is_json));
    router.layer((from_fn_with_state(proxies, surround::surround), gzip))
}
