//! The command line with `--json`, beside a server that runs: what it changes holds for the very
//! next request.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use waxwing_tests::{Launch, Server, from_now, http_client, only_on_a_file, until_async, waxwing};

use crate::fixture::{Template, message, publish, with};

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().expect("a text")
}

#[tokio::test]
async fn a_system_without_certificate_authorities_is_enough_for_plain_http() {
    let server = Server::start(Launch::dev().without_authorities());
    let slots = server.cli(&["plugin", "list"]);
    assert!(slots.as_array().is_some_and(|it| !it.is_empty()), "{slots}");
    let log = server.log();
    assert!(log.contains("install ca-certificates, or name a file in SSL_CERT_FILE"), "{log}");
}

/// `waxwing top` of that server, and what it shows each second.
fn top(server: &Server) -> (Child, impl Iterator<Item = Value> + use<>) {
    let mut top = waxwing();
    top.args(["top", "--every", "1", "--json", "--data-dir"]).arg(server.data_dir());
    top.envs(server.environment());
    let mut top = top.stdout(Stdio::piped()).spawn().expect("it starts");
    let output = BufReader::new(top.stdout.take().expect("a pipe"));
    let looks = output
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.expect("a line")).expect("a line of JSON"));
    (top, looks)
}

#[tokio::test]
async fn top_shows_what_happens_between_two_looks() {
    let server = Server::dev();
    let (mut top, mut looks) = top(&server);
    let first = looks.next().expect("a look");
    assert!(first["waiting"].is_number() && first["queue"].is_array(), "{first}");
    server.send(server.key(), &message("ada@example.com")).await.message_id();
    let accept = looks.take(60).map(|it| it["steps"][0].clone());
    let found = accept.into_iter().find(|it| it["perSecond"].as_f64() > Some(0.0));
    top.kill().expect("it still looks");
    top.wait().expect("it has ended");
    let found = found.expect("a look in which a message was accepted");
    assert!(found["step"] == "accept" && found["p99Seconds"].is_number(), "{found}");
}

#[test]
fn top_goes_on_when_the_server_is_started_again() {
    let mut server = Server::dev();
    let (mut top, mut looks) = top(&server);
    assert!(looks.next().expect("a look")["waiting"].is_number());
    server.kill9();
    let silent = looks.by_ref().take(60).find(|it| it["error"].is_string());
    assert!(silent.is_some(), "it says that nobody answers, and does not end");
    server.restart();
    let again = looks.take(60).find(|it| it["waiting"].is_number());
    top.kill().expect("it still looks");
    top.wait().expect("it has ended");
    assert!(again.is_some(), "it shows the server that was started again");
}

#[test]
fn a_user_is_created_invited_or_added() {
    let server = Server::dev();
    for name in ["create", "invite", "add"] {
        let email = format!("{name}@example.com");
        let made = server.cli(&["user", name, "--email", &email, "--operator"]);
        assert!(text(&made, "path").starts_with("/invite/"), "{made}");
    }
    let users = server.cli(&["user", "list"]);
    let emails: Vec<&str> =
        users.as_array().expect("users").iter().map(|it| text(it, "email")).collect();
    for name in ["create", "invite", "add"] {
        assert!(emails.contains(&format!("{name}@example.com").as_str()), "{emails:?}");
    }
}

