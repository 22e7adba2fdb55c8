//! Certificates of a certificate authority: ordered, proven, shown, kept and renewed. The authority is Pebble, which Let's
//! Encrypt tests clients with.

use std::fs::{self, File};
use std::iter;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use reqwest::Method;
use reqwest::redirect::Policy;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use waxwing_dns::DnsServer;
use waxwing_tests::{Launch, Server, until, until_async};
use waxwing_tools::Need;

use crate::health::finding;

const HOST: &str = "mail.waxwing.example";
const SECOND: &str = "app.waxwing.example";
const SOON: Duration = Duration::from_mins(1);
const YEAR_S: u64 = 31_536_000;

type Certificate = CertificateDer<'static>;

/// A certificate authority of our own, with the name server that it asks.
struct Authority {
    home: TempDir,
    dns: DnsServer,
    /// Of ACME itself, of its roots, and where it looks for the server's answers, without and with TLS.
    ports: [u16; 4],
    pebble: Option<Child>,
}

impl Authority {
    /// One whose certificates live for so long; none where Pebble is not installed.
    async fn start(life_s: u64) -> Option<Self> {
        if !Need::Pebble.is_met("certificates of a certificate authority, by ACME") {
            return None;
        }
        let home = tempfile::tempdir().expect("a directory");
        // A certificate of this machine, and what trusts it.
        let own = Server::dev();
        for (from, to) in [
            (own.data_dir().join("tls/cert.pem"), "cert.pem"),
            (own.data_dir().join("tls/key.pem"), "key.pem"),
            (own.ca_file(), "trusted.pem"),
        ] {
            fs::copy(from, home.path().join(to)).expect("copied");
        }
        let dns = DnsServer::start().await;
        for name in [HOST, SECOND] {
            dns.ip(name, IpAddr::V4(Ipv4Addr::LOCALHOST));
        }
        let ports = free_ports();
        let file = |name: &str| home.path().join(name).display().to_string();
        let settings = json!({"pebble": {
            "listenAddress": format!("127.0.0.1:{}", ports[0]),
            "managementListenAddress": format!("127.0.0.1:{}", ports[1]),
            "certificate": file("cert.pem"),
            "privateKey": file("key.pem"),
            "httpPort": ports[2],
            "tlsPort": ports[3],
            "certificateValidityPeriod": life_s,
        }});
        fs::write(home.path().join("pebble.json"), settings.to_string()).expect("written");
        let mut authority = Self { home, dns, ports, pebble: None };
        authority.run();
        Some(authority)
    }

    fn run(&mut self) {
        let log = File::options().create(true).append(true).open(self.home.path().join("log"));
        let mut command = Command::new("pebble");
        command.arg("-config").arg(self.home.path().join("pebble.json"));
        command.args(["-dnsserver", &self.dns.address().to_string()]);
        command.env("PEBBLE_VA_NOSLEEP", "1").stdin(Stdio::null()).stderr(Stdio::null());
        command.stdout(log.expect("a log"));
        self.pebble = Some(command.spawn().expect("pebble starts"));
        for port in [self.ports[0], self.ports[1]] {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            until("pebble listens", SOON, || std::net::TcpStream::connect(address).ok());
        }
    }

    fn stop(&mut self) {
        if let Some(mut pebble) = self.pebble.take() {
            pebble.kill().expect("it runs");
            pebble.wait().expect("it has ended");
        }
    }

    /// The root of its certificates, a new one for each run.
    async fn root(&self) -> Certificate {
        let trusted = fs::read(self.home.path().join("trusted.pem")).expect("a certificate");
        let trusted = reqwest::Certificate::from_pem(&trusted).expect("a certificate");
        let client = reqwest::Client::builder().no_proxy().tls_certs_only([trusted]);
        let client = client.build().expect("a client");
        let url = format!("https://127.0.0.1:{}/roots/0", self.ports[1]);
        let root = client.get(url).send().await.expect("answered").bytes().await.expect("whole");
        CertificateDer::from_pem_slice(&root).expect("a certificate")
    }

