//! The configuration that the command writes, with comments.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;

use super::answers::{Answers, Certificate, Login, Route};
use crate::config::NameServer;

const HEAD: &str = "\
# Waxwing, as `waxwing init` has written it. `waxwing check --config FILE` says what is wrong with it. Every key, its
# default and what it means: CONFIGURATION.md, in /usr/share/doc/waxwing/host of the package.
";

/// The whole file.
pub fn text(answers: &Answers) -> String {
    let Answers { hostname, .. } = answers;
    // An address of IPv6 that is published is the first that others try.
    let any = if answers.addresses.iter().any(IpAddr::is_ipv6) { "[::]" } else { "0.0.0.0" };
    let data_dir = path(&answers.data_dir);
    let sections = [
        format!(
            "[http]
# The API and the dashboard over TLS, with the certificate of the relay.
tls_listen = \"{any}:443\"
# The same without TLS, for this machine alone.
listen = \"127.0.0.1:8080\"
# /metrics for Prometheus, at a port that the world does not reach.
metrics_listen = \"127.0.0.1:9464\"
"
        ),
        format!(
            "[people]
# Links in the server's own e-mails begin with it.
url = \"https://{hostname}\"
"
        ),
        format!(
            "[store]
# The data directory: database, master key, plugins. Only the server's user may read it.
data_dir = {data_dir}
"
        ),
        format!(
            "[smtp]
# The name of this machine in DNS and in EHLO.
hostname = \"{hostname}\"
# The relay: where your applications submit mail.
listen_starttls = [\"{any}:587\"]
listen_tls = \"{any}:465\"
{}",
            certificate_of_the_relay(&answers.certificate)
        ),
        acme(answers, any),
        delivery(&answers.route),
        format!(
            "[bounces]
# Reports of bounces and complaints come in here.
listen = \"{any}:25\"
"
        ),
        health(answers),
        dns(&answers.nameservers),
        "[log]\nformat = \"json\"\n".to_owned(),
    ];
    let sections = sections.into_iter().filter(|it| !it.is_empty());
    sections.fold(HEAD.to_owned(), |text, section| text + "\n" + &section)
}

fn certificate_of_the_relay(certificate: &Certificate) -> String {
    let Some(files) = certificate.files() else { return String::new() };
    let [chain, key] = files.map(|it| path(&it));
    format!(
        "# Both files are read as the server's user, and again when they change.
certificate = {chain}
private_key = {key}
"
    )
}

fn acme(answers: &Answers, any: &str) -> String {
    match &answers.certificate {
        Certificate::Files(_) => String::new(),
        Certificate::Acme => {
            let contact = quoted(&answers.email.to_string());
            format!(
                "[acme]
# The server gets its certificate from Let's Encrypt and renews it; the terms of service are agreed to.
enabled = true
terms_agreed = true
contact = {contact}
# Let's Encrypt asks here whether the name is this machine's.
http_listen = \"{any}:80\"
"
            )
        }
    }
}

fn delivery(route: &Route) -> String {
    match route {
        Route::Direct => "\
[delivery]
# \"direct\" delivers to the mail exchangers of the recipients; \"smarthost\" hands all mail to the server of
# [[delivery.smarthosts]].
route = \"direct\"
"
        .to_owned(),
        Route::Smarthost { server, login } => {
            let security = if server.port == 465 { "tls" } else { "starttls" };
            let mut text = format!(
                "[delivery]
# All mail goes to the server below; \"direct\" would deliver to the mail exchangers of the recipients.
route = \"smarthost\"

[[delivery.smarthosts]]
name = \"main\"
host = {}
port = {}
security = \"{security}\"
",
                quoted(&server.host),
                server.port
            );
            if let Some(Login { user, password_file }) = login {
                let (user, file) = (quoted(user), path(password_file));
                writeln!(text, "user = {user}\npassword_file = {file}")
                    .expect("a string takes everything");
            }
            text
        }
    }
}

fn health(answers: &Answers) -> String {
    match (&answers.route, answers.email.domain()) {
        // That this machine reaches itself says nothing.
        (Route::Direct, Some(domain)) if *domain != answers.hostname => format!(
            "[health]
# Once an hour the server connects to the mail exchanger of this domain, to see whether outgoing port 25 is open.
port_25_domain = \"{domain}\"
"
        ),
        (Route::Direct | Route::Smarthost { .. }, _) => String::new(),
    }
}

fn dns(servers: &[NameServer]) -> String {
    let servers: Vec<String> = servers.iter().map(|it| quoted(&String::from(*it))).collect();
    if servers.is_empty() {
        return "\
[dns]
# A resolver of your own, such as unbound on this machine, instead of the system's:
# nameservers = [\"127.0.0.1\"]
"
        .to_owned();
    }
    format!(
        "[dns]
# Recursive name servers, best a resolver of your own, such as unbound on this machine.
nameservers = [{}]
",
        servers.join(", ")
    )
}

fn path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// As a text of TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
