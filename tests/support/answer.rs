//! Every answer that a test gets is held against the contract: its identifier, the one shape of a
//! refusal, and that the API's own document knows its status.

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::openapi;
use crate::server::Server;

/// What the server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// The body; null where it is no JSON.
    pub body: Value,
}

impl Answer {
    /// A header's text; none where it is missing.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The refusal's code, or nothing.
    #[must_use]
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    /// The fields of a refusal's faults, in order.
    #[must_use]
    pub fn faulty_fields(&self) -> Vec<&str> {
        let errors = self.body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        errors.iter().filter_map(|error| error["field"].as_str()).collect()
    }

    /// The identifier of an accepted message.
    ///
    /// # Panics
    /// It was not accepted.
    #[expect(clippy::must_use_candidate, reason = "often only the assertion is wanted")]
    pub fn message_id(&self) -> String {
        assert_eq!(self.status, 201, "accepted: {}", self.body);
        assert_eq!(self.body["success"], true, "{}", self.body);
        let id = self.body["messageId"].as_str().expect("a messageId");
        assert!(id.starts_with("msg_") && id.len() == 30, "prefix and ULID: {id}");
        assert!(self.body["creditsRemaining"].is_i64(), "{}", self.body);
        id.to_owned()
    }

    /// Asserts a refusal with that status and code.
    ///
    /// # Panics
    /// It is another answer.
    #[track_caller]
    pub fn assert_refused(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code()), (status, code), "{}", self.body);
    }

    /// Asserts a `BAD_REQUEST` for these fields, in any order.
    ///
    /// # Panics
    /// It is another answer.
    #[track_caller]
    pub fn assert_faults(&self, fields: &[&str]) {
        self.assert_refused(400, "BAD_REQUEST");
        let (mut found, mut wanted) = (self.faulty_fields(), fields.to_vec());
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{}", self.body);
    }

    /// What every answer of the API promises.
    #[track_caller]
    pub(crate) fn hold_to_contract(&self) {
        let id = self.header("x-request-id").expect("every answer carries X-Request-Id");
        assert!(id.starts_with("req_"), "{id}");
        if self.status < 400 {
            return;
        }
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.body);
        assert_problem(&self.body, self.status);
        assert_eq!(self.body["requestId"], id, "the header and the body name one request");
        assert_eq!(self.header("www-authenticate").is_some(), self.status == 401);
        // A conflict with what the server runs now does not pass with time.
        if matches!(self.status, 429 | 409 | 503) && self.code() != "CONFLICT" {
            let retry_after = self.header("retry-after").and_then(|text| text.parse::<u64>().ok());
            assert!(retry_after.is_some(), "{} says when to try again", self.status);
        }
    }
}

/// The flat shape of every refusal: RFC 9457 and our members.
///
/// # Panics
/// It has another shape.
#[track_caller]
pub fn assert_problem(body: &Value, status: u16) {
    for name in ["type", "title", "detail", "instance", "code", "message", "requestId"] {
        let text = body[name].as_str();
        assert!(text.is_some_and(|text| !text.is_empty()), "`{name}` is missing in {body}");
    }
    assert_eq!(body["status"], json!(status), "{body}");
    assert_eq!(body["success"], json!(false), "{body}");
    assert_eq!(body["message"], body["detail"], "{body}");
    let code = body["code"].as_str().unwrap_or_default();
    assert!(code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{body}");
    if code == "BAD_REQUEST" && body.get("errors").is_some() {
        for error in body["errors"].as_array().expect("`errors` is a list") {
            for name in ["field", "code", "message"] {
                assert!(error[name].is_string(), "a fault has `{name}`: {body}");
            }
        }
    }
}

impl Server {
    /// Sends a message with a key.
    pub async fn send(&self, key: &str, message: &Value) -> Answer {
        self.post("/messages/send", key, message, &[]).await
    }

    pub async fn send_batch(&self, key: &str, messages: &Value) -> Answer {
        self.post("/messages/send/batch", key, messages, &[]).await
    }

    /// Sends a message with an idempotency key.
    pub async fn send_once(&self, key: &str, message: &Value, once: &str) -> Answer {
        self.post("/messages/send", key, message, &[("idempotency-key", once)]).await
    }

    /// Posts JSON with further headers.
    pub async fn post(
        &self,
        path: &str,
        key: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Answer {
        let mut request = self.request(Method::POST, path).header("x-api-key", key).json(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.answer(request).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.answer(self.request(Method::GET, path)).await
    }

    /// Gets a path with a key.
    pub async fn get_as(&self, key: &str, path: &str) -> Answer {
        self.answer(self.request(Method::GET, path).header("x-api-key", key)).await
    }

    /// Begins a request to a path.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url()))
    }

    /// Sends a request, and holds its answer against the contract.
    ///
    /// # Panics
    /// There is no answer, or it breaks the contract.
    pub async fn answer(&self, request: RequestBuilder) -> Answer {
        self.try_answer(request).await.expect("the server answers")
    }

    /// The same where the server may be gone.
    pub async fn try_answer(&self, request: RequestBuilder) -> Result<Answer, reqwest::Error> {
        let (client, request) = request.build_split();
        let request = request?;
        let (method, path) = (request.method().clone(), request.url().path().to_owned());
        let response = client.execute(request).await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await?;
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        let answer = Answer { status, headers, body };
        answer.hold_to_contract();
        if let Ok(document) = self.openapi().await {
            openapi::assert_documented(document, &method, &path, status);
        }
        Ok(answer)
    }
}
