//! The bytes that receivers get: another order or spelling is a change of the interface.

use super::*;
use crate::id::EventId;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const ACCOUNT: &str = "acc_01ARZ3NDEKTSV4RRFFQ69G5FAV";

fn event(name: &str, detail: &str, about: EventSubject) -> PublishedEvent {
    PublishedEvent {
        sequence: 1,
        id: EventId::new(NOW),
        owner: WebhookOwner::Account(ACCOUNT.parse().expect("an account")),
        subject: "msg_1".to_owned(),
        r#type: EventKind::from_name(name).expect("a type of event"),
        detail: detail.to_owned(),
        facts: Map::new(),
        at: NOW,
        about,
    }
}

fn message() -> EventSubject {
    EventSubject::Message(Box::new(MessageSubject {
        recipient: "ada@example.com".to_owned(),
        sender: "Shop <hello@example.com>".to_owned(),
        subject: "Your \"order\"".to_owned(),
        template: None,
        tags: json!(["code", "b"]),
        metadata: Map::from_iter([
            ("z".to_owned(), json!("last first")),
            ("a".to_owned(), json!("1")),
        ]),
        credits: 2,
        attempt: 1,
        state: MessageState::Delivered,
    }))
}

fn assert_data(event: &PublishedEvent, data: &str) {
    let name = event.r#type.as_str();
    let body =
        format!("{{\"type\":\"{name}\",\"timestamp\":\"2027-01-15T08:00:00Z\",\"data\":{data}}}");
    assert_eq!(of_event(event), body);
}

const KEPT: &str = r#""to":"ada@example.com","from":"Shop <hello@example.com>","subject":"Your \"order\"","template":null,"tags":["code","b"],"metadata":{"z":"last first","a":"1"},"credits":2,"attempt":1"#;

#[test]
fn a_message_is_told_with_all_that_is_kept_of_it() {
    let data = format!(
        r#"{{"messageId":"msg_1","accountId":"{ACCOUNT}","state":"queued","reason":"ok",{KEPT}}}"#
    );
    assert_data(&event("message.queued", "ok", message()), &data);
    let data = format!(
        r#"{{"messageId":"msg_1","accountId":"{ACCOUNT}","state":"delivered","reason":"abuse",{KEPT}}}"#
    );
    assert_data(&event("message.complained", "abuse", message()), &data);
}

#[test]
fn of_a_message_that_is_gone_the_state_and_the_reason_are_left() {
    let mut gone = event("message.complained", "abuse", EventSubject::Nothing);
    gone.owner = WebhookOwner::Server;
    let data = r#"{"messageId":"msg_1","accountId":null,"state":null,"reason":"abuse"}"#;
    assert_data(&gone, data);
}

#[test]
fn a_bounce_is_told_with_its_code_and_its_class() {
    let facts = r#"{"code":550,"enhanced":null,"class":"hard","remoteHost":"mx.example","suppressed":true}"#;
    let mut bounced = event("message.bounced", "550 no", message());
    bounced.facts = serde_json::from_str(facts).expect("an object");
    let data = format!(
        r#"{{"messageId":"msg_1","accountId":"{ACCOUNT}","state":"bounced","reason":"550 no",{},{KEPT}}}"#,
        &facts.trim_matches(['{', '}'])
    );
    assert_data(&bounced, &data);
}

#[test]
fn a_domain_has_its_name_while_it_is_there() {
    let there = event("domain.failed", "no", EventSubject::Domain("example.com".to_owned()));
    let data = |name: &str| {
        format!(r#"{{"domainId":"msg_1","accountId":"{ACCOUNT}",{name}"reason":"no"}}"#)
    };
    assert_data(&there, &data(r#""name":"example.com","#));
    assert_data(&event("domain.failed", "no", EventSubject::Nothing), &data(""));
}

#[test]
fn other_events_are_told_with_their_own_facts() {
    let low = event("credits.low", r#"{"credits":3,"below":10}"#, EventSubject::Nothing);
    assert_data(&low, &format!(r#"{{"accountId":"{ACCOUNT}","credits":3,"below":10}}"#));
    let mut trapped = event("plugin.trapped", "it broke", EventSubject::Nothing);
    trapped.owner = WebhookOwner::Server;
    assert_data(&trapped, r#"{"reason":"it broke"}"#);
    let id: WebhookId = "whk_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().expect("a webhook");
    assert_eq!(
        of_test(id, NOW),
        format!(
            r#"{{"type":"webhook.test","timestamp":"2027-01-15T08:00:00Z","data":{{"webhookId":"{id}","message":"this is a test; nothing has happened"}}}}"#
        )
    );
}
