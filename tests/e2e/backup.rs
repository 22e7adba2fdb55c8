//! Backups: taken while the server sends, opened by nobody without the identity, restored into another directory, and
//! released without a message that leaves twice.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Lines};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use waxwing_tests::{Launch, Server, binary, only_on_a_file, until_async};
use waxwing_tools::Need;

use crate::fixture::{Database, message, run_python};
use crate::health::{checked, finding};

const BOUND: Duration = Duration::from_mins(1);

/// A pair of keys, and a directory for backups, beside the server's data directory.
struct Place {
    folder: tempfile::TempDir,
    recipient: String,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let identity = path(&folder.path().join("id"));
        let made = waxwing(&["backup", "keygen", "--json", "--out", &identity]);
        let recipient = read(&made)["recipient"].as_str().expect("a recipient").to_owned();
        Self { folder, recipient }
    }

    fn identity(&self) -> PathBuf {
        self.folder.path().join("id")
    }

    fn backups(&self) -> PathBuf {
        self.folder.path().join("backups")
    }

    /// The one backup that is there.
    fn backup(&self) -> PathBuf {
        let mut files = fs::read_dir(self.backups()).expect("read");
        let first = files.next().expect("a backup").expect("readable").path();
        assert!(files.next().is_none(), "there is one file");
        first
    }

    /// Begins a backup of a server that goes on.
    fn begin(&self, server: &Server) -> Child {
        let (data, to) = (server.data_dir(), self.backups());
        let mut command = Command::new(binary());
        command.args(["backup", "--json", "--recipient", &self.recipient]);
        command.arg("--data-dir").arg(data).arg("--to").arg(to);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs")
    }

    fn restore(&self, from: &str, data_dir: &Path) -> Output {
        let (identity, data_dir) = (path(&self.identity()), path(data_dir));
        let words = ["restore", "--json", "--from", from, "--identity", &identity];
        waxwing(&[&words[..], &["--data-dir", &data_dir]].concat())
    }

    /// Restores the newest backup, and puts it in the place of the data of a server that has ended.
    fn restore_in_place_of(&self, server: &Server) -> Value {
        let restored = self.folder.path().join("restored");
        let answer = read(&self.restore(&path(&self.backups()), &restored));
        let lost = self.folder.path().join("lost");
        fs::rename(server.data_dir(), &lost).expect("moved");
        fs::rename(restored, server.data_dir()).expect("moved");
        // A cache, so that the server does not have to compile its plugins.
        let compiled = server.data_dir().join("compiled-plugins");
        fs::rename(lost.join("compiled-plugins"), compiled).expect("moved");
        answer
    }
}

