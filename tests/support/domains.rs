//! Sender domains: a server that asks a name server of the test's own, and what the API says of them.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_dns::DnsServer;

use crate::answer::Answer;
use crate::launch::Launch;
use crate::openapi::assert_documented;
use crate::server::Server;
use crate::wait::until_async;

const DOMAINS: &str = "/v1/domains";
const HOSTNAME: &str = "mail.waxwing.example";
const DAY_S: &str = "86400";
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(40);

/// A name server with the server's own hosts, and nothing else in it.
pub async fn name_server() -> DnsServer {
    let dns = DnsServer::start().await;
    for host in [format!("spf.{HOSTNAME}"), format!("bounce.{HOSTNAME}")] {
        dns.txt(&host, "v=spf1 ip4:192.0.2.25 -all");
    }
    dns
}

impl Launch {
    /// `dev` that looks names up at `dns` only.
    #[must_use]
    pub fn asking(dns: &DnsServer) -> Self {
        Self::dev().that_asks(dns)
    }

    /// Looks names up at `dns` only. By itself it looks at domains once a day, so that in a test there is
    /// no check but those that the test asks for.
    #[must_use]
    pub fn that_asks(self, dns: &DnsServer) -> Self {
        let servers = json!([dns.address().to_string()]).to_string();
        self.with("dns", "nameservers", &servers)
            .with("dns", "queries_per_second", "10000")
            .with("dns", "timeout_ms", "1500")
            .with("domains", "first_check_s", DAY_S)
            .with("domains", "check_every_s", DAY_S)
            .with("smtp", "hostname", HOSTNAME)
    }
}

impl Server {
    /// A request below `/v1/domains`, as `POST` of `/example.com/check`. The status is one that
    /// the API's own document knows.
    ///
    /// # Panics
    /// It is another one.
    pub async fn domains(&self, method: Method, key: &str, below: &str, body: &Value) -> Answer {
        let request = self.request(method.clone(), &format!("{DOMAINS}{below}"));
        let request = request.header("x-api-key", key);
        let with_body = request.try_clone().expect("no body yet").json(body);
        let answer = self.answer(if body.is_null() { request } else { with_body }).await;
        let mut path: Vec<&str> = below.split(['/', '?']).collect();
        if below.starts_with('/') {
            path[1] = "{domain}";
        } else {
            path.truncate(1);
        }
        let document = self.openapi().await.expect("a document");
        let path = format!("{DOMAINS}{}", path.join("/"));
        assert!(document["paths"][&path].is_object(), "{path} is not documented");
        assert_documented(document, &method, &path, answer.status);
        answer
    }

    /// Asks to add a domain.
    pub async fn try_add_domain(&self, key: &str, name: &str) -> Answer {
        self.domains(Method::POST, key, "", &json!({"name": name})).await
    }

    /// Adds a domain.
    ///
    /// # Panics
    /// It is refused.
    pub async fn add_domain(&self, key: &str, name: &str) -> Domain {
        let answer = self.try_add_domain(key, name).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        Domain(answer.body)
    }

    /// A domain as it is now, by its name or identifier.
    pub async fn domain(&self, key: &str, name: &str) -> Domain {
        self.asked(Method::GET, key, &format!("/{name}")).await
    }

    /// Looks at DNS now.
    pub async fn check_domain(&self, key: &str, name: &str) -> Domain {
        self.asked(Method::POST, key, &format!("/{name}/check")).await
    }

    /// Begins a rotation.
    pub async fn rotate_domain(&self, key: &str, name: &str) -> Domain {
        self.asked(Method::POST, key, &format!("/{name}/rotate")).await
    }

    /// Removes a domain.
    ///
    /// # Panics
    /// It is refused.
    pub async fn delete_domain(&self, key: &str, name: &str) {
        let answer = self.domains(Method::DELETE, key, &format!("/{name}"), &Value::Null).await;
        assert_eq!((answer.status, &answer.body["deleted"]), (200, &json!(true)));
    }

    /// Adds a domain, publishes all that it requires, and checks it.
    ///
    /// # Panics
    /// It is not verified then.
    pub async fn verified_domain(&self, dns: &DnsServer, key: &str, name: &str) -> Domain {
        self.add_domain(key, name).await.publish(dns);
        let domain = self.check_domain(key, name).await;
        assert_eq!((domain.state(), domain.progress()), ("verified", 100), "{domain:#?}");
        domain
    }

    /// Waits until a domain is as wanted, without asking for a check.
    pub async fn until_domain(
        &self,
        key: &str,
        name: &str,
        what: &str,
        wanted: impl Fn(&Domain) -> bool,
    ) -> Domain {
        let wanted = &wanted;
        let ask = || async move { Some(self.domain(key, name).await).filter(|it| wanted(it)) };
        until_async(what, PATIENCE, ask).await
    }

