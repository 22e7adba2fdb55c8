//! What is exported of an account: all that is its own, nothing that is another's, and no secret.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use waxwing_tests::{Server, binary};
use waxwing_tools::{Need, SmallDisk};
use zip::ZipArchive;

use crate::fixture::message;

/// The files of a zip file.
pub fn files(path: &Path) -> BTreeMap<String, String> {
    let mut zip = ZipArchive::new(File::open(path).expect("there")).expect("a zip file");
    let mut files = BTreeMap::new();
    for index in 0..zip.len() {
        let mut file = zip.by_index(index).expect("readable");
        let mut text = String::new();
        file.read_to_string(&mut text).expect("UTF-8");
        files.insert(file.name().to_owned(), text);
    }
    files
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|it| serde_json::from_str(it).expect("JSON lines")).collect()
}

#[tokio::test]
async fn an_export_has_all_of_an_account_nothing_of_others_and_no_secret() {
    let server = Server::dev();
    let account = server.dev_output("accountId").to_owned();
    let id = server.send(server.key(), &message("ada@example.com")).await.message_id();
    server.wait_for_mails(1).await;
    let hook = json!({"url": "https://hooks.example/waxwing"});
    let hook = server.post("/v1/webhooks", server.key(), &hook, &[]).await;
    let secret = hook.body["secret"].as_str().expect("it is shown once").to_owned();
    let gone = json!({"address": "gone@example.com"});
    assert!(server.post("/v1/suppressions", server.key(), &gone, &[]).await.status < 300);
    let other = server.open_account("free", 10);

    let to = server.scratch("account.zip");
    let path = to.to_str().expect("UTF-8");
    let told = server.cli(&["export", "--account", &account, "--to", path]);
    assert_eq!(told["counts"]["messages.jsonl"], 1, "{told}");
    let files = files(&to);
    assert_eq!(lines(&files["account.jsonl"])[0]["id"], json!(account));
    let found = &lines(&files["messages.jsonl"])[0];
    assert_eq!((&found["id"], &found["to"]), (&json!(id), &json!("ada@example.com")));
    assert!(found["events"].as_array().is_some_and(|it| !it.is_empty()), "{found}");
    assert!(files[&format!("messages/{id}.eml")].contains("481 902"), "the content is in it");
    assert_eq!(lines(&files["suppressions.jsonl"])[0]["address"], "gone@example.com");
    assert_eq!(lines(&files["ledger.jsonl"]).len(), 2, "a grant and a debit");
    for name in ["keys", "members", "domains", "templates", "webhooks", "audit"] {
        assert!(!lines(&files[&format!("{name}.jsonl")]).is_empty(), "{name}");
    }
    let (_, key) = server.key().rsplit_once('_').expect("a key has parts");
    for (name, text) in &files {
        for wrong in [key, &secret, other.id.as_str(), "argon2"] {
            assert!(!text.contains(wrong), "{wrong} in {name}");
        }
    }
    let refused = server.cli_fails(&["export", "--account", &account, "--to", path]);
    assert!(refused.contains("is there already"), "{refused}");
    let audit = server.get_as(server.key(), &format!("/v1/audit?account={account}")).await;
    assert!(audit.body.to_string().contains("export_account"), "{}", audit.body);
}

#[tokio::test]
async fn an_export_onto_a_full_disk_says_so_and_leaves_nothing() {
    if !Need::SmallDisk.is_met("an export onto a full disk is not tried") {
        return;
    }
    let server = Server::dev();
    let account = server.dev_output("accountId").to_owned();
    server.send(server.key(), &message("ada@example.com")).await.message_id();
    let directory = server.scratch("small");
    std::fs::create_dir(&directory).expect("made");
    let disk = SmallDisk::over(&directory, "size=1m");
    disk.fill();
    let to = directory.join("account.zip");
    let said =
        server.cli_fails(&["export", "--account", &account, "--to", to.to_str().expect("UTF-8")]);
    assert!(said.contains("the disk is full: free some of it"), "{said}");
    assert!(said.contains("bytes, is removed"), "{said}");
    assert_eq!(said.matches("error").count(), said.matches("os error").count() + 1, "{said}");
    assert!(!said.contains("ZipWriter"), "{said}");
    let left: Vec<_> = std::fs::read_dir(&directory).expect("readable").collect();
    assert_eq!(left.len(), 1, "what fills the disk: {left:?}");
}

/// How often an export is begun that may have ended before the signal came.
const TRIES: usize = 20;

#[tokio::test]
async fn an_export_that_is_stopped_leaves_no_personal_data() {
    let server = Server::dev();
    let account = server.dev_output("accountId").to_owned();
    for number in 0..100 {
        server.send(server.key(), &message(&format!("ada{number}@example.com"))).await.message_id();
    }
    let directory = server.scratch("exports");
    std::fs::create_dir(&directory).expect("made");
    let to = directory.join("account.zip");
    let files = || std::fs::read_dir(&directory).expect("readable").flatten().count();
    for signal in ["TERM", "HUP"] {
        let is_stopped = (0..TRIES).any(|_| {
            // A test that was started by nohup would hand on that hang-ups are ignored.
            let mut export = Command::new("env");
            export.arg("--default-signal=HUP").arg(binary());
            export.envs(server.store_url().map(|url| ("WAXWING_STORE__URL", url)));
            export.args(["export", "--account", &account, "--to"]).arg(&to);
            export.arg("--data-dir").arg(server.data_dir());
            let export = export.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
            let mut export = export.expect("the binary runs");
            while files() == 0 && export.try_wait().expect("it can be watched").is_none() {
                std::thread::yield_now();
            }
            let kill = format!("kill -{signal} {}", export.id());
            drop(Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status());
            let ended = export.wait_with_output().expect("it ends");
            let said = String::from_utf8_lossy(&ended.stderr);
            if ended.status.success() {
                std::fs::remove_file(&to).expect("it was whole before the signal");
                return false;
            }
            assert!(said.contains("nothing of it is kept"), "{signal}: {said}");
            assert_eq!(files(), 0, "{signal}");
            true
        });
        assert!(is_stopped, "{signal}: each export was whole before the signal");
    }
}
