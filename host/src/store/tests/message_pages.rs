//! Lists of messages: every filter, every page, and the bound of one request.

use super::*;
use crate::id::Identifier as _;
use crate::store::database::either;
use crate::store::{DecisionFilter, MessageRow};

/// Three messages an hour apart, the newest last.
async fn three(fixture: &Fixture) -> Vec<MessageId> {
    let mut ids = Vec::new();
    for (hour, to, tag) in
        [(0, "Ada@Example.com", "a"), (1, "bob@example.com", "b"), (2, "Ada@Example.com", "b")]
    {
        let now = NOW.after(Duration::from_hours(hour));
        let mut job = fixture.job(1, 1).await;
        let JobItem::Message(message) = &mut job.items[0] else { panic!("a message") };
        message.id = MessageId::new(now);
        message.recipient = to.parse().expect("valid");
        message.tags = vec![tag.to_owned()];
        message.subject = format!("Invoice Nr. {hour} Ü");
        if hour == 1 {
            message.template = None;
            message.sender = "\"x@sandbox.test\"@other.test".parse().expect("valid");
            message.send_at = Some(now.after(Duration::from_hours(9)));
        }
        ids.push(message.id);
        fixture.store.commit(&[job], now).await.expect("commits");
    }
    ids
}

fn ids(rows: &[MessageRow]) -> Vec<MessageId> {
    rows.iter().map(|row| row.id).collect()
}

#[tokio::test]
async fn each_filter_takes_what_it_says_newest_first() {
    let fixture = Fixture::with_credits(10).await;
    let [first, second, third] = three(&fixture).await[..] else { panic!("three") };
    let all = MessageFilter::default;
    let at = |hours| Some(NOW.after(Duration::from_hours(hours)));
    let texts = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    for (filter, wanted) in [
        (all(), vec![third, second, first]),
        (MessageFilter { to: "Ada@EXAMPLE.com".parse().ok(), ..all() }, vec![third, first]),
        (MessageFilter { to: "eve@example.com".parse().ok(), ..all() }, vec![]),
        (MessageFilter { from: "a@sandbox.test".parse().ok(), ..all() }, vec![third, first]),
        (MessageFilter { states: vec![MessageState::Scheduled], ..all() }, vec![second]),
        (
            MessageFilter { states: vec![MessageState::Scheduled, MessageState::Queued], ..all() },
            vec![third, second, first],
        ),
        (MessageFilter { template: Some("welcome".to_owned()), ..all() }, vec![third, first]),
        (MessageFilter { tag: Some("b".to_owned()), ..all() }, vec![third, second]),
        (MessageFilter { subject: Some("INVOICE nr. 1".to_owned()), ..all() }, vec![second]),
        (MessageFilter { subject: Some("%".to_owned()), ..all() }, vec![]),
        (MessageFilter { since: at(1), ..all() }, vec![third, second]),
        (MessageFilter { until: at(1), ..all() }, vec![first]),
        (MessageFilter { since: at(1), until: at(2), ..all() }, vec![second]),
        (MessageFilter { domains: texts(&["sandbox.test"]), ..all() }, vec![third, first]),
        (MessageFilter { domains: texts(&["other.test"]), ..all() }, vec![second]),
        (MessageFilter { templates: texts(&["welcome"]), ..all() }, vec![third, first]),
        (MessageFilter { to: "Ada@example.com".parse().ok(), since: at(1), ..all() }, vec![third]),
    ] {
        for limit in [1, 2, 50] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let page = fixture.store.messages(fixture.account, &filter, after, limit).await;
                let page = page.expect("readable");
                found.extend(ids(&page.messages));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(found, wanted, "{filter:?}, {limit} a page");
        }
    }
    let stranger = AccountId::new(NOW);
    let page = fixture.store.messages(stranger, &all(), None, 50).await.expect("readable");
    assert!(page.messages.is_empty());
}

