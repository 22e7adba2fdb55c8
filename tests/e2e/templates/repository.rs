//! Templates in a repository: pushed, pulled, and held against a server that somebody else changes too.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Server, workspace};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{api, create};
use crate::fixture::Database;

/// A repository with templates, and how its author works in it.
struct Repository<'a> {
    server: &'a Server,
    folder: PathBuf,
}

impl Repository<'_> {
    fn git(&self, arguments: &[&str]) -> String {
        let identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
        let output = Command::new("git")
            .args(identity)
            .args(arguments)
            .current_dir(&self.folder)
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.join(path)).expect("readable")
    }

    /// A command of the author; its exit code must be that.
    fn template(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        let said = [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said:?}");
        said.concat()
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let key = self.server.key();
        let all = [&["template"], arguments].concat();
        self.server.cli_as(key, &self.folder, &all)
    }

    /// What the command prints for a script.
    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        serde_json::from_slice(&output.stdout).expect("--json prints JSON")
    }
}

fn outcomes(answer: &Value) -> Vec<String> {
    let data = answer["data"].as_array().expect("a list").iter();
    let word = |it: &Value, member: &str| it[member].as_str().expect("a word").to_owned();
    data.map(|it| format!("{} {}", word(it, "slug"), word(it, "outcome"))).collect()
}

fn empty(server: &Server, name: &str) -> PathBuf {
    let folder = server.scratch(name);
    fs::create_dir_all(&folder).expect("made");
    folder
}

#[tokio::test]
async fn an_authors_day_in_a_repository() {
    let server = Server::dev();
    let repository = Repository { server: &server, folder: empty(&server, "repository") };
    writes_and_pushes(&repository);
    meets_another_author(&repository).await;
    would_break_senders(&repository).await;
    Database::of(&server).await.assert_sound().await;
}

fn writes_and_pushes(it: &Repository<'_>) {
    it.git(&["init", "-q"]);
    it.write("mails/hello/template.toml", "# by hand\nname = 'Hello'\ndescription = 'A test.'\nlayout = 'frame'\n[example]\nname = 'Ada'\n");
    it.write("mails/hello/subject.liquid", "{{ 'greeting' | t }} {{ name }}");
    it.write("mails/hello/html.liquid", "<p>{{ name }}</p>");
    it.write("mails/hello/messages.toml", "greeting = 'Hello'\n");
    it.write("mails/hello/locales/de/messages.toml", "greeting = 'Hallo'\n");
    it.write("mails/_layouts/frame.liquid", "<main>{{ content }}</main>{% render 'foot' %}");
    it.write("mails/_partials/foot/html.liquid", "<i>{% render 'bar' %}</i>");
    it.write("mails/_partials/bar/html.liquid", "bar");
    it.write("mails/README.md", "ours");
    it.git(&["add", "."]);
    it.git(&["commit", "-qm", "Mails"]);
    // Nothing is changed before it is asked for.
    let would = it.template(&["push", "mails", "--dry-run"], 0);
    assert!(would.contains("template hello  would be created"), "{would}");
    assert!(would.contains("\n4 would be created\n"), "{would}");
    assert_eq!(it.git(&["status", "--porcelain"]), "");
    assert!(it.template(&["check", "mails"], 0).contains("layout frame  would be created"));
    assert!(it.template(&["check", "mails", "--offline"], 0).contains("would be created"));
    // A misspelt name, a fault and a wrong command line are told, each with its exit code.
    it.write("mails/hello/htm.liquid", "x");
    assert!(it.template(&["push", "mails"], 1).contains("htm.liquid"));
    fs::remove_file(it.folder.join("mails/hello/htm.liquid")).expect("deleted");
    it.write("mails/hello/text.liquid", "{{ name | upcas }}");
    for arguments in [&["check", "mails"][..], &["check", "mails", "--offline"], &["push", "mails"]]
    {
        let refused = it.template(arguments, 1);
        assert!(refused.contains("upcas") && refused.contains("skipped"), "{refused}");
    }
    fs::remove_file(it.folder.join("mails/hello/text.liquid")).expect("deleted");
    it.template(&["push", "mails", "--nonsense"], 2);
    // Partials, layout and template become live in their order; doing it again does nothing.
    let first = it.json(&["push", "mails", "--note", "first"]);
    assert_eq!(first["success"], true, "{first}");
    let expected = ["bar created", "foot created", "frame created", "hello created"];
    assert_eq!(outcomes(&first), expected);
    let again = it.json(&["push", "mails"]);
    let expected = ["bar unchanged", "foot unchanged", "frame unchanged", "hello unchanged"];
    assert_eq!(outcomes(&again), expected);
    it.template(&["diff", "mails"], 0);
    // As of diff(1): nobody knows whether something differs.
    it.template(&["diff", "no-such-folder"], 2);
    it.template(&["diff", "mails", "--url", "http://127.0.0.1:9"], 2);
    it.template(&["diff", "--no-such-option"], 2);
    it.git(&["add", "."]);
    it.git(&["commit", "-qm", "Pushed"]);
    // Of what the server has, only what the folder has not is written; what was written by hand stays.
    it.template(&["pull", "mails"], 0);
    let changed = it.git(&["status", "--porcelain"]);
    assert!(!changed.contains("hello") && !changed.contains("_partials"), "{changed}");
    it.git(&["add", "."]);
    it.git(&["commit", "-qm", "Everything"]);
    it.template(&["pull", "mails"], 0);
    it.template(&["push", "mails"], 0);
    assert_eq!(it.git(&["status", "--porcelain"]), "", "a push after a pull changes nothing");
}

