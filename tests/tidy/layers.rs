//! Imports go downwards only.

use crate::imports::Imports;
use crate::sources::{assert_no_violations, host, sources, workspace};

/// The modules by rank, lowest first. A module may import those of lower ranks only; modules of one
/// rank never see each other.
const RANKS: [&[&str]; 14] = [
    &["clock", "hexadecimal", "plural", "private_file", "yielding"],
    &["id"],
    &["domain", "fair_share", "nodes", "trace"],
    &["message"],
    &["account", "credit", "template"],
    &["dns", "mail", "plugin", "store", "trust"],
    &["backup", "delivery", "journey", "management", "upkeep", "webhooks"],
    &["authoring", "health", "people"],
    &["api", "inbox", "relay"],
    &["dashboard"],
    &["config"],
    &["telemetry"],
    &["server"],
    &["cli"],
];

/// The submodules of modules by rank, lowest first: the steps of the journey, the parts of delivery, of the plugin
/// host, of the command line and of the wiring. A submodule imports from lower ones only, and never from one of its own rank.
const SUBMODULES: [(&str, &[&[&str]]); 14] = [
    ("account", &[&["brand", "idempotency", "ip_network", "plan", "role", "secret"], &["key"]]),
    (
        "dns",
        &[
            &["name", "reach", "settings"],
            &["text"],
            &["observation"],
            &["chain", "server"],
            &["dispatch"],
        ],
    ),
    ("mail", &[&["dkim", "mime", "raw", "verp"], &["submission_fixups"]]),
    ("upkeep", &[&["account_deletion", "replay", "retention", "verify_domains"]]),
    ("inbox", &[&["store"], &["smtp", "web"]]),
    (
        "config",
        &[
            &["environment", "hostname", "listen", "log_filter", "unreadable_keys"],
            &["violations"],
            &[
                "backup",
                "bounces",
                "credits",
                "delivery",
                "dns",
                "domains",
                "health",
                "http",
                "limits",
                "node",
                "plugins",
                "retention",
                "smtp",
                "telemetry",
                "webhooks",
            ],
            // `people` and `store` have a secret, as smarthosts have; `acme` takes the name of the relay.
            &["acme", "people", "store"],
            &["sections"],
            &["changes", "listeners", "read"],
        ],
    ),
    (
        "cli",
        &[
            &["installation", "output"],
            &["plugin"],
            &["sync_error"],
            &["error"],
            &[
                "check",
                "init",
                "migrate",
                "open",
                "publish_folder",
                "restore",
                "serve",
                "shell",
                "top",
            ],
            &[
                "account",
                "audit",
                "backup",
                "credits",
                "dev",
                "doctor",
                "domain",
                "export",
                "key",
                "maintenance",
                "master_key",
                "nodes",
                "queue",
                "template",
                "user",
                "webhook",
            ],
            &["message", "suppression"],
        ],
    ),
    ("journey", &[&["accept"], &["policy"], &["render"], &["commit"]]),
    (
        "delivery",
        &[
            &["limits", "lock", "outcome"],
            &["smtp"],
            &["routing"],
            &["shaping"],
            &["attempt"],
            &["queue"],
        ],
    ),
    ("plugin", &[&["runtime"], &["config"], &["kinds"], &["records"], &["promotion"], &["slots"]]),
    (
        "webhooks",
        &[
            &["body", "guard", "health", "schedule", "signature", "types"],
            &["resolver"],
            &["post"],
            &["owner_operations", "publish", "sender"],
        ],
    ),
    ("relay", &[&["message", "reply", "transport"], &["bounces", "session"]]),
    (
        "api",
        &[
            &["client_address", "control_token", "lists", "precompressed", "readiness", "shapes"],
            &["request_context", "state"],
            &["problem"],
            &["read_only"],
            &["body", "fields", "query", "server_mail"],
            &["admin", "header_checks"],
            &["operator", "send", "surround"],
            &["account_scope"],
            &[
                "accounts",
                "audit_log",
                "batch",
                "brand",
                "credits",
                "domains",
                "health",
                "keys",
                "maintenance",
                "nodes",
                "plans",
                "plugins",
                "queue",
                "settings",
                "suppressions",
                "team",
                "templates",
                "users",
                "webhooks",
            ],
            &["decisions", "messages", "test_recipients", "traffic"],
            &["openapi"],
            &["audit", "docs", "parameters"],
        ],
    ),
    (
        "server",
        &[
            &[
                "connection_limits",
                "descriptors",
                "directory",
                "hangups",
                "key_file",
                "maintenance",
                "resolvers",
                "service_manager",
                "settings",
                "shared_plugins",
                "tasks",
                "tcp_listener",
                "zone_file",
            ],
            &["data_dir", "listeners", "smtp"],
            &["domain_checks", "master_key", "tls"],
            &[
                "account_deletions",
                "acme",
                "backup",
                "cli_settings",
                "delivery",
                "host_records",
                "membership",
                "webhooks",
            ],
            &["start_error"],
            &["bounces", "inbox", "relay"],
            &["limits"],
            &["dashboard", "health", "http", "plugins"],
            &["reload"],
            &["check", "restore", "start"],
            &["lifecycle"],
        ],
    ),
];

