//! What nobody may do: smuggle, slip commands under TLS, guess keys, send garbage.

use waxwing_tests::{Launch, Port, Server, Smtp, SmtpReply};

use super::{FROM, whole};
use crate::fixture::assert_unharmed;

/// Every way to end a message that some server somewhere takes for `<CR><LF>.<CR><LF>`.
const ENDS: [&str; 20] = [
    "\r\r\n.\r\n",
    "\n.\n",
    "\n.\r\n",
    "\r\n.\n",
    "\r.\r",
    "\r.\r\n",
    "\r\n.\r",
    "\n.\r",
    "\r.\n",
    "\r\n\n.\r\n",
    "\r\n.\r\r\n",
    "\n\r.\r\n",
    "\r\n\0.\r\n",
    "\n.\r\r\n",
    "\n\n.\n\n",
    "\n\n.\r\n",
    "\r\n..\n",
    "\r\n.\r.\r\n",
    "\n\r\n.\n",
    "\n.\r\n.\n",
];

/// Sends a message in which `end` stands in place of its end, and behind that another one; answers the reply
/// and what else was said.
async fn smuggle(server: &Server, end: &str) -> (SmtpReply, String) {
    let mut client = Smtp::authenticated(server, Port::StartTls).await;
    client.say(&format!("MAIL FROM:<{FROM}>")).await.assert(250);
    client.say("RCPT TO:<ada@example.com>").await.assert(250);
    client.say("DATA").await.assert(354);
    let smuggled = format!(
        "MAIL FROM:<{FROM}>\r\nRCPT TO:<smuggled@example.com>\r\nDATA\r\n{}",
        whole("smuggled", "smuggled")
    );
    let message = format!("{}{end}{smuggled}\r\n.\r\nNOOP\r\nQUIT\r\n", whole("first", "first"));
    client.write(message.as_bytes()).await.expect("written");
    let reply = client.reply().await.expect("one reply");
    (reply, client.end().await.expect("the session ends"))
}

#[tokio::test]
async fn no_other_end_of_a_message_is_one_and_nothing_is_smuggled() {
    let server = Server::dev();
    let mut accepted = 0;
    for end in ENDS {
        let (reply, rest) = smuggle(&server, end).await;
        if end.contains('\0') {
            reply.assert_begins("554 5.6.0");
        } else if end.replace("\r\n", "").contains('\r') {
            reply.assert_begins("550 5.6.11");
        } else {
            // Its line feeds are put right, and all the rest is its text.
            reply.assert_begins("250 2.0.0");
            accepted += 1;
        }
        // Whose commands follow is in doubt, so none is executed.
        let silent = rest.starts_with("421 4.7.0") && !rest.contains("250");
        assert!(silent || end.contains('\0'), "{end:?}: {rest}");
    }
    assert_eq!(accepted, 9);
    let messages = server.messages(server.dev_output("accountId"));
    assert!(messages.iter().all(|it| it["to"] == "ada@example.com"), "{messages:?}");
    assert_unharmed(&server, accepted).await;
}

#[tokio::test]
async fn a_server_that_refuses_bare_line_feeds_takes_none_of_these_messages() {
    let server = Server::start(Launch::dev().with("smtp", "bare_newline", "refuse"));
    for end in ENDS.iter().filter(|end| !end.contains('\0')) {
        let (reply, rest) = smuggle(&server, end).await;
        reply.assert_begins("550 5.6.11");
        assert!(rest.starts_with("421 4.7.0") && !rest.contains("250"), "{end:?}: {rest}");
    }
    assert_unharmed(&server, 0).await;
}

#[tokio::test]
async fn commands_that_were_sent_before_the_handshake_are_never_executed() {
    let server = Server::dev();
    let mut client = Smtp::plain(&server).await;
    client.reply().await.expect("a greeting").assert(220);
    client.say("EHLO plain.example").await.assert(250);
    let injected = format!("STARTTLS\r\nEHLO evil.example\r\nMAIL FROM:<{FROM}>\r\nRSET\r\n");
    client.write(injected.as_bytes()).await.expect("written");
    client.reply().await.expect("a reply").assert(220);
    let mut client = client.shake_hands(&server).await;
    // What was said before TLS is forgotten, the hello too.
    client.say("MAIL FROM:<a@sandbox.test>").await.assert_begins("503 5.5.1");
    client.say("EHLO client.example").await.assert(250);
    client.log_in(server.key()).await.assert(235);
}

