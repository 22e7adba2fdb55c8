//! How people get in: password, second factor, links; and how they get out.

use futures_util::future::join_all;
use waxwing_tests::{Launch, Server};

use super::{Browser, PASSWORD, code, dev_person};
use crate::fixture::{Database, change};

const ANOTHER: &str = "another horse battery staple";

/// Gives somebody a second factor. Answers its secret and the recovery codes.
pub async fn enrol(browser: &mut Browser<'_>) -> (String, Vec<String>) {
    let secret = browser.get("/app/profile/factor").await.value("enrolment");
    let proof = code(&secret, 0);
    let page =
        browser.submit("/app/profile/factor", &[("enrolment", &secret), ("code", &proof)]).await;
    assert!(page.html.contains("Keep these recovery codes"), "{}", page.html);
    let codes = page.html.split("<li>").skip(1).filter_map(|it| it.split('<').next());
    (secret, codes.map(str::to_owned).collect())
}

#[tokio::test]
async fn a_password_opens_a_session_and_a_wrong_one_says_no_more_than_that() {
    let server = Server::dev();
    let mut browser = Browser::new(&server);
    let page = browser.get("/app/messages?q=x").await;
    assert_eq!(page.to.as_deref(), Some("/login?next=%2Fapp%2Fmessages%3Fq%3Dx"));
    let (email, password) = dev_person(&server);
    for (email, password) in
        [(email.as_str(), "not the password"), ("nobody@example.com", "x"), ("", "")]
    {
        let page = browser.log_in(email, password).await;
        assert_eq!(page.status, 422);
        assert!(
            page.html.contains("No user has this e-mail address with this password."),
            "{}",
            page.html
        );
        assert_eq!(browser.cookie, None);
    }
    let page = browser.log_in(&email.to_uppercase(), &password).await;
    assert_eq!(page.to.as_deref(), Some("/app"), "{}", page.html);
    let page = browser.get("/app").await;
    assert!(page.status == 200 && page.html.contains("First steps"), "{}", page.html);
    let before = browser.cookie.clone();
    browser.log_in(&email, &password).await;
    assert_ne!(browser.cookie, before, "each log-in has a session of its own");
    let page = browser.submit("/logout", &[]).await;
    assert_eq!((page.to.as_deref(), browser.cookie.clone()), (Some("/login"), None));
}

#[tokio::test]
async fn an_address_that_guesses_is_stopped_before_the_password_counts() {
    let server = Server::start(Launch::dev().with("limits", "failed_logins", "3"));
    let (email, password) = dev_person(&server);
    let mut browser = Browser::new(&server);
    for _ in 0..2 {
        assert_eq!(browser.log_in(&email, "a wrong password").await.status, 422);
    }
    // A wrong key takes from the same bucket.
    server.get_as("wx_live_00000000_00000000000000000000000000000000", "/v1/keys").await;
    let page = browser.log_in(&email, &password).await;
    assert_eq!(page.status, 429, "{}", page.html);
    assert!(page.html.contains("Too many log-ins"), "{}", page.html);
}

#[tokio::test]
async fn the_link_of_dev_logs_in_once_and_not_by_being_opened() {
    let server = Server::dev();
    let link = server.line()["dashboard"]["loginUrl"].as_str().expect("a link").to_owned();
    let path = link.strip_prefix(server.url()).expect("of this server").to_owned();
    let mut browser = Browser::new(&server);
    for _ in 0..2 {
        let page = browser.get(&path).await;
        assert!(page.status == 200 && browser.cookie.is_none(), "{}", page.html);
    }
    assert_eq!(browser.send(&path, &[]).await.to.as_deref(), Some("/app"));
    let mut other = Browser::new(&server);
    assert_eq!(other.send(&path, &[]).await.status, 410);
    assert_eq!(other.cookie, None);
}

