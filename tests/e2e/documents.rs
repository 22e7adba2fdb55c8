//! What the documents tell people to type works as it stands there.

mod known;
mod tour;

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use waxwing_tests::{Document, Launch, Server, documents, name_server, only_on_a_file};
use waxwing_tools::Need;

use crate::messages::send_tomorrow;

/// Whose commands are run, in their order. The others need projects, root or minutes: `tour` and `known`.
const RUN: [&str; 3] = ["README.md", "host/OPERATING.md", "host/POSTGRESQL.md"];

/// The commands of `waxwing`. The way through a plugin is that of `tour`, `check` has a test of its own.
fn commands(document: &Document) -> Vec<String> {
    let mut commands = document.commands();
    let is_of_tour = |it: &str| it.contains("night-rest") || it.contains("../waxwing-data");
    commands.retain(|it| it.starts_with("waxwing ") && !it.starts_with("waxwing check"));
    commands.retain(|it| !is_of_tour(it));
    commands
}

/// The identifiers that commands have printed, for the `acc_…` of those that follow, and the recipient of backups.
#[derive(Default)]
struct Identifiers {
    by_kind: BTreeMap<String, String>,
    recipient: String,
}

impl Identifiers {
    fn read(&mut self, printed: &str) {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for word in printed.split(|c| !is_part(c)) {
            if let Some((kind @ ("acc" | "whk" | "key"), ulid)) = word.split_once('_')
                && ulid.len() == 26
            {
                self.by_kind.insert(kind.to_owned(), word.to_owned());
            }
            if word.starts_with("age1") {
                word.clone_into(&mut self.recipient);
            }
        }
    }

    fn fill(&self, command: &str) -> String {
        let filled =
            |text: String, (kind, id): (&String, &String)| text.replace(&format!("{kind}_…"), id);
        let command = command.replace("age1…", &self.recipient);
        self.by_kind.iter().fold(command, filled)
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
    for document in documents().iter().filter(|it| RUN.contains(&it.path.as_str())) {
        for command in commands(document) {
            let is_of_backups = ["waxwing backup --to ", "waxwing restore "];
            if is_of_backups.iter().any(|it| command.starts_with(it))
                && only_on_a_file("PostgreSQL has backups of its own")
            {
                continue;
            }
            let mut command = identifiers.fill(&command);
            if command.contains("msg_…") {
                let id = send_tomorrow(&server, server.key(), "ada@example.com").await;
                command = command.replace("msg_…", &id);
            }
            // Nobody listens there, and nothing leaves this machine.
            let command = command.replace("https://example.com/", "https://127.0.0.1:9/");
            let line = format!("{command} # {}", document.path);
            if command.starts_with("waxwing doctor") {
                // What it finds depends on the machine; that it finds something does not.
                let found = server.shell_output(&home, &line);
                let found = String::from_utf8_lossy(&found.stdout).into_owned();
                assert!(found.contains("Store"), "{line}: {found}");
            } else {
                identifiers.read(&server.shell(&home, &line));
            }
            ran += 1;
        }
    }
    assert!(ran > 20, "only {ran} commands were found");
}

#[tokio::test]
async fn the_curl_and_the_swaks_of_the_readme_send_a_message() {
    let readme = documents().into_iter().find(|it| it.path == "README.md").expect("the README");
    let command = |program: &str| {
        readme.commands().into_iter().find(|it| it.starts_with(program)).expect("it is there")
    };
    let server = Server::dev();
    let home = server.scratch("home");
    fs::create_dir(&home).expect("a folder");
    if Need::Curl.is_met("the curl of the README") {
        let curl = command("curl ").replace("http://127.0.0.1:8080", server.url());
        let printed = server.shell(&home, &curl.replace("wx_live_…", server.key()));
        assert!(printed.contains("\"success\":true"), "{printed}");
        let mail = server.wait_for_mail_to("ada@example.com").await;
        assert!(mail.subject.contains("481 902"), "{}", mail.subject);
    }
    if Need::Swaks.is_met("the swaks of the README") {
        let swaks = command("swaks ").replace("127.0.0.1:2587", server.smtp_starttls());
        // The settings of whoever runs the tests are not for it.
        let lines = format!("export SWAKS_HOME=/nonexistent\nKEY={}\n{swaks}", server.key());
        let printed = server.shell(&home, &lines);
        assert!(printed.contains("queued as msg_"), "{printed}");
    }
}

#[test]
fn every_configuration_of_every_document_is_without_a_fault() {
    let home = tempfile::tempdir().expect("a folder");
    fs::write(home.path().join("password"), "secret\n").expect("written");
    let password = home.path().join("password").display().to_string();
    let mut checked = 0;
    for document in documents() {
        // The file of a plugin's slot begins with its kind; `plugin::config::slot` reads those.
        let of_server = |it: &String| !it.contains("kind = ");
        for block in document.blocks("toml").into_iter().filter(of_server) {
            // Whoever reads this has a certificate; the test has none, and the server then makes its own.
            let is_of_the_reader = |line: &&str| {
                ["certificate", "private_key", "data_dir", "dir"]
                    .iter()
                    .any(|it| line.starts_with(it))
            };
            let toml: Vec<&str> = block.lines().filter(|line| !is_of_the_reader(line)).collect();
            let toml = toml.join("\n").replace("/etc/waxwing/provider.password", &password);
            let toml = toml.replace("wxpub_…", &format!("wxpub_{}=", "A".repeat(43)));
            fs::write(home.path().join("waxwing.toml"), toml).expect("written");
            let mut check = Command::new(waxwing_tests::binary());
            check.args(["check", "--config", "waxwing.toml"]).current_dir(home.path());
            let output = check.env("WAXWING_STORE__DATA_DIR", home.path().join("data")).output();
            let output = output.expect("the binary runs");
            let faults = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{}:\n{block}\n{faults}", document.path);
            checked += 1;
        }
    }
    assert!(checked > 6, "only {checked} configurations were found");
}