async fn meets_another_author(it: &Repository<'_>) {
    let server = it.server;
    it.write("mails/hello/html.liquid", "<p>Dear {{ name }}</p>");
    it.write("mails/_partials/bar/html.liquid", "our bar");
    let change = json!({"html": "<p>Hi {{ name }}</p>"});
    api(server, Method::PATCH, "/v1/templates/hello", &change).await;
    let differs = it.template(&["diff", "mails"], 1);
    for line in [
        "--- server/hello/html.liquid",
        "-<p>Hi {{ name }}</p>",
        "+<p>Dear {{ name }}</p>",
        "-bar",
        "+our bar",
    ] {
        assert!(differs.contains(line), "{line}: {differs}");
    }
    let refused = it.template(&["push", "mails"], 1);
    assert!(refused.contains("changed on the server by key_"), "{refused}");
    assert!(refused.contains("partial bar  skipped"), "all or nothing: {refused}");
    let shown = api(server, Method::GET, "/v1/templates/hello", &Value::Null).await;
    assert_eq!(shown.body["draft"]["html"], "<p>Hi {{ name }}</p>");
    it.git(&["commit", "-qam", "Mine"]);
    it.template(&["pull", "mails"], 0);
    assert_eq!(it.read("mails/hello/html.liquid"), "<p>Hi {{ name }}</p>");
    assert_eq!(it.read("mails/_partials/bar/html.liquid"), "bar", "git still has what was ours");
    it.git(&["checkout", "-q", "--", "mails/_partials"]);
    it.write("mails/hello/html.liquid", "<p>Hi, dear {{ name }}</p>");
    let pushed = it.json(&["push", "mails"]);
    assert_eq!(pushed["success"], true, "{pushed}");
    let changed: Vec<String> =
        outcomes(&pushed).into_iter().filter(|it| !it.ends_with("unchanged")).collect();
    assert_eq!(changed, ["bar changed", "hello changed"]);
    let shown = api(server, Method::GET, "/v1/templates/hello", &Value::Null).await;
    assert_eq!(shown.body["hasDraft"], false, "{}", shown.body);
    // What was deleted there is not brought back unasked; what is written over is.
    create(server, "/v1/partials", "spare", json!({"html": "x"})).await;
    it.template(&["pull", "mails"], 0);
    api(server, Method::DELETE, "/v1/partials/spare", &Value::Null).await;
    assert!(it.template(&["push", "mails"], 1).contains("deleted on the server"));
    assert!(it.template(&["pull", "mails"], 0).contains("kept"));
    assert!(it.template(&["push", "mails"], 1).contains("deleted on the server"));
    it.template(&["pull", "mails", "--prune"], 0);
    assert!(!it.folder.join("mails/_partials/spare").exists());
    assert_eq!(it.read("mails/README.md"), "ours");
    it.template(&["push", "mails"], 0);
}