#[tokio::test]
async fn the_first_operator_sets_the_server_up_and_a_code_counts_once() {
    let mut server = Server::start(Launch::serve("[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n"));
    let path = setup_link(&server);
    let mut browser = Browser::new(&server);
    let page = browser.get(&path).await;
    let secret = page.value("enrolment");
    let now = code(&secret, 0);
    let good = [
        ("email", "Ada@Example.com"),
        ("password", PASSWORD),
        ("account", "Tern & Co"),
        ("enrolment", secret.as_str()),
        ("code", now.as_str()),
    ];
    for (field, bad, said) in [
        ("password", "short", "at least 12 characters"),
        ("code", "000000", "not the code"),
        ("email", "ada", "must be an e-mail address"),
        ("account", " ", "must be 1 to 100 characters"),
    ] {
        let typed = good.map(|(name, value)| (name, if name == field { bad } else { value }));
        let page = browser.send(&path, &typed).await;
        assert!(
            page.status == 422 && page.html.to_lowercase().contains(said),
            "{field}: {}",
            page.html
        );
    }
    let page = browser.send(&path, &good).await;
    assert_eq!(page.status, 200, "{}", page.html);
    assert!(page.html.contains("Keep these recovery codes"), "{}", page.html);
    let recovery = page.html.split("<li>").nth(1).and_then(|it| it.split('<').next());
    let recovery = recovery.expect("a code").to_owned();
    assert!(browser.get("/app").await.html.contains("Tern &#38; Co"));
    assert_eq!(browser.send(&path, &good).await.status, 410, "the link works once");

    let mut again = Browser::new(&server);
    let page = again.log_in("ada@example.com", PASSWORD).await;
    assert!(again.cookie.is_none() && page.html.contains("One more code"), "{}", page.html);
    let step = page.value("step");
    let refused = again.send("/login/code", &[("step", &step), ("code", &now)]).await;
    assert_eq!(refused.status, 422, "the code of the set-up was used: {}", refused.html);
    let next = code(&secret, 1);
    let page = again.send("/login/code", &[("step", &step), ("code", &next)]).await;
    assert_eq!(page.to.as_deref(), Some("/app"), "{}", page.html);
    for expected in [303, 422] {
        let mut with_code = Browser::new(&server);
        let step = with_code.log_in("ada@example.com", PASSWORD).await.value("step");
        let page = with_code.send("/login/code", &[("step", &step), ("code", &recovery)]).await;
        assert_eq!(page.status, expected, "a recovery code works once: {}", page.html);
    }
    let cookie = browser.cookie.clone();
    server.restart();
    let mut browser = Browser::new(&server);
    browser.cookie = cookie;
    assert_eq!(browser.get("/app").await.status, 200, "a session outlives a restart");
    let log = server.log();
    assert_eq!(log.matches("has no operator yet").count(), 1, "no further link is made: {log}");
}

/// What `serve` has printed.
fn setup_link(server: &Server) -> String {
    let log = server.log();
    let link = log.split_whitespace().find(|it| it.contains("/setup/")).expect("a set-up link");
    link.strip_prefix(server.url()).expect("of this server").to_owned()
}

#[test]
fn the_set_up_link_begins_with_the_url_that_people_use() {
    let server = Server::start(Launch::serve("[people]\nurl = \"https://mail.example.net/\"\n"));
    let log = server.log();
    assert!(log.contains(" https://mail.example.net/setup/"), "{log}");
}

#[tokio::test]
async fn a_reset_ends_all_sessions_and_leaves_the_second_factor() {
    let server = Server::dev();
    let account = server.open_account("pro", 0);
    let mut browser = Browser::invited(&server, "bo@example.com", &account.id, "owner").await;
    let page = browser.get("/app/profile/factor").await;
    let secret = page.value("enrolment");
    let proof = code(&secret, 0);
    let page =
        browser.submit("/app/profile/factor", &[("enrolment", &secret), ("code", &proof)]).await;
    assert!(page.html.contains("recovery codes"), "{}", page.html);

    let made = server.cli(&["user", "reset", "bo@example.com"]);
    let path = made["path"].as_str().expect("a link").to_owned();
    let mut other = Browser::new(&server);
    let page = other.send(&path, &[("password", "another horse battery staple")]).await;
    assert_eq!((page.status, page.to.as_deref()), (303, Some("/login")), "{}", page.html);
    assert_eq!(other.cookie, None, "the code is still to come");
    assert_eq!(browser.get("/app").await.status, 303, "its session is over");
    let page = other.log_in("bo@example.com", "another horse battery staple").await;
    assert!(page.html.contains("One more code"), "{}", page.html);
    assert_eq!(other.log_in("bo@example.com", PASSWORD).await.status, 422);
}

#[tokio::test]
async fn users_are_listed_given_roles_and_removed_by_command() {
    let server = Server::dev();
    let account = server.open_account("pro", 0);
    let mut browser = Browser::invited(&server, "cy@example.com", &account.id, "read-only").await;
    let further = server.open_account("free", 0);
    let changed = server.cli(&[
        "user",
        "role",
        "cy@example.com",
        "--account",
        &further.id,
        "--role",
        "member",
    ]);
    assert_eq!(changed["roles"].as_array().map(Vec::len), Some(2), "{changed}");
    let listed = server.cli(&["user", "list"]);
    assert_eq!(listed.as_array().map(Vec::len), Some(2), "dev's and this one: {listed}");
    let said = server.cli_fails(&["user", "add", "--email", "cy@example.com", "--operator"]);
    assert!(said.contains("there is a user"), "{said}");
    drop(server.cli(&["user", "remove", "cy@example.com"]));
    assert_eq!(browser.get("/app").await.status, 303);
    let said = server.cli_fails(&["user", "reset", "cy@example.com"]);
    assert!(said.contains("there is no user"), "{said}");
}