fn path(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

fn waxwing(arguments: &[&str]) -> Output {
    Command::new(binary()).args(arguments).output().expect("the binary runs")
}

fn read(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

async fn send(server: &Server, to: &str) -> String {
    server.send(server.key(), &message(to)).await.message_id()
}

async fn send_many(server: &Server, name: &str, messages: usize) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for n in 0..messages {
        ids.insert(send(server, &format!("{name}{n}@example.com")).await);
    }
    ids
}

async fn stored(server: &Server) -> BTreeSet<String> {
    let database = Database::of(server).await;
    database.messages("SELECT id FROM messages").await.into_iter().collect()
}

async fn metric(server: &Server, line: &str) -> bool {
    let answer = server.request(reqwest::Method::GET, "/metrics").send().await.expect("answered");
    answer.text().await.expect("a text").lines().any(|it| it == line)
}

/// A server whose mail waits, with a backup that was taken while it took more, and which has delivered all since.
/// Answers what was sent before the backup began, and after its end.
async fn backed_up_then_delivered(place: &Place) -> (Server, BTreeSet<String>, BTreeSet<String>) {
    let mut server = Server::dev();
    server.terminate();
    assert!(server.cli(&["queue", "hold"])["heldFrom"].is_string());
    server.restart();
    let before = send_many(&server, "before", 20).await;
    let mut backup = place.begin(&server);
    let mut during = BTreeSet::new();
    while backup.try_wait().expect("it can be watched").is_none() {
        during.insert(send(&server, &format!("during{}@example.com", during.len())).await);
    }
    let taken = read(&backup.wait_with_output().expect("it has ended"));
    assert_eq!(place.backup().file_name().and_then(|it| it.to_str()), taken["name"].as_str());
    let after = send_many(&server, "after", 5).await;
    assert_eq!(server.cli(&["queue", "release"])["wasHeld"], true);
    server.wait_for_mails(before.len() + during.len() + after.len()).await;
    server.kill9();
    (server, before, after)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_has_the_state_of_the_backup_and_holds_what_waited() {
    if only_on_a_file("PostgreSQL has backups of its own") {
        return;
    }
    let place = Place::new();
    let (mut server, before, after) = backed_up_then_delivered(&place).await;
    let restored = place.restore_in_place_of(&server);
    assert_eq!(restored["deliveryHeld"], true);

    server.restart();
    let found = stored(&server).await;
    assert!(before.is_subset(&found), "what was accepted before the backup is in it");
    assert!(found.is_disjoint(&after), "what came after the backup is lost");
    Database::of(&server).await.assert_sound().await;
    assert!(metric(&server, "waxwing_delivery_held 1").await);
    assert!(server.log().contains("waxwing queue release"), "the log says what to do");
    let new = send(&server, "new@example.com").await;
    for id in before.iter().chain([&new]) {
        let why = server.cli(&["queue", "why", id]);
        assert_eq!(why["waitsFor"], "after_restore", "{why}");
    }
    assert!(server.inbox().await.is_empty(), "nothing is delivered");
    let report = checked(&server).await;
    let queue = finding(&report, "queue");
    assert_eq!(queue["state"], "failing", "{report}");
    let todo = queue["todo"].as_str().expect("what to do");
    assert!(todo.contains("waxwing queue release"), "{todo}");

    let released = server.cli(&["queue", "release"]);
    assert_eq!((&released["wasHeld"], &released["canceled"]), (&json!(true), &json!(0)));
    let mails = server.wait_for_mails(found.len() + 1).await;
    let recipients: BTreeSet<&str> = mails.iter().map(|it| it.to.as_str()).collect();
    assert_eq!((mails.len(), recipients.len()), (found.len() + 1, found.len() + 1), "each once");
    let free = || async { metric(&server, "waxwing_delivery_held 0").await.then_some(()) };
    until_async("delivery is released", BOUND, free).await;
    assert_eq!(server.cli(&["queue", "release"])["wasHeld"], false);
    let report = checked(&server).await;
    assert_eq!(finding(&report, "queue")["state"], "ok", "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_can_cancel_and_refund_what_may_have_gone_out() {
    if only_on_a_file("PostgreSQL has backups of its own") {
        return;
    }
    let place = Place::new();
    let (mut server, before, _) = backed_up_then_delivered(&place).await;
    place.restore_in_place_of(&server);
    server.restart();
    let account = server.dev_output("accountId").to_owned();
    let old = stored(&server).await;
    send(&server, "new@example.com").await;
    let balance = server.balance(&account);
    let released = server.cli(&["queue", "release", "--cancel-queued"]);
    assert_eq!(released["canceled"], json!(old.len()));
    server.wait_for_mail_to("new@example.com").await;
    assert_eq!(server.inbox().await.len(), 1, "nothing else leaves");
    let refunded = i64::try_from(old.len()).expect("a small number");
    assert_eq!(server.balance(&account), balance + refunded);
    for id in &before {
        assert_eq!(server.message(id)["state"], "canceled");
    }
    Database::of(&server).await.assert_sound().await;
}

/// Opens a backup with the library of another program, and fails to with another key.
const OPEN: &str = "
import io, json, sys, tarfile, pyrage
asked = json.load(sys.stdin)
identity = pyrage.x25519.Identity.from_str(
    [line for line in open(asked['identity']).read().split() if line.startswith('AGE-SECRET-KEY-')][0])
opened = pyrage.decrypt(open(asked['backup'], 'rb').read(), [identity])
members = tarfile.open(fileobj=io.BytesIO(opened), mode='r:gz').getnames()
try:
    pyrage.decrypt(open(asked['backup'], 'rb').read(), [pyrage.x25519.Identity.generate()])
    refused = False
except pyrage.DecryptError:
    refused = True
print(json.dumps({'members': members, 'refused': refused}))
";

#[tokio::test]
async fn a_backup_is_opened_by_other_programs_of_age_and_by_nobody_else() {
    if only_on_a_file("PostgreSQL has backups of its own") {
        return;
    }
    let (place, server) = (Place::new(), Server::dev());
    send(&server, "somebody@example.com").await;
    server.wait_for_mails(1).await;
    read(&place.begin(&server).wait_with_output().expect("it ends"));
    let archive = fs::read(place.backup()).expect("readable");
    let key = fs::read(server.data_dir().join("master.key")).expect("readable");
    for secret in [&key[..], b"somebody@example.com", b"waxwing.db", b"SQLite format"] {
        assert!(!archive.windows(secret.len()).any(|it| it == secret), "a secret is readable");
    }
    let Some(python) = waxwing_tools::python("that other programs open a backup, by pyrage") else {
        return;
    };
    let asked = json!({"identity": place.identity(), "backup": place.backup()});
    let found = run_python(&python, OPEN, asked.to_string().as_bytes());
    assert_eq!(found["refused"], true);
    let members = found["members"].as_array().expect("a list");
    for name in ["manifest.json", "waxwing.db", "inbox.db", "master.key"] {
        assert!(members.contains(&json!(name)), "{name} in {members:?}");
    }
}

#[tokio::test]
async fn a_backup_by_hand_stands_in_the_audit_log() {
    if only_on_a_file("PostgreSQL has backups of its own") {
        return;
    }
    let (place, server) = (Place::new(), Server::dev());
    let taken = read(&place.begin(&server).wait_with_output().expect("it ends"));
    let log = server.get_as(server.key(), "/v1/audit?limit=1").await.body;
    let newest = &log["data"][0];
    assert_eq!((&newest["action"], &newest["accountId"]), (&json!("take_backup"), &Value::Null));
    assert_eq!(newest["actor"]["kind"], "command-line", "{log}");
    let subject = newest["subject"].as_str().expect("what was taken");
    assert!(subject.starts_with(taken["name"].as_str().expect("a name")), "{log}");
}

#[tokio::test]
async fn a_running_server_and_a_truncated_backup_are_refused() {
    if only_on_a_file("PostgreSQL has backups of its own") {
        return;
    }
    let (place, server) = (Place::new(), Server::dev());
    read(&place.begin(&server).wait_with_output().expect("it ends"));
    let from = path(&place.backups());
    let refused = place.restore(&from, &server.data_dir());
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && errors.contains("another waxwing runs"), "{errors}");
    let whole = fs::read(place.backup()).expect("readable");
    fs::write(place.backup(), &whole[..whole.len() / 2]).expect("written");
    let new = place.folder.path().join("new");
    let refused = place.restore(&from, &new);
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && errors.contains("cannot be read"), "{errors}");
    assert!(!new.exists());
}

#[tokio::test]
async fn the_schedule_takes_backups_by_itself_and_a_failure_is_visible() {
    if only_on_a_file("PostgreSQL has backups of its own") {
        return;
    }
    let place = Place::new();
    let recipients = json!([place.recipient]).to_string();
    let launch = |to: &Path| {
        let launch = Launch::dev().with("backup", "recipients", &recipients);
        launch.with("backup", "to", &path(to))
    };
    let mut server = Server::start(launch(&place.backups()));
    let is_there = || async {
        let files = fs::read_dir(place.backups()).ok()?;
        let names = files.filter_map(|it| it.ok()?.file_name().into_string().ok());
        let whole: Vec<String> = names.filter(|it| it.starts_with("waxwing-")).collect();
        (whole.len() == 1).then_some(())
    };
    until_async("a backup is taken", BOUND, is_there).await;
    let taken = || async {
        let report = checked(&server).await;
        let what = finding(&report, "backups")["what"].as_str()?;
        what.starts_with("The newest backup is of").then_some(())
    };
    until_async("the health check knows of it", BOUND, taken).await;
    let in_the_way = place.folder.path().join("file");
    fs::write(&in_the_way, "").expect("written");
    server.restart_as(launch(&in_the_way));
    let failed = || async {
        let metrics = server.request(reqwest::Method::GET, "/metrics").send().await.ok()?;
        let metrics = metrics.text().await.ok()?;
        let line = metrics.lines().find(|it| it.starts_with("waxwing_backup_failures_total "))?;
        (line != "waxwing_backup_failures_total 0").then_some(())
    };
    until_async("the failure is counted", BOUND, failed).await;
    assert!(server.log().contains("no backup could be taken"), "{}", server.log());
    let warns = || async {
        let report = checked(&server).await;
        let found = finding(&report, "backups");
        let what = found["what"].as_str()?;
        // The backup before is younger than the period: none is due.
        let is_told = found["state"] == "warning" && what.contains("The newest backup is of");
        is_told.then_some(())
    };
    until_async("the health check warns", BOUND, warns).await;
}

/// An object store on this machine; it ends when it is dropped.
struct ObjectStore {
    child: Child,
    endpoint: String,
    /// Open as long as the store may print.
    _output: Lines<BufReader<ChildStdout>>,
}

impl ObjectStore {
    async fn start(python: &Path) -> Self {
        const SCRIPT: &str = "
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
print('http://%s:%s' % server.get_host_and_port(), flush=True)
sys.stdin.read()
";
        let mut command = Command::new(python);
        command.args(["-I", "-c", SCRIPT]).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("Python starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut said = output.by_ref().map_while(Result::ok);
        let endpoint = said.find(|it| it.starts_with("http://")).expect("it listens");
        let store = Self { child, endpoint, _output: output };
        let client = waxwing_tests::http_client();
        let made = client.put(format!("{}/bucket", store.endpoint)).send().await;
        assert!(made.expect("answered").status().is_success());
        store
    }
}

impl Drop for ObjectStore {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_kept_in_and_restored_from_an_object_store() {
    if only_on_a_file("PostgreSQL has backups of its own") {
        return;
    }
    let unproven = "backups at an object store, by moto";
    let Some(python) = waxwing_tools::python(unproven) else { return };
    let store = ObjectStore::start(&python).await;
    let (place, server) = (Place::new(), Server::dev());
    send(&server, "ada@example.com").await;
    server.wait_for_mails(1).await;
    let secret = place.folder.path().join("secret");
    fs::write(&secret, "secret\n").expect("written");
    let to = "s3://bucket/waxwing/one";
    let with_store = |command: &mut Command| {
        command
            .env("WAXWING_BACKUP__S3_ENDPOINT", &store.endpoint)
            .env("WAXWING_BACKUP__S3_REGION", "us-east-1")
            .env("WAXWING_BACKUP__S3_ACCESS_KEY_ID", "key")
            .env("WAXWING_BACKUP__S3_SECRET_ACCESS_KEY_FILE", &secret)
            .output()
            .expect("the binary runs")
    };
    let mut backup = Command::new(binary());
    backup.args(["backup", "--json", "--to", to, "--recipient", &place.recipient]);
    let taken = read(&with_store(backup.arg("--data-dir").arg(server.data_dir())));
    let mut astray = Command::new(binary());
    astray.args(["backup", "--to", "s3://absent/one", "--recipient", &place.recipient]);
    let refused = with_store(astray.arg("--data-dir").arg(server.data_dir()));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("make the bucket"), "{said}");
    assert!(said.contains("NoSuchBucket") && !said.contains("<Code>"), "{said}");
    let restored = place.folder.path().join("restored");
    let mut restore = Command::new(binary());
    restore.args(["restore", "--json", "--from", to]).arg("--identity").arg(place.identity());
    let answer = read(&with_store(restore.arg("--data-dir").arg(&restored)));
    assert_eq!(answer["backup"], taken["name"]);
    let key = |data: &Path| fs::read(data.join("master.key")).expect("readable");
    assert_eq!(key(&restored), key(&server.data_dir()));
    assert!(!server.data_dir().join("backup-work").exists(), "no copy is left behind");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_is_stopped_leaves_no_unencrypted_copy() {
    if only_on_a_file("PostgreSQL has backups of its own") {
        return;
    }
    let (place, server) = (Place::new(), Server::dev());
    // An object store that takes the connection and never answers.
    let deaf = TcpListener::bind("127.0.0.1:0").expect("a port");
    deaf.set_nonblocking(true).expect("set");
    let endpoint = format!("http://{}", deaf.local_addr().expect("bound"));
    // The last one is what a command gets whose terminal is gone.
    for signal in ["INT", "TERM", "HUP"] {
        // A test that was started by nohup would hand on that hang-ups are ignored.
        let mut backup = Command::new("env");
        backup.arg("--default-signal=HUP").arg(binary());
        backup.args(["backup", "--to", "s3://bucket/one", "--recipient", &place.recipient]);
        backup.arg("--data-dir").arg(server.data_dir());
        backup.env("WAXWING_BACKUP__S3_ENDPOINT", &endpoint);
        backup.env("WAXWING_BACKUP__S3_REGION", "us-east-1");
        backup.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
        let command = backup.stderr(Stdio::piped()).spawn().expect("the binary runs");
        let begun = || async { deaf.accept().ok() };
        let _silent = until_async("the upload begins", BOUND, begun).await;
        let work = server.data_dir().join("backup-work");
        assert!(work.join("members/waxwing.db").is_file(), "there is an unencrypted copy");
        let kill = format!("kill -{signal} {}", command.id());
        let sent = Command::new("sh").args(["-c", &kill]).status();
        assert!(sent.expect("sh runs").success());
        let ended = command.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(!ended.status.success() && said.contains("nothing of it is kept"), "{said}");
        assert!(!work.exists(), "{signal}");
    }
}

/// Ends the mount where the test ends.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

#[test]
fn a_directory_that_is_mounted_from_the_same_disk_is_explained() {
    if !Need::SmallDisk.is_met("a restore onto a mounted directory is not tried") {
        return;
    }
    let place = Place::new();
    let data = place.folder.path().join("data");
    fs::create_dir(&data).expect("made");
    let mount = Command::new("mount").arg("--bind").args([&data, &data]).status();
    assert!(mount.expect("mount starts").success());
    let _mounted = Mounted(data.clone());
    fs::write(data.join("kept"), "").expect("written");
    let restore = [
        "restore",
        "--force",
        "--from",
        &path(&place.backups()),
        "--identity",
        &path(&place.identity()),
        "--data-dir",
        &path(&data),
    ];
    let refused = waxwing(&restore);
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && errors.contains("a file system is mounted"), "{errors}");
    assert!(data.join("kept").exists());
}
