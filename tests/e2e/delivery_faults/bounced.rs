//! What an account hears of a recipient's server that refuses for good.

use serde_json::json;
use waxwing_mx::{Behaviour, MxServer, Stage};
use waxwing_tests::{Launch, Receiver, name_server};

use super::{mail, smarthosts, started};

#[tokio::test]
async fn a_bounce_is_posted_with_the_reply_and_what_it_suppresses() {
    let receiver = Receiver::start().await;
    for (code, reply, enhanced, class, suppressed) in [
        (550, "5.1.1 no such user here", "5.1.1", "hard", true),
        (554, "5.7.1 refused by a content filter", "5.7.1", "refused", false),
    ] {
        let smarthost = MxServer::start(Behaviour::new().reject(Stage::Rcpt, code, reply));
        let dns = name_server().await;
        let launch = Launch::asking(&dns)
            .with("webhooks", "allow_http", "true")
            .with("webhooks", "allow_private", r#"["127.0.0.1/32"]"#)
            .with("delivery", "route", "smarthost")
            .with("delivery", "smarthosts", &smarthosts(&smarthost));
        let (server, account) = started(launch, &dns).await;
        drop(server.make_webhook(&account.key, &receiver, &["message.bounced"]).await);
        let id = server.send(&account.key, &mail("ada@recipient.example")).await.message_id();
        let posted = receiver
            .until("the bounce", |all| all.iter().any(|it| it.event()["data"]["messageId"] == id));
        let posted = posted.await;
        let event = posted.last().expect("one").event();
        assert_eq!(event["type"], "message.bounced");
        let data = &event["data"];
        assert_eq!((&data["code"], &data["enhanced"]), (&json!(code), &json!(enhanced)), "{data}");
        assert_eq!((&data["class"], &data["suppressed"]), (&json!(class), &json!(suppressed)));
        assert_eq!(data["remoteHost"], "127.0.0.1", "{data}");
        let next = server.send(&account.key, &mail("ada@recipient.example")).await;
        let state = if suppressed { "suppressed" } else { "queued" };
        assert_eq!(next.body["state"], state, "{}", next.body);
    }
}