    /// A server that is its customer.
    fn launch(&self) -> Launch {
        let directory = format!("https://127.0.0.1:{}/dir", self.ports[0]);
        let trusted = self.home.path().join("trusted.pem").display().to_string();
        let acme = format!(
            "[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n\
             [acme]\nenabled = true\nterms_agreed = true\ncontact = \"ops@example.net\"\n\
             directory = {}\nca_file = {}\nhttp_listen = \"127.0.0.1:{}\"\n",
            Value::from(directory),
            Value::from(trusted),
            self.ports[2]
        );
        Launch::serve(&acme)
            .with("smtp", "enabled", "true")
            .with("smtp", "hostname", HOST)
            .with("smtp", "listen_starttls", "off")
            .with("smtp", "listen_tls", "127.0.0.1:0")
            .with("http", "tls_listen", &format!("127.0.0.1:{}", self.ports[3]))
            .with("http", "metrics_listen", "public")
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        if let Some(mut pebble) = self.pebble.take() {
            drop(pebble.kill());
            drop(pebble.wait());
        }
    }
}

/// Free ports below the ephemeral range. The kernel could give a port of that range to a connection of another test before
/// the server listens at the port.
fn free_ports() -> [u16; 4] {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    [(); 4].map(|()| {
        let mut candidates = iter::repeat_with(|| NEXT.fetch_add(1, Ordering::Relaxed));
        let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
        candidates.find(is_free).expect("a free port")
    })
}

/// Where a port of the server is, as its log says last.
fn address(server: &Server, field: &str) -> String {
    until("the server listens", SOON, || {
        let log = server.log();
        let mut lines = log.lines().rev().filter_map(|it| serde_json::from_str::<Value>(it).ok());
        let line = lines.find(|it| it["message"] == "listening")?;
        line[field].as_str().map(str::to_owned)
    })
}

/// The line of the log with these words.
fn logged(server: &Server, words: &str) -> Value {
    until(words, SOON, || {
        let log = server.log();
        let mut lines = log.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
        lines.find(|it| it["message"].as_str().is_some_and(|it| it.starts_with(words)))
    })
}

/// The certificate of a port, where a client that trusts nothing but `root` takes it for `name`.
async fn shown(address: &str, root: &Certificate, name: &str) -> Option<Certificate> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let stream = TcpStream::connect(address).await.expect("it listens");
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
    let (_, connection) = stream.get_ref();
    Some(connection.peer_certificates()?.first()?.clone().into_owned())
}

async fn metrics(server: &Server) -> String {
    let answer = server.request(Method::GET, "/metrics").send().await.expect("answered");
    answer.text().await.expect("a text")
}