async fn would_break_senders(it: &Repository<'_>) {
    let server = it.server;
    let message = json!({"to": "ada@example.com", "type": "EMAIL", "template": "hello", "data": {"name": "Ada"}});
    server.send(server.key(), &message).await.message_id();
    it.write("mails/_layouts/frame.liquid", "<main>{{ content }}</main>{{ imprint }}");
    it.write("mails/hello/template.toml", "name = 'Hello'\ndescription = ''\nlayout = 'frame'\n[example]\nname = 'Ada'\nimprint = 'i'\n");
    for arguments in [&["check", "mails"][..], &["push", "mails"]] {
        let refused = it.template(arguments, 1);
        assert!(refused.contains("imprint") && refused.contains("1 message was sent"), "{refused}");
    }
    server.send(server.key(), &message).await.message_id();
    it.template(&["check", "mails", "--force"], 0);
    let drafts = it.template(&["push", "mails", "--draft"], 0);
    assert!(drafts.contains("hello  changed"), "{drafts}");
    server.send(server.key(), &message).await.message_id();
    it.template(&["push", "mails", "--force"], 0);
    server.send(server.key(), &message).await.assert_refused(400, "BAD_REQUEST");
}

/// Every file below a folder, by its path.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("readable") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((path.clone(), fs::read(&path).expect("readable")));
            }
        }
    }
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    for (path, bytes) in everything(from) {
        let target = to.join(path.strip_prefix(from).expect("below"));
        fs::create_dir_all(target.parent().expect("a folder")).expect("made");
        fs::write(target, bytes).expect("written");
    }
}

