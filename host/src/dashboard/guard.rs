//! Who asks, and whether a form comes from one of our own pages.

use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::form::{self, Form};
use super::live::Asked;
use super::log_in_refused::{status, with_retry_after};
use super::once;
use super::response::{Failure, sentence, to};
use super::state::Dashboard;
use super::step_up::{self, StepUpPage};
pub use super::theme::Theme;
use crate::account::role::Role;
use crate::api::{body, request_context};
use crate::id::AccountId;
use crate::journey::accept::refusal::Refusal;
use crate::people::{LogInError, Membership, Origin, Person, SESSION_LIFE, Secret, SeenBy};

const SESSION: &str = "__Host-waxwing";
const THEME: &str = "__Host-theme";
/// The page of the accounts that a person is in, or invited to.
pub const OWN_ACCOUNTS: &str = "/app/accounts";
const SUSPENDED: &str = "The account is suspended: its pages show what there is and change nothing. Ask the operator of \
                         this server, who resumes it.";

/// Whoever it is.
#[derive(Debug, Clone)]
pub struct Guest {
    pub from: Origin,
    pub theme: Theme,
    /// Scheme and host of the request, for commands to paste.
    pub base: String,
    /// The path of the request with its query.
    pub path: String,
}

/// Somebody who is logged in.
#[derive(Debug)]
pub struct Visitor {
    pub person: Person,
    pub secret: Secret,
    pub guest: Guest,
}

/// A form of somebody who is logged in, from a page of the session. A form may take long to arrive, so the session is read
/// twice: before the body, so that the server reads no body for strangers, and after the body, because the session or the role
/// may have ended meanwhile.
#[derive(Debug)]
pub struct Submitted {
    pub visitor: Visitor,
    pub form: Form,
}

/// What belongs to one account, and has pages of its own.
pub trait Owned: Sized + Send {
    /// The row of the account that the session shows; another's is not there.
    fn find(
        dashboard: &Dashboard,
        visitor: &Visitor,
        id: &str,
    ) -> impl Future<Output = Result<Self, Failure>> + Send;
}

/// An owner's form that changes the row which the path names as `id`.
#[derive(Debug)]
pub struct Change<T> {
    pub dashboard: Dashboard,
    pub visitor: Visitor,
    pub form: Form,
    pub row: T,
}

/// A form of somebody who is not.
#[derive(Debug)]
pub struct GuestForm {
    pub guest: Guest,
    pub form: Form,
}

/// Lets forms through that this site's own pages have sent. A browser says with each request which site it comes from,
/// in `Sec-Fetch-Site`, or, where the page is not trustworthy to it, in `Origin`.
pub async fn from_own_pages(request: Request, next: Next) -> Response {
    // What a handler refuses is a page, too.
    let theme = Theme::of_cookie(cookie(request.headers(), THEME));
    theme.within(once::within(let_through(request, next))).await
}

async fn let_through(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    if is_own(request.headers()) {
        return next.run(request).await;
    }
    body::drain(request.into_body()).await;
    Failure::ForeignForm.into_response()
}

fn is_own(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
    if let Some(site) = text("sec-fetch-site") {
        return site == "same-origin";
    }
    let origin = text("origin").and_then(|it| it.split_once("://")).map(|(_, host)| host);
    origin.is_some() && origin == text("host")
}

/// Whether the browser would keep a cookie that only goes over TLS. Browsers say where a request comes from only on
/// trustworthy sites: over TLS, or on this machine.
pub fn keeps_cookies(headers: &HeaderMap) -> bool {
    headers.contains_key("sec-fetch-site")
        || headers
            .get(header::ORIGIN)
            .is_none_or(|it| !it.as_bytes().starts_with(b"http://") || is_loopback(it.as_bytes()))
}

fn is_loopback(origin: &[u8]) -> bool {
    [&b"http://127."[..], b"http://localhost", b"http://[::1]"]
        .iter()
        .any(|it| origin.starts_with(it))
}

