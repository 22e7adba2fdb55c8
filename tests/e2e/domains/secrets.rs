//! The private halves of keys are nowhere but sealed in the database.

use std::fs;
use std::path::Path;
use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::Ed25519KeyPair;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use waxwing_tests::{Launch, Server, name_server, only_on_a_file, until_async};

use super::{lab, send};
use crate::fixture::{Database, change};

const SOON: Duration = Duration::from_mins(1);
/// How PKCS #8 begins behind its length (RFC 5958, RFC 8017, RFC 8410): RSA, and both versions of
/// Ed25519.
const BEGINNINGS: [&[u8]; 3] = [
    b"\x02\x01\x00\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\x04\x82",
    b"\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20",
    b"\x02\x01\x01\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20",
];

/// In the ways in which bytes are written: as they are, in hexadecimal, in base64 at each of its
/// three offsets.
fn written() -> Vec<Vec<u8>> {
    let mut all = vec![b"PRIVATE KEY".to_vec(), b"pkcs8".to_vec()];
    for beginning in BEGINNINGS {
        let hexadecimal = hexadecimal(beginning);
        all.extend([
            beginning.to_vec(),
            hexadecimal.to_uppercase().into_bytes(),
            hexadecimal.into_bytes(),
        ]);
        for offset in 0..3 {
            let whole = BASE64.encode([&[0; 3][..offset], beginning].concat());
            // What depends on the bytes around it is left out.
            let inner = whole.get(4..whole.len() - 4).expect("it is long enough");
            all.push(inner.as_bytes().to_vec());
        }
    }
    all
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect::<Vec<_>>().concat()
}

/// What of it is in there, if anything.
fn found(bytes: &[u8]) -> Option<Vec<u8>> {
    written().into_iter().find(|it| bytes.windows(it.len()).any(|window| window == it))
}

fn assert_clean(what: &str, bytes: &[u8]) {
    let found = found(bytes).map(|it| String::from_utf8_lossy(&it).into_owned());
    assert_eq!(found, None, "{what}");
}

fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        // What wasmtime has compiled holds no data of ours.
        if path.is_dir() && !path.ends_with("compiled-plugins") {
            all.extend(files(&path));
        } else if path.is_file() {
            all.push(path);
        }
    }
    all
}

fn assert_files_are_clean(server: &Server) {
    let files = files(&server.data_dir());
    assert!(files.iter().any(|it| it.ends_with("waxwing.db")), "{files:?}");
    // The server's certificate has a key of its own, which is as it must be.
    for file in files.iter().filter(|it| it.extension().is_none_or(|it| it != "pem")) {
        assert_clean(&file.display().to_string(), &fs::read(file).expect("it can be read"));
    }
}

#[test]
fn a_private_key_would_be_found_however_it_is_written() {
    let rsa = KeyPair::generate(KeySize::Rsa2048).expect("a key");
    let rsa = AsDer::<Pkcs8V1Der<'_>>::as_der(&rsa).expect("PKCS #8");
    let ed25519 = Ed25519KeyPair::generate().expect("a key");
    let old = AsDer::<Pkcs8V1Der<'_>>::as_der(&ed25519).expect("PKCS #8");
    let new = ed25519.to_pkcs8().expect("PKCS #8");
    for key in [rsa.as_ref(), old.as_ref(), new.as_ref()] {
        for offset in 0..3 {
            let shifted = [&b"abc"[..offset], key, b"xyz"].concat();
            let base64 = BASE64.encode(&shifted);
            for text in [&shifted, base64.as_bytes(), hexadecimal(&shifted).as_bytes()] {
                assert!(found(text).is_some(), "{}", String::from_utf8_lossy(text));
            }
        }
    }
}

#[tokio::test]
async fn a_private_key_is_in_no_answer_no_log_and_no_file() {
    if only_on_a_file("it reads all files of the store") {
        return;
    }
    let (dns, mut server) = lab().await;
    let (key, name) = (server.key().to_owned(), "secret.example");
    let account = server.dev_output("accountId").to_owned();
    let mut said = String::new();
    let added = server.add_domain(&key, name).await;
    added.publish(&dns);
    said += &added.0.to_string();
    for verb in ["check", "rotate"] {
        let below = format!("/{name}/{verb}");
        let answer = server.domains(reqwest::Method::POST, &key, &below, &serde_json::Value::Null);
        said += &answer.await.body.to_string();
    }
    for verb in ["show", "records", "check", "rotate"] {
        said += &server.cli(&["domain", verb, "--account", &account, name]).to_string();
        said += &server.cli_text(&["domain", verb, "--account", &account, name]);
    }
    said += &server.cli(&["domain", "list", "--account", &account]).to_string();
    let id = send(&server, &key, name, "ada@example.com").await;
    server.wait_for_mail_to("ada@example.com").await;
    said += &server.message(&id).to_string();
    assert_clean("an answer", said.as_bytes());
    assert!(!said.contains("sealed"), "not even as it is kept");
    let database = Database::of(&server).await;
    assert_eq!(database.number("SELECT count(*) FROM dkim_keys").await, 4);
    assert_files_are_clean(&server);
    // The write-ahead log has become part of the file.
    server.terminate();
    assert_files_are_clean(&server);
    assert_clean("the log", server.log().as_bytes());
}

#[tokio::test]
async fn a_key_that_was_altered_or_moved_in_the_database_signs_nothing() {
    let dns = name_server().await;
    let launch = Launch::asking(&dns).with("delivery", "retry_pauses_s", "[1]");
    let server = Server::start(launch);
    let key = server.key();
    for name in ["mine.example", "other.example"] {
        drop(server.verified_domain(&dns, key, name).await);
    }
    let spoiled = format!(
        "CREATE TABLE kept AS SELECT * FROM dkim_keys;
         UPDATE dkim_keys SET private_key = (SELECT private_key FROM kept
             WHERE kept.domain_id <> dkim_keys.domain_id AND kept.algorithm = dkim_keys.algorithm)
         WHERE domain_id = (SELECT id FROM domains WHERE name = 'mine.example');
         UPDATE dkim_keys SET private_key = {}
         WHERE domain_id = (SELECT id FROM domains WHERE name = 'other.example')
           AND algorithm = 'ed25519-sha256'",
        server.bytes_in_sql(&[0x5a; 100])
    );
    change(&server, &spoiled).await;
    for name in ["mine.example", "other.example"] {
        let id = send(&server, key, name, &format!("ada@{name}")).await;
        let deferred = || async { (server.message(&id)["state"] == "deferred").then_some(()) };
        until_async("it waits for its keys", SOON, deferred).await;
    }
    assert!(server.log().contains("DKIM key cannot be used; deferring mail of the domain"));
    assert!(server.inbox().await.is_empty(), "nothing goes out with one signature or none");
    let mend = "UPDATE dkim_keys SET private_key = (SELECT private_key FROM kept
                    WHERE kept.selector = dkim_keys.selector)";
    change(&server, mend).await;
    for mail in server.wait_for_mails(2).await {
        let raw = String::from_utf8(server.raw_mail(&mail).await).expect("ASCII");
        assert_eq!(raw.matches("DKIM-Signature: ").count(), 2, "{raw}");
    }
}