#[tokio::test]
async fn another_password_does_not_stand_for_the_second_factor() {
    let server = Server::dev();
    let account = server.open_account("pro", 0);
    let mut browser = Browser::invited(&server, "bo@example.com", &account.id, "owner").await;
    enrol(&mut browser).await;
    change(&server, "UPDATE sessions SET verified_at = 0").await;
    let asked = browser.submit("/app/profile/factor/remove", &[]).await;
    assert!(asked.status == 403 && asked.html.contains("step-up-password"), "{}", asked.html);
    let typed = [("before", PASSWORD), ("after", ANOTHER)];
    let changed = browser.submit("/app/profile/password", &typed).await;
    assert_eq!(changed.to.as_deref(), Some("/app/profile?done=password"), "{}", changed.html);
    let asked = browser.submit("/app/profile/factor/remove", &[]).await;
    assert!(asked.status == 403 && asked.html.contains("step-up-password"), "{}", asked.html);
    let page = Browser::new(&server).log_in("bo@example.com", ANOTHER).await;
    assert!(page.html.contains("One more code"), "{}", page.html);
}

#[tokio::test]
async fn another_password_ends_links_and_log_ins_that_were_begun() {
    let server = Server::dev();
    let account = server.open_account("pro", 0);
    let mut browser = Browser::invited(&server, "bo@example.com", &account.id, "owner").await;
    let (_, codes) = enrol(&mut browser).await;
    let made = server.cli(&["user", "reset", "bo@example.com"]);
    let reset = made["path"].as_str().expect("a link").to_owned();
    let mut other = Browser::new(&server);
    let step = other.log_in("bo@example.com", PASSWORD).await.value("step");
    let typed = [("before", PASSWORD), ("after", ANOTHER)];
    let changed = browser.submit("/app/profile/password", &typed).await;
    assert_eq!(changed.status, 303, "{}", changed.html);
    assert_eq!(other.get(&reset).await.status, 410);
    let page = other.send("/login/code", &[("step", &step), ("code", &codes[0])]).await;
    assert_eq!((page.status, other.cookie.clone()), (422, None), "{}", page.html);
}

#[tokio::test]
async fn a_log_in_tries_five_codes_and_begins_anew() {
    let server = Server::start(Launch::dev().with("limits", "failed_logins", "100"));
    let account = server.open_account("pro", 0);
    let mut browser = Browser::invited(&server, "bo@example.com", &account.id, "owner").await;
    let (_, codes) = enrol(&mut browser).await;
    let mut other = Browser::new(&server);
    let step = other.log_in("bo@example.com", PASSWORD).await.value("step");
    for _ in 0..5 {
        let guess = [("step", step.as_str()), ("code", "aaaa-aaaa-aaaa-aaaa")];
        let page = other.send("/login/code", &guess).await;
        assert!(page.status == 422 && page.html.contains("not right"), "{}", page.html);
    }
    let page = other.send("/login/code", &[("step", &step), ("code", &codes[0])]).await;
    assert!(page.status == 422 && page.html.contains("begin again"), "{}", page.html);
    assert_eq!(other.cookie, None);
    let step = other.log_in("bo@example.com", PASSWORD).await.value("step");
    let page = other.send("/login/code", &[("step", &step), ("code", &codes[0])]).await;
    assert_eq!(page.to.as_deref(), Some("/app"), "its code was not used up: {}", page.html);
}

#[tokio::test]
async fn a_set_up_that_is_sent_five_times_at_once_makes_one_account() {
    let server = Server::start(Launch::serve("[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n"));
    let path = setup_link(&server);
    let secret = Browser::new(&server).get(&path).await.value("enrolment");
    let now = code(&secret, 0);
    let database = Database::of(&server).await;
    let accounts = "SELECT count(*) FROM accounts";
    let before = database.number(accounts).await;
    let set_up = |number: u32| {
        let (server, path, secret, now) = (&server, &path, &secret, &now);
        async move {
            let (email, account) = (format!("ada{number}@example.com"), format!("Tern {number}"));
            let typed = [
                ("email", email.as_str()),
                ("password", PASSWORD),
                ("account", account.as_str()),
                ("enrolment", secret.as_str()),
                ("code", now.as_str()),
            ];
            Browser::new(server).send(path, &typed).await
        }
    };
    let pages = join_all((1..=5).map(set_up)).await;
    assert_eq!(pages.iter().filter(|it| it.status == 200).count(), 1, "{pages:?}");
    assert_eq!(database.number(accounts).await, before + 1, "{pages:?}");
}

#[tokio::test]
async fn a_second_factor_ends_the_sessions_that_were_opened_without_it() {
    let server = Server::dev();
    let account = server.open_account("pro", 0);
    let mut browser = Browser::invited(&server, "bo@example.com", &account.id, "owner").await;
    let mut other = Browser::new(&server);
    other.log_in("bo@example.com", PASSWORD).await;
    assert_eq!(other.get("/app").await.status, 200);
    enrol(&mut browser).await;
    assert_eq!(other.get("/app").await.to.as_deref(), Some("/login"));
    assert_eq!(browser.get("/app").await.status, 200);
}
