//! The customer of a CA: the account, orders and their proofs. What a crash may not lose is on the disk before the CA is
//! asked to act on it.

use std::time::Duration;

use instant_acme::{
    Account, AuthorizationStatus, CertificateIdentifier, ChallengeType, Error, Identifier,
    NewAccount, NewOrder, Order, OrderStatus, Problem, RetryPolicy,
};
use rcgen::{CertificateParams, CertificateSigningRequest, DistinguishedName, KeyPair};
use rustls::pki_types::Der;
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::challenges::Challenges;
use super::dns_hook::{self, Action, TxtRecord};
use super::error::AcmeError;
use super::https::Https;
use super::renewal::Window;
use super::tls_alpn;
use crate::clock::Timestamp;
use crate::config::{Acme, Challenge};
use crate::server::data_dir::DataDir;
use crate::server::tls::Issued;

/// An order with its proofs; programs that publish records take minutes.
const MAX_ORDER_TIME: Duration = Duration::from_mins(15);
const ACCOUNT: &str = "account.json";
const ORDER: &str = "order.json";
/// How often, and for how long, the CA is asked what has become of an order.
const POLLING: RetryPolicy = RetryPolicy::new().timeout(Duration::from_mins(2));
/// The prefix of ACME's error types (RFC 8555 section 6.7).
const ERRORS: &str = "urn:ietf:params:acme:error:";
const UNKNOWN_ACCOUNT: &str = "accountDoesNotExist";
/// Errors after which the same request may succeed.
const TEMPORARY: [&str; 3] = ["badNonce", "rateLimited", "serverInternal"];

/// The customer of a CA.
#[derive(Debug)]
pub(super) struct AcmeClient {
    pub settings: Acme,
    /// The names in the certificate.
    pub names: Vec<String>,
    /// The server's data directory.
    pub data: DataDir,
    pub http: reqwest::Client,
    pub challenges: Challenges,
}

/// An order under way, with the key of its certificate.
#[derive(Deserialize)]
struct KeptOrder {
    directory: String,
    names: Vec<String>,
    url: String,
    key: String,
}

impl AcmeClient {
    /// Orders a certificate, or goes on with an order of before, and keeps what comes. Its answers are taken away again,
    /// whatever comes of it.
    pub async fn order(&self) -> Result<Issued, AcmeError> {
        let mut published = Vec::new();
        let order = Box::pin(self.order_with_account(&mut published));
        let ordered = tokio::time::timeout(MAX_ORDER_TIME, order).await;
        self.clean_up(&published).await;
        ordered.unwrap_or_else(|_| Err(AcmeError::Slow(MAX_ORDER_TIME.as_secs())))
    }

    async fn order_with_account(
        &self,
        published: &mut Vec<TxtRecord>,
    ) -> Result<Issued, AcmeError> {
        match self.try_to_order(published).await {
            // A CA that has lost its accounts, as a new one at the old address has.
            Err(AcmeError::Ca(Error::Api(problem))) if kind(&problem) == UNKNOWN_ACCOUNT => {
                self.forget(ACCOUNT)?;
                self.try_to_order(published).await
            }
            outcome => outcome,
        }
    }

    async fn try_to_order(&self, published: &mut Vec<TxtRecord>) -> Result<Issued, AcmeError> {
        let account = self.account().await?;
        let (mut order, key) = self.order_under_way(&account).await?;
        if order.state().status == OrderStatus::Pending {
            self.prove(&mut order, published).await?;
        }
        if order.state().status == OrderStatus::Ready {
            order.finalize_csr(signing_request(&self.names, &key)?.der()).await?;
        }
        let chain = order.poll_certificate(&POLLING).await?;
        let issued = Issued::keep(&self.data, &self.settings.directory, (&chain, &key))?;
        self.forget(ORDER)?;
        if issued.covers(&self.names) {
            Ok(issued)
        } else {
            Err(AcmeError::OtherNames(self.names.join(", ")))
        }
    }

