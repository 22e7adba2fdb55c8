//! The web dashboard: pages that the server writes, for people who are logged in. Every page shows what the API shows,
//! by the same functions; it decides nothing. No page needs a script.
//!
//! `guard` stands before each handler: who is it, is a form from one of our own pages, and was it sent before. A role is checked by the
//! function that changes something, and here where that function takes no caller.

mod access;
mod accounts;
mod acting;
mod assets;
mod audit;
mod brand;
mod chart;
mod cover;
mod credits;
mod domain;
mod domains;
mod editor;
mod forgotten;
mod form;
mod frame;
mod guard;
mod inbox;
mod keys;
mod live;
mod log_in;
mod log_in_refused;
mod message;
mod messages;
mod once;
mod ops;
mod overview;
mod preview;
mod profile;
mod refusals;
mod response;
mod sending;
pub mod setting;
pub mod state;
mod step_up;
mod suppressions;
mod team;
mod template;
mod templates;
mod test_recipient;
mod test_recipients;
mod theme;
mod trial;
mod versions;
mod webhook;
mod webhooks;
mod words;

use axum::Router;
use axum::middleware::{from_fn, map_response};
use axum::routing::{get, post};

use state::Dashboard;

/// All pages.
pub fn router(dashboard: Dashboard) -> Router {
    Router::new()
        .route("/", get(log_in::front))
        .route("/login", get(log_in::show).post(log_in::password))
        .route("/login/code", post(log_in::code))
        .route("/login/{link}", get(log_in::link).post(log_in::by_link))
        .route("/logout", post(log_in::out))
        .route("/setup/{link}", get(access::set_up).post(access::set_up_typed))
        .route("/invite/{link}", get(access::invitation).post(access::invitation_typed))
        .route("/reset/{link}", get(access::reset).post(access::reset_typed))
        .route("/test-recipients/{link}", get(test_recipient::ask).post(test_recipient::confirm))
        .route("/forgotten", get(forgotten::ask).post(forgotten::send))
        .route("/theme", post(frame::choose_theme))
        .route("/app", get(overview::show))
        .route("/app/account", post(overview::show_account))
        .route("/app/accounts", get(accounts::show))
        .route("/app/accounts/{id}/accept", post(accounts::accept))
        .route("/app/accounts/{id}/decline", post(accounts::decline))
        .route("/app/accounts/{id}/leave", get(accounts::confirm).post(accounts::leave))
        .route("/app/messages", get(messages::list))
        .route("/app/messages/{id}", get(message::show))
        .route("/app/messages/{id}/html", get(message::html))
        .route("/app/messages/{id}/raw", get(message::raw))
        .route("/app/messages/{id}/cancel", post(message::cancel))
        .route("/app/messages/{id}/retry", post(message::retry))
        .route("/app/messages/{id}/resend", post(message::resend))
        .route("/app/messages.csv", get(messages::csv))
        .route("/app/refusals", get(refusals::list))
        .route("/app/keys", get(keys::list).post(keys::create))
        .route("/app/keys/new", get(keys::ask))
        .route("/app/keys/{id}/deactivate", get(keys::confirm).post(keys::deactivate))
        .route("/app/templates", get(templates::list).post(templates::create))
        .route("/app/new-template", get(templates::ask))
        .route("/app/test-recipients", get(test_recipients::list).post(test_recipients::ask))
        .route("/app/test-recipients/remove", post(test_recipients::remove))
        .route("/app/templates/{slug}", get(template::show))
        .route("/app/templates/{slug}/draft", post(template::save))
        .route("/app/templates/{slug}/check", post(template::check))
        .route("/app/templates/{slug}/preview", get(preview::saved).post(preview::typed))
        .route("/app/templates/{slug}/test", post(trial::test))
        .route("/app/templates/{slug}/publish", post(template::publish))
        .route("/app/templates/{slug}/archive", post(template::archive))
        .route("/app/templates/{slug}/duplicate", post(template::duplicate))
        .route("/app/templates/{slug}/delete", get(template::confirm).post(template::delete))
        .route("/app/templates/{slug}/versions", get(versions::list))
        .route("/app/templates/{slug}/diff", get(versions::diff))
        .route("/app/templates/{slug}/rollback", post(versions::roll_back))
        .route("/app/profile", get(profile::show))
        .route("/app/profile/password", post(profile::change_password))
        .route("/app/profile/sessions/{id}/end", post(profile::end_session))
        .route("/app/profile/factor", get(profile::ask_factor).post(profile::set_factor))
        .route("/app/profile/factor/remove", post(profile::remove_factor))
        .route("/app/team", get(team::list).post(team::invite))
        .route("/app/team/{id}/role", post(team::change_role))
        .route("/app/team/{id}/again", post(team::again))
        .route("/app/team/{id}/remove", get(team::confirm).post(team::remove))
        .route("/app/audit", get(audit::list))
        .route("/app/domains", get(domains::list).post(domains::add))
        .route("/app/domains/sender", post(domains::change_sender))
        .route("/app/domains/{id}", get(domain::show))
        .route("/app/domains/{id}/check", post(domain::check))
        .route("/app/domains/{id}/rotate", post(domain::rotate))
        .route("/app/domains/{id}/remove", get(domain::confirm).post(domain::remove))
        .route("/app/webhooks", get(webhooks::list).post(webhooks::create))
        .route("/app/webhooks/new", get(webhooks::ask))
        .route("/app/webhooks/{id}", get(webhook::show).post(webhook::change))
        .route("/app/webhooks/{id}/state", post(webhook::change_state))
        .route("/app/webhooks/{id}/rotate", post(webhook::rotate))
        .route("/app/webhooks/{id}/test", post(webhook::test))
        .route("/app/webhooks/{id}/replay", post(webhook::replay_failed))
        .route("/app/webhooks/{id}/deliveries/{event}/replay", post(webhook::replay))
        .route("/app/webhooks/{id}/remove", get(webhook::confirm).post(webhook::remove))
        .route("/app/credits", get(credits::show).post(credits::change_threshold))
        .route("/app/suppressions", get(suppressions::list).post(suppressions::add))
        .route("/app/suppressions/remove", post(suppressions::remove))
        .route("/app/suppressions/undo", post(suppressions::undo))
        .route("/app/brand", get(brand::show).post(brand::change))
        .route("/app/inbox", get(inbox::list))
        .route("/app/acting/end", post(acting::end))
        .route("/app/verify", get(profile::ask_password).post(profile::step_up))
        .route("/app/{*rest}", get(response::missing))
        .route("/app/", get(response::without_slash))
        .route("/ops/", get(response::without_slash))
        .route("/login/", get(response::without_slash))
        .merge(ops::router())
        .method_not_allowed_fallback(response::wrong_method)
        .route_layer(from_fn(guard::from_own_pages))
        .layer(map_response(response::with_policy))
        .merge(assets::router())
        .with_state(dashboard)
}