impl Guest {
    fn of(parts: &Parts) -> Self {
        let text =
            |name: header::HeaderName| parts.headers.get(name).and_then(|it| it.to_str().ok());
        let host = text(header::HOST).unwrap_or("localhost");
        // Without TLS the dashboard is used on this machine alone.
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let is_here = name == "localhost" || name == "[::1]" || name.starts_with("127.");
        let scheme = if is_here { "http" } else { "https" };
        let agent = text(header::USER_AGENT).unwrap_or_default().to_owned();
        let path = parts.uri.path_and_query().map_or("/app", |it| it.as_str());
        Self {
            from: Origin { ip: request_context::ip(&parts.extensions), agent },
            theme: Theme::of_cookie(cookie(&parts.headers, THEME)),
            base: format!("{scheme}://{host}"),
            path: path.to_owned(),
        }
    }
}

impl Visitor {
    /// The beginning of links to this server: `[people] url`, or the server as the browser reached it.
    pub fn link_base<'a>(&'a self, dashboard: &'a Dashboard) -> &'a str {
        dashboard.api.people_url.as_deref().unwrap_or(&self.guest.base)
    }

    /// The account that the session shows.
    ///
    /// # Errors
    /// The person is in none: leads to the page that says so, where invitations are answered.
    pub fn membership(&self) -> Result<&Membership, Failure> {
        self.person.membership.as_ref().ok_or_else(|| to(OWN_ACCOUNTS).into())
    }

    pub fn account(&self) -> Result<AccountId, Failure> {
        self.membership().map(|it| it.account)
    }

    pub fn role(&self) -> Result<Role, Failure> {
        self.membership().map(|it| it.role)
    }

    /// What each form of the session's pages carries: that it comes from one of them, and the account that the page showed.
    pub fn form_token(&self) -> String {
        let account = self.person.membership.as_ref().map(|it| it.account.to_string());
        format!("{}.{}", self.secret.form_token(), account.unwrap_or_default())
    }

    /// Refuses a form that does not come from a page of the session, or whose page showed another account than the session
    /// does now. What belongs to the person, or to the server, is the same whatever account is shown.
    pub fn must_have_sent(&self, form: &Form) -> Result<(), Failure> {
        let (token, account) = form.get("form").split_once('.').unwrap_or_default();
        if !self.secret.is_form_token(token) {
            return Err(Failure::ForeignForm);
        }
        let shown = self.person.membership.as_ref();
        let is_shown = shown.is_none_or(|it| it.account.to_string() == account);
        if is_shown || !is_of_account(&self.guest.path) {
            return Ok(());
        }
        Err(Failure::OtherAccount(shown.map(|it| it.account_name.clone()).unwrap_or_default()))
    }

    /// Whether the account that the session shows is suspended. The API then answers nothing at all; the pages only show.
    pub fn is_suspended(&self) -> bool {
        self.person.membership.as_ref().is_some_and(|it| it.is_suspended)
    }

    /// Writes a change of the account that the session shows into the audit log.
    pub async fn record(
        &self,
        dashboard: &Dashboard,
        action: &'static str,
        subject: impl ToString,
    ) -> Result<(), Failure> {
        let change = (action, Some(subject.to_string()));
        dashboard.people.record_in_account(&self.person, change, &self.guest.from).await;
        Ok(())
    }

    /// Asks for the password again where it was given some time ago, and comes back to the page `path`. A form is not
    /// a page: [`Self::step_up_for`] keeps what was typed.
    pub fn step_up(&self, dashboard: &Dashboard, path: &str) -> Result<(), Failure> {
        if self.person.is_verified(dashboard.people.clock.now()) {
            return Ok(());
        }
        Err(to(&format!("/app/verify?{}", form::query([("next", path)]))).into())
    }

    /// Asks for the password again where it was given some time ago, and then goes on with the form.
    pub fn step_up_for(&self, dashboard: &Dashboard, form: &Form) -> Result<(), Failure> {
        if self.person.is_verified(dashboard.people.clock.now()) {
            return Ok(());
        }
        let question = self.step_up_page().before(&self.guest.path, form);
        Err(question.answer(StatusCode::FORBIDDEN)?.into())
    }

    /// The question for the password.
    pub fn step_up_page(&self) -> StepUpPage {
        StepUpPage::new(self.guest.theme, self.form_token(), self.person.user.has_factor)
    }

