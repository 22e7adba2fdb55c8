//! Fetches a policy from its domain's policy host (RFC 8461 section 3.3): HTTPS with a certificate that
//! is valid for it, no redirects, and nothing that is large, slow or inside this machine's network.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy as Redirects;
use reqwest::{Client, Response, StatusCode};
use rustls::ClientConfig;
use tokio::sync::Semaphore;

use super::addresses::{AddressFamilies, AddressLookup, addresses};
use crate::dns::{Reach, Resolver};
use crate::mail::mta_sts::{InvalidPolicy, StsPolicy};

/// Octets of a policy, at most: the limit that RFC 8461 section 3.3 suggests.
const MAX_POLICY_BYTES: usize = 64 << 10;
/// Parallel fetches, at most; further ones wait for a permit.
const MAX_PARALLEL_FETCHES: usize = 32;
const HTTPS: u16 = 443;
const MEDIA_TYPE: &str = "text/plain";

/// How policies are fetched.
#[derive(Debug, Clone)]
pub struct StsFetchSettings {
    /// The addresses that a policy host may have.
    pub reach: Reach,
    /// The port of all policy hosts: 443, except in tests.
    pub port: u16,
    /// For one fetch, from the DNS query to the last byte; the wait for a permit is not counted.
    pub timeout: Duration,
}

/// Fetches policies.
#[derive(Debug)]
pub struct StsPolicyFetcher {
    client: Client,
    port: u16,
    permits: Semaphore,
}

#[derive(Debug, thiserror::Error)]
pub enum StsFetchError {
    #[error("the request to the policy host failed")]
    Request(#[from] reqwest::Error),
    #[error("the policy host answered with status {0}")]
    Status(StatusCode),
    #[error("the policy is not text/plain")]
    MediaType,
    #[error("the policy is larger than 64 KiB")]
    TooLarge,
    #[error("the policy is not valid")]
    Invalid(#[from] InvalidPolicy),
}

/// Resolves policy hosts with the server's resolver, and lets through only addresses within `reach` (against SSRF).
#[derive(Debug)]
struct PolicyHostResolver {
    resolver: Resolver,
    reach: Reach,
}

/// A policy host without an address that may be connected to.
#[derive(Debug, thiserror::Error)]
enum NoAddress {
    #[error("the host has no address")]
    Nothing,
    #[error("the host has no public address")]
    OutOfReach,
    #[error("the host's addresses cannot be looked up: {0}")]
    Unknown(&'static str),
}

impl Default for StsFetchSettings {
    fn default() -> Self {
        Self { reach: Reach::default(), port: HTTPS, timeout: Duration::from_secs(10) }
    }
}

impl StsPolicyFetcher {
    /// Sends no request yet. `tls` holds the trusted certificate authorities.
    ///
    /// # Errors
    /// `tls` cannot be used for HTTPS.
    pub fn new(
        resolver: Resolver,
        tls: ClientConfig,
        settings: &StsFetchSettings,
    ) -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(PolicyHostResolver { resolver, reach: settings.reach })
            .redirect(Redirects::none())
            .https_only(true)
            .http1_only()
            .no_proxy()
            .referer(false)
            .pool_max_idle_per_host(0)
            .timeout(settings.timeout)
            .build()?;
        Ok(Self { client, port: settings.port, permits: Semaphore::new(MAX_PARALLEL_FETCHES) })
    }

    /// The policy of a domain as its policy host gives it.
    pub async fn fetch(&self, domain: &str) -> Result<StsPolicy, StsFetchError> {
        // The semaphore is never closed. An error would mean no limit, not a failed fetch.
        let _permit = self.permits.acquire().await;
        let port = self.port;
        let url = format!("https://mta-sts.{domain}:{port}/.well-known/mta-sts.txt");
        let request = self.client.get(url).header(reqwest::header::ACCEPT, MEDIA_TYPE);
        let response = request.send().await?;
        if response.status() != StatusCode::OK {
            return Err(StsFetchError::Status(response.status()));
        }
        if !is_text(&response) {
            return Err(StsFetchError::MediaType);
        }
        Ok(StsPolicy::parse(&body(response).await?)?)
    }
}

impl StsFetchError {
    /// The error with all its sources, for the log.
    #[must_use]
    pub fn in_full(&self) -> String {
        let mut words = self.to_string();
        let mut source = self.source();
        while let Some(error) = source {
            words = format!("{words}: {error}");
            source = error.source();
        }
        words
    }
}

impl Resolve for PolicyHostResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (resolver, reach) = (self.resolver.clone(), self.reach);
        Box::pin(async move {
            match addresses(&resolver, name.as_str(), AddressFamilies::Both, reach).await {
                AddressLookup::Addresses(addresses, _) => {
                    let addresses = addresses.into_iter().map(|it| SocketAddr::new(it, 0));
                    Ok(Box::new(addresses) as Addrs)
                }
                AddressLookup::Nothing => Err(NoAddress::Nothing.into()),
                AddressLookup::OutOfReach => Err(NoAddress::OutOfReach.into()),
                AddressLookup::Unknown(failure) => Err(NoAddress::Unknown(failure).into()),
            }
        })
    }
}

fn is_text(response: &Response) -> bool {
    let value = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let media_type = value.and_then(|it| it.split(';').next()).unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case(MEDIA_TYPE)
}

async fn body(mut response: Response) -> Result<Vec<u8>, StsFetchError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > MAX_POLICY_BYTES {
            return Err(StsFetchError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
