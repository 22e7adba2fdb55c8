//! Webhooks: a server that may post to this machine, and what its API says of them.

use reqwest::Method;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::launch::Launch;
use crate::openapi::assert_documented;
use crate::receiver::Receiver;
use crate::server::Server;

const WEBHOOKS: &str = "/v1/webhooks";

/// A webhook as it was made.
#[derive(Debug, Clone)]
pub struct Webhook {
    /// `whk_…`
    pub id: String,
    /// `whsec_…`
    pub secret: String,
}

impl Launch {
    /// `dev` that posts to endpoints on this machine, over HTTP.
    #[must_use]
    pub fn posting_here() -> Self {
        Self::dev().with("webhooks", "allow_http", "true").with(
            "webhooks",
            "allow_private",
            r#"["127.0.0.1/32"]"#,
        )
    }
}

impl Server {
    /// A request below `/v1/webhooks`, as `POST` of `/whk_…/test`. The status is one that the API's own
    /// document knows.
    ///
    /// # Panics
    /// It is another one.
    pub async fn webhooks(&self, method: Method, key: &str, below: &str, body: &Value) -> Answer {
        let request = self.request(method.clone(), &format!("{WEBHOOKS}{below}"));
        let request = request.header("x-api-key", key);
        let with_body = request.try_clone().expect("no body yet").json(body);
        let answer = self.answer(if body.is_null() { request } else { with_body }).await;
        let steps = below.split('?').next().unwrap_or_default().split('/').enumerate();
        let steps: Vec<&str> = steps
            .map(|(place, step)| match place {
                1 => "{webhook}",
                3 => "{delivery}",
                _ => step,
            })
            .collect();
        let document = self.openapi().await.expect("a document");
        let path = format!("{WEBHOOKS}{}", steps.join("/"));
        assert!(document["paths"][&path].is_object(), "{path} is not documented");
        assert_documented(document, &method, &path, answer.status);
        answer
    }

    /// Makes a webhook that wants these types; none means all.
    ///
    /// # Panics
    /// It is refused.
    pub async fn make_webhook(&self, key: &str, receiver: &Receiver, types: &[&str]) -> Webhook {
        let body = json!({"url": receiver.url(), "types": types});
        let answer = self.webhooks(Method::POST, key, "", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        let text = |name: &str| answer.body[name].as_str().expect("a text").to_owned();
        Webhook { id: text("id"), secret: text("secret") }
    }

    /// A webhook as it is now.
    ///
    /// # Panics
    /// There is none.
    pub async fn webhook(&self, key: &str, id: &str) -> Value {
        let answer = self.webhooks(Method::GET, key, &format!("/{id}"), &Value::Null).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body
    }

    /// The newest deliveries of a webhook that pass a query, as `?state=failed`.
    ///
    /// # Panics
    /// They are not listed.
    pub async fn deliveries(&self, key: &str, id: &str, query: &str) -> Vec<Value> {
        let below = format!("/{id}/deliveries{query}");
        let answer = self.webhooks(Method::GET, key, &below, &Value::Null).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.body["data"].as_array().expect("a list").clone()
    }
}
