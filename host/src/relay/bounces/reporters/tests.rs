//! Whose report counts without a proof.

use std::num::NonZeroU32;
use std::time::Duration;

use waxwing_dns::{DnsServer, Fault};

use super::*;
use crate::clock::Timestamp;
use crate::dns::Settings;
use crate::mail::dkim::{Algorithm, Signer, SigningKey, sign};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const STRANGER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 7));

/// A resolver whose name server nobody runs.
pub(in crate::relay::bounces) fn unasked(clock: &Clock) -> Resolver {
    resolver(([127, 0, 0, 1], 9).into(), clock)
}

fn resolver(server: std::net::SocketAddr, clock: &Clock) -> Resolver {
    let settings = Settings {
        nameservers: vec![server],
        timeout: Duration::from_secs(5),
        tries: 1,
        concurrent: 8,
        per_second: NonZeroU32::new(1_000).expect("not zero"),
    };
    Resolver::new(&settings, clock.clone()).expect("a server is named")
}

struct Lab {
    dns: DnsServer,
    key: SigningKey,
    reporters: Reporters,
}

impl Lab {
    async fn naming(names: &[&str]) -> Self {
        let dns = DnsServer::start().await;
        let key = SigningKey::generate(Algorithm::Ed25519).expect("a key").key;
        let record = format!("v=DKIM1; k=ed25519; p={}", key.public_base64());
        for domain in ["hotmail.example", "arf.mail.yahoo.example", "example.org"] {
            dns.txt(&format!("s._domainkey.{domain}"), &record);
        }
        let clock = Clock::manual(NOW);
        let reporters = Reporters {
            named: names.iter().map(|it| it.parse().expect("a reporter")).collect(),
            networks: Vec::new(),
            feedback: vec!["fbl@mail.example.com".parse().expect("an address")],
            resolver: resolver(dns.address(), &clock),
            clock,
        };
        Self { dns, key, reporters }
    }

    fn signed(&self, from: &str, to: &str, domain: &str) -> String {
        let report = format!("From: {from}\r\nTo: {to}\r\nSubject: x\r\n\r\nA complaint.\r\n");
        let signer = Signer { domain, selector: "s", key: &self.key };
        let field = sign(report.as_bytes(), &[signer], NOW).expect("signed");
        String::from_utf8(field).expect("ASCII") + &report
    }

    async fn vouches(&self, report: &str) -> bool {
        self.reporters.vouch(report.as_bytes(), STRANGER).await.expect("the key can be seen")
    }
}

const US: &str = "Waxwing <fbl@mail.example.com>";

#[tokio::test]
async fn a_reporter_is_whoever_signs_as_the_address_or_the_domain_that_is_named() {
    let lab = Lab::naming(&["staff@hotmail.example", "arf.mail.yahoo.example"]).await;
    let by = |from: &str, domain: &str| lab.signed(from, US, domain);
    assert!(lab.vouches(&by("staff@hotmail.example", "hotmail.example")).await);
    assert!(
        lab.vouches(&by("Y <feedback@arf.mail.yahoo.example>", "arf.mail.yahoo.example")).await
    );
    // A user of that provider, whose mail it signs as well.
    assert!(!lab.vouches(&by("eve@hotmail.example", "hotmail.example")).await);
    assert!(!lab.vouches(&by("staff@hotmail.example", "example.org")).await);
    assert!(!lab.vouches(&by("eve@example.org", "arf.mail.yahoo.example")).await);
    let forged = by("staff@hotmail.example", "hotmail.example").replace("complaint", "forgery");
    assert!(!lab.vouches(&forged).await);
    assert!(!lab.vouches("From: staff@hotmail.example\r\n\r\nx\r\n").await);
}

#[tokio::test]
async fn a_report_to_somebody_else_is_not_taken_a_second_time_here() {
    let lab = Lab::naming(&["staff@hotmail.example"]).await;
    let to = |to: &str| lab.signed("staff@hotmail.example", to, "hotmail.example");
    assert!(lab.vouches(&to("fbl@mail.example.com")).await);
    assert!(!lab.vouches(&to("fbl@eve.example")).await);
}

#[tokio::test]
async fn only_the_keys_of_named_reporters_are_looked_up() {
    let lab = Lab::naming(&["staff@hotmail.example"]).await;
    assert!(!lab.vouches(&lab.signed("eve@example.org", US, "example.org")).await);
    assert_eq!(lab.dns.query_count(), 0);
}

#[tokio::test]
async fn a_key_that_cannot_be_seen_now_makes_the_report_come_again() {
    let lab = Lab::naming(&["staff@hotmail.example"]).await;
    lab.dns.fault_everything(Some(Fault::ServFail));
    let report = lab.signed("staff@hotmail.example", US, "hotmail.example");
    assert!(lab.reporters.vouch(report.as_bytes(), STRANGER).await.is_err());
}