#[tokio::test]
async fn a_search_in_vain_stops_and_says_where_it_goes_on() {
    let fixture = Fixture::with_credits(1).await;
    fixture.commit(&[fixture.job(1, 0).await]).await;
    // Copies of that one, older than it: 30,000 are more than a request looks at.
    for statement in [
        either(
            "INSERT INTO messages (id, period, account_id, key_id, channel, sender, recipient, subject,
                 route, state, reason, credits, decisions, created_at, updated_at)
             WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 30000)
             SELECT unhex(printf('%032x', n)), 0, account_id, key_id, channel, sender,
                    iif(n = 7, 'eve@example.com', recipient), iif(n = 7, 'the one', 'others'), route,
                    'failed', reason, 0, decisions, created_at, updated_at
             FROM messages, n",
            "INSERT INTO messages (id, period, account_id, key_id, channel, sender, recipient, subject,
                 route, state, reason, credits, decisions, created_at, updated_at)
             SELECT decode(lpad(to_hex(n), 32, '0'), 'hex'), 0, account_id, key_id, channel, sender,
                    CASE n WHEN 7 THEN 'eve@example.com' ELSE recipient END,
                    CASE n WHEN 7 THEN 'the one' ELSE 'others' END, route,
                    'failed', reason, 0, decisions, created_at, updated_at
             FROM messages, generate_series(1, 30000) AS n (n)",
        ),
        "INSERT INTO periods (account_id, period) SELECT DISTINCT account_id, 0 FROM messages".into(),
    ] {
        sql(statement).run(&fixture.store.db.writer).await.expect("inserted");
    }
    let filter = MessageFilter { subject: Some("the one".to_owned()), ..MessageFilter::default() };
    let first = fixture.store.messages(fixture.account, &filter, None, 10).await.expect("readable");
    assert!(first.messages.is_empty());
    let stopped = first.next.expect("there is more");
    let rest = fixture.store.messages(fixture.account, &filter, Some(stopped), 10).await;
    let rest = rest.expect("readable");
    assert_eq!((rest.messages.len(), rest.next), (1, None));
    let to = "eve@example.com".parse().ok();
    let filter = MessageFilter { to, ..MessageFilter::default() };
    let page = fixture.store.messages(fixture.account, &filter, None, 10).await.expect("readable");
    assert_eq!((page.messages.len(), page.next), (1, None), "the index finds it at once");
    let oldest = MessageId::from_bytes(1_u128.to_be_bytes());
    let of_one = DecisionFilter { message: Some(oldest), ..DecisionFilter::default() };
    let page = fixture.store.decisions(&of_one, None, 10).await.expect("readable");
    assert_eq!((page.decisions.len(), page.next), (1, None), "and the decision of a message");
    let failed = MessageFilter { states: vec![MessageState::Failed], ..MessageFilter::default() };
    let page = fixture.store.messages(fixture.account, &failed, None, 10).await.expect("readable");
    assert_eq!(page.messages.len(), 10);
    let sending = MessageFilter { states: vec![MessageState::Sending], ..failed };
    let page = fixture.store.messages(fixture.account, &sending, None, 10).await.expect("readable");
    assert!(
        page.messages.is_empty() && page.next.is_some(),
        "it goes on in the account's own messages"
    );
}

#[tokio::test]
async fn a_file_has_every_attempt_with_its_conversation() {
    let fixture = Fixture::with_credits(1).await;
    fixture.commit(&[fixture.job(1, 1).await]).await;
    let leases = lease(&fixture.store, "one", NOW).await;
    let delivered = settled(&leases[0], AfterAttempt::Delivered);
    fixture.store.settle("one", &[delivered], NOW).await.expect("settles");
    let file = fixture.store.message(leases[0].message_id).await.expect("there");
    assert_eq!(file.size, Some(19));
    let [attempt] = &file.attempts[..] else { panic!("{:?}", file.attempts) };
    assert_eq!((attempt.number, attempt.route.as_str(), attempt.code), (1, "direct", Some(250)));
    assert_eq!(attempt.conversation, "S: 250 OK");
    let stored = fixture.store.stored_message(leases[0].message_id).await.expect("readable");
    let stored = stored.expect("there");
    assert_eq!(stored.content.as_deref(), Some(&b"Subject: Hi\r\n\r\nHi\r\n"[..]));
    assert_eq!(
        (stored.return_path, stored.template.map(|it| it.revision)),
        (ReturnPath::Author, Some(1))
    );
}
