//! The DKIM signatures of a message of 8 KiB: by RSA with 2048 bits, and by Ed25519.

use std::fs;
use std::path::Path;

use waxwing::mail::dkim::{Algorithm, Signer, SigningKey, sign as signed};

use super::NOW;
use crate::rounds::Rounds;

pub fn sign(rounds: &mut Rounds, directory: &Path) {
    let mail = message();
    for (name, algorithm) in [("sign-ed25519", Algorithm::Ed25519), ("sign-rsa", Algorithm::Rsa)] {
        let key = &key(algorithm, directory);
        let signers = [Signer { domain: "example.com", selector: "wx1", key }];
        rounds.run(name, || (), |()| signed(&mail, &signers, NOW).expect("it is signed"));
    }
}

/// To find the primes of an RSA key takes long under callgrind, and each time another time.
fn key(algorithm: Algorithm, directory: &Path) -> SigningKey {
    let file = directory.join(format!("{algorithm}.pkcs8"));
    let pkcs8 = fs::read(&file).unwrap_or_else(|_| {
        let generated = SigningKey::generate(algorithm).expect("a key");
        fs::write(&file, &*generated.pkcs8).expect("the key is kept");
        generated.pkcs8.to_vec()
    });
    SigningKey::from_pkcs8(algorithm, &pkcs8).expect("the key is read")
}

fn message() -> Vec<u8> {
    let header = "Date: Wed, 01 Jul 2026 00:00:00 +0000\r\nFrom: Shop <shop@example.com>\r\n\
         To: ada@example.net\r\nSubject: Your order\r\nMessage-ID: <1@example.com>\r\n\
         MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n";
    let line = format!("{}\r\n", "QUJD".repeat(19));
    (header.to_owned() + &line.repeat((8 << 10) / line.len())).into_bytes()
}
