//! msmtp, the sendmail of machines that have no mail server.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;

use waxwing_tools::Need;

use super::client::{Client, Endpoint, Letter, Port, Utf8};
use super::run::{BOUND, Said, run};

pub const MSMTP: Client = Client {
    name: "msmtp",
    usable: |unproven| Need::Msmtp.is_met(unproven),
    send,
    compose: None,
    send_each: None,
    denied: "authentication failed",
    distrusts: "certificate",
    utf8: Utf8::Unknown,
    hops: 1,
};

fn send(endpoint: &Endpoint, letter: &Letter) -> Said {
    // It refuses a file that others may read; a temporary one is for its owner only.
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(settings(endpoint, &letter.from).as_bytes()).expect("it is written");
    let mut command = Command::new("msmtp");
    command.arg("-C").arg(file.path()).args(["--debug", "--"]).args(&letter.to);
    // It reads text as Unix has it, and makes CRLF itself.
    let text: Vec<u8> = letter.raw.iter().copied().filter(|octet| *octet != b'\r').collect();
    run(&mut command, &text)
}

/// What it would change in a message by itself is switched off, to see the relay do it.
fn settings(endpoint: &Endpoint, from: &str) -> String {
    let Endpoint { port, host, number, key, .. } = endpoint;
    let starttls = match port {
        Port::StartTls => "on",
        Port::Tls => "off",
    };
    let mut settings = format!(
        "account default\nhost {host}\nport {number}\ntimeout {}\ntls on\ntls_starttls {starttls}\n\
         auth {}\nuser {key}\npassword {key}\nfrom {from}\nset_from_header off\n\
         set_date_header off\nset_msgid_header off\nremove_bcc_headers off\n",
        BOUND.as_secs(),
        port.mechanism().to_lowercase(),
    );
    if let Some(ca) = endpoint.ca() {
        writeln!(settings, "tls_trust_file {ca}").expect("a text takes what is written");
    }
    settings
}
