//! From an empty machine to a server: `waxwing init` writes the configuration and names the DNS records, `--check` sees
//! them, `serve` starts.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use waxwing_dns::DnsServer;
use waxwing_tests::{OwnDatabase, Server, waxwing};

const HOST: &str = "mail.example.net";
const ADDRESS: &str = "192.0.2.25";

fn init(file: &Path, arguments: &[&str]) -> Output {
    let mut command = waxwing();
    command.arg("init").args(arguments).arg("--config").arg(file).stdin(Stdio::null());
    command.output().expect("the binary runs")
}

/// What it prints with `--json`, where it is to end so.
fn json(output: &Output, success: bool) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.success(), success, "{errors}");
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

fn fails(output: &Output) -> String {
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().expect("a text")
}

/// Publishes a record as it was printed.
fn publish(dns: &DnsServer, record: &Value) {
    let [name, kind, value] = ["name", "type", "value"].map(|it| text(record, it));
    if kind == "TXT" { dns.txt(name, value) } else { dns.record(name, kind, value) }
}

#[tokio::test]
async fn an_empty_machine_gets_a_configuration_and_sees_its_records() {
    let dns = DnsServer::start().await;
    let home = tempfile::tempdir().expect("a directory");
    let file = home.path().join("waxwing.toml");
    let said = fails(&init(&file, &["--json"]));
    for flag in ["--hostname", "--email", "--route"] {
        assert!(said.contains(flag), "{flag} in {said}");
    }
    assert!(!file.exists());

    let (data, servers) = (home.path().join("data"), dns.address().to_string());
    let data = data.display().to_string();
    let answers = [
        ["--hostname", HOST],
        ["--email", "ops@example.net"],
        ["--route", "direct"],
        ["--address", ADDRESS],
        ["--data-dir", &data],
        ["--nameserver", &servers],
    ];
    let mut answers: Vec<&str> = answers.concat();
    answers.push("--json");
    let written = json(&init(&file, &answers), true);
    let missing: Vec<&str> =
        written["missing"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(missing.iter().all(|it| it.contains("tls/")), "only the certificate: {missing:?}");
    assert_eq!(missing.len(), 2, "{missing:?}");
    let warnings = written["warnings"].to_string();
    let writable = format!("ReadWritePaths={data} ");
    assert!(warnings.contains(&writable) && warnings.contains("install -d"), "{warnings}");
    let made = fs::read_dir(home.path()).expect("a folder").count();
    assert_eq!(made, 1, "nothing but the file is made");
    let about = fs::metadata(&file).expect("it is written");
    assert_eq!(about.permissions().mode() & 0o777, 0o640);
    assert_eq!(about.gid(), fs::metadata(home.path()).expect("a folder").gid());

    let before = fs::read_to_string(&file).expect("the file");
    let said = fails(&init(&file, &answers));
    assert!(said.contains("--force") && said.contains("exists"), "{said}");
    assert_eq!(fs::read_to_string(&file).expect("the file"), before);

    let check = ["--check", "--address", ADDRESS, "--json"];
    let statuses = |findings: &Value| {
        let findings = findings.as_array().expect("a list").iter();
        findings.map(|it| text(it, "status").to_owned()).collect::<Vec<_>>()
    };
    let found = json(&init(&file, &check), false);
    assert!(statuses(&found).iter().all(|it| it == "missing"), "{found}");
    let records = written["records"].as_array().expect("a list");
    assert_eq!(records.len(), statuses(&found).len());
    for record in records {
        publish(&dns, record);
    }
    let found = json(&init(&file, &check), true);
    assert!(statuses(&found).iter().all(|it| it == "seen"), "{found}");
    let mut by_its_source = waxwing();
    by_its_source.args(["init", "--check", "--config"]).arg(&file);
    by_its_source.env("WAXWING_DELIVERY__LOCAL_ADDRESSES", format!("[\"{ADDRESS}\"]"));
    let seen = by_its_source.output().expect("it runs");
    let next = String::from_utf8_lossy(&seen.stderr);
    assert!(seen.status.success() && next.contains("enable --now waxwing"), "{next}");
    assert!(next.contains("journalctl -u waxwing") && next.contains("account create"), "{next}");

    dns.remove(HOST, "TXT");
    dns.txt(HOST, "v=spf1 ip4:198.51.100.1 -all");
    let found = json(&init(&file, &check), false);
    let differing: Vec<&Value> =
        found.as_array().expect("a list").iter().filter(|it| it["status"] == "differs").collect();
    let [differing] = differing[..] else { unreachable!("one differs: {found}") };
    assert_eq!((text(differing, "name"), text(differing, "type")), (HOST, "TXT"));
    assert!(text(differing, "advice").contains("SPF"), "{differing}");
}

#[test]
fn a_data_directory_is_written_by_its_full_path() {
    let home = tempfile::tempdir().expect("a directory");
    let mut command = waxwing();
    command.current_dir(home.path()).stdin(Stdio::null());
    command.args(["init", "--config", "waxwing.toml", "--data-dir", "some/where", "--json"]);
    command.args(["--hostname", HOST, "--email", "ops@example.net", "--route", "direct"]);
    drop(json(&command.args(["--address", ADDRESS]).output().expect("it runs"), true));
    let config = fs::read_to_string(home.path().join("waxwing.toml")).expect("the file");
    let line = config.lines().find(|it| it.starts_with("data_dir = ")).expect("it is written");
    let home = home.path().canonicalize().expect("a folder");
    assert_eq!(line, format!("data_dir = {:?}", home.join("some/where").display().to_string()));
}

#[test]
fn a_check_refuses_the_flags_that_it_would_not_heed() {
    let home = tempfile::tempdir().expect("a directory");
    let file = home.path().join("waxwing.toml");
    for unheeded in [
        &["--nameserver", "127.0.0.1"][..],
        &["--data-dir", "/srv/waxwing"],
        &["--smarthost", "smtp.example.com:587"],
        &["--smarthost-user", "u"],
        &["--agree-to-terms"],
    ] {
        let said = fails(&init(&file, &[&["--check"][..], unheeded].concat()));
        assert!(said.contains("cannot be used with") && said.contains(unheeded[0]), "{said}");
    }
}

#[test]
fn at_a_terminal_mistakes_are_asked_for_again_and_a_yes_comes_last() {
    let home = tempfile::tempdir().expect("a directory");
    let file = home.path().join("waxwing.toml");
    let answers = "not a name\nmail.example.net\nops@example.net\n\ny\n";
    let at_terminal = |confirmed: &str| {
        let line = "\"$WAXWING\" init --address 192.0.2.25 --config \"$FILE\"";
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--echo", "never", "--command", line, "/dev/null"]);
        script.env("WAXWING", waxwing().get_program()).env("FILE", &file);
        script.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut terminal = script.spawn().expect("util-linux has `script`");
        let mut input = terminal.stdin.take().expect("piped");
        input.write_all(format!("{answers}{confirmed}\n").as_bytes()).expect("typed");
        drop(input);
        let output = terminal.wait_with_output().expect("it ends");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (written, said) = at_terminal("no");
    assert!(!written && said.contains("nothing was written") && !file.exists(), "{said}");
    assert_eq!(said.matches("Public name of this machine").count(), 2, "asked again: {said}");
    let (written, said) = at_terminal("yes");
    assert!(written && said.contains("IN MX 10 mail.example.net") && file.exists(), "{said}");
}

#[test]
fn what_is_printed_without_json_is_a_zone_file() {
    let home = tempfile::tempdir().expect("a directory");
    let file = home.path().join("waxwing.toml");
    let data = home.path().join("data").display().to_string();
    let smarthost = ["--smarthost", "smtp.example.com:587", "--smarthost-user", "u"];
    let mut arguments = vec!["--hostname", HOST, "--email", "ops@example.net", "--data-dir", &data];
    arguments.extend(["--route", "smarthost", "--address", ADDRESS, "--agree-to-terms"]);
    arguments.extend(smarthost);
    let output = init(&file, &arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(errors.contains("smarthost.password"), "the password is still missing: {errors}");
    assert!(!errors.contains("No certificate is ordered"), "{errors}");
    assert!(errors.contains("enable --now waxwing"), "what comes next: {errors}");
    let zone = String::from_utf8(output.stdout).expect("a text");
    for line in zone.lines().filter(|it| !it.starts_with(';')) {
        let mut words = line.split(' ');
        let begins = [words.next(), words.next(), words.next(), words.next()];
        let [Some(name), Some("3600"), Some("IN"), Some("A" | "MX" | "TXT")] = begins else {
            unreachable!("{line}")
        };
        assert!(name.ends_with("mail.example.net."), "{line}");
    }
    assert!(zone.contains("v=spf1 a:smtp.example.com -all"), "{zone}");
    let config = fs::read_to_string(&file).expect("the file");
    assert!(config.contains("[acme]") && !config.contains("fullchain.pem"), "{config}");
}

#[test]
fn without_the_terms_the_files_of_the_certificate_are_named() {
    let home = tempfile::tempdir().expect("a directory");
    let file = home.path().join("waxwing.toml");
    let data = home.path().join("data").display().to_string();
    let mut arguments = vec!["--hostname", HOST, "--email", "ops@example.net", "--data-dir", &data];
    arguments.extend(["--route", "direct", "--address", ADDRESS]);
    let output = init(&file, &arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let (_, said) = errors.split_once("No certificate is ordered").expect("it is said");
    let (said, _) = said.split_once("(its key)").expect("a key belongs to it");
    for name in ["fullchain.pem", "privkey.pem"] {
        let place = home.path().join("tls").join(name).display().to_string();
        assert!(said.contains(&place), "{place} in {said}");
    }
    assert!(said.contains("--agree-to-terms"), "{said}");
}

/// A server that ends with the test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[tokio::test]
async fn the_server_starts_with_the_file_and_serves_https() {
    let home = tempfile::tempdir().expect("a directory");
    let file = home.path().join("waxwing.toml");
    let data = home.path().join("data").display().to_string();
    let mut arguments = vec!["--hostname", HOST, "--email", "ops@example.net", "--data-dir", &data];
    arguments.extend(["--route", "direct", "--address", ADDRESS, "--json"]);
    drop(json(&init(&file, &arguments), true));
    let own = Server::dev();
    fs::create_dir(home.path().join("tls")).expect("a folder");
    for (from, to) in [("cert.pem", "fullchain.pem"), ("key.pem", "privkey.pem")] {
        let from = own.data_dir().join("tls").join(from);
        fs::copy(from, home.path().join("tls").join(to)).expect("copied");
    }
    let check = waxwing().args(["check", "--config"]).arg(&file).output().expect("it runs");
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));

    let mut serve = waxwing();
    serve.args(["serve", "--config"]).arg(&file).stdin(Stdio::null()).stderr(Stdio::piped());
    let database = OwnDatabase::make();
    serve.envs(database.iter().map(OwnDatabase::setting));
    // Ports that nobody else has, and that anybody may open.
    for key in [
        "HTTP__LISTEN",
        "HTTP__TLS_LISTEN",
        "HTTP__METRICS_LISTEN",
        "SMTP__LISTEN_STARTTLS",
        "SMTP__LISTEN_TLS",
        "BOUNCES__LISTEN",
        "INBOX__SMTP_LISTEN",
    ] {
        serve.env(format!("WAXWING_{key}"), "127.0.0.1:0");
    }
    let mut serving = Serving(serve.spawn().expect("it starts"));
    let log = BufReader::new(serving.0.stderr.take().expect("a pipe"));
    let mut lines = log.lines().map_while(Result::ok);
    let mut parsed = lines.by_ref().filter_map(|it| serde_json::from_str::<Value>(&it).ok());
    let listening = parsed.find(|it| it["message"] == "listening").expect("it listens");
    assert!(text(&listening, "bounces").starts_with("127.0.0.1:"), "{listening}");
    let trusted = fs::read(own.ca_file()).expect("a certificate");
    let trusted = reqwest::Certificate::from_pem(&trusted).expect("a certificate");
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([trusted]);
    let client = client.build().expect("a client");
    let url = format!("https://{}/healthz", text(&listening, "https"));
    assert_eq!(client.get(url).send().await.expect("HTTPS").status(), 200);
}
