//! One attempt: a POST over HTTP/1.1 that follows no redirect, waits a bounded time and reads a
//! bounded response.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use http::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};

use super::guard::{Guard, Schemes};
use super::resolver::{GuardedResolver, NoAddress};
use crate::clock::{Clock, Timestamp};
use crate::dns::Resolver;
use crate::message::line::printable_lines;
use crate::store::WebhookAttempt;

const USER_AGENT: &str = concat!("Waxwing/", env!("CARGO_PKG_VERSION"), " (webhooks)");
/// Bytes of a response that are read, and that are logged, at most.
const MAX_READ: usize = 4 << 10;
const MAX_LOGGED: usize = 1 << 10;
const POOL_IDLE: Duration = Duration::from_secs(30);
const MAX_IDLE_PER_HOST: usize = 8;

#[derive(Debug, Clone)]
pub struct Poster {
    client: Client,
    guard: Arc<Guard>,
    clock: Clock,
    time: Duration,
}

#[derive(Debug, thiserror::Error)]
#[error("webhooks cannot be posted: {0}")]
pub struct NoClient(#[from] reqwest::Error);

#[derive(Debug, Clone, Copy)]
pub struct WebhookRequest<'a> {
    /// The header `webhook-id`.
    pub id: &'a str,
    /// The header `webhook-timestamp`.
    pub timestamp: i64,
    /// The header `webhook-signature`.
    pub signature: &'a str,
    pub body: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// None where there was no response.
    pub status: Option<u16>,
    /// Why the event was not accepted; none where it was.
    pub error: Option<String>,
    pub took: Duration,
    pub response: String,
    /// From `Retry-After`.
    pub retry_after: Option<Duration>,
}

impl Poster {
    /// Looks names up with `resolver`, trusts by `tls`, and ends an attempt after `time`.
    pub fn new(
        guard: Arc<Guard>,
        resolver: Resolver,
        tls: rustls::ClientConfig,
        time: Duration,
        clock: Clock,
    ) -> Result<Self, NoClient> {
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .https_only(guard.schemes == Schemes::Https)
            .dns_resolver(GuardedResolver::new(resolver, Arc::clone(&guard)))
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .http1_only()
            .user_agent(USER_AGENT)
            .timeout(time)
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(MAX_IDLE_PER_HOST)
            .build()?;
        Ok(Self { client, guard, clock, time })
    }

    /// How long an attempt may take.
    #[must_use]
    pub fn time_limit(&self) -> Duration {
        self.time
    }

    pub async fn post(&self, url: &str, request: WebhookRequest<'_>) -> Reply {
        let start = Instant::now();
        let nothing = |error: String| Reply {
            status: None,
            error: Some(error),
            took: start.elapsed(),
            response: String::new(),
            retry_after: None,
        };
        // Checked again: the operator's rules may have changed since the URL was set.
        let url = match self.guard.check_url(url) {
            Ok(url) => url,
            Err(error) => return nothing(format!("the URL {error}")),
        };
        let mut response = match self.send(url, request).await {
            Ok(response) => response,
            Err(error) => return nothing(self.explain(&error)),
        };
        let status = response.status();
        let retry_after = retry_after(response.headers(), self.clock.now());
        let read = read(&mut response).await;
        let error = if status.is_success() {
            None
        } else if status.is_redirection() {
            Some(format!("{status}: a redirect is not followed; change the URL"))
        } else {
            Some(format!("the endpoint answered {status}"))
        };
        Reply {
            status: Some(status.as_u16()),
            error,
            took: start.elapsed(),
            response: excerpt(&read),
            retry_after: retry_after.filter(|_| matches!(status.as_u16(), 429 | 503)),
        }
    }

    async fn send(
        &self,
        url: Url,
        request: WebhookRequest<'_>,
    ) -> Result<Response, reqwest::Error> {
        self.client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", request.id)
            .header("webhook-timestamp", request.timestamp.to_string())
            .header("webhook-signature", request.signature)
            .body(request.body.to_owned())
            .send()
            .await
    }

    fn explain(&self, error: &reqwest::Error) -> String {
        let first: Option<&(dyn Error + 'static)> = error.source();
        let causes = || std::iter::successors(first, |it: &&(dyn Error + 'static)| (*it).source());
        if let Some(no_address) = causes().find_map(|it| it.downcast_ref::<NoAddress>()) {
            return no_address.to_string();
        }
        if error.is_timeout() {
            return format!("no answer within {} s", self.time.as_secs());
        }
        let root = causes().last().map_or_else(|| error.to_string(), ToString::to_string);
        let what = if error.is_connect() { "cannot connect" } else { "the connection broke" };
        format!("{what}: {root}")
    }
}

impl Reply {
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.error.is_none()
    }

    /// An attempt that was not made, because the event could not be signed.
    #[must_use]
    pub fn not_made(why: &impl ToString) -> Self {
        let (error, took) = (Some(why.to_string()), Duration::ZERO);
        Self { status: None, error, took, response: String::new(), retry_after: None }
    }

    #[must_use]
    pub fn attempt(&self, at: Timestamp) -> WebhookAttempt {
        WebhookAttempt {
            at: at.rfc3339(),
            status: self.status,
            error: self.error.clone(),
            millis: u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
            response: self.response.clone(),
        }
    }
}

/// The beginning of a response. Only the status decides, so a body that breaks off is merely logged
/// shorter.
async fn read(response: &mut Response) -> Vec<u8> {
    let mut read = Vec::new();
    while read.len() < MAX_READ {
        match response.chunk().await {
            Ok(Some(chunk)) => read.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    read
}

/// The beginning of a response as it is safe to show: its author is a stranger.
fn excerpt(read: &[u8]) -> String {
    printable_lines(&String::from_utf8_lossy(read.get(..MAX_LOGGED).unwrap_or(read)))
}

/// RFC 9110 section 10.2.3: seconds, or a date. A number that is too large asks for the longest pause.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let at = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(now.until(Timestamp::from_millis(0).after(at)))
}
