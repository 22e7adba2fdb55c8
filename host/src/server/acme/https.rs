//! HTTPS to the CA.

use std::error::Error as StdError;
use std::pin::Pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use reqwest::redirect::Policy;
use reqwest::{Client, Request};

const REQUEST_TIME: Duration = Duration::from_secs(30);
/// Chains of certificates and problems have some kilobytes.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The CA's front, as the library wants one.
#[derive(Debug)]
pub(super) struct Https(pub Client);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error("{url} cannot be reached: {cause}")]
    Unreachable { url: String, cause: String },
    #[error("{0} answers more than 1 MiB")]
    TooLarge(String),
}

/// Trusts by `tls`, and follows no redirect.
pub(super) fn client(tls: rustls::ClientConfig) -> reqwest::Result<Client> {
    Client::builder()
        .tls_backend_preconfigured(tls)
        .https_only(true)
        .redirect(Policy::none())
        .referer(false)
        .no_proxy()
        .http1_only()
        .timeout(REQUEST_TIME)
        .build()
}

impl HttpClient for Https {
    fn request(
        &self,
        request: http::Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let client = self.0.clone();
        Box::pin(async move {
            let url = request.uri().to_string();
            exchange(&client, request)
                .await
                .map_err(|error| {
                    let first: Option<&(dyn StdError + 'static)> = error.source();
                    let causes = std::iter::successors(first, |it| (**it).source());
                    let cause =
                        causes.last().map_or_else(|| error.to_string(), ToString::to_string);
                    Error::Other(Box::new(NoAnswer::Unreachable { url: url.clone(), cause }))
                })?
                .ok_or_else(|| Error::Other(Box::new(NoAnswer::TooLarge(url))))
        })
    }
}

/// None where the answer is too large.
async fn exchange(
    client: &Client,
    request: http::Request<BodyWrapper<Bytes>>,
) -> reqwest::Result<Option<BytesResponse>> {
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await;
    let request = Request::try_from(http::Request::from_parts(parts, body.to_bytes()))?;
    let mut response = client.execute(request).await?;
    let mut answer = http::Response::new(());
    *answer.status_mut() = response.status();
    *answer.headers_mut() = response.headers().clone();
    let mut read = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        if read.len() + chunk.len() > MAX_ANSWER_BYTES {
            return Ok(None);
        }
        read.extend_from_slice(&chunk);
    }
    let (parts, ()) = answer.into_parts();
    Ok(Some(BytesResponse { parts, body: Box::new(read.freeze()) }))
}
