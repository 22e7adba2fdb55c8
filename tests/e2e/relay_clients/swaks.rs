//! swaks, which speaks SMTP as one would by hand.

use std::io::Write;
use std::process::Command;

use waxwing_tools::Need;

use super::client::{Client, Composition, Endpoint, Letter, Port, Utf8};
use super::run::{BOUND, Said, run};

pub const SWAKS: Client = Client {
    name: "swaks",
    usable: |unproven| Need::Swaks.is_met(unproven),
    send,
    compose: Some(compose),
    send_each: None,
    denied: "No authentication type succeeded",
    distrusts: "certificate verify failed",
    utf8: Utf8::Unknown,
    hops: 1,
};

fn send(endpoint: &Endpoint, letter: &Letter) -> Said {
    // It ends what it sends with a line break of its own.
    let file = file_of(letter.open_ended());
    let data = format!("@{}", file.path().display());
    let mut command = swaks(endpoint, &letter.from, &letter.to.join(","));
    run(command.args(["--data", &data, "--suppress-data"]), b"")
}

fn compose(endpoint: &Endpoint, composition: &Composition) -> Said {
    let Composition { from, to, subject, text, filename, file } = composition;
    let file = file_of(file);
    let mut command = swaks(endpoint, from, to);
    command.args(["--header", &format!("Subject: {subject}")]);
    command.args(["--attach-type", "text/plain; charset=utf-8", "--attach-body", text]);
    command.args(["--attach-name", filename]);
    command.args(["--attach", &format!("@{}", file.path().display()), "--suppress-data"]);
    run(&mut command, b"")
}

fn swaks(endpoint: &Endpoint, from: &str, to: &str) -> Command {
    let mut command = Command::new("swaks");
    // The settings of whoever runs the tests are not for it.
    command.env("SWAKS_HOME", "/nonexistent");
    command.args(["--server", &endpoint.host, "--port", &endpoint.number]);
    command.args(["--timeout", &BOUND.as_secs().to_string()]);
    command.arg(match endpoint.port {
        Port::StartTls => "--tls",
        Port::Tls => "--tls-on-connect",
    });
    command.arg("--tls-verify");
    command.args(endpoint.ca().iter().flat_map(|ca| ["--tls-ca-path", ca]));
    command.args(["--auth", endpoint.port.mechanism()]);
    command.args(["--auth-user", &endpoint.key, "--auth-password", &endpoint.key]);
    command.args(["--ehlo", "printer.example", "--from", from, "--to", to]);
    command
}

fn file_of(octets: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(octets).expect("it is written");
    file
}
