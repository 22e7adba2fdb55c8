//! Forms that are sent twice, too large, or too late; and many log-ins at one time.

use futures_util::future::join_all;
use waxwing_tests::{Launch, Server};

use super::{Browser, Page, audit, dev_person};
use crate::fixture::change;

/// The form of a page with the number of that page, as its buttons send it.
struct Once {
    form: String,
    number: String,
}

impl Once {
    async fn of(browser: &mut Browser<'_>, page: &str) -> Self {
        let page = browser.get(page).await;
        assert_eq!(page.status, 200, "{}", page.html);
        Self { form: page.value("form"), number: page.value("once-only") }
    }

    fn fields<'a>(&'a self, typed: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let own = [("form", self.form.as_str()), ("once-only", self.number.as_str())];
        own.into_iter().chain(typed.iter().copied()).collect()
    }
}

/// Clicks on a button so often, one behind the other.
async fn clicks<const TIMES: usize>(
    browser: &mut Browser<'_>,
    (page, path): (&str, &str),
    typed: &[(&str, &str)],
) -> [Page; TIMES] {
    let once = Once::of(browser, page).await;
    let mut answers = Vec::new();
    for _ in 0..TIMES {
        answers.push(browser.send(path, &once.fields(typed)).await);
    }
    answers.try_into().expect("as many answers as clicks")
}

#[tokio::test]
async fn three_clicks_at_one_time_make_one_key() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let once = Once::of(&mut browser, "/app/keys/new").await;
    let fields = once.fields(&[("name", "Shop"), ("mode", "live"), ("scope", "send")]);
    let copy = || Browser { cookie: browser.cookie.clone(), ..Browser::new(&server) };
    let mut copies = [copy(), copy(), copy()];
    let sent = copies.iter_mut().map(|it| it.send("/app/keys", &fields));
    let mut answers = join_all(sent).await;
    answers.sort_by_key(|it| it.status);
    let statuses: Vec<u16> = answers.iter().map(|it| it.status).collect();
    assert_eq!(statuses, [200, 409, 409]);
    assert!(answers[0].html.contains("wx_live_"), "{}", answers[0].html);
    let late = browser.send("/app/keys", &fields).await;
    for part in ["This form was sent already", "create another one", "href=\"/app/keys\""] {
        assert!(late.status == 409 && late.html.contains(part), "{part}: {}", late.html);
    }
    assert!(!late.html.contains("wx_live_"), "{}", late.html);
    let keys = server.get_as(server.key(), "/v1/keys").await;
    let keys = keys.body["data"].as_array().expect("keys");
    assert_eq!(keys.iter().filter(|it| it["name"] == "Shop").count(), 1, "{keys:?}");
    let other = Once::of(&mut browser, "/app/keys/new").await;
    let fields = other.fields(&[("name", "Shop"), ("mode", "live"), ("scope", "send")]);
    assert_eq!(browser.send("/app/keys", &fields).await.status, 200, "the form, loaded again");
}

#[tokio::test]
async fn a_second_click_leads_to_what_the_first_has_made() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    for (page, path, typed) in [
        ("/app/new-template", "/app/templates", &[("slug", "mine"), ("starter", "")][..]),
        ("/app/templates/mine", "/app/templates/mine/duplicate", &[("slug", "copy")]),
        ("/app/domains", "/app/domains", &[("name", "a.example")]),
        ("/ops/accounts/new", "/ops/accounts", &[("name", "Tern"), ("plan", "free")]),
    ] {
        let [first, second] = clicks(&mut browser, (page, path), typed).await;
        assert_eq!((first.status, second.status), (303, 303), "{path}: {}", second.html);
        assert_eq!(first.to, second.to, "{path}");
    }
    let code = "/app/templates/verification-code";
    let test = format!("{code}/test");
    for (page, path, typed, said) in [
        ("/app/webhooks/new", "/app/webhooks", &[("url", "https://a.example")][..], "rotate it"),
        (code, test.as_str(), &[("to", "tested@example.com")], "has sent the test"),
        ("/app/team", "/app/team", &[("email", "bo@example.com"), ("role", "member")], "again"),
    ] {
        let [first, second] = clicks(&mut browser, (page, path), typed).await;
        assert_eq!(first.status, 200, "{path}: {}", first.html);
        assert!(second.status == 409 && second.html.contains(said), "{path}: {}", second.html);
    }
    let rows = audit::rows(&server).await;
    for action in [
        "create_template",
        "duplicate_template",
        "add_domain",
        "create_account",
        "create_webhook",
        "invite_user",
    ] {
        let count = rows.iter().filter(|it| it.0 == "user" && it.1 == action).count();
        assert_eq!(count, 1, "{action}: {rows:?}");
    }
    let sent = browser.get("/app/messages?q=tested@example.com").await;
    assert_eq!(sent.html.matches("href=\"/app/messages/msg_").count(), 1, "{}", sent.html);
}

#[tokio::test]
async fn a_form_that_was_refused_may_be_sent_again() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let wrong = [("name", ""), ("mode", "live"), ("scope", "send")];
    let refused: [Page; 2] = clicks(&mut browser, ("/app/keys/new", "/app/keys"), &wrong).await;
    assert_eq!(refused.map(|it| it.status), [422, 422]);
}

