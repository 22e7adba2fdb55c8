//! What is live after the files have changed.

use super::*;

fn shown(certificates: &Certificates) -> CertificateDer<'static> {
    Arc::clone(&certificates.live.0.load().key).cert.first().expect("one").clone()
}

#[test]
fn a_new_pair_is_shown_by_the_next_handshake() {
    let given = Given::new();
    let certificates = given.open().expect("loaded");
    let config = certificates.server_config();
    assert!(certificates.reload_if_changed().is_none(), "nothing has changed");
    write_pair(given.directory.path());
    assert!(certificates.reload_if_changed().is_some_and(|it| it.is_ok()));
    let client = client(&given.certificate(), &[&TLS13]);
    let seen = shake(&client, &certificates).expect("a handshake");
    assert_eq!(seen.certificate, first_in(&given.certificate()));
    assert!(Arc::ptr_eq(&config, &certificates.server_config()), "acceptors stay");
}

#[test]
fn a_broken_pair_is_refused_once_and_the_old_one_stays() {
    let given = Given::new();
    let certificates = given.open().expect("loaded");
    let old = first_in(&given.certificate());
    std::fs::write(given.certificate(), "-----BEGIN CERTIFICATE-----\n").expect("written");
    let refused = certificates.reload_if_changed().expect("changed").expect_err("broken");
    assert!(matches!(refused, CertificateError::Garbled { .. }), "{refused}");
    assert_eq!(shown(&certificates), old);
    assert_eq!(certificates.fault(), Some(refused.to_string()));
    assert!(certificates.reload_if_changed().is_none(), "said once");
    assert!(certificates.reload().is_some_and(|it| it.is_err()), "an order is answered each time");
    std::fs::remove_file(given.certificate()).expect("removed");
    let missing = certificates.reload_if_changed().expect("changed").expect_err("missing");
    assert!(matches!(missing, CertificateError::Missing(_)), "{missing}");
    assert_eq!(shown(&certificates), old);
    write_pair(given.directory.path());
    assert!(certificates.reload_if_changed().is_some_and(|it| it.is_ok()));
    assert_eq!(certificates.fault(), None, "a usable pair is in its place");
}

#[test]
fn a_certificate_without_its_key_waits_for_it() {
    let given = Given::new();
    let certificates = given.open().expect("loaded");
    let old = first_in(&given.certificate());
    let next = Given::new();
    std::fs::copy(next.certificate(), given.certificate()).expect("copied");
    let refused = certificates.reload_if_changed().expect("changed").expect_err("no key");
    assert!(matches!(refused, CertificateError::Mismatch { .. }), "{refused}");
    assert_eq!(shown(&certificates), old);
    std::fs::copy(next.private_key(), given.private_key()).expect("copied");
    assert!(certificates.reload_if_changed().is_some_and(|it| it.is_ok()));
    assert_eq!(shown(&certificates), first_in(&next.certificate()));
}

/// As Kubernetes does it: the files are links through `..data`, which is a link to a directory.
#[cfg(unix)]
#[test]
fn a_swapped_link_to_a_directory_is_a_change() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    for version in ["v1", "v2"] {
        std::fs::create_dir(at(version)).expect("made");
        write_pair(&at(version));
    }
    symlink("v1", at("..data")).expect("linked");
    symlink("..data/cert.pem", at("cert.pem")).expect("linked");
    symlink("..data/key.pem", at("key.pem")).expect("linked");
    let smtp = Smtp {
        certificate: Some(at("cert.pem")),
        private_key: Some(at("key.pem")),
        ..Smtp::default()
    };
    let given = Given { directory, smtp };
    let certificates = given.open().expect("loaded");
    assert_eq!(shown(&certificates), first_in(&given.directory.path().join("v1/cert.pem")));
    let at = |name: &str| given.directory.path().join(name);
    symlink("v2", at("..data.new")).expect("linked");
    std::fs::rename(at("..data.new"), at("..data")).expect("swapped");
    assert!(certificates.reload_if_changed().is_some_and(|it| it.is_ok()));
    assert_eq!(shown(&certificates), first_in(&at("v2/cert.pem")));
}

#[test]
fn an_own_certificate_is_made_anew_while_the_server_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = DataDir::open(directory.path()).expect("a data directory");
    let clock = Clock::manual(Timestamp::parse_rfc3339("2026-05-01T00:00:00Z").expect("a moment"));
    let (smtp, acme, hostname) = (Smtp::default(), Acme::default(), Hostname::localhost());
    let certificates = Certificates::open((&smtp, &acme), &data, &hostname, clock.clone());
    let certificates = certificates.expect("made");
    let first = shown(&certificates);
    clock.advance(std::time::Duration::from_hours(24 * 300));
    assert!(certificates.reload_if_changed().is_none(), "it has two months");
    clock.advance(std::time::Duration::from_hours(24 * 40));
    assert!(certificates.reload_if_changed().is_some_and(|it| it.is_ok()));
    assert_ne!(shown(&certificates), first);
}

#[test]
fn what_a_ca_issues_takes_the_place_of_the_self_signed_certificate() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = DataDir::open(directory.path()).expect("a data directory");
    let (smtp, hostname) = (Smtp::default(), Hostname::localhost());
    let acme = Acme { enabled: true, ..Acme::default() };
    let open =
        || Certificates::open((&smtp, &acme), &data, &hostname, Clock::system()).expect("made");
    let certificates = open();
    let stand_in = shown(&certificates);
    assert_eq!(certificates.ca_file(), None, "nobody is to trust it");
    assert_eq!(certificates.expires_at(), None, "its end is not that of the certificate");
    let kept = || look((&smtp, &acme), &data, "localhost");
    assert!(kept().is_none(), "no CA has issued one");

    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let chain = params.self_signed(&key).expect("a certificate").pem();
    let ca = "https://ca.example.net/directory";
    let issued = Issued::keep(&data, ca, (&chain, &key.serialize_pem())).expect("kept");
    assert!(issued.is_of_another_ca("https://other.example.net/directory"));
    assert!(!issued.is_of_another_ca(ca));
    assert!(issued.covers(&["localhost".to_owned()]));
    assert!(!issued.covers(&["localhost".to_owned(), "mail.example.net".to_owned()]));
    assert!(certificates.reload_if_changed().is_some_and(|it| it.is_ok()));
    assert_ne!(shown(&certificates), stand_in);
    assert_eq!(shown(&open()), shown(&certificates), "a restart shows it, too");
    let seen = kept().expect("issued").expect("usable");
    assert_eq!(seen, (certificates.expires_at().expect("issued"), true));
    let own = look((&smtp, &Acme::default()), &data, "localhost");
    assert!(own.is_none(), "without [acme] it is not shown");

    let other = KeyPair::generate().expect("a key").serialize_pem();
    assert!(Issued::keep(&data, ca, (&chain, &other)).is_err(), "the key is another one's");
    assert_eq!(Issued::read(&data).expect("read"), Some(issued));
    let path = Issued::path(&data).expect("a path");
    let text = std::fs::read_to_string(&path).expect("readable");
    let (_, without_its_ca) = text.split_once('\n').expect("lines");
    std::fs::write(&path, without_its_ca).expect("written");
    let of_before = Issued::read(&data).expect("readable").expect("one");
    assert!(!of_before.is_of_another_ca(ca), "a file that notes no CA is no reason to order");

    std::fs::remove_file(path).expect("removed");
    assert!(certificates.reload_if_changed().is_none());
    assert!(certificates.reload().is_none(), "nothing was loaded, and nothing is said to be");
    assert_ne!(shown(&certificates), stand_in, "nothing stands in for it any more");
}