#[tokio::test]
async fn the_link_for_a_user_leads_to_the_server() {
    let printed = |server: &Server, email: &str| {
        let mut add = waxwing();
        // What the server alone is told.
        add.envs(server.environment().filter(|(name, _)| !name.contains("PEOPLE")));
        add.args(["user", "add", "--operator", "--email", email, "--data-dir"]);
        let output = add.arg(server.data_dir()).output().expect("the binary runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let server = Server::dev();
    let said = printed(&server, "ada@example.com");
    let link = said.lines().find(|it| it.contains("/invite/")).expect("a link");
    assert!(link.starts_with(server.url()), "{said}");
    let page = http_client().get(link).send().await.expect("an answer");
    assert!(page.status().is_success(), "{said}");

    let named = Server::start(Launch::dev().with("people", "url", "https://mail.example.com"));
    let said = printed(&named, "eve@example.com");
    assert!(said.contains("\nhttps://mail.example.com/invite/"), "{said}");
}

#[tokio::test]
async fn all_that_a_send_needs_can_be_made_without_a_dashboard() {
    let mut server = Server::dev();
    let account = server.cli(&["account", "create", "--name", "Acme", "--plan", "starter"]);
    let id = text(&account, "id");
    assert!(id.starts_with("acc_") && account["balance"] == 0, "{account}");
    assert_eq!((&account["plan"], &account["state"]), (&json!("starter"), &json!("active")));
    let grant = server.cli(&["credits", "grant", "--account", id, "2", "--reason", "a gift"]);
    assert_eq!(grant["balance"], 2);
    let domain = server.cli(&["domain", "add", "--account", id, "acme.test", "--sandbox"]);
    assert_eq!((&domain["verified"], &domain["progress"]), (&json!(true), &json!(100)));
    let starter = ["template", "create", "--account", id, "--slug", "welcome", "--starter"];
    let template = server.cli(&starter);
    assert_eq!(template["revision"], 1);
    let key = server.cli(&["key", "create", "--account", id, "--name", "shop"]);
    let from = "shop@acme.test";
    let updated = server.cli(&["account", "update", id, "--sender", from]);
    assert_eq!(updated["sender"], from);

    // The server starts as in production: with a file.
    server.restart_as(Launch::serve("[inbox]\nsmtp_listen = \"127.0.0.1:0\"\nview = true\n"));
    let body = json!({
        "to": "ada@example.com", "type": "EMAIL", "template": "welcome",
        "data": template["exampleData"],
    });
    let answer = server.send(text(&key, "key"), &body).await;
    answer.message_id();
    assert_eq!(answer.body["creditsRemaining"], 1);
    assert_eq!(server.wait_for_mail_to("ada@example.com").await.from, from);
    assert_eq!(server.cli(&["account", "show", id])["balance"], 1);
}

#[test]
fn lists_and_shows_tell_what_there_is_and_never_a_secret() {
    let server = Server::dev();
    let account = server.open_account("pro", 3);
    let id = account.id.as_str();
    let accounts = server.cli(&["account", "list"]);
    let accounts = accounts.as_array().expect("a list");
    assert!(accounts.len() == 2 && accounts.iter().any(|it| it["id"] == id));
    let keys = server.cli(&["key", "list", "--account", id]);
    let shown = keys.to_string();
    let (prefix, secret) = account.key.rsplit_once('_').expect("a key has parts");
    assert_eq!(keys[0]["prefix"], prefix);
    assert!(!shown.contains(secret), "a key is shown once");
    let domains = server.cli(&["domain", "list", "--account", id]);
    assert_eq!(domains[0]["name"], "sandbox.test");
    let domain = server.cli(&["domain", "add", "--account", id, "example.com"]);
    let records = domain["records"].as_array().expect("records to publish");
    assert!(!records.is_empty() && domain["verified"] == false, "{domain}");
    assert_eq!(server.cli(&["domain", "show", "--account", id, "example.com"])["id"], domain["id"]);
    let template = server.cli(&["template", "show", "--account", id, "verification-code"]);
    assert!(text(&template["source"], "html").contains("{{ code }}"));
    let required = json!({"path": "code", "required": true, "type": "string"});
    assert!(
        template["variables"].as_array().is_some_and(|it| it.contains(&required)),
        "{template}"
    );
    assert_eq!(server.cli(&["message", "list", "--account", id]), json!([]));
}

#[test]
fn a_command_in_a_mistyped_directory_says_so_and_makes_no_store() {
    if only_on_a_file("the store would be made in the directory") {
        return;
    }
    let server = Server::dev();
    let mistyped = server.data_dir().join("mistyped");
    let path = mistyped.to_str().expect("UTF-8");
    let nobody = "acc_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for arguments in [&["account", "list"][..], &["message", "list", "--account", nobody]] {
        let output = std::process::Command::new(waxwing_tests::binary())
            .args(arguments)
            .args(["--data-dir", path])
            .output()
            .expect("the binary runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(errors.contains(path) && errors.contains("--data-dir"), "{errors}");
        assert!(!mistyped.exists(), "{arguments:?} made it");
    }
    let new = ["account", "create", "--name", "Acme", "--plan", "por", "--data-dir", path];
    let output = std::process::Command::new(waxwing_tests::binary()).args(new).output();
    let errors = String::from_utf8(output.expect("the binary runs").stderr).expect("UTF-8");
    assert!(errors.contains("`por` is not known"), "{errors}");
    assert!(!mistyped.exists(), "an account that is not made makes no store");
}

#[test]
fn what_cannot_be_done_says_why() {
    let server = Server::dev();
    let nobody = "acc_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let account = server.dev_output("accountId");
    for (arguments, words) in [
        (vec!["account", "show", nobody], nobody),
        (vec!["key", "create", "--account", nobody], nobody),
        (vec!["credits", "grant", "--account", nobody, "1"], nobody),
        (vec!["credits", "grant", "--account", account, "0"], "0"),
        (vec!["credits", "grant", "--account", account, "-5"], "-5"),
        (vec!["account", "show", "acc_rubbish"], "acc_rubbish"),
        (vec!["key", "create", "--account", account, "--ip", "300.1.1.1"], "300.1.1.1"),
        (
            vec!["key", "deactivate", "key_01ARZ3NDEKTSV4RRFFQ69G5FAV"],
            "key_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        ),
        (vec!["domain", "add", "--account", account, "no_domain"], "no_domain"),
        (vec!["domain", "add", "--account", account, "sandbox.test"], "already"),
        (
            vec!["template", "create", "--account", account, "--slug", "nope", "--starter"],
            "welcome",
        ),
        (
            vec!["template", "create", "--account", account, "--slug", "x", "--folder", "/nowhere"],
            "/nowhere",
        ),
        (
            vec!["message", "show", "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV"],
            "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV",
        ),
    ] {
        let error = server.cli_fails(&arguments);
        assert!(error.contains(words), "{arguments:?}: {error}");
        assert!(error.starts_with("error: "), "{arguments:?}: {error}");
    }
}

#[test]
fn a_template_with_faults_is_not_published_and_each_fault_has_its_place() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    let folder = server.scratch("broken");
    std::fs::create_dir(&folder).expect("a folder");
    for (name, source) in [
        ("template.toml", "name = \"n\"\ndescription = \"d\"\n"),
        ("subject.liquid", "s"),
        ("html.liquid", "<p>\n{% if %}\n{{ x | nofilter }}"),
    ] {
        std::fs::write(folder.join(name), source).expect("written");
    }
    let folder = folder.to_str().expect("UTF-8");
    let arguments =
        ["template", "create", "--account", account, "--slug", "broken", "--folder", folder];
    let error = server.cli_fails(&arguments);
    assert!(
        error.contains("broken") && error.contains("line 2") && error.contains("column"),
        "{error}"
    );
    let list = server.cli(&["template", "list", "--account", account]).to_string();
    assert!(!list.contains("\"broken\""), "{list}");
}

#[tokio::test]
async fn a_key_works_from_its_creation_until_it_is_switched_off() {
    let server = Server::dev();
    let account = server.dev_output("accountId").to_owned();
    for _ in 0..5 {
        let (id, key) = server.make_key(&account, &[]);
        server.send(&key, &message("a@example.com")).await.message_id();
        assert_eq!(server.cli(&["key", "deactivate", &id])["state"], "deactivated");
        server.send(&key, &message("a@example.com")).await.assert_refused(401, "UNAUTHORIZED");
    }
    let keys = server.cli(&["key", "list", "--account", &account]);
    let off = keys.as_array().expect("a list").iter().filter(|it| it["state"] == "deactivated");
    assert_eq!(off.count(), 5);
}

#[tokio::test]
async fn a_key_stops_working_when_its_time_is_over_and_tells_when_it_was_used() {
    let server = Server::dev();
    let account = server.dev_output("accountId").to_owned();
    let soon = from_now(Duration::from_secs(10));
    let (id, key) = server.make_key(&account, &["--expires", &soon]);
    let used = || {
        let keys = server.cli(&["key", "list", "--account", &account]);
        let keys = keys.as_array().expect("a list").clone();
        keys.into_iter().find(|it| it["id"] == id.as_str()).expect("the key")["lastUsedAt"].clone()
    };
    assert_eq!(used(), Value::Null);
    server.send(&key, &message("a@example.com")).await.message_id();
    assert!(used().is_string());
    let (server, key) = (&server, &key);
    let over = || async move {
        let answer = server.send(key, &message("a@example.com")).await;
        (answer.status == 401).then_some(())
    };
    until_async("the key expires", Duration::from_mins(1), over).await;
}

#[tokio::test]
async fn a_new_version_of_a_template_is_sent_at_once() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    let body = with(message("a@example.com"), "template", json!("news"));
    server.send(server.key(), &body).await.assert_faults(&["template"]);
    for version in 1..=5 {
        let subject = format!("version {version}");
        let template = Template { subject: &subject, text: Some("t"), ..Template::default() };
        let published = publish(&server, account, "news", &template, &[]);
        assert_eq!(published["revision"], version);
        let id = server.send(server.key(), &body).await.message_id();
        assert_eq!(server.message(&id)["subject"], subject);
    }
    let needs = Template { subject: "{{ needed }}", text: Some("t"), ..Template::default() };
    publish(&server, account, "news", &needs, &["--force"]);
    server.send(server.key(), &body).await.assert_faults(&["data.needed"]);
}

#[tokio::test]
async fn credits_plan_and_standing_of_an_account_change_at_once() {
    let server = Server::dev();
    let account = server.open_account("free", 0);
    let id = account.id.as_str();
    let text = Template { subject: "s", text: Some("t"), ..Template::default() };
    publish(&server, id, "premium", &text, &["--required-plan", "pro"]);
    let (plain, premium) =
        (message("a@example.com"), with(message("a@example.com"), "template", json!("premium")));
    for _ in 0..3 {
        server.send(&account.key, &plain).await.assert_refused(402, "INSUFFICIENT_BALANCE");
        server.grant(id, 2);
        server.send(&account.key, &plain).await.message_id();
        server.send(&account.key, &premium).await.assert_refused(403, "RESTRICTED_TEMPLATE");
        assert_eq!(server.cli(&["account", "update", id, "--plan", "pro"])["plan"], "pro");
        server.send(&account.key, &premium).await.message_id();
        assert_eq!(server.cli(&["account", "update", id, "--plan", "free"])["plan"], "free");
        assert_eq!(server.cli(&["account", "deactivate", id])["state"], "suspended");
        server.send(&account.key, &plain).await.assert_refused(403, "FORBIDDEN");
        assert_eq!(server.cli(&["account", "activate", id])["state"], "active");
    }
    assert_eq!(server.messages(id).len(), 6);
}

#[test]
fn a_plan_that_is_a_typing_error_is_refused() {
    let server = Server::dev();
    let create = ["account", "create", "--name", "Acme", "--plan"];
    let with = |further: &[&'static str]| [&create, further].concat();
    let said = server.cli_fails(&with(&["por"]));
    assert!(said.contains("`por` is not known") && said.contains("pro, business"), "{said}");
    let account = server.dev_output("accountId");
    let update = ["account", "update", account, "--plan", "gold"];
    assert!(server.cli_fails(&update).contains("--own-plan"));
    assert_eq!(server.cli(&with(&["gold", "--own-plan"]))["plan"], "gold");
    assert_eq!(server.cli(&update)["plan"], "gold", "another account has it already");
}

#[test]
fn settings_of_a_plugin_are_shown_and_given_from_a_file() {
    let server = Server::dev();
    let shown = server.cli(&["plugin", "settings", "plan-policy"]);
    assert_eq!((&shown["slot"], &shown["settings"]), (&json!("plan-policy"), &json!({})));
    assert!(shown["schema"]["properties"]["plans"].is_object(), "{shown}");
    let gold = json!([{"name": "free"}, {"name": "gold", "dailyLimit": 7}]);
    let toml = "[[plans]]\nname = \"free\"\n[[plans]]\nname = \"gold\"\ndailyLimit = 7\n";
    for (name, text) in
        [("settings.json", json!({"plans": gold}).to_string()), ("settings.toml", toml.to_owned())]
    {
        let file = server.data_dir().join(name);
        std::fs::write(&file, text).expect("a file");
        let file = file.to_string_lossy().into_owned();
        let slot = server.cli(&["plugin", "settings", "plan-policy", "--set", &file]);
        assert_eq!(slot["slot"], "plan-policy", "{slot}");
        let shown = server.cli(&["plugin", "settings", "plan-policy"]);
        assert_eq!(shown["settings"]["plans"], gold, "{name}: {shown}");
    }
    let file = server.data_dir().join("wrong.json");
    for (text, why) in [("{", "has no settings"), (r#"{"plans": 1}"#, "plans")] {
        std::fs::write(&file, text).expect("a file");
        let set = ["plugin", "settings", "plan-policy", "--set", &file.to_string_lossy()];
        assert!(server.cli_fails(&set).contains(why), "{why}");
    }
    let said = server.cli_fails(&["plugin", "settings", "nothing"]);
    assert!(said.contains("nothing"), "{said}");
}

#[cfg(unix)]
#[test]
fn every_command_and_the_server_warn_of_a_master_key_that_others_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let mut server = Server::dev();
    let account = server.dev_output("accountId").to_owned();
    let commands = [
        vec!["account", "list"],
        vec!["key", "list", "--account", &account],
        vec!["plugin", "list"],
    ];
    let warning = "other users of this machine can read";
    let warned =
        |server: &Server| commands.iter().map(|it| server.cli_warns(it)).collect::<Vec<_>>();
    assert!(warned(&server).iter().all(|said| !said.contains(warning)));
    let file = server.data_dir().join("master.key");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).expect("changed");
    for said in warned(&server) {
        assert!(said.contains(warning) && said.contains("chmod 600"), "{said}");
    }
    assert!(!server.log().contains(warning));
    server.restart();
    assert!(server.log().contains(warning));
}

#[tokio::test]
async fn a_new_domain_and_a_suppression_hold_at_once() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    let from = with(message("a@example.com"), "from", json!("me@new.test"));
    server.send(server.key(), &from).await.assert_refused(403, "DOMAIN_NOT_VERIFIED");
    drop(server.cli(&["domain", "add", "--account", account, "new.test", "--sandbox"]));
    server.send(server.key(), &from).await.message_id();
    drop(server.cli(&["message", "suppress", "--account", account, "a@example.com"]));
    assert_eq!(server.send(server.key(), &from).await.body["state"], "suppressed");
}