/// What the health check of the certificate finds.
fn certificate_check(server: &Server) -> Value {
    let doctor = server.cli_as("", &server.data_dir(), &["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&doctor.stdout).expect("findings");
    finding(&report, "certificate").clone()
}

#[tokio::test]
async fn a_certificate_is_issued_shown_at_all_ports_and_kept_over_a_restart() {
    let Some(mut authority) = Authority::start(YEAR_S).await else { return };
    let mut server = Server::start(authority.launch());
    let root = authority.root().await;
    let [https, smtp] = ["https", "smtp_tls"].map(|it| address(&server, it));
    let issued = until_async("HTTPS shows it", SOON, || shown(&https, &root, HOST)).await;
    assert_eq!(shown(&smtp, &root, HOST).await.as_ref(), Some(&issued), "no port was opened anew");
    assert!(metrics(&server).await.contains("waxwing_acme_orders_total{outcome=\"issued\"} 1"));
    let kept = server.data_dir().join("acme/certificate.pem");
    let mode = fs::metadata(kept).expect("it is kept").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "the key stands in it");

    // Nothing but the CA asks for tokens of this moment; whoever else comes without TLS is sent on.
    let client = reqwest::Client::builder().no_proxy().redirect(Policy::none()).tls_certs_only([]);
    let client = client.build().expect("a client");
    let plain = format!("http://{}", address(&server, "acme_http"));
    let guessed = client.get(format!("{plain}/.well-known/acme-challenge/guess")).send().await;
    assert_eq!(guessed.expect("answered").status(), 404);
    let sent_on = client.get(format!("{plain}/app?a=b")).send().await.expect("answered");
    let port = https.parse::<SocketAddr>().expect("an address").port();
    assert_eq!(sent_on.status(), 308);
    assert_eq!(sent_on.headers()["location"], format!("https://{HOST}:{port}/app?a=b"));

    let trusted = reqwest::Certificate::from_der(&root).expect("a certificate");
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([trusted]);
    let client = client.resolve(HOST, https.parse().expect("an address"));
    let client = client.build().expect("a client");
    let alive = client.get(format!("https://{HOST}:{port}/healthz")).send().await;
    let alive = alive.expect("HTTPS");
    assert_eq!(alive.status(), 200);
    assert!(alive.headers().contains_key("strict-transport-security"));

    authority.stop();
    server.restart();
    let https = address(&server, "https");
    assert_eq!(shown(&https, &root, HOST).await, Some(issued), "no CA is needed for a start");
}

#[tokio::test]
async fn a_certificate_is_renewed_before_it_ends() {
    let Some(authority) = Authority::start(20).await else { return };
    let server = Server::start(authority.launch());
    let (root, smtp) = (authority.root().await, address(&server, "smtp_tls"));
    let first = until_async("a certificate", SOON, || shown(&smtp, &root, HOST)).await;
    let is_new = |it: &Certificate| *it != first;
    let renewed = || async { shown(&smtp, &root, HOST).await.filter(is_new) };
    until_async("a new certificate", SOON, renewed).await;
    let reasons: Vec<String> = server
        .log()
        .lines()
        .filter_map(|it| serde_json::from_str::<Value>(it).ok())
        .filter_map(|it| it["reason"].as_str().map(str::to_owned))
        .collect();
    assert!(reasons.iter().any(|it| it == "it is to be renewed"), "{reasons:?}");
}

#[tokio::test]
async fn a_ca_that_is_down_leaves_the_old_certificate_and_the_log_says_so() {
    let Some(mut authority) = Authority::start(YEAR_S).await else { return };
    let mut server = Server::start(authority.launch());
    let root = authority.root().await;
    let https = address(&server, "https");
    let issued = until_async("a certificate", SOON, || shown(&https, &root, HOST)).await;

    authority.stop();
    let both = json!([HOST, SECOND]).to_string();
    server.restart_as(authority.launch().with("acme", "domains", &both));
    let line = logged(&server, "no new certificate");
    assert_eq!(line["level"], "ERROR");
    let error = line["error"].as_str().expect("why");
    assert!(error.contains("cannot be reached"), "{error}");
    let found = certificate_check(&server);
    assert_eq!(found["state"], "warning", "{found}");
    assert!(found["what"].as_str().is_some_and(|it| it.contains(error)), "{found}");
    assert!(metrics(&server).await.contains("waxwing_acme_orders_total{outcome=\"failed\"} 1"));
    let https = address(&server, "https");
    assert_eq!(shown(&https, &root, HOST).await, Some(issued));
    assert_eq!(shown(&https, &root, SECOND).await, None);

    // Another one at its place, which knows neither the account nor the certificate.
    authority.run();
    let root = authority.root().await;
    server.signal("HUP");
    until_async("both names have one", SOON, || shown(&https, &root, SECOND)).await;
    assert!(shown(&https, &root, HOST).await.is_some());
}

#[tokio::test]
async fn a_server_that_never_got_a_certificate_says_so() {
    let Some(mut authority) = Authority::start(YEAR_S).await else { return };
    authority.stop();
    let server = Server::start(authority.launch());
    logged(&server, "no new certificate");
    let found = certificate_check(&server);
    assert_eq!(found["state"], "failing", "{found}");
    assert!(found["what"].as_str().is_some_and(|it| it.contains("self-signed")), "{found}");
    assert!(metrics(&server).await.contains("waxwing_tls_certificate_expires_seconds 0"));

    authority.run();
    server.signal("HUP");
    let (root, https) = (authority.root().await, address(&server, "https"));
    until_async("a certificate", SOON, || shown(&https, &root, HOST)).await;
    until("the check passes", SOON, || (certificate_check(&server)["state"] == "ok").then_some(()));
}

#[tokio::test]
async fn a_move_to_another_ca_is_tried_until_that_ca_has_issued() {
    let Some(first) = Authority::start(YEAR_S).await else { return };
    let mut server = Server::start(first.launch());
    let (root, https) = (first.root().await, address(&server, "https"));
    until_async("a certificate", SOON, || shown(&https, &root, HOST)).await;

    let Some(second) = Authority::start(YEAR_S).await else { return };
    second.dns.remove_all(HOST);
    server.restart_as(second.launch());
    let failed = logged(&server, "no new certificate");
    let error = failed["error"].as_str().expect("why");
    assert!(error.contains("cannot see that the names"), "an account is open there: {error}");
    second.dns.ip(HOST, IpAddr::V4(Ipv4Addr::LOCALHOST));
    server.restart_as(second.launch());
    let (root, https) = (second.root().await, address(&server, "https"));
    until_async("a certificate of the other one", SOON, || shown(&https, &root, HOST)).await;
}

#[tokio::test]
async fn names_are_proven_in_a_handshake_that_nobody_else_gets() {
    let Some(authority) = Authority::start(YEAR_S).await else { return };
    let launch = authority.launch().with("acme", "challenge", "tls-alpn-01");
    let server = Server::start(launch.with("acme", "http_listen", "off"));
    let (root, https) = (authority.root().await, address(&server, "https"));
    until_async("a certificate", SOON, || shown(&https, &root, HOST)).await;
}

#[tokio::test]
async fn names_are_proven_by_records_that_the_operators_program_publishes() {
    let Some(authority) = Authority::start(YEAR_S).await else { return };
    let file = |name: &str| authority.home.path().join(name);
    let (hook, calls, published) = (file("hook"), file("calls"), file("published"));
    let script = format!(
        "#!/bin/sh\necho \"$1 $2 $3 $(env | grep -c ^WAXWING_)\" >>{}\n[ \"$1\" = present ] || exit 0\n\
         while [ ! -e {} ]; do sleep 0.05; done\n",
        calls.display(),
        published.display()
    );
    fs::write(&hook, script).expect("written");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("it may be run");
    let launch = authority.launch().with("acme", "challenge", "dns-01");
    let server = Server::start(launch.with("acme", "dns_hook", &hook.display().to_string()));
    let called = |action: &str| {
        let action = format!("{action} _acme-challenge.{HOST} ");
        let value = || {
            let calls = fs::read_to_string(&calls).ok()?;
            let mut lines = calls.lines();
            let value = lines.find_map(|it| it.strip_prefix(&action))?;
            let value = value.strip_suffix(" 0").expect("it sees none of the server's settings");
            Some(value.to_owned())
        };
        until("the program is run", SOON, value)
    };
    let value = called("present");
    authority.dns.txt(&format!("_acme-challenge.{HOST}"), &value);
    fs::write(&published, "").expect("written");
    let (root, https) = (authority.root().await, address(&server, "https"));
    until_async("a certificate", SOON, || shown(&https, &root, HOST)).await;
    assert_eq!(called("cleanup"), value);
}
