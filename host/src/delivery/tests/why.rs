//! Why mail waits, asked of a real queue and of what the worker has learnt.

use std::sync::atomic::Ordering;
use std::time::Duration;

use waxwing_mx::{Behaviour, MxServer, Reply, Stage};

use super::fixture::{Fixture, MINUTE, Setup, smarthost};
use crate::account::{Account, AccountState};
use crate::delivery::queue::why::{
    self, Ending, HealthState, HostsHealth, Waiting, WhyDomain, WhyMessage,
};
use crate::delivery::smtp::Timeouts;
use crate::id::MessageId;
use crate::message::waits_for::Hosts;
use crate::store::records::{NewSuppression, SuppressionKind};

async fn domain(fixture: &Fixture) -> WhyDomain {
    let why = why::domain("example.com", &fixture.store, &fixture.admission).await;
    why.expect("readable").expect("mail to it waits")
}

async fn hosts(fixture: &Fixture) -> HostsHealth {
    let mut hosts = domain(fixture).await.hosts;
    assert_eq!(hosts.len(), 1, "{hosts:?}");
    hosts.remove(0)
}

async fn message(fixture: &Fixture, id: MessageId) -> WhyMessage {
    let why = why::message(id, &fixture.store, &fixture.admission).await;
    why.expect("readable").expect("it waits").1
}

/// A fixture whose smarthost is down, with a message that was tried once and no running worker.
async fn tried_once() -> (Fixture, MessageId) {
    let server = MxServer::start(Behaviour::new());
    server.stop();
    let mut fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    let id = fixture.send("ada@example.com").await;
    fixture.after_attempts(id, 1).await;
    fixture.halt().await;
    (fixture, id)
}

#[tokio::test]
async fn a_smarthost_keeps_its_last_error_after_a_back_off_and_a_restart() {
    let (fixture, _) = tried_once().await;
    let failed = hosts(&fixture).await;
    assert!(matches!(failed.state, HealthState::BackingOff { .. }), "{failed:?}");
    let error = failed.last_error.expect("it failed");
    assert!(error.reason.contains("while connecting"), "{error:?}");
    fixture.clock.advance(MINUTE * 2);
    let after = hosts(&fixture).await;
    assert_eq!((&after.state, after.failures), (&HealthState::Failing, 1));
    assert_eq!(after.last_error.as_ref(), Some(&error));

    fixture.admission.destinations.forget();
    for _ in 0..2 {
        // The first look makes a new health, which trusts a smarthost.
        let restarted = hosts(&fixture).await;
        assert_eq!(restarted.state, HealthState::Unproven);
        let error = restarted.last_error.expect("the queue knows it");
        assert!(error.reason.contains("while connecting"), "{error:?}");
    }
    let health = fixture.admission.destinations.health_of(&Hosts::Smarthost("relay".into()));
    let health = health.expect("it was looked at");
    health.record_success(fixture.account, fixture.clock.now());
    let proven = hosts(&fixture).await;
    assert_eq!((proven.state, proven.last_error), (HealthState::Proven, None));
    health.record_transient_failure(fixture.account, "it answers 421 at MAIL", fixture.clock.now());
    let error = hosts(&fixture).await.last_error.expect("one account's mail was put off");
    assert_eq!(error.reason, "it answers 421 at MAIL");
    fixture.finish().await;
}

#[tokio::test]
async fn a_retried_message_that_may_not_be_sent_says_so() {
    let (fixture, id) = tried_once().await;
    let (store, now) = (&fixture.store, fixture.clock.now());
    let active = store.account(fixture.account, now).await.expect("there").account;
    let suspended = Account { state: AccountState::Suspended, ..active.clone() };
    store.update_account(&suspended).await.expect("suspended");
    let for_account = Waiting::AccountSuspended(fixture.account);
    assert_eq!(message(&fixture, id).await.waiting, for_account, "before its next attempt is due");
    store.retry(id, now).await.expect("works");
    let why = message(&fixture, id).await;
    assert_eq!((why.waiting, why.until), (for_account.clone(), None));
    let groups = domain(&fixture).await.groups;
    assert_eq!((&groups[0].0.waiting, groups[0].1), (&for_account, 1));

    store.update_account(&active).await.expect("active");
    store.requeue_of_account(active.id).await.expect("requeued");
    let new = NewSuppression {
        account_id: fixture.account,
        address: "ada@example.com".to_owned(),
        kind: SuppressionKind::Manual,
        reason: "test".to_owned(),
        message_id: None,
        expires_at: None,
    };
    store.suppress(&new, now).await.expect("suppressed");
    let ending = Waiting::Ending(Ending::Suppressed);
    assert_eq!(message(&fixture, id).await.waiting, ending);
    fixture.finish().await;
}

#[tokio::test]
async fn mail_that_an_operator_holds_says_so_and_leaves_when_that_is_over() {
    let server = MxServer::start(Behaviour::new());
    let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    fixture.admission.is_paused.store(true, Ordering::Relaxed);
    let first = fixture.send("ada@example.com").await;
    let second = fixture.send("eve@example.com").await;
    assert_eq!(message(&fixture, first).await.waiting, Waiting::Maintenance);
    assert_eq!((server.connections(), fixture.state(second).await), (0, "queued".to_owned()));
    fixture.admission.is_paused.store(false, Ordering::Relaxed);
    // Which wakes the worker, too.
    let third = fixture.send("kim@example.com").await;
    fixture.until_all(&[first, second, third], "relayed").await;
    fixture.finish().await;
}

#[tokio::test]
async fn a_domain_with_all_messages_under_way_has_hosts_and_a_last_attempt() {
    let greylisting = || Behaviour::new().reject(Stage::Rcpt, 451, "4.7.1 greylisted");
    let server = MxServer::start(greylisting());
    let setup = Setup::smarthosts(&[smarthost("relay", &server)]);
    let timeouts = Timeouts { end_of_data: Duration::from_mins(10), ..setup.timeouts };
    let fixture = Fixture::new(Setup { timeouts, ..setup }).await;
    let id = fixture.send("ada@example.com").await;
    fixture.after_attempts(id, 1).await;
    server.set(Behaviour::new().answer(Stage::EndOfData, Reply::silence()));
    fixture.advance(MINUTE * 2);
    fixture.until_state(id, "sending").await;
    let why = domain(&fixture).await;
    assert!(
        matches!(why.groups.as_slice(), [(it, 1)] if it.waiting == Waiting::Sending),
        "{why:?}"
    );
    assert_eq!(why.hosts[0].hosts, Hosts::Smarthost("relay".into()));
    let last = why.last_attempt.expect("the first attempt");
    assert_eq!((last.route.as_str(), last.code), ("relay", Some(451)));
    // Wherever its attempt is by now, the next reply that it waits for puts it off.
    server.set(greylisting().reject(Stage::EndOfData, 451, "4.7.1 greylisted"));
    fixture.until_state(id, "deferred").await;
    fixture.finish().await;
}
