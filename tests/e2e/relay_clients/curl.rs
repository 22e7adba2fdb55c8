//! curl, from scripts.

use std::io::Write;
use std::process::Command;

use waxwing_tools::Need;

use super::client::{Client, Composition, Endpoint, Letter, Port, Utf8};
use super::run::{BOUND, Said, run};

pub const CURL: Client = Client {
    name: "curl",
    usable: |unproven| Need::Curl.is_met(unproven),
    send,
    compose: Some(compose),
    send_each: None,
    denied: "curl: (67)",
    distrusts: "curl: (60)",
    utf8: Utf8::Spoken,
    hops: 1,
};

fn send(endpoint: &Endpoint, letter: &Letter) -> Said {
    run(curl(endpoint, &letter.from, &letter.to).args(["--upload-file", "-"]), &letter.raw)
}

fn compose(endpoint: &Endpoint, composition: &Composition) -> Said {
    let Composition { from, to, subject, text, filename, file } = composition;
    let mut octets = tempfile::NamedTempFile::new().expect("a temporary file");
    octets.write_all(file).expect("it is written");
    let path = octets.path().display();
    let mut command = curl(endpoint, from, std::slice::from_ref(to));
    for field in [format!("From: {from}"), format!("To: {to}"), format!("Subject: {subject}")] {
        command.args(["--header", &field]);
    }
    // It sends a text as it is given, and stuffs dots behind CRLF alone.
    command.args(["--form-string", &format!("={}", text.replace('\n', "\r\n"))]);
    let (kind, encoder) = ("type=application/octet-stream", "encoder=base64");
    command.args(["--form", &format!("=@{path};{kind};{encoder};filename={filename}")]);
    run(&mut command, b"")
}

fn curl(endpoint: &Endpoint, from: &str, to: &[String]) -> Command {
    let Endpoint { port, host, number, key, .. } = endpoint;
    let scheme = match port {
        Port::StartTls => "smtp",
        Port::Tls => "smtps",
    };
    let mut command = Command::new("curl");
    // The first argument: the settings of whoever runs the tests are not for it.
    command.args(["--disable", "--silent", "--show-error", "--verbose", "--ssl-reqd"]);
    command.args(["--max-time", &BOUND.as_secs().to_string(), "--noproxy", "*"]);
    command.args(["--url", &format!("{scheme}://{host}:{number}/printer.example")]);
    command.args(["--user", &format!("{key}:{key}")]);
    command.args(["--login-options", &format!("AUTH={}", port.mechanism())]);
    command.args(endpoint.ca().iter().flat_map(|ca| ["--cacert", ca]));
    command.args(["--mail-from", from]);
    command.args(to.iter().flat_map(|to| ["--mail-rcpt", to]));
    command
}