    /// Takes the password and the code that [`Self::step_up_page`] has asked for out of a form, checks them, and notes with
    /// the session that they were given. A form without a password passes.
    async fn verify(&self, dashboard: &Dashboard, form: &mut Form) -> Result<(), Failure> {
        let Some(password) = form.take(step_up::PASSWORD) else { return Ok(()) };
        let code = form.take(step_up::CODE).unwrap_or_default();
        let given = (password.as_str(), code.as_str());
        let people = &dashboard.people;
        let Err(error) = people.step_up(&self.person, given, &self.guest.from).await else {
            return Ok(());
        };
        let fault = match &error {
            LogInError::Wrong => "The password is not right.".to_owned(),
            LogInError::WrongCode
            | LogInError::Over
            | LogInError::TooMany(_)
            | LogInError::Password(_)
            | LogInError::Store(_) => sentence(&error.to_string()),
        };
        let again = self.step_up_page().before(&self.guest.path, form).with_fault(fault);
        Err(with_retry_after(again.answer(status(&error)?)?, &error).into())
    }
}

impl FromRequestParts<Dashboard> for Guest {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Dashboard) -> Result<Self, Failure> {
        Ok(Self::of(parts))
    }
}

/// Whether it is a page of the account, not of the person's own or of the server.
fn is_of_account(path: &str) -> bool {
    let is_of_person = ["/app/account", "/app/acting/", "/app/profile/", "/app/verify"]
        .iter()
        .any(|it| path.starts_with(it));
    path.starts_with("/app/") && !is_of_person
}

fn changes_account(parts: &Parts) -> bool {
    let is_read = matches!(parts.method, Method::GET | Method::HEAD);
    !is_read && is_of_account(parts.uri.path())
}

/// Refuses a form that changes something while the server is in read-only mode. Who is logged in, and as whom, and how the
/// pages look is no change.
async fn must_not_be_read_only(parts: &Parts, dashboard: &Dashboard) -> Result<(), Failure> {
    let path = parts.uri.path();
    let kept = ["/login", "/logout", "/theme", "/app/account", "/app/verify", "/ops/check"];
    let kept_below = ["/login/", "/app/acting/", "/app/profile/sessions/"];
    let is_kept = kept.contains(&path)
        || kept_below.iter().any(|it| path.starts_with(it))
        || (path.starts_with("/ops/accounts/") && path.ends_with("/act"))
        || path.ends_with("/preview")
        || (path.starts_with("/app/templates/") && path.ends_with("/check"))
        || (path.starts_with("/ops/decisions/") && path.ends_with("/replay"));
    if matches!(parts.method, Method::GET | Method::HEAD) || is_kept {
        return Ok(());
    }
    match dashboard.api.journey.accept.facts.current_maintenance().await? {
        None => Ok(()),
        Some(known) => {
            let refusal = Refusal::read_only(&known.reason);
            Err(Failure::Unavailable(sentence(&refusal.message())))
        }
    }
}

impl FromRequestParts<Dashboard> for Visitor {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, dashboard: &Dashboard) -> Result<Self, Failure> {
        let guest = Guest::of(parts);
        let by = match Asked::of(parts) {
            Asked::Page => SeenBy::Person,
            Asked::Part => SeenBy::Page,
        };
        let secret = cookie(&parts.headers, SESSION).and_then(|it| it.parse::<Secret>().ok());
        if let Some(secret) = secret
            && let Some(person) = dashboard.people.person(&secret, guest.from.ip, by).await?
        {
            let visitor = Self { person, secret, guest };
            must_not_be_read_only(parts, dashboard).await?;
            if changes_account(parts) && visitor.is_suspended() {
                return Err(Failure::Forbidden(SUSPENDED.to_owned()));
            }
            return Ok(visitor);
        }
        // The address of a form leads to its page.
        let next = guest.path.as_str();
        let is_said = |(_, path): &(&str, &str)| !["/app", "/logout"].contains(path);
        let query = form::query([("next", next)].into_iter().filter(is_said));
        let path = if query.is_empty() { "/login".to_owned() } else { format!("/login?{query}") };
        Err(to(&path).into())
    }
}

impl FromRequest<Dashboard> for Submitted {
    type Rejection = Failure;