fn rank(module: &str) -> Option<usize> {
    RANKS.iter().position(|modules| modules.contains(&module))
}

/// The names that follow `prefix` in a line.
fn names<'a>(line: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    line.split(prefix).skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    })
}

#[test]
fn the_table_of_layers_has_every_module_above_those_that_it_may_import() {
    let document =
        std::fs::read_to_string(workspace().join("host/ARCHITECTURE.md")).expect("a document");
    let (_, behind) = document.split_once("\n## Layers\n").expect("the chapter");
    let (table, _) = behind.split_once("\n\nA module without").expect("its end");
    let place = |module: &str| table.find(&format!("`{module}`"));
    let (mut broken, mut above) = (Vec::new(), usize::MAX);
    for rank in RANKS {
        let places: Vec<usize> = rank.iter().filter_map(|it| place(it)).collect();
        let missing = rank.iter().filter(|it| place(it).is_none());
        broken.extend(missing.map(|it| format!("{it} is missing")));
        if places.iter().any(|it| *it >= above) {
            broken.push(format!("one of {rank:?} does not stand above all lower modules"));
        }
        above = places.into_iter().min().unwrap_or(above).min(above);
    }
    assert_no_violations(
        &broken,
        "the table of layers in ARCHITECTURE.md is not that of tests/tidy",
    );
}

#[test]
fn every_module_has_a_rank_and_imports_only_lower_ones() {
    let mut broken = Vec::new();
    for source in host() {
        let module = source.path.split(['/', '.']).next().unwrap_or_default();
        if ["lib", "main", "generated_docs"].contains(&module) {
            continue;
        }
        let Some(own) = rank(module) else {
            broken.push(format!("{}: `{module}` has no rank in tests/tidy", source.path));
            continue;
        };
        for (number, line) in &source.lines {
            for imported in names(line, "crate::").filter(|name| *name != module) {
                match rank(imported) {
                    Some(other) if other < own => {}
                    Some(_) => broken.push(format!("{}:{number}: {line}", source.path)),
                    None if imported.is_empty() => {
                        broken.push(format!("{}:{number}: one path a line: {line}", source.path));
                    }
                    None => {}
                }
            }
        }
    }
    assert_no_violations(&broken, "these imports do not go downwards");
}

#[test]
fn no_submodule_imports_a_higher_one() {
    let mut broken = Vec::new();
    for (importer, imported) in &Imports::of(&host()).of {
        let [module, own, ..] = importer.as_slice() else { continue };
        let Some((_, ranks)) = SUBMODULES.iter().find(|(name, _)| name == module) else { continue };
        let rank = |submodule: &str| ranks.iter().position(|same| same.contains(&submodule));
        let Some(own_rank) = rank(own) else {
            broken.push(format!("{}: `{own}` has no rank in tests/tidy", importer.join("/")));
            continue;
        };
        for import in imported {
            let [other_module, other, ..] = import.as_slice() else { continue };
            let is_lower = other == own || rank(other).is_some_and(|it| it < own_rank);
            if other_module == module && !is_lower {
                broken.push(format!("{} imports {}", importer.join("/"), import.join("/")));
            }
        }
    }
    assert_no_violations(&broken, "these submodules import a higher one, or one of their own rank");
}

#[test]
fn no_files_import_each_other() {
    let mut found = Vec::new();
    for root in ["host/src", "host/crates/mail/src", "host/crates/smtp/src", "plugins/liquid/src"] {
        let sources = sources(&workspace().join(root));
        assert!(sources.len() > 10, "{root} has more files than {}", sources.len());
        let imports = Imports::of(&sources);
        for circle in imports.circles() {
            let arrows = circle.iter().flat_map(|one| {
                let to = imports.of.get(*one).into_iter().flatten();
                let to = to.filter(|it| circle.contains(it));
                to.map(|to| format!("{} -> {}", one.join("/"), to.join("/")))
            });
            let arrows = arrows.collect::<Vec<_>>().join("\n    ");
            found.push(format!("{root}:\n    {arrows}"));
        }
    }
    assert_no_violations(&found, "these files import each other, directly or by way of others");
}

#[test]
fn the_modules_stand_in_lib_rs_in_the_order_of_their_layers() {
    let sources = host();
    let lib = sources.iter().find(|source| source.path == "lib.rs").expect("lib.rs exists");
    let declared: Vec<usize> = lib
        .lines
        .iter()
        .filter_map(|(_, line)| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .map(|module| rank(module).unwrap_or_else(|| panic!("{module} has no rank")))
        .collect();
    assert!(declared.is_sorted(), "lib.rs declares its modules lowest first: {declared:?}");
    assert_eq!(declared.len(), RANKS.iter().map(|modules| modules.len()).sum::<usize>());
}
