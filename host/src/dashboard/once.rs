//! Forms that make something count once. The page puts a number of its own into such a form, so two equal forms are two
//! clicks on one button: the first is carried out, and each further one is led to what the first has made. The store keeps
//! who came first, for all nodes, and no lock is held while the form is carried out.

use std::sync::{Arc, OnceLock};

use axum::response::Response;
use http::header::LOCATION;
use http::{HeaderMap, StatusCode};
use sha2::{Digest, Sha256};

use super::form::Form;
use super::response::{Failure, page_of_form, to};
use super::state::Dashboard;
use crate::id::AccountId;
use crate::store::{EarlierSubmit, OnceForm, Store};

/// The field with the number of the page.
const FIELD: &str = "once-only";

tokio::task_local! {
    static OF_REQUEST: Arc<OnceLock<Taken>>;
}

/// The form that this request has taken.
#[derive(Debug)]
struct Taken {
    store: Store,
    form: OnceForm,
}

/// Answers a request, and keeps what came of the form that it has taken.
pub async fn within(answer: impl Future<Output = Response>) -> Response {
    let slot = Arc::new(OnceLock::new());
    let response = OF_REQUEST.scope(Arc::clone(&slot), answer).await;
    if let Some(taken) = slot.get() {
        taken.settle(response.status(), response.headers()).await;
    }
    response
}

/// Takes a form that counts once for this request. Forms without the number of a page are not such forms.
///
/// # Errors
/// It was sent before; the answer leads to what came of it.
pub async fn take(
    dashboard: &Dashboard,
    account: Option<AccountId>,
    path: &str,
    form: &Form,
) -> Result<(), Failure> {
    if form.get(FIELD).is_empty() {
        return Ok(());
    }
    let (store, now) = (&dashboard.api.store, dashboard.api.clock.now());
    let account = match account {
        Some(account) => Some(account),
        // An operator may be in no account; a row needs one, whichever.
        None => store.accounts_after(None, 1, now).await?.first().map(|it| it.account.id),
    };
    let Some(account) = account else { return Ok(()) };
    let path = path.split('?').next().unwrap_or_default();
    let form = OnceForm { account, digest: digest(path, form) };
    let Some(earlier) = store.take_form(&form, now).await? else {
        let taken = Taken { store: store.clone(), form };
        // Outside of a request nobody settles it.
        let note = |slot: &Arc<OnceLock<Taken>>| {
            slot.get_or_init(|| taken);
        };
        let _of_no_request = OF_REQUEST.try_with(note);
        return Ok(());
    };
    Err(match earlier {
        EarlierSubmit::LedTo(page) => to(&page).into(),
        EarlierSubmit::UnderWay => Failure::SentBefore {
            message: "The first click is still at work, or was cut off. Look at the page below first: only where what you \
                      wanted is not there, load the form again and send it once more.",
            page: page_behind(path).to_owned(),
        },
        EarlierSubmit::Shown => Failure::SentBefore {
            message: what_was_shown(path),
            page: page_behind(path).to_owned(),
        },
    })
}

/// The token of the session is among the fields, and the number of the page.
fn digest(path: &str, form: &Form) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut add = |text: &str| {
        digest.update(text.len().to_le_bytes());
        digest.update(text);
    };
    add(path);
    for (name, value) in form.fields() {
        add(name);
        add(value);
    }
    digest.finalize().into()
}

/// Where what the form makes is listed: the address of a list takes the forms that add to it.
fn page_behind(path: &str) -> &str {
    if path.matches('/').count() == 2 { path } else { page_of_form(path) }
}

/// What the answer to the first click said, and cannot say again.
fn what_was_shown(path: &str) -> &'static str {
    match path {
        "/app/keys" => {
            "The first click has created the key, and the answer to it showed the secret this once. If you did not see the \
             secret, deactivate the key and create another one."
        }
        "/app/webhooks" => {
            "The first click has added the webhook, and the answer to it showed its secret this once. If you did not see the \
             secret, rotate it on the page of the webhook."
        }
        _ if path.starts_with("/app/team") => {
            "The first click has invited the person, and the answer to it showed the link this once. If you did not see the \
             link, invite the person again from the list."
        }
        _ if path.starts_with("/app/webhooks/") => {
            "The first click has made a new secret, and the answer to it showed the secret this once. If you did not see it, \
             rotate it again."
        }
        _ if path.ends_with("/test") => {
            "The first click has sent the test. Its messages stand in the list of messages."
        }
        _ => "The first click did what you wanted; its answer was another page.",
    }
}

impl Taken {
    /// A refusal has made nothing, and the form may be sent again. What a failure of the server has made is not known:
    /// then the form stays taken.
    async fn settle(&self, status: StatusCode, headers: &HeaderMap) {
        let store = &self.store;
        let settled = if status.is_client_error() {
            store.give_back_form(&self.form).await
        } else if status.is_server_error() {
            Ok(())
        } else {
            let page = headers.get(LOCATION).and_then(|it| it.to_str().ok());
            store.settle_form(&self.form, page.unwrap_or_default()).await
        };
        if let Err(error) = settled {
            tracing::error!(%error, "the store did not record how a dashboard form ended; if the form is submitted again, its user is asked to look at the list first");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_another_one_by_its_address_or_any_field() {
        let of = |path: &str, body: &str| digest(path, &Form::parse(body.as_bytes()));
        let form = of("/app/keys", "form=a&once-only=b&name=Shop");
        assert_eq!(form, of("/app/keys", "form=a&once-only=b&name=Shop"));
        for (path, body) in [
            ("/app/webhooks", "form=a&once-only=b&name=Shop"),
            ("/app/keys", "form=a&once-only=c&name=Shop"),
            ("/app/keys", "form=a&once-only=b&name=Store"),
            ("/app/keys", "form=a&once-only=b&nameS=hop"),
            ("/app/keys", "form=a&once-only=b&name=Shop&mode=test"),
        ] {
            assert_ne!(form, of(path, body), "{path} {body}");
        }
    }

    #[test]
    fn a_second_click_leads_to_the_list_or_the_page_above() {
        for (form, page) in [
            ("/app/keys", "/app/keys"),
            ("/ops/accounts", "/ops/accounts"),
            ("/app/webhooks/whk_a/rotate", "/app/webhooks/whk_a"),
            ("/app/templates/mine/test", "/app/templates/mine"),
            ("/app/team/usr_a/again", "/app/team"),
        ] {
            assert_eq!(page_behind(form), page);
        }
    }
}
