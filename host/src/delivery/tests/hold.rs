//! Delivery that is held since a backup was restored.

use waxwing_mx::{Behaviour, MxServer};

use super::fixture::{Fixture, MINUTE, NOW, Setup, smarthost};
use crate::clock::Timestamp;
use crate::delivery::queue::retry_schedule::interrupted;
use crate::delivery::queue::why::{self, Waiting};
use crate::id::MessageId;
use crate::management::delivery_hold::{OldMail, Released, release};

/// A fixture that holds delivery as after the restore of a backup of that moment.
async fn held_since(server: &MxServer, backup: Timestamp) -> Fixture {
    let setup = Setup::smarthosts(&[smarthost("relay", server)]);
    Fixture::new(Setup { held_since: Some(backup), ..setup }).await
}

async fn waits_for(fixture: &Fixture, id: MessageId) -> Waiting {
    let why = why::message(id, &fixture.store, &fixture.admission).await;
    why.expect("readable").expect("it waits").1.waiting
}

#[tokio::test]
async fn held_mail_says_so_and_leaves_once_it_is_released() {
    let server = MxServer::start(Behaviour::new());
    let fixture = held_since(&server, NOW).await;
    let first = fixture.send("ada@example.com").await;
    assert_eq!(waits_for(&fixture, first).await, Waiting::AfterRestore);
    let second = fixture.send("eve@example.com").await;
    assert_eq!((server.connections(), fixture.state(first).await), (0, "queued".to_owned()));
    let released = release(&fixture.store, OldMail::Send, fixture.clock.now(), interrupted).await;
    assert_eq!(released.expect("works"), Some(Released { backup: NOW, canceled: 0 }));
    // Which wakes the worker, too.
    let third = fixture.send("kim@example.com").await;
    fixture.until_all(&[first, second, third], "relayed").await;
    assert_eq!(server.messages().len(), 3);
    let again = release(&fixture.store, OldMail::Cancel, fixture.clock.now(), interrupted).await;
    assert_eq!(again.expect("works"), None);
    fixture.finish().await;
}

#[tokio::test]
async fn a_release_cancels_what_was_there_when_the_hold_began_alone() {
    let server = MxServer::start(Behaviour::new());
    let fixture = held_since(&server, NOW).await;
    fixture.advance(MINUTE * 2);
    let old = fixture.send("ada@example.com").await;
    // The clock had run ahead: by the time of the hold the message comes after it.
    fixture.store.hold_delivery(NOW.after(MINUTE)).await.expect("noted");
    let new = fixture.send("eve@example.com").await;
    let released = release(&fixture.store, OldMail::Cancel, fixture.clock.now(), interrupted).await;
    assert_eq!(released.expect("works").map(|it| it.canceled), Some(1));
    fixture.send("kim@example.com").await;
    fixture.until_state(new, "relayed").await;
    let canceled = fixture.message(old).await;
    assert_eq!(canceled.row.state.as_str(), "canceled");
    assert_eq!(canceled.row.credits, canceled.row.refunded);
    fixture.finish().await;
}