    async fn asked(&self, method: Method, key: &str, below: &str) -> Domain {
        let answer = self.domains(method, key, below, &Value::Null).await;
        assert_eq!(answer.status, 200, "{below}: {}", answer.body);
        Domain(answer.body)
    }
}

/// A sender domain as the API shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain(pub Value);

impl Domain {
    /// A text of it, as `id`.
    ///
    /// # Panics
    /// It has no such text.
    #[must_use]
    pub fn text(&self, field: &str) -> &str {
        self.0[field].as_str().expect("a text")
    }

    /// `pending`, `verified`, …
    #[must_use]
    pub fn state(&self) -> &str {
        self.text("state")
    }

    /// In percent.
    ///
    /// # Panics
    /// It has none.
    #[must_use]
    pub fn progress(&self) -> u64 {
        self.0["progress"].as_u64().expect("a number")
    }

    /// What is required and not satisfied.
    #[must_use]
    pub fn missing(&self) -> Vec<&str> {
        self.list("missing").iter().filter_map(Value::as_str).collect()
    }

    /// All records to publish.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        self.list("records").iter().map(|it| Record(it.clone())).collect()
    }

    /// The records that it must have to send: ownership, the RSA key, the Ed25519 key, the return
    /// path.
    #[must_use]
    pub fn required(&self) -> Vec<Record> {
        let mut records = self.records();
        records.retain(|it| it.0["required"] == true && it.0["rotation"].is_null());
        records
    }

    /// A record by the beginning of its identifier or of its value, as `ownership` or
    /// `v=DKIM1; k=rsa`.
    ///
    /// # Panics
    /// There is none.
    #[must_use]
    pub fn record(&self, beginning: &str) -> Record {
        let is_it =
            |it: &Record| it.text("id").starts_with(beginning) || it.value().starts_with(beginning);
        self.records().into_iter().find(is_it).expect("there is such a record")
    }

    /// The lookup of the last check for a name and type.
    ///
    /// # Panics
    /// There was none.
    #[must_use]
    pub fn lookup(&self, name: &str, record_type: &str) -> &Value {
        let mut all = self.list("lookups").iter();
        let lookup = all.find(|it| it["name"] == name && it["type"] == record_type);
        lookup.expect("it was looked up")
    }

    /// The types of its events, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<&str> {
        self.list("events").iter().rev().filter_map(|it| it["type"].as_str()).collect()
    }

    /// The selectors of its keys that are in a state, RSA first.
    #[must_use]
    pub fn selectors(&self, state: &str) -> Vec<&str> {
        let keys = self.list("dkim").iter().filter(|it| it["state"] == state);
        keys.filter_map(|it| it["selector"].as_str()).collect()
    }

    /// Publishes all that it requires, the keys of a rotation too.
    pub fn publish(&self, dns: &DnsServer) {
        let required = self.records().into_iter().filter(|it| it.0["required"] == true);
        required.for_each(|it| it.publish(dns));
    }

    fn list(&self, field: &str) -> &[Value] {
        self.0[field].as_array().map(Vec::as_slice).unwrap_or_default()
    }
}

/// A record to publish, and what was seen of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record(pub Value);

impl Record {
    /// A text of it, as `help`.
    ///
    /// # Panics
    /// It has no such text.
    #[must_use]
    pub fn text(&self, field: &str) -> &str {
        self.0[field].as_str().expect("a text")
    }

    /// Where.
    #[must_use]
    pub fn name(&self) -> &str {
        self.text("name")
    }

    #[must_use]
    pub fn value(&self) -> &str {
        self.text("value")
    }

    /// `satisfied`, `missing`, …
    #[must_use]
    pub fn status(&self) -> &str {
        self.text("status")
    }

    /// What was seen.
    #[must_use]
    pub fn found(&self) -> Vec<&str> {
        let found = self.0["found"].as_array().map(Vec::as_slice).unwrap_or_default();
        found.iter().filter_map(Value::as_str).collect()
    }

    /// Publishes it exactly as it is shown.
    ///
    /// # Panics
    /// It is of another type than TXT and CNAME.
    pub fn publish(&self, dns: &DnsServer) {
        match self.text("type") {
            "TXT" => dns.txt(self.name(), self.value()),
            kind => {
                assert_eq!(kind, "CNAME");
                dns.cname(self.name(), self.value());
            }
        }
    }

    /// Takes it away, with all of its type at its name.
    pub fn withdraw(&self, dns: &DnsServer) {
        dns.remove(self.name(), self.text("type"));
    }
}
