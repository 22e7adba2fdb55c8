//! Why mail waits, asked of a real queue and of what the worker has learnt.

use std::time::Duration;

use waxwing_mx::{Behaviour, MxServer, Reply, Stage};

use super::bench::{Bench, MINUTE, Setup, smarthost};
use crate::account::{Account, AccountState};
use crate::delivery::queue::why::{self, HealthState, HostsHealth, Waiting, WhyDomain, WhyMessage};
use crate::delivery::smtp::Timeouts;
use crate::id::MessageId;
use crate::message::waits_for::Hosts;
use crate::store::records::{NewSuppression, SuppressionKind};

async fn domain(bench: &Bench) -> WhyDomain {
    let why = why::domain("example.com", &bench.store, &bench.admission).await;
    why.expect("readable").expect("mail to it waits")
}

async fn hosts(bench: &Bench) -> HostsHealth {
    let mut hosts = domain(bench).await.hosts;
    assert_eq!(hosts.len(), 1, "{hosts:?}");
    hosts.remove(0)
}

async fn message(bench: &Bench, id: MessageId) -> WhyMessage {
    let why = why::message(id, &bench.store, &bench.admission).await;
    why.expect("readable").expect("it waits").1
}

/// A bench whose smarthost is down, with a message that was tried once; nothing works any more.
async fn tried_once() -> (Bench, MessageId) {
    let server = MxServer::start(Behaviour::new());
    server.stop();
    let mut bench = Bench::new(Setup::smarthosts(&[smarthost("post", &server)])).await;
    let id = bench.send("ada@example.com").await;
    bench.after_attempts(id, 1).await;
    bench.halt().await;
    (bench, id)
}

#[tokio::test]
async fn a_smarthost_keeps_its_last_error_after_the_back_off_and_after_a_restart() {
    let (bench, _) = tried_once().await;
    let failed = hosts(&bench).await;
    assert!(matches!(failed.state, HealthState::BackingOff { .. }), "{failed:?}");
    let error = failed.last_error.expect("it failed");
    assert!(error.reason.contains("while connecting"), "{error:?}");
    bench.clock.advance(MINUTE * 2);
    let after = hosts(&bench).await;
    assert_eq!((&after.state, after.failures), (&HealthState::Failing, 1));
    assert_eq!(after.last_error.as_ref(), Some(&error));

    bench.admission.destinations.forget();
    for _ in 0..2 {
        // The first look makes a new health, which trusts a smarthost.
        let restarted = hosts(&bench).await;
        assert_eq!(restarted.state, HealthState::Unproven);
        let error = restarted.last_error.expect("the queue knows it");
        assert!(error.reason.contains("while connecting"), "{error:?}");
    }
    let health = bench.admission.destinations.health_of(&Hosts::Smarthost("post".into()));
    let health = health.expect("it was looked at");
    health.record_success(bench.account, bench.clock.now());
    let proven = hosts(&bench).await;
    assert_eq!((proven.state, proven.last_error), (HealthState::Proven, None));
    health.record_transient_failure(bench.account, "it answers 421 at MAIL", bench.clock.now());
    let error = hosts(&bench).await.last_error.expect("one account's mail was put off");
    assert_eq!(error.reason, "it answers 421 at MAIL");
    bench.finish().await;
}

#[tokio::test]
async fn a_retried_message_that_may_not_be_sent_says_so() {
    let (bench, id) = tried_once().await;
    let (store, now) = (&bench.store, bench.clock.now());
    let active = store.account(bench.account, now).await.expect("there").account;
    let suspended = Account { state: AccountState::Suspended, ..active.clone() };
    store.update_account(&suspended).await.expect("suspended");
    let for_account = Waiting::AccountSuspended(bench.account);
    assert_eq!(message(&bench, id).await.waiting, for_account, "before its next attempt is due");
    store.retry(id, now).await.expect("works");
    let why = message(&bench, id).await;
    assert_eq!((why.waiting, why.until), (for_account.clone(), None));
    let groups = domain(&bench).await.groups;
    assert_eq!((&groups[0].0.waiting, groups[0].1), (&for_account, 1));

    store.update_account(&active).await.expect("active");
    let new = NewSuppression {
        account_id: bench.account,
        address: "ada@example.com".to_owned(),
        kind: SuppressionKind::Manual,
        reason: "test".to_owned(),
        message_id: None,
        expires_at: None,
    };
    store.suppress(&new, now).await.expect("suppressed");
    let ending = Waiting::Ending("the recipient is on the suppression list".to_owned());
    assert_eq!(message(&bench, id).await.waiting, ending);
    bench.finish().await;
}

#[tokio::test]
async fn a_domain_whose_messages_are_all_being_sent_has_hosts_and_a_last_attempt() {
    let greylisting = Behaviour::new().reject(Stage::Rcpt, 451, "4.7.1 greylisted");
    let server = MxServer::start(greylisting);
    let setup = Setup::smarthosts(&[smarthost("post", &server)]);
    let timeouts = Timeouts { end_of_data: Duration::from_mins(10), ..setup.timeouts };
    let bench = Bench::new(Setup { timeouts, ..setup }).await;
    let id = bench.send("ada@example.com").await;
    bench.after_attempts(id, 1).await;
    server.set(Behaviour::new().answer(Stage::EndOfData, Reply::silence()));
    bench.advance(MINUTE * 2);
    bench.until_state(id, "sending").await;
    let why = domain(&bench).await;
    assert!(
        matches!(why.groups.as_slice(), [(it, 1)] if it.waiting == Waiting::Sending),
        "{why:?}"
    );
    assert_eq!(why.hosts[0].hosts, Hosts::Smarthost("post".into()));
    let last = why.last_attempt.expect("the first attempt");
    assert_eq!((last.route.as_str(), last.code), ("post", Some(451)));
    server.cut_connections();
    bench.until_state(id, "deferred").await;
    bench.finish().await;
}
