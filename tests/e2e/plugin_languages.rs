//! The operator's loop in each language: a new project is built, tested and checked, and then it
//! decides on a running server. The examples go through the same tools.

mod project;
mod tools;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use waxwing_tests::{Launch, Server, until_async};

use crate::fixture::{Template, publish};
use project::{Examples, Folder, Project};
use tools::{Language, answer_of, waxwing};

/// A server without optimisation takes a while to compile a component of Python.
const PATIENCE: Duration = Duration::from_mins(10);
/// What operators raise for Python: the largest that there may be.
const LARGE: &str = "33554432";
/// The settings that make an answer of the scaffold another one than that of its defaults.
const SETTINGS: [(&str, &str); 4] = [
    ("plan", "creditsPerRecipient = 3"),
    ("domain", "requireDmarc = true"),
    ("renderer", ""),
    ("mjml", "language = \"de\""),
];

#[tokio::test]
async fn a_new_project_in_rust_is_built_and_decides() {
    whole_loop(Language::Rust).await;
}

#[tokio::test]
async fn a_new_project_in_javascript_is_built_and_decides() {
    whole_loop(Language::JavaScript).await;
}

#[tokio::test]
async fn a_new_project_in_python_is_built_and_decides() {
    whole_loop(Language::Python).await;
}

#[test]
fn the_example_in_javascript_is_built_and_holds_its_cases() {
    example(Language::JavaScript, "javascript-plan-policy", "weekdays");
}

#[test]
fn the_example_in_python_is_built_and_holds_its_cases() {
    example(Language::Python, "python-plan-policy", "warm-up");
}

#[test]
fn the_examples_in_rust_are_built_and_hold_their_cases() {
    let cache = tempfile::tempdir().expect("a folder");
    for (name, kind) in [
        ("quiet-hours-price", "plan"),
        ("strict-dmarc", "domain"),
        ("minijinja-renderer", "renderer"),
    ] {
        let (component, cases) = Examples::build_rust(name);
        let arguments = [Path::new("plugin"), Path::new("check"), &component];
        let checked = answer_of(
            waxwing()
                .args(arguments)
                .args(["--json", "--kind", kind, "--cases"])
                .arg(&cases)
                .env("XDG_CACHE_HOME", cache.path()),
        );
        assert_eq!((&checked["ok"], &checked["kind"]), (&json!(true), &json!(kind)), "{checked:#}");
        assert_eq!(checked["cases"], count(&cases), "{checked:#}");
    }
}

#[tokio::test]
async fn one_account_writes_jinja_and_the_others_liquid() {
    let (component, _) = Examples::build_rust("minijinja-renderer");
    let server = Server::dev();
    let (jinja, liquid) = (server.open_account("pro", 10), server.open_account("pro", 10));
    server.place("jinja.toml", format!("[binding]\naccount = \"{}\"\n", jinja.id));
    server.place("jinja.wasm", fs::read(component).expect("the component is there"));
    let waits = |view: &Value| (view["candidate"]["stage"] == "waiting").then_some(());
    server.until_slot("jinja", "it waits, because the starter is in Liquid", waits).await;
    assert_eq!(server.order("jinja", "activate").await.status, 200);
    let live = |view: &Value| (view["active"]["builtin"] == false).then_some(());
    server.until_slot("jinja", "the renderer of Jinja is live", live).await;

    let html = |inside: &str| format!("<p>{inside}</p>");
    let of_jinja = html("{% for it in items %}{{ loop.index }} {{ it | upper }} {% endfor %}");
    let of_liquid = html("{% for it in items %}{{ forloop.index }} {{ it | upcase }} {% endfor %}");
    for (account, source) in [(&jinja, &of_jinja), (&liquid, &of_liquid)] {
        let template =
            Template { subject: "Note {{ n }}", html: Some(source), ..Template::default() };
        drop(publish(&server, &account.id, "note", &template, &[]));
    }
    for (account, name) in
        [(&jinja, "waxwing-example-minijinja-renderer"), (&liquid, "waxwing-liquid-renderer")]
    {
        let to = format!("{name}@example.com");
        let data = json!({"n": 7, "items": ["a", "b & c"]});
        let message = json!({"to": to, "type": "EMAIL", "template": "note", "data": data});
        let id = server.send(&account.key, &message).await.message_id();
        let decision = server.look(&format!("/v1/decisions/{id}")).await;
        let plugins = decision["plugins"].as_array().expect("a decision lists plugins");
        assert!(plugins.iter().any(|it| it["name"] == name), "{decision:#}");
        let mail = server.wait_for_mail_to(&to).await;
        assert_eq!(mail.subject, "Note 7");
        let raw = server.raw_mail(&mail).await;
        let raw = String::from_utf8_lossy(&raw);
        assert!(raw.contains("<p>1 A 2 B &amp; C </p>"), "{raw}");
        assert!(raw.contains("1 A 2 B & C\r\n"), "the text is made of the HTML: {raw}");
    }
    // All that is absent is refused by both at once.
    for account in [&jinja, &liquid] {
        let message =
            json!({"to": "a@example.com", "type": "EMAIL", "template": "note", "data": {}});
        let refused = server.send(&account.key, &message).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        assert_eq!(refused.body["detail"], "2 faults, in: data.n, data.items", "{}", refused.body);
    }
}

