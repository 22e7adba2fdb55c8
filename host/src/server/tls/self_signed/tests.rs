//! Made once, kept, made anew in its last month; other programs trust its authority.

use std::process::Command;

use tempfile::TempDir;
use waxwing_tools::Need;

use super::*;

fn now() -> Timestamp {
    Timestamp::parse_rfc3339("2026-05-01T00:00:00Z").expect("a moment")
}

fn self_signed(directory: &TempDir, hostname: &str) -> SelfSignedCertificate {
    let data = DataDir::open(directory.path()).expect("a data directory");
    SelfSignedCertificate::new(data.tls().expect("opened"), &hostname.parse().expect("a name"))
}

fn text(self_signed: &SelfSignedCertificate) -> String {
    std::fs::read_to_string(self_signed.pair().certificate.path).expect("a certificate")
}

#[test]
fn a_certificate_is_made_once_and_kept_until_its_last_month() {
    let directory = tempfile::tempdir().expect("a directory");
    let self_signed = self_signed(&directory, "mail.example.com");
    self_signed.keep_fresh(now()).expect("made");
    let first = text(&self_signed);
    let last_days = now().after(VALIDITY.saturating_sub(RENEWED_BEFORE_END));
    let day_before = now().after(VALIDITY.saturating_sub(RENEWED_BEFORE_END + BACKDATED));
    self_signed.keep_fresh(day_before).expect("kept");
    assert_eq!(text(&self_signed), first);
    self_signed.keep_fresh(last_days.after(BACKDATED)).expect("made anew");
    assert_ne!(text(&self_signed), first);
}

#[test]
fn another_host_name_or_a_damaged_file_makes_another_certificate() {
    let directory = tempfile::tempdir().expect("a directory");
    let one = self_signed(&directory, "one.example.com");
    one.keep_fresh(now()).expect("made");
    let first = text(&one);
    let two = self_signed(&directory, "two.example.com");
    two.keep_fresh(now()).expect("made anew");
    let second = text(&two);
    assert_ne!(first, second);
    // As a stop between two writes would leave it: the authority is not the certificate's.
    let authority = std::fs::read(two.ca_file()).expect("an authority");
    std::fs::write(two.ca_file(), first).expect("written");
    two.keep_fresh(now()).expect("made anew");
    assert_ne!(text(&two), second);
    assert_ne!(std::fs::read(two.ca_file()).expect("an authority"), authority);
}

#[test]
fn its_files_are_not_told_as_those_of_a_setting() {
    let directory = tempfile::tempdir().expect("a directory");
    let pair = self_signed(&directory, "localhost").pair();
    for file in [pair.certificate, pair.private_key] {
        assert!(file.to_string().starts_with("the self-signed certificate, /"), "{file}");
    }
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_the_key() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().expect("a directory");
    let self_signed = self_signed(&directory, "localhost");
    self_signed.keep_fresh(now()).expect("made");
    let mode = |path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(self_signed.pair().private_key.path), 0o600);
    assert_eq!(mode(directory.path().join("tls")), 0o700);
    let files = std::fs::read_dir(directory.path().join("tls")).expect("readable");
    assert_eq!(files.count(), 3, "the authority's key is nowhere");
}

#[test]
fn openssl_takes_it_by_every_name_and_by_no_other() {
    if !Need::OpenSsl.is_met("the self-signed certificate, by openssl") {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let self_signed = self_signed(&directory, "mail.example.com");
    self_signed.keep_fresh(now()).expect("made");
    let at = (now().after(BACKDATED).millis() / 1_000).to_string();
    let verifies = |kind: &str, name: &str| {
        let output = Command::new("openssl")
            .args(["verify", "-x509_strict", "-purpose", "sslserver", "-attime", &at, kind, name])
            .arg("-CAfile")
            .arg(self_signed.ca_file())
            .arg(self_signed.pair().certificate.path)
            .output()
            .expect("openssl runs");
        output.status.success()
    };
    for name in ["mail.example.com", "localhost"] {
        assert!(verifies("-verify_hostname", name), "{name}");
    }
    for ip in ["127.0.0.1", "::1"] {
        assert!(verifies("-verify_ip", ip), "{ip}");
    }
    assert!(!verifies("-verify_hostname", "elsewhere.example.com"));
}
