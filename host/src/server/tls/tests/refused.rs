//! What is said of files that cannot be used: which one, why, and what to do.

use std::process::Command;

use waxwing_tools::Need;

use super::*;

fn refused(given: &Given) -> CertificateError {
    given.open().expect_err("refused")
}

#[test]
fn every_fault_of_a_file_names_the_file_the_setting_and_the_way_out() {
    let given = Given::new();
    let (certificate, key) = (given.certificate(), given.private_key());
    let good = std::fs::read_to_string(&certificate).expect("readable");
    let good_key = std::fs::read_to_string(&key).expect("readable");
    let cases = [
        (&certificate, "", "holds no `-----BEGIN CERTIFICATE-----`"),
        (&certificate, good_key.as_str(), "holds no `-----BEGIN CERTIFICATE-----`"),
        (&certificate, "-----BEGIN CERTIFICATE-----\nAAAA\n", "is not whole PEM"),
        (
            &certificate,
            "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
            "is not a valid X.509 certificate",
        ),
        (&key, good.as_str(), "holds no `-----BEGIN PRIVATE KEY-----`"),
        (
            &key,
            "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n",
            "openssl pkey",
        ),
        (
            &key,
            "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n",
            "RSA, ECDSA P-256 to P-521 and Ed25519",
        ),
    ];
    for (file, text, expected) in cases {
        std::fs::write(&certificate, &good).expect("written");
        std::fs::write(&key, &good_key).expect("written");
        std::fs::write(file, text).expect("written");
        let said = refused(&given).to_string();
        assert!(said.contains(expected), "{said}");
        assert!(said.contains(&file.display().to_string()), "{said}");
        let setting = if *file == key { "smtp.private_key" } else { "smtp.certificate" };
        assert!(said.contains(setting), "{said}");
    }
    std::fs::write(&key, vec![b'a'; 2 << 20]).expect("written");
    assert!(matches!(refused(&given), CertificateError::TooLarge(_)));
    std::fs::remove_file(&key).expect("removed");
    assert!(matches!(refused(&given), CertificateError::Missing(_)));
    std::fs::create_dir(&key).expect("made");
    assert!(matches!(refused(&given), CertificateError::Unreadable { .. }));
}

#[test]
fn the_servers_own_certificate_stands_first() {
    let given = Given::new();
    let own = std::fs::read_to_string(given.certificate()).expect("readable");
    let issuer = std::fs::read_to_string(Given::new().certificate()).expect("readable");
    std::fs::write(given.certificate(), format!("{issuer}{own}")).expect("written");
    let said = refused(&given).to_string();
    assert!(said.contains("put the server's own certificate first"), "{said}");
    std::fs::write(given.certificate(), format!("{own}{issuer}")).expect("written");
    assert!(given.open().is_ok());
}

#[test]
fn keys_of_every_form_that_openssl_writes_are_read() {
    if !Need::OpenSsl.is_met("private keys in every form, by openssl") {
        return;
    }
    let given = Given::new();
    let openssl = |arguments: &str| {
        let mut command = Command::new("openssl");
        let output = command
            .args(arguments.split(' '))
            .current_dir(given.directory.path())
            .output()
            .expect("openssl runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let request = "req -x509 -nodes -subj /CN=localhost -days 9 -keyout new.pem -out cert.pem";
    openssl(&format!("{request} -newkey rsa:2048"));
    openssl("rsa -in new.pem -traditional -out key.pem");
    given.open().expect("PKCS #1");
    openssl("pkcs8 -topk8 -nocrypt -in new.pem -out key.pem");
    given.open().expect("PKCS #8");
    openssl("rsa -in new.pem -traditional -aes128 -passout pass:x -out key.pem");
    assert!(matches!(refused(&given), CertificateError::Encrypted(_)));
    openssl("pkcs8 -topk8 -passout pass:x -in new.pem -out key.pem");
    assert!(matches!(refused(&given), CertificateError::Encrypted(_)));
    openssl(&format!("{request} -newkey ec -pkeyopt ec_paramgen_curve:P-384"));
    openssl("ec -in new.pem -out key.pem");
    given.open().expect("SEC 1");
    openssl(&format!("{request} -newkey ed25519"));
    std::fs::rename(given.directory.path().join("new.pem"), given.private_key()).expect("moved");
    given.open().expect("Ed25519");
}