#[test]
fn every_command_has_help_that_says_what_it_does() {
    let run = |arguments: &[&str]| {
        let output = std::process::Command::new(waxwing_tests::binary())
            .args(arguments)
            .arg("--help")
            .output()
            .expect("the binary runs");
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let top = run(&[]);
    for command in
        ["dev", "serve", "check", "account", "key", "template", "credits", "domain", "message"]
    {
        assert!(top.contains(command), "{top}");
        assert!(run(&[command]).contains("Usage: waxwing"), "{command}");
    }
}

#[test]
fn a_configuration_with_a_fault_names_the_line_and_what_would_be_right() {
    let server = Server::dev();
    let file = server.scratch("bad.toml");
    std::fs::write(&file, "[http]\nlissten = \"127.0.0.1:0\"\n").expect("written");
    let output = std::process::Command::new(waxwing_tests::binary())
        .args(["serve", "--config"])
        .arg(&file)
        .output()
        .expect("the binary runs");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(!output.status.success());
    for words in ["bad.toml", "line 2", "lissten", "listen"] {
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn check_tells_every_fault_of_a_configuration_and_of_its_files() {
    let server = Server::dev();
    let check = |text: &str| {
        let file = server.scratch("checked.toml");
        std::fs::write(&file, text).expect("written");
        let output = std::process::Command::new(waxwing_tests::binary())
            .args(["check", "--config"])
            .arg(&file)
            .output()
            .expect("the binary runs");
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).expect("UTF-8"))
    };
    let (fine, said) = check("[http]\nlisten = \"127.0.0.1:0\"\n");
    assert!(fine, "{said}");

    let (fine, said) = check("[htp]\nlisten = 1\n[smtp]\nrecipients = 0\nhostname = 7\n");
    assert!(!fine);
    for words in ["line 1", "htp", "smtp.recipients: 1 to 1000", "line 5", "smtp.hostname"] {
        assert!(said.contains(words), "{words}: {said}");
    }

    let (fine, said) = check(
        "[smtp]\nlisten_starttls = [\"0.0.0.0:587\", \"0.0.0.0:2525\"]\n\
         trusted_proxies = [\"10.0.0.0/33\"]\nuser_names = [\"anything\"]\n",
    );
    assert!(!fine);
    for words in [
        "line 3, column 19, at `smtp.trusted_proxies`: `10.0.0.0/33` is not",
        "line 4, column 15, at `smtp.user_names`: unknown variant `anything`",
        "smtp.listen_starttls[1] = 0.0.0.0:2525 and inbox.smtp_listen = 127.0.0.1:2525 cannot both listen",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }

    let (fine, said) = check(
        "[smtp]\nrecipients = 0\ncertificate = \"no-such.pem\"\nprivate_key = \"no-such.key\"\n\
         [log]\nfilter = \"waxwing=loud,,=[\"\n\
         [webhooks]\nca_file = \"no-such-authority.pem\"\n\
         [delivery]\nroute = \"smarthost\"\n[[delivery.smarthosts]]\nname = \"relay\"\n\
         host = \"relay.example\"\nuser = \"me\"\npassword_file = \"no-such-password\"\n",
    );
    assert!(!fine);
    let files = ["no-such.pem", "no-such.key", "no-such-authority.pem", "no-such-password"];
    let filter = "at `log.filter`: `waxwing=loud,,=[` is no filter";
    assert!(said.contains("the configuration ") && said.contains(" is not valid:\n"), "{said}");
    for words in files.into_iter().chain(["smtp.recipients: 1 to 1000", filter]) {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn check_refuses_what_serve_refuses_and_makes_nothing() {
    if only_on_a_file("it is about what stands in place of the file and its directory") {
        return;
    }
    let home = tempfile::tempdir().expect("a directory");
    let path = |name: &str| home.path().join(name).display().to_string();
    std::fs::write(path("file"), "").expect("written");
    std::fs::create_dir_all(path("taken/waxwing.db")).expect("made");
    std::fs::create_dir(path("state")).expect("made");
    std::fs::write(path("state/plugin-state"), "").expect("written");
    std::fs::create_dir(path("certificates")).expect("made");
    std::fs::write(path("certificates/tls"), "").expect("written");
    std::fs::create_dir(path("other")).expect("made");
    std::fs::write(path("other/waxwing.db"), "no database, but a letter".repeat(99))
        .expect("written");
    let (file, taken, other) = (path("file"), path("taken"), path("other"));
    let (state, certificates) = (path("state"), path("certificates"));
    let quiet = "[http]\nlisten = \"127.0.0.1:0\"\n[smtp]\nlisten_starttls = \"off\"\n\
                 listen_tls = \"127.0.0.1:0\"\n[inbox]\nenabled = false\n";
    let recipient = "age1t5tys0zmkld4c9mjjychqxv3zdx9pxdtaaj0x3sx00fslrr5rclqm6vdx5";
    let recipients = format!("recipients = [{recipient:?}]\n");
    for (text, words) in [
        ("[store]\ndata_dir = \"/proc/x\"\n".to_owned(), "store.data_dir: /proc/x cannot be used"),
        (format!("[store]\ndata_dir = {file:?}\n"), "file is not a directory"),
        (format!("[store]\ndata_dir = \"{file}/data\"\n"), "file is not a directory"),
        (format!("[store]\ndata_dir = {taken:?}\n"), "waxwing.db is not a file"),
        (format!("[store]\ndata_dir = {other:?}\n"), "restore the last backup"),
        (format!("[store]\ndata_dir = {state:?}\n"), "plugin-state is not a directory"),
        (format!("[store]\ndata_dir = {certificates:?}\n"), "tls is not a directory"),
        ("[plugins]\ndir = \"/proc/x\"\n".to_owned(), "plugins.dir: /proc/x cannot be used"),
        (format!("[plugins]\ndir = {file:?}\n"), "plugins.dir: "),
        (format!("[backup]\nto = \"{}/backup-work/a\"\n{recipients}", path("data")), "backup.to: "),
        ("[domains]\nreturn_path_host = \"bounces\"\n".to_owned(), "domains.return_path_host"),
        ("[bounces]\nlisten = \"192.0.2.1:2599\"\n".to_owned(), "cannot listen on 192.0.2.1:2599"),
    ] {
        let store = format!("[store]\ndata_dir = {:?}\n", path("data"));
        let store = if text.starts_with("[store]") { "" } else { &store };
        std::fs::write(path("waxwing.toml"), format!("{quiet}{store}{text}")).expect("written");
        for command in ["check", "serve"] {
            let output = std::process::Command::new(waxwing_tests::binary())
                .args([command, "--config", &path("waxwing.toml")])
                .output()
                .expect("the binary runs");
            let said = String::from_utf8(output.stderr).expect("UTF-8");
            assert!(!output.status.success() && said.contains(words), "{command}: {words}: {said}");
            if command == "check" {
                assert!(!home.path().join("data").exists(), "check made the data directory");
            }
        }
        drop(std::fs::remove_dir_all(path("data")));
    }
}

#[test]
fn the_server_of_a_file_is_its_only_node_for_as_long_as_it_runs() {
    if only_on_a_file("a killed node of PostgreSQL lives until its time is over: postgres::nodes") {
        return;
    }
    let mut server = Server::dev();
    let shown = |server: &Server| {
        let nodes = server.cli(&["nodes"]);
        let all = nodes.as_array().expect("a list");
        let [node] = all.as_slice() else { unreachable!("one node: {nodes}") };
        (node["state"].as_str().expect("a text").to_owned(), node["shares"].clone())
    };
    assert_eq!(shown(&server), ("live".to_owned(), 64.into()));
    server.kill9();
    assert_eq!(shown(&server), ("gone".to_owned(), 0.into()));
    server.restart();
    assert_eq!(shown(&server), ("live".to_owned(), 64.into()));
    assert!(server.cli_text(&["nodes"]).contains("64 of 64 shares"));
    assert!(server.terminate().success());
    assert_eq!(shown(&server).0, "gone");
}