    async fn from_request(request: Request, dashboard: &Dashboard) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let before = match Visitor::from_request_parts(&mut parts, dashboard).await {
            Ok(visitor) => visitor,
            Err(failure) => {
                body::drain(body).await;
                return Err(failure);
            }
        };
        let mut form = Form::read(body).await?;
        before.must_have_sent(&form)?;
        // A password waits for its turn to be compared.
        before.verify(dashboard, &mut form).await?;
        let visitor = Visitor::from_request_parts(&mut parts, dashboard).await?;
        visitor.must_have_sent(&form)?;
        let account = visitor.person.membership.as_ref().map(|it| it.account);
        once::take(dashboard, account, &visitor.guest.path, &form).await?;
        Ok(Self { visitor, form })
    }
}

impl<T: Owned> FromRequest<Dashboard> for Change<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, dashboard: &Dashboard) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let id = in_path(&mut parts, "id").await?;
        let sent = Submitted::from_request(Request::from_parts(parts, body), dashboard).await?;
        let Submitted { visitor, form } = sent;
        visitor.membership()?.at_least(Role::Owner)?;
        let row = T::find(dashboard, &visitor, &id).await?;
        Ok(Self { dashboard: dashboard.clone(), visitor, form, row })
    }
}

/// What the path has in the place of that name.
pub async fn in_path(parts: &mut Parts, place: &str) -> Result<String, Failure> {
    let path = RawPathParams::from_request_parts(parts, &()).await;
    let path = path.map_err(|_| Failure::Missing)?;
    let found = path.iter().find(|(name, _)| *name == place);
    found.map(|(_, value)| value.to_owned()).ok_or(Failure::Missing)
}

impl<T> Change<T> {
    /// Writes the change into the audit log, and goes to a page.
    pub async fn done(
        &self,
        action: &'static str,
        subject: impl ToString,
        page: &str,
    ) -> Result<Response, Failure> {
        self.visitor.record(&self.dashboard, action, subject).await?;
        Ok(to(page))
    }
}

impl FromRequest<Dashboard> for GuestForm {
    type Rejection = Failure;

    async fn from_request(request: Request, dashboard: &Dashboard) -> Result<Self, Failure> {
        let (parts, body) = request.into_parts();
        if let Err(failure) = must_not_be_read_only(&parts, dashboard).await {
            body::drain(body).await;
            return Err(failure);
        }
        let form = Form::read(body).await?;
        must_not_be_read_only(&parts, dashboard).await?;
        Ok(Self { guest: Guest::of(&parts), form })
    }
}

/// Puts the session's cookie into an answer. `__Host-` keeps every other host and path from setting it.
pub fn with_session(mut response: Response, secret: &Secret) -> Response {
    let age = SESSION_LIFE.as_secs();
    set(&mut response, &format!("{SESSION}={}; Max-Age={age}", secret.reveal()));
    response
}

pub fn without_session(mut response: Response) -> Response {
    set(&mut response, &format!("{SESSION}=; Max-Age=0"));
    response
}

pub fn with_theme(mut response: Response, theme: Theme) -> Response {
    let age = match theme {
        Theme::System => 0,
        Theme::Light | Theme::Dark => 31_536_000,
    };
    set(&mut response, &format!("{THEME}={}; Max-Age={age}", theme.as_str()));
    response
}

fn set(response: &mut Response, cookie: &str) {
    let cookie = format!("{cookie}; Path=/; Secure; HttpOnly; SameSite=Lax");
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok());
    let mut pairs = lines.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
    pairs.find(|(it, _)| *it == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(headers: &[(&'static str, &str)]) -> bool {
        let value = |text: &str| HeaderValue::from_str(text).expect("a value");
        is_own(
            &headers.iter().map(|(name, it)| (name.parse().expect("a name"), value(it))).collect(),
        )
    }

    #[test]
    fn a_form_of_another_site_is_not_ours() {
        assert!(own(&[("sec-fetch-site", "same-origin")]));
        for site in ["cross-site", "same-site", "none", ""] {
            assert!(!own(&[
                ("sec-fetch-site", site),
                ("origin", "https://a.test"),
                ("host", "a.test")
            ]));
        }
        assert!(own(&[("origin", "https://a.test"), ("host", "a.test")]));
        assert!(!own(&[("origin", "https://b.test"), ("host", "a.test")]));
        assert!(!own(&[("origin", "null"), ("host", "a.test")]));
        assert!(!own(&[("host", "a.test")]), "a client that says nothing is no browser");
    }
}
