//! The store is bounded, and what it has acknowledged survives its process.

use std::time::Duration;

use super::{Inbox, noon};
use crate::inbox::store::{Arrival, Bounds, InboxStore, MailId};
use crate::store::{SandboxMail, Store, test_data};

async fn subjects(store: &InboxStore) -> Vec<String> {
    let page = store.list(200, None, None).await.expect("listed");
    page.rows.into_iter().map(|row| row.subject).collect()
}

#[tokio::test]
async fn the_oldest_messages_make_room() {
    let inbox = Inbox::open_with_bounds(Bounds { messages: 3, bytes: i64::MAX }).await;
    for number in 1..=5 {
        inbox.keep("grace@example.com", &format!("Subject: {number}\n\nhi\n")).await;
    }
    assert_eq!(subjects(&inbox.store).await, ["5", "4", "3"]);
    assert_eq!(inbox.store.count().await.expect("counted"), 3);
}

#[tokio::test]
async fn one_large_message_makes_many_small_ones_go() {
    let inbox = Inbox::open_with_bounds(Bounds { messages: 1_000, bytes: 10_000 }).await;
    for number in 0..200 {
        inbox.keep("grace@example.com", &format!("Subject: {number}\n\nhi\n")).await;
    }
    let large = format!("Subject: large\n\n{}", "x".repeat(9_900));
    inbox.keep("grace@example.com", &large).await;
    let left = subjects(&inbox.store).await;
    assert_eq!(left.first().map(String::as_str), Some("large"));
    assert!((2..10).contains(&left.len()), "{left:?}");
}

#[tokio::test]
async fn copies_of_sent_messages_are_deleted_and_no_other_mail_is() {
    let (inbox, directory) = (Inbox::open().await, tempfile::tempdir().expect("a directory"));
    let shared = InboxStore::shared(test_data::open(&directory).await);
    let later = noon().after(Duration::from_secs(9));
    let mails = [
        ("Ada@example.com", "hello@a.test", noon()),
        ("ada@example.com", "hello@a.test", later),
        ("ada@example.com", "hello@b.test", noon()),
        ("eve@example.com", "hello@a.test", noon()),
    ];
    for store in [&inbox.store, &shared] {
        for (number, (to, from, received_at)) in mails.into_iter().enumerate() {
            let arrival = Arrival {
                recipients: vec![to.to_owned()],
                return_path: String::new(),
                raw: format!("From: {from}\r\nSubject: {number}\r\n\r\n").into_bytes(),
                received_at,
            };
            store.insert(&arrival).await.expect("kept");
        }
        let sent = SandboxMail {
            recipient: "ada@example.com".to_owned(),
            sender: "Hello@a.test".to_owned(),
            since: noon(),
            until: noon().after(Duration::from_secs(1)),
        };
        for _ in 0..2 {
            store.delete_sent(std::slice::from_ref(&sent)).await.expect("deleted");
            assert_eq!(subjects(store).await, ["3", "2", "1"]);
            assert_eq!(store.count().await.expect("counted"), 3);
        }
    }
}

#[tokio::test]
async fn a_second_opening_finds_everything_and_goes_on_counting() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("inbox.db");
    let arrival = |subject: &str| Arrival {
        recipients: vec!["grace@example.com".to_owned()],
        return_path: String::new(),
        raw: format!("Subject: {subject}\r\n\r\n").into_bytes(),
        received_at: noon(),
    };
    let bounds = Bounds { messages: 2, bytes: i64::MAX };
    let abandoned = InboxStore::open_with_bounds(&file, bounds).await.expect("opens");
    abandoned.insert(&arrival("one")).await.expect("kept");
    abandoned.insert(&arrival("two")).await.expect("kept");
    let store = InboxStore::open_with_bounds(&file, bounds).await.expect("opens again");
    store.insert(&arrival("three")).await.expect("kept");
    assert_eq!(subjects(&store).await, ["three", "two"]);
}

/// On PostgreSQL the statements are those of `store/inbox`, whose tests run there.
#[tokio::test]
async fn what_one_node_took_another_one_shows_lists_and_bounds() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("shared.db");
    let node = async || Store::open(&file).await.expect("opens");
    let bounds = Bounds { messages: 2, bytes: i64::MAX };
    let taker = InboxStore::shared_with_bounds(node().await, bounds);
    let reader = InboxStore::shared(node().await);
    for subject in ["one", "two", "three"] {
        let arrival = Arrival {
            recipients: vec!["Grace@example.com".to_owned()],
            return_path: "bounces@example.com".to_owned(),
            raw: format!("From: Ada <ada@example.com>\r\nSubject: {subject}\r\n\r\nhi")
                .into_bytes(),
            received_at: noon(),
        };
        taker.insert(&arrival).await.expect("kept");
    }
    assert_eq!(subjects(&reader).await, ["three", "two"]);
    assert_eq!(reader.count().await.expect("counted"), 2);
    let page = reader.list(1, None, Some("grace@EXAMPLE.com")).await.expect("listed");
    assert!(page.has_more);
    let newest: MailId = page.rows[0].id;
    let message = reader.get(newest).await.expect("readable").expect("it is there");
    assert_eq!(message.summary.from, "ada@example.com");
    assert_eq!(message.summary.from_name, "Ada");
    assert_eq!(message.return_path, "bounces@example.com");
    assert!(message.raw.ends_with(b"hi"));
    let older = reader.list(5, Some(newest), None).await.expect("listed");
    assert_eq!(older.rows[0].subject, "two");
}