#[tokio::test]
async fn all_starters_go_to_a_server_and_come_back_as_they_were() {
    let server = Server::dev();
    let it = Repository { server: &server, folder: empty(&server, "work") };
    copy(&workspace().join("templates/email"), &it.folder.join("mails"));
    let before = everything(&it.folder);
    let pushed = it.json(&["push", "mails", "--overwrite"]);
    assert_eq!((&pushed["success"], outcomes(&pushed).len()), (&json!(true), 16), "{pushed}");
    it.template(&["pull", "mails"], 0);
    let after = everything(&it.folder);
    let known: Vec<_> = after.iter().filter(|(path, _)| !path.ends_with(".waxwing.json")).collect();
    assert_eq!(known, before.iter().collect::<Vec<_>>(), "no file of an author is rewritten");
    // Into nothing, and back: the server has nothing to change, and the files are the same again.
    it.template(&["pull", "fresh"], 0);
    let fresh = everything(&it.folder.join("fresh"));
    let again = it.json(&["push", "fresh"]);
    assert!(outcomes(&again).iter().all(|it| it.ends_with(" unchanged")), "{again}");
    it.template(&["pull", "fresh"], 0);
    assert_eq!(everything(&it.folder.join("fresh")), fresh);
    // One file says the same, is the same each time, and makes another account the same.
    it.template(&["pull", "one.zip"], 0);
    it.template(&["pull", "two.zip"], 0);
    let (one, two) = ("one.zip", "two.zip");
    let bytes = |name: &str| fs::read(it.folder.join(name)).expect("written");
    assert_eq!(bytes(one), bytes(two));
    it.template(&["diff", "one.zip"], 0);
    let other = server.open_account("pro", 10);
    let (_, key) = server.make_key(&other.id, &["--scope", "templates"]);
    let arguments = ["template", "push", "one.zip", "--overwrite", "--json"];
    let output = server.cli_as(&key, &it.folder, &arguments);
    assert!(output.status.success(), "{output:?}");
    let output = server.cli_as(&key, &it.folder, &["template", "pull", "three.zip"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(bytes("three.zip"), bytes(one), "the account is the same");
    // One with what it is made of.
    it.template(&["pull", "receipt", "receipt"], 0);
    let names: Vec<String> = fs::read_dir(it.folder.join("receipt"))
        .expect("readable")
        .map(|it| it.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(
        ["receipt", "_layouts", ".waxwing.json"].iter().all(|it| names.contains(&(*it).to_owned()))
    );
}

fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, text) in files {
        zip.start_file(*name, options).expect("started");
        zip.write_all(text).expect("written");
    }
    zip.finish().expect("ended").into_inner()
}

const TOML: &[u8] = b"name = 'x'\ndescription = ''\n";

#[tokio::test]
async fn hostile_zip_files_are_refused_and_change_nothing() {
    let server = Server::dev();
    let bomb = vec![b' '; 100 << 20];
    let good: (&str, &[u8]) = ("evil/template.toml", TOML);
    let many: Vec<String> = (0..21_000).map(|n| format!("f{n}")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|it| (it.as_str(), &b""[..])).collect();
    let mut link = ZipWriter::new(Cursor::new(Vec::new()));
    link.add_symlink("evil/html.liquid", "/etc/passwd", SimpleFileOptions::default())
        .expect("added");
    let cases = [
        ("above", zip_of(&[good, ("evil/../../html.liquid", b"x")])),
        ("absolute", zip_of(&[good, ("/etc/passwd", b"x")])),
        ("backslash", zip_of(&[good, ("evil\\..\\x", b"x")])),
        ("bomb", zip_of(&[good, ("evil/html.liquid", &bomb)])),
        ("many", zip_of(&many)),
        ("link", link.finish().expect("ended").into_inner()),
        ("no zip", b"PK\x03\x04 no zip".to_vec()),
        ("nothing", Vec::new()),
        ("slug", zip_of(&[("Evil!/template.toml", TOML), ("Evil!/html.liquid", b"x")])),
        ("latin", zip_of(&[good, ("evil/html.liquid", b"\xe9")])),
        ("nul", zip_of(&[good, ("evil/examples.json", br#"{"default":{"a":"\u0000"}}"#)])),
        ("state", zip_of(&[good, (".waxwing.json", b"[]")])),
        ("misspelt", zip_of(&[good, ("evil/htm.liquid", b"x")])),
        ("one folder too deep", zip_of(&[("emails/evil/template.toml", TOML)])),
        ("no file of a template", zip_of(&[("README.md", b"x")])),
        (
            "one long line of TOML",
            zip_of(&[("evil/template.toml", "[".repeat(1 << 20).as_bytes())]),
        ),
    ];
    let import = async |zip: Vec<u8>, kind: &str| {
        let request = server.request(Method::POST, "/v1/template-archive");
        let request = request.header("x-api-key", server.key()).header("content-type", kind);
        server.answer(request.body(zip)).await
    };
    for (what, zip) in cases {
        let answer = import(zip, "application/zip").await;
        assert_eq!((answer.status, answer.code()), (400, "BAD_REQUEST"), "{what}: {}", answer.body);
        assert!(answer.body.to_string().len() < 8 << 10, "{what}: {}", answer.body);
    }
    let large = import(vec![0; 9 << 20], "application/zip").await;
    large.assert_refused(413, "PAYLOAD_TOO_LARGE");
    import(zip_of(&[good]), "application/json").await.assert_refused(415, "UNSUPPORTED_MEDIA_TYPE");
    let gone = api(&server, Method::GET, "/v1/templates/evil", &Value::Null).await;
    gone.assert_refused(404, "NOT_FOUND");
    // Keys for less than everything, and for tests only.
    let account = server.dev_output("accountId");
    for (scopes, path, status) in [
        (&["--scope", "send"][..], "/v1/template-archive", 403),
        (&["--scope", "templates", "--template", "other"], "/v1/template-archive", 403),
        (&["--scope", "templates", "--template", "other"], "/v1/templates/other/export", 404),
        (&["--scope", "templates"], "/v1/template-archive", 200),
    ] {
        let (_, key) = server.make_key(account, scopes);
        let request = server.request(Method::GET, path).header("x-api-key", &key);
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status(), status, "{scopes:?} {path}");
        if status == 200 {
            continue;
        }
        let request = server.request(Method::POST, "/v1/template-archive");
        let request = request.header("x-api-key", &key).header("content-type", "application/zip");
        let answer = server.answer(request.body(zip_of(&[good]))).await;
        answer.assert_refused(403, "FORBIDDEN");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_means_harm_writes_nothing_outside_of_the_folder() {
    let server = Server::dev();
    let it = Repository { server: &server, folder: empty(&server, "victim") };
    let hostile = zip_of(&[("evil/template.toml", TOML), ("../outside/html.liquid", b"x")]);
    let links = zip_of(&[("evil/template.toml", TOML), ("evil/html.liquid", b"theirs")]);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let answers = std::sync::Arc::new(std::sync::Mutex::new(vec![links, hostile]));
    let answer = move || {
        let next = answers.lock().expect("not poisoned").pop();
        std::future::ready(next.unwrap_or_default())
    };
    let app = axum::Router::new().route("/v1/template-archive", axum::routing::get(answer));
    let serving = tokio::spawn(async move { axum::serve(listener, app).await });
    let pull = |arguments: &[&str]| {
        let all = [&["pull", "mails", "--url", url.as_str(), "--key", "wx_live_x"], arguments];
        it.run(&all.concat())
    };
    let refused = tokio::task::block_in_place(|| pull(&[]));
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(!it.folder.join("outside").exists() && !it.folder.join("mails/evil").exists());
    // A link that the folder has already is not written through.
    let outside = empty(&server, "elsewhere");
    fs::create_dir_all(it.folder.join("mails")).expect("made");
    std::os::unix::fs::symlink(&outside, it.folder.join("mails/evil")).expect("linked");
    let refused = tokio::task::block_in_place(|| pull(&[]));
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(everything(&outside).is_empty());
    serving.abort();
}

#[tokio::test]
async fn the_life_of_a_template_on_the_command_line() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    let cli = |verb: &str, slug: &str, more: &[&str]| {
        server.cli(&[&["template", verb, "--account", account, slug], more].concat())
    };
    let html = "<p>{{ name }}</p>";
    let draft =
        json!({"subject": "Hi {{ name }}", "html": html, "examples": {"default": {"name": "Ada"}}});
    create(&server, "/v1/templates", "note", draft).await;
    create(&server, "/v1/layouts", "frame", json!({"html": "<b>{{ content }}</b>"})).await;
    let layout = ["--kind", "layout"];
    assert_eq!(cli("publish", "frame", &layout)["revision"], 1);
    assert_eq!(cli("publish", "note", &["--note", "first"])["revision"], 1);
    api(&server, Method::PATCH, "/v1/templates/note", &json!({"layout": "frame"})).await;
    assert_eq!(cli("publish", "note", &[])["revision"], 2);
    assert_eq!(cli("rollback", "note", &["--revision", "1"])["revision"], 1);
    let versions = cli("versions", "note", &[]);
    let told: Vec<_> = versions
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| (&it["revision"], &it["published"]))
        .collect();
    assert_eq!(told, [(&json!(2), &json!(false)), (&json!(1), &json!(true))], "{versions}");
    assert_eq!(versions[1]["note"], "first");
    assert_eq!(cli("preview", "note", &["--of", "2"])["parts"]["subject"], "Hi Ada");
    let folder = server.scratch("preview").display().to_string();
    let written = cli("preview", "note", &["--of", "2", "--to", &folder]);
    assert_eq!(written.as_array().map(Vec::len), Some(3), "{written}");
    let page = fs::read_to_string(server.scratch("preview/body.html")).expect("written");
    assert!(page.contains("<b><p>Ada</p></b>"), "{page}");
    assert_eq!(cli("duplicate", "note", &["--as", "copy"])["slug"], "copy");
    assert_eq!(cli("delete", "copy", &[])["deleted"], true);
    assert_eq!(cli("archive", "note", &[])["state"], "archived");
    let kept = server.cli_fails(&["template", "archive", "--account", account, "gone"]);
    assert!(kept.contains("there is no template `gone`"), "{kept}");
    assert_eq!(cli("archive", "frame", &layout)["state"], "archived");
}
