//! Tests of the whole server: a real process, real clients, real e-mail. One topic a file.

mod fixture;

mod addresses;
mod bad_input;
mod batch;
mod blanks;
mod bounces;
mod brand;
mod cli;
mod crash;
mod credits;
mod delivery;
mod delivery_faults;
mod domains;
mod errors;
mod first_send;
mod http_bounds;
mod idempotency;
mod keys;
mod limits;
mod mail;
mod messages;
mod openapi_fuzz;
mod ops;
mod order_of_checks;
mod plugin_tools;
mod plugin_languages;
mod plugins;
mod relay;
mod relay_clients;
mod reload;
mod start;
mod suppressions;
mod templates;
mod webhooks;
mod wire;