/// From `plugin new` to a message, a price and a list of DNS records, for all kinds.
async fn whole_loop(language: Language) {
    if !language.is_here() {
        return;
    }
    let folder = Folder::of(language);
    let mut proven = Vec::new();
    for (kind, _) in SETTINGS {
        let project = Project::new(&folder, language, kind);
        let Some(built) = project.build() else { return };
        assert!(built["bytes"].as_u64() > Some(10_000), "{built:#}");
        project.run_its_own_tests();
        proven.push(project.prove());
    }
    let server = started(language);
    publish_in_mjml(&server).await;
    for (proven, slot) in proven.iter().zip(SLOTS) {
        go_live(&server, slot, proven).await;
    }
    let [plan, domain, renderer, mjml] = [0, 1, 2, 3].map(|kind| &proven[kind]);
    a_send_is_decided(&server, plan, renderer).await;
    a_template_is_compiled(&server, mjml).await;
    a_domain_is_judged(&server, domain);
}

/// A component that `plugin check` has accepted.
struct Proven {
    component: PathBuf,
    name: String,
    digest: String,
    settings: &'static str,
}

/// The slots of the kinds, as in [`SETTINGS`].
const SLOTS: [&str; 4] = ["plan-policy", "domain-policy", "liquid-renderer", "mjml"];

fn started(language: Language) -> Server {
    let launch = match language {
        Language::Rust | Language::JavaScript => Launch::dev(),
        Language::Python => Launch::dev().with("plugins", "max_component_bytes", LARGE),
    };
    let server = Server::start(launch);
    let template = Template {
        subject: "Note {{ n }}",
        html: Some("<p>To <b>{{ name }}</b>, number {{ n }}.</p>"),
        text: None,
    };
    drop(publish(&server, server.dev_output("accountId"), "note", &template, &[]));
    server
}

/// Copies the component among the plugins, and then its settings; waits until both hold.
async fn go_live(server: &Server, slot: &str, proven: &Proven) {
    let Proven { component, name, digest, settings } = proven;
    server.place(&format!("{slot}.wasm"), fs::read(component).expect("the component is there"));
    let view = until_live(server, slot, digest, &json!({})).await;
    assert_eq!(view["active"]["name"], **name, "{view:#}");
    if let Some((key, value)) = settings.split_once(" = ") {
        server.place(&format!("{slot}.toml"), format!("[settings]\n{settings}\n"));
        let value: Value = serde_json::from_str(value).expect("JSON and TOML alike");
        until_live(server, slot, digest, &json!({ key: value })).await;
    }
}

async fn until_live(server: &Server, slot: &str, digest: &str, settings: &Value) -> Value {
    let ask = || async {
        let view = server.slot(slot).await;
        let (active, candidate) = (&view["active"], &view["candidate"]);
        assert!(candidate["rejected"].is_null(), "{slot}: {view:#}");
        // The example of a renderer is not made for the starter templates.
        if candidate["stage"] == "waiting" {
            server.order(slot, "activate").await;
        }
        let wanted = active["digest"] == digest && active["settings"] == *settings;
        (wanted && candidate.is_null()).then_some(view)
    };
    until_async(&format!("{digest} is live in {slot}"), PATIENCE, ask).await
}

