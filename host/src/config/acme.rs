//! `[acme]`: a certificate from a certificate authority (CA), by ACME (RFC 8555).

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::http::Http;
use super::listen::Listen;
use super::smtp::Smtp;
use super::violations::Violations;
use crate::domain::name::DomainName;
use crate::message::address::EmailAddress;

const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";
/// What Let's Encrypt takes.
const MAX_DOMAINS: usize = 100;

/// `[acme]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Acme {
    /// Whether the server gets its certificate by ACME and renews it, in place of `smtp.certificate`.
    pub enabled: bool,
    /// The directory of the CA.
    pub directory: String,
    /// Whether you agree to the terms of service of the CA; no certificate is ordered without.
    pub terms_agreed: bool,
    /// The e-mail address under which the CA reaches you. The CA gets it when the account there is opened; a later change is
    /// not sent.
    pub contact: Option<EmailAddress>,
    /// The names in the certificate; `smtp.hostname` where the list is empty.
    pub domains: Vec<DomainName>,
    /// How the CA sees that the names are this machine's: `http-01`, by a request to port 80 of each name; `tls-alpn-01`, by
    /// a TLS handshake at port 443 of each name, where `http.tls_listen` listens; or `dns-01`, by a TXT record.
    pub challenge: Challenge,
    /// Where requests of the CA for `http-01` are answered, as in `0.0.0.0:80`, or `off`. They are answered at
    /// `http.listen` in any case. All other requests there are sent on to `http.tls_listen`.
    pub http_listen: Listen,
    /// The program that publishes records for `dns-01`. It is run as `PROGRAM present NAME VALUE`, and ends when the TXT
    /// record can be seen; afterwards as `PROGRAM cleanup NAME VALUE`. It gets the server's environment without `WAXWING_*`.
    pub dns_hook: Option<PathBuf>,
    /// PEM file of further CA certificates, for the HTTPS of a CA of your own.
    pub ca_file: Option<PathBuf>,
}

/// How a name is proven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum Challenge {
    /// By a request of the CA to port 80.
    #[default]
    #[serde(rename = "http-01")]
    Http01,
    /// By a handshake of the CA at port 443.
    #[serde(rename = "tls-alpn-01")]
    TlsAlpn01,
    /// By a TXT record.
    #[serde(rename = "dns-01")]
    Dns01,
}

impl Acme {
    /// The listener for the CA alone, where there is one.
    #[must_use]
    pub fn http_address(&self) -> Option<SocketAddr> {
        if self.enabled { self.http_listen.address() } else { None }
    }

    /// The names in the certificate.
    #[must_use]
    pub fn names(&self, smtp: &Smtp) -> Vec<String> {
        if self.domains.is_empty() {
            smtp.hostname.iter().map(|it| it.as_str().to_owned()).collect()
        } else {
            self.domains.iter().map(|it| it.as_str().to_owned()).collect()
        }
    }

    pub(super) fn check(&self, http: &Http, smtp: &Smtp, violations: &mut Violations<'_>) {
        violations.must_with(
            &["acme.enabled"],
            self.terms_agreed || !self.enabled,
            "acme.terms_agreed: true, after you have read the terms of service of the CA",
        );
        let is_url = url::Url::parse(&self.directory)
            .is_ok_and(|it| it.scheme() == "https" && it.has_host());
        violations.must(is_url, "acme.directory: a URL, as in https://ca.example.net/directory");
        let names = self.names(smtp);
        let is_public = |it: &String| it.contains('.');
        violations.must_with(
            &["acme.enabled", "smtp.hostname"],
            !self.enabled
                || ((1..=MAX_DOMAINS).contains(&names.len()) && names.iter().all(is_public)),
            "acme.domains: up to 100 names, or smtp.hostname with a public name",
        );
        violations.must_with(
            &["smtp.certificate"],
            !self.enabled || smtp.certificate.is_none(),
            "acme.enabled: not beside smtp.certificate, which names a certificate of your own",
        );
        violations.must_with(
            &["acme.challenge", "acme.enabled"],
            !self.enabled || self.challenge != Challenge::Dns01 || self.dns_hook.is_some(),
            "acme.dns_hook: needed with challenge = \"dns-01\"",
        );
        violations.must_with(
            &["http.tls_listen", "acme.enabled"],
            !self.enabled
                || self.challenge != Challenge::TlsAlpn01
                || http.tls_listen.address().is_some(),
            "acme.challenge: \"tls-alpn-01\" needs http.tls_listen, at port 443 of each name",
        );
    }
}

impl Default for Acme {
    fn default() -> Self {
        Self {
            enabled: false,
            directory: LETS_ENCRYPT.to_owned(),
            terms_agreed: false,
            contact: None,
            domains: Vec::new(),
            challenge: Challenge::Http01,
            http_listen: Listen::Off,
            dns_hook: None,
            ca_file: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn faults(toml: &str) -> Vec<String> {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("waxwing.toml");
        std::fs::write(&file, toml).expect("written");
        Config::read(Some(&file), std::iter::empty()).expect("read").faults
    }

    #[test]
    fn a_certificate_is_ordered_only_for_a_name_and_with_the_terms_agreed() {
        let well = "[smtp]\nhostname = \"mail.example.net\"\n\
                    [acme]\nenabled = true\nterms_agreed = true\n";
        assert_eq!(faults(well), [""; 0]);
        let unused = "[acme]\ncontact = \"ops@example.net\"\n";
        assert_eq!(faults(unused), [""; 0], "nothing is ordered");
        let text = "[smtp]\nhostname = \"build-7\"\n\
                    certificate = \"/c.pem\"\nprivate_key = \"/k.pem\"\n\
                    [acme]\nenabled = true\ndirectory = \"http://ca\"\nchallenge = \"dns-01\"\n";
        let found = faults(text);
        for key in ["terms_agreed", "directory", "domains", "enabled", "dns_hook"] {
            let named = format!("acme.{key}: ");
            assert!(found.iter().any(|it| it.starts_with(&named)), "{named} in {found:#?}");
        }
        assert_eq!(found.len(), 5, "{found:#?}");
        let found = faults(&format!("{well}challenge = \"tls-alpn-01\"\n"));
        assert!(found.len() == 1 && found[0].contains("needs http.tls_listen"), "{found:#?}");
    }
}