#[tokio::test]
async fn a_form_that_is_too_large_is_answered_and_changes_nothing() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let large = "x".repeat(400 << 10);
    let page = browser.submit("/app/brand", &[("product_name", &large)]).await;
    for part in ["This form is too large", "64 KiB", "Nothing was changed"] {
        assert!(page.status == 413 && page.html.contains(part), "{part}: {}", page.html);
    }
    let mut guest = Browser::new(&server);
    assert_eq!(guest.log_in(&large, "x").await.status, 413);
    let page = guest.send("/app/brand", &[("product_name", &large)]).await;
    assert_eq!(page.to.as_deref(), Some("/login?next=%2Fapp%2Fbrand"), "{}", page.html);
}

#[tokio::test]
async fn what_was_typed_survives_the_question_for_the_password() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let (_, password) = dev_person(&server);
    let once = Once::of(&mut browser, "/app/keys/new").await;
    let typed = once.fields(&[("name", "Ops \"1\""), ("mode", "live"), ("scope", "admin")]);
    change(&server, "UPDATE sessions SET verified_at = 0").await;
    let asked = browser.send("/app/keys", &typed).await;
    let kept =
        ["action=\"/app/keys\"", "value=\"Ops &#34;1&#34;\"", "name=\"scope\" value=\"admin\""];
    for part in kept {
        assert!(asked.status == 403 && asked.html.contains(part), "{part}: {}", asked.html);
    }
    assert_eq!(asked.value("once-only"), once.number, "it is the same form");
    let with = |password| [&typed[..], &[("step-up-password", password)]].concat();
    let wrong = browser.send("/app/keys", &with("not the password")).await;
    assert_eq!(wrong.status, 422, "{}", wrong.html);
    for part in kept.into_iter().chain(["The password is not right."]) {
        assert!(wrong.html.contains(part), "{part}: {}", wrong.html);
    }
    assert!(!wrong.html.contains("not the password"), "{}", wrong.html);
    let made = browser.send("/app/keys", &with(&password)).await;
    assert!(made.status == 200 && made.html.contains("wx_live_"), "{}", made.html);
    assert!(made.html.contains("Ops &#34;1&#34;"), "{}", made.html);
    let twice = browser.send("/app/keys", &typed).await;
    assert_eq!(twice.status, 409, "and it counts once: {}", twice.html);
}

#[tokio::test]
async fn an_address_that_sends_many_log_ins_at_one_time_is_told_to_wait() {
    let server = Server::start(Launch::dev().with("limits", "failed_logins", "100"));
    let (email, password) = dev_person(&server);
    let mut guests: Vec<Browser> = (0..60).map(|_| Browser::new(&server)).collect();
    let tried = guests.iter_mut().map(|it| it.log_in("nobody@example.com", "wrong"));
    let answers = join_all(tried).await;
    for page in &answers {
        let is_told = page.status == 429 && page.html.contains("wait to be compared");
        assert!(page.status == 422 || is_told, "{}: {}", page.status, page.html);
    }
    let compared = answers.iter().filter(|it| it.status == 422).count();
    assert!((8..60).contains(&compared), "{compared} of 60 were compared");
    // Who was told to wait has not failed.
    let page = Browser::new(&server).log_in(&email, &password).await;
    assert_eq!(page.status, 303, "{}", page.html);
}

#[tokio::test]
async fn a_log_in_that_succeeds_does_not_count_as_a_failed_one() {
    let server = Server::start(Launch::dev().with("limits", "failed_logins", "3"));
    let (email, password) = dev_person(&server);
    for _ in 0..5 {
        assert_eq!(Browser::new(&server).log_in(&email, &password).await.status, 303);
    }
    let mut guesser = Browser::new(&server);
    for _ in 0..2 {
        assert_eq!(guesser.log_in("ann@example.com", "a guess").await.status, 422);
        // An account of the own forgives no guess at another one.
        assert_eq!(Browser::new(&server).log_in(&email, &password).await.status, 303);
    }
    assert_eq!(guesser.log_in("ann@example.com", "a guess").await.status, 422);
    assert_eq!(guesser.log_in("ann@example.com", "a guess").await.status, 429);
}

#[tokio::test]
async fn a_form_of_a_page_that_showed_another_account_changes_nothing() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let account = server.open_account("pro", 10);
    let once = Once::of(&mut browser, "/app/keys/new").await;
    let fields = once.fields(&[("name", "Shop"), ("mode", "live"), ("scope", "send")]);
    let act = format!("/ops/accounts/{}/act", account.id);
    assert_eq!(browser.submit(&act, &[]).await.status, 303);
    let late = browser.send("/app/keys", &fields).await;
    assert_eq!(late.status, 409, "{}", late.html);
    for part in ["This form is of another account", "Nothing was changed"] {
        assert!(late.html.contains(part), "{part}: {}", late.html);
    }
    assert!(!browser.get("/app/keys").await.html.contains("Shop"), "not in this account");
    assert_eq!(browser.submit("/app/acting/end", &[]).await.status, 303);
    assert!(!browser.get("/app/keys").await.html.contains("Shop"), "nor in the other one");
    let made = browser.send("/app/keys", &fields).await;
    assert!(made.status == 200 && made.html.contains("wx_live_"), "{}", made.html);
}