async fn a_send_is_decided(server: &Server, plan: &Proven, renderer: &Proven) {
    let account = server.dev_output("accountId");
    let before = server.balance(account);
    let to = "ada@example.com";
    let data = json!({"n": 7, "name": "Ada & Bo"});
    let message = json!({"to": to, "type": "EMAIL", "template": "note", "data": data});
    let id = server.send(server.key(), &message).await.message_id();
    let decision = server.look(&format!("/v1/decisions/{id}")).await;
    for (kind, proven, verdict) in [("plan", plan, "allow"), ("renderer", renderer, "rendered")] {
        let plugins = decision["plugins"].as_array().expect("a decision lists plugins");
        let of_kind = plugins.iter().find(|it| it["kind"] == kind).expect("it names this kind");
        assert_eq!(of_kind["name"], *proven.name, "{decision:#}");
        assert_eq!(of_kind["digest"], *proven.digest, "{decision:#}");
        assert_eq!(of_kind["verdict"], verdict, "{decision:#}");
        if kind == "plan" {
            assert_eq!(of_kind["reason"], "3 credits a recipient", "{decision:#}");
        }
    }
    assert_eq!(server.balance(account), before - 3, "the project's price is charged");
    let mail = server.wait_for_mail_to(to).await;
    assert_eq!(mail.subject, "Note 7");
    let raw = server.raw_mail(&mail).await;
    let raw = String::from_utf8_lossy(&raw);
    assert!(raw.contains("To <b>Ada &amp; Bo</b>, number 7."), "{raw}");
    assert!(raw.contains("To Ada & Bo, number 7."), "the text is made of the HTML: {raw}");
}

/// A template that the built-in compiler has compiled.
async fn publish_in_mjml(server: &Server) {
    let source = "<mjml><mj-body><mj-section><mj-column><mj-text>{{ name }}</mj-text></mj-column></mj-section>\
                  </mj-body></mjml>";
    let draft = json!({"slug": "in-mjml", "draft": {"subject": "Hi", "mjml": source}});
    let made = server.post("/v1/templates", server.key(), &draft, &[]).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(publish_again(server).await, 1);
}

async fn publish_again(server: &Server) -> u64 {
    let path = "/v1/templates/in-mjml/publish";
    let published = server.post(path, server.key(), &json!({}), &[]).await;
    published.body["revision"].as_u64().expect("a revision")
}

/// What is published stays as it was compiled, until it is published again.
async fn a_template_is_compiled(server: &Server, mjml: &Proven) {
    let version = async |revision: u64| {
        let path = format!("/v1/templates/in-mjml/versions/{revision}");
        server.get_as(server.key(), &path).await.body["compiled"].clone()
    };
    let before = version(1).await;
    assert_eq!(before["compiler"]["name"], "waxwing-mjml-compiler", "{before:#}");
    let shown = json!({"data": {"name": "Ada"}, "of": "published"});
    let preview = server.post("/v1/templates/in-mjml/preview", server.key(), &shown, &[]).await;
    assert_eq!(preview.body["mjml"]["html"], before["locales"]["en"]["html"]);
    assert_eq!(publish_again(server).await, 2);
    let after = version(2).await;
    assert_eq!(after["compiler"]["digest"], *mjml.digest, "{after:#}");
    let html = after["locales"]["en"]["html"].as_str().expect("HTML");
    assert!(html.starts_with("<!doctype html><html lang=\"de\"><body><table"), "{html}");
    assert_eq!(version(1).await, before);
    assert_eq!(publish_again(server).await, 2, "the same HTML makes no version");
}

/// The command line takes the plugins of the server's directory, as they are live there.
fn a_domain_is_judged(server: &Server, domain: &Proven) {
    let added = answer_of(
        waxwing()
            .args(["domain", "add", "--account", server.dev_output("accountId"), "example.com"])
            .arg("--json")
            .arg("--data-dir")
            .arg(server.data_dir())
            .envs(server.environment())
            .env("WAXWING_PLUGINS__MAX_COMPONENT_BYTES", LARGE),
    );
    let decision = &added["decision"];
    assert_eq!(decision["name"], *domain.name, "{added:#}");
    assert_eq!(decision["digest"], *domain.digest, "{added:#}");
    assert_eq!(decision["verdict"], "judged", "{added:#}");
    let records = added["records"].as_array().expect("records to publish");
    let dmarc = records.iter().find(|it| it["purpose"] == "DMARC").expect("a DMARC record");
    assert_eq!(dmarc["required"], true, "by the settings: {added:#}");
    assert_eq!(added["verified"], false, "nothing is published: {added:#}");
}

fn example(language: Language, folder: &str, name: &str) {
    if !language.is_here() {
        return;
    }
    let examples = Examples::copy(folder);
    let project = examples.project(language, folder);
    let Some(built) = project.build() else { return };
    assert_eq!(built["name"], name);
    project.run_its_own_tests();
    assert_eq!(project.prove().name, name);
}

/// The golden cases in a folder.
fn count(cases: &Path) -> usize {
    let cases = fs::read_dir(cases).expect("the project has cases").count();
    assert!(cases > 1, "a project has some cases");
    cases
}
