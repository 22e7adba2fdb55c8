//! Structured log lines on standard error. Whoever writes one does not wait for somebody to read it.

mod unread;

use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::FmtSpan;

use self::unread::Lines;
use crate::config::{Log, LogFilter, LogFormat};

/// Libraries that write addresses and bodies at their finer levels, whatever the filter says; rustls
/// also warns of each client that gives an IP address as its server name.
const WITH_ADDRESSES: [&str; 4] = ["mailin=warn", "lettre=warn", "rustls=error", "sqlx=warn"];

/// What gives the running log another filter.
type Replace = Box<dyn Fn(EnvFilter) -> bool + Send + Sync>;

static REPLACE: OnceLock<Replace> = OnceLock::new();

/// Starts logging. A second call in one process changes nothing.
pub(crate) fn start(log: &Log) {
    let lines = tracing_subscriber::fmt()
        .with_env_filter(complete(&log.filter))
        .with_writer(Arc::new(Lines::to(std::io::stderr())))
        .with_ansi(std::io::stderr().is_terminal())
        // It would complain on stderr that stderr cannot be written, and panic.
        .log_internal_errors(false)
        .with_span_events(FmtSpan::NONE);
    let (started, replace): (_, Replace) = match log.format {
        LogFormat::Text => {
            let lines = lines.with_target(false).with_filter_reloading();
            let handle = lines.reload_handle();
            (lines.try_init(), Box::new(move |filter| handle.reload(filter).is_ok()))
        }
        LogFormat::Json => {
            let lines = lines.json().flatten_event(true).with_filter_reloading();
            let handle = lines.reload_handle();
            (lines.try_init(), Box::new(move |filter| handle.reload(filter).is_ok()))
        }
    };
    // The only error is that there is a subscriber already.
    if started.is_ok() {
        REPLACE.get_or_init(|| replace);
    }
}

/// Gives the running log another filter.
pub(crate) fn filter(filter: &LogFilter) {
    let replaced = REPLACE.get().is_some_and(|replace| replace(complete(filter)));
    if !replaced {
        tracing::warn!(%filter, "the log keeps its filter until a restart");
    }
}

/// The filter, and what holds for libraries whatever it says.
fn complete(filter: &LogFilter) -> EnvFilter {
    WITH_ADDRESSES.into_iter().fold(filter.filter(), |filter, library| {
        filter.add_directive(library.parse().expect("each is a directive"))
    })
}
