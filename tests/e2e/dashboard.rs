//! The web dashboard, as a browser without scripts uses it; and once with a real browser.

mod access;
mod audit;
mod browser;
mod consent;
mod domains;
mod editor;
mod forms;
mod mailing;
mod guard;
mod live;
mod ops;
mod pages;
mod people;
mod read_only;
mod templates;
mod test_recipients;
mod webhooks;

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response};
use waxwing_tests::{HalfSent, Server};

/// A browser without scripts: it keeps the session's cookie, and says which site a form comes from.
pub struct Browser<'a> {
    server: &'a Server,
    client: Client,
    cookie: Option<String>,
}

/// An answer as a person sees it.
#[derive(Debug)]
pub struct Page {
    pub status: u16,
    /// Where a redirect leads.
    to: Option<String>,
    policy: String,
    caching: String,
    pub html: String,
}

impl<'a> Browser<'a> {
    fn new(server: &'a Server) -> Self {
        let client = Client::builder().redirect(Policy::none()).build().expect("a client");
        Self { server, client, cookie: None }
    }

    /// The owner of dev's account, logged in by password.
    pub async fn of_dev(server: &'a Server) -> Self {
        let mut browser = Self::new(server);
        let (email, password) = dev_person(server);
        let page = browser.log_in(&email, &password).await;
        assert_eq!((page.status, page.to.as_deref()), (303, Some("/app")), "{}", page.html);
        browser
    }

    /// Somebody of that role in an account, who has taken an invitation.
    pub async fn invited(server: &'a Server, email: &str, account: &str, role: &str) -> Self {
        let made =
            server.cli(&["user", "add", "--email", email, "--account", account, "--role", role]);
        let path = made["path"].as_str().expect("a link").to_owned();
        let mut browser = Self::new(server);
        let page = browser.send(&path, &[("password", PASSWORD), ("code", "")]).await;
        assert_eq!((page.status, page.to.as_deref()), (303, Some("/app")), "{}", page.html);
        browser
    }

    async fn log_in(&mut self, email: &str, password: &str) -> Page {
        self.send("/login", &[("email", email), ("password", password)]).await
    }

    pub async fn get(&mut self, path: &str) -> Page {
        let request = self.client.request(Method::GET, self.url(path));
        self.answer(request).await
    }

    /// Sends a form of a page, without what the page's own form would have.
    async fn send(&mut self, path: &str, fields: &[(&str, &str)]) -> Page {
        self.send_from("same-origin", path, fields).await
    }

    async fn send_from(&mut self, site: &str, path: &str, fields: &[(&str, &str)]) -> Page {
        let request = self
            .client
            .request(Method::POST, self.url(path))
            .header("sec-fetch-site", site)
            .header("content-type", FORM)
            .body(encoded(fields));
        self.answer(request).await
    }

    /// Sends a form with the token of the session.
    pub async fn submit(&mut self, path: &str, fields: &[(&str, &str)]) -> Page {
        let token = self.form_token().await;
        let mut all = vec![("form", token.as_str())];
        all.extend(fields);
        self.send(path, &all).await
    }

    /// Sends a form with the token of the session, but for its body.
    async fn begin(&mut self, path: &str, fields: &[(&str, &str)]) -> HalfSent {
        let token = self.form_token().await;
        let mut all = vec![("form", token.as_str())];
        all.extend(fields);
        let cookie = format!("__Host-waxwing={}", self.cookie.as_deref().unwrap_or_default());
        let headers = [
            ("cookie", cookie.as_str()),
            ("sec-fetch-site", "same-origin"),
            ("content-type", FORM),
        ];
        let (request, body) = (format!("POST {path}"), encoded(&all));
        let begun = self.server.begin(&request, &headers, body.as_bytes()).await;
        begun.expect("the server asks for the form")
    }

    async fn form_token(&mut self) -> String {
        let page = self.get("/app/profile").await;
        assert_eq!(page.status, 200, "{}", page.html);
        page.value("form")
    }

    async fn answer(&mut self, mut request: reqwest::RequestBuilder) -> Page {
        if let Some(cookie) = &self.cookie {
            request = request.header(COOKIE, format!("__Host-waxwing={cookie}"));
        }
        let response = request.send().await.expect("an answer");
        self.keep_cookie(&response);
        let header = |name: &str| {
            let value = response.headers().get(name).and_then(|it| it.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        Page {
            status: response.status().as_u16(),
            to: response.headers().get(LOCATION).and_then(|it| it.to_str().ok()).map(str::to_owned),
            policy: header("content-security-policy"),
            caching: header("cache-control"),
            html: response.text().await.expect("a text"),
        }
    }

    fn keep_cookie(&mut self, response: &Response) {
        for cookie in response.headers().get_all(SET_COOKIE) {
            let cookie = cookie.to_str().expect("ASCII");
            let Some(rest) = cookie.strip_prefix("__Host-waxwing=") else { continue };
            for part in ["Path=/", "Secure", "HttpOnly", "SameSite=Lax"] {
                assert!(rest.contains(part), "{cookie}");
            }
            assert!(!rest.contains("Domain"), "{cookie}");
            let value = rest.split(';').next().unwrap_or_default();
            self.cookie = (!value.is_empty()).then(|| value.to_owned());
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url())
    }
}

impl Page {
    /// The value of a hidden field.
    fn value(&self, name: &str) -> String {
        let before = format!("name=\"{name}\" value=\"");
        let rest = self.html.split_once(&before).map(|(_, rest)| rest);
        let value = rest.and_then(|it| it.split('"').next());
        value.unwrap_or_else(|| panic_of(name, &self.html)).to_owned()
    }
}

fn panic_of(name: &str, html: &str) -> &'static str {
    assert!(html.contains(name), "the page has no field {name}: {html}");
    ""
}

/// How a browser writes a form.
const FORM: &str = "application/x-www-form-urlencoded";
const PASSWORD: &str = "correct horse battery staple";

/// Who may log in to what `dev` has made.
fn dev_person(server: &Server) -> (String, String) {
    let dashboard = &server.line()["dashboard"];
    let text = |name: &str| dashboard[name].as_str().expect("dev --json tells it").to_owned();
    assert_eq!(text("url"), format!("{}/app", server.url()));
    (text("email"), text("password"))
}

/// The code that an authenticator with this secret shows in `steps` steps of 30 s.
fn code(secret: &str, steps: u64) -> String {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let index = |letter| LETTERS.find(letter).expect("base32");
    let bits: Vec<usize> = secret
        .chars()
        .map(index)
        .flat_map(|it| (0..5).rev().map(move |bit| it >> bit & 1))
        .collect();
    let byte = |eight: &[usize]| {
        u8::try_from(eight.iter().fold(0, |byte, bit| byte * 2 + bit)).expect("eight bits")
    };
    let bytes: Vec<u8> = bits.chunks_exact(8).map(byte).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &bytes);
    let tag = hmac::sign(&key, &(now / 30 + steps).to_be_bytes());
    let tag = tag.as_ref();
    let offset = usize::from(tag[19] & 15);
    let four: [u8; 4] = tag[offset..offset + 4].try_into().expect("four bytes");
    format!("{:06}", (u32::from_be_bytes(four) & 0x7fff_ffff) % 1_000_000)
}

fn encoded(fields: &[(&str, &str)]) -> String {
    let field = |(name, value): &(&str, &str)| format!("{name}={}", percent_encoded(value));
    fields.iter().map(field).collect::<Vec<_>>().join("&")
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        write!(encoded, "%{byte:02X}").expect("a string takes everything");
    }
    encoded
}
