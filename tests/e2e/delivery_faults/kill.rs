//! kill -9 between every two steps of a delivery: the message arrives at least once, under one
//! Message-ID, and is paid for once.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use waxwing_mx::{Behaviour, MxServer, Stage};
use waxwing_tests::{Account, Port, Server, Smtp, until, until_async};

use super::{SENDER, assert_legal, events, lab, mail};
use crate::fixture::Database;

const BOUND: Duration = Duration::from_mins(1);

/// Where the process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The reply at that stage is due.
    Before(Stage),
    /// The reply at that stage has been sent.
    After(Stage),
    /// The message is on its way.
    MiddleOfData,
}

impl Step {
    /// Whether the server may have got the whole message from one who is dead by now: after 354 it may
    /// be under way as a whole.
    fn may_double(self) -> bool {
        match self {
            Self::MiddleOfData | Self::After(Stage::Data) => true,
            Self::Before(stage) | Self::After(stage) => stage == Stage::EndOfData,
        }
    }
}

const STEPS: [Step; 15] = [
    Step::Before(Stage::Connect),
    Step::After(Stage::Connect),
    Step::Before(Stage::Ehlo),
    Step::After(Stage::Ehlo),
    Step::Before(Stage::Mail),
    Step::After(Stage::Mail),
    Step::Before(Stage::Rcpt),
    Step::After(Stage::Rcpt),
    Step::Before(Stage::Data),
    Step::After(Stage::Data),
    Step::MiddleOfData,
    Step::Before(Stage::EndOfData),
    Step::After(Stage::EndOfData),
    // The same where commands come in a group.
    Step::Before(Stage::Rcpt),
    Step::Before(Stage::EndOfData),
];
/// Steps at which each command waits for its reply.
const ONE_BY_ONE: usize = 13;

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_between_any_two_steps_of_a_delivery_loses_nothing() {
    let post = MxServer::start(Behaviour::new());
    let (_dns, mut server, account) = lab(&post).await;
    let mut spent = 0;
    for (number, step) in STEPS.into_iter().enumerate() {
        let behaviour = Behaviour::new();
        post.set(if number < ONE_BY_ONE { behaviour.without("PIPELINING") } else { behaviour });
        // So that each step begins with a connection.
        post.cut_connections();
        post.forget();
        let killed = arm(&post, step, server.process_id().expect("it runs"));
        let name = format!("step{number}");
        // Its answer may be cut off as well; its key makes the question safe to repeat.
        let _perhaps_answered = accept(&server, &account, &name).await;
        let ask = || async { killed.load(Ordering::SeqCst).then_some(()) };
        until_async(&format!("{step:?} is reached"), BOUND, ask).await;
        server.wait_for_exit();
        post.forget_hooks();
        Database::of(&server).await.assert_sound().await;
        server.restart();
        let id = accept(&server, &account, &name).await.expect("it is accepted, or was");
        spent += 1;
        let ask = || async { (server.message(&id)["state"] == "relayed").then_some(()) };
        until_async(&format!("{step:?}: it is relayed"), BOUND, ask).await;

        let shown = server.message(&id);
        assert_legal(&shown);
        let may_double = step.may_double();
        assert_arrived(&post, &shown["id"], may_double, &format!("{step:?}"));
        assert!(events(&shown).len() <= 5, "{step:?}: {:?}", events(&shown));
        let attempts = shown["attempts"].as_array().expect("attempts");
        let unknown = |it: &&Value| it["reply"].to_string().contains("may have arrived");
        let begun = events(&shown).iter().filter(|it| **it == "sending").count();
        assert_eq!(attempts.iter().filter(unknown).count(), begun - 1, "{step:?}: {shown}");
        assert_eq!(server.balance(&account.id), 10_000 - spent, "{step:?}");
        assert_eq!(post.violations(), [""; 0], "{step:?}");
        Database::of(&server).await.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_in_the_middle_of_a_large_message_sends_all_of_it_again() {
    let post = MxServer::start(Behaviour::new());
    let (_dns, mut server, account) = lab(&post).await;
    let from = format!("hello@{SENDER}");
    let line = "All work and no play makes a dull boy.\r\n";
    let body = line.repeat((8 << 20) / line.len());
    let text = format!("From: {from}\r\nTo: ada@example.com\r\nSubject: large\r\n\r\n{body}");
    // Not before its sender has read the reply.
    post.stop();
    let mut client = Smtp::secured(&server, Port::Implicit).await;
    client.log_in(&account.key).await.assert(235);
    let id = client.send(&from, &["ada@example.com"], &text).await.message_id();
    let ask = || async { (server.message(&id)["state"] == "deferred").then_some(()) };
    until_async("it waits", BOUND, ask).await;
    let killed = arm(&post, Step::MiddleOfData, server.process_id().expect("it runs"));
    post.start_again();
    let ask = || async { killed.load(Ordering::SeqCst).then_some(()) };
    until_async("it is on its way", BOUND, ask).await;
    server.wait_for_exit();
    post.forget_hooks();
    assert_eq!(post.message_count(), 0, "it was in the middle");
    server.restart();
    let ask = || async { (server.message(&id)["state"] == "relayed").then_some(()) };
    until_async("it is relayed", BOUND, ask).await;
    let messages = post.messages();
    assert_eq!(messages.len(), 1);
    let content = String::from_utf8_lossy(&messages[0].data);
    assert!(content.ends_with(&body), "to the last line: {} octets", content.len());
    assert_legal(&server.message(&id));
    Database::of(&server).await.assert_sound().await;
}

/// Kills the process at that step, once.
fn arm(post: &MxServer, step: Step, process: u32) -> Arc<AtomicBool> {
    let killed = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&killed);
    let kill = move |_: &waxwing_mx::Situation<'_>| {
        if !done.load(Ordering::SeqCst) {
            kill_and_wait(process);
            done.store(true, Ordering::SeqCst);
        }
    };
    match step {
        Step::Before(stage) => post.on(stage, kill),
        Step::After(stage) => post.after(stage, kill),
        Step::MiddleOfData => post.after_octets(1, kill),
    }
    killed
}

/// When it returns, the process does nothing any more.
fn kill_and_wait(process: u32) {
    let killed = Command::new("sh").args(["-c", &format!("kill -KILL {process}")]).status();
    assert!(killed.expect("sh runs").success());
    until("the process is gone", BOUND, || {
        let status = fs::read_to_string(format!("/proc/{process}/status"));
        status.map_or(true, |it| it.contains("State:\tZ")).then_some(())
    });
}

/// Asks to send; none where the server was killed before its answer came.
async fn accept(server: &Server, account: &Account, name: &str) -> Option<String> {
    let request = server.request(Method::POST, "/messages/send");
    let request = request.json(&mail(&format!("{name}@example.com")));
    let request = request.header("x-api-key", &account.key).header("idempotency-key", name);
    Some(server.try_answer(request).await.ok()?.message_id())
}

/// It has arrived, and where it arrived twice, the reader's server can tell.
fn assert_arrived(post: &MxServer, id: &serde_json::Value, may_double: bool, step: &str) {
    let messages = post.messages();
    let most = if may_double { 2 } else { 1 };
    assert!((1..=most).contains(&messages.len()), "{step}: {} times", messages.len());
    let ulid = id.as_str().and_then(|it| it.strip_prefix("msg_")).expect("an identifier");
    for message in &messages {
        let expected = format!("<{}@{SENDER}>", ulid.to_lowercase());
        assert_eq!(message.header("Message-ID"), Some(expected), "{step}");
        assert_eq!(message.recipients, messages[0].recipients, "{step}");
    }
}
