//! The password asked for once more, before what gives much away. What was typed into the form that asked for it goes
//! through the page, and the form is carried out as soon as the password is right.

use askama::Template;
use axum::response::Response;
use http::StatusCode;

use super::cover::Cover;
use super::form::Form;
use super::response::{Failure, with_status};
use super::theme::Theme;

/// The fields of the page itself.
pub const PASSWORD: &str = "step-up-password";
pub const CODE: &str = "step-up-code";
/// What no page repeats: secrets that were typed, and the session's token, which stands there anyway.
const NEVER_REPEATED: [&str; 7] = ["form", "password", "before", "after", "code", PASSWORD, CODE];

/// The question.
#[derive(Debug, Template)]
#[template(path = "app/verify.html")]
pub struct StepUpPage {
    cover: Cover,
    /// The token of the session.
    form: String,
    /// The address of the form that goes on.
    action: String,
    /// What was typed into it.
    fields: Vec<(String, String)>,
    has_factor: bool,
    fault: Option<String>,
}

impl StepUpPage {
    pub fn new(theme: Theme, token: String, has_factor: bool) -> Self {
        let (action, fields) = ("/app/verify".to_owned(), Vec::new());
        Self { cover: theme.into(), form: token, action, fields, has_factor, fault: None }
    }

    /// With the form that goes on when the password is right.
    pub fn before(self, action: &str, form: &Form) -> Self {
        let typed = form.fields().filter(|(name, _)| !NEVER_REPEATED.contains(name));
        let fields = typed.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { action: action.to_owned(), fields, ..self }
    }

    /// Leads to a page when the password is right.
    pub fn leading_to(mut self, page: String) -> Self {
        self.fields.push(("next".to_owned(), page));
        self
    }

    pub fn with_fault(self, fault: String) -> Self {
        Self { fault: Some(fault), ..self }
    }

    pub fn answer(&self, status: StatusCode) -> Result<Response, Failure> {
        with_status(status, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_goes_through_the_page_and_no_password_does() {
        let typed = b"form=token&name=a%22b&scope=send&scope=admin&password=secret&before=secret&code=secret";
        let page = StepUpPage::new(Theme::System, "token".to_owned(), false);
        let html = page.before("/app/keys", &Form::parse(typed)).render().expect("written");
        assert!(html.contains("action=\"/app/keys\""), "{html}");
        for field in ["\"name\" value=\"a&#34;b\"", "\"scope\" value=\"send\"", "value=\"admin\""] {
            assert!(html.contains(field), "{field}: {html}");
        }
        assert!(!html.contains("secret"), "{html}");
        assert_eq!(html.matches("name=\"form\"").count(), 1, "{html}");
    }
}
