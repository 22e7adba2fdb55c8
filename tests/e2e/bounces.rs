//! Reports about messages that have left: to whom they come back, what they change, and that nothing
//! else goes through where they come in.

mod guard;
mod master_key;
mod reports;

use std::time::Duration;

use serde_json::{Value, json};
use waxwing_dns::DnsServer;
use waxwing_mx::{Behaviour, MxServer};
use waxwing_tests::{Account, Launch, Server, Smtp, name_server, until_async};

use crate::fixture::{message, smarthosts, with};

const SENDER: &str = "sender.example";
const FEEDBACK: &str = "fbl@mail.waxwing.example";
const PATIENCE: Duration = Duration::from_secs(40);

/// A server that sends through a smarthost and takes reports.
struct Lab {
    dns: DnsServer,
    smarthost: MxServer,
    server: Server,
    account: Account,
}

impl Lab {
    async fn new() -> Self {
        let (dns, smarthost) = (name_server().await, MxServer::start(Behaviour::new()));
        let launch = Launch::asking(&dns)
            .with("delivery", "route", "smarthost")
            .with("delivery", "smarthosts", &smarthosts(&smarthost))
            .with("delivery", "retry_pauses_s", "[1]")
            .with("bounces", "listen", "127.0.0.1:0")
            .with("bounces", "feedback", &json!([FEEDBACK]).to_string())
            .with("bounces", "connections_per_ip", "3");
        let server = Server::start(launch);
        let account = server.open_account("pro", 10_000);
        let (key_id, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
        let account = Account { key_id, key, ..account };
        drop(server.verified_domain(&dns, &account.key, SENDER).await);
        Self { dns, smarthost, server, account }
    }

    /// Sends a message and waits until the smarthost has it; answers its identifier and its return path.
    async fn sent(&self, to: &str) -> (String, String) {
        let before = self.smarthost.message_count();
        let mail = with(message(to), "from", json!(format!("hello@{SENDER}")));
        let id = self.server.send(&self.account.key, &mail).await.message_id();
        let come = self.smarthost.wait_for_messages(before + 1, PATIENCE).await;
        self.until(&id, "relayed").await;
        (id, come.last().expect("a message").sender.clone())
    }

    async fn until(&self, id: &str, state: &str) -> Value {
        let ask = || async move { Some(self.server.message(id)).filter(|it| it["state"] == state) };
        until_async(&format!("{id} is {state}"), PATIENCE, ask).await
    }

    /// The types of a message's events, without `message.`.
    fn events(&self, id: &str) -> Vec<String> {
        let shown = self.server.message(id);
        let events = shown["events"].as_array().expect("events").iter();
        let types = events.filter_map(|it| it["type"].as_str());
        types.map(|it| it.trim_start_matches("message.").to_owned()).collect()
    }

    /// A session with the listener that has said hello.
    async fn session(&self) -> Smtp {
        let mut client = Smtp::reports(&self.server).await;
        client.reply().await.expect("a greeting").assert(220);
        client.say("EHLO mx.recipient.example").await.assert(250);
        client
    }

    /// Brings a report, which is taken.
    async fn report(&self, to: &str, report: &str) {
        let mut client = self.session().await;
        client.send("", &[to], report).await.assert_begins("250 2.0.0");
        client.say("QUIT").await.assert(221);
    }
}

/// A report as Postfix writes it.
fn dsn(recipient: &str, action: &str, status: &str, diagnostic: &str) -> String {
    format!(
        "From: MAILER-DAEMON@mx.recipient.example (Mail Delivery System)\r\n\
         Subject: Undelivered Mail Returned to Sender\r\nAuto-Submitted: auto-replied\r\n\
         MIME-Version: 1.0\r\n\
         Content-Type: multipart/report; report-type=delivery-status;\r\n\tboundary=\"B.1/mx\"\r\n\r\n\
         --B.1/mx\r\nContent-Type: text/plain; charset=us-ascii\r\n\r\nI'm sorry.\r\n\r\n\
         --B.1/mx\r\nContent-Type: message/delivery-status\r\n\r\n\
         Reporting-MTA: dns; mx.recipient.example\r\n\r\n\
         Final-Recipient: rfc822; {recipient}\r\nAction: {action}\r\nStatus: {status}\r\n\
         Diagnostic-Code: smtp; {diagnostic}\r\n\r\n--B.1/mx--\r\n"
    )
}

/// A complaint as mailbox providers write it, about a message with this header.
fn complaint(quoted: &str) -> String {
    format!(
        "From: feedback@provider.example\r\nTo: {FEEDBACK}\r\nSubject: FW: x\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/report; report-type=feedback-report; boundary=\"F\"\r\n\r\n\
         --F\r\nContent-Type: text/plain\r\n\r\nThis is an email abuse report.\r\n\r\n\
         --F\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\n\
         User-Agent: Provider/1.0\r\nVersion: 1\r\n\r\n\
         --F\r\nContent-Type: message/rfc822\r\n\r\n{quoted}\r\n\r\nHello\r\n\r\n--F--\r\n"
    )
}