    /// When the CA suggests to renew a certificate, and when to ask again; none where it suggests nothing.
    pub async fn suggested_window(
        &self,
        issued: &Issued,
    ) -> Result<Option<(Window, Duration)>, AcmeError> {
        let Some((key, serial_number)) = issued.identifier() else { return Ok(None) };
        let identifier =
            CertificateIdentifier::new(Der::from_slice(key), Der::from_slice(serial_number));
        match self.account().await?.renewal_info(&identifier).await {
            Ok((info, again)) => {
                let window = info.suggested_window;
                let window = Window { start: moment(window.start), end: moment(window.end) };
                Ok(Some((window, again)))
            }
            Err(Error::Unsupported(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The account at this CA, opened where there is none.
    async fn account(&self) -> Result<Account, AcmeError> {
        let builder = Account::builder_with_http(Box::new(Https(self.http.clone())));
        let directory = self.settings.directory.as_str();
        let kept = self.kept(ACCOUNT)?.filter(|it| it["directory"] == directory);
        if let Some(credentials) = kept.and_then(|it| serde_json::from_value(it).ok()) {
            return Ok(builder.from_credentials(credentials).await?);
        }
        let contact = self.settings.contact.as_ref().map(|it| format!("mailto:{it}"));
        let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
        let wanted = NewAccount {
            contact: &contact,
            terms_of_service_agreed: self.settings.terms_agreed,
            only_return_existing: false,
        };
        let (account, credentials) = builder.create(&wanted, directory.to_owned(), None).await?;
        let credentials = serde_json::to_vec(&credentials).map_err(Error::Json)?;
        self.data.acme()?.write_private(ACCOUNT, &credentials)?;
        Ok(account)
    }

    /// The order that is under way, else a new one; with the key of its certificate.
    async fn order_under_way(&self, account: &Account) -> Result<(Order, String), AcmeError> {
        let kept = self.kept(ORDER)?.and_then(|it| serde_json::from_value::<KeptOrder>(it).ok());
        let directory = &self.settings.directory;
        let is_this = |it: &KeptOrder| it.names == self.names && it.directory == *directory;
        if let Some(kept) = kept.filter(is_this) {
            match account.order(kept.url).await {
                Ok(mut order) => {
                    if order.state().status != OrderStatus::Invalid {
                        return Ok((order, kept.key));
                    }
                }
                Err(Error::Api(problem)) if ends_an_order(&problem) => {
                    tracing::info!(error = %problem, "the CA does not continue the certificate order that was under way; placing a new order");
                }
                Err(error) => return Err(error.into()),
            }
        }
        let identifiers: Vec<Identifier> =
            self.names.iter().cloned().map(Identifier::Dns).collect();
        let order = account.new_order(&NewOrder::new(&identifiers)).await?;
        let key = KeyPair::generate()?.serialize_pem();
        let kept =
            json!({"directory": directory, "names": self.names, "url": order.url(), "key": key});
        self.data.acme()?.write_private(ORDER, kept.to_string().as_bytes())?;
        Ok((order, key))
    }

    /// Answers a challenge for each name, and waits until the CA has seen the answers. Records that were published are
    /// noted, whatever comes of it.
    async fn prove(
        &self,
        order: &mut Order,
        published: &mut Vec<TxtRecord>,
    ) -> Result<(), AcmeError> {
        let (kind, kind_name) = match self.settings.challenge {
            Challenge::Http01 => (ChallengeType::Http01, "http-01"),
            Challenge::TlsAlpn01 => (ChallengeType::TlsAlpn01, "tls-alpn-01"),
            Challenge::Dns01 => (ChallengeType::Dns01, "dns-01"),
        };
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization?;
            if authorization.status != AuthorizationStatus::Pending {
                continue;
            }
            let name = authorization.identifier().to_string();
            let Some(mut challenge) = authorization.challenge(kind.clone()) else {
                return Err(AcmeError::NoChallenge { challenge: kind_name, name });
            };
            let answer = challenge.key_authorization();
            match (self.settings.challenge, &self.settings.dns_hook) {
                (Challenge::Dns01, Some(hook)) => {
                    let name = format!("_acme-challenge.{name}");
                    published.push(TxtRecord { name, value: answer.dns_value() });
                    if let Some(record) = published.last() {
                        dns_hook::run(hook, Action::Present, record).await?;
                    }
                }
                (Challenge::TlsAlpn01, _) => {
                    let certificate = tls_alpn::certificate(&name, answer.digest().as_ref())?;
                    self.challenges.put_certificate(&name, certificate);
                }
                (Challenge::Http01, _) | (Challenge::Dns01, None) => {
                    self.challenges.put(&challenge.token, answer.as_str());
                }
            }
            challenge.set_ready().await?;
        }
        match order.poll_ready(&POLLING).await {
            Ok(OrderStatus::Ready) => Ok(()),
            Ok(_) | Err(Error::Api(_)) => Err(AcmeError::Unproven(refusals(order).await)),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes the answers away again. What stays in DNS harms nobody.
    async fn clean_up(&self, published: &[TxtRecord]) {
        self.challenges.clear();
        let Some(hook) = &self.settings.dns_hook else { return };
        for record in published {
            if let Err(error) = dns_hook::run(hook, Action::CleanUp, record).await {
                tracing::warn!(%error, "the DNS hook did not remove the TXT record of an ACME challenge; remove the record by hand");
            }
        }
    }

    /// What is in a file that is kept; none where it is not there, or cut off.
    fn kept(&self, name: &str) -> Result<Option<Value>, AcmeError> {
        let file = self.data.acme()?.file(name);
        Ok(std::fs::read(file).ok().and_then(|it| serde_json::from_slice(&it).ok()))
    }

    fn forget(&self, name: &str) -> Result<(), AcmeError> {
        let file = self.data.acme()?.file(name);
        // It may be gone; a file that stays is read again, and the CA says what it thinks of it.
        drop(std::fs::remove_file(file));
        Ok(())
    }
}

/// The type of an error without its prefix.
fn kind(problem: &Problem) -> &str {
    problem.r#type.as_deref().and_then(|it| it.strip_prefix(ERRORS)).unwrap_or_default()
}

/// Whether a CA that answers so has no use for the order that it was asked about. What passes is no reason to throw away an
/// order and its key, and an unknown account is opened anew first.
fn ends_an_order(problem: &Problem) -> bool {
    let kind = kind(problem);
    let passes =
        problem.status.is_some_and(|it| it == 429 || it >= 500) || TEMPORARY.contains(&kind);
    !passes && kind != UNKNOWN_ACCOUNT
}

/// Why the CA has not seen the answers, name by name.
async fn refusals(order: &mut Order) -> String {
    let mut reasons = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let name = authorization.identifier().to_string();
        let Ok(state) = authorization.refresh().await else { continue };
        let problems = state.challenges.iter().filter_map(|it| it.error.as_ref());
        reasons.extend(problems.map(|it| {
            let detail = it.detail.clone().unwrap_or_else(|| it.to_string());
            format!("{name}: {detail}")
        }));
    }
    if reasons.is_empty() { "the CA does not say why".to_owned() } else { reasons.join("; ") }
}

fn signing_request(names: &[String], key: &str) -> Result<CertificateSigningRequest, rcgen::Error> {
    let key = KeyPair::from_pem(key)?;
    let mut params = CertificateParams::new(names.to_vec())?;
    // The names stand in the extension for them.
    params.distinguished_name = DistinguishedName::new();
    params.serialize_request(&key)
}

fn moment(time: OffsetDateTime) -> Timestamp {
    Timestamp::from_millis(time.unix_timestamp() * 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::acme::https_client;

    #[tokio::test]
    async fn an_order_that_fails_leaves_no_answers() {
        let directory = tempfile::tempdir().expect("a directory");
        let unreachable = "https://127.0.0.1:1/directory".to_owned();
        let settings = Acme { enabled: true, directory: unreachable, ..Acme::default() };
        let client = AcmeClient {
            http: https_client(&settings).expect("a client"),
            settings,
            names: vec!["mail.example.net".to_owned()],
            data: DataDir::open(directory.path()).expect("a data directory"),
            challenges: Challenges::default(),
        };
        client.challenges.put("token", "answer");
        assert!(matches!(client.order().await, Err(AcmeError::Ca(_))));
        assert_eq!(client.challenges.authorization("token"), None);
    }

    #[test]
    fn a_busy_or_broken_ca_leaves_an_order_and_its_key() {
        let ends = |kind: &str, status: Option<u16>| {
            let problem = json!({"type": format!("{ERRORS}{kind}"), "status": status});
            ends_an_order(&serde_json::from_value(problem).expect("a problem"))
        };
        for (kind, status) in [
            ("rateLimited", Some(429)),
            ("rateLimited", None),
            ("serverInternal", Some(500)),
            ("malformed", Some(503)),
            ("badNonce", Some(400)),
            ("accountDoesNotExist", Some(400)),
        ] {
            assert!(!ends(kind, status), "{kind} {status:?}");
        }
        for (kind, status) in [("malformed", Some(404)), ("unauthorized", Some(403))] {
            assert!(ends(kind, status), "{kind} {status:?}");
        }
    }
}
