//! The first minute with the command line: what it says while it starts, stops and is misspelt.

use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use waxwing_tests::{Launch, OwnDatabase, Server, binary, only_on_a_file, until_async};

fn run(database: Option<&OwnDatabase>, arguments: &[&str]) -> (Output, String) {
    let mut command = Command::new(binary());
    command.envs(database.map(OwnDatabase::setting));
    let output = command.args(arguments).stdin(Stdio::null()).output().expect("the binary runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, errors)
}

#[test]
fn a_port_that_is_taken_is_named_with_the_key_that_chooses_another() {
    let home = tempfile::tempdir().expect("a directory");
    let database = OwnDatabase::make();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let data = home.path().join("data").display().to_string();
    let file = home.path().join("waxwing.toml");
    let path = file.display().to_string();
    for (section, key) in [
        ("http", "listen"),
        ("inbox", "smtp_listen"),
        ("smtp", "listen_starttls"),
        ("smtp", "listen_tls"),
    ] {
        let at = |this: &str| {
            let is_it = this == format!("{section}.{key}");
            if is_it { address.clone() } else { "127.0.0.1:0".to_owned() }
        };
        let toml = format!(
            "[store]\ndata_dir = {:?}\n[http]\nlisten = {:?}\n[inbox]\nsmtp_listen = {:?}\n\
             [smtp]\nlisten_starttls = {:?}\nlisten_tls = {:?}\n",
            data,
            at("http.listen"),
            at("inbox.smtp_listen"),
            at("smtp.listen_starttls"),
            at("smtp.listen_tls"),
        );
        std::fs::write(&file, toml).expect("written");
        let (output, errors) = run(database.as_ref(), &["serve", "--config", &path]);
        assert!(!output.status.success(), "{section}.{key}");
        let wanted = format!("[{section}] {key}");
        assert!(errors.contains(&wanted) && errors.contains(&address), "{wanted}: {errors}");
        assert!(!errors.contains("--"), "serve has no flag for a port: {errors}");
    }
    let data = ["dev", "--data-dir", &data, "--http", &address];
    let (_, errors) = run(database.as_ref(), &data);
    assert!(errors.contains("choose another with --http"), "{errors}");
}

#[test]
fn check_and_serve_refuse_a_lost_database_and_a_lost_master_key() {
    if only_on_a_file("it is about the file of the database") {
        return;
    }
    let mut server = Server::dev();
    assert!(server.terminate().success());
    let file = server.scratch("waxwing.toml").display().to_string();
    let quiet = "[http]\nlisten = \"127.0.0.1:0\"\n[smtp]\nlisten_starttls = \"off\"\n\
                 listen_tls = \"off\"\n[inbox]\nenabled = false\n";
    let data = server.data_dir().display().to_string();
    std::fs::write(&file, format!("{quiet}[store]\ndata_dir = {data:?}\n")).expect("written");
    let database = server.data_dir().join("waxwing.db");
    let aside = server.scratch("aside.db");
    std::fs::rename(&database, &aside).expect("moved");
    let commands: [&[&str]; 4] = [
        &["check", "--config", &file],
        &["serve", "--config", &file],
        &["account", "create", "--name", "New", "--config", &file],
        &["backup", "--to", "backups", "--config", &file],
    ];
    for content in [None, Some("")] {
        if let Some(content) = content {
            std::fs::write(&database, content).expect("written");
        }
        for command in commands {
            let (output, errors) = run(None, command);
            assert!(!output.status.success(), "{command:?}: {content:?}");
            assert!(errors.contains("is missing or empty, but a server"), "{command:?}: {errors}");
        }
        assert_eq!(database.exists(), content.is_some(), "none is made");
    }
    std::fs::rename(&aside, &database).expect("moved back");
    let (output, errors) = run(None, &["check", "--config", &file]);
    assert!(output.status.success(), "{errors}");

    let key = server.data_dir().join("master.key");
    for (foreign, words) in
        [(None, "master.key is missing"), (Some([7_u8; 32]), "is not the master key")]
    {
        match foreign {
            None => std::fs::remove_file(&key).expect("removed"),
            Some(foreign) => std::fs::write(&key, foreign).expect("written"),
        }
        for command in ["check", "serve"] {
            let (output, errors) = run(None, &[command, "--config", &file]);
            assert!(!output.status.success() && errors.contains(words), "{command}: {errors}");
        }
    }
}

#[tokio::test]
async fn dev_says_what_it_is_doing_and_what_a_stop_waits_for() {
    let mut server = Server::start(Launch::plain_dev());
    let log = server.log();
    assert!(log.starts_with("Starting in ") && log.contains("compiling the plugins"), "{log}");
    let welcome = server.dev_output("welcome").to_owned();
    assert!(welcome.starts_with("Waxwing is listening"), "stdout is for pasting: {welcome}");
    let key = welcome.split("x-api-key: ").nth(1).and_then(|rest| rest.split('\'').next());

    // The server asks for the body: from here on, the request is in flight.
    let mut client = TcpStream::connect(server.address()).await.expect("it listens");
    let head = format!(
        "POST /messages/send HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\nexpect: 100-continue\r\n\
         content-type: application/json\r\nx-api-key: {}\r\n\r\n",
        key.expect("a key to paste")
    );
    client.write_all(head.as_bytes()).await.expect("written");
    let mut answer = [0; 12];
    client.read_exact(&mut answer).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 100");
    server.signal("INT");
    for words in ["Stopping: requests and deliveries under way", "waiting_for=\"http connection\""]
    {
        let said = || async { server.log().contains(words).then_some(()) };
        until_async(words, Duration::from_secs(30), said).await;
    }
    drop(client);
    assert!(server.wait_for_exit().success());
}

#[test]
fn a_misspelt_command_or_option_is_told_the_nearest_one() {
    for (arguments, meant) in [
        (vec!["tempalte", "list"], "'template'"),
        (vec!["template", "lst"], "'list'"),
        (vec!["account", "brnad"], "'brand'"),
        (vec!["plugin", "instal"], "'install'"),
        (vec!["account", "create", "--nmae", "x"], "'--name'"),
    ] {
        let (output, errors) = run(None, &arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(errors.contains("similar") && errors.contains(meant), "{arguments:?}: {errors}");
    }
}
