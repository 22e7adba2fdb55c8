//! What is written can be read, and the example of the package is such a file.

use std::path::PathBuf;

use super::super::answers::HostAndPort;
use super::*;
use crate::config::Config;
use crate::generated_docs::assert_up_to_date;

fn answers() -> Answers {
    Answers {
        hostname: "mail.example.net".parse().expect("a name"),
        email: "ops@example.net".parse().expect("an address"),
        route: Route::Direct,
        addresses: vec!["192.0.2.25".parse().expect("an address")],
        data_dir: PathBuf::from("/var/lib/waxwing"),
        nameservers: vec!["127.0.0.1".to_owned().try_into().expect("an address")],
        certificate: Certificate::Acme,
    }
}

fn read(answers: &Answers) -> (Config, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("waxwing.toml");
    let text = text(answers);
    std::fs::write(&file, &text).expect("written");
    (Config::load(Some(&file), std::iter::empty()).expect("without a fault"), text)
}

#[test]
fn the_example_of_the_package_is_what_init_writes() {
    let answers = Answers { nameservers: Vec::new(), ..answers() };
    assert_up_to_date("packaging/waxwing.toml", &text(&answers), "cli::init::configuration");
}

#[test]
fn whatever_is_answered_the_file_has_no_fault_and_says_it() {
    let (config, _) = read(&answers());
    assert!(config.acme.enabled && config.smtp.certificate.is_none());
    assert_eq!(config.delivery.route, crate::config::Route::Direct);
    let probed = config.health.port_25_domain.expect("named");
    assert_eq!(probed.as_str(), "example.net", "whether port 25 is open is looked at");
    let email = "ops@mail.example.net".parse().expect("an address");
    let (config, _) = read(&Answers { email, ..answers() });
    assert_eq!(config.health.port_25_domain, None, "a machine says nothing about itself");
    let odd = PathBuf::from("/srv/a \"quoted\\ folder");
    let login = Login { user: "u\"ser".to_owned(), password_file: odd.join("password") };
    let server = HostAndPort { host: "smtp.example.com".to_owned(), port: 465 };
    let (config, text) = read(&Answers {
        route: Route::Smarthost { server, login: Some(login) },
        addresses: vec!["2001:db8::25".parse::<IpAddr>().expect("an address")],
        data_dir: odd.clone(),
        nameservers: Vec::new(),
        certificate: Certificate::Files(odd.join("tls")),
        ..answers()
    });
    assert_eq!(config.store.data_dir, odd);
    assert_eq!(config.health.port_25_domain, None, "no mail leaves by port 25");
    assert_eq!(config.smtp.private_key, Some(odd.join("tls/privkey.pem")));
    assert!(!config.acme.enabled && config.dns.nameservers.is_empty());
    let smarthost = config.delivery.smarthosts.first().expect("a smarthost");
    assert_eq!(smarthost.password_file, Some(odd.join("password")));
    assert_eq!((smarthost.user.as_deref(), smarthost.port), (Some("u\"ser"), Some(465)));
    assert!(text.contains("listen = \"[::]:25\""), "IPv6 is listened to where it is published");
}