#[tokio::test]
async fn without_tls_there_is_no_login_and_no_mail() {
    let server = Server::dev();
    let mut client = Smtp::plain(&server).await;
    client.reply().await.expect("a greeting").assert(220);
    let hello = client.say("EHLO client.example").await;
    assert!(hello.text.contains("STARTTLS") && !hello.text.contains("AUTH"), "{}", hello.text);
    client.log_in(server.key()).await.assert_begins("538 5.7.11");
    client.say(&format!("MAIL FROM:<{FROM}>")).await.assert_begins("530 5.7.0");
}

#[tokio::test]
async fn whoever_guesses_keys_is_sent_away_and_others_are_not() {
    let server = Server::dev();
    let mut last = String::new();
    for session in 0..12 {
        let mut client = Smtp::secured(&server, Port::Implicit).await;
        let wrong = format!("wx_live_{session:08}_{}", "x".repeat(32));
        for _ in 0..3 {
            let refused = client.log_in(&wrong).await;
            last = format!("{} {}", refused.code, refused.text);
            if refused.code != 535 {
                break;
            }
        }
        let rest = client.end().await.expect("the session ends");
        assert!(last.starts_with("421 4.7.0") || rest.starts_with("421 4.7.0"), "{last} {rest}");
    }
    assert!(last.starts_with("421 4.7.0 RATE_LIMITED the API key is not valid"), "{last}");
    // From the same address: only failures are counted.
    drop(Smtp::authenticated(&server, Port::Implicit).await);
}

#[tokio::test]
async fn garbage_has_its_bound_and_its_reply() {
    let server = Server::dev();
    let mut client = Smtp::authenticated(&server, Port::StartTls).await;
    let long = format!("NOOP {}\r\n", "x".repeat(60_000));
    client.write(long.as_bytes()).await.expect("written");
    client.reply().await.expect("a reply").assert(500);
    client.write(b"NOOP\nNOOP\0\r\n\xff\xfe\r\n").await.expect("written");
    for _ in 0..3 {
        client.reply().await.expect("a reply").assert_begins("500 5.5.");
    }
    client.say("NOOP").await.assert(250);
    let long = whole(&"x".repeat(999), "Hi");
    let refused = client.send(FROM, &["ada@example.com"], &long).await;
    refused.assert_begins("554 5.6.0 BAD_REQUEST");
    let endless = format!("{}{}", "X-Y: z\r\n".repeat(1_001), whole("a", "b"));
    let refused = client.send(FROM, &["ada@example.com"], &endless).await;
    refused.assert_begins("554 5.6.0 BAD_REQUEST");
    client.write("RUBBISH\r\n".repeat(100).as_bytes()).await.expect("written");
    let rest = client.end().await.expect("the session ends");
    assert!(rest.ends_with("\r\n") && rest.contains("421 4.7.0"), "{rest}");
    assert_unharmed(&server, 0).await;
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_of_a_message_leaves_nothing() {
    let server = Server::dev();
    for cut in ["MAIL", "RCPT", "DATA", "message"] {
        let mut client = Smtp::authenticated(&server, Port::StartTls).await;
        client.say(&format!("MAIL FROM:<{FROM}>")).await.assert(250);
        if cut == "MAIL" {
            continue;
        }
        client.say("RCPT TO:<ada@example.com>").await.assert(250);
        if cut == "RCPT" {
            continue;
        }
        client.say("DATA").await.assert(354);
        if cut == "message" {
            client.write(whole("Hi", "Hi").as_bytes()).await.expect("written");
        }
    }
    assert_unharmed(&server, 0).await;
}
