//! Structured log lines on standard error.

use std::io::IsTerminal;

use tracing_subscriber::fmt::format::FmtSpan;

use crate::config::{Log, LogFormat};

/// Libraries that write addresses and bodies at their finer levels, whatever the filter says; rustls
/// also warns of each client that gives an IP address as its server name.
const WITH_ADDRESSES: [&str; 4] = ["mailin=warn", "lettre=warn", "rustls=error", "sqlx=warn"];

/// Starts logging. A second call in one process changes nothing.
pub(crate) fn start(log: &Log) {
    let filter = WITH_ADDRESSES.into_iter().fold(log.filter.filter(), |filter, library| {
        filter.add_directive(library.parse().expect("each is a directive"))
    });
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        // It would complain on stderr that stderr cannot be written, and panic.
        .log_internal_errors(false)
        .with_span_events(FmtSpan::NONE);
    // The only error is that there is a subscriber already.
    let _already_started = match log.format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}
