//! Time, randomness, tasks, the environment, printing and SQL have one home each; files stay small.

use crate::sources::{assert_no_violations, host_and_crates};

/// What may stand only in some files, or in none: a text, and the beginnings of their paths.
const HOMES: [(&str, &[&str]); 18] = [
    ("tokio::spawn", &[]),
    (
        ".spawn(",
        &[
            "server/tasks.rs",
            "server/acme/dns_hook",
            "plugin/runtime/ticker.rs",
            "plugin/runtime/compiler",
            "plugin/slots/supervisor/running_jobs.rs",
        ],
    ),
    ("SystemTime::now", &["clock.rs"]),
    ("getrandom::", &["id.rs"]),
    ("std::env::", &["cli/", "server/acme/dns_hook.rs", "server/plugins.rs", "server/settings.rs"]),
    ("println!", &[]),
    ("sql(\"", &["store"]),
    // Which database there is. The sandbox inbox has a file of its own.
    ("sqlx::", &["store/database", "store/embedded.rs", "store/error.rs", "inbox"]),
    ("rusqlite::", &["store/database", "store/error.rs"]),
    ("Sqlite", &["store/database", "store/embedded.rs", "inbox/store"]),
    ("postgres::", &["store/database"]),
    ("store::embedded", &["store/database", "inbox/store"]),
    // The driver would log statements that are slow.
    ("SqliteConnectOptions::new", &["store/embedded", "store/tests", "store/upgrade/tests.rs"]),
    // The document of the API.
    (
        "utoipa",
        &[
            "api",
            "authoring/",
            "message/state.rs",
            "plugin/promotion/",
            "plugin/slots/",
            "template/",
            "webhooks/",
        ],
    ),
    ("lettre::", &["delivery/"]),
    ("wasmtime", &["plugin"]),
    ("waxwing_smtp::", &["delivery/smtp", "relay/", "relay.rs", "server/relay.rs"]),
    ("waxwing_mail::", &["domain.rs", "mail.rs", "message.rs", "crates/"]),
];

/// Lines of a file. A length is a smell: a longer file holds a second thing, or wants a look.
const MAX_LINES: usize = 600;

#[test]
fn what_has_one_home_stands_nowhere_else() {
    let mut broken = Vec::new();
    for source in host_and_crates() {
        for (number, line) in &source.lines {
            for (text, homes) in HOMES {
                if line.contains(text) && !homes.iter().any(|home| source.path.starts_with(home)) {
                    broken.push(format!("{}:{number}: {line}", source.path));
                }
            }
        }
    }
    assert_no_violations(&broken, "these lines belong elsewhere");
}

#[test]
fn every_home_is_lived_in() {
    let sources = host_and_crates();
    for (text, _) in HOMES.into_iter().filter(|(_, homes)| !homes.is_empty()) {
        let found = sources.iter().any(|it| it.lines.iter().any(|(_, line)| line.contains(text)));
        assert!(found, "nothing contains `{text}` any more: take its rule out");
    }
}

#[test]
fn files_stay_small_and_none_is_called_mod() {
    let sources = host_and_crates();
    let long: Vec<String> = sources
        .iter()
        .filter(|source| source.length > MAX_LINES || source.path.ends_with("mod.rs"))
        .map(|source| format!("{}: {} lines", source.path, source.length))
        .collect();
    assert_no_violations(&long, "these files hold a second thing");
}
