//! Imports go downwards only.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{assert_no_violations, host};

/// The modules by rank, lowest first. A module may import those of lower ranks only; modules of one
/// rank never see each other.
const RANKS: [&[&str]; 14] = [
    &["clock"],
    &["id"],
    &["domain"],
    &["message"],
    &["account", "credit", "template"],
    &["dns", "mail", "plugin", "store", "trust"],
    &["delivery", "journey", "management", "upkeep", "webhooks"],
    &["authoring", "people"],
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
    ("account", &[&["brand", "ip_network", "plan", "role"], &["key"]]),
    (
        "dns",
        &[&["name", "reach"], &["text"], &["observation"], &["chain", "server"], &["dispatch"]],
    ),
    ("mail", &[&["dkim", "mime", "raw", "verp"], &["submission_fixups"]]),
    ("upkeep", &[&["replay", "retention", "verify_domains"]]),
    ("inbox", &[&["store"], &["smtp", "web"]]),
    (
        "config",
        &[
            &[
                "bounces",
                "changes",
                "credits",
                "delivery",
                "dns",
                "domains",
                "environment",
                "hostname",
                "http",
                "limits",
                "listen",
                "log_filter",
                "plugins",
                "retention",
                "webhooks",
            ],
            &["read", "smtp"],
        ],
    ),
    (
        "cli",
        &[
            &["output"],
            &["plugin"],
            &["error"],
            &["check", "open", "queue", "serve", "starter"],
            &["account", "audit", "credits", "dev", "domain", "key", "template", "user", "webhook"],
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
            &["body", "fields", "query"],
            &["admin", "header_checks"],
            &["operator", "send", "surround"],
            &["account_scope"],
            &[
                "accounts",
                "batch",
                "brand",
                "credits",
                "domains",
                "health",
                "keys",
                "plans",
                "plugins",
                "queue",
                "suppressions",
                "templates",
                "webhooks",
            ],
            &["decisions", "messages"],
            &["openapi"],
            &["audit", "docs"],
        ],
    ),
    (
        "server",
        &[
            &[
                "connection_limits",
                "descriptors",
                "directory",
                "resolvers",
                "tasks",
                "tcp_listener",
            ],
            &["data_dir", "listeners", "smtp"],
            &["domain_checks", "master_key", "tls"],
            &["cli_settings", "delivery", "webhooks"],
            &["start_error"],
            &["bounces", "inbox", "relay"],
            &["limits"],
            &["dashboard", "http", "plugins", "reload"],
            &["check", "lifecycle", "start"],
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
    for source in host() {
        let Some((module, inside)) = source.path.split_once('/') else { continue };
        let Some((_, ranks)) = SUBMODULES.iter().find(|(name, _)| *name == module) else {
            continue;
        };
        let rank = |submodule: &str| ranks.iter().position(|same| same.contains(&submodule));
        let submodule = inside.split(['/', '.']).next().unwrap_or_default();
        // The tests drive all submodules together.
        if submodule == "tests" {
            continue;
        }
        let Some(own) = rank(submodule) else {
            broken.push(format!("{}: `{submodule}` has no rank in tests/tidy", source.path));
            continue;
        };
        let (whole, within) = (format!("crate::{module}::"), format!("{module}::"));
        let up = "super::".repeat(inside.matches('/').count() + 1);
        for (number, line) in &source.lines {
            let is_lower = |it: &str| it == submodule || rank(it).is_some_and(|other| other < own);
            let list = up_list(&source.path, line);
            let mut seen = names(line, &up).chain(names(line, &within)).chain(list);
            // What a module shows to the outside, its submodules do not import from there.
            let sees_more = names(line, &whole).any(|it| !is_lower(it));
            if sees_more || seen.any(|it| rank(it).is_some() && !is_lower(it)) {
                broken.push(format!("{}:{number}: {line}", source.path));
            }
        }
    }
    assert_no_violations(&broken, "these submodules import a higher one");
}

/// The names of a list that a file directly in a module takes from that module.
fn up_list<'a>(path: &str, line: &'a str) -> impl Iterator<Item = &'a str> {
    let list = line.strip_prefix("use super::{").filter(|_| path.matches('/').count() == 1);
    list.unwrap_or_default().split([',', '}', ' '])
}

/// The folder that a file stands in, at that depth, and its name there; its child modules are a part of it. Tests
/// may see all.
fn file_of(path: &str, depth: usize) -> Option<(String, &str)> {
    let parts: Vec<&str> = path.split(['/', '.']).collect();
    let (folder, inside) = parts.split_at_checked(depth)?;
    // What is left of a file of the folder itself is `rs`.
    let is_inside = inside.len() > 1 && !parts.contains(&"tests");
    is_inside.then(|| (folder.join("/"), inside[0]))
}

#[test]
fn no_files_of_one_folder_import_each_other() {
    let mut imports: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    let files = [1, 2].into_iter().flat_map(|depth| host().into_iter().map(move |it| (depth, it)));
    for (depth, source) in files {
        let Some((folder, file)) = file_of(&source.path, depth) else { continue };
        let up = "super::".repeat(source.path.matches('/').count() + 1 - depth);
        let within = format!("crate::{}::", folder.replace('/', "::"));
        let seen = imports.entry((folder.clone(), file.to_owned())).or_default();
        for (_, line) in &source.lines {
            let line = line.trim_start();
            for prefix in [&format!("use {up}"), &within] {
                let several = format!("{prefix}{{");
                let list = line.split(several.as_str()).nth(1).unwrap_or_default();
                seen.extend(list.split([',', '}', ' ']).map(str::to_owned));
                seen.extend(names(line, prefix).map(str::to_owned));
            }
        }
        seen.remove(file);
    }
    // Files that import nothing that is left are taken away until none is: what stays is a circle and what imports it.
    loop {
        let left: BTreeSet<(String, String)> = imports.keys().cloned().collect();
        let is_free = |folder: &str, names: &BTreeSet<String>| {
            !names.iter().any(|name| left.contains(&(folder.to_owned(), name.clone())))
        };
        imports.retain(|(folder, _), names| !is_free(folder, names));
        if imports.len() == left.len() {
            break;
        }
    }
    let circle: Vec<String> =
        imports.keys().map(|(folder, file)| format!("{folder}/{file}")).collect();
    assert_no_violations(&circle, "these files import each other, or a file that does");
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
