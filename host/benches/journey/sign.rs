//! The DKIM signatures of a message: each kind of key, and the hash of a long body.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use waxwing::clock::Timestamp;
use waxwing::mail::dkim::{Algorithm, Signer, SigningKey, sign};

const AT: Timestamp = Timestamp::from_millis(1_782_864_000_000);

pub fn signatures(criterion: &mut Criterion) {
    let [rsa, ed25519] = [Algorithm::Rsa, Algorithm::Ed25519]
        .map(|algorithm| SigningKey::generate(algorithm).expect("a key").key);
    let signer = |key| Signer { domain: "example.com", selector: "wx1", key };
    let mail = message(8 << 10);
    for (name, signers) in [
        ("sign 8 KiB: RSA", &[signer(&rsa)][..]),
        ("sign 8 KiB: Ed25519", &[signer(&ed25519)]),
        ("sign 8 KiB: both", &[signer(&rsa), signer(&ed25519)]),
    ] {
        criterion.bench_function(name, |b| {
            b.iter(|| black_box(sign(black_box(&mail), signers, AT).expect("it is signed")));
        });
    }

    let long = message(40 << 20);
    let mut group = criterion.benchmark_group("sign 40 MiB");
    group.sample_size(10).throughput(Throughput::Bytes(40 << 20));
    let signers = [signer(&rsa), signer(&ed25519)];
    group.bench_function("both", |b| {
        b.iter(|| black_box(sign(black_box(&long), &signers, AT).expect("it is signed")));
    });
}

fn message(octets: usize) -> Vec<u8> {
    let header = "Date: Wed, 01 Jul 2026 00:00:00 +0000\r\nFrom: Shop <shop@example.com>\r\n\
         To: ada@example.net\r\nSubject: Your order\r\nMessage-ID: <1@example.com>\r\n\
         MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n";
    let line = format!("{}\r\n", "QUJD".repeat(19));
    (header.to_owned() + &line.repeat(octets / line.len())).into_bytes()
}
