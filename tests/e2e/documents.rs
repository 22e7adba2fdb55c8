//! What the documents tell people to type works as it stands there.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use waxwing_tests::{Launch, Server, name_server};

use crate::messages::send_tomorrow;

const DOCUMENTS: [(&str, &str); 2] = [
    ("README.md", include_str!("../../README.md")),
    ("host/OPERATING.md", include_str!("../../host/OPERATING.md")),
];

/// The fenced blocks of a language.
fn blocks<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    let block = |rest: &'a str| rest.split_once("```").map(|(block, _)| block);
    document.split(fence.as_str()).skip(1).filter_map(block).collect()
}

/// The commands of `waxwing`. The walk through a plugin project is that of `plugin_languages`, `check` has a test
/// of its own.
fn commands(document: &str) -> impl Iterator<Item = &str> {
    let is_walk = |block: &&str| block.contains("waxwing plugin new");
    let lines =
        blocks(document, "sh").into_iter().filter(move |it| !is_walk(it)).flat_map(str::lines);
    lines.filter(|line| line.starts_with("waxwing ") && !line.starts_with("waxwing check"))
}

/// The identifiers that commands have printed, for the `acc_…` of those that follow.
#[derive(Default)]
struct Identifiers(BTreeMap<String, String>);

impl Identifiers {
    fn read(&mut self, printed: &str) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for word in printed.split(|c| !is_part(c)) {
            if let Some((kind @ ("acc" | "whk" | "key"), ulid)) = word.split_once('_')
                && ulid.len() == 26
            {
                self.0.insert(kind.to_owned(), word.to_owned());
            }
        }
    }

    fn fill(&self, command: &str) -> String {
        let filled =
            |text: String, (kind, id): (&String, &String)| text.replace(&format!("{kind}_…"), id);
        self.0.iter().fold(command.to_owned(), filled)
    }
}

#[tokio::test]
async fn every_command_of_the_readme_and_of_operating_runs_as_it_stands() {
    let dns = name_server().await;
    let launch =
        Launch::dev().that_asks(&dns).with("webhooks", "allow_private", "[\"127.0.0.0/8\"]");
    let server = Server::start(launch);
    let home = server.scratch("home");
    fs::create_dir(&home).expect("a folder");
    let (mut identifiers, mut ran) = (Identifiers::default(), 0);
    for (name, document) in DOCUMENTS {
        for command in commands(document) {
            let mut command = identifiers.fill(command);
            if command.contains("msg_…") {
                let id = send_tomorrow(&server, server.key(), "ada@example.com").await;
                command = command.replace("msg_…", &id);
            }
            // Nobody listens there, and nothing leaves this machine.
            let command = command.replace("https://example.com/", "https://127.0.0.1:9/");
            identifiers.read(&server.shell(&home, &format!("{command} # {name}")));
            ran += 1;
        }
    }
    assert!(ran > 20, "only {ran} commands were found");
}

#[test]
fn every_configuration_of_the_readme_and_of_operating_is_without_a_fault() {
    let home = tempfile::tempdir().expect("a folder");
    fs::write(home.path().join("password"), "secret\n").expect("written");
    let password = home.path().join("password").display().to_string();
    for (name, document) in DOCUMENTS {
        for block in blocks(document, "toml") {
            // Whoever reads this has a certificate; the test has none, and the server then makes its own.
            let is_certificate = |line: &&str| {
                ["certificate", "private_key", "data_dir"].iter().any(|it| line.starts_with(it))
            };
            let toml: Vec<&str> = block.lines().filter(|line| !is_certificate(line)).collect();
            let toml = toml.join("\n").replace("/etc/waxwing/relay.password", &password);
            fs::write(home.path().join("waxwing.toml"), toml).expect("written");
            let mut check = Command::new(waxwing_tests::binary());
            check.args(["check", "--config", "waxwing.toml"]).current_dir(home.path());
            let output = check.env("WAXWING_STORE__DATA_DIR", home.path().join("data")).output();
            let output = output.expect("the binary runs");
            let faults = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{name}:\n{block}\n{faults}");
        }
    }
}
